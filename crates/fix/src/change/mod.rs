//! What can be changed about a layer: one file each.
//!
//! A change is proposed for one layer when something that it cures was found there, on a stack in which all layers below have
//! their changes already. It says what will be there, in figures that a script needs, and can be made on the stack itself, so
//! that the rules can look at the outcome.

pub mod array;
pub mod encryption;
pub mod filesystem;
pub mod hints;
pub mod image;
mod kind;
pub mod partitions;
pub mod pool;
pub mod rebuild;
pub mod volume_group;

use schemars::JsonSchema;
use serde::Serialize;
use straddle_rules::Code;
use straddle_stack::{LayerId, Stack};

pub use kind::{Kind, Proposal};

/// Kinds as the list has them: each proposes its own sort of change, as one of all.
macro_rules! kinds {
    ($($kind:path => $one_of:path,)*) => {
        &[$(&Kind {
            name: $kind.name,
            title: $kind.title,
            repair: $kind.repair,
            propose: |situation, layer| Some(($kind.propose)(situation, layer)?.map($one_of)),
        }),*]
    };
}

/// All changes. For each layer they are tried in this order.
pub static KINDS: &[&Kind<Change>] = kinds![
    image::KIND => Change::Image,
    partitions::KIND => Change::Partitions,
    array::KIND => Change::Array,
    volume_group::KIND => Change::VolumeGroup,
    rebuild::KIND => Change::Rebuild,
    encryption::PAYLOAD => Change::Payload,
    encryption::SECTOR => Change::EncryptionSector,
    pool::KIND => Change::Pool,
    hints::KIND => Change::Hints,
    filesystem::KIND => Change::Filesystem,
];

/// True when a kind of change, by its name, is there to cure findings of this rule.
pub(crate) fn cures(kind: &str, code: Code) -> bool {
    let kind = KINDS.iter().find(|known| known.name == kind);
    kind.is_some_and(|kind| kind.is_for(code))
}

/// A change in figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// A virtual disk is converted.
    Image(image::Image),
    /// Partitions begin elsewhere.
    Partitions(partitions::Partitions),
    /// The data of an md array begin elsewhere on its members, or its stripe unit is another.
    Array(array::Array),
    /// The first extent of an LVM physical volume lies elsewhere.
    VolumeGroup(volume_group::VolumeGroup),
    /// A filesystem is told the stripe of the array below.
    Hints(hints::Hints),
    /// A filesystem is re-created.
    Filesystem(filesystem::Filesystem),
    /// The payload of a LUKS volume begins elsewhere.
    Payload(encryption::Payload),
    /// A LUKS2 volume is re-encrypted in other sectors.
    EncryptionSector(encryption::Sector),
    /// A ZFS pool is re-created.
    Pool(pool::Pool),
    /// An array is re-created by its controller.
    Rebuild(rebuild::Rebuild),
}

impl Change {
    /// Where partitions go, when that is what changes.
    #[must_use]
    pub fn partitions(&self) -> Option<&partitions::Partitions> {
        match self {
            Change::Partitions(partitions) => Some(partitions),
            _ => None,
        }
    }

    /// The layers whose bytes a script writes: what must be told from others before anything is done.
    #[must_use]
    pub fn written(&self) -> Vec<LayerId> {
        match self {
            Change::Image(image) => vec![image.file],
            Change::Partitions(partitions) => vec![partitions.device],
            Change::Array(array) => array.members.iter().map(|member| member.layer).collect(),
            Change::VolumeGroup(group) => vec![group.device],
            Change::Hints(hints) => vec![hints.device],
            Change::Filesystem(filesystem) => vec![filesystem.device],
            Change::Payload(payload) => vec![payload.device],
            Change::EncryptionSector(sector) => vec![sector.device],
            Change::Pool(pool) => pool.members(),
            Change::Rebuild(rebuild) => vec![rebuild.layer],
        }
    }

    /// What may hold those layers, since the script takes it apart: the name of an array, `dm`, `zfs`.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        match self {
            Change::Array(array) => Some(&array.name),
            Change::VolumeGroup(_) => Some("dm"),
            Change::Pool(_) => Some("zfs"),
            _ => None,
        }
    }

    /// True when a script reaches what it writes through what that lies in: a partition of an image, by a loop device.
    pub(crate) fn is_reached(&self) -> bool {
        matches!(
            self,
            Change::Hints(_)
                | Change::Filesystem(_)
                | Change::Payload(_)
                | Change::EncryptionSector(_)
        )
    }

    /// Makes the change on a stack, as far as the rules see it.
    pub fn apply(&self, stack: &mut Stack) {
        match self {
            Change::Image(image) => image.apply(stack),
            Change::Partitions(partitions) => partitions.apply(stack),
            Change::Array(array) => array.apply(stack),
            Change::VolumeGroup(group) => group.apply(stack),
            Change::Hints(hints) => hints.apply(stack),
            Change::Filesystem(filesystem) => filesystem.apply(stack),
            Change::Payload(payload) => payload.apply(stack),
            Change::EncryptionSector(sector) => sector.apply(stack),
            Change::Pool(pool) => pool.apply(stack),
            Change::Rebuild(rebuild) => rebuild.apply(stack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KINDS;
    use straddle_rules::RULES;

    #[test]
    fn what_rules_name_as_repair_is_one_kind_of_change() {
        for rule in RULES {
            for repair in rule.repair.kinds() {
                let kinds = KINDS.iter().filter(|kind| kind.repair == *repair);
                assert_eq!(kinds.count(), 1, "{}: {repair:?}", rule.code);
            }
        }
        for kind in KINDS {
            assert!(
                kind.codes().next().is_some(),
                "{}: is for nothing",
                kind.name
            );
        }
    }
}
