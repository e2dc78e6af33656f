//! Messages of servers: each is in one line, unless a client, a terminal or a mail broke it.

use super::Session;
use crate::format::{Format, Reading, Shape};
use crate::line::{Line, is_errorlog};
use crate::marks::{Hits, marks};
use crate::stamp;

/// A message goes over so many lines at most.
const MAX_PENDING: usize = 6;
/// And has so many bytes.
const MAX_MESSAGE: usize = 1 << 16;

/// A message that is not whole.
pub(super) struct Pending {
    format: &'static Format,
    number: u64,
    text: String,
    /// The lines behind the first: when the message does not end, they are looked at again.
    taken: Vec<(u64, String)>,
}

impl Session<'_> {
    /// A message of one of these.
    pub(super) fn message(&mut self, line: &Line<'_>, hits: Hits) -> bool {
        for format in hits.formats() {
            if self.is_asked_for(format) && self.read_message(format, line) {
                return true;
            }
        }
        false
    }

    fn read_message(&mut self, format: &'static Format, line: &Line<'_>) -> bool {
        let Shape::Messages { read, .. } = &format.shape else {
            return false;
        };
        match read(line, &mut self.notes) {
            Reading::Done => {
                self.done(format, line.number, line.text);
                true
            }
            // Longer than any message: no part of one.
            Reading::Unfinished if line.text.len() > MAX_MESSAGE => {
                self.notes.unread(line);
                true
            }
            Reading::Unfinished => {
                self.pending = Some(Pending {
                    format,
                    number: line.number,
                    text: line.text.trim_end().to_owned(),
                    taken: Vec::new(),
                });
                true
            }
            Reading::Other => false,
        }
    }

    fn done(&mut self, format: &'static Format, number: u64, text: &str) {
        self.notes.found(format.name);
        if matches!(
            &format.shape,
            Shape::Messages {
                of_errorlog: true,
                ..
            }
        ) {
            self.notes.tell(number, text);
        }
    }

    /// Whether the line is the rest of a message.
    pub(super) fn goes_on(&mut self, line: &Line<'_>) -> bool {
        let Some(mut pending) = self.pending.take() else {
            return false;
        };
        let Shape::Messages { read, .. } = &pending.format.shape else {
            return false;
        };
        let is_next = line.trimmed().is_empty()
            || is_errorlog(line.text.as_bytes())
            || stamp::first(line.text).is_some()
            || pending.text.len() + line.text.len() > MAX_MESSAGE
            || pending.taken.len() >= MAX_PENDING;
        if is_next {
            self.give_up(pending);
            return false;
        }
        let rest = without_quoting(line.trimmed(), &pending.text);
        for between in betweens(&pending.text, rest) {
            let text = format!("{}{between}{rest}", pending.text);
            let joined = Line {
                number: pending.number,
                text: &text,
            };
            if read(&joined, &mut self.notes) == Reading::Done {
                self.done(pending.format, line.number, &text);
                return true;
            }
        }
        pending.text.push_str(betweens(&pending.text, rest)[0]);
        pending.text.push_str(rest);
        pending.taken.push((line.number, line.text.to_owned()));
        self.pending = Some(pending);
        true
    }

    pub(super) fn give_up(&mut self, pending: Pending) {
        self.notes.found(pending.format.name);
        self.notes.unread(&Line {
            number: pending.number,
            text: &pending.text,
        });
        for (number, text) in pending.taken {
            self.notes.gathered.lines -= 1;
            self.line(&Line {
                number,
                text: &text,
            });
        }
    }
}

/// The rest of a message without what mail puts before each line that is quoted, where its first line has that too.
fn without_quoting<'t>(rest: &'t str, first: &str) -> &'t str {
    match first.trim_start().starts_with('>') {
        true => rest.trim_start_matches(['>', ' ', '\t']),
        false => rest,
    }
}

/// What may stand between two parts of a message. Where it was broken between words there is a blank, and in a word there is none: what can
/// be read is right. No name of a folder begins or ends with a blank.
fn betweens(before: &str, rest: &str) -> [&'static str; 2] {
    let in_path =
        before.ends_with(['\\', '/']) || rest.starts_with('\\') && !rest.starts_with("\\\\");
    match in_path {
        true => ["", " "],
        false => [" ", ""],
    }
}

/// Those of which a message is begun in a text.
pub(super) fn messages_in(text: &str) -> Hits {
    messages_of(text, marks().of(text.as_bytes()))
}

/// The same, where it is known what has marks in it.
pub(super) fn messages_of(text: &str, hits: Hits) -> Hits {
    marks().messages(hits, text.as_bytes(), false)
}
