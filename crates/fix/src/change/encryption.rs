//! The payload of a LUKS volume begins elsewhere, behind a header that is re-created with the same key; and a LUKS2 volume is
//! re-encrypted in larger sectors.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Grid, Map, Unit, both_ways};
use straddle_rules::{RepairKind, division, refused_above};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Stack};

use super::filesystem::record;
use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static PAYLOAD: Kind<Payload> = Kind {
    name: "payload",
    title: "where the payload of a LUKS volume begins",
    repair: RepairKind::Payload,
    propose: payload,
};

pub(super) static SECTOR: Kind<Sector> = Kind {
    name: "encryption-sector",
    title: "the sector in which a LUKS2 volume is encrypted",
    repair: RepairKind::EncryptionSector,
    propose: sector,
};

/// A payload that begins elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Payload {
    /// The encrypted volume.
    pub layer: LayerId,
    /// What carries it.
    pub device: LayerId,
    /// `luks1`, `luks2`.
    pub format: String,
    /// Cipher and mode: `aes-xts-plain64`.
    pub cipher: String,
    /// Its sectors.
    pub sector: Bytes,
    /// Where it lies.
    pub from: Extent,
    /// Where it will lie.
    pub to: Extent,
}

/// A volume that is re-encrypted in other sectors.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sector {
    /// The encrypted volume.
    pub layer: LayerId,
    /// What carries it.
    pub device: LayerId,
    /// Its sectors now.
    pub from: Bytes,
    /// What they will be.
    pub to: Bytes,
}

/// Least room for header and key slots that is left: what eight slots of a key of 512 bits take, and 4 MiB for LUKS2, whose
/// default is 16 MiB.
fn least(format: &str) -> Bytes {
    match format {
        "luks1" => Bytes::kib(2048),
        _ => Bytes::mib(4),
    }
}

fn luks(layer: &Layer) -> Option<&str> {
    let format = layer.format.as_deref()?;
    (layer.kind == LayerKind::Encryption && matches!(format, "luks1" | "luks2")).then_some(format)
}

/// Why a volume is better left alone.
fn blockers(layer: &Layer) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(unfinished) = layer.text(Key::Reencryption) {
        out.push(format!(
            "a re-encryption ({unfinished}) was begun and not finished: cryptsetup reencrypt --resume-only first"
        ));
    }
    if layer.text(Key::Integrity).is_some() {
        out.push(
            "it has integrity tags, which lie among the data: re-create it and copy the files"
                .to_owned(),
        );
    }
    out
}

