//! The numbers by which Linux md and device-mapper call their layouts, and how much an array of one holds.
//!
//! Source: `md(4)`, and what Linux `drivers/md/{raid5.h,raid10.c,dm-raid.c}` say of them.

use super::{Copies, DoubleRotation, FarCopies, FarSets, RaidLayout, Rotation};
use crate::{Bytes, Unit};

impl Rotation {
    /// By md's number for RAID 5.
    #[must_use]
    pub const fn from_md(number: u64) -> Option<Rotation> {
        Some(match number {
            0 => Rotation::LeftAsymmetric,
            1 => Rotation::RightAsymmetric,
            2 => Rotation::LeftSymmetric,
            3 => Rotation::RightSymmetric,
            4 => Rotation::First,
            5 => Rotation::Last,
            _ => return None,
        })
    }
}

impl DoubleRotation {
    /// By md's number for RAID 6.
    #[must_use]
    pub const fn from_md(number: u64) -> Option<DoubleRotation> {
        Some(match number {
            8 => DoubleRotation::ZeroRestart,
            9 => DoubleRotation::NRestart,
            10 => DoubleRotation::NContinue,
            16 => DoubleRotation::LastSyndrome(Rotation::LeftAsymmetric),
            17 => DoubleRotation::LastSyndrome(Rotation::RightAsymmetric),
            18 => DoubleRotation::LastSyndrome(Rotation::LeftSymmetric),
            19 => DoubleRotation::LastSyndrome(Rotation::RightSymmetric),
            20 => DoubleRotation::LastSyndrome(Rotation::First),
            number => match Rotation::from_md(number) {
                Some(rotation) => DoubleRotation::Both(rotation),
                None => return None,
            },
        })
    }
}

impl Copies {
    /// By md's number for RAID 10 over `columns` members, of each of which `used` bytes belong to the array: far copies
    /// begin where one part of each member in as many as there are copies ends.
    ///
    /// `None` for what md refuses: no copies, more than members, unknown bits.
    #[must_use]
    pub fn from_md(number: u64, columns: usize, unit: Unit, used: Bytes) -> Option<Copies> {
        let near = usize::try_from(number & 0xff).ok()?;
        let far = usize::try_from(number >> 8 & 0xff).ok()?;
        let sets = match number >> 17 {
            0 => FarSets::All,
            1 => FarSets::Divided,
            2 => FarSets::Fixed,
            _ => return None,
        };
        if near == 0 || far == 0 || near * far < 2 || near * far > columns {
            return None;
        }
        let distance = if number >> 16 & 1 == 1 || far == 1 {
            FarCopies::NextRow
        } else {
            let units = Copies::units(near, far, columns, unit, used)?;
            let copies = units.checked_mul(u64::try_from(near * far).ok()?)?;
            let each = copies.div_ceil(u64::try_from(columns).ok()?);
            let stride = each / u64::try_from(far).ok()?;
            FarCopies::Stride(unit.bytes().checked_mul(stride)?)
        };
        Some(Copies {
            near,
            far,
            distance,
            sets,
        })
    }

    /// How many stripe units an array holds.
    fn units(near: usize, far: usize, columns: usize, unit: Unit, used: Bytes) -> Option<u64> {
        let of_each = used.div_rem(unit).0.checked_div(u64::try_from(far).ok()?)?;
        let all = of_each.checked_mul(u64::try_from(columns).ok()?)?;
        all.checked_div(u64::try_from(near).ok()?)
    }
}

impl RaidLayout {
    /// By md's level and its number for the layout; see [`Copies::from_md`]. `None` for levels without redundancy and for
    /// numbers that md does not know.
    #[must_use]
    pub fn from_md(
        level: u64,
        number: u64,
        columns: usize,
        unit: Unit,
        used: Bytes,
    ) -> Option<RaidLayout> {
        Some(match level {
            1 => RaidLayout::Mirror,
            4 => RaidLayout::Parity(Rotation::Last),
            5 => RaidLayout::Parity(Rotation::from_md(number)?),
            6 => RaidLayout::DoubleParity(DoubleRotation::from_md(number)?),
            10 => RaidLayout::Copies(Copies::from_md(number, columns, unit, used)?),
            _ => return None,
        })
    }

    /// How much an array over `columns` members holds, of each of which `used` bytes belong to it.
    #[must_use]
    pub fn capacity(self, columns: usize, unit: Unit, used: Bytes) -> Option<Bytes> {
        let rows = used.div_rem(unit).0;
        let data = |parities: usize| {
            let data = columns.checked_sub(parities).filter(|data| *data > 0)?;
            unit.bytes()
                .checked_mul(rows.checked_mul(u64::try_from(data).ok()?)?)
        };
        match self {
            RaidLayout::Mirror => Some(used),
            RaidLayout::Parity(_) => data(1),
            RaidLayout::DoubleParity(_) => data(2),
            RaidLayout::Copies(Copies { near, far, .. }) => unit
                .bytes()
                .checked_mul(Copies::units(near, far, columns, unit, used)?),
        }
    }
}
