//! Rows with parity: RAID 4, 5, 6, 50, 60, and narrow rows spread over a disk group (vraid5).
//!
//! A row is `data` units and one or two parities, each on a member of its own. In RAID 50 and 60, rows take turns on
//! spans. In vraid5, rows of a few units follow each other over all members, each at the next places free.

mod place;
mod write;

use super::divisor::Divisor;
use super::keys::{self, count};
use super::split::Split;
use super::unit::Unit;
use crate::kernel::Time;
use crate::model::device::Operation;
use crate::profile::{Refusal, Section};
use place::{Places, Row};

/// What writes are split into multiples of.
const SECTOR: u64 = 512;
use straddle_geometry::{Access, gcd};

/// How the parity of a row is found that is written in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Whichever reads fewer members; reconstruction where both read as many, as md does.
    Cheapest,
    ReadModifyWrite,
    Reconstruct,
}

/// Rows of data and parity.
#[derive(Debug)]
pub(super) struct Parity {
    /// Where both ways read as many members, md reconstructs.
    is_md: bool,
    /// Of the thread that works parity out, for each granule of data.
    granule_time: Time,
    places: Places,
    /// Bytes of data in a row.
    row_bytes: Divisor,
    granule: Divisor,
    method: Method,
    /// Whether a write to one column reads what was there: read-modify-write.
    is_one_modified: bool,
    /// Longest write that is worked out at once.
    largest: u64,
    /// Whether longer ones are split where rows begin.
    is_cut_at_rows: bool,
    failed: Option<u32>,
}

/// Where a command begins and ends within a row, in columns of data.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    /// Within the unit of the first column.
    begin: u64,
    last: u64,
    /// Behind the last byte, within the unit of the last column.
    end: u64,
}

impl Span {
    /// What is touched of the unit of a column.
    #[inline]
    fn of(&self, column: u64, unit: u64) -> Option<(u64, u64)> {
        let begin = if column == self.first { self.begin } else { 0 };
        let end = if column == self.last { self.end } else { unit };
        (self.first <= column && column <= self.last).then_some((begin, end))
    }
}

