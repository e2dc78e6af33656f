//! Words without which a line is none of a format's: looked for all at once, as most lines have none.

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;
use std::sync::OnceLock;

use crate::format::{Format, Shape};
use crate::others;
use crate::registry::FORMATS;

/// Formats that have a mark in a line, and those that are asked about every line: a bit for each, in the order of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hits(u64);

impl Hits {
    /// The formats that are asked.
    pub(crate) fn formats(self) -> impl Iterator<Item = &'static Format> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let index = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            FORMATS.get(index).copied()
        })
    }

    /// Whether an output may begin in the line behind what a collector put there: it has a mark, or what formats without marks begin with.
    pub(crate) fn may_begin_behind(self, text: &str) -> bool {
        self.0 & !marks().always & !OTHERS != 0 || is_row(text) || begins_json(text)
    }

    /// Whether it may be of a tool whose figures are not read.
    pub(crate) const fn may_be_of_others(self) -> bool {
        self.0 & OTHERS != 0
    }

    /// Whether there is none of them.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What is in the first line of an output of which the format has no marks: names of columns of sysstat and what stands above its reports, a
/// row that stands one field a line, a file of counters.
const WITHOUT_MARKS: [&str; 5] = ["Device", "Linux ", "***", "-[ ", "/sys/block/"];
/// No format's.
const NOBODYS: u64 = 1 << 63;
/// Of tools whose figures are not read.
const OTHERS: u64 = 1 << 62;

/// True for what ends as the rows of counters do, with figures or with the name of a column and a figure.
fn is_row(text: &str) -> bool {
    let is_figure = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
    };
    if !text.ends_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut words = text.rsplit([' ', '\t']);
    let last = words.next().unwrap_or_default();
    let before = words.find(|word| !word.is_empty()).unwrap_or_default();
    // The columns of sar.
    let is_column = before.contains(['/', '%', '-']) || ["tps", "await", "svctm"].contains(&before);
    is_figure(last) && !before.is_empty() && (is_figure(before) || is_column)
}

/// True for the first line of a document. A whole object in a short line is a message of a log.
fn begins_json(text: &str) -> bool {
    const MESSAGE: usize = 1024;
    match text.trim_ascii_end().as_bytes().last() {
        Some(b'{' | b'[' | b',') => true,
        Some(b'}') => text.len() > MESSAGE,
        _ => false,
    }
}

pub(crate) struct Marks {
    any: Option<DFA>,
    /// Whose a mark is.
    owners: Vec<u64>,
    always: u64,
    messages: u64,
    tables: u64,
    lines: u64,
    errorlog: u64,
    /// The marks of messages in the case in which they are written, in the order of the registry.
    written: Vec<Vec<Finder<'static>>>,
    /// Marks of an ERRORLOG's messages, in the case in which they are written: its lines come by the million.
    in_errorlog: Option<Searcher>,
}

/// The marks of all formats.
pub(crate) fn marks() -> &'static Marks {
    static MARKS: OnceLock<Marks> = OnceLock::new();
    MARKS.get_or_init(Marks::new)
}

