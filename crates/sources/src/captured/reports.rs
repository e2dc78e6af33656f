//! Reports on whole machines as captures: their parts, each read as what its command printed.

use super::linux::mounts;
use super::text::Line;
use super::tool::{Focus, Notes};
use super::whole::part::Part;
use super::{Capture, TOOLS, one_of, twins, whole};
use crate::inventory::Inventory;
use crate::missing;
use straddle_stack::Stack;

/// The text as one host, if it is such a report.
pub(super) fn capture(file: &str, lines: &[Line<'_>], number: u32) -> Option<Capture> {
    let report = whole::REPORTS.iter().find(|report| (report.is)(lines))?;
    let mut all = with_notes(file, number, |notes| (report.besides)(lines, notes));
    take_in(&mut all, (report.parts)(lines), file, number);
    all.inventory.host = (report.host)(lines).map(str::to_owned);
    all.report = Some(report.name);
    Some(all)
}

/// What is asked for besides the report of this name.
pub(super) fn asks(report: &str, stack: &Stack) -> Vec<String> {
    let report = whole::REPORTS.iter().find(|known| known.name == report);
    let asks = report.map_or_else(Vec::new, |report| missing::asks(stack, report.missing));
    asks.into_iter().map(|(_, ask)| ask).collect()
}

/// A text in which each output stands below a title and its command.
pub(super) fn titled(file: &str, lines: &[Line<'_>], number: u32) -> Capture {
    let mut all = with_notes(file, number, |_| {});
    take_in(&mut all, whole::titled::parts(lines), file, number);
    all
}

/// Adds what the outputs of commands say.
fn take_in(all: &mut Capture, parts: Vec<Part<'_>>, file: &str, number: u32) {
    for part in parts {
        let is_mounts = part
            .command
            .and_then(|command| command.split_whitespace().next())
            .and_then(|program| program.rsplit('/').next())
            .is_some_and(|program| matches!(program, "findmnt" | "mount" | "mounts"));
        let found = match is_mounts {
            true => mounted(file, &part.lines, number),
            false => one_of(TOOLS, file, part.command, &part.lines, number),
        };
        all.begun |= found.begun;
        let new = |tool: &&str| !all.tools.contains(tool);
        let tools: Vec<&str> = found.tools.iter().copied().filter(new).collect();
        all.tools.extend(tools);
        all.inventory.append(found.inventory);
    }
}

/// What the lines of `/proc/mounts` and its like say.
pub(super) fn mounted(file: &str, lines: &[Line<'_>], number: u32) -> Capture {
    let mut found = with_notes(file, number, |notes| mounts::read(lines, notes));
    if !found.inventory.things().is_empty() {
        found.tools.push(mounts::NAME);
        found.inventory.platform = Some("linux");
    }
    found
}

fn with_notes(file: &str, number: u32, read: impl FnOnce(&mut Notes<'_>)) -> Capture {
    let shared = file.into();
    let mut notes = Notes {
        file: &shared,
        number,
        inventory: Inventory::default(),
        focus: Focus::default(),
        twins: twins::Twins::default(),
        begun: false,
        above: None,
    };
    read(&mut notes);
    Capture {
        file: file.to_owned(),
        machine: None,
        report: None,
        tools: Vec::new(),
        inventory: notes.inventory,
        begun: notes.begun,
        above: 0,
    }
}
