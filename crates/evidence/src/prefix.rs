//! What collectors put before each line of an output: a time, a journal's host and unit, a container, a file, a number.

use straddle_stack::activity::Moment;

use crate::stamp;

/// What stands before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<S> {
    /// The same before each line: `[pod/db-0/db] `, `db-1  | `, `iostat.log:`, `<db1> `, `# `.
    Same(S),
    /// `2024-03-05T10:11:12.123Z `, `[2024-03-05 10:11:12] `, `10:11:12 `.
    Time,
    /// `Mar  5 10:11:12 `.
    Date,
    /// Behind a time: `db1 iostat[4711]: `.
    Unit,
    /// Behind a time: `stdout F `.
    Stream,
    /// `12:`, `12-`, `12` and a tab.
    Number,
}

/// Everything that stands before the lines of one output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefix {
    parts: Vec<Part<String>>,
    /// The number of the last line.
    number: u64,
}

/// What may stand before a line, and what is behind it.
#[derive(Clone, Copy)]
pub(crate) struct Behind<'t> {
    parts: [Option<Part<&'t str>>; MAX_PARTS],
    number: u64,
    /// The rest of the line.
    pub(crate) text: &'t str,
    /// The time that stood before it.
    pub(crate) moment: Option<Moment>,
}

/// More than collectors put before each other.
const MAX_PARTS: usize = 4;
/// More characters than a name of a file or a container has.
const LONGEST: usize = 128;

impl<'t> Behind<'t> {
    /// What stands before it.
    pub(crate) fn prefix(&self) -> Prefix {
        let owned = |part: &Part<&str>| match part {
            Part::Same(same) => Part::Same((*same).to_owned()),
            Part::Time => Part::Time,
            Part::Date => Part::Date,
            Part::Unit => Part::Unit,
            Part::Stream => Part::Stream,
            Part::Number => Part::Number,
        };
        Prefix {
            parts: self.parts.iter().flatten().map(owned).collect(),
            number: self.number,
        }
    }

    /// False when an output may have begun so itself: with a name and a colon, or a first column.
    pub(crate) fn is_sure(&self) -> bool {
        !self.last().is_some_and(Part::is_loose)
    }

    fn last(&self) -> Option<&Part<&'t str>> {
        self.parts.iter().flatten().next_back()
    }

    /// With one part more.
    fn next(mut self) -> Option<Behind<'t>> {
        let place = self.parts.iter().position(Option::is_none)?;
        let part = Part::of(self.text, self.last())?;
        self.text = part.off(self.text, &mut self.number, &mut self.moment)?;
        self.parts[place] = Some(part);
        (!self.text.trim_ascii().is_empty()).then_some(self)
    }
}

impl Prefix {
    /// What may stand before this line: each time one part more.
    pub(crate) fn of(text: &str) -> impl Iterator<Item = Behind<'_>> {
        let nothing = Behind {
            parts: [None; MAX_PARTS],
            number: 0,
            text,
            moment: None,
        };
        std::iter::successors(nothing.next(), |behind| behind.next())
    }

    /// Whether a host stands in it.
    pub(crate) fn has_host(&self) -> bool {
        self.parts.contains(&Part::Unit)
    }

    /// The line without it, and the time in it.
    pub(crate) fn off<'t>(&mut self, text: &'t str) -> Option<(&'t str, Option<Moment>)> {
        let (mut rest, mut moment, mut number) = (text, None, self.number);
        for (index, part) in self.parts.iter().enumerate() {
            rest = match part.off(rest, &mut number, &mut moment) {
                Some(rest) => rest,
                // Names of columns may be a comment above rows that are none.
                None if index > 0 && part.is_comment() => rest,
                None => return None,
            };
        }
        self.number = number;
        Some((rest, moment))
    }
}

/// A line without anything that a collector put before it.
pub(crate) fn behind(text: &str) -> &str {
    let sure = Prefix::of(text).filter(Behind::is_sure);
    sure.last().map_or(text, |behind| behind.text)
}

/// The host that stands last before a line, behind a time: that of whoever wrote it; nothing where there is none.
pub(crate) fn host(text: &str) -> &str {
    // What collectors put there, and an output's own beginning.
    const PARTS: usize = MAX_PARTS + 3;
    let (mut rest, mut before, mut host) = (text, None, "");
    for _ in 0..PARTS {
        let Some(part) = Part::of(rest, before.as_ref()) else {
            break;
        };
        if part == Part::Unit {
            let (name, behind) = rest.split_once(' ').unwrap_or_default();
            let tag = behind.split(':').next().unwrap_or_default();
            // `CET LOG:` is a zone and a severity.
            if !tag.bytes().all(|byte| byte.is_ascii_uppercase()) {
                host = name;
            }
        }
        // What stands behind a time and is no collector's is the message.
        let is_timed =
            |part: &Part<&str>| matches!(part, Part::Time | Part::Date | Part::Unit | Part::Stream);
        if !is_timed(&part) && before.as_ref().is_some_and(is_timed) {
            break;
        }
        match part.off(rest, &mut 0, &mut None) {
            Some(behind) => rest = behind,
            None => break,
        }
        before = Some(part);
    }
    host
}