impl Marks {
    fn new() -> Marks {
        let mut marks = Marks {
            any: None,
            owners: Vec::new(),
            always: 0,
            messages: 0,
            tables: 0,
            lines: 0,
            errorlog: 0,
            written: Vec::with_capacity(FORMATS.len()),
            in_errorlog: None,
        };
        let (mut all, mut errorlog): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (index, format) in FORMATS.iter().enumerate() {
            let bit = 1_u64 << index;
            let mut written = Vec::new();
            let of = match &format.shape {
                Shape::Messages {
                    marks: of,
                    of_errorlog,
                    ..
                } => {
                    marks.messages |= bit;
                    written.extend(of.iter().map(Finder::new));
                    if *of_errorlog {
                        marks.errorlog |= bit;
                        errorlog.extend(*of);
                    }
                    *of
                }
                Shape::Table { marks: of, .. } => {
                    marks.tables |= bit;
                    *of
                }
                Shape::Lines { marks: of, .. } => {
                    marks.lines |= bit;
                    if of.is_empty() {
                        marks.always |= bit;
                    }
                    *of
                }
                Shape::Json { .. } => &[],
            };
            marks.written.push(written);
            all.extend(of);
            marks.owners.resize(all.len(), bit);
        }
        all.extend(WITHOUT_MARKS);
        marks.owners.resize(all.len(), NOBODYS);
        all.extend(others::marks());
        marks.owners.resize(all.len(), OTHERS);
        // Without classes of bytes a step is one look at a table less; the table is 2 MB, of which few lines are ever looked at.
        let any = DFA::builder()
            .ascii_case_insensitive(true)
            .byte_classes(false)
            .build(all);
        // Without it every format is asked about every line.
        marks.any = any.ok();
        marks.in_errorlog = Searcher::new(errorlog);
        marks
    }

    /// What has a mark in this text, in any case.
    pub(crate) fn of(&self, text: &[u8]) -> Hits {
        let walk = (self.any.as_ref()).and_then(|any| Some(self.always | self.walk(any, text)?));
        Hits(walk.unwrap_or(u64::MAX))
    }

    /// The owners of the marks in a text. A step has to wait for the one before it, so that a long text is walked through in four
    /// parts at once.
    fn walk(&self, any: &DFA, text: &[u8]) -> Option<u64> {
        const PARTS: usize = 4;
        /// Shorter texts are over before it pays.
        const SHORT: usize = 32;
        let start = any.start_state(Anchored::No).ok()?;
        let mut owners = 0;
        let mut note = |state| {
            if any.is_special(state) && any.is_match(state) {
                for index in 0..any.match_len(state) {
                    owners |= self.owners[any.match_pattern(state, index).as_usize()];
                }
            }
        };
        let len = match text.len() < SHORT {
            true => 0,
            false => text.len() / PARTS,
        };
        let (first, rest) = text.split_at(len);
        let (second, rest) = rest.split_at(len);
        let (third, fourth) = rest.split_at(len);
        let mut states = [start; PARTS];
        let mut steps = fourth.iter();
        for (((a, b), c), d) in (first.iter().zip(second).zip(third)).zip(steps.by_ref()) {
            for (state, byte) in states.iter_mut().zip([a, b, c, d]) {
                *state = any.next_state(Anchored::No, *state, *byte);
                note(*state);
            }
        }
        for byte in steps {
            states[PARTS - 1] = any.next_state(Anchored::No, states[PARTS - 1], *byte);
            note(states[PARTS - 1]);
        }
        // A mark may go beyond a part: from where a walk that began there comes to the same state, it has been seen.
        for (state, part) in states.into_iter().zip(1..PARTS) {
            let (mut state, mut begun) = (state, start);
            for byte in &text[part * len..] {
                if state == begun {
                    break;
                }
                state = any.next_state(Anchored::No, state, *byte);
                begun = any.next_state(Anchored::No, begun, *byte);
                note(state);
            }
        }
        Some(owners)
    }

    /// False for a line of an ERRORLOG that has no message that is read.
    pub(crate) fn may_be_of_errorlog(&self, text: &[u8]) -> bool {
        let searcher = self.in_errorlog.as_ref();
        searcher.is_none_or(|searcher| searcher.find(text).is_some())
    }

    /// Those of which a message is begun in the text, of an ERRORLOG or of anything: by a mark as it is written.
    pub(crate) fn messages(&self, hits: Hits, text: &[u8], of_errorlog: bool) -> Hits {
        let mut may_be = match of_errorlog {
            true => hits.0 & self.errorlog,
            false => hits.0 & self.messages,
        };
        let mut are = 0;
        while may_be != 0 {
            let bit = may_be & may_be.wrapping_neg();
            let of = self.written.get(bit.trailing_zeros() as usize);
            let mut of = of.into_iter().flatten();
            if of.any(|mark| mark.find(text).is_some()) {
                are |= bit;
            }
            may_be &= !bit;
        }
        Hits(are)
    }

