//! What an ext or XFS filesystem knows of the array below is set right: a field of the superblock, no data are moved.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Unit, both_ways};
use straddle_rules::RepairKind;
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Stack, Value};

use super::filesystem;
use super::filesystem::{Family, record};
use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Hints> = Kind {
    name: "hints",
    title: "what a filesystem knows of the array below it",
    repair: RepairKind::Hints,
    propose,
};

/// The stripe unit and the full stripe that a filesystem is to know.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hints {
    /// The filesystem.
    pub layer: LayerId,
    /// What it lies on.
    pub device: LayerId,
    /// Its format: `ext4`, `xfs`.
    pub format: String,
    /// Its block, in which ext counts.
    pub block: Bytes,
    /// The stripe unit; 0 for none.
    pub stripe_unit: Bytes,
    /// The full stripe; 0 for none.
    pub full_stripe: Bytes,
}

/// The stripe unit and the full stripe below that a filesystem with such blocks can be told; 0 for what it cannot.
pub(super) fn known(situation: &Situation<'_>, id: LayerId, block: Unit) -> (Bytes, Bytes) {
    let below = |role| situation.context.below(id, role).next();
    let fits = |bytes: &Bytes| bytes.is_multiple_of(block);
    let stripe = below(GridRole::StripeUnit);
    let unit = stripe.map(|grid| grid.fact.value.unit().bytes());
    let unit = unit.filter(fits);
    // Without parity no write is dearer for being no full stripe; filesystems count its disks all the same.
    let data = stripe.and_then(|grid| {
        situation
            .stack
            .layer(grid.layer)
            .attribute(Key::DataMembers)
    });
    let data = data.and_then(|fact| match fact.value {
        Value::Count(count) => unit?.checked_mul(count),
        _ => None,
    });
    let full = below(GridRole::FullStripe).map(|grid| grid.fact.value.unit().bytes());
    let full = full.or(data).filter(fits).filter(|full| {
        let unit = unit.and_then(|unit| Unit::try_from(unit).ok());
        unit.is_none_or(|unit| full.is_multiple_of(unit))
    });
    (unit.unwrap_or(Bytes::ZERO), full.unwrap_or(Bytes::ZERO))
}

fn propose(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Hints>> {
    let layer = situation.stack.layer(id);
    let family = Family::of(layer)?;
    if layer.kind != LayerKind::Filesystem
        || !matches!(family, Family::Ext | Family::Xfs)
        || !situation.calls_for(id, KIND.repair)
        // One that is re-created is told then.
        || !situation.ask.without.contains(&(id, filesystem::KIND.name))
            && filesystem::propose(situation, id).is_some()
    {
        return None;
    }
    let device = situation.stack.only_below(id)?;
    let block = Unit::try_from(layer.bytes(Key::BlockSize)?.value).ok()?;
    let (unit, mut full) = known(situation, id, block);
    if family == Family::Xfs && full == Bytes::ZERO {
        // It takes both or none.
        full = unit;
    }
    let has = |key| layer.bytes(key).map_or(Bytes::ZERO, |fact| fact.value);
    let old = (has(Key::FsStripeUnit), has(Key::FsFullStripe));
    // Where no array is known, nobody knows that the old hints are wrong.
    if (unit, full) == (Bytes::ZERO, Bytes::ZERO) || (unit, full) == old {
        return None;
    }
    let hints = Hints {
        layer: id,
        device,
        format: layer.format.as_deref().unwrap_or("ext").to_owned(),
        block: block.bytes(),
        stripe_unit: unit,
        full_stripe: full,
    };
    let mut notes = vec![
        "files that are there stay where they are; only new ones are placed by the hints"
            .to_owned(),
    ];
    let refused = match family {
        Family::Xfs => refused_by_xfs(layer, &hints, old.0),
        _ => None,
    };
    if family == Family::Xfs && refused.is_none() {
        notes.push(format!(
            "one mount with -o sunit={},swidth={} writes both to the superblock (rootflags= of the kernel, for a root filesystem); \
             /etc/fstab need not have them",
            hints.stripe_unit.get() / 512,
            hints.full_stripe.get() / 512
        ));
    }
    Some(Proposal {
        title: format!("tell {} the stripe of the array below", layer.name),
        how: match refused {
            None => How::InPlace,
            Some(_) => How::ByHand,
        },
        arithmetic: hints.arithmetic(family, layer),
        notes,
        blockers: refused.into_iter().collect(),
        change: hints,
    })
}

/// Why the kernel would not mount XFS with other hints.
fn refused_by_xfs(layer: &Layer, hints: &Hints, old: Bytes) -> Option<String> {
    let unit = Unit::try_from(hints.stripe_unit).ok()?;
    let again = format!(
        "the kernel refuses to mount it with them. Re-created, it has them: mkfs.xfs -d su={},sw={}",
        unit.get(),
        hints.full_stripe.get() / unit.get()
    );
    if old == Bytes::ZERO {
        return Some(format!(
            "XFS that was made without a stripe unit takes none later: {again}"
        ));
    }
    let group = layer.bytes(Key::AllocationGroupSize)?.value;
    (!group.is_multiple_of(unit)).then(|| {
        format!(
            "allocation groups of {} are not a whole number of stripe units of {unit}: {again}",
            both_ways(group)
        )
    })
}

impl Hints {
    /// The stripe unit and the full stripe in blocks.
    #[must_use]
    pub fn in_blocks(&self) -> (u64, u64) {
        let blocks = |bytes: Bytes| bytes.get().checked_div(self.block.get()).unwrap_or(0);
        (blocks(self.stripe_unit), blocks(self.full_stripe))
    }

    fn arithmetic(&self, family: Family, layer: &Layer) -> Vec<String> {
        let (names, step, what) = match family {
            Family::Xfs => (["sunit", "swidth"], Bytes::new(512), "units of 512 B"),
            _ => (["stride", "stripe_width"], self.block, "blocks"),
        };
        let line = |name: &str, key, to: Bytes| {
            let from = layer.bytes(key).map_or(Bytes::ZERO, |fact| fact.value);
            format!(
                "{name}: {} \u{f7} {} = {} {what} (was {})",
                to.grouped(),
                step.grouped(),
                to.get().checked_div(step.get()).unwrap_or(0),
                both_ways(from)
            )
        };
        vec![
            line(names[0], Key::FsStripeUnit, self.stripe_unit),
            line(names[1], Key::FsFullStripe, self.full_stripe),
        ]
    }

    pub(super) fn apply(&self, stack: &mut Stack) {
        let layer = stack.layer_mut(self.layer);
        record(layer, Key::FsStripeUnit, self.stripe_unit);
        record(layer, Key::FsFullStripe, self.full_stripe);
    }
}
