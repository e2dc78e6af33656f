mod numbers;

use std::borrow::Cow;

use crate::{Bytes, Grid, Location, Unit};

/// How an array that keeps copies or parity deals its addresses to its columns.
///
/// Column *c* is target *c* of the layer; its data start at `starts[c]` there. An array without redundancy is a
/// [`Striping`](crate::Striping).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raid {
    /// Where copies and parity go.
    pub layout: RaidLayout,
    /// Stripe unit: bytes on one column before the next takes over. A mirror has none; any unit will do.
    pub unit: Unit,
    /// For each column, the address at which its data starts in the layer below.
    pub starts: Vec<Bytes>,
}

/// Where an array keeps what a lost member is rebuilt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLayout {
    /// Every column holds everything.
    Mirror,
    /// Every stripe unit several times: md's RAID 10.
    Copies(Copies),
    /// One parity of each row of stripe units: RAID 4 and 5.
    Parity(Rotation),
    /// Parity and syndrome of each row: RAID 6.
    DoubleParity(DoubleRotation),
}

/// The copies of md's RAID 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Copies side by side.
    pub near: usize,
    /// Copies on the next columns, further down; 1 when there are none.
    pub far: usize,
    /// How much further down.
    pub distance: FarCopies,
    /// Among which columns a unit's far copies go around.
    pub sets: FarSets,
}

/// Among which columns the *far* copies of a stripe unit go around: bits 17 and 18 of md's layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FarSets {
    /// All.
    #[default]
    All,
    /// Sets of columns ÷ far copies: `use_far_sets`, as first released. The last set has what is left over.
    Divided,
    /// Sets of near × far copies: `use_far_sets` as it was meant; what device-mapper makes.
    Fixed,
}

/// How far below its first copy the next *far* copy of a stripe unit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarCopies {
    /// In the next row: layout `offset`.
    NextRow,
    /// This many bytes, a part of each member having one copy of everything: layout `far`.
    Stride(Bytes),
}

/// Where the parity of row *n* lies among *k* columns, and in which order data go around it. Names and numbers are md's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Parity moves from the last column to the first; data start at the first column.
    LeftAsymmetric,
    /// Parity moves from the first column to the last; data start at the first column.
    RightAsymmetric,
    /// Parity moves from the last column to the first; data go on behind it. The usual one.
    LeftSymmetric,
    /// Parity moves from the first column to the last; data go on behind it.
    RightSymmetric,
    /// Always on the first column.
    First,
    /// Always on the last column: RAID 4.
    Last,
}

/// Where parity and syndrome of a row lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubleRotation {
    /// As in RAID 5, the syndrome on the column behind the parity.
    Both(Rotation),
    /// As RAID 5 on all columns but the last, which always has the syndrome: what a RAID 5 is after it got one more member.
    LastSyndrome(Rotation),
    /// DDF "zero restart": parity moves from the first column, data start at the first.
    ZeroRestart,
    /// DDF "N restart": parity moves from the last column but one, data start at the first.
    NRestart,
    /// DDF "N continue": the syndrome before the parity, data go on behind it.
    NContinue,
}

/// What a byte on a column is to the byte of the array that it belongs to. A later one is further from the data: a copy
/// of parity is parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Share {
    /// The byte itself; the first copy of it.
    Data,
    /// Another copy.
    Copy,
    /// Parity: changes with the byte.
    Parity,
    /// The second parity of RAID 6: changes with the byte.
    Syndrome,
}

impl Share {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Share::Data => "data",
            Share::Copy => "copy",
            Share::Parity => "parity",
            Share::Syndrome => "syndrome",
        }
    }
}

/// A byte on a column that is written when one byte of the array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The column: which of the layers below.
    pub column: usize,
    /// The address there.
    pub offset: Bytes,
    /// What it is.
    pub share: Share,
}

/// Columns of one row: those of data in order are found from these.
struct Row {
    parity: usize,
    syndrome: Option<usize>,
    data: usize,
}

