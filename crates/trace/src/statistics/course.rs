//! What depends on order: how requests follow each other, in a part of a file.

use std::collections::BTreeMap;

use straddle_geometry::Access;

use crate::lines::{BadLine, Counts, Fault, KEPT};
use crate::record::Record;

/// How the requests of one device follow each other in a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    /// Where the first request begins, and whether it writes.
    first: (u64, Access),
    /// Where the last request ends.
    end: u64,
    /// Requests that begin where the one before them ended: reads, writes.
    pub sequential: [u64; 2],
}

impl Course {
    #[inline]
    pub(crate) fn new(record: &Record<'_>) -> Course {
        Course {
            first: (record.start, record.access),
            end: record.start.saturating_add(record.len),
            sequential: [0; 2],
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        let follows = self.end == record.start;
        self.sequential[usize::from(record.access == Access::Write)] += u64::from(follows);
        self.end = record.start.saturating_add(record.len);
    }

    /// Where the first request begins, and whether it writes; and where the last one ends.
    pub(super) const fn ends(&self) -> (u64, Access, u64) {
        (self.first.0, self.first.1, self.end)
    }

    pub(super) const fn of(start: u64, access: Access, end: u64, sequential: [u64; 2]) -> Course {
        Course {
            first: (start, access),
            end,
            sequential,
        }
    }

    /// What comes right behind it.
    fn then(&mut self, next: &Course) {
        let (start, access) = next.first;
        self.sequential[usize::from(access == Access::Write)] += u64::from(self.end == start);
        for (mine, more) in self.sequential.iter_mut().zip(next.sequential) {
            *mine += more;
        }
        self.end = next.end;
    }
}

/// Times of a part of a file, in the order in which they stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    first: u64,
    last: u64,
    /// The earliest and the latest, in nanoseconds.
    pub span: (u64, u64),
    /// How often a time is before the one above it.
    pub backwards: u64,
    /// By how much at most, in nanoseconds.
    pub furthest: u64,
}

impl Times {
    const fn new(time: u64) -> Times {
        Times {
            first: time,
            last: time,
            span: (time, time),
            backwards: 0,
            furthest: 0,
        }
    }

    #[inline]
    fn add(&mut self, time: u64) {
        if time < self.last {
            self.backwards += 1;
            self.furthest = self.furthest.max(self.last - time);
        }
        self.last = time;
        self.span = (self.span.0.min(time), self.span.1.max(time));
    }

    pub(super) const fn numbers(&self) -> [u64; 6] {
        let (earliest, latest) = self.span;
        [
            self.first,
            self.last,
            earliest,
            latest,
            self.backwards,
            self.furthest,
        ]
    }

    /// Of such numbers, if they can be.
    pub(super) fn of(numbers: [u64; 6]) -> Option<Times> {
        let [first, last, earliest, latest, backwards, furthest] = numbers;
        let within = earliest..=latest;
        let is_right = within.contains(&first)
            && within.contains(&last)
            && furthest <= latest - earliest
            && (backwards == 0) == (furthest == 0);
        is_right.then_some(Times {
            first,
            last,
            span: (earliest, latest),
            backwards,
            furthest,
        })
    }

    /// Of two parts that do not follow each other.
    pub(crate) fn both(a: Option<Times>, b: Option<Times>) -> Option<Times> {
        let (Some(a), Some(b)) = (a, b) else {
            return a.or(b);
        };
        Some(Times {
            span: (a.span.0.min(b.span.0), a.span.1.max(b.span.1)),
            backwards: a.backwards + b.backwards,
            furthest: a.furthest.max(b.furthest),
            ..a
        })
    }

    fn then(&mut self, next: &Times) {
        if next.first < self.last {
            self.backwards += 1;
            self.furthest = self.furthest.max(self.last - next.first);
        }
        self.backwards += next.backwards;
        self.furthest = self.furthest.max(next.furthest);
        self.last = next.last;
        self.span = (self.span.0.min(next.span.0), self.span.1.max(next.span.1));
    }
}

/// What is known of consecutive bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) file: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Its last line has no end: it may have been cut.
    pub(crate) is_open: bool,
    /// How many lines were what.
    pub counts: Counts,
    /// Requests that lie nowhere in what is judged, and pieces beyond the first of those that lie in several.
    pub elsewhere: u64,
    pub split: u64,
    /// Of the requests that have one.
    pub times: Option<Times>,
    /// By number of the device, ascending.
    pub(crate) courses: Vec<(u32, Course)>,
    /// The first bad lines, numbered from the beginning of the part.
    pub bad: Vec<BadLine>,
    /// Bad lines by kind.
    pub faults: BTreeMap<Fault, u64>,
}

