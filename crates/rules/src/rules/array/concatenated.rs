use std::collections::BTreeSet;
use straddle_geometry::{Bytes, Map, Ratio};
use straddle_stack::{Key, Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::repair::END_TO_END;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CONCATENATED,
    name: "concatenated",
    summary: "volume is concatenated (linear): a sequential range keeps only one disk busy",
    status: Status::Stable,
    repair: Repair::None(END_TO_END),
    page: Page {
        checks: "Volumes and arrays whose pieces lie one after the other on different disks: md linear, LVM volumes over several physical \
                 volumes, chained device-mapper targets. Spanned volumes of Windows are STR619's.",
        why: "Requests never split, so alignment costs nothing. But a sequential scan, a bulk load or a hot table sits on one disk at a \
              time and gets the speed of one disk while the others wait; striping spreads the same range over all of them. It is no safer \
              either: losing any one disk loses what is on it.",
        evidence: "The segments of the volume, from its metadata or the device-mapper table, and the disks at the bottom of each.",
        example: "2 TiB = 1 TiB on sda (50%) + 1 TiB on sdb (50%): a scan reads sda for the first half and sdb for the second, never both; \
                  striped over two, it would read both all the time.",
        fix: "Where several disks are to work together, make the volume striped: `lvcreate --type striped --stripes N --stripesize 64k -l N \
              VG`, or convert it by way of RAID (lvmraid(7)); md level 0, 10, 5 or 6 in place of linear. Where many independent streams are \
              spread over the whole volume, or where it only ever grows by a disk, leave it.",
        fix_safety: "Making another volume and copying, or `pvmove OLD NEW`, keep the old volume until it is done. A striped volume is lost \
                     with any one of its disks, a concatenated one too for most filesystems: have a backup that was test-restored.",
        references: &[
            "lvmraid(7), lvcreate(8), --stripes",
            "Linux md(4), LINEAR and RAID0",
        ],
    },
    check,
};

/// Pieces whose arithmetic is shown; the others are counted together.
const MAX_SHOWN: usize = 8;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let is_volume = matches!(layer.kind, LayerKind::Volume | LayerKind::Array);
        let Map::Segments(_) = &layer.map else {
            continue;
        };
        if is_volume && !is_others(layer) {
            findings.extend(finding(context, id, layer));
        }
    }
}

/// True for what another rule speaks of, and for the zones of a RAID 0 whose members differ in size.
fn is_others(layer: &Layer) -> bool {
    let format = layer.format.as_deref().unwrap_or("");
    format.starts_with("ldm") || layer.text(Key::Level) == Some("raid0")
}

/// Parts of a volume that lie on the same disks.
struct Share<'a> {
    layers: Vec<&'a str>,
    disks: BTreeSet<LayerId>,
    bytes: u64,
    pieces: usize,
}

