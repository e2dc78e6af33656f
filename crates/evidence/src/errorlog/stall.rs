//! Message 833: requests that take longer than 15 seconds.

use straddle_stack::activity::{Quantity, Span};

use super::event_xml::EVENT;
use super::{at, message, role_of};
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::prefix;
use crate::subject::Subject;
use crate::word;

pub(crate) static FORMAT: Format = Format {
    name: "errorlog-stalls",
    commands: &["ERRORLOG", "xp_readerrorlog", "Event Viewer"],
    says: "requests that were found to take longer than 15 seconds (message 833), by file and database",
    shape: Shape::Messages {
        marks: &[
            "taking longer than",
            "SQL Server has encountered",
            "E/A-Anforderungen von SQL Server",
            "requêtes d'E/S",
            "requêtes d’E/S",
            "solicitudes de E/S",
            "solicitações de E/S",
            "richieste di I/O",
            "запросы ввода-вывода",
            "I/O 要求",
            "I/O 请求",
            "I/O 요청",
        ],
        of_errorlog: true,
        read,
    },
};

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    const ENGLISH: &str = "taking longer than";
    // Whose time stands in an element of its own.
    if line.text.contains(EVENT) {
        return Reading::Other;
    }
    let text = prefix::behind(line.text);
    let has_limit = text.contains(ENGLISH);
    if !has_limit && text.contains("SQL Server has encountered") {
        // Cut where a console or a mail broke it; other things are encountered too.
        let rest = text.split("has encountered").nth(1).unwrap_or_default();
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let begins = "occurrence(s) of I/O requests taking longer than";
        let old = "occurrence(s) of IO requests taking longer than";
        let rest = rest.trim_end();
        // Tables of PowerShell leave out what does not fit.
        let whole = rest.trim_end_matches(['.', '…']);
        let is_this = |text: &str| begins.starts_with(text) || old.starts_with(text);
        if whole.len() < rest.len() && whole.contains("I") && is_this(whole) {
            notes.unread(line);
            return Reading::Done;
        }
        return match is_this(rest) {
            true => Reading::Unfinished,
            false => Reading::Other,
        };
    }
    let groups = groups(text);
    let Some(file) = groups.iter().find(|group| is_path(group)) else {
        // The file comes with the next line.
        let is_english = has_limit && text.contains("encountered");
        return match is_english || !has_limit && text.contains("15") {
            true => Reading::Unfinished,
            false => Reading::Other,
        };
    };
    let Some(count) = count_of(text, &groups) else {
        notes.unread(line);
        return Reading::Done;
    };
    let database = groups.iter().find(|group| !is_path(group)).copied();
    // In JSON a backslash is written twice.
    let unescaped;
    let file: &str = match text.trim_ascii_start().starts_with('{') {
        true => {
            unescaped = file.replace("\\\\", "\\");
            &unescaped
        }
        false => file,
    };
    let subject = Subject::file(file);
    notes.describe(&subject, database, role_of(file, database));
    let at = at(line, notes);
    notes.add(at, &subject, Quantity::Stalled, Span::Event, count);
    Reading::Done
}

/// What stands in brackets; names may have brackets in them.
fn groups(text: &str) -> Vec<&str> {
    let mut groups = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for at in memchr::memchr2_iter(b'[', b']', text.as_bytes()) {
        match text.as_bytes()[at] {
            b'[' => {
                if depth == 0 {
                    from = at + 1;
                }
                depth += 1;
            }
            b']' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    groups.push(text[from..at].trim());
                }
            }
            _ => {}
        }
    }
    // A log in which each line begins with a time in brackets has a group more.
    groups.retain(|group| crate::stamp::date_and_time(group).is_none());
    groups
}

fn is_path(group: &str) -> bool {
    group.get(1..3) == Some(":\\")
        || group.starts_with('/')
        || group.starts_with("\\\\")
        || group.starts_with("http")
        || group.ends_with("df")
}

/// How many: in English what was encountered; else the number that is not the limit, nor in a name, nor a handle.
fn count_of(text: &str, groups: &[&str]) -> Option<f64> {
    if let Some((_, rest)) = word::split_once(text, "has encountered") {
        let rest = rest.trim_start();
        let end = rest.find(' ')?;
        return number::whole(&rest[..end]).map(number::figure);
    }
    if text.contains("taking longer than") {
        return None;
    }
    let mut rest = message(text).to_owned();
    for group in groups {
        rest = rest.replacen(&format!("[{group}]"), "\u{1}", 1);
    }
    let end = rest.find("0x").unwrap_or(rest.len());
    let rest = &rest[..end];
    let mut numbers = Vec::new();
    let mut from = 0;
    while let Some(start) = rest[from..].find(|c: char| c.is_ascii_digit()) {
        let start = from + start;
        let len = number::end(&rest[start..]).max(1);
        // The number of a database stands in parentheses behind its name.
        let before = rest[..start].trim_end_matches('(').trim_end();
        if !(before.ends_with('\u{1}') && rest[..start].ends_with('(')) {
            numbers.extend(number::whole(&rest[start..start + len]));
        }
        from = start + len;
    }
    let limit = numbers.iter().position(|number| *number == 15)?;
    numbers.remove(limit);
    let [count] = numbers.as_slice() else {
        return None;
    };
    Some(number::figure(*count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_brackets() {
        let text = "on file [F:\\[M] x.mdf] in database [[M]'s] (9)";
        assert_eq!(groups(text), ["F:\\[M] x.mdf", "[M]'s"]);
    }

    #[test]
    fn the_count_is_neither_the_limit_nor_the_number_of_the_database() {
        for (text, count) in [
            (
                "Bei 15 E/A von SQL Server mehr als 15 Sekunden [E:\\a1.mdf] in [b2] (7) lautet 0x12",
                Some(15.0),
            ),
            ("x (12), 15 с [D:\\a.mdf] y [b] (6).", Some(12.0)),
            ("[b] (8) の [F:\\a.mdf] 15 秒 I/O 要求を 7 個", Some(7.0)),
            ("quests taking longer than 15 seconds [F:\\a.mdf]", None),
        ] {
            assert_eq!(count_of(text, &groups(text)), count, "{text}");
        }
    }
}
