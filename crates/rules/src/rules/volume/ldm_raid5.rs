use straddle_geometry::{Map, RaidLayout};
use straddle_stack::{Fact, GridRole};

use crate::context::Findings;
use crate::repair::WINDOWS_DYNAMIC;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LDM_RAID5,
    name: "ldm-raid5",
    summary: "RAID-5 dynamic volume spends four operations on every small write, in software and without a cache",
    status: Status::Stable,
    repair: Repair::None(WINDOWS_DYNAMIC),
    page: Page {
        checks: "Whether a volume of Windows' Logical Disk Manager is RAID 5.",
        why: "Every small write of a database waits for four operations on two disks instead of one: a write that does not cover whole \
              rows of stripe units reads the old data and the old parity before it can write both. A RAID controller hides that behind a \
              cache that survives a loss of power; LDM has none. An interrupted row leaves parity that does not match its data until the \
              whole volume is resynchronised.",
        evidence: "The shape and the stripe unit of the volume's component in the LDM database.",
        example: "Three columns of 64 KiB: the full stripe is 2 × 65,536 = 131,072. A log write of 8 KiB: read data, read parity, write data, write \
                  parity.",
        fix: "Put logs, temporary files and busy data on a mirrored volume (two writes, no reads) or on an array with a protected write cache. Large \
              sequential writes suffer least when they are whole full stripes.",
        fix_safety: "A RAID-5 volume cannot be turned into a mirror: make the new one beside it, copy, verify, then delete the old one. While a disk is \
                     missing, the volume has no redundancy: do not begin then.",
        references: &[
            "Microsoft, diskpart: create volume raid",
            "P. Chen et al., RAID: High-Performance, Reliable Secondary Storage, 1994: small writes",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let (Map::Raid(raid), Some("ldm")) = (&layer.map, layer.format.as_deref()) else {
            continue;
        };
        let (RaidLayout::Parity(_), Some(data)) = (raid.layout, raid.data_columns()) else {
            continue;
        };
        let unit = raid.unit;
        let source = layer.grid(GridRole::StripeUnit).map_or_else(
            || Fact::derived((), "the record of its component").source,
            |grid| grid.source.clone(),
        );
        let title = format!(
            "{} is RAID 5 in software: a small write takes four operations instead of one",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&source, format!("{} columns, stripe unit = {unit}", raid.columns()))
            .arithmetic("small write: read data + read parity + write data + write parity = 4 operations; on a mirror 2");
        if let Some(full) = u64::try_from(data)
            .ok()
            .and_then(|data| unit.checked_mul(data))
        {
            finding = finding.arithmetic(format!(
                "full stripe: {data} × {} = {}: only writes of whole ones need no read",
                unit.bytes().grouped(),
                full.bytes().grouped()
            ));
        }
        findings.push(
            finding
                .note("it has no write cache of its own that would hide this")
                .help("put logs and busy data on a mirrored volume (diskpart: create volume mirror disk=1,2), or on an array with a protected write cache"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Map, Raid, RaidLayout, Rotation, Unit};
    use straddle_stack::LayerKind;

    fn raid(lab: &mut Lab, layout: RaidLayout, format: &'static str) {
        let disks = [lab.disk(512), lab.disk(512), lab.disk(512)];
        let map = Map::Raid(Raid {
            layout,
            unit: Unit::new(65_536).expect("not zero"),
            starts: vec![Bytes::mib(1); 3],
        });
        let id = lab.over(LayerKind::Array, &disks, map);
        lab.stack.layer_mut(id).format = Some(format.into());
    }

    #[test]
    fn small_writes_are_counted() {
        let mut lab = Lab::new();
        raid(&mut lab, RaidLayout::Parity(Rotation::LeftSymmetric), "ldm");
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "small write: read data + read parity + write data + write parity = 4 operations; on a mirror 2",
        );
        assert!(finding.arithmetic[1].contains("2 × 65,536 = 131,072"));
    }

    #[test]
    fn mirrors_and_other_arrays_are_silent() {
        let mut lab = Lab::new();
        raid(&mut lab, RaidLayout::Mirror, "ldm");
        raid(
            &mut lab,
            RaidLayout::Parity(Rotation::LeftSymmetric),
            "raid5",
        );
        lab.none(&RULE);
    }
}
