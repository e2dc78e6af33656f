use straddle_geometry::{Bytes, Grid, Map, Unit, both_ways, lcm};
use straddle_stack::{
    Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, SeenGrid, Source, Value,
};

use crate::context::{Findings, is_believable};
use crate::shared::start::has_parity;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ODD_FULL_STRIPE,
    name: "odd-full-stripe",
    summary: "neither 1 MiB nor the extent size of a volume group is a multiple of a parity array's full stripe",
    status: Status::Stable,
    repair: Repair::ByOr(
        &[RepairKind::Rebuild],
        "the number of data disks makes the full stripe odd: a power of two of them, at the next rebuild",
    ),
    page: Page {
        checks: "LVM on a parity array whose full stripe does not divide 1 MiB, as it is with any number of data members that is no power \
                 of two (5 × 64 KiB = 320 KiB): whether the length of an extent is a multiple of the full stripe, and, where extents are not \
                 known, whether volumes start on full stripes. Partitions are STR202's, the place of the first extent is STR604's.",
        why: "Each extent starts at another place in a stripe, and a filesystem that was told the right `stripe_width` aligns its files to \
              boundaries that are not there: it counts from the start of its volume. Volumes start where an extent does. Extents are 4 MiB \
              unless told otherwise, and every tool that aligns (parted, fdisk, DiskPart, `pvcreate`) does so to 1 MiB. With five data \
              members neither is a multiple of the full stripe.",
        evidence: "Extent size and first extent from the metadata of the physical volume or `vgs` and `pvs`; starts of volumes from the \
                   device-mapper table; the full stripe from the array's metadata, md or `--stripe-width`.",
        example: "Extents of 4 MiB on full stripes of 320 KiB: 4,194,304 = 12 × 327,680 + 262,144; lcm(4,194,304, 327,680) = 20,971,520, so one \
                  extent in 5 begins on a full stripe. Of volumes that begin at the others, a write of 320 KiB always covers two stripes in \
                  part: of each, the array reads what it lacks for the parity.",
        fix: "For streams of large writes, make the group with extents that are a multiple of the full stripe (and of 128 KiB, which LVM \
              demands of what is no power of two): `vgcreate --physicalextentsize 5m VG PV` for 320 KiB, 3 MiB for 192 KiB. In a group that is \
              there, name the extents: `lvcreate -l N VG PV:FIRST-` where FIRST is one that begins on a full stripe. For small random \
              requests do nothing: they never fill a stripe.",
        fix_safety: "`vgchange --physicalextentsize 1m VG` works only where every volume fits the new extents. Moving a volume with `pvmove \
                     --alloc anywhere PV:FIRST-LAST PV:FIRST-LAST` to other extents keeps it usable and can be interrupted; have a backup \
                     that was test-restored.",
        references: &[
            "vgcreate(8), --physicalextentsize",
            "pvcreate(8), --dataalignment",
            "Linux md(4), RAID5",
        ],
    },
    check,
};

const MEBIBYTE: u64 = 1 << 20;
/// Volumes whose arithmetic is shown; the others are counted.
const MAX_SHOWN: usize = 3;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, _) in context.stack.iter() {
        for grid in context.seen(id) {
            if grid.role != GridRole::FullStripe
                || !is_believable(grid)
                || !has_parity(context, grid)
            {
                continue;
            }
            if let Seen::Uniform(stripes) = grid.seen
                && !MEBIBYTE.is_multiple_of(stripes.unit().get())
            {
                findings.extend(finding(context, id, grid, stripes));
            }
        }
    }
}

