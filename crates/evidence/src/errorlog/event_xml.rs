//! Events of Windows as XML: without their text, their data say what the message would.

use straddle_stack::activity::Moment;

use super::{aside, backup, misaligned, sector, stall};
use crate::format::{Body, Format, Reading, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::stamp;

pub(crate) static FORMAT: Format = Format {
    name: "event-xml",
    commands: &[
        "wevtutil qe Application /f:xml",
        "Event Viewer, XML view",
        "(Get-WinEvent …).ToXml()",
    ],
    says: "messages 833, 9012 and 18264 of SQL Server by the data of their events, with the time of each (UTC)",
    shape: Shape::Lines {
        marks: &[EVENT],
        begins: |line, notes| {
            let mut events = Events::default();
            let begins = line.text.contains(EVENT);
            begins.then(|| {
                events.line(line, notes);
                Box::new(events) as Box<dyn Body>
            })
        },
    },
};

/// How an event begins.
pub(super) const EVENT: &str = "<Event ";

/// Longer events, and more data, than SQL Server writes.
const LONGEST: usize = 1 << 16;
const MAX_DATA: usize = 32;

#[derive(Default)]
struct Events {
    event: Option<Event>,
    /// The beginning of a tag that goes on in the next line.
    tag: Option<String>,
}

/// What is known of the event that is read.
#[derive(Default)]
struct Event {
    /// The line in which it begins, or the first of its data.
    line: u64,
    bytes: usize,
    id: String,
    moment: Option<Moment>,
    computer: String,
    data: Vec<String>,
    message: String,
    inside: Inside,
}

/// Whose text is read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    Id,
    Computer,
    Data,
    Message,
}

impl Body for Events {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let is_open = self.event.is_some() || self.tag.is_some();
        if !is_open && !line.text.contains(EVENT) {
            return Taken::No;
        }
        let mut rest = line.text;
        loop {
            if let Some(tag) = &mut self.tag {
                let Some((end, behind)) = rest.split_once('>') else {
                    tag.push_str(rest);
                    tag.push(' ');
                    break;
                };
                tag.push_str(end);
                rest = behind;
                let tag = self.tag.take().unwrap_or_default();
                self.tag(&tag, line, notes);
                continue;
            }
            let (text, behind) = match rest.split_once('<') {
                Some((text, behind)) => (text, Some(behind)),
                None => (rest, None),
            };
            if let Some(event) = &mut self.event {
                event.text(text);
            }
            match behind {
                Some(behind) => rest = behind,
                None => break,
            }
            self.tag = Some(String::new());
        }
        let bytes = line.text.len() + 1;
        let is_long = self.event.as_mut().is_some_and(|event| {
            event.bytes += bytes;
            event.bytes > LONGEST
        });
        if is_long || self.event.is_none() && self.tag.as_ref().is_some_and(|tag| tag.len() > 256) {
            self.end(notes);
        }
        Taken::Yes
    }

    /// What is open was cut.
    fn end(&mut self, notes: &mut Notes<'_>) {
        self.tag = None;
        if let Some(event) = self.event.take()
            && matches!(event.id.as_str(), "833" | "9012")
        {
            notes.unread(&event.shown());
        }
    }
}

impl Events {
    fn tag(&mut self, tag: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
        let name = tag.split([' ', '\t']).next().unwrap_or_default();
        if name == "Event" {
            self.end(notes);
            self.event = Some(Event {
                line: line.number,
                ..Event::default()
            });
            return;
        }
        if name == "/Event" {
            if let Some(event) = self.event.take() {
                event.read(notes);
            }
            return;
        }
        let Some(event) = &mut self.event else {
            return;
        };
        event.inside = match name {
            "EventID" => Inside::Id,
            "Computer" => Inside::Computer,
            "Message" => Inside::Message,
            "Data" | "Data/" if event.data.len() < MAX_DATA => {
                if event.data.is_empty() {
                    event.line = line.number;
                }
                event.data.push(String::new());
                match tag.ends_with('/') {
                    true => Inside::Nothing,
                    false => Inside::Data,
                }
            }
            "TimeCreated" => {
                let time = tag.split(['"', '\'']).nth(1).unwrap_or_default();
                event.moment = stamp::date_and_time(time).map(|(moment, _)| moment);
                Inside::Nothing
            }
            _ => Inside::Nothing,
        };
    }
}