impl Raid {
    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.starts.len()
    }

    /// How many stripe units of data a row over all columns holds; `None` where copies of one unit share no row.
    #[must_use]
    pub fn data_columns(&self) -> Option<usize> {
        let columns = self.columns();
        let data = match self.layout {
            RaidLayout::Mirror => 1,
            RaidLayout::Copies(copies) => {
                if copies.near == 0 || !columns.is_multiple_of(copies.near) {
                    return None;
                }
                columns / copies.near
            }
            RaidLayout::Parity(_) => columns.checked_sub(1)?,
            RaidLayout::DoubleParity(_) => columns.checked_sub(2)?,
        };
        Some(data).filter(|data| *data > 0)
    }

    /// Where `offset` lies: the data themselves, the first copy of them.
    #[must_use]
    pub fn locate(&self, offset: Bytes) -> Option<Location> {
        let first = self.reach(offset, 0)?;
        let run = match self.layout {
            RaidLayout::Mirror => Bytes::MAX.checked_sub(first.offset)?.max(Bytes::new(1)),
            _ => self.unit.bytes().checked_sub(offset.div_rem(self.unit).1)?,
        };
        Some(Location {
            target: first.column,
            offset: first.offset,
            run,
        })
    }

    /// Every byte on the columns that changes when the byte at `offset` does; the data first, then copies or parities. What
    /// lies past 2⁶⁴ − 1 is left out.
    #[must_use]
    pub fn reaches(&self, offset: Bytes) -> Vec<Reach> {
        let count = match self.layout {
            RaidLayout::Mirror => self.columns(),
            RaidLayout::Copies(copies) => copies.all(),
            RaidLayout::Parity(_) => 2,
            RaidLayout::DoubleParity(_) => 3,
        };
        (0..count.min(self.columns()))
            .filter_map(|index| self.reach(offset, index))
            .collect()
    }

    /// The boundaries of `below`, a grid of every column, as the array sees them, when they form one grid again: its unit
    /// divides the stripe unit, and all columns start at the same phase of it.
    #[must_use]
    pub fn project_up(&self, below: Grid) -> Option<Grid> {
        let projected = below.seen_from(*self.starts.first()?);
        let same = self
            .starts
            .iter()
            .all(|start| below.seen_from(*start) == projected);
        let divides =
            self.layout == RaidLayout::Mirror || self.unit.bytes().is_multiple_of(below.unit());
        (same && divides).then_some(projected)
    }

    /// The `index`th byte that belongs to the byte at `offset`.
    fn reach(&self, offset: Bytes, index: usize) -> Option<Reach> {
        let columns = self.columns();
        if columns == 0 {
            return None;
        }
        let (unit, within) = offset.div_rem(self.unit);
        match self.layout {
            RaidLayout::Mirror => self.at(
                index,
                offset,
                if index == 0 { Share::Data } else { Share::Copy },
            ),
            RaidLayout::Copies(copies) => {
                let (column, below) = copies.place(columns, unit, index, self.unit)?;
                let share = if index == 0 { Share::Data } else { Share::Copy };
                self.at(column, below.checked_add(within)?, share)
            }
            RaidLayout::Parity(_) | RaidLayout::DoubleParity(_) => {
                let data = u64::try_from(self.data_columns()?).ok()?;
                let number = unit / data;
                let row = self.row(number, usize::try_from(unit % data).ok()?)?;
                let (column, share) = match index {
                    0 => (row.data, Share::Data),
                    1 => (row.parity, Share::Parity),
                    _ => (row.syndrome?, Share::Syndrome),
                };
                let below = self.unit.bytes().checked_mul(number)?;
                self.at(column, below.checked_add(within)?, share)
            }
        }
    }

    fn at(&self, column: usize, below: Bytes, share: Share) -> Option<Reach> {
        Some(Reach {
            column,
            offset: self.starts.get(column)?.checked_add(below)?,
            share,
        })
    }

    /// Which columns hold parity, syndrome and the `data`th unit of row `number`.
    fn row(&self, number: u64, data: usize) -> Option<Row> {
        let columns = self.columns();
        Some(match self.layout {
            RaidLayout::Parity(rotation) => {
                let parity = rotation.parity(number, columns)?;
                Row {
                    parity,
                    syndrome: None,
                    data: rotation.data(data, parity, columns),
                }
            }
            RaidLayout::DoubleParity(double) => double.row(number, data, columns)?,
            RaidLayout::Mirror | RaidLayout::Copies(_) => return None,
        })
    }
}

impl RaidLayout {
    /// Its name, as md's tools print it where md has it: `left-symmetric`, `near=2`.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        match self {
            RaidLayout::Mirror => Cow::Borrowed("mirror"),
            RaidLayout::Copies(copies) => Cow::Owned(copies.name()),
            RaidLayout::Parity(rotation) => Cow::Borrowed(rotation.name()),
            RaidLayout::DoubleParity(double) => double.name(),
        }
    }
}

/// `row mod columns`.
fn turn(row: u64, columns: usize) -> Option<usize> {
    let columns = u64::try_from(columns).ok().filter(|n| *n > 0)?;
    usize::try_from(row % columns).ok()
}

impl Rotation {
    /// Its name, as mdadm prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Rotation::LeftAsymmetric => "left-asymmetric",
            Rotation::RightAsymmetric => "right-asymmetric",
            Rotation::LeftSymmetric => "left-symmetric",
            Rotation::RightSymmetric => "right-symmetric",
            Rotation::First => "parity-first",
            Rotation::Last => "parity-last",
        }
    }

    fn parity(self, row: u64, columns: usize) -> Option<usize> {
        let last = columns.checked_sub(1)?;
        let turn = turn(row, columns)?;
        Some(match self {
            Rotation::LeftAsymmetric | Rotation::LeftSymmetric => last - turn,
            Rotation::RightAsymmetric | Rotation::RightSymmetric => turn,
            Rotation::First => 0,
            Rotation::Last => last,
        })
    }

    /// The column of the `data`th unit of a row whose parity is at `parity`.
    fn data(self, data: usize, parity: usize, columns: usize) -> usize {
        match self {
            Rotation::LeftSymmetric | Rotation::RightSymmetric => (parity + 1 + data) % columns,
            _ if data >= parity => data + 1,
            _ => data,
        }
    }
}