impl<'t> Part<&'t str> {
    /// What a text begins with.
    fn of(text: &'t str, before: Option<&Part<&str>>) -> Option<Part<&'t str>> {
        let is_timed = matches!(before, Some(Part::Time | Part::Date));
        let first = *text.trim_ascii_start().as_bytes().first()?;
        match first {
            b'0'..=b'9' if time(text).is_some() => Some(Part::Time),
            b'0'..=b'9' if number(text).is_some() => Some(Part::Number),
            b'[' if time(text).is_some() => Some(Part::Time),
            b'A'..=b'Z' if date(text).is_some() => Some(Part::Date),
            b's' if is_timed && stream(text).is_some() => Some(Part::Stream),
            _ if is_timed && unit(text).is_some() => Some(Part::Unit),
            _ => same(text).map(|end| Part::Same(&text[..end])),
        }
    }
}

impl<S: AsRef<str>> Part<S> {
    /// A name and a colon, or a first column.
    fn is_loose(&self) -> bool {
        let Part::Same(same) = self else {
            return false;
        };
        let same = same.as_ref();
        let name = same.trim_end_matches([' ', '|', ':']);
        let is_file = name.contains(['.', '/']) && same.ends_with(':');
        // `docker compose` numbers its containers.
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_numbered = end.len() < name.len() && end.ends_with(['-', '_']);
        let is_container = is_numbered && same.ends_with("| ");
        same.starts_with(|c: char| c.is_ascii_alphanumeric()) && !is_file && !is_container
    }

    fn is_comment(&self) -> bool {
        matches!(self, Part::Same(same) if same.as_ref() == "# ")
    }

    /// The text without it.
    fn off<'t>(
        &self,
        text: &'t str,
        last: &mut u64,
        moment: &mut Option<Moment>,
    ) -> Option<&'t str> {
        let rest = match self {
            Part::Same(same) => match text.strip_prefix(same.as_ref()) {
                Some(rest) => rest,
                // The blank at the end of an empty line is gone.
                None => (text.trim_end() == same.as_ref().trim_end()).then_some("")?,
            },
            Part::Time => {
                let (at, rest) = time(text)?;
                *moment = at.or(*moment);
                rest
            }
            Part::Date => date(text)?,
            Part::Unit => unit(text)?,
            Part::Stream => stream(text)?,
            Part::Number => {
                let (this, rest) = number(text)?;
                // Figures of rows are no numbers of lines.
                if this <= *last {
                    return None;
                }
                *last = this;
                rest
            }
        };
        Some(rest)
    }
}

/// Without the one blank that separates.
fn behind_blank(text: &str) -> Option<&str> {
    match text.strip_prefix([' ', '\t']) {
        Some(rest) => Some(rest),
        None => text.is_empty().then_some(text),
    }
}

fn time(text: &str) -> Option<(Option<Moment>, &str)> {
    let (inner, closed) = match text.strip_prefix('[') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let (moment, rest) = match stamp::date_and_time(inner) {
        Some((moment, rest)) => (Some(moment), rest),
        None => {
            let (_, _, rest) = stamp::time(inner)?;
            // Reports of sar have times of their own.
            (inner.as_bytes().get(5) == Some(&b':')).then_some((None, rest))?
        }
    };
    // Digits behind the point that are more than a millionth, the zone, its name.
    let rest = match rest.strip_prefix(['Z', '+', '-']) {
        Some(zone) => zone.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':'),
        None => rest,
    };
    let rest = rest.strip_prefix(" UTC").unwrap_or(rest);
    let rest = match closed {
        true => rest.strip_prefix(']')?,
        false => rest,
    };
    Some((moment, behind_blank(rest)?))
}

/// A date of syslog, which has no year.
fn date(text: &str) -> Option<&str> {
    stamp::month(text)?;
    let rest = text.get(3..)?.strip_prefix(' ')?.trim_start_matches(' ');
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=2).contains(&digits) {
        return None;
    }
    let rest = rest[digits..].strip_prefix(' ')?;
    let (_, _, behind) = stamp::time(rest)?;
    (rest.as_bytes().get(5) == Some(&b':')).then_some(())?;
    behind_blank(behind)
}

