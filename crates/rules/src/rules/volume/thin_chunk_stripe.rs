use straddle_geometry::{Bytes, Grid, Unit, gcd, lcm};
use straddle_stack::{Fact, GridRole, LayerId, Seen, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::shared::dealt::{dealt, is_torn};
use crate::shared::start::has_parity;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::THIN_CHUNK_STRIPE,
    name: "thin-chunk-stripe",
    summary: "chunks of a thin pool do not fit the stripes of the array below",
    status: Status::Stable,
    repair: Repair::None("the chunk of a thin pool is set when it is made: lvcreate --chunksize"),
    page: Page {
        checks: "Whether the chunk size of a thin pool is a multiple of the full stripe of the parity array below, and a multiple or a whole \
                 part of its stripe unit. Where the pool's data start is STR602's.",
        why: "What is aligned in the thin volume is aligned below only by chance, and no filesystem option can fix it: a thin volume's \
              chunks lie in the pool in the order in which they were first written. When a chunk is not a whole number of stripes, each \
              starts at another place in one.",
        evidence: "The chunk size from the pool's metadata, `lvs -o +chunk_size` or the device-mapper table; the stripes from the array's \
                   metadata or md.",
        example: "Chunks of 192 KiB on full stripes of 256 KiB: 196,608 = 0 × 262,144 + 196,608; three of four chunks begin inside a stripe. \
                  Writes of 64 KiB never fill a stripe and do not care; a write of 256 KiB is cut at each chunk.",
        fix: "Give the chunk size when the pool is made: `lvcreate --type thin-pool --chunksize 256k -l N VG`, a multiple of the full stripe \
              (and of 64 KiB, which thin pools demand). lvcreate does so by itself where it knows the stripes (`thin_pool_chunk_size_policy \
              = \"performance\"`).",
        fix_safety: "The chunk size of a pool cannot be changed: make another pool and copy. Larger chunks cost more to copy when a snapshot's \
                     chunk is written; weigh both. Have a backup that was test-restored.",
        references: &[
            "lvmthin(7), Chunk size",
            "Linux Documentation/admin-guide/device-mapper/thin-provisioning.rst",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if layer.format.as_deref() != Some("thin-pool") {
            continue;
        }
        let Some(chunk) = layer.grid(GridRole::ThinChunk) else {
            continue;
        };
        // A full stripe is whole stripe units: what fits it fits them.
        let torn = [GridRole::FullStripe, GridRole::StripeUnit]
            .into_iter()
            .flat_map(|role| context.below(id, role))
            .find_map(|grid| Some((grid, torn_by(context, grid, chunk.value.unit())?)));
        if let Some((grid, stripes)) = torn {
            findings.push(finding(context, id, chunk, (grid, stripes)));
        }
    }
}

/// The boundaries that chunks do not fit.
fn torn_by(context: &Context<'_>, grid: &SeenGrid<'_>, chunk: Unit) -> Option<Grid> {
    let Seen::Uniform(seen) = grid.seen else {
        return None;
    };
    let is_off = match grid.role {
        GridRole::FullStripe => {
            has_parity(context, grid) && !chunk.bytes().is_multiple_of(seen.unit())
        }
        _ => is_torn(chunk, seen.unit()),
    };
    (is_off && is_believable(grid)).then_some(seen)
}

fn finding(
    context: &Context<'_>,
    id: LayerId,
    chunk: &Fact<Grid>,
    (grid, stripes): (&SeenGrid<'_>, Grid),
) -> Finding {
    let layer = context.stack.layer(id);
    let (size, unit) = (chunk.value.unit(), stripes.unit());
    let role = grid.role.name();
    // Chunks in the reverse of their order stand for any that is not theirs. Where the pool starts is another matter.
    let places = unit.get() / gcd(unit.get(), size.get());
    let reverse = |number: u64| {
        let index = places.checked_sub(number % places.max(1))?;
        size.bytes().checked_mul(index)
    };
    let title = format!(
        "{}: chunks of {size} do not fit the {role}s of {unit} below",
        layer.name
    );
    let seen = dealt(Grid::new(unit), size, 1, reverse);
    let mut finding = match seen {
        Some(seen) => {
            let prices =
                crate::Prices::of(grid.role, unit, &seen, Bytes::ZERO, &context.options.io);
            Finding::priced(RULE.code, id, title, prices)
        }
        None => Finding::new(RULE.code, Severity::Note, id, title),
    };
    finding = finding
        .evidence(&chunk.source, format!("chunk size = {size}"))
        .evidence(&grid.fact.source, format!("{role} = {unit}"))
        .arithmetic(division(size.bytes(), Grid::new(unit)))
        .arithmetic(format!(
            "{} ÷ gcd({}, {}) = {places}: one chunk in {places} can begin on a {role}",
            unit.bytes().grouped(),
            unit.bytes().grouped(),
            size.bytes().grouped()
        ))
        .note("counted with chunks in another order than that of their addresses");
    let step = lcm(unit.get(), 65_536);
    if let Some(step) = step {
        let fits = size.get().div_ceil(step).saturating_mul(step);
        finding = finding.help(format!(
            "a new pool: lvcreate --type thin-pool --chunksize {}k",
            fits / 1024
        ));
    }
    let reached =
        grid.role != GridRole::FullStripe || context.options.io.iter().any(|io| *io >= unit);
    if reached {
        finding
    } else {
        finding.at_most(
            Severity::Note,
            "no request size asked for fills a stripe, so none can be written without reading first wherever it starts",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    fn pool(chunk: u64, stripe: u64, data: u64, level: &'static str) -> Lab {
        let mut lab = Lab::new();
        lab.io(&[8192, stripe * data]);
        let array = lab.disk(512);
        lab.text(array, Key::Level, level);
        lab.grid(array, GridRole::StripeUnit, stripe);
        lab.grid(array, GridRole::FullStripe, stripe * data);
        let data = lab.upper(LayerKind::Volume, "linear", array, 1 << 20);
        let pool = lab.upper(LayerKind::Volume, "thin-pool", data, 0);
        lab.grid(pool, GridRole::ThinChunk, chunk);
        lab
    }

    #[test]
    fn chunks_that_are_no_whole_stripes_are_named() {
        let finding = pool(196_608, 65_536, 4, "raid5").one(
            &RULE,
            Severity::Error,
            "196,608 = 0 × 262,144 + 196,608",
        );
        assert_eq!(
            finding.arithmetic[1],
            "262,144 ÷ gcd(262,144, 196,608) = 4: one chunk in 4 can begin on a full stripe"
        );
        assert!(finding.help[0].ends_with("--chunksize 256k"));
    }

    #[test]
    fn without_parity_only_units_that_do_not_fit_count() {
        pool(196_608, 131_072, 2, "raid0").one(
            &RULE,
            Severity::Error,
            "196,608 = 1 × 131,072 + 65,536",
        );
        pool(65_536, 131_072, 2, "raid0").none(&RULE);
    }

    #[test]
    fn whole_stripes_are_silent() {
        pool(524_288, 65_536, 4, "raid5").none(&RULE);
        pool(327_680, 65_536, 5, "raid6").none(&RULE);
    }
}
