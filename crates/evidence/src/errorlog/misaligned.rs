//! Message 9012: log writes that do not lie on the sectors of the disk, and are made synchronous.

use straddle_stack::activity::{Quantity, Role, Span};

use super::at;
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-misaligned",
    commands: &["ERRORLOG", "xp_readerrorlog", "Event Viewer"],
    says: "log writes that were off the disk's physical sectors and made synchronous (message 9012), by file",
    shape: Shape::Messages {
        marks: &["misaligned log IO"],
        of_errorlog: true,
        read,
    },
};

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    let Some((before, after)) = text.split_once("misaligned log IO") else {
        return Reading::Other;
    };
    let count = before.trim_end().rsplit([' ', '\t']).next();
    let Some(count) = count.and_then(number::whole).map(number::figure) else {
        notes.unread(line);
        return Reading::Done;
    };
    let file = match after.split_once("on file ") {
        // Tables of PowerShell leave out what does not fit.
        Some((_, file)) if file.trim_end().ends_with('…') || file.trim_end().ends_with("...") => {
            notes.unread(line);
            return Reading::Done;
        }
        // A path that was broken at the end of the line goes on in the next one.
        Some((_, file)) if !is_whole(file.trim()) => return Reading::Unfinished,
        Some((_, file)) => file
            .trim()
            .trim_end_matches(['"', ','])
            .trim_end_matches('.'),
        None => match after.split_once("synchronous IO") {
            Some((_, rest)) if rest.trim_matches(['.', '"', ',', ' ', '\t']).is_empty() => "",
            _ => return Reading::Unfinished,
        },
    };
    let subject = match file {
        "" => Subject::whole_server(),
        file => Subject::file(file),
    };
    if !file.is_empty() {
        notes.describe(&subject, None, Some(Role::Log));
    }
    let at = at(line, notes);
    notes.add(at, &subject, Quantity::MisalignedLogIo, Span::Event, count);
    Reading::Done
}

/// Whether a path ends here: with the point that ends the message, what a table puts behind it, or the name of a log.
fn is_whole(path: &str) -> bool {
    path.ends_with(['.', '"', ',', '<', '|', ';'])
        || path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end.eq_ignore_ascii_case("ldf"))
}
