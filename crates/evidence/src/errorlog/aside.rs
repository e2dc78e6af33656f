//! Messages without figures, and yet something to know beside stalls and rates: failed backups, memory that was paged out, requests that
//! failed, checkpoints that took too long, snapshots.

use super::at;
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-asides",
    commands: &["ERRORLOG", "xp_readerrorlog", "Event Viewer"],
    says: "how many backups failed (message 3041), requests failed or were repeated (823, 824, 825, 17053), checkpoints took longer than they \
           should (FlushCache), databases were frozen for a snapshot (3197), and how often the server's memory was paged out (17890)",
    shape: Shape::Messages {
        marks: &MARKS,
        of_errorlog: true,
        read,
    },
};

/// What is in a message, its number where events have one, and what it says.
const ASIDES: [(&str, &str, &str); 8] = [
    (
        "BACKUP failed to complete the command",
        "3041",
        "about a failed backup (message 3041)",
    ),
    (
        "sql server process memory has been paged out",
        "17890",
        "about the server's memory, which was paged out (message 17890)",
    ),
    (
        "The operating system returned error ",
        "823",
        "about a failed request (message 823)",
    ),
    (
        "SQL Server detected a logical consistency-based I/O error",
        "824",
        "about a page that is not what was written (message 824)",
    ),
    (
        " succeeded after failing ",
        "825",
        "about a read that had to be repeated (message 825)",
    ),
    (
        ": Operating system error ",
        "17053",
        "about a failed request (message 17053)",
    ),
    (
        "FlushCache: cleaned up",
        "",
        "about a checkpoint that took longer than it should (FlushCache)",
    ),
    (
        "I/O is frozen on database",
        "3197",
        "about a database that was frozen for a snapshot (message 3197)",
    ),
];

const MARKS: [&str; ASIDES.len()] = {
    let mut marks = [""; ASIDES.len()];
    let mut at = 0;
    while at < ASIDES.len() {
        marks[at] = ASIDES[at].0;
        at += 1;
    }
    marks
};

/// What an event of this number says.
pub(super) fn of_event(id: &str) -> Option<&'static str> {
    let mut asides = ASIDES.iter().filter(|_| !id.is_empty());
    asides
        .find(|(_, number, _)| *number == id)
        .map(|(.., what)| *what)
}

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let Some((.., what)) = ASIDES.iter().find(|(mark, ..)| line.text.contains(mark)) else {
        return Reading::Other;
    };
    // Its time is that of whatever has none.
    at(line, notes);
    notes.remark(what, line);
    Reading::Done
}
