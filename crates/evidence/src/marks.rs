//! Words without which a line is none of a format's: looked for all at once, as most lines have none.

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use std::sync::OnceLock;

use crate::format::{Format, Shape};
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

    /// Whether there is none of them.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

pub(crate) struct Marks {
    any: Option<AhoCorasick>,
    /// Whose a mark is.
    owners: Vec<u64>,
    always: u64,
    messages: u64,
    tables: u64,
    lines: u64,
    errorlog: u64,
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
            in_errorlog: None,
        };
        let (mut all, mut errorlog): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (index, format) in FORMATS.iter().enumerate() {
            let bit = 1_u64 << index;
            let of = match &format.shape {
                Shape::Messages {
                    marks: of,
                    of_errorlog,
                    ..
                } => {
                    marks.messages |= bit;
                    if *of_errorlog {
                        marks.errorlog |= bit;
                        errorlog.extend(*of);
                    }
                    of
                }
                Shape::Table { marks: of, .. } => {
                    marks.tables |= bit;
                    of
                }
                Shape::Lines { marks: of, .. } => {
                    marks.lines |= bit;
                    if of.is_empty() {
                        marks.always |= bit;
                    }
                    of
                }
                Shape::Json { .. } => continue,
            };
            all.extend(*of);
            marks.owners.resize(all.len(), bit);
        }
        let any = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(all);
        // Without it every format is asked about every line.
        marks.any = any.ok();
        marks.in_errorlog = Searcher::new(errorlog);
        marks
    }

    /// What has a mark in this text, in any case.
    pub(crate) fn of(&self, text: &[u8]) -> Hits {
        let Some(any) = &self.any else {
            return Hits(u64::MAX);
        };
        let mut hits = self.always;
        // Most lines have none, which is told at twice the speed.
        if !any.is_match(text) {
            return Hits(hits);
        }
        for found in any.find_overlapping_iter(text) {
            hits |= self.owners[found.pattern().as_usize()];
        }
        Hits(hits)
    }

    /// False for a line of an ERRORLOG that has no message that is read.
    pub(crate) fn may_be_of_errorlog(&self, text: &[u8]) -> bool {
        let searcher = self.in_errorlog.as_ref();
        searcher.is_none_or(|searcher| searcher.find(text).is_some())
    }

    /// Those whose messages may be in the text, of an ERRORLOG or of anything.
    pub(crate) const fn messages(&self, hits: Hits, of_errorlog: bool) -> Hits {
        match of_errorlog {
            true => Hits(hits.0 & self.errorlog),
            false => Hits(hits.0 & self.messages),
        }
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

/// Whether one of these stands in the text, in this case.
pub(crate) fn has_one(text: &[u8], marks: &[&str]) -> bool {
    marks
        .iter()
        .any(|mark| memmem::find(text, mark.as_bytes()).is_some())
}