impl DoubleRotation {
    fn name(self) -> Cow<'static, str> {
        match self {
            DoubleRotation::Both(rotation) => Cow::Borrowed(rotation.name()),
            DoubleRotation::LastSyndrome(rotation) => Cow::Owned(format!("{}-6", rotation.name())),
            DoubleRotation::ZeroRestart => Cow::Borrowed("ddf-zero-restart"),
            DoubleRotation::NRestart => Cow::Borrowed("ddf-N-restart"),
            DoubleRotation::NContinue => Cow::Borrowed("ddf-N-continue"),
        }
    }

    fn row(self, number: u64, data: usize, columns: usize) -> Option<Row> {
        let last = columns.checked_sub(1)?;
        // Data from the first column on, around a parity at `parity` and a syndrome behind it.
        let restart = |parity: usize| {
            let (syndrome, data) = if parity == last {
                (0, data + 1)
            } else if data >= parity {
                (parity + 1, data + 2)
            } else {
                (parity + 1, data)
            };
            Row {
                parity,
                syndrome: Some(syndrome),
                data,
            }
        };
        Some(match self {
            DoubleRotation::Both(Rotation::Last) => Row {
                parity: last.checked_sub(1)?,
                syndrome: Some(last),
                data,
            },
            DoubleRotation::Both(Rotation::First) => restart(0),
            DoubleRotation::Both(rotation) => {
                let parity = rotation.parity(number, columns)?;
                match rotation {
                    Rotation::LeftSymmetric | Rotation::RightSymmetric => Row {
                        parity,
                        syndrome: Some((parity + 1) % columns),
                        data: (parity + 2 + data) % columns,
                    },
                    _ => restart(parity),
                }
            }
            DoubleRotation::LastSyndrome(rotation) => {
                let parity = rotation.parity(number, last)?;
                Row {
                    parity,
                    syndrome: Some(last),
                    data: rotation.data(data, parity, last),
                }
            }
            DoubleRotation::ZeroRestart => restart(turn(number, columns)?),
            DoubleRotation::NRestart => restart(last - turn(number.checked_add(1)?, columns)?),
            DoubleRotation::NContinue => {
                let parity = last - turn(number, columns)?;
                Row {
                    parity,
                    syndrome: Some((parity + last) % columns),
                    data: (parity + 1 + data) % columns,
                }
            }
        })
    }
}

impl Copies {
    fn name(self) -> String {
        let Copies { near, far, .. } = self;
        let word = match self.distance {
            FarCopies::NextRow => "offset",
            FarCopies::Stride(_) => "far",
        };
        match (near, far) {
            (_, ..=1) => format!("near={near}"),
            (..=1, _) => format!("{word}={far}"),
            _ => format!("near={near}, {word}={far}"),
        }
    }

    /// How many of each stripe unit there are.
    fn all(self) -> usize {
        self.near.saturating_mul(self.far)
    }

    /// Column of the `index`th copy of stripe unit `number`, and how far below the start of its data it lies. The far copies
    /// of a near copy come before the next near copy, as md counts them.
    ///
    /// Source: what `__raid10_find_phys` in Linux `drivers/md/raid10.c` does, its anomalies included: a near copy that goes on
    /// on the first column lies one unit further down, also where a row of layout `offset` takes several.
    fn place(
        self,
        columns: usize,
        number: u64,
        index: usize,
        unit: Unit,
    ) -> Option<(usize, Bytes)> {
        if self.near == 0 || self.far == 0 || self.all() > columns {
            return None;
        }
        let (near, far) = (index / self.far, index % self.far);
        let wide = u64::try_from(columns).ok()?;
        let place = number.checked_mul(u64::try_from(self.near).ok()?)?;
        let first = usize::try_from(place % wide).ok()?.checked_add(near)?;
        let (first, wraps) = if first < columns {
            (first, 0)
        } else {
            (first - columns, 1)
        };
        let far_u64 = u64::try_from(far).ok()?;
        let (rows, stride) = match self.distance {
            FarCopies::NextRow => (u64::try_from(self.far).ok()?, unit.bytes()),
            FarCopies::Stride(stride) => (1, stride),
        };
        let row = (place / wide).checked_mul(rows)?.checked_add(wraps)?;
        let below = unit.bytes().checked_mul(row)?;
        let column = (0..far).try_fold(first, |column, _| self.next_far(column, columns))?;
        Some((column, below.checked_add(stride.checked_mul(far_u64)?)?))
    }

    /// The column of the far copy that follows one on `column`.
    fn next_far(self, column: usize, columns: usize) -> Option<usize> {
        let set = match self.sets {
            FarSets::All => columns,
            FarSets::Divided => columns.checked_div(self.far)?,
            FarSets::Fixed => self.all(),
        };
        let rest = columns.checked_rem(set)?;
        let last = (columns / set).checked_sub(1)? * set;
        let next = column.checked_add(self.near)?;
        Some(if rest > 0 && next > last {
            (next - last) % (set + rest) + last
        } else {
            next % set + column / set * set
        })
    }
}

#[cfg(test)]
mod tests;
