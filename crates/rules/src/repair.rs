//! What a plan can do about what a rule finds.

use crate::{Code, RULES};

/// Kinds of change; `straddle-fix` has a file for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairKind {
    /// A virtual disk is converted.
    Image,
    /// Partitions begin elsewhere.
    Partitions,
    /// The data of an md array begin elsewhere on its members, or its stripe unit is another.
    Array,
    /// The first extent of an LVM physical volume lies elsewhere.
    VolumeGroup,
    /// An array is re-created by its controller.
    Rebuild,
    /// The payload of a LUKS volume begins elsewhere.
    Payload,
    /// A LUKS2 volume is re-encrypted in other sectors.
    EncryptionSector,
    /// A ZFS pool is re-created.
    Pool,
    /// A filesystem is told the stripe of the array below.
    Hints,
    /// A filesystem is re-created.
    Filesystem,
}

impl RepairKind {
    /// The codes of the rules whose findings it is for, on a layer itself or on those that rest on it; in their order.
    pub fn codes(self) -> impl Iterator<Item = Code> {
        let mut rules = RULES.iter();
        std::iter::from_fn(move || {
            let rule = rules.find(|rule| rule.repair.kinds().contains(&self))?;
            Some(rule.code)
        })
    }
}

/// What repairs the findings of a rule, and what a reader is told of those that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// One of these, each for some cases.
    By(&'static [RepairKind]),
    /// The same, and why there are cases that none of them is for.
    ByOr(&'static [RepairKind], &'static str),
    /// No change of a plan, and why.
    None(&'static str),
}

impl Repair {
    /// What may be changed.
    #[must_use]
    pub const fn kinds(self) -> &'static [RepairKind] {
        match self {
            Repair::By(kinds) | Repair::ByOr(kinds, _) => kinds,
            Repair::None(_) => &[],
        }
    }

    /// Why a finding is left; `None` where there is no more to say than that no change fits.
    #[must_use]
    pub const fn why_left(self) -> Option<&'static str> {
        match self {
            Repair::By(_) => None,
            Repair::ByOr(_, why) | Repair::None(why) => Some(why),
        }
    }
}

// What is said of several rules.

pub(crate) const FACTS: &str = "it says how sure the facts are; give the missing or the newer ones";
pub(crate) const GUEST: &str = "it is set where the virtual machine is configured, or follows from what lies below it; cure that first";
pub(crate) const REPORTED: &str = "the device reports it: firmware, a kernel parameter or a udev rule set it right, nothing on the disk does";
pub(crate) const STATE: &str =
    "it is the state of an array: let the rebuild or reshape come to its end, and look again";
pub(crate) const WINDOWS_DYNAMIC: &str = "dynamic disks are not changed by tools outside Windows, and are deprecated there: copy the files to a new volume";
pub(crate) const DAMAGE: &str = "it may be damage, and a plan must not write to what it does not understand: find out what it is first";
pub(crate) const FOREIGN_TABLE: &str = "the table has to be written again in the sectors that the device shows, which also moves every partition";
pub(crate) const DATA_OFFSET: &str = "the offset of the data in the members is set when an array is made; mdadm --grow --data-offset moves it in RAID 4, 5, 6 and 10, and a \
         member that is off gets that of the others when it is added again";
pub(crate) const END_TO_END: &str =
    "what is laid end to end is striped only by making the volume again";
pub(crate) const CONVERTED: &str =
    "a virtual disk is converted into a new file, with its guest shut down";
pub(crate) const FIRST_EXTENT: &str =
    "where extents begin is set by pvcreate --dataalignment: pvmove to a new physical volume";
