use straddle_geometry::{Bytes, Grid, Map, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::repair::FIRST_EXTENT;
use crate::shared::start::{has_parity, say_what_is_free};
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FIRST_EXTENT_STRIPE,
    name: "first-extent-stripe",
    summary: "first extent of an LVM physical volume starts inside a stripe of the array below",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::VolumeGroup], FIRST_EXTENT),
    page: Page {
        checks: "Whether `pe_start`, where the first extent of a physical volume lies, is on a full stripe of the parity array below, and, \
                 while the group has no volumes yet, on a stripe unit. Volumes that start inside a stripe unit are STR602's; extents that are \
                 not a multiple of the full stripe are STR214's, since no place of the first one helps them.",
        why: "Every volume of the group starts a whole number of extents after the first one. When that lies inside a full stripe, all of \
              them do: a write that would fill a stripe covers two in part, and the array reads what it lacks for the parity of both.",
        evidence: "`pe_start` from the metadata of the physical volume or `pvs -o +pe_start`, the full stripe from the array's metadata, md or \
                   `--stripe-width`.",
        example: "LVM before 2.02.73 put the first extent at 192 KiB. On four data members of 64 KiB: 196,608 = 0 × 262,144 + 196,608. A \
                  write of 256 KiB at the start of a volume then changes 64 KiB of one stripe and 192 KiB of the next.",
        fix: "The alignment belongs to a new physical volume: `pvcreate --dataalignment 384k DEVICE`, with the full stripe (or a common \
              multiple with 1 MiB), on a device that holds nothing yet; `lvmconfig --type default devices/data_alignment_detection` should say \
              1, then pvcreate finds md's width itself. The first extent of a physical volume that exists stays where it is. A group with data: \
              make another device a physical volume with the right alignment, add it to the group, `pvmove OLD NEW`, and take the first out; \
              that one can then be re-created.",
        fix_safety: "pvcreate destroys what the device holds. It refuses a physical volume that is in a group unless it is forced, and forced \
                     it destroys the group's metadata there: never on a physical volume in use. `pvmove OLD NEW` keeps volumes usable and can \
                     be interrupted; have a backup that was test-restored.",
        references: &[
            "pvcreate(8), --dataalignment",
            "lvm.conf(5), devices/data_alignment_detection",
            "https://listman.redhat.com/archives/lvm-devel/2010-August/msg00035.html",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if let Some(first) = layer.bytes(Key::FirstExtent) {
            findings.extend(finding(context, id, layer, &first));
        }
    }
}

/// The boundaries of a role that a layer sees in one piece.
fn seen<'a, 's>(
    context: &'s Context<'a>,
    id: LayerId,
    role: GridRole,
) -> impl Iterator<Item = (&'s SeenGrid<'a>, Grid)> {
    let all = context.seen(id).iter();
    all.filter(move |grid| grid.role == role && is_believable(grid))
        .filter_map(|grid| match grid.seen {
            Seen::Uniform(seen) => Some((grid, seen)),
            Seen::Pieces(_) => None,
        })
}

fn finding(
    context: &Context<'_>,
    id: LayerId,
    layer: &Layer,
    first: &Fact<Bytes>,
) -> Option<Finding> {
    let start = first.value;
    let units = seen(context, id, GridRole::StripeUnit).find(|(_, seen)| !seen.contains(start));
    if let Some((grid, boundaries)) = units {
        // With volumes, STR602 and STR206 say it of each.
        return (!has_volumes(context, id))
            .then(|| off(context, id, layer, first, (grid, boundaries)));
    }
    let (grid, stripes) = seen(context, id, GridRole::FullStripe)
        .find(|(grid, seen)| has_parity(context, grid) && !seen.contains(start))?;
    let unit = stripes.unit();
    // What each extent is off by is another matter when they differ.
    let extent = layer.bytes(Key::ExtentSize);
    if extent.is_some_and(|extent| !extent.value.is_multiple_of(unit)) {
        return None;
    }
    let finding = off(context, id, layer, first, (grid, stripes));
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

/// True when logical volumes lie on a layer.
fn has_volumes(context: &Context<'_>, id: LayerId) -> bool {
    context.stack.above(id).any(|above| {
        let layer = context.stack.layer(above);
        let nowhere = matches!(&layer.map, Map::Segments(pieces) if pieces.is_empty());
        matches!(layer.kind, LayerKind::Volume | LayerKind::Array) && !nowhere
    })
}

fn off(
    context: &Context<'_>,
    id: LayerId,
    layer: &Layer,
    first: &Fact<Bytes>,
    (grid, seen): (&SeenGrid<'_>, Grid),
) -> Finding {
    let unit = seen.unit();
    let role = grid.role.name();
    let title = format!(
        "{}: the first extent lies inside a {role} of {unit}, and every volume of the group with it",
        layer.name
    );
    let finding = Finding::priced(RULE.code, id, title, context.prices_from(grid, first.value))
        .evidence(
            &first.source,
            format!("first extent = {}", both_ways(first.value)),
        )
        .evidence(&grid.fact.source, format!("{role} = {unit}"))
        .arithmetic(division(first.value, seen));
    let finding = match context.good_start(id, first.value) {
        Ok(good) => finding.help(format!(
            "the first place from here on that is on every boundary known is {}: pvcreate --dataalignment {}k on another device, which becomes \
             a new physical volume, then pvmove OLD NEW; never on {}, whose contents it would destroy",
            both_ways(good),
            good.get() / 1024,
            layer.name
        )),
        Err(error) => finding.help(format!(
            "no place satisfies every boundary known here ({error}); satisfy the costliest"
        )),
    };
    say_what_is_free(finding)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::Bytes;
    use straddle_stack::{GridRole, Key, LayerKind, Value};

    fn group(first: u64, extent: u64, data: u64) -> (Lab, straddle_stack::LayerId) {
        let mut lab = Lab::new();
        lab.io(&[8192, 65_536 * data]);
        let array = lab.disk(512);
        lab.text(array, Key::Level, "raid5");
        lab.grid(array, GridRole::StripeUnit, 65_536);
        lab.grid(array, GridRole::FullStripe, 65_536 * data);
        lab.set(array, Key::FirstExtent, Value::Bytes(Bytes::new(first)));
        lab.set(array, Key::ExtentSize, Value::Bytes(Bytes::new(extent)));
        (lab, array)
    }

    #[test]
    fn the_old_default_lies_inside_four_times_64_kib() {
        let (lab, _) = group(196_608, 4 << 20, 4);
        let finding = lab.one(&RULE, Severity::Error, "196,608 = 0 × 262,144 + 196,608");
        assert!(finding.help[0].contains("--dataalignment 1024k"));
    }

    #[test]
    fn a_first_extent_off_the_stripe_unit_is_said_while_nothing_lies_on_it() {
        let (mut lab, array) = group((1 << 20) + 512, 4 << 20, 4);
        lab.one(&RULE, Severity::Warning, "1,049,088 = 16 × 65,536 + 512");
        lab.upper(LayerKind::Volume, "linear", array, (1 << 20) + 512);
        lab.none(&RULE);
    }

    #[test]
    fn multiples_and_extents_that_fit_no_stripe_are_silent() {
        group(1 << 20, 4 << 20, 4).0.none(&RULE);
        group(1 << 20, 4 << 20, 5).0.none(&RULE);
        group(5 << 20, 5 << 20, 5).0.none(&RULE);
    }
}
