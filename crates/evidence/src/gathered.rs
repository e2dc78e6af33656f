use std::collections::HashMap;
use std::sync::Arc;
use straddle_stack::Source;
use straddle_stack::activity::{
    Activity, Figure, Kept, Moment, Quantity, Sample, Series, Span, Statistic, Summary, Unit,
};

use crate::line::Line;
use crate::subject::Subject;

/// All that inputs said, in memory that does not grow with their length.
#[derive(Default)]
pub struct Gathered {
    subjects: Vec<Known>,
    by_subject: HashMap<Subject, usize>,
    /// The one that was spoken of last: a row has many figures of one.
    last: usize,
    /// Names of the formats that were found.
    pub formats: Vec<&'static str>,
    /// What was not understood, and other oddities of the inputs.
    pub counted: Vec<Counted>,
    /// Lines that were read, of all inputs.
    pub lines: u64,
    /// Figures that were taken.
    pub figures: u64,
    /// The first host whose figures these are, of all inputs.
    pub(crate) host: Option<Box<str>>,
    /// How many series there are.
    series: usize,
    /// The last line with a counter that is lower than before: it is counted once, however many it has.
    lower: u64,
    observer: Option<Observer>,
}

/// Sees every figure when it is read.
type Observer = Box<dyn FnMut(&Observation<'_>)>;

/// A figure that is noted.
pub(crate) struct Noted<'a> {
    /// The file.
    pub(crate) file: &'a Arc<str>,
    pub(crate) line: &'a Line<'a>,
    pub(crate) value: Figure,
    pub(crate) at: Option<Moment>,
    /// How many requests it stands for.
    pub(crate) weight: Option<Figure>,
}

/// What is known of one subject.
pub(crate) struct Known {
    pub(crate) subject: Subject,
    /// The database that a file is of.
    pub(crate) database: Option<Arc<str>>,
    /// What it says it is: `LOG`, `ROWS`.
    pub(crate) role: Option<straddle_stack::activity::Role>,
    /// What was measured of it, until it is joined with a layer ...
    pub(crate) series: Vec<Series>,
    /// ... which it has in common with this from then on.
    pub(crate) joined: Option<Arc<Activity>>,
}

impl Known {
    pub(crate) fn series(&self) -> &[Series] {
        match &self.joined {
            Some(activity) => &activity.series,
            None => &self.series,
        }
    }
}

/// One figure, as it is read.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The file.
    pub file: &'a Arc<str>,
    /// Its line.
    pub line: u64,
    /// What it is about.
    pub subject: &'a Subject,
    /// What was measured.
    pub quantity: Quantity,
    /// What of it.
    pub statistic: Statistic,
    /// What the figure is about.
    pub span: Span,
    /// The figure.
    pub value: Figure,
    /// When.
    pub at: Option<Moment>,
}

/// Lines of one input with which something is the matter: how many, and where the first is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// What is the matter.
    pub what: &'static str,
    /// Where, the first time.
    pub first: Source,
    /// How many.
    pub count: u64,
}

/// Names one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    subject: usize,
    series: usize,
}

/// What a series has for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) quantity: Quantity,
    pub(crate) statistic: Statistic,
    pub(crate) span: Span,
}

/// Most subjects that are kept, and most series of all of them. A server has hundreds of files; a forged input has no say in how
/// much memory is taken: a series takes 6 KiB at most.
const MAX_SUBJECTS: usize = 4096;
const MAX_SERIES: usize = 4096;
/// Most sorts of oddities.
const MAX_COUNTED: usize = 256;

impl Gathered {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Gathered {
        Gathered::default()
    }

