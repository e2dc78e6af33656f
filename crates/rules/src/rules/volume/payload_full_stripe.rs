use straddle_geometry::{Grid, Map, both_ways};
use straddle_stack::{GridRole, LayerKind, Seen};

use crate::context::Findings;
use crate::shared::start::enters_here;
use crate::shared::start::{has_parity, say_what_is_free};
use crate::wording::{division, with_article};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PAYLOAD_FULL_STRIPE,
    name: "payload-full-stripe",
    summary: "encrypted payload starts inside a full stripe or thin chunk of the layer below",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Payload]),
    page: Page {
        checks: "Whether the payload of an encrypted or integrity-protected volume begins on the full stripe of a parity array, and on the chunk of a \
                 thin pool, where the layer that carries it does. Sectors and stripe units are STR602's.",
        why: "The payload offset is added to the address of everything above. A filesystem that is told the right stripe width counts from \
              the start of its volume, so each of its full-stripe writes covers two stripes in part, and for both the array reads what it \
              lacks for the parity. In a thin pool, each block as long as a chunk takes two of them.",
        evidence: "The payload offset from the LUKS header or the device-mapper table; the full stripe or chunk from the metadata of the array, md, \
                   the pool, or `--stripe-width`.",
        example: "LUKS2 keeps 16 MiB before its payload. On full stripes of 192 KiB: 16,777,216 = 85 × 196,608 + 65,536. cryptsetup rounds to the \
                  optimal I/O size only where the kernel reports one that is a multiple of 4 KiB, and only when the volume is made.",
        fix: "Give the offset when the volume is made: `cryptsetup luksFormat --offset SECTORS DEVICE`, in sectors of 512 bytes, a multiple \
              of the full stripe (for 192 KiB: 33,024 = 86 × 384). The payload of a LUKS2 volume that is there is moved by `cryptsetup \
              reencrypt --reduce-device-size 128K DEVICE`, further back by that much (32,768 + 256 = 33,024 sectors). It takes the same \
              length from the end of the volume: make what is in it smaller first (`resize2fs DEVICE SIZE`; XFS cannot be made smaller), or \
              its last part is lost. Otherwise copy into a new volume.",
        fix_safety: "luksFormat destroys what is there: copy first. Before a re-encryption verify that what is in the volume ends at least \
                     that much before its end, have a backup that was test-restored, and back up the header (`cryptsetup luksHeaderBackup \
                     DEVICE --header-backup-file FILE`).",
        references: &[
            "cryptsetup-luksFormat(8), --offset and --align-payload",
            "cryptsetup docs/v2.3.4-ReleaseNotes",
            "Linux md(4), RAID5",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Encryption) {
        let Map::Linear { start } = layer.map else {
            continue;
        };
        for role in [GridRole::FullStripe, GridRole::ThinChunk] {
            for grid in context.below(id, role) {
                let Seen::Uniform(seen) = grid.seen else {
                    continue;
                };
                let counts = role != GridRole::FullStripe || has_parity(context, grid);
                // Off a stripe unit is off the full stripe, and said already.
                let said = context.below(id, GridRole::StripeUnit).any(|unit| {
                    unit.layer == grid.layer && crate::shared::pieces::off(&unit.seen).is_some()
                });
                if !counts
                    || said
                    || seen.contains(straddle_geometry::Bytes::ZERO)
                    || !enters_here(context, id, grid)
                {
                    continue;
                }
                let unit = seen.unit();
                let title = format!(
                    "{} starts inside {} of {unit}; what it lies on does not",
                    layer.name,
                    with_article(role)
                );
                let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
                if let Some(placement) = &layer.placement {
                    let label = format!("start = {}", both_ways(start));
                    finding = finding.evidence(&placement.source, label);
                }
                let below = seen
                    .phase()
                    .checked_add(start)
                    .map(|phase| Grid::with_phase(unit, phase));
                finding = finding
                    .evidence(&grid.fact.source, format!("{} = {unit}", role.name()))
                    .arithmetic(division(start, below.unwrap_or(seen)));
                if let Some(Ok(good)) = layer
                    .below
                    .first()
                    .map(|below| context.good_start(*below, start))
                {
                    finding = finding.help(format!(
                        "for a new volume: cryptsetup luksFormat --offset {}, which is {}",
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

    fn crypt(role: GridRole, unit: u64, start: u64, io: u64) -> Lab {
        let mut lab = Lab::new();
        lab.io(&[io]);
        let array = lab.disk(512);
        lab.grid(array, role, unit);
        lab.upper(LayerKind::Encryption, "luks2", array, start);
        lab
    }

    #[test]
    fn sixteen_mebibytes_are_no_full_stripes_of_three_data_members() {
        let lab = crypt(GridRole::FullStripe, 196_608, 16 << 20, 196_608);
        let finding = lab.one(&RULE, Severity::Error, "16,777,216 = 85 × 196,608 + 65,536");
        assert!(
            finding.help[0].contains("--offset 36864"),
            "{:?}",
            finding.help
        );
    }

    #[test]
    fn thin_chunks_count_too() {
        crypt(GridRole::ThinChunk, 196_608, 16 << 20, 196_608).one(
            &RULE,
            Severity::Error,
            "16,777,216 = 85 × 196,608 + 65,536",
        );
    }

    #[test]
    fn a_multiple_is_silent() {
        crypt(GridRole::FullStripe, 262_144, 16 << 20, 262_144).none(&RULE);
        crypt(GridRole::FullStripe, 196_608, 18 << 20, 196_608).none(&RULE);
    }
}
