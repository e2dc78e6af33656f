//! `qemu-img`, which converts virtual disks.

use super::fragment::filled;
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
    Ok(filled(
        include_str!("fragments/qemu_img.sh"),
        &[
            ("new", &new),
            ("source", &source),
            ("format", format),
            ("options", &options),
        ],
    ))
}
