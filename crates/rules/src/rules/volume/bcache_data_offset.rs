use straddle_geometry::{Grid, Map, both_ways};
use straddle_stack::{GridRole, LayerKind, Seen};

use crate::context::Findings;
use crate::shared::pieces::HARD;
use crate::shared::start::enters_here;
use crate::shared::start::{has_parity, say_what_is_free};
use crate::wording::{division, with_article};
use crate::{Context, Finding, Page, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::BCACHE_DATA_OFFSET,
    name: "bcache-data-offset",
    summary: "data of a bcache backing device starts inside a sector, stripe unit or full stripe below",
    status: Status::Stable,
    repair: Repair::None("make-bcache --data-offset sets it when the backing device is made"),
    page: Page {
        checks: "Whether the data of a bcache backing device start on the physical sectors, indirection units, stripe units and full stripes \
                 (of parity arrays) of what carries it.",
        why: "Everything above is shifted by 8 KiB, and a request that fits a stripe unit touches two members: `make-bcache` puts data 8 \
              KiB into the device unless told otherwise. That is on every sector of 4 KiB, but on no stripe unit. What the cache writes \
              back is shifted as well.",
        evidence: "The superblock's data offset, or on a live host the difference between the sizes of the two devices; the units from the metadata of \
                   the array, sysfs or the flags.",
        example: "8 KiB on stripe units of 64 KiB: 8,192 = 0 × 65,536 + 8,192: of requests of 64 KiB every one touches two members.",
        fix: "Make the backing device with an offset that is a multiple of the full stripe: `make-bcache -B --data-offset 2048 DEVICE` (in sectors; \
              1 MiB). A backing device that is there must be copied to a new one.",
        fix_safety: "make-bcache destroys what is there. Before anything is changed, write the cache back and detach it (`echo 1 > \
                     /sys/block/bcache0/bcache/detach`), and wait until `state` says `no cache`.",
        references: &[
            "make-bcache(8), --data-offset",
            "Linux Documentation/admin-guide/bcache.rst",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Volume) {
        let (Some("bcache"), Map::Linear { start }) = (layer.format.as_deref(), &layer.map) else {
            continue;
        };
        let mut said = Vec::new();
        for role in HARD.into_iter().chain([GridRole::FullStripe]) {
            for grid in context.below(id, role) {
                let Seen::Uniform(seen) = grid.seen else {
                    continue;
                };
                // Off the stripe unit is off the full stripe too.
                if seen.contains(straddle_geometry::Bytes::ZERO)
                    || said.contains(&grid.layer)
                    || role == GridRole::FullStripe && !has_parity(context, grid)
                    || !enters_here(context, id, grid)
                {
                    continue;
                }
                said.push(grid.layer);
                let unit = seen.unit();
                let title = format!(
                    "{}: its data start inside {} of {unit}",
                    layer.name,
                    with_article(role)
                );
                let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
                let offset = layer.attribute(straddle_stack::Key::DataOffset);
                if let Some(offset) = offset {
                    let label = format!("data offset = {}", both_ways(*start));
                    finding = finding.evidence(&offset.source, label);
                }
                let below = seen.phase().checked_add(*start);
                let below = below.map(|phase| Grid::with_phase(unit, phase));
                finding = finding
                    .evidence(&grid.fact.source, format!("{} = {unit}", role.name()))
                    .arithmetic(division(*start, below.unwrap_or(seen)));
                if let Some(Ok(good)) = layer
                    .below
                    .first()
                    .map(|below| context.good_start(*below, *start))
                {
                    finding = finding.help(format!(
                        "for a new backing device: make-bcache -B --data-offset {}, which is {}",
                        good.get() / 512,
                        both_ways(good)
                    ));
                }
                findings.push(say_what_is_free(finding));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn bcache(role: GridRole, unit: u64, start: u64) -> Lab {
        let mut lab = Lab::new();
        lab.io(&[65_536, 196_608]);
        let array = lab.disk(4096);
        lab.grid(array, role, unit);
        lab.upper(LayerKind::Volume, "bcache", array, start);
        lab
    }

    #[test]
    fn the_default_of_8_kib_is_off_stripes() {
        let lab = bcache(GridRole::StripeUnit, 65_536, 8192);
        let finding = lab.one(&RULE, Severity::Error, "8,192 = 0 × 65,536 + 8,192");
        assert!(
            finding.help[0].contains("--data-offset 2048"),
            "{:?}",
            finding.help
        );
        bcache(GridRole::FullStripe, 196_608, 1 << 20).one(
            &RULE,
            Severity::Error,
            "1,048,576 = 5 × 196,608 + 65,536",
        );
    }

    #[test]
    fn on_a_plain_disk_and_at_1_mib_it_is_silent() {
        bcache(GridRole::StripeUnit, 4096, 8192).none(&RULE);
        bcache(GridRole::StripeUnit, 65_536, 1 << 20).none(&RULE);
    }
}
