//! `tune2fs`, which tells ext filesystems the stripe of the array below.

use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "tune2fs",
    title: "tune2fs of e2fsprogs, which changes two fields of the superblock",
    language: Language::Shell,
    does: |change| matches!(change, Change::Hints(hints) if hints.format.starts_with("ext")),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Hints(hints) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
    let (stride, width) = hints.in_blocks();
    Ok(format!(
        "need tune2fs e2fsprogs\n{reach}\
         doing='writing stride and stripe width'\n\
         way_back='tune2fs can be run again; it changes two fields of the superblock and nothing else'\n\
         tune2fs -E stride={stride},stripe_width={width} \"$part\" > /dev/null\n\
         doing=\n{release}",
        reach = writer.reach(hints.device)?,
        release = writer.release(hints.device)?,
    ))
}
