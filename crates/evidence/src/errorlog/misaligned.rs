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
        Some((_, file)) => file
            .trim()
            .trim_end_matches(['"', ','])
            .trim_end_matches('.'),
        None if after.contains("synchronous IO") => "",
        None => return Reading::Unfinished,
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
