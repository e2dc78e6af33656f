//! Lines that are no requests, and how many of them there are.

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
                let s = if found == 1 { "" } else { "s" };
                return format!("{found} column{s} instead of {expected}");
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
