use straddle_geometry::{Bytes, Map};
use straddle_stack::{GridRole, Key, LayerId, LayerKind, Seen, SeenGrid};

use crate::context::Findings;
use crate::shared::pieces::{HARD, off};
use crate::shared::said::off_here;
use crate::shared::start::{enters_here, say_what_is_free};
use crate::wording::{division, with_article};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::VOLUME_START,
    name: "volume-start",
    summary: "logical volume or encrypted payload is misaligned although the layer below it is aligned",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::VolumeGroup, RepairKind::Payload]),
    page: Page {
        checks: "Where in a chain of volumes the misalignment enters: whether a segment of a logical volume, a device-mapper target or the \
                 payload of an encrypted volume begins off a physical sector, indirection unit or stripe unit, while the layer directly \
                 below begins on it.",
        why: "Everything above pays as it would at sector 63, however well the partition is placed: offsets add up. A partition at 1 MiB \
              is no use when the volume manager puts its first extent 192 KiB + 512 bytes further.",
        evidence: "The device-mapper table or the header: start of each segment on the layer below.",
        example: "LUKS1 made with an aligned payload of 63 sectors starts at sector 4,095: 4,095 × 512 = 2,096,640 = 511 × 4,096 + 3,584. LVM \
                  before 2.02.73 put its first extent at 192 KiB: on 64 KiB stripe units, off 128 KiB ones.",
        fix: "Volumes: make another physical volume with `pvcreate --dataalignment 1m DEVICE`, and `pvmove OLD NEW` onto it. LUKS2: \
              re-create it with a data offset that is a multiple of 1 MiB (`cryptsetup luksFormat --offset 32768 DEVICE`), or restore into a \
              new container.",
        fix_safety: "`pvmove OLD NEW` keeps volumes usable and can be interrupted; re-creating an encrypted container destroys it, so copy \
                     first. Keep header and metadata backups (`cryptsetup luksHeaderBackup DEVICE --header-backup-file FILE`, `vgcfgbackup \
                     -f FILE VG`).",
        references: &[
            "pvcreate(8), --dataalignment",
            "cryptsetup(8), --align-payload and --offset",
            "https://listman.redhat.com/archives/lvm-devel/2010-August/msg00035.html",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    first_extents(context, findings);
    findings.extend(off_here(
        RULE.code,
        context,
        &[LayerKind::Volume, LayerKind::Encryption],
        "capture where it starts: `dmsetup table` says it of each volume, `cryptsetup status NAME` of an encrypted one",
    ));
    for (id, layer) in context.stack.iter() {
        // Striped volumes start on several members: STR206.
        if !matches!(layer.kind, LayerKind::Volume | LayerKind::Encryption)
            || matches!(layer.map, Map::Striped(_) | Map::Raid(_))
            // STR611 knows why.
            || layer.format.as_deref() == Some("bcache")
        {
            continue;
        }
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            if let Some(line) = off(&grid.seen)
                && enters_here(context, id, grid)
            {
                findings.push(finding(context, id, grid, line));
            }
        }
    }
}

/// A physical volume whose first extent is off a sector, where no volume is known that would say it.
fn first_extents(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        // A striped one is an array.
        let has_volumes = context.stack.above(id).any(|above| {
            let kind = context.stack.layer(above).kind;
            matches!(kind, LayerKind::Volume | LayerKind::Array)
        });
        let Some(first) = layer.bytes(Key::FirstExtent).filter(|_| !has_volumes) else {
            continue;
        };
        // Stripe units: STR604.
        for grid in context.seen(id) {
            let Seen::Uniform(seen) = grid.seen else {
                continue;
            };
            let sectors = matches!(
                grid.role,
                GridRole::PhysicalSector | GridRole::IndirectionUnit
            );
            if !sectors || seen.contains(first.value) || !seen.contains(Bytes::ZERO) {
                continue;
            }
            let unit = seen.unit();
            let title = format!(
                "{}: the first extent starts inside {} of {unit}",
                layer.name,
                with_article(grid.role)
            );
            let finding =
                Finding::priced(RULE.code, id, title, context.prices_from(grid, first.value))
                    .evidence(
                        &first.source,
                        format!("first extent = {} B", first.value.grouped()),
                    )
                    .evidence(&grid.fact.source, format!("{} = {unit}", grid.role.name()))
                    .arithmetic(division(first.value, seen))
                    .help("with a new physical volume: pvcreate --dataalignment 1m");
            findings.push(finding);
        }
    }
}