/// What is said of the volumes that lie directly on `id`, which sees full stripes as `stripes`.
fn finding(
    context: &Context<'_>,
    id: LayerId,
    grid: &SeenGrid<'_>,
    stripes: Grid,
) -> Option<Finding> {
    let layer = context.stack.layer(id);
    let unit = stripes.unit();
    let extent = extent_size(context, id);
    let off: Vec<(&Layer, Bytes)> = volumes(context, id)
        .filter(|(_, start)| !stripes.contains(*start))
        .filter(|(_, start)| is_on_units(context, id, *start))
        .collect();
    let (title, start) = match &extent {
        // Then only the first extent decides, and that is another cause.
        Some((extent, _)) if extent.bytes().is_multiple_of(unit) => return None,
        Some((extent, _)) => {
            let first = first_extent(layer).map_or(Bytes::ZERO, |first| first.value);
            // Of two extents in a row at most one begins on a full stripe.
            let next = first.checked_add(extent.bytes())?;
            let some = if stripes.contains(first) { next } else { first };
            let title = format!(
                "{}: extents of {extent} begin at a different place in each full stripe of {unit}",
                layer.name
            );
            (title, off.first().map_or(some, |(_, start)| *start))
        }
        None => {
            let (first, start) = off.first()?;
            let (others, verb) = match off.len() {
                1 => (String::new(), "starts"),
                n => (format!(" and {} more", n - 1), "start"),
            };
            let title = format!(
                "{}{others} on {} {verb} inside a full stripe of {unit}, of which 1 MiB is no multiple",
                first.name, layer.name
            );
            (title, *start)
        }
    };
    let mut finding = Finding::priced(RULE.code, id, title, context.prices_from(grid, start));
    if let Some((extent, source)) = &extent {
        finding = finding
            .evidence(
                source,
                format!("extent size = {}", both_ways(extent.bytes())),
            )
            .arithmetic(division(extent.bytes(), Grid::new(unit)))
            .arithmetic(phases(*extent, first_extent(layer), stripes));
    }
    finding = finding.evidence(&grid.fact.source, format!("full stripe = {unit}"));
    for (volume, start) in off.iter().take(MAX_SHOWN) {
        if let Some(placement) = &volume.placement {
            let label = format!("{} starts at {}", volume.name, both_ways(*start));
            finding = finding.evidence(&placement.source, label);
        }
        finding = finding.arithmetic(format!("{}: {}", volume.name, division(*start, stripes)));
    }
    if let Some(more) = off.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        finding = finding.note(format!("{more} more volumes start inside a full stripe"));
    }
    if let Some(common) = lcm(unit.get(), MEBIBYTE).and_then(Unit::new) {
        finding = finding.help(format!(
            "for large sequential writes: extents of {} (vgcreate --physicalextentsize {}k), lcm(1 MiB, {unit})",
            common.bytes(),
            common.get() / 1024
        ));
    }
    finding = finding.note(
        "hints such as stripe_width count from the start of the volume: they are worth nothing where that is no full stripe",
    );
    if off.is_empty() && volumes(context, id).next().is_some() {
        finding = finding.at_most(
            Severity::Note,
            "the volumes that are there happen to start on full stripes",
        );
    }
    let reached = context.options.io.iter().any(|io| *io >= unit);
    Some(if reached {
        finding
    } else {
        finding.at_most(
            Severity::Note,
            "no request size asked for fills a stripe, so none can be written without reading first wherever it starts",
        )
    })
}

/// Which extents begin on a full stripe.
fn phases(extent: Unit, first: Option<Fact<Bytes>>, stripes: Grid) -> String {
    let start = first.map_or(Bytes::ZERO, |first| first.value);
    let unit = stripes.unit();
    let Some(common) = lcm(unit.get(), extent.get()).and_then(Unit::new) else {
        return format!("extents of {extent} never meet full stripes of {unit} again");
    };
    let every = common.get() / extent.get();
    let line = format!(
        "lcm({}, {}) = {}",
        extent.bytes().grouped(),
        unit.bytes().grouped(),
        common.bytes().grouped()
    );
    let extents = Grid::with_phase(extent, start);
    match extents
        .intersect(stripes)
        .and_then(|both| both.first_at_or_after(start))
    {
        Ok(on) => {
            let skipped = on.checked_sub(start).map_or(0, |gap| gap.div_rem(extent).0);
            format!(
                "{line}: one extent in {every} begins on a full stripe, the first of them extent {skipped}"
            )
        }
        Err(_) => format!("{line}; as the first extent lies, none begins on a full stripe"),
    }
}

/// The volumes that lie directly on a layer, and where each of their pieces there starts.
fn volumes<'a>(context: &Context<'a>, id: LayerId) -> impl Iterator<Item = (&'a Layer, Bytes)> {
    let stack = context.stack;
    let above = stack.above(id).map(move |above| stack.layer(above));
    let managed = above.filter(|layer| {
        layer.kind == LayerKind::Volume
            && (layer.attribute(Key::VolumeGroup).is_some()
                || layer.text(Key::Target) == Some("linear"))
    });
    managed.flat_map(move |layer| {
        let starts: Vec<Bytes> = match &layer.map {
            Map::Linear { start } => vec![*start],
            Map::Segments(pieces) => {
                let here = |target: usize| layer.below.get(target) == Some(&id);
                let pieces = pieces.iter().filter(|piece| here(piece.target));
                pieces.map(|piece| piece.lower).collect()
            }
            _ => Vec::new(),
        };
        starts.into_iter().take(1).map(move |start| (layer, start))
    })
}

