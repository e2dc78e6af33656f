//! Tables of requests: one line each. Those that a program wrote, with columns in known places and one character between, are read here, fast;
//! those of people and spreadsheets in `sheet`.

pub(crate) mod cells;
pub(crate) mod sheet;
mod words;

use straddle_io::{LINE_BREAK, Numbers, digits, places, room};

use crate::format::{Detected, Head, MAX_LINE, Reader, is_around, unquoted};
use crate::lines::Fault;
use crate::number::scaled;
use crate::record::{Event, MAX_LEN, Record};
use crate::sink::Sink;

pub(crate) use words::Words;

/// How much of a block is looked through at once: its places stay near the processor.
const STEP: usize = 16 << 10;
/// So many rows are read together at most.
const ROWS: usize = 128;
/// Bytes of a sector, as recorders count them whatever the device has.
pub(crate) const SECTOR: u64 = 512;

/// Which column is what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) separator: u8,
    /// How many columns a line has.
    pub(crate) count: usize,
    /// True when a line may have more than that.
    pub(crate) open: bool,
    /// First and last column of the device's name.
    pub(crate) device: (usize, usize),
    /// Where it stands whether a request reads or writes, and how.
    pub(crate) access: (usize, Words),
    /// The column of the first byte, and how many bytes it counts in.
    pub(crate) start: (usize, u64),
    pub(crate) len: (usize, u64),
    pub(crate) time: Option<(usize, Clock)>,
}

impl Columns {
    /// A table of these columns, and the heading that the recorder writes. Where it writes none, people who load its tables with a program
    /// put one above them.
    pub(crate) fn table(self, head: &Head<'_>, written: Option<&[u8]>) -> Detected {
        let given = head.heading(self.separator, self.count);
        let time = self.time.map_or(self.start.0, |(column, _)| column);
        let numbers = Numbers::of(self.count, [time, self.start.0, self.len.0]);
        // In the last column a line of Windows has one character more.
        let last = self.count - 1;
        let numbers = numbers.filter(|_| self.access.0 < last && self.device.1 < last);
        Detected::Lines(Box::new(Table {
            heading: given.or(written.map(<[u8]>::to_vec)),
            columns: self,
            numbers,
        }))
    }
}

/// Nanoseconds from 1601 to 1970.
const EPOCH: u64 = 11_644_473_600_000_000_000;

/// What a time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Steps of 100 ns, as Windows counts.
    Ticks,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Clock {
    /// Nanoseconds of one.
    pub(crate) const fn scale(self) -> u64 {
        match self {
            Clock::Nanoseconds => 1,
            Clock::Ticks => 100,
            Clock::Microseconds => 1_000,
            Clock::Milliseconds => 1_000_000,
            Clock::Seconds => 1_000_000_000,
        }
    }

    /// A time in nanoseconds. Times of Windows begin in 1601: they are counted from 1970, as those of other systems.
    #[inline]
    pub(crate) fn read(self, text: &[u8]) -> Option<u64> {
        self.since_1970(scaled(text, self.scale())?)
    }

    /// The same of `block[from..to]`: whole numbers first, as they are commonest.
    #[inline]
    fn of(self, block: &[u8], from: usize, to: usize) -> Option<u64> {
        match digits(block, from, to) {
            Some(time) => self.since_1970(time.checked_mul(self.scale())?),
            None => self.read(block[from..to].trim_ascii()),
        }
    }

    #[inline]
    pub(crate) fn since_1970(self, time: u64) -> Option<u64> {
        match self {
            Clock::Ticks => Some(time.checked_sub(EPOCH).unwrap_or(time)),
            _ => Some(time),
        }
    }
}

/// A table of such columns.
struct Table {
    columns: Columns,
    /// Of rows that are read together.
    numbers: Option<Numbers>,
    /// A line that names the columns. It is there again where files were put one after another.
    heading: Option<Vec<u8>>,
}

impl Reader for Table {
    fn read(&self, block: &[u8], sink: &mut Sink<'_>) {
        let mut begin = 0;
        let columns = &self.columns;
        // Places of separators and line breaks, of which those of a line that goes on are kept.
        let mut ends = vec![0; room(STEP)];
        let mut kept = 0;
        let mut searched = 0;
        let mut numbers = [[0; 3]; ROWS];
        while searched < block.len() {
            let to = (searched + STEP).min(block.len());
            let room = kept + room(STEP);
            if ends.len() < room {
                ends.resize(room, 0);
            }
            let found = places(block, searched, to, columns.separator, &mut ends[kept..]);
            let mut have = kept + found;
            if to == block.len() && block.last() != Some(&b'\n') {
                ends[have] = u32::try_from(block.len()).unwrap_or(u32::MAX) | LINE_BREAK;
                have += 1;
            }
            searched = to;
            let mut used = 0;
            // Only the first line that ends in a step can be too long, and how much of it is here depends on where the block ends.
            if to - begin > MAX_LINE
                && let Some(count) = line_ends(&ends[..have], columns.count)
                && let Some(end) = ends.get(count - 1).map(|place| end(*place))
                && end - begin > MAX_LINE
            {
                sink.fault(begin, Fault::LineTooLong, &block[begin..end]);
                begin = end + 1;
                used = count;
            }
            while used < have {
                let line = &ends[used..have];
                let rows = self
                    .numbers
                    .map_or(0, |these| these.read(block, begin, line, &mut numbers));
                for (numbers, line) in numbers[..rows].iter().zip(line.chunks_exact(columns.count))
                {
                    match self.usual(block, begin, line, *numbers) {
                        Some(record) => sink.take(&record),
                        None => self.line(block, begin, line, sink),
                    }
                    begin = end(line[columns.count - 1]) + 1;
                }
                used += rows * columns.count;
                if rows == ROWS {
                    continue;
                }
                let line = &ends[used..have];
                let Some(count) = line_ends(line, columns.count) else {
                    break;
                };
                self.line(block, begin, &line[..count], sink);
                begin = end(line[count - 1]) + 1;
                used += count;
            }
            ends.copy_within(used..have, 0);
            kept = have - used;
        }
    }
}

