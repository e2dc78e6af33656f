//! Levels and their qualifiers.

use straddle_geometry::{Copies, DoubleRotation, FarCopies, FarSets, Rotation};

use super::layout::Record;
use crate::volume::firmware::Shape;

/// The level in md's words, and how addresses are dealt. What `Shape::Concatenated` needs is filled in by the caller.
pub(super) fn level(record: &Record) -> (&'static str, Shape) {
    let copies = |distance, near, far| {
        Shape::Copies(Copies {
            near,
            far,
            distance,
            sets: FarSets::All,
        })
    };
    match (record.level, record.qualifier) {
        (0x00, _) => ("raid0", Shape::Striped),
        (0x01, _) => ("raid1", Shape::Mirror),
        (0x04, 0) => ("raid4", Shape::Parity(Rotation::First)),
        (0x04, 1) => ("raid4", Shape::Parity(Rotation::Last)),
        (0x05, 0) => ("raid5", Shape::Parity(Rotation::RightAsymmetric)),
        (0x05, 2) => ("raid5", Shape::Parity(Rotation::LeftAsymmetric)),
        (0x05, 3) => ("raid5", Shape::Parity(Rotation::LeftSymmetric)),
        (0x06, 1) => ("raid6", Shape::DoubleParity(DoubleRotation::ZeroRestart)),
        (0x06, 2) => ("raid6", Shape::DoubleParity(DoubleRotation::NRestart)),
        (0x06, 3) => ("raid6", Shape::DoubleParity(DoubleRotation::NContinue)),
        (0x11, 0) => ("raid10", copies(FarCopies::NextRow, 2, 1)),
        (0x11, 1) => ("raid10", copies(FarCopies::NextRow, 1, 2)),
        (0x0f | 0x1f, _) => ("linear", Shape::Concatenated(Vec::new())),
        (level, qualifier) => {
            let name = match level {
                0x03 => "raid3",
                0x04 => "raid4",
                0x05 => "raid5",
                0x06 => "raid6",
                0x07 => "mdf",
                0x11 => "raid10",
                0x15 => "raid5e",
                0x25 => "raid5ee",
                _ => "unknown",
            };
            let why = format!(
                "RAID level {level:#04x} with qualifier {qualifier:#04x}: where its data lie on which member is not known here"
            );
            (name, Shape::Unmapped(why.into()))
        }
    }
}

/// How many of `count` members hold data of a row; `None` where rows are no such thing.
pub(super) fn data_members(shape: &Shape, count: usize) -> Option<usize> {
    match shape {
        Shape::Striped => Some(count),
        Shape::Mirror => Some(1),
        Shape::Copies(copies) if copies.near > 1 => {
            (count.is_multiple_of(copies.near)).then(|| count / copies.near)
        }
        Shape::Parity(_) => count.checked_sub(1),
        Shape::DoubleParity(_) => count.checked_sub(2),
        _ => None,
    }
    .filter(|data| *data > 0)
}
