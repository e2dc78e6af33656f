use straddle_geometry::{Bytes, Ratio, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, SeenGrid};

use crate::context::Findings;
use crate::shared::fs_geometry::speaks_of_unit;
use crate::shared::start::has_parity;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::UNTOLD_FILESYSTEM,
    name: "untold-filesystem",
    summary: "a filesystem on a parity array does not know its full stripe",
    status: Status::Stable,
    repair: Repair::ByOr(
        &[RepairKind::Hints, RepairKind::Filesystem],
        "this format has no place for it; ext4 and XFS have one, at the next rebuild",
    ),
    page: Page {
        checks: "Whether a filesystem on RAID 5, RAID 6 or an array whose width is given with `--stripe-width` has a record of the full stripe: \
                 ext with a `stride` and no `stripe_width`, and filesystems that have no place for it (NTFS, ReFS, exFAT, FAT, btrfs). Stripe units \
                 that are missing or wrong in ext and XFS are reported by STR302 and STR303.",
        why: "A write that covers a full stripe needs no reads; any other one does. An allocator that knows the full stripe starts large \
              files on it and fills whole stripes; one that does not starts them at any of its blocks, so even a stream of large writes \
              covers a stripe in part at both ends of each file.",
        evidence: "The superblock, which has no such field or zero in it; the full stripe from the array's metadata, md, device-mapper or \
                   `--stripe-width`.",
        example: "Blocks of 4 KiB on full stripes of 256 KiB: 262,144 ÷ 4,096 = 64, so of 64 places at which a file may begin, one is a full \
                  stripe.",
        fix: "ext4: `tune2fs -E stride=N,stripe_width=M DEVICE`, or `mount -o stripe=M DEVICE DIR` (both in blocks). XFS has both from mkfs. NTFS, exFAT and \
              FAT cannot be told: the nearest is a large allocation unit that divides the full stripe (64 KiB). btrfs cannot either; for \
              streams of large writes on a parity array, XFS or ext4 can. For small random requests do nothing: they never fill a stripe.",
        fix_safety: "Hints in the superblock are safe to change at any time; files already written stay where they are. Another allocation unit \
                     or filesystem means formatting: have a backup that was test-restored.",
        references: &[
            "tune2fs(8), -E stripe_width; ext4(5), stripe=",
            "xfs(5), sunit and swidth",
            "Linux md(4), RAID5",
        ],
    },
    check,
};

/// Filesystems that have no place for the width of an array.
const WITHOUT: [&str; 6] = ["ntfs", "refs", "exfat", "fat", "btrfs", "vfat"];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let format = layer.format.as_deref().unwrap_or("");
        let is = |names: &[&str]| names.iter().any(|name| format.starts_with(name));
        let cannot = is(&WITHOUT);
        let could = is(&["ext", "xfs"]) && knows_none(context, id, layer);
        if !(cannot || could) {
            continue;
        }
        let stripes = context.below(id, GridRole::FullStripe);
        let mut stripes = stripes.filter(|grid| has_parity(context, grid));
        let block = layer.grid(GridRole::AllocationUnit);
        if let (Some(grid), Some(block)) = (stripes.next(), block) {
            findings.extend(finding(
                (id, layer),
                grid,
                block.value.unit(),
                cannot.then_some(format),
            ));
        }
    }
}

/// True when an ext or XFS superblock that was read has no width, and nothing else is said about its hints.
fn knows_none(context: &Context<'_>, id: LayerId, layer: &Layer) -> bool {
    let width = layer.bytes(Key::FsFullStripe);
    layer.attribute(Key::BlockSize).is_some()
        && width.is_none_or(|width| width.value == Bytes::ZERO)
        && !speaks_of_unit(context, id, layer)
}