fn unit(text: &str) -> Option<&str> {
    let is_name = |c: u8| c.is_ascii_alphanumeric() || b"._-[]/@()".contains(&c);
    let (host, rest) = text.split_once(' ')?;
    let end = memchr::memchr(b':', rest.as_bytes())?;
    let tag = &rest[..end];
    let are_names = [host, tag].iter().all(|name| {
        let first = name.bytes().next();
        first.is_some_and(|byte| byte.is_ascii_alphanumeric())
            && name.len() <= LONGEST
            && name.bytes().all(is_name)
    });
    are_names.then(|| behind_blank(&rest[end + 1..]))?
}

fn stream(text: &str) -> Option<&str> {
    let rest = ["stdout", "stderr"]
        .iter()
        .find_map(|name| text.strip_prefix(name))?;
    let rest = [" F", " P"]
        .iter()
        .find_map(|flag| rest.strip_prefix(flag))?;
    behind_blank(rest)
}

/// `grep -n`, `cat -n`, `nl`.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_ascii_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    let rest = text[digits..].strip_prefix([':', '-', '\t', '|'])?;
    Some((number, rest))
}

/// How long a part is that stands before each line as it is.
fn same(text: &str) -> Option<usize> {
    const MARKS: [&str; 7] = ["# ", "* ", "- ", "-- ", "// ", "• ", "> "];
    if let Some(mark) = MARKS.iter().find(|mark| text.starts_with(**mark)) {
        return Some(mark.len());
    }
    let head = text.get(..LONGEST).unwrap_or(text);
    for (open, close) in [('[', "] "), ('<', "> ")] {
        if text.starts_with(open) {
            return head.find(close).map(|at| at + close.len());
        }
    }
    let is_name = |c: &u8| c.is_ascii_alphanumeric() || b"._-/@".contains(c);
    let name = head.bytes().take_while(|c| is_name(c)).count();
    if name == 0 || !text[..name].bytes().any(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let rest = &head[name..];
    if let Some(behind) = rest.strip_prefix(':') {
        // `grep` puts none behind names of files.
        let is_file = text[..name].contains(['.', '/']);
        let blank = usize::from(behind.starts_with(' ') && !is_file);
        return Some(name + 1 + blank);
    }
    let bar = rest.trim_start_matches(' ').strip_prefix("| ")?;
    (rest.starts_with(' ')).then_some(head.len() - bar.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(text: &str) -> Vec<String> {
        Prefix::of(text)
            .map(|behind| match behind.moment {
                Some(at) => format!("{at} {}", behind.text),
                None => behind.text.to_owned(),
            })
            .collect()
    }

    #[test]
    fn what_collectors_put_before_lines_is_known() {
        let last = |text: &str| off(text).pop().unwrap_or_default();
        for (before, at) in [
            (
                "2024-03-05T10:11:12.123456789Z ",
                "2024-03-05T10:11:12.123456 ",
            ),
            ("[2024-03-05 10:11:12] ", "2024-03-05T10:11:12 "),
            (
                "2024-03-05T10:11:12+0100 db1 iostat[4711]: ",
                "2024-03-05T10:11:12 ",
            ),
            ("2024-03-05T10:11:12Z stdout F ", "2024-03-05T10:11:12 "),
            ("Mar  5 10:11:12 db1 iostat[4711]: ", ""),
            ("10:11:12 ", ""),
            ("[pod/db-0/db] ", ""),
            ("db-1  | ", ""),
            ("a/iostat.log:", ""),
            ("a/iostat.log:12:", ""),
            ("    12\t", ""),
            ("<db1> ", ""),
            ("# ", ""),
            ("> ", ""),
        ] {
            assert_eq!(
                last(&format!("{before}Device  r/s")),
                format!("{at}Device  r/s")
            );
        }
        for text in [
            "Device  r/s",
            "",
            "   8  0 sda 1",
            "sda 1.00 2.00",
            "5 6",
            "(x",
        ] {
            assert_eq!(off(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn lines_behind_the_first_have_the_same_before_them() {
        let behind = Prefix::of("web.log:7:Device r/s").last();
        let mut prefix = behind.expect("a prefix").prefix();
        assert_eq!(prefix.off("web.log:8:sda 1.0"), Some(("sda 1.0", None)));
        assert_eq!(prefix.off("web.log-9-"), None);
        assert_eq!(prefix.off("web.log:8:sda 1.0"), None);
        assert_eq!(prefix.off("db.log:9:sda 1.0"), None);
        let behind = Prefix::of("db-1  | Device r/s").last();
        let mut prefix = behind.expect("a prefix").prefix();
        assert_eq!(prefix.off("db-1  |"), Some(("", None)));
        assert_eq!(prefix.off("sda 1.0"), None);
        let behind = Prefix::of("10:11:12 # hostname;x").last();
        let mut prefix = behind.expect("a prefix").prefix();
        assert_eq!(prefix.off("10:11:13 db1;600"), Some(("db1;600", None)));
    }
}