/// How many places belong to the line that begins: the last is its end. `None` when that was not found yet.
#[inline]
fn line_ends(places: &[u32], count: usize) -> Option<usize> {
    // A line as it should be.
    if let Some((last, others)) = places.get(..count).and_then(<[u32]>::split_last)
        && *last >= LINE_BREAK
        && others.iter().fold(0, |all, place| all | place) < LINE_BREAK
    {
        return Some(count);
    }
    let last = places.iter().position(|place| *place >= LINE_BREAK)?;
    Some(last + 1)
}

/// The place of a separator or a line break in the block.
#[inline]
const fn end(place: u32) -> usize {
    (place & !LINE_BREAK) as usize
}

impl Table {
    /// One line: `ends` are the ends of its columns.
    #[inline]
    fn line(&self, block: &[u8], begin: usize, ends: &[u32], sink: &mut Sink<'_>) {
        let end = ends.last().map_or(begin, |place| end(*place));
        match self.record(block, begin, ends) {
            Ok(record) => sink.take(&record),
            Err(fault) => {
                let line = &block[begin..end];
                let quoted = line.len() - unquoted(line).len();
                if quoted > 0
                    && let Ok(record) = self.record(block, begin + quoted, ends)
                {
                    return sink.take(&record);
                }
                let text = line[quoted..].trim_ascii();
                let names = self.heading.as_ref();
                let is_heading = names.is_some_and(|names| text.eq_ignore_ascii_case(names));
                match is_heading || is_around(text) {
                    true => sink.other(),
                    false => sink.fault(begin, fault, line),
                }
            }
        }
    }

    /// A line whose numbers are known; `None` when it has to be looked at more closely.
    #[inline(always)]
    fn usual<'a>(
        &self,
        block: &'a [u8],
        begin: usize,
        ends: &[u32],
        numbers: [u64; 3],
    ) -> Option<Record<'a>> {
        let columns = &self.columns;
        let from = |column: usize| match column {
            0 => begin,
            _ => end(ends[column - 1]) + 1,
        };
        let [time, start, len] = numbers;
        let (column, words) = columns.access;
        let (word, to) = (from(column), end(ends[column]));
        let access = words.usual(block.get(word..word + 8)?.try_into().ok()?, to - word)?;
        let start = start.checked_mul(columns.start.1)?;
        let len = len.checked_mul(columns.len.1)?;
        let time = match columns.time {
            None => None,
            Some((_, clock)) => Some(clock.since_1970(time.checked_mul(clock.scale())?)?),
        };
        sound(start, len).ok()?;
        let (first, last) = columns.device;
        Some(Record {
            device: &block[from(first)..end(ends[last])],
            event: Event::Recorded,
            access,
            start,
            len,
            time,
        })
    }

    #[inline(always)]
    fn record<'a>(
        &'a self,
        block: &'a [u8],
        begin: usize,
        ends: &[u32],
    ) -> Result<Record<'a>, Fault> {
        let columns = &self.columns;
        if ends.len() < columns.count || (ends.len() > columns.count && !columns.open) {
            return Err(Fault::Columns {
                expected: columns.count,
                found: ends.len(),
            });
        }
        let last = ends.len() - 1;
        let bounds = |column: usize| -> (usize, usize) {
            let from = match column {
                0 => begin,
                _ => end(ends[column - 1]) + 1,
            };
            let to = end(ends[column]);
            if column == last && to > from && block[to - 1] == b'\r' {
                return (from, to - 1);
            }
            (from, to)
        };
        let number = |(column, unit): (usize, u64), fault: Fault| {
            let (from, to) = bounds(column);
            let number = match digits(block, from, to) {
                Some(number) => number,
                // Blanks are rare, and are no fault.
                None => {
                    let text = block[from..to].trim_ascii();
                    digits(text, 0, text.len()).ok_or(fault)?
                }
            };
            number.checked_mul(unit).ok_or(fault)
        };
        let text = |column: usize| {
            let (from, to) = bounds(column);
            &block[from..to]
        };
        let (column, words) = columns.access;
        let access = match words.read(text(column)) {
            Some(Some(access)) => access,
            Some(None) => return Err(Fault::Neither),
            None => return Err(Fault::Direction),
        };
        let start = number(columns.start, Fault::Start)?;
        let len = number(columns.len, Fault::Length)?;
        let time = match columns.time {
            None => None,
            Some((column, clock)) => {
                let (from, to) = bounds(column);
                Some(clock.of(block, from, to).ok_or(Fault::Time)?)
            }
        };
        let (first, last) = columns.device;
        let device = &block[bounds(first).0..bounds(last).1];
        sound(start, len)?;
        Ok(Record {
            device,
            event: Event::Recorded,
            access,
            start,
            len,
            time,
        })
    }
}

/// Whether there can be such a request.
#[inline]
pub(crate) fn sound(start: u64, len: u64) -> Result<(), Fault> {
    if len == 0 {
        return Err(Fault::Empty);
    }
    if len > MAX_LEN {
        return Err(Fault::TooLong);
    }
    match start.checked_add(len) {
        Some(_) => Ok(()),
        None => Err(Fault::BeyondTheEnd),
    }
}
