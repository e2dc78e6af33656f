//! Captured text: what tools print about storage, saved to files, mailed, pasted.
//!
//! [`read`] takes one file: it decodes it, finds the outputs in it and notes what they say in an
//! [`Inventory`]. Files of one machine are joined there. A tool is one file in `windows/`,
//! `powershell/`, `linux/`, `raid/` or `esxi/` and one line in the registry.

mod annotation;
mod beginnings;
mod codepage;
mod embedded;
mod esxi;
mod heading;
mod json;
mod linux;
mod margin;
mod markup;
mod number;
mod powershell;
mod raid;
mod records;
mod redacted;
mod registry;
mod row;
mod section;
mod servers;
mod spacing;
mod text;
mod tool;
mod twins;
mod unread;
mod width;
mod windows;

pub use registry::TOOLS;
pub use servers::{Server, in_folder, of_one};
pub use text::MOST_BYTES;
pub use tool::Tool;

use std::sync::Arc;
use straddle_stack::{Oddity, OddityKind, Source, Stack};

use crate::Settings;
use crate::inventory::Inventory;
use text::Text;
use tool::Notes;

/// What one file says.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The file's name.
    pub file: String,
    /// Names of the tools whose output was found in it.
    pub tools: Vec<&'static str>,
    /// What they say.
    pub inventory: Inventory,
}

/// True for the beginning of a file (a few kilobytes are enough) that can be text.
#[must_use]
pub fn looks_like_text(head: &[u8]) -> bool {
    // The text part of a VMDK is the description of a virtual disk, and read as one.
    text::looks_like_text(head) && !head.starts_with(b"# Disk DescriptorFile")
}

/// Reads a file of captured text. `bytes` are its beginning, at most [`MOST_BYTES`]; `cut` says that there is more.
/// `number` tells the files of one machine apart.
///
/// A text in which no tool's output is recognised gives a capture without tools.
#[must_use]
pub fn read(file: &str, bytes: &[u8], cut: bool, number: u32) -> Capture {
    read_with(TOOLS, file, bytes, cut, number)
}

/// As [`read`], when only some tools are looked for.
#[must_use]
pub fn read_with(
    tools: &'static [&'static Tool],
    file: &str,
    bytes: &[u8],
    cut: bool,
    number: u32,
) -> Capture {
    let text = Text::new(bytes, cut);
    let lines = text.lines();
    let shared: Arc<str> = file.into();
    let mut notes = Notes {
        file: &shared,
        number,
        inventory: Inventory::default(),
        focus: tool::Focus::default(),
        twins: twins::Twins::default(),
    };
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let tools = section::read(tools, &lines, stem, &mut notes);
    let mut inventory = notes.inventory;
    if let (Some(number), false) = (text.left_out, tools.is_empty()) {
        let source = Source::Captured {
            file: shared.clone(),
            line: number,
            text: "...".into(),
        };
        let detail = "lines were left out here by whoever copied the text; what stood in them is not in this report";
        inventory
            .remarks
            .push(Oddity::at(OddityKind::Missing, detail, source));
    }
    if text.cut {
        inventory.remarks.push(Oddity::new(
            OddityKind::LimitReached,
            format!(
                "{file} is longer than {MOST_BYTES} bytes or 200,000 lines; the rest was not read"
            ),
        ));
    }
    Capture {
        file: file.to_owned(),
        tools: tools.into_iter().map(|tool| tool.name).collect(),
        inventory,
    }
}

/// The stack that captures of one machine describe.
#[must_use]
pub fn stack(captures: Vec<Capture>, settings: &Settings) -> Stack {
    let mut inventories = captures.into_iter().map(|capture| capture.inventory);
    let mut all = inventories.next().unwrap_or_default();
    for inventory in inventories {
        all.append(inventory);
    }
    let mut stack = all.stack(&settings.overrides);
    stack.survey(&settings.io);
    stack
}