fn finding(context: &Context<'_>, id: LayerId, grid: &SeenGrid<'_>, pieces: String) -> Finding {
    let layer = context.stack.layer(id);
    let unit = grid.fact.value.unit();
    let title = format!(
        "{} starts inside {} of {unit}; what it lies on does not",
        layer.name,
        with_article(grid.role)
    );
    let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
    if let Some(placement) = &layer.placement {
        finding = finding.evidence(
            &placement.source,
            format!("start = {} B", placement.value.start().grouped()),
        );
    }
    let line = match (&layer.map, &grid.seen) {
        // A boundary at b up here is one at b + start below.
        (Map::Linear { start }, Seen::Uniform(seen)) => seen
            .phase()
            .checked_add(*start)
            .map(|phase| division(*start, straddle_geometry::Grid::with_phase(unit, phase))),
        _ => None,
    };
    let finding = finding
        .evidence(&grid.fact.source, format!("{} = {unit}", grid.role.name()))
        .arithmetic(line.unwrap_or(pieces))
        .help("re-create it with a start that is a multiple of 1 MiB; moving the partition below would not fix it");
    say_what_is_free(finding)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Map};
    use straddle_stack::{Key, LayerKind, Value};

    fn crypt(partition: u64, payload: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, partition);
        lab.upper(LayerKind::Encryption, "luks", partition, payload);
        lab
    }

    #[test]
    fn a_first_extent_inside_a_sector_is_said_where_no_volume_is_known() {
        let group = |first: u64| {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            lab.set(disk, Key::FirstExtent, Value::Bytes(Bytes::new(first)));
            (lab, disk)
        };
        let (mut lab, disk) = group(197_120);
        lab.one(&RULE, Severity::Error, "197,120 = 48 × 4,096 + 512");
        // The volume says it then, once.
        lab.upper(LayerKind::Volume, "linear", disk, 197_120);
        lab.one(&RULE, Severity::Error, "197,120 = 48 × 4,096 + 512");
        let (mut lab, disk) = group(197_120);
        lab.upper(LayerKind::Array, "striped", disk, 197_120);
        lab.none(&RULE);
        group(196_608).0.none(&RULE);
    }

    #[test]
    fn the_payload_is_where_it_enters() {
        let finding =
            crypt(2048, 4095 * 512).one(&RULE, Severity::Error, "2,096,640 = 511 × 4,096 + 3,584");
        assert!(finding.title.ends_with("what it lies on does not"));
    }

    /// A volume on a partition, of which only alignment offsets are known.
    fn said(partition: i64, volume: i64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let nowhere = || Map::Segments(Vec::new());
        let lower = lab.over(LayerKind::Partition, &[disk], nowhere());
        lab.set(lower, Key::AlignmentOffset, Value::SignedBytes(partition));
        let upper = lab.over(LayerKind::Volume, &[lower], nowhere());
        lab.set(upper, Key::AlignmentOffset, Value::SignedBytes(volume));
        lab
    }

    #[test]
    fn what_the_kernel_says_of_a_volume_is_enough() {
        let line = "start mod 4,096 = 3,584, 512 bytes before the next boundary";
        let finding = said(0, 512).one(&RULE, Severity::Error, line);
        assert!(
            finding.title.ends_with("what it lies on does not"),
            "{finding:#?}"
        );
        // It may count in larger units.
        said(0, 8192 + 512).one(&RULE, Severity::Error, line);
        for (partition, volume) in [(0, 0), (0, -1), (0, 8192), (512, 512)] {
            said(partition, volume).none(&RULE);
        }
    }

    #[test]
    fn aligned_payloads_and_inherited_faults_are_silent() {
        crypt(2048, 16 << 20).none(&RULE);
        crypt(63, 16 << 20).none(&RULE);
    }
}
