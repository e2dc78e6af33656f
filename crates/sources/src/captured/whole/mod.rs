//! Texts that one program wrote about one whole machine: each is a host by itself, whatever lies beside it. Which commands printed what,
//! the text says in its own way.
//!
//! A report is one file here and one line in [`REPORTS`].

mod msinfo;
mod pvereport;
mod titled;

use super::linux::mounts;
use super::text::Line;
use super::tool::{Focus, Notes};
use super::{Capture, TOOLS, one_of, twins};
use crate::inventory::Inventory;

/// A program that reports on a whole machine.
pub(super) struct Report {
    /// Its name.
    pub(super) name: &'static str,
    /// True for its text, by its beginning and by what it has only.
    pub(super) is: fn(&[Line<'_>]) -> bool,
    /// The name of the machine.
    pub(super) host: for<'t> fn(&[Line<'t>]) -> Option<&'t str>,
    /// Its parts; what tells nothing of storage is none.
    pub(super) parts: for<'t> fn(&[Line<'t>]) -> Vec<Part<'t>>,
    /// What the tools of its commands do not read.
    pub(super) besides: fn(&[Line<'_>], &mut Notes<'_>),
}

/// What one command printed.
pub(super) struct Part<'t> {
    /// The command, where the text names it.
    pub(super) command: Option<&'t str>,
    pub(super) lines: Vec<Line<'t>>,
}

const REPORTS: &[&Report] = &[&pvereport::REPORT, &msinfo::REPORT];

/// The text as one host, if it is such a report.
pub(super) fn capture(file: &str, lines: &[Line<'_>], number: u32) -> Option<Capture> {
    let report = REPORTS.iter().find(|report| (report.is)(lines))?;
    let mut all = with_notes(file, number, |notes| (report.besides)(lines, notes));
    take_in(&mut all, (report.parts)(lines), file, number);
    all.inventory.host = (report.host)(lines).map(str::to_owned);
    all.report = Some(report.name);
    Some(all)
}

/// A text in which each output stands below a title and its command.
pub(super) fn titled(file: &str, lines: &[Line<'_>], number: u32) -> Capture {
    let mut all = with_notes(file, number, |_| {});
    take_in(&mut all, titled::parts(lines), file, number);
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
    };
    read(&mut notes);
    Capture {
        file: file.to_owned(),
        machine: None,
        report: None,
        tools: Vec::new(),
        inventory: notes.inventory,
        begun: notes.begun,
    }
}