impl Event {
    fn text(&mut self, text: &str) {
        let into = match self.inside {
            Inside::Nothing => return,
            Inside::Id => &mut self.id,
            Inside::Computer => &mut self.computer,
            Inside::Message => &mut self.message,
            Inside::Data => match self.data.last_mut() {
                Some(data) => data,
                None => return,
            },
        };
        // A text that goes on in the next line was broken at a blank.
        if !into.is_empty() {
            into.push(' ');
        }
        let text = text.trim();
        match text.contains('&') {
            true => into.push_str(&plain(text)),
            false => into.push_str(text),
        }
    }

    /// The event for a line that could not be read.
    fn shown(&self) -> Line<'_> {
        Line {
            number: self.line,
            text: &self.id,
        }
    }

    /// Whether it is the event whose message was read above it: "Copy as text" of Event Viewer has both. All that the message
    /// is made of is in it, in whatever language it is.
    fn is_told(&self, notes: &mut Notes<'_>) -> bool {
        /// More lines than there are between a message and the data below it.
        const NEAR: u64 = 64;
        let is_in = |text: &str| self.data.iter().all(|data| text.contains(data.trim()));
        let near = (notes.told.take()).filter(|told| self.line.saturating_sub(told.line) <= NEAR);
        near.is_some_and(|told| !self.data.is_empty() && is_in(&told.text))
    }

    fn read(&self, notes: &mut Notes<'_>) {
        if self.is_told(notes) {
            notes.event = None;
            return;
        }
        // No figures, and yet something to know beside stalls and rates.
        if let Some(what) = aside::of_event(&self.id) {
            return notes.remark(what, &self.shown());
        }
        let data: Vec<&str> = self.data.iter().map(String::as_str).collect();
        let text = match (self.id.as_str(), data.as_slice()) {
            ("833", [count, seconds, file, database, id, ..]) => format!(
                "SQL Server has encountered {count} occurrence(s) of I/O requests taking longer than {seconds} seconds to \
                 complete on file [{file}] in database [{database}] ({id})."
            ),
            ("9012", [count, file, ..]) => format!(
                "There have been {count} misaligned log IOs which required falling back to synchronous IO. The current IO is \
                 on file {file}."
            ),
            ("5178", [file, made_for, volume, ..]) => format!(
                "Cannot use file '{file}' because it was originally formatted with sector size {made_for} and is now on a volume \
                 with sector size {volume}."
            ),
            ("5179", [file, volume, ..]) => format!(
                "Cannot use file '{file}', because it is on a volume with sector size {volume}."
            ),
            ("9013", [database, sector, bytes, offset, file, ..]) => format!(
                "The tail of the log for database {database} is being rewritten to match the new sector size of {sector} bytes. \
                 {bytes} bytes at offset {offset} in file {file} will be written."
            ),
            // Of a database, its log, a differential.
            ("18264" | "18265" | "18270", [database, ..]) => {
                backup::named(database, self.moment, notes);
                return;
            }
            _ => self.message.clone(),
        };
        (notes.event, notes.collected) = (None, self.moment);
        notes.of_host(&self.computer, &self.shown());
        let line = Line {
            number: self.line,
            text: &text,
        };
        let readers = [
            stall::read,
            misaligned::read,
            sector::read,
            backup::name,
            backup::read,
        ];
        let read = readers
            .into_iter()
            .map(|read| read(&line, notes))
            .find(|reading| *reading != Reading::Other);
        if read == Some(Reading::Unfinished)
            || read.is_none()
                && matches!(self.id.as_str(), "833" | "5178" | "5179" | "9012" | "9013")
        {
            notes.unread(&line);
        }
        notes.collected = None;
    }
}

/// A text without the escapes of XML.
fn plain(text: &str) -> String {
    const ESCAPES: [(&str, &str); 5] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let all = ESCAPES.into_iter();
    all.fold(text.to_owned(), |text, (escape, plain)| {
        text.replace(escape, plain)
    })
}
