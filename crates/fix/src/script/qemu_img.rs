//! `qemu-img`, which converts virtual disks.

use super::virtual_disk::New;
use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, shell, virtual_disk};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "qemu-img",
    title: "qemu-img, into a new file beside the old one",
    language: Language::Shell,
    does: |change| matches!(change, Change::Image(_)),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Image(image) = &step.change else {
        return Ok(String::new());
    };
    let old = writer.job.path(image.file)?;
    let source = virtual_disk::source(&image.from, &old)?;
    let New {
        format,
        options,
        path,
    } = New::converted(image.to, &old);
    let new = quoted(&path)?;
    // A flat VMDK names its second file: it cannot be renamed afterwards.
    Ok(format!(
        "need qemu-img qemu-utils\n\
         new={new}\n\
         [ ! -e \"$new\" ] || die \"$new is there already; move it away, or delete it\"\n\
         source={source}\n\
         if ! qemu-img convert -p --image-opts -O {format} -o {options} \"$source\" \"$new\"; then\n    \
             rm -f \"$new\"\n    \
             fail 'not converted; the old file was only read'\n\
         fi\n\
         # Byte by byte, as a guest sees them; the old file is only read.\n\
         target=$(printf '%s' \"$new\" | sed 's/,/,,/g')\n\
         qemu-img compare --image-opts \"$source\" \"driver={format},file.driver=file,file.filename=$target\" ||\n    \
             fail \"the copy differs from the old file: do not use $new\"\n\
         say \"$new has the same contents; delete the old file when the guest has started from the new one\"\n"
    ))
}