fn payload(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Payload>> {
    let layer = situation.stack.layer(id);
    let format = luks(layer)?;
    if !situation.calls_for(id, PAYLOAD.repair) {
        return None;
    }
    let device = situation.stack.only_below(id)?;
    let Map::Linear { start } = layer.map else {
        return None;
    };
    let size = situation.size(device)?;
    let from = Extent::new(start, size.checked_sub(start)?)?;
    let grid = places(situation, id, device)?;
    let every = grid.unit();
    // Nearer to the front, what is in it has room; further back, it has not.
    let before = start
        .checked_sub(grid.remainder(start))
        .filter(|at| *at >= least(format));
    let at = match before {
        Some(at) => at,
        None => grid.first_at_or_after(start).ok()?,
    };
    let to = Extent::new(at, size.checked_sub(at)?)?;
    let how = if to.len() >= from.len() {
        How::Restore { bytes: from.len() }
    } else {
        How::Refill { bytes: from.len() }
    };
    let mut notes = vec![
        "the volume key, cipher and UUID stay, so that what is encrypted is moved as it is; passphrases are asked for again, and those of \
         other key slots, and tokens (TPM, FIDO2, Clevis), must be added again"
            .to_owned(),
    ];
    if to.len() < from.len() {
        let lost = from.len().checked_sub(to.len()).unwrap_or(Bytes::ZERO);
        notes.push(format!(
            "there is no room nearer to the front: the volume becomes {} shorter, and what was in it comes back from a backup",
            both_ways(lost)
        ));
    }
    let cipher = layer.text(Key::Encryption)?.to_owned();
    let unit = layer.grid(GridRole::EncryptionSector)?.value.unit();
    Some(Proposal {
        title: format!("move the payload of {} to {}", layer.name, at.rounded()),
        how,
        arithmetic: vec![
            format!("payload: {} to {}", both_ways(start), both_ways(at)),
            format!("on the grids below: {}", division(at, Grid::new(every))),
            format!(
                "cryptsetup luksFormat --offset {} (units of 512 B)",
                at.get() / 512
            ),
        ],
        notes,
        blockers: blockers(layer),
        change: Payload {
            layer: id,
            device,
            format: format.to_owned(),
            cipher,
            sector: unit.bytes(),
            from,
            to,
        },
    })
}

/// Where a payload may begin: on everything below, thin chunks too, and on its own sectors.
fn places(situation: &Situation<'_>, id: LayerId, device: LayerId) -> Option<Grid> {
    let [mut needed, mut round] = situation.starts(device).ok()?;
    let own = situation.stack.layer(id).grid(GridRole::EncryptionSector);
    let chunks = situation.context.below(device, GridRole::ThinChunk);
    let chunks = chunks.filter_map(|grid| match grid.seen {
        Seen::Uniform(seen) => Some(seen),
        Seen::Pieces(_) => None,
    });
    for grid in chunks.chain(own.map(|own| Grid::new(own.value.unit()))) {
        needed = needed.intersect(grid).ok()?;
        round = round.intersect(grid).unwrap_or(needed);
    }
    Some(round)
}

fn sector(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Sector>> {
    let layer = situation.stack.layer(id);
    if luks(layer)? != "luks2" || !situation.calls_for(id, SECTOR.repair) {
        return None;
    }
    let device = situation.stack.only_below(id)?;
    let size = situation.size(id)?;
    let from = layer.grid(GridRole::EncryptionSector)?.value.unit();
    let to = Unit::B4096;
    if from >= to {
        return None;
    }
    let mut blockers = blockers(layer);
    if !size.is_multiple_of(to) {
        blockers.push(format!(
            "the payload is not a multiple of the new sector: {}",
            division(size, Grid::new(to))
        ));
    }
    blockers.extend(refused_above(situation.stack, id, to));
    Some(Proposal {
        title: format!("re-encrypt {} in sectors of {}", layer.name, to.bytes().rounded()),
        how: How::Move { bytes: size },
        arithmetic: vec![
            format!("sectors: {} to {}", both_ways(from.bytes()), both_ways(to.bytes())),
            format!("payload: {}", division(size, Grid::new(to))),
        ],
        notes: vec![
            "by hand: activate the volume first (cryptsetup open), leave what is in it unmounted, and cryptsetup reencrypt --sector-size 4096; of \
             a closed volume cryptsetup (2.4 or later) refuses to make sectors larger unless it is forced, which the script does after it looked \
             at what is in it. It can be interrupted and resumed"
                .to_owned(),
            "what is in it must be usable on logical sectors of 4,096 bytes: ext with blocks of 4 KiB, XFS with sectsz=4096 whatever its blocks \
             are (xfs_info), FAT, exFAT and NTFS with sectors of 4,096, partition tables written for them"
                .to_owned(),
        ],
        blockers,
        change: Sector {
            layer: id,
            device,
            from: from.bytes(),
            to: to.bytes(),
        },
    })
}

impl Payload {
    pub(super) fn apply(&self, stack: &mut Stack) {
        let layer = stack.layer_mut(self.layer);
        layer.map = Map::Linear {
            start: self.to.start(),
        };
        layer.placement = Some(Fact::derived(self.to, "planned"));
        layer.size = Some(Fact::derived(self.to.len(), "planned"));
        record(layer, Key::DataOffset, self.to.start());
    }
}

impl Sector {
    pub(super) fn apply(&self, stack: &mut Stack) {
        let layer = stack.layer_mut(self.layer);
        let Ok(unit) = Unit::try_from(self.to) else {
            return;
        };
        layer
            .grids
            .retain(|grid| grid.role != GridRole::EncryptionSector);
        layer.add_grid(
            GridRole::EncryptionSector,
            Fact::derived(Grid::new(unit), "planned"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::{Ask, plan};
    use straddle_stack::Value;

    /// What the plan says of a LUKS2 volume of 512-byte sectors that holds XFS with blocks of 4 KiB.
    fn said_of_xfs(sector: u64) -> Vec<String> {
        let mut stack = Stack::new();
        let mut push = |kind, format: &'static str, start: u64, grids: &[(GridRole, u64)]| {
            let below: Vec<LayerId> = stack.iter().last().map(|(id, _)| id).into_iter().collect();
            let mut layer = Layer::new(kind, format);
            layer.format = Some(format.into());
            layer.below = below;
            layer.map = Map::Linear {
                start: Bytes::new(start),
            };
            layer.size = Some(Fact::assumed(Bytes::mib(64 - start / (1 << 20)), "test"));
            for (role, size) in grids {
                let unit = Unit::new(*size).expect("not zero");
                layer.add_grid(*role, Fact::reported(Grid::new(unit), "/sys/test", ""));
            }
            let bytes = Value::Bytes(Bytes::new(sector));
            layer.set(Key::SectorSize, Fact::assumed(bytes, "test"));
            stack.push(layer)
        };
        push(
            LayerKind::Device,
            "sda",
            0,
            &[(GridRole::PhysicalSector, 4096)],
        );
        let sectors = [(GridRole::EncryptionSector, 512)];
        push(LayerKind::Encryption, "luks2", 16 << 20, &sectors);
        push(
            LayerKind::Filesystem,
            "xfs",
            0,
            &[(GridRole::AllocationUnit, 4096)],
        );
        let plan = plan(&stack, &Ask::default());
        let step = plan.steps.iter();
        let step = step.filter(|step| matches!(step.change, Change::EncryptionSector(_)));
        let said: Vec<Vec<String>> = step.map(|step| step.blockers.clone()).collect();
        assert_eq!(said.len(), 1, "{plan:#?}");
        said.concat()
    }

    #[test]
    fn xfs_goes_by_its_sectors_and_not_by_its_blocks() {
        assert!(said_of_xfs(4096).is_empty());
        let said = said_of_xfs(512);
        assert!(said[0].starts_with("xfs has sectors of"), "{said:?}");
    }
}
