//! The kinds of segments that are arrays, as device-mapper's `raid` target maps them.
//!
//! Source: Linux `Documentation/admin-guide/device-mapper/dm-raid.rst` and lvmraid(7). What those leave open is what the kernel
//! does, as the lab's case `lvm-metadata` finds it: parity of `raid4` is on the first image.

use straddle_geometry::{Copies, DoubleRotation, FarCopies, FarSets, RaidLayout, Rotation};

/// How a kind of segment deals its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dealt {
    /// Every stripe unit once.
    Striped,
    /// With copies or parity.
    Redundant(RaidLayout),
}

/// An array among the kinds of segments: how it deals its data, and what device-mapper calls it.
pub(super) fn of(kind: &str, copies: Option<u64>) -> Option<(Dealt, &'static str)> {
    let single = |rotation| Dealt::Redundant(RaidLayout::Parity(rotation));
    let double = |rotation| Dealt::Redundant(RaidLayout::DoubleParity(rotation));
    let last = |rotation| double(DoubleRotation::LastSyndrome(rotation));
    let near = copies.and_then(|copies| usize::try_from(copies).ok());
    Some(match kind {
        "raid0" | "raid0_meta" => (Dealt::Striped, "raid0"),
        "raid1" => (Dealt::Redundant(RaidLayout::Mirror), "raid1"),
        "raid10" | "raid10_near" => (
            Dealt::Redundant(RaidLayout::Copies(Copies {
                near: near.filter(|near| *near > 0).unwrap_or(2),
                far: 1,
                distance: FarCopies::NextRow,
                sets: FarSets::All,
            })),
            "raid10",
        ),
        "raid4" => (single(Rotation::First), "raid4"),
        "raid5" | "raid5_ls" => (single(Rotation::LeftSymmetric), "raid5_ls"),
        "raid5_la" => (single(Rotation::LeftAsymmetric), "raid5_la"),
        "raid5_ra" => (single(Rotation::RightAsymmetric), "raid5_ra"),
        "raid5_rs" => (single(Rotation::RightSymmetric), "raid5_rs"),
        "raid5_n" => (single(Rotation::Last), "raid5_n"),
        "raid6" | "raid6_zr" => (double(DoubleRotation::ZeroRestart), "raid6_zr"),
        "raid6_nr" => (double(DoubleRotation::NRestart), "raid6_nr"),
        "raid6_nc" => (double(DoubleRotation::NContinue), "raid6_nc"),
        "raid6_n_6" => (double(DoubleRotation::Both(Rotation::Last)), "raid6_n_6"),
        "raid6_ls_6" => (last(Rotation::LeftSymmetric), "raid6_ls_6"),
        "raid6_la_6" => (last(Rotation::LeftAsymmetric), "raid6_la_6"),
        "raid6_ra_6" => (last(Rotation::RightAsymmetric), "raid6_ra_6"),
        "raid6_rs_6" => (last(Rotation::RightSymmetric), "raid6_rs_6"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Bytes, Unit};

    /// The lab shows a few of these for every commit, and all of them in a soak.
    #[test]
    fn each_kind_is_the_layout_that_the_kernel_gives_it_by_number() {
        // `raid_types` in Linux `drivers/md/dm-raid.c`, with the numbers of `drivers/md/raid5.h`.
        let kinds = [
            ("raid4", 5, 4),
            ("raid5_n", 5, 5),
            ("raid5_ls", 5, 2),
            ("raid5_rs", 5, 3),
            ("raid5_la", 5, 0),
            ("raid5_ra", 5, 1),
            ("raid6_zr", 6, 8),
            ("raid6_nr", 6, 9),
            ("raid6_nc", 6, 10),
            ("raid6_n_6", 6, 5),
            ("raid6_ls_6", 6, 18),
            ("raid6_rs_6", 6, 19),
            ("raid6_la_6", 6, 16),
            ("raid6_ra_6", 6, 17),
        ];
        for (kind, level, number) in kinds {
            let layout = RaidLayout::from_md(level, number, 5, Unit::B4096, Bytes::mib(1));
            let expected = layout.map(|layout| (Dealt::Redundant(layout), kind));
            assert_eq!(of(kind, None), expected, "{kind}");
        }
        assert_eq!(of("raid5", None), of("raid5_ls", None));
        assert_eq!(of("raid6", None), of("raid6_zr", None));
    }
}
