//! Copies: RAID 1, 10 in md's three layouts, 01, and mirrored units spread over a disk group (vraid1).
//!
//! Unit `u` of `n` members and `c` copies lies
//! - *near*: at places `u·c` to `u·c + c − 1` of the sequence that fills row after row of the members. Where `c` divides
//!   `n`, this is the classic stripe over mirrored sets; with one unit as large as a member, it is RAID 1;
//! - *far*: at place `u` of each of `c` parts of the members, in each further part one member on;
//! - *offset*: in `c` rows that follow each other, in each further row one member on;
//! - *mirror of stripes* (RAID 01): in each of `c` stripes of `n/c` members at the same place. When a member of a stripe
//!   fails, the whole stripe is out of use.

use super::divisor::Divisor;
use super::split::Split;
use super::unit::Unit;
use crate::model::device::Operation;

/// Where the copies of a unit lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    Near,
    /// Rows of units in each part of a member.
    Far(u64),
    Offset,
    Stripes,
}

/// Which copy is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Balance {
    Shortest,
    Alternate,
    First,
}

/// Units in several copies.
#[derive(Debug)]
pub(super) struct Mirrored {
    members: Divisor,
    /// Members that hold different data in [`Copies::Stripes`], all of them otherwise.
    columns: Divisor,
    copies: u32,
    at: Copies,
    balance: Balance,
    failed: Option<u32>,
}

impl Mirrored {
    pub(super) fn new(
        members: u32,
        copies: u32,
        at: Copies,
        balance: Balance,
        failed: Option<u32>,
    ) -> Mirrored {
        let columns = match at {
            Copies::Stripes => members / copies.max(1),
            _ => members,
        };
        Mirrored {
            members: Divisor::new(u64::from(members)),
            columns: Divisor::new(u64::from(columns)),
            copies,
            at,
            balance,
            failed,
        }
    }

    /// Units that lie next to each other: as many as members hold different data.
    pub(super) fn row(&self) -> u64 {
        match self.at {
            Copies::Near => (self.members.get() / u64::from(self.copies)).max(1),
            _ => self.columns.get(),
        }
    }

    /// Units that fit on members of so many units each.
    pub(super) fn units(&self, rows: u64) -> u64 {
        let copies = u64::from(self.copies);
        let members = self.members.get();
        match self.at {
            Copies::Near => rows.saturating_mul(members) / copies,
            Copies::Far(part) => part.saturating_mul(members),
            Copies::Offset => (rows / copies).saturating_mul(members),
            Copies::Stripes => rows.saturating_mul(self.columns.get()),
        }
    }

    /// Member and row of the first copy of a unit.
    #[inline]
    fn first(&self, number: u64) -> (u64, u64) {
        match self.at {
            Copies::Near => {
                let (row, member) = self.members.of(number * u64::from(self.copies));
                (member, row)
            }
            Copies::Far(_) | Copies::Stripes => {
                let (row, member) = self.columns.of(number);
                (member, row)
            }
            Copies::Offset => {
                let (row, member) = self.members.of(number);
                (member, row * u64::from(self.copies))
            }
        }
    }

    /// Member and row of the copy after this one.
    #[inline]
    fn next(&self, (member, row): (u64, u64)) -> (u64, u64) {
        let members = self.members.get();
        let (member, wraps) = match self.at {
            Copies::Stripes => return (member + self.columns.get(), row),
            _ if member + 1 == members => (0, true),
            _ => (member + 1, false),
        };
        match self.at {
            Copies::Near => (member, row + u64::from(wraps)),
            Copies::Far(part) => (member, row + part),
            Copies::Offset | Copies::Stripes => (member, row + 1),
        }
    }

    /// True where a copy is out of use.
    #[inline]
    fn is_lost(&self, member: u64) -> bool {
        let Some(failed) = self.failed.map(u64::from) else {
            return false;
        };
        match self.at {
            Copies::Stripes => self.columns.of(member).0 == self.columns.of(failed).0,
            _ => member == failed,
        }
    }

    /// The copy to read, the first one lying at `place`.
    #[inline]
    fn chosen(&self, mut place: (u64, u64), turn: u32, queued: &impl Fn(u32) -> u32) -> (u64, u64) {
        let mut best = place;
        let mut least = u32::MAX;
        let mut is_found = false;
        for copy in 0..self.copies {
            if !self.is_lost(place.0) {
                let rank = match self.balance {
                    Balance::Shortest => queued(number(place.0)),
                    Balance::Alternate => (copy + self.copies - turn % self.copies) % self.copies,
                    Balance::First => copy,
                };
                if !is_found || rank < least {
                    (best, least, is_found) = (place, rank, true);
                }
            }
            place = self.next(place);
        }
        best
    }

    #[inline]
    pub(super) fn split(
        &self,
        unit: &Unit,
        operation: Operation,
        queued: impl Fn(u32) -> u32,
        out: &mut Split,
    ) {
        let (mut index, mut within) = unit.bytes.of(operation.start);
        let mut left = operation.len;
        let turn = out.turn;
        let reach =
            usize::try_from(u64::from(self.copies) * self.members.get()).unwrap_or(usize::MAX);
        if operation.is_read() {
            out.turn = turn.wrapping_add(1);
        }
        while left > 0 {
            let len = (unit.bytes.get() - within).min(left);
            let mut place = self.first(index);
            let mut push = |(member, row): (u64, u64)| {
                let piece = Operation {
                    access: operation.access,
                    start: unit.data_offset + row * unit.bytes.get() + within,
                    len,
                };
                if unit.is_merged {
                    out.push_or_grow(
                        out.pieces.len().saturating_sub(reach),
                        number(member),
                        piece,
                    );
                } else {
                    out.push(number(member), piece);
                }
            };
            if operation.is_read() {
                push(self.chosen(place, turn, &queued));
            } else {
                for _ in 0..self.copies {
                    if !self.is_lost(place.0) {
                        push(place);
                    }
                    place = self.next(place);
                }
            }
            left -= len;
            within = 0;
            index += 1;
        }
        out.group(0);
    }
}

#[inline]
fn number(member: u64) -> u32 {
    u32::try_from(member).unwrap_or(0)
}
