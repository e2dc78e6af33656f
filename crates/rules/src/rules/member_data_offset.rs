use straddle_geometry::{Bytes, Map};
use straddle_stack::{
    Attribute, Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Source, Value,
};

use crate::context::{Findings, is_believable};
use crate::wording::{both_ways, division, with_article};
use crate::{Code, Context, Finding, Page, Prices, Rule, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(206),
    name: "member-data-offset",
    summary: "an array's data start off the physical sector of a member, or differently on each",
    status: Status::Stable,
    page: Page {
        checks: "Whether the data of an array start on a physical sector (and indirection unit) of every member, the member's own place \
                 on its disk included, and whether all members start at the same distance from one.",
        why: "The data offset is added to everything above. When it is off a sector, every sector-sized write above is cut in two below, \
              however well partitions and filesystems are placed. When members differ, no start above is right for all of them.",
        evidence: "sysfs `md/dev-*/offset`, the device-mapper table, and the grid of each member as it is seen at that place.",
        example: "Data offset of 2,050 sectors on a 4K-sector disk: 1,049,600 = 256 × 4,096 + 1,024. A member on a partition at sector 63: \
                  32,256 + 1,048,576 = 1,080,832 = 263 × 4,096 + 3,584.",
        fix: "Move the partition of the member to a boundary and let the array rebuild onto it, one member at a time. Where the offset \
              itself is off on all members, `mdadm --grow /dev/mdN --data-offset=1024K` moves the data of RAID 4, 5, 6 and 10 in place, \
              towards the front; mdadm refuses an offset that is too large. Otherwise give `--data-offset` when creating the array, and \
              restore.",
        fix_safety: "During a rebuild or a reshape the array has less redundancy or none: check every other member first (`echo check > \
                     /sys/block/mdN/md/sync_action`), have a backup that was test-restored. RAID 0 cannot be rebuilt.",
        references: &[
            "mdadm(8), --data-offset: members may have different offsets",
            "Linux Documentation/admin-guide/md.rst: dev-XXX/offset",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    // STR212 speaks of arrays that firmware described: they are mended elsewhere.
    let own = |layer: &Layer| layer.attribute(Key::FirmwareRaid).is_none();
    let help = "re-create this member on a boundary and let the array rebuild onto it";
    look(context, RULE.code, own, help, findings);
}

/// Finds data of arrays of one kind that start off their members' sectors.
pub(super) fn look(
    context: &Context<'_>,
    code: Code,
    is_of_kind: impl Fn(&Layer) -> bool,
    help: &'static str,
    findings: &mut Findings,
) {
    for (id, layer) in context.stack.iter().filter(|(_, layer)| is_of_kind(layer)) {
        for (index, member) in layer.below.iter().enumerate() {
            if let Some(start) = data_start(context, layer, index, *member) {
                let array = (code, help, id, layer);
                check_member(context, array, *member, &start, findings);
            }
        }
    }
}

/// Where the data of a striped or mirrored layer start on a member.
fn data_start(
    context: &Context<'_>,
    layer: &Layer,
    index: usize,
    member: LayerId,
) -> Option<Fact<Bytes>> {
    // md says it for each member by name, also where its map has no closed form (parity).
    let directory = format!("/dev-{}/", context.stack.layer(member).name);
    let said = layer.attributes.iter().find_map(|attribute| {
        let Source::HostFile { path, .. } = &attribute.value.source else {
            return None;
        };
        match attribute.value.value {
            Value::Bytes(bytes)
                if attribute.key == Key::DataOffset && path.contains(&directory) =>
            {
                Some(attribute.value.clone().map(|_| bytes))
            }
            _ => None,
        }
    });
    // Captured text has one for each member, in their order.
    let all: Vec<&Attribute> = layer
        .attributes
        .iter()
        .filter(|attribute| attribute.key == Key::DataOffset)
        .collect();
    let is_array = layer.kind == LayerKind::Array;
    let in_order = all
        .get(index)
        .filter(|_| is_array && all.len() == layer.below.len());
    let said = said.or_else(|| {
        let fact = &in_order?.value;
        match fact.value {
            Value::Bytes(bytes) => Some(fact.clone().map(|_| bytes)),
            _ => None,
        }
    });
    let mapped = match &layer.map {
        Map::Striped(striping) => striping.starts.get(index).copied(),
        Map::Raid(raid) => raid.starts.get(index).copied(),
        Map::Linear { start } if layer.kind == LayerKind::Array => Some(*start),
        _ => None,
    };
    said.or_else(|| mapped.map(|start| Fact::derived(start, "the table of the array")))
}

fn check_member(
    context: &Context<'_>,
    (code, help, id, layer): (Code, &'static str, LayerId, &Layer),
    member: LayerId,
    start: &Fact<Bytes>,
    findings: &mut Findings,
) {
    let name = &context.stack.layer(member).name;
    for grid in context.seen(member) {
        let (role, unit) = (grid.role, grid.fact.value.unit());
        let hard = matches!(role, GridRole::PhysicalSector | GridRole::IndirectionUnit);
        let Seen::Uniform(seen) = grid.seen else {
            continue;
        };
        if !hard || !is_believable(grid) || seen.contains(start.value) {
            continue;
        }
        let up = Seen::Uniform(seen.seen_from(start.value));
        let prices = Prices::of(role, unit, &up, Bytes::ZERO, &context.options.io);
        let title = format!(
            "{}: the data on member {name} start inside {} of {unit}",
            layer.name,
            with_article(role)
        );
        findings.push(
            Finding::priced(code, id, title, prices)
                .evidence(
                    &start.source,
                    format!("data offset = {}", both_ways(start.value)),
                )
                .evidence(&grid.fact.source, format!("{} = {unit}", role.name()))
                .arithmetic(division(start.value, seen))
                .help(help),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Map};
    use straddle_stack::LayerKind;

    #[test]
    fn one_member_starts_off_its_sectors() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        lab.array(&members, 65_536, &[1 << 20, 2050 * 512]);
        let finding = lab.one(&RULE, Severity::Error, "1,049,600 = 256 × 4,096 + 1,024");
        assert!(finding.title.contains("member sda"));
    }

    #[test]
    fn the_place_of_a_member_s_partition_counts() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, 63);
        let start = Bytes::mib(1);
        lab.over(LayerKind::Array, &[partition], Map::Linear { start });
        lab.one(
            &RULE,
            Severity::Error,
            "1,048,576 = 512 (first boundary) + 255 × 4,096 + 3,584",
        );
    }

    #[test]
    fn equal_offsets_on_boundaries_are_silent() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(512)];
        lab.array(&members, 65_536, &[1 << 20, 129 << 20]);
        lab.none(&RULE);
    }
}
