//! What a checkpoint of SQL Server that took longer than it should says of its writes, in the last of its three lines.

use straddle_stack::activity::{Quantity, Span};

use super::at;
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-checkpoints",
    commands: &["ERRORLOG", "xp_readerrorlog"],
    says: "mean latency of the writes of checkpoints that took longer than they should (FlushCache)",
    shape: Shape::Messages {
        marks: &[MARK],
        of_errorlog: true,
        read,
    },
};

const MARK: &str = "avgWriteLatency ";

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let Some((before, after)) = line.text.split_once(MARK) else {
        return Reading::Other;
    };
    if !before.contains("last target outstanding") {
        return Reading::Other;
    }
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let Some(milliseconds) = number::whole(&after[..digits]).map(number::figure) else {
        notes.unread(line);
        return Reading::Done;
    };
    let at = at(line, notes);
    // Milliseconds without a fraction: less than one is no latency of zero.
    if milliseconds > 0.0 {
        let server = Subject::whole_server();
        let seconds = milliseconds * 1e-3;
        notes.add(at, &server, Quantity::WriteLatency, Span::Interval, seconds);
    }
    Reading::Done
}