/// The length of an extent, where a physical volume or a volume on it says it.
fn extent_size(context: &Context<'_>, id: LayerId) -> Option<(Unit, Source)> {
    let stack = context.stack;
    let above = stack.above(id).map(|above| stack.layer(above));
    let mut all = std::iter::once(stack.layer(id)).chain(above);
    let fact = all.find_map(|layer| layer.bytes(Key::ExtentSize))?;
    Some((Unit::new(fact.value.get())?, fact.source))
}

fn first_extent(layer: &Layer) -> Option<Fact<Bytes>> {
    let fact = layer.attribute(Key::FirstExtent)?;
    let value = match &fact.value {
        Value::Bytes(bytes) => *bytes,
        Value::Between(interval) => interval.known()?,
        _ => return None,
    };
    Some(fact.clone().map(|_| value))
}

/// True unless stripe units are known and `start` is off one: that is STR602's.
fn is_on_units(context: &Context<'_>, id: LayerId, start: Bytes) -> bool {
    let units = context.seen(id).iter();
    let mut units = units.filter(|grid| grid.role == GridRole::StripeUnit && is_believable(grid));
    units.all(|grid| match grid.seen {
        Seen::Uniform(seen) => seen.contains(start),
        Seen::Pieces(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId, LayerKind};

    /// An array of five data members of 64 KiB that is a physical volume.
    fn group(level: &'static str, extent: u64, first: u64, io: &[u64]) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        lab.io(io);
        let array = lab.disk(512);
        lab.text(array, Key::Level, level);
        lab.grid(array, GridRole::StripeUnit, 65_536);
        lab.grid(array, GridRole::FullStripe, 327_680);
        lab.bytes(array, Key::FirstExtent, first);
        if extent > 0 {
            lab.bytes(array, Key::ExtentSize, extent);
        }
        (lab, array)
    }

    #[test]
    fn extents_of_4_mib_drift_through_320_kib() {
        let line = "lcm(4,194,304, 327,680) = 20,971,520: one extent in 5 begins on a full stripe, the first of them extent 0";
        let (mut lab, array) = group("raid5", 4 << 20, 5 << 20, &[327_680]);
        let volume = lab.upper(LayerKind::Volume, "", array, 9 << 20);
        lab.text(volume, Key::VolumeGroup, "vg");
        let finding = lab.one(&RULE, Severity::Error, line);
        assert_eq!(finding.arithmetic[0], "4,194,304 = 12 × 327,680 + 262,144");
        assert!(finding.arithmetic[2].contains("9,437,184 = 28 × 327,680 + 262,144"));
        assert!(finding.help[0].contains("extents of 5 MiB (vgcreate --physicalextentsize 5120k)"));
        // Small requests fill no stripe anywhere.
        let (lab, _) = group("raid5", 4 << 20, 5 << 20, &[8192]);
        lab.one(&RULE, Severity::Note, line);
    }

    #[test]
    fn a_first_extent_off_the_stripe_may_leave_no_extent_on_it() {
        let (lab, _) = group("raid5", 4 << 20, (5 << 20) + 4096, &[327_680]);
        let line = "lcm(4,194,304, 327,680) = 20,971,520; as the first extent lies, none begins on a full stripe";
        lab.one(&RULE, Severity::Error, line);
        let (lab, _) = group("raid5", 4 << 20, 1 << 20, &[327_680]);
        let line = "lcm(4,194,304, 327,680) = 20,971,520: one extent in 5 begins on a full stripe, the first of them extent 1";
        lab.one(&RULE, Severity::Error, line);
    }

    #[test]
    fn volumes_speak_where_extents_are_not_known() {
        let (mut lab, array) = group("raid5", 0, 0, &[327_680]);
        let volume = lab.upper(LayerKind::Volume, "", array, 1 << 20);
        lab.text(volume, Key::Target, "linear");
        lab.one(
            &RULE,
            Severity::Error,
            "volume 1: 1,048,576 = 3 × 327,680 + 65,536",
        );
    }

    #[test]
    fn whole_stripes_other_levels_and_other_voices_are_silent() {
        group("raid5", 5 << 20, 1 << 20, &[327_680]).0.none(&RULE);
        group("raid10", 4 << 20, 5 << 20, &[327_680]).0.none(&RULE);
        // Off the stripe unit: STR602.
        let (mut lab, array) = group("raid5", 0, 0, &[327_680]);
        let volume = lab.upper(LayerKind::Volume, "", array, 4096);
        lab.text(volume, Key::Target, "linear");
        lab.none(&RULE);
    }
}