impl Parity {
    pub(super) fn build(
        section: &Section,
        level: &str,
        members: u32,
        unit: u64,
        failed: Option<u32>,
        is_md: bool,
    ) -> Result<Parity, Refusal> {
        let parities = if matches!(level, "raid6" | "raid60") {
            2
        } else {
            1
        };
        let spans = match (level, section.optional(&keys::SPANS)) {
            ("raid50" | "raid60", None) => {
                return Err(section.refuse(&keys::SPANS, keys::SPANS.kind));
            }
            ("raid50" | "raid60", Some(_)) => count(section, &keys::SPANS),
            _ => 1,
        };
        if !members.is_multiple_of(spans) {
            return Err(section.refuse(&keys::MEMBERS, format!("a multiple of the {spans} spans")));
        }
        let width = match (level, section.optional(&keys::ROW)) {
            ("vraid5", None) => 5,
            ("vraid5", Some(_)) => count(section, &keys::ROW),
            _ => members / spans,
        };
        // md makes a RAID 5 of two members, one unit of data in a row; a RAID 6 has two.
        let least = width.max(2 * parities) * spans;
        if members < least {
            return Err(section.refuse(&keys::MEMBERS, format!("at least {least}")));
        }
        let word = section.word(&keys::LAYOUT);
        let layout = match (level, word) {
            ("vraid5", _) => place::Layout::Spread,
            ("raid4", _) | (_, "parity-last") => place::Layout::ParityLast,
            (_, "" | "left-symmetric") => place::Layout::LeftSymmetric,
            (_, "left-asymmetric") => place::Layout::LeftAsymmetric,
            (_, "right-symmetric") => place::Layout::RightSymmetric,
            (_, "right-asymmetric") => place::Layout::RightAsymmetric,
            (_, "parity-first") => place::Layout::ParityFirst,
            _ => {
                let expected = format!(
                    "{level} one of left- and right-, -symmetric and -asymmetric, parity-first, parity-last"
                );
                return Err(section.refuse(&keys::LAYOUT, expected));
            }
        };
        let places = Places::new(layout, members, spans, width, parities);
        let row_bytes = unit.saturating_mul(places.data());
        let granule = match section.optional(&keys::GRANULE) {
            Some(_) => section.whole(&keys::GRANULE),
            None if is_md => gcd(unit, 4096),
            None => SECTOR,
        };
        if granule == 0 || !unit.is_multiple_of(granule) {
            return Err(section.refuse(
                &keys::GRANULE,
                format!("a divisor of the stripe unit, {unit} bytes"),
            ));
        }
        let method = match section.word(&keys::PARITY) {
            "rmw" => Method::ReadModifyWrite,
            "reconstruct" => Method::Reconstruct,
            _ => Method::Cheapest,
        };
        let (data, parities) = (places.data(), u64::from(parities));
        let is_one_modified = match method {
            Method::ReadModifyWrite => data > 1,
            Method::Cheapest if is_md => 1 + parities < data - 1,
            Method::Cheapest => data > 1 && parities < data - 1,
            Method::Reconstruct => false,
        };
        let is_cut_at_rows = section.word(&keys::CUT) == "rows";
        let is_limited = section.optional(&keys::LARGEST).is_some();
        if is_limited && is_cut_at_rows && section.whole(&keys::LARGEST) < row_bytes {
            let expected =
                format!("at least a row's {row_bytes} bytes where writes are cut at rows");
            return Err(section.refuse(&keys::LARGEST, expected));
        }
        Ok(Parity {
            is_md,
            granule_time: section.time(&keys::GRANULE_TIME),
            places,
            row_bytes: Divisor::new(row_bytes),
            granule: Divisor::new(granule),
            method,
            is_one_modified,
            largest: section.optional(&keys::LARGEST).map_or(u64::MAX, |_| {
                section.whole(&keys::LARGEST) / SECTOR * SECTOR
            }),
            is_cut_at_rows,
            failed,
        })
    }

    /// Units of data in a row.
    pub(super) fn row(&self) -> u64 {
        self.places.data()
    }

    /// Units of data that fit on members of so many units each.
    pub(super) fn units(&self, rows: u64) -> u64 {
        self.places.rows(rows).saturating_mul(self.places.data())
    }

    pub(super) fn has_thread(&self) -> bool {
        self.granule_time > Time::ZERO
    }

    /// Time of the thread for a write.
    pub(super) fn thread_time(&self, write: Operation) -> Time {
        let granules = self.granule.of(write.end() - 1).0 - self.granule.of(write.start).0 + 1;
        Time::nanoseconds(self.granule_time.get().saturating_mul(granules))
    }

    #[inline]
    pub(super) fn split(&self, unit: &Unit, operation: Operation, out: &mut Split) {
        if operation.is_read() {
            self.split_once(unit, operation, out);
            out.group(0);
            return;
        }
        let (mut start, end) = (operation.start, operation.end());
        while start < end {
            let mut cut = start.saturating_add(self.largest).min(end);
            if self.is_cut_at_rows && cut < end {
                let row = cut - self.row_bytes.of(cut).1;
                cut = if row > start { row } else { cut };
            }
            self.split_once(unit, Operation::write(start, cut - start), out);
            start = cut;
        }
    }

