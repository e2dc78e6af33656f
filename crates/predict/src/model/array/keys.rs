//! Parameters of an array.

use crate::model::Model;
use crate::profile::{Key, Section};

pub(super) const LEVEL: Key = Key::word(
    "level",
    &[
        "single", "linear", "raid0", "raid1", "raid10", "raid01", "raid4", "raid5", "raid6",
        "raid50", "raid60", "vraid1", "vraid5",
    ],
    "How members are combined. vraid1 and vraid5 spread mirrored units and narrow parity rows over all members.",
);
pub(super) const MEMBERS: Key = Key::count("members", 1.0, 4096.0, "Members, spares not counted.");
pub(super) const STRIPE_UNIT: Key = Key::bytes(
    "stripe_unit",
    512.0,
    1e12,
    "Bytes on one member before the next takes over (md: chunk). Without effect in single, linear and raid1.",
)
.optional();
pub(super) const COPIES: Key = Key::count(
    "copies",
    2.0,
    16.0,
    "Copies of each byte in raid10, raid01 and vraid1; 2 unless said. In raid1, each member is a copy.",
)
.optional();
pub(super) const LAYOUT: Key = Key::word(
    "layout",
    &[
        "near",
        "far",
        "offset",
        "left-symmetric",
        "left-asymmetric",
        "right-symmetric",
        "right-asymmetric",
        "parity-first",
        "parity-last",
    ],
    "Where copies of a unit lie in raid10 (near unless said), or parity in raid5, 6, 50, 60 (left-symmetric unless said).",
)
.optional();
pub(super) const SPANS: Key = Key::count(
    "spans",
    2.0,
    1024.0,
    "Parity sets that rows take turns on in raid50 and raid60, each of as many members.",
)
.optional();
pub(super) const ROW: Key = Key::count(
    "row",
    3.0,
    64.0,
    "Units of a parity row in vraid5, parity included; 5 unless said.",
)
.optional();
pub(super) const PARITY: Key = Key::word(
    "parity",
    &["cheapest", "rmw", "reconstruct"],
    "How parity of a row that is written in part is found: from what was there (rmw), from the rest of the row \
     (reconstruct), or by whichever reads fewer members (cheapest; where both read as many, md reconstructs and an adapter reads what was there), \
     which holds unless said.",
)
.optional();
pub(super) const BY: Key = Key::word(
    "by",
    &["md", "adapter"],
    "Who works parity out. Unless said, an adapter where there is a controller or a cache, and md elsewhere.",
)
.optional();
pub(super) const GRANULE_TIME: Key = Key::time(
    "granule_time",
    0.0,
    0.01,
    "Time that one thread spends on each granule of data that is written to rows with parity (md: a page of its stripe cache).",
)
.optional();
pub(super) const GRANULE: Key = Key::bytes(
    "granule",
    512.0,
    1e9,
    "Bytes that parity is worked out for at once: what is written in part of one is read and written whole. Divides \
     the stripe unit. Without it, a sector on an adapter; on md, the largest divisor of the stripe unit that also divides 4 KiB, a page of its stripe cache.",
)
.optional();
pub(super) const LARGEST: Key = Key::bytes(
    "largest",
    4096.0,
    1e9,
    "Longest write that rows with parity are worked out for at once: a longer one is split from its beginning, and a row \
     that is cut is written in part twice (md: max_hw_sectors).",
)
.optional();
pub(super) const CUT: Key = Key::word(
    "cut",
    &["anywhere", "rows"],
    "Where writes longer than the largest are split: after so many bytes, wherever that is, or at the last beginning of \
     a row before; then the largest is a row at least. Anywhere unless said.",
)
.optional();
pub(super) const FAILED: Key = Key::count(
    "failed",
    0.0,
    4095.0,
    "Number of a member that has failed, the first being 0.",
)
.optional();
pub(super) const BALANCE: Key = Key::word(
    "balance",
    &["shortest", "alternate", "first"],
    "Which copy is read: that of the member with the shortest queue (the first of several), each in turn, or the first. \
     Shortest unless said; first in far layouts, where it lies at the beginning of members.",
)
.optional();
pub(super) const MERGE: Key = Key::word(
    "merge",
    &["adjacent", "none"],
    "Whether units of a command that follow each other on a member become one operation. Adjacent unless said.",
)
.optional();
pub(super) const DATA_OFFSET: Key = Key::bytes(
    "data_offset",
    0.0,
    1e15,
    "Byte of each member at which its data begins; zero unless said.",
)
.optional();

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "array",
    title: "Array",
    keys: &[
        &LEVEL,
        &MEMBERS,
        &STRIPE_UNIT,
        &COPIES,
        &LAYOUT,
        &SPANS,
        &ROW,
        &PARITY,
        &BY,
        &GRANULE,
        &GRANULE_TIME,
        &LARGEST,
        &CUT,
        &FAILED,
        &BALANCE,
        &MERGE,
        &DATA_OFFSET,
    ],
};

/// A number of members or copies, which are far fewer than 2³².
pub(super) fn count(section: &Section, key: &Key) -> u32 {
    u32::try_from(section.whole(key)).unwrap_or(u32::MAX)
}