fn finding(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    let Map::Segments(pieces) = &layer.map else {
        return None;
    };
    let mut shares: Vec<Share<'_>> = Vec::new();
    for piece in pieces {
        let lower = *layer.below.get(piece.target)?;
        let name = context.stack.layer(lower).name.as_str();
        let disks = disks_of(context, lower);
        let len = piece.upper.len().get();
        match shares.iter_mut().find(|share| share.disks == disks) {
            Some(share) => {
                share.bytes = share.bytes.checked_add(len)?;
                share.pieces += 1;
                if !share.layers.contains(&name) {
                    share.layers.push(name);
                }
            }
            None => shares.push(Share {
                layers: vec![name],
                disks,
                bytes: len,
                pieces: 1,
            }),
        }
    }
    // Pieces that share disks are worked on together or not at all; only those that share none wait for each other.
    let apart = shares.iter().enumerate().all(|(index, share)| {
        shares
            .iter()
            .skip(index + 1)
            .all(|other| share.disks.is_disjoint(&other.disks))
    });
    if shares.len() < 2 || !apart {
        return None;
    }
    let total = shares
        .iter()
        .try_fold(0_u64, |sum, share| sum.checked_add(share.bytes))?;
    let disks: usize = shares.iter().map(|share| share.disks.len()).sum();
    let busiest = shares.iter().map(|share| share.disks.len()).max()?;
    let longest = pieces.iter().map(|piece| piece.upper.len()).max()?;
    let part = |share: &Share<'_>| {
        let percent =
            Ratio::new(share.bytes, total).map_or_else(String::new, |r| format!(" ({r})"));
        let many = match share.pieces {
            1 => String::new(),
            n => format!(" in {n} pieces"),
        };
        let names = share.layers.join(", ");
        format!("{} on {names}{percent}{many}", Bytes::new(share.bytes))
    };
    let mut parts: Vec<String> = shares.iter().take(MAX_SHOWN).map(part).collect();
    if let Some(more) = shares.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        parts.push(format!("the rest on {more} more"));
    }
    let working = if busiest == 1 {
        format!("one of {disks} disks works")
    } else {
        format!("at most {busiest} of {disks} disks work")
    };
    let title = format!(
        "{} lies on {} disks one after the other: of a sequential range, {working} at a time",
        layer.name, disks
    );
    let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
        .arithmetic(format!("{} = {}", Bytes::new(total), parts.join(" + ")))
        .arithmetic(format!(
            "a range of up to {} has the speed of {busiest} disk{}; striped over all it would have that of {disks}",
            longest,
            if busiest == 1 { "" } else { "s" }
        ));
    let said = [Key::Target, Key::Level, Key::VolumeGroup];
    if let Some((key, fact)) = said
        .into_iter()
        .find_map(|key| Some((key, layer.attribute(key)?)))
    {
        finding = finding.evidence(&fact.source, crate::wording::label(key, &fact.value));
    } else if let Some(size) = &layer.size {
        finding = finding.evidence(&size.source, format!("size = {}", size.value));
    }
    Some(finding.help(
        "nothing to fix if many independent requests go to all of it; for sequential work, stripe it when it is re-created",
    ))
}

/// The disks at the bottom of a layer.
fn disks_of(context: &Context<'_>, id: LayerId) -> BTreeSet<LayerId> {
    let below = context.stack.foundations(id);
    let all = std::iter::once(id).chain(below);
    all.filter(|id| context.stack.layer(*id).below.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Extent, Map, Segment};
    use straddle_stack::{Key, LayerId, LayerKind};

    /// Pieces of 1 GiB, one on each of `below` in turn.
    fn chained(lab: &mut Lab, kind: LayerKind, below: &[LayerId]) -> LayerId {
        let piece = |target: usize| Segment {
            upper: Extent::new(
                Bytes::mib(1024 * u64::try_from(target).expect("few")),
                Bytes::mib(1024),
            )
            .expect("small"),
            target,
            lower: Bytes::mib(1),
        };
        let map = Map::segments((0..below.len()).map(piece).collect()).expect("no overlap");
        lab.over(kind, below, map)
    }

    #[test]
    fn two_physical_volumes_one_after_the_other() {
        let mut lab = Lab::new();
        let disks = [lab.disk(4096), lab.disk(4096)];
        chained(&mut lab, LayerKind::Volume, &disks);
        let line = "2 GiB = 1 GiB on sda (50%) + 1 GiB on sda (50%)";
        let finding = lab.one(&RULE, Severity::Note, line);
        assert!(finding.title.ends_with("one of 2 disks works at a time"));
    }

    #[test]
    fn arrays_one_after_the_other_keep_one_array_busy() {
        let mut lab = Lab::new();
        let disks = [(); 4].map(|()| lab.disk(4096));
        let first = lab.array(&disks[..2], 65_536, &[0, 0]);
        let second = lab.array(&disks[2..], 65_536, &[0, 0]);
        chained(&mut lab, LayerKind::Volume, &[first, second]);
        let finding = lab.findings(&RULE).remove(0);
        assert!(
            finding
                .title
                .ends_with("at most 2 of 4 disks work at a time")
        );
    }

    #[test]
    fn one_disk_zones_of_raid_0_and_windows_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partitions = [lab.partition(disk, 2048), lab.partition(disk, 1 << 22)];
        chained(&mut lab, LayerKind::Volume, &partitions);
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disks = [lab.disk(4096), lab.disk(4096)];
        let zones = chained(&mut lab, LayerKind::Array, &disks);
        lab.text(zones, Key::Level, "raid0");
        lab.none(&RULE);
    }
}
