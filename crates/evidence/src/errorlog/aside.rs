//! Messages 3041 and 17890: no figures, and yet something to know beside stalls and rates.

use super::at;
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-asides",
    commands: &["ERRORLOG", "xp_readerrorlog", "Event Viewer"],
    says: "how many backups failed (message 3041), and how often the server's memory was paged out (17890)",
    shape: Shape::Messages {
        marks: &[BACKUP_FAILED, MEMORY_PAGED_OUT],
        of_errorlog: true,
        read,
    },
};

const BACKUP_FAILED: &str = "BACKUP failed to complete the command";
const MEMORY_PAGED_OUT: &str = "sql server process memory has been paged out";

pub(super) const FAILED: &str = "that say that a backup failed (message 3041)";
pub(super) const PAGED_OUT: &str =
    "that say that the server's memory was paged out (message 17890)";

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let what = match line.text {
        text if text.contains(BACKUP_FAILED) => FAILED,
        text if text.contains(MEMORY_PAGED_OUT) => PAGED_OUT,
        _ => return Reading::Other,
    };
    // Its time is that of whatever has none.
    at(line, notes);
    notes.remark(what, line);
    Reading::Done
}
