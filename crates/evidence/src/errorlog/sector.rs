//! Messages 5178, 5179 and 9013: a file lies on larger sectors than it was made for, on larger ones than SQL Server takes, or had the tail
//! of its log rewritten for those that it lies on.

use straddle_stack::activity::{Quantity, Span};

use super::{at, role_of};
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-sectors",
    commands: &["ERRORLOG", "xp_readerrorlog", "Event Viewer"],
    says: "files on other physical sectors than those they were made for (messages 5178, 5179 and 9013), with both sizes",
    shape: Shape::Messages {
        marks: &[CANNOT, TAIL],
        of_errorlog: true,
        read,
    },
};

// What stands first, so that the rest may be in the next lines.
const CANNOT: &str = "Cannot use file '";
const TAIL: &str = "The tail of the log for database ";
const MADE_FOR: &str = "originally formatted with sector size ";
const LIES_ON: &str = "on a volume with sector size ";
const REWRITTEN: &str = "to match the new sector size of ";

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    if let Some((_, rest)) = text.split_once(TAIL) {
        return rewritten(line, rest, notes);
    }
    let Some((_, rest)) = text.split_once(CANNOT) else {
        return Reading::Other;
    };
    let Some((file, why)) = rest
        .split_once("' because ")
        .or_else(|| rest.split_once("', because "))
    else {
        return Reading::Unfinished;
    };
    // The second size is the last thing that is needed, and where a console broke the line may stand in the next one.
    let Some((before, lies_on)) = why.split_once(LIES_ON) else {
        return Reading::Unfinished;
    };
    let Some(volume) = bytes(lies_on) else {
        return unread(line, lies_on, notes);
    };
    let made_for = match before.split_once(MADE_FOR) {
        Some((_, size)) => match bytes(size) {
            Some(size) => Some(size),
            None => return unread(line, "?", notes),
        },
        None => None,
    };
    let subject = Subject::file(file);
    notes.describe(&subject, None, role_of(file, None));
    let at = at(line, notes);
    if let Some(made_for) = made_for {
        notes.add(
            at,
            &subject,
            Quantity::FormattedSector,
            Span::Event,
            made_for,
        );
    }
    notes.add(at, &subject, Quantity::VolumeSector, Span::Event, volume);
    Reading::Done
}

/// The log of a database that was put on other sectors, and opened.
fn rewritten(line: &Line<'_>, text: &str, notes: &mut Notes<'_>) -> Reading {
    let whole = || {
        let (database, rest) = text.split_once(" is being ")?;
        let (_, size) = rest.split_once(REWRITTEN)?;
        let (_, file) = size.split_once(" in file ")?;
        Some((database, size, file.split_once(" will be")?.0.trim()))
    };
    let Some((database, size, file)) = whole() else {
        return Reading::Unfinished;
    };
    let Some(size) = bytes(size) else {
        return unread(line, size, notes);
    };
    let subject = Subject::file(file);
    notes.describe(&subject, Some(database), role_of(file, Some(database)));
    let at = at(line, notes);
    notes.add(at, &subject, Quantity::VolumeSector, Span::Event, size);
    Reading::Done
}

/// Where a number should be, there is none: in the next line if this one ends, else not to be understood.
fn unread(line: &Line<'_>, rest: &str, notes: &mut Notes<'_>) -> Reading {
    if rest.trim().is_empty() {
        return Reading::Unfinished;
    }
    notes.unread(line);
    Reading::Done
}

/// The size at the beginning of a text: no disk has sectors of 0 bytes.
fn bytes(text: &str) -> Option<f64> {
    let mut digits = text.trim_start().split(|c: char| !c.is_ascii_digit());
    let size = number::whole(digits.next()?)?;
    (size > 0).then(|| number::figure(size))
}