    /// Those whose names of columns may be in the text.
    pub(crate) const fn tables(&self, hits: Hits) -> Hits {
        Hits(hits.0 & self.tables)
    }

    /// Those whose heading it may be.
    pub(crate) const fn lines(&self, hits: Hits) -> Hits {
        Hits(hits.0 & self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose marks are in a text, one by one.
    fn one_by_one(text: &str) -> u64 {
        let text = text.to_ascii_lowercase();
        let of_nobody = |mark: &&str| text.contains(&mark.to_ascii_lowercase());
        let mut hits = match WITHOUT_MARKS.iter().any(of_nobody) {
            true => NOBODYS,
            false => 0,
        };
        if others::marks().any(|mark| of_nobody(&mark)) {
            hits |= OTHERS;
        }
        for (index, format) in FORMATS.iter().enumerate() {
            let of = match &format.shape {
                Shape::Messages { marks, .. } | Shape::Table { marks, .. } => *marks,
                Shape::Lines { marks: [], .. } => &[""],
                Shape::Lines { marks, .. } => *marks,
                Shape::Json { .. } => continue,
            };
            if of
                .iter()
                .any(|mark| text.contains(&mark.to_ascii_lowercase()))
            {
                hits |= 1 << index;
            }
        }
        hits
    }

    #[test]
    fn there_is_a_bit_for_each_format() {
        assert!(FORMATS.len() < 62);
    }

    #[test]
    fn all_at_once_are_those_one_by_one() {
        let all: Vec<&str> = FORMATS
            .iter()
            .flat_map(|format| match &format.shape {
                Shape::Messages { marks, .. }
                | Shape::Table { marks, .. }
                | Shape::Lines { marks, .. } => *marks,
                Shape::Json { .. } => &[],
            })
            .copied()
            .collect();
        let mut some = 0;
        for (first, second) in all.iter().zip(all.iter().cycle().skip(7)) {
            // Beside each other, over each other, in another case, cut.
            let cut: String = second.chars().skip(1).collect();
            for text in [
                (*first).to_owned(),
                first.to_ascii_uppercase(),
                format!("2024 {first}{second} 7"),
                format!("{first} {cut}"),
                cut,
            ] {
                let hits = marks().of(text.as_bytes());
                assert_eq!(hits.0, one_by_one(&text), "{text}");
                some += u32::from(hits.0 != marks().always);
            }
        }
        assert!(some > 300, "{some}");
        assert_eq!(marks().of(b"a line of nobody").0, marks().always);
    }

    /// A long text is walked through in parts, and a mark may begin in one and end in the next, or in the one behind that.
    #[test]
    fn marks_are_found_wherever_they_stand() {
        let mut beyond = 0;
        for mark in [
            "%util",
            "Seiten wurden für die",
            "fsync/fdatasync/sync_file_range:",
            "tIMe:",
        ] {
            for len in [31, 32, 33, 47, 64, 101, 160] {
                for at in 0..=len {
                    let text = format!("{}{mark}{}", &"%ut".repeat(at)[..at], "r".repeat(len - at));
                    let hits = marks().of(text.as_bytes());
                    assert_eq!(hits.0, one_by_one(&text), "{text}");
                    let part = text.len() / 4;
                    beyond += u32::from(at / part != (at + mark.len() - 1) / part);
                }
            }
        }
        assert!(beyond > 500, "{beyond}");
    }

    #[test]
    fn marks_of_an_errorlog_are_looked_for_as_they_are_written() {
        assert!(marks().may_be_of_errorlog(b"taking longer than 15 seconds to complete on file"));
        assert!(!marks().may_be_of_errorlog(b"Login succeeded for user"));
    }
}