    /// Nothing yet; every figure is shown to `observer` when it is read.
    #[must_use]
    pub fn observed(observer: impl FnMut(&Observation<'_>) + 'static) -> Gathered {
        Gathered {
            observer: Some(Box::new(observer)),
            ..Gathered::default()
        }
    }

    /// Every subject with its series, in the order in which they were spoken of.
    pub fn series(&self) -> impl Iterator<Item = (&Subject, &[Series])> {
        let known = self.subjects.iter();
        known.map(|known| (&known.subject, known.series()))
    }

    pub(crate) fn subjects(&self) -> &[Known] {
        &self.subjects
    }

    pub(crate) fn subjects_mut(&mut self) -> &mut [Known] {
        &mut self.subjects
    }

    pub(crate) fn found(&mut self, format: &'static str) {
        if !self.formats.contains(&format) {
            self.formats.push(format);
        }
    }

    /// `None` when there are too many.
    pub(crate) fn known(&mut self, subject: &Subject) -> Option<&mut Known> {
        let index = self.index(subject)?;
        self.subjects.get_mut(index)
    }

    fn index(&mut self, subject: &Subject) -> Option<usize> {
        let last = self.subjects.get(self.last);
        if last.is_some_and(|known| known.subject == *subject) {
            return Some(self.last);
        }
        if let Some(index) = self.by_subject.get(subject) {
            self.last = *index;
            return Some(*index);
        }
        let index = self.subjects.len();
        if index >= MAX_SUBJECTS {
            return None;
        }
        self.subjects.push(Known {
            subject: subject.clone(),
            database: None,
            role: None,
            series: Vec::new(),
            joined: None,
        });
        self.by_subject.insert(subject.clone(), index);
        Some(index)
    }

    pub(crate) fn add(
        &mut self,
        subject: &Subject,
        name: Name,
        noted: &Noted<'_>,
    ) -> Option<Handle> {
        let subject = self.index(subject)?;
        let known = self.subjects.get(subject)?;
        let same = |series: &Series| {
            series.quantity == name.quantity
                && series.statistic == name.statistic
                && series.span == name.span
        };
        let series = known.series.iter().position(same);
        if series.is_none() && self.series >= MAX_SERIES {
            return None;
        }
        let handle = Handle {
            subject,
            series: series.unwrap_or(known.series.len()),
        };
        self.add_to(handle, name, noted);
        Some(handle)
    }

    /// As [`Self::add`], for a series that was found before.
    pub(crate) fn add_to(&mut self, handle: Handle, name: Name, noted: &Noted<'_>) {
        let &Noted {
            file,
            line,
            value,
            at,
            weight,
        } = noted;
        let Some(known) = self.subjects.get_mut(handle.subject) else {
            return;
        };
        self.figures += 1;
        if let Some(observer) = &mut self.observer {
            observer(&Observation {
                file,
                line: line.number,
                subject: &known.subject,
                quantity: name.quantity,
                statistic: name.statistic,
                span: name.span,
                value,
                at,
            });
        }
        match known.series.get_mut(handle.series) {
            Some(series) => {
                let kept = match name.span {
                    Span::Interval => Kept::Nowhere,
                    _ if name.quantity.is_counter() => Kept::Count,
                    _ => Kept::Place,
                };
                let summary = &mut series.summary;
                let is_lower = kept == Kept::Count
                    && is_number_since_start(name)
                    && value < summary.last.value
                    && at.zip(summary.last.at).is_none_or(|(at, last)| at >= last);
                summary.add(value, at, weight, kept, |place| locate(place, file, line));
                if is_lower && self.lower != line.number {
                    self.lower = line.number;
                    self.count(if at.is_some() { AGAIN } else { LOWER }, file, line);
                }
            }
            None => {
                let source = source(file, line);
                self.series += 1;
                known.series.push(Series {
                    quantity: name.quantity,
                    statistic: name.statistic,
                    span: name.span,
                    summary: Summary::of(Sample { value, at, source }, weight),
                });
            }
        }
    }

    pub(crate) fn count(&mut self, what: &'static str, file: &Arc<str>, line: &Line<'_>) {
        let of_file =
            |source: &Source| matches!(source, Source::Captured { file: f, .. } if f == file);
        let same = |counted: &&mut Counted| counted.what == what && of_file(&counted.first);
        if let Some(counted) = self.counted.iter_mut().find(same) {
            counted.count += 1;
        } else if self.counted.len() < MAX_COUNTED {
            self.counted.push(Counted {
                what,
                first: source(file, line),
                count: 1,
            });
        }
    }
}

/// True for how often something was done since the start; times and bytes are rounded by some tools.
fn is_number_since_start(name: Name) -> bool {
    let is_number = name.quantity.is_counter() && name.quantity.unit() == Unit::Count;
    is_number && name.span == Span::SinceStart
}

const AGAIN: &str = "at which counters start again: the mean is that of the time since";
const LOWER: &str = "with counters that are lower than in the reading before: they started again, or the later reading is the first one here";

/// The place of a line.
pub(crate) fn source(file: &Arc<str>, line: &Line<'_>) -> Source {
    Source::Captured {
        file: Arc::clone(file),
        line: line.number,
        text: quoted(line).concat(),
    }
}

/// The same, written over another place: every figure of a counter is the last and the largest one, so this is asked for often.
fn locate(place: &mut Source, of: &Arc<str>, at: &Line<'_>) {
    match place {
        Source::Captured { file, line, text } => {
            if !Arc::ptr_eq(file, of) {
                *file = Arc::clone(of);
            }
            *line = at.number;
            text.clear();
            text.extend(quoted(at));
        }
        other => *other = source(of, at),
    }
}

/// As much of a line as is kept as evidence, and a mark where it goes on.
fn quoted<'t>(line: &Line<'t>) -> [&'t str; 2] {
    /// In characters.
    const LONGEST: usize = 96;
    let text = line.trimmed();
    if text.len() <= LONGEST {
        return [text, ""];
    }
    match text.as_bytes()[..LONGEST].is_ascii() {
        true => [&text[..LONGEST], "…"],
        false => match text.char_indices().nth(LONGEST) {
            Some((end, _)) => [&text[..end], "…"],
            None => [text, ""],
        },
    }
}
