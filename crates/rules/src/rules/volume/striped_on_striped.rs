use straddle_geometry::{Bytes, Grid, Map, Striping, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Seen, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::shared::dealt::{dealt, is_torn};
use crate::shared::start::has_parity;
use crate::wording::division;
use crate::{Context, Finding, Page, Prices, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STRIPED_ON_STRIPED,
    name: "striped-on-striped",
    summary: "stripes of a volume do not fit the stripes of the arrays below",
    status: Status::Stable,
    repair: Repair::None(
        "somebody set up two layers of striping by hand: leave one out at the next rebuild",
    ),
    page: Page {
        checks: "Striped LVM volumes (and other device-mapper stripes) over arrays that stripe as well: whether the stripe size above is a \
                 multiple of the full stripe of a parity array below, and a multiple or a whole part of its chunk. Where the stripes start \
                 on each member is STR206's and STR602's.",
        why: "Even a large sequential write reaches each array as partial stripes when the volume's stripe is not a whole number of that \
              array's full stripes: each stripe of the volume goes to one array as a request of its own. When it does not fit the chunks, \
              requests that would lie in one chunk are split between two.",
        evidence: "Stripe size from the group's metadata, `lvs -o +stripesize` or the device-mapper table; chunk and full stripe from the \
                   array's metadata, md or `--stripe-width`.",
        example: "Stripes of 64 KiB over two RAID 5 with full stripes of 256 KiB: 65,536 = 0 × 262,144 + 65,536. A write of 512 KiB that would \
                  fill one stripe of each array arrives as eight requests of a quarter stripe.",
        fix: "Make the volume with the full stripe of the arrays as its stripe size: `lvcreate --type striped --stripes 2 --stripesize 256k \
              -l N VG` (a power of two for LVM; with full stripes that are none, no stripe size fits, and a linear volume or one larger \
              array is better). The stripe size of RAID volumes can be changed in place (lvmraid(7), RAID reshaping); a plain striped one is \
              converted to raid0 first.",
        fix_safety: "A copy to a new volume keeps the old one until it is done. Reshaping takes long and needs free extents; have a backup that \
                     was test-restored.",
        references: &[
            "lvcreate(8), --stripesize",
            "lvmraid(7), RAID reshaping",
            "Linux Documentation/admin-guide/device-mapper/striped.rst",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let Map::Striped(striping) = &layer.map else {
            continue;
        };
        if is_volume(layer) {
            findings.extend(finding(context, id, layer, striping));
        }
    }
}

/// True for stripes of LVM or of device-mapper alone, in contrast to arrays that are what others lie on.
fn is_volume(layer: &Layer) -> bool {
    matches!(layer.kind, LayerKind::Array | LayerKind::Volume)
        && matches!(layer.text(Key::Target), Some("striped" | "raid"))
}

/// The first grid of a member that the stripes do not fit, full stripes before chunks.
fn misfit<'a, 's>(
    context: &'s Context<'a>,
    layer: &Layer,
    stripe: Unit,
) -> Option<(LayerId, &'s SeenGrid<'a>, Grid)> {
    for role in [GridRole::FullStripe, GridRole::StripeUnit] {
        for member in &layer.below {
            for grid in context.seen(*member) {
                let Seen::Uniform(seen) = grid.seen else {
                    continue;
                };
                let is_off = match role {
                    GridRole::FullStripe => {
                        has_parity(context, grid) && !stripe.bytes().is_multiple_of(seen.unit())
                    }
                    _ => is_torn(stripe, seen.unit()),
                };
                if grid.role == role && is_off && is_believable(grid) {
                    return Some((*member, grid, seen));
                }
            }
        }
    }
    None
}

fn finding(
    context: &Context<'_>,
    id: LayerId,
    layer: &Layer,
    striping: &Striping,
) -> Option<Finding> {
    let stripe = striping.unit;
    let (member, grid, seen) = misfit(context, layer, stripe)?;
    let unit = seen.unit();
    let role = grid.role.name();
    let name = &context.stack.layer(member).name;
    let columns = u64::try_from(striping.starts.len())
        .ok()
        .filter(|n| *n > 0)?;
    // Row by row, all columns as if they began on a boundary: where they do not, that is another cause.
    let place = |number: u64| stripe.bytes().checked_mul(number / columns);
    let title = format!(
        "{}: stripes of {stripe} do not fit the {role}s of {unit} of {name} below",
        layer.name
    );
    let pieces = dealt(Grid::new(unit), stripe, columns, place);
    let finding = match pieces {
        Some(pieces) => {
            let prices = Prices::of(grid.role, unit, &pieces, Bytes::ZERO, &context.options.io);
            Finding::priced(RULE.code, id, title, prices)
        }
        None => Finding::new(RULE.code, Severity::Note, id, title),
    };
    let stripes = layer.grid(GridRole::StripeUnit);
    let finding = match stripes {
        Some(fact) => finding.evidence(&fact.source, format!("stripe size = {stripe}")),
        None => finding,
    };
    let finding = finding
        .evidence(&grid.fact.source, format!("{role} of {name} = {unit}"))
        .arithmetic(division(stripe.bytes(), Grid::new(unit)))
        .help(if unit.get().is_power_of_two() {
            format!("a new volume: lvcreate --type striped --stripesize {}k", unit.get() / 1024)
        } else {
            format!("no power of two is a multiple of {unit}: a linear volume, or one array of all disks")
        });
    let reached =
        grid.role != GridRole::FullStripe || context.options.io.iter().any(|io| *io >= unit);
    Some(if reached {
        finding
    } else {
        finding.at_most(
            Severity::Note,
            "no request size asked for fills a stripe, so none can be written without reading first however it is dealt out",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn stripes(stripe: u64, chunk: u64, data: u64, level: &'static str) -> Lab {
        let mut lab = Lab::new();
        lab.io(&[8192, chunk * data * 2]);
        let members = [0, 1].map(|_| {
            let array = lab.disk(512);
            lab.text(array, Key::Level, level);
            lab.grid(array, GridRole::StripeUnit, chunk);
            lab.grid(array, GridRole::FullStripe, chunk * data);
            array
        });
        let volume = lab.array(&members, stripe, &[1 << 20, 1 << 20]);
        lab.text(volume, Key::Target, "striped");
        lab
    }

    #[test]
    fn a_quarter_of_a_full_stripe_reaches_each_array() {
        let finding = stripes(65_536, 65_536, 4, "raid5").one(
            &RULE,
            Severity::Error,
            "65,536 = 0 × 262,144 + 65,536",
        );
        assert!(finding.help[0].ends_with("--stripesize 256k"));
    }

    #[test]
    fn chunks_that_are_cut_count_without_parity_too() {
        stripes(65_536, 98_304, 2, "raid0").one(
            &RULE,
            Severity::Error,
            "65,536 = 0 × 98,304 + 65,536",
        );
    }

    #[test]
    fn what_fits_is_silent() {
        stripes(262_144, 65_536, 4, "raid5").none(&RULE);
        stripes(16_384, 65_536, 4, "raid0").none(&RULE);
    }
}
