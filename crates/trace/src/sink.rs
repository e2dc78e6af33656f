//! What a thread gathers of the blocks it reads.

use std::ops::ControlFlow;

use crate::names::{LocalNames, SharedNames};
use crate::record::Record;
use crate::statistics::{Bins, Key, Part, Pending};

/// Why a line is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It has another number of columns.
    Columns {
        /// As many as the others have.
        expected: usize,
        /// As many as there are.
        found: usize,
    },
    /// Its offset is no number, a negative one, or one of more than 64 bits.
    Start,
    /// Its length is no such number.
    Length,
    /// Its time is none.
    Time,
    /// It says neither read nor write.
    Direction,
    /// It is a flush, a discard or the like. No fault: those move no data.
    Neither,
    /// It is 0 bytes long. No fault: nothing is transferred.
    Empty,
    /// It is longer than any device takes.
    TooLong,
    /// It ends behind the last address of 64 bits.
    BeyondTheEnd,
    /// It has none of the shapes of this recorder's lines.
    Shape,
    /// Its end is missing.
    Unfinished,
    /// The recorder did not see where it begins: of some requests it has nothing but their end.
    Unseen,
    /// One of its columns follows from others, and does not.
    Contradiction,
    /// It is longer than any line of a trace.
    LineTooLong,
    /// Bytes between two records of a binary file that are none.
    Garbage,
    /// The file ends in it.
    Cut,
    /// More devices than can be told apart.
    Devices,
}

impl Fault {
    /// What was expected and found, for a message.
    #[must_use]
    pub fn says(self) -> String {
        let text = match self {
            Fault::Columns { expected, found } => {
                return format!("{found} columns instead of {expected}");
            }
            Fault::Start => "the offset is no whole number below 2⁶⁴",
            Fault::Length => "the length is no whole number below 2⁶⁴",
            Fault::Time => "the time is no number",
            Fault::Direction => "neither a read nor a write",
            Fault::Neither => "a flush or a discard",
            Fault::Empty => "a request of 0 bytes",
            Fault::TooLong => "a request of 4 GiB or more",
            Fault::BeyondTheEnd => "a request that ends behind the last address of 64 bits",
            Fault::Shape => "no line of this recorder",
            Fault::Unfinished => "the end of the line is missing: it was cut or wrapped",
            Fault::Unseen => "the recorder did not see where this request begins",
            Fault::Contradiction => "its columns contradict each other",
            Fault::Garbage => "bytes that are no record",
            Fault::LineTooLong => "a line of more than 64 KiB",
            Fault::Cut => "the file ends in it",
            Fault::Devices => "more than 1,048,576 devices",
        };
        text.to_owned()
    }

    /// True for what is no request and need not be one.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        matches!(self, Fault::Neither | Fault::Empty)
    }
}

/// How many lines, or records of a binary file, were what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Other lines of the recorder: headings, other events, summaries, blank lines.
    pub other: u64,
    /// Lines that could not be understood.
    pub bad: u64,
}

impl Counts {
    /// All of them.
    #[must_use]
    pub const fn lines(self) -> u64 {
        self.requests + self.other + self.bad
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.requests += other.requests;
        self.other += other.other;
        self.bad += other.bad;
    }
}

/// A line that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number in the file, from 1; of a binary file, that of the record.
    pub line: u64,
    /// Its first byte in the file.
    pub at: u64,
    /// Why.
    pub fault: Fault,
    /// Its beginning.
    pub text: String,
}

/// As many bad lines of a file are kept with their places.
pub(crate) const KEPT: usize = 8;
/// As much of each.
const KEPT_TEXT: usize = 80;

/// Sees every request in turn, and says whether there is use for more.
pub(crate) type Visit<'v> = &'v mut (dyn FnMut(&Record<'_>) -> ControlFlow<()> + Send);

/// What one thread has gathered. A reader hands it every line.
pub(crate) struct Sink<'v> {
    names: LocalNames,
    /// One for each period.
    bins: Vec<(u64, Bins)>,
    window: Option<u64>,
    part: Pending,
    visit: Option<Visit<'v>>,
    done: bool,
}

impl<'v> Sink<'v> {
    pub(crate) fn new(
        shared: SharedNames,
        bins: Vec<(u64, Bins)>,
        window: Option<u64>,
    ) -> Sink<'v> {
        Sink {
            names: LocalNames::new(shared),
            bins,
            window,
            part: Pending::default(),
            visit: None,
            done: false,
        }
    }

    /// Shows requests instead of counting them.
    pub(crate) fn showing(visit: Visit<'v>) -> Sink<'v> {
        let mut sink = Sink::new(SharedNames::default(), Vec::new(), None);
        sink.names.close();
        sink.visit = Some(visit);
        sink
    }

    /// Nobody wants more requests.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// Begins a block of a file: what is gathered until [`Sink::end`] belongs to it.
    ///
    /// The part of the file begins at byte `from`, and the first line in it at byte `begin`.
    pub(crate) fn begin(&mut self, file: u32, from: u64, begin: u64) {
        self.part = Pending::new(file, from, begin);
    }

    /// Ends the block before byte `to` of the file; `is_open` when its last line has no end.
    pub(crate) fn end(&mut self, to: u64, is_open: bool) -> Part {
        std::mem::take(&mut self.part).end(to, is_open, self.names.end())
    }

    pub(crate) fn into_bins(self) -> Vec<(u64, Bins)> {
        self.bins
    }

    /// A request.
    #[inline]
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        let Some(device) = self.names.follow(record) else {
            return self.shown(record);
        };
        self.part.counts.requests += 1;
        let mut window = 0;
        if let Some(time) = record.time {
            self.part.time(time);
            if let Some(width) = self.window {
                window = u32::try_from(time / width).unwrap_or(u32::MAX);
            }
        }
        for (period, bins) in &mut self.bins {
            // A power of two costs a mask only.
            let place = match period.is_power_of_two() {
                true => record.start & (*period - 1),
                false => record.start % *period,
            };
            bins.add(Key::new(device, window, record.access, place, record.len));
        }
    }

    /// A request whose device has no number: nothing is counted, or there are too many of them.
    #[cold]
    fn shown(&mut self, record: &Record<'_>) {
        let Some(visit) = &mut self.visit else {
            return self.fault(0, Fault::Devices, record.device);
        };
        self.part.counts.requests += 1;
        if let Some(time) = record.time {
            self.part.time(time);
        }
        if !self.done {
            self.done = visit(record).is_break();
        }
    }

    /// A line of the recorder that is no request.
    pub(crate) fn other(&mut self) {
        self.part.counts.other += 1;
    }

    /// A line that begins at byte `at` of the block, and is no request.
    #[cold]
    pub(crate) fn fault(&mut self, at: usize, fault: Fault, line: &[u8]) {
        if fault.is_harmless() {
            return self.other();
        }
        let text = String::from_utf8_lossy(&line[..line.len().min(KEPT_TEXT)]);
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        self.part.fault(at, fault, text);
    }
}
