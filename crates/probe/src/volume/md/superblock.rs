//! What a superblock of any version says, in one form.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;

use super::{version0, version1};
use crate::Window;
use crate::record::Place;

/// Most members that are looked at: what has room in a superblock of version 1 behind its head.
pub(super) const MAX_MEMBERS: u32 = 1920;

/// Which superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 0.90, numbers low byte first or high byte first.
    V0 { big: bool },
    /// 1.0 at the end, 1.1 at the start, 1.2 at 4 KiB.
    V1 { minor: u8 },
}

impl Version {
    /// As mdadm prints it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::V0 { .. } => "0.90",
            Version::V1 { minor: 0 } => "1.0",
            Version::V1 { minor: 1 } => "1.1",
            Version::V1 { .. } => "1.2",
        }
    }
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Number of its place, from 0.
    Slot(u32),
    /// Is being made to take the place of a member that is still there.
    Replacement(u32),
    Spare,
    Faulty,
    Journal,
}

impl Role {
    pub(super) fn name(self) -> String {
        match self {
            Role::Slot(slot) => format!("member {slot}"),
            Role::Replacement(slot) => format!("replacement of member {slot}"),
            Role::Spare => "spare".into(),
            Role::Faulty => "faulty".into(),
            Role::Journal => "journal".into(),
        }
    }
}

/// The geometry that a reshape leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reshape {
    /// How far it has come, in addresses of the array.
    pub(super) position: Bytes,
    pub(super) level: i32,
    pub(super) layout: u32,
    pub(super) chunk: Bytes,
    /// Members more than before.
    pub(super) delta: i32,
    /// It goes from the end to the start.
    pub(super) backwards: bool,
    /// Where data start afterwards.
    pub(super) data_offset: Option<Bytes>,
}

/// Where the fields stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) magic: Place,
    pub(super) uuid: Place,
    pub(super) name: Place,
    pub(super) level: Place,
    pub(super) layout: Place,
    pub(super) chunk: Place,
    pub(super) disks: Place,
    pub(super) used: Place,
    /// `None` where nothing records it: version 0.90 has its data at 0.
    pub(super) data_offset: Option<Place>,
    pub(super) data_size: Option<Place>,
    pub(super) number: Place,
    pub(super) events: Place,
    pub(super) recovery: Option<Place>,
    pub(super) resync: Place,
    pub(super) reshape: Place,
}

/// A remark about a superblock.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) kind: AnomalyKind,
    pub(super) detail: String,
    pub(super) place: Place,
}

/// One superblock.
#[derive(Clone, Debug)]
pub(super) struct Superblock {
    pub(super) version: Version,
    /// Where it stands in the member.
    pub(super) at: u64,
    /// Of the array, as mdadm prints it.
    pub(super) uuid: String,
    /// Of the array; empty when it has none.
    pub(super) name: String,
    pub(super) level: i32,
    pub(super) layout: u32,
    pub(super) chunk: Bytes,
    pub(super) disks: u32,
    /// How much of each member the array uses; 0 for levels that use all there is.
    pub(super) used: Bytes,
    pub(super) data_offset: Bytes,
    /// How much of this member is for data.
    pub(super) data_size: Bytes,
    pub(super) role: Role,
    /// What tells it from other members: its UUID, or its number.
    pub(super) member: String,
    pub(super) events: u64,
    /// Not rebuilt beyond here.
    pub(super) recovery: Option<Bytes>,
    /// Not synchronised beyond here.
    pub(super) resync: Option<Bytes>,
    pub(super) reshape: Option<Reshape>,
    /// For each place, whether the superblock knows of a member in it.
    pub(super) occupied: Vec<bool>,
    /// A journal belongs to the array.
    pub(super) journal: bool,
    pub(super) remarks: Vec<Remark>,
    pub(super) places: &'static Places,
}

/// Names of what is damaged for the remark about a checksum.
pub(super) fn checksum_differs(found: u32, expected: u32, place: Place) -> Remark {
    Remark {
        kind: AnomalyKind::Damaged,
        detail: format!(
            "checksum {found:08x}, its bytes give {expected:08x}: md refuses this superblock; `mdadm --examine` shows it all the same"
        ),
        place,
    }
}

/// How many members an array has places for, before or after a reshape by `delta`; no more than the limit.
pub(super) fn seats(disks: u32, delta: i32) -> usize {
    let before = i64::from(disks).saturating_sub(i64::from(delta));
    let most = before.max(i64::from(disks)).min(i64::from(MAX_MEMBERS));
    usize::try_from(most).unwrap_or(0)
}

/// `sectors` × 512.
pub(super) fn sectors(sectors: u64) -> Bytes {
    Bytes::new(512).checked_mul(sectors).unwrap_or(Bytes::MAX)
}

/// Looks at the four places where a superblock may stand; those at the start first, as they cost nothing.
pub(super) fn find(window: &Window<'_>) -> Result<Vec<Superblock>, ReadError> {
    let mut found = Vec::new();
    for minor in [2, 1, 0] {
        found.extend(version1::read(window, minor)?);
    }
    found.extend(version0::read(window)?);
    Ok(found)
}

impl Superblock {
    /// Name of its level, as Linux has it.
    pub(super) fn level_name(level: i32) -> String {
        match level {
            -1 => "linear".into(),
            -4 => "multipath".into(),
            -5 => "faulty".into(),
            level => format!("raid{level}"),
        }
    }

    /// The name of its block device: `md0` of `host:0`, `data` of `host:data`.
    pub(super) fn device_name(&self) -> String {
        let name = self.name.rsplit(':').next().unwrap_or("");
        match name {
            "" => "md".into(),
            name if name.bytes().all(|byte| byte.is_ascii_digit()) => format!("md{name}"),
            name => name.to_owned(),
        }
    }
}