fn finding(
    (id, layer): (LayerId, &Layer),
    grid: &SeenGrid<'_>,
    block: Unit,
    cannot: Option<&str>,
) -> Option<Finding> {
    let full = grid.fact.value.unit();
    // One allocation unit that covers whole stripes begins on one if the filesystem does.
    if block.bytes().is_multiple_of(full) {
        return None;
    }
    let title = match cannot {
        Some(format) => format!(
            "{} cannot be told the array's full stripe of {full}: {format} has no place for it",
            layer.name
        ),
        None => format!(
            "{} was made without knowing the array's full stripe of {full}",
            layer.name
        ),
    };
    let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
        .evidence(&grid.fact.source, format!("full stripe = {full}"));
    if let Some(fact) = layer.grid(GridRole::AllocationUnit) {
        finding = finding.evidence(&fact.source, format!("allocation unit = {block}"));
    }
    // Steps of a block meet boundaries of a stripe at multiples of both.
    let common = straddle_geometry::Grid::new(full)
        .intersect(straddle_geometry::Grid::new(block))
        .ok()?
        .unit();
    let share = Ratio::new(block.get(), common.get())?;
    let blocks = common.get() / block.get();
    let line = if full.bytes().is_multiple_of(block) {
        format!(
            "{} ÷ {} = {blocks}",
            full.bytes().grouped(),
            block.bytes().grouped()
        )
    } else {
        format!(
            "{}; lcm = {} = {blocks} × {}",
            division(full.bytes(), straddle_geometry::Grid::new(block)),
            common.bytes().grouped(),
            block.bytes().grouped()
        )
    };
    let finding = finding.arithmetic(format!(
        "{line}: of {blocks} places at which a file may begin, one is a full stripe ({share})"
    ));
    Some(match cannot {
        Some(_) => finding.help(
            "nothing to do for small random requests; for streams of large writes, ext4 or XFS can be told the width",
        ),
        None if layer.format.as_deref().is_some_and(|format| format.starts_with("xfs")) => finding.help(format!(
            "mount once with -o sunit=…,swidth={} (in 512-byte sectors); XFS takes them where it was made with some and its groups fit",
            full.get() / 512
        )),
        None => finding.help(format!(
            "tune2fs -E stripe_width={} (blocks of {block}), or mount with stripe={0}",
            full.get() / block.get()
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn on_array(level: &'static str, format: &'static str, stride: u64, width: u64) -> Lab {
        let mut lab = Lab::new();
        let array = lab.disk(512);
        lab.text(array, Key::Level, level);
        lab.grid(array, GridRole::StripeUnit, 65_536);
        lab.grid(array, GridRole::FullStripe, 327_680);
        let fs = lab.filesystem(format, array, 4096);
        lab.bytes(fs, Key::BlockSize, 4096);
        lab.bytes(fs, Key::FsStripeUnit, stride);
        lab.bytes(fs, Key::FsFullStripe, width);
        lab
    }

    #[test]
    fn a_stride_without_a_width_is_half_of_what_ext_needs() {
        let line = "327,680 ÷ 4,096 = 80: of 80 places at which a file may begin, one is a full stripe (1.25%)";
        let finding = on_array("raid5", "ext4", 65_536, 0).one(&RULE, Severity::Note, line);
        assert!(finding.help[0].starts_with("tune2fs -E stripe_width=80 "));
    }

    #[test]
    fn filesystems_without_a_place_for_it_say_so() {
        let finding = on_array("raid6", "btrfs", 0, 0).findings(&RULE).remove(0);
        assert!(finding.title.contains("btrfs has no place for it"));
    }

    #[test]
    fn told_filesystems_other_rules_and_arrays_without_parity_are_silent() {
        on_array("raid5", "xfs", 65_536, 327_680).none(&RULE);
        // STR302.
        on_array("raid5", "ext4", 0, 0).none(&RULE);
        on_array("raid5", "ext4", 32_768, 0).none(&RULE);
        on_array("raid10", "ntfs", 0, 0).none(&RULE);
    }
}