impl Part {
    fn then(&mut self, next: Part) {
        let lines = self.counts.lines();
        // A block in which no line begins is the rest of one that was read with the block before.
        if next.counts.lines() > 0 {
            self.is_open = next.is_open;
        }
        self.bad.extend(next.bad.into_iter().map(|bad| BadLine {
            line: bad.line + lines,
            ..bad
        }));
        self.bad.truncate(KEPT);
        self.counts.add(next.counts);
        self.elsewhere += next.elsewhere;
        self.split += next.split;
        for (fault, count) in next.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        match (&mut self.times, next.times) {
            (Some(times), Some(next)) => times.then(&next),
            (none, next) => *none = none.or(next),
        }
        self.courses = joined(std::mem::take(&mut self.courses), next.courses);
        self.to = next.to;
    }

    /// The same of a file with another number.
    pub(super) fn of_file(self, file: u32) -> Part {
        Part { file, ..self }
    }

    /// Moves it, so that it begins at `from`.
    pub(super) const fn behind(&mut self, from: u64) {
        self.to = from.saturating_add(self.to - self.from);
        self.from = from;
    }

    /// Gives devices other numbers.
    pub(crate) fn renumber(&mut self, file: u32, numbers: &[u32]) {
        self.file = file;
        for (number, _) in &mut self.courses {
            *number = numbers[*number as usize];
        }
        self.courses.sort_unstable_by_key(|(number, _)| *number);
    }
}

/// Both in order of devices. A part of a file that goes on mostly has the same devices as before, so those are added where they stand:
/// there may be a hundred thousand of them, and a block behind every one that is read.
fn joined(mut mine: Vec<(u32, Course)>, next: Vec<(u32, Course)>) -> Vec<(u32, Course)> {
    let mut at = 0;
    let mut others = Vec::new();
    for (number, course) in next {
        at += mine
            .get(at..)
            .unwrap_or_default()
            .partition_point(|(known, _)| *known < number);
        match mine.get_mut(at) {
            Some((known, before)) if *known == number => before.then(&course),
            _ => others.push((number, course)),
        }
    }
    if others.is_empty() {
        return mine;
    }
    let mut out = Vec::with_capacity(mine.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (number, course) in mine {
        while let Some(before) = others.next_if(|(other, _)| *other < number) {
            out.push(before);
        }
        out.push((number, course));
    }
    out.extend(others);
    out
}

/// A part that is being read.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    file: u32,
    from: u64,
    /// Where its first line begins.
    begin: u64,
    pub(crate) counts: Counts,
    pub(crate) elsewhere: u64,
    pub(crate) split: u64,
    times: Option<Times>,
    bad: Vec<BadLine>,
    faults: BTreeMap<Fault, u64>,
}

impl Pending {
    pub(crate) fn new(file: u32, from: u64, begin: u64) -> Pending {
        Pending {
            file,
            from,
            begin,
            ..Pending::default()
        }
    }

    #[inline]
    pub(crate) fn time(&mut self, time: u64) {
        match &mut self.times {
            Some(times) => times.add(time),
            none => *none = Some(Times::new(time)),
        }
    }

    pub(crate) fn fault(&mut self, at: usize, fault: Fault, text: String) {
        self.counts.bad += 1;
        *self.faults.entry(fault).or_default() += 1;
        if self.bad.len() < KEPT {
            self.bad.push(BadLine {
                line: self.counts.lines(),
                at: self.begin + at as u64,
                fault,
                text,
            });
        }
    }

    pub(crate) fn end(self, to: u64, is_open: bool, courses: Vec<(u32, Course)>) -> Part {
        Part {
            file: self.file,
            from: self.from,
            to,
            is_open,
            counts: self.counts,
            elsewhere: self.elsewhere,
            split: self.split,
            times: self.times,
            courses,
            bad: self.bad,
            faults: self.faults,
        }
    }
}

/// The parts of all files. Neighbours become one as soon as both are there, in whatever order they come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(BTreeMap<(u32, u64), Part>);

impl Parts {
    pub(crate) fn add(&mut self, mut part: Part) {
        if let Some(next) = self.0.remove(&(part.file, part.to)) {
            part.then(next);
        }
        let before = self.0.range(..(part.file, part.from)).next_back();
        if let Some((key, _)) =
            before.filter(|(_, before)| before.file == part.file && before.to == part.from)
            && let key = *key
            && let Some(before) = self.0.get_mut(&key)
        {
            return before.then(part);
        }
        self.0.insert((part.file, part.from), part);
    }

    /// Whether some bytes of a part are there already.
    pub(super) fn overlaps(&self, part: &Part) -> bool {
        let before = self.0.range(..(part.file, part.to)).next_back();
        part.to > part.from
            && before.is_some_and(|(_, before)| before.file == part.file && before.to > part.from)
    }

    /// Where the last part of a file ends.
    pub(super) fn end(&self, file: u32) -> Option<u64> {
        let last = self.0.range(..=(file, u64::MAX)).next_back();
        last.filter(|(_, part)| part.file == file)
            .map(|(_, part)| part.to)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.values()
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Part> {
        self.0.into_values()
    }
}