    #[inline]
    fn split_once(&self, unit: &Unit, operation: Operation, out: &mut Split) {
        let (mut row, mut within) = self.row_bytes.of(operation.start);
        let mut left = operation.len;
        // Rows that are written whole wait for nothing, so they are one group.
        let mut whole = None;
        while left > 0 {
            let len = (self.row_bytes.get() - within).min(left);
            let (first, begin) = unit.bytes.of(within);
            let (last, end) = if begin + len <= unit.bytes.get() {
                (first, begin + len)
            } else {
                let (last, end) = unit.bytes.of(within + len - 1);
                (last, end + 1)
            };
            let span = Span {
                first,
                begin,
                last,
                end,
            };
            let at = self.places.row(row);
            if operation.is_read() {
                self.read(unit, &at, span, out);
            } else if len == self.row_bytes.get() {
                let from = *whole.get_or_insert(out.pieces.len());
                for role in 0..self.places.width() {
                    if Some(role) != self.lost(&at) {
                        let range = (0, unit.bytes.get());
                        self.push(unit, &at, role, Access::Write, range, from, out);
                    }
                }
            } else {
                if let Some(from) = whole.take() {
                    out.group(from);
                }
                self.write_part(unit, &at, span, out);
            }
            left -= len;
            within = 0;
            row += 1;
        }
        if let Some(from) = whole {
            out.group(from);
        }
    }

    /// The number in a row, data first, of what lies on the failed member.
    #[inline]
    fn lost(&self, at: &Row) -> Option<u64> {
        let failed = u64::from(self.failed?);
        (0..self.places.width()).find(|role| self.places.at(at, *role).0 == failed)
    }

    /// Reads; what lies on the failed member is worked out from as many others as a row has data.
    #[inline]
    fn read(&self, unit: &Unit, at: &Row, span: Span, out: &mut Split) {
        let lost = self.lost(at);
        let missing = lost.and_then(|lost| span.of(lost, unit.bytes.get()));
        let Some((begin, end)) = missing else {
            for column in span.first..=span.last {
                let range = span.of(column, unit.bytes.get()).unwrap_or_default();
                self.push(unit, at, column, Access::Read, range, 0, out);
            }
            return;
        };
        let rebuilt = self.round(begin, end);
        for column in 0..=self.places.data() {
            if Some(column) == lost {
                continue;
            }
            match span.of(column, unit.bytes.get()) {
                // Both at once where they touch.
                Some((begin, end)) if begin <= rebuilt.1 && rebuilt.0 <= end => {
                    let range = (begin.min(rebuilt.0), end.max(rebuilt.1));
                    self.push(unit, at, column, Access::Read, range, 0, out);
                }
                asked => {
                    for range in asked.into_iter().chain([rebuilt]) {
                        self.push(unit, at, column, Access::Read, range, 0, out);
                    }
                }
            }
        }
    }

    /// Adds a piece: a range of a unit of a row. Pieces from number `from` on may grow by it.
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "a piece is a place in a row, an access and a range"
    )]
    fn push(
        &self,
        unit: &Unit,
        at: &Row,
        role: u64,
        access: Access,
        range: (u64, u64),
        from: usize,
        out: &mut Split,
    ) {
        let (member, operation) = self.piece(unit, at, role, access, range);
        if unit.is_merged {
            // A member holds one unit of a row, and what is next to that lies in the row before, or a few of them
            // where rows are narrow.
            let reach = usize::try_from(3 * self.places.members()).unwrap_or(usize::MAX);
            let from = from.max(out.pieces.len().saturating_sub(reach));
            out.push_or_grow(from, member, operation);
        } else {
            out.push(member, operation);
        }
    }

    /// A range of a unit of a row: on which member, and where.
    #[inline]
    fn piece(
        &self,
        unit: &Unit,
        at: &Row,
        role: u64,
        access: Access,
        (begin, end): (u64, u64),
    ) -> (u32, Operation) {
        let (member, row) = self.places.at(at, role);
        let operation = Operation {
            access,
            start: unit.data_offset + row * unit.bytes.get() + begin,
            len: end - begin,
        };
        (u32::try_from(member).unwrap_or(0), operation)
    }

    /// A range of a unit, rounded to granules.
    #[inline]
    fn round(&self, begin: u64, end: u64) -> (u64, u64) {
        let granule = self.granule;
        let (after, rest) = granule.of(end);
        let after = (after + u64::from(rest > 0)) * granule.get();
        (granule.of(begin).0 * granule.get(), after)
    }
}
