//! Where the units and parities of a row lie.

use crate::model::array::divisor::Divisor;
use straddle_geometry::gcd;

/// How parity moves from row to row. All but the last are md's, which md(4) describes and the DDF standard names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    LeftSymmetric,
    LeftAsymmetric,
    RightSymmetric,
    RightAsymmetric,
    ParityFirst,
    ParityLast,
    /// Rows narrower than the group follow each other over its members.
    Spread,
}

/// All rows.
#[derive(Debug)]
pub(super) struct Places {
    layout: Layout,
    members: Divisor,
    spans: Divisor,
    /// Units of a row, parity included.
    width: Divisor,
    parities: u64,
    /// In [`Layout::Spread`], rows until the same members come again.
    round: Divisor,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// First member of its span; in [`Layout::Spread`], its first place in the sequence of places.
    base: u64,
    /// Its number on members.
    row: u64,
    /// Which of its places holds the first parity.
    parity: u64,
}

impl Places {
    pub(super) fn new(
        layout: Layout,
        members: u32,
        spans: u32,
        width: u32,
        parities: u32,
    ) -> Places {
        Places {
            layout,
            members: Divisor::new(u64::from(members)),
            spans: Divisor::new(u64::from(spans)),
            width: Divisor::new(u64::from(width)),
            parities: u64::from(parities),
            round: Divisor::new(u64::from(members) / gcd(members.into(), width.into())),
        }
    }

    pub(super) fn members(&self) -> u64 {
        self.members.get()
    }

    /// Units of a row, parity included.
    #[inline]
    pub(super) fn width(&self) -> u64 {
        self.width.get()
    }

    /// Units of data in a row.
    #[inline]
    pub(super) fn data(&self) -> u64 {
        self.width.get() - self.parities
    }

    /// Rows that fit on members of so many units each.
    pub(super) fn rows(&self, units: u64) -> u64 {
        match self.layout {
            Layout::Spread => units.saturating_mul(self.members.get()) / self.width.get(),
            _ => units.saturating_mul(self.spans.get()),
        }
    }

    #[inline]
    pub(super) fn row(&self, number: u64) -> Row {
        let width = self.width.get();
        if self.layout == Layout::Spread {
            // When the same members come again, parity has moved on.
            let (round, within) = self.round.of(number);
            let (_, turn) = self.width.of(round + within);
            return Row {
                base: number * width,
                row: 0,
                parity: width - 1 - turn,
            };
        }
        let (row, span) = if self.spans.get() == 1 {
            (number, 0)
        } else {
            self.spans.of(number)
        };
        let (_, turn) = self.width.of(row);
        let parity = match self.layout {
            Layout::LeftSymmetric | Layout::LeftAsymmetric | Layout::Spread => width - 1 - turn,
            Layout::RightSymmetric | Layout::RightAsymmetric => turn,
            Layout::ParityFirst => 0,
            Layout::ParityLast => self.data(),
        };
        Row {
            base: span * width,
            row,
            parity,
        }
    }

    /// Member and row on it of what has this number in a row: columns of data first, then parities.
    #[inline]
    pub(super) fn at(&self, row: &Row, role: u64) -> (u64, u64) {
        let width = self.width.get();
        let data = self.data();
        let wrapped = |place: u64| if place >= width { place - width } else { place };
        let place = if role >= data {
            wrapped(row.parity + role - data)
        } else {
            match self.layout {
                // Data begin behind the parities and go round.
                Layout::LeftSymmetric | Layout::RightSymmetric | Layout::Spread => {
                    wrapped(wrapped(row.parity + self.parities) + role)
                }
                // Data fill what parities leave, from the first place on; a second parity may have gone round to it.
                _ => {
                    let before = (row.parity + self.parities).saturating_sub(width);
                    let place = role + before;
                    if place < row.parity {
                        place
                    } else {
                        place + self.parities - before
                    }
                }
            }
        };
        if self.layout == Layout::Spread {
            let (row, member) = self.members.of(row.base + place);
            (member, row)
        } else {
            (row.base + place, row.row)
        }
    }
}
