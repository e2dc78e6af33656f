//! `qemu-img`, which converts virtual disks.

use std::path::PathBuf;

use super::shell::quoted;
use super::{Language, Refusal, Tool, Writer, safe};
use crate::Step;
use crate::change::Change;
use crate::change::image::{Format, Image};

pub(super) static TOOL: Tool = Tool {
    name: "qemu-img",
    title: "qemu-img, into a new file beside the old one",
    language: Language::Shell,
    does: |change| matches!(change, Change::Image(_)),
    step,
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Image(image) = &step.change else {
        return Ok(String::new());
    };
    let old = writer.job.path(image.file)?;
    let new = new_path(image, old.clone());
    // Fields of --image-opts are divided by commas; one that is meant is written twice.
    let file = safe(&old)?.replace(',', ",,");
    let driver = driver(&image.from);
    let source = quoted(&PathBuf::from(format!(
        "{driver},file.driver=file,file.filename={file}"
    )))?;
    let new = quoted(&new)?;
    let (format, options) = match image.to {
        Format::Vhdx => ("vhdx", "subformat=dynamic"),
        Format::Qcow2 => ("qcow2", "cluster_size=65536"),
        Format::FlatVmdk => ("vmdk", "subformat=monolithicFlat"),
    };
    // A flat VMDK names its second file: it cannot be renamed afterwards.
    Ok(format!(
        "need qemu-img qemu-utils\n\
         new={new}\n\
         [ ! -e \"$new\" ] || die \"$new is there already; move it away, or delete it\"\n\
         source={source}\n\
         if ! qemu-img convert -p --image-opts -O {format} -o {options} \"$source\" \"$new\"; then\n    \
             rm -f \"$new\"\n    \
             say 'not converted; the old file was not touched'\n    \
             exit 1\n\
         fi\n\
         # Byte by byte, as a guest sees them; the old file is only read.\n\
         target=$(printf '%s' \"$new\" | sed 's/,/,,/g')\n\
         qemu-img compare --image-opts \"$source\" \"driver={format},file.driver=file,file.filename=$target\" ||\n    \
             {{ say \"the copy differs from the old file: do not use $new\"; exit 1; }}\n\
         say \"$new has the same contents; delete the old file when the guest has started from the new one\"\n"
    ))
}

fn driver(format: &str) -> String {
    match format {
        // Its size is what its footer says, as Windows takes it, and not what its geometry comes to.
        "vhd" => "driver=vpc,force_size_calc=current_size".to_owned(),
        other => format!("driver={other}"),
    }
}

/// The old name with another extension; where that is the old name, with `.aligned` before it.
fn new_path(image: &Image, old: PathBuf) -> PathBuf {
    let extension = image.to.name();
    let new = old.with_extension(extension);
    if new == old {
        old.with_extension(format!("aligned.{extension}"))
    } else {
        new
    }
}
