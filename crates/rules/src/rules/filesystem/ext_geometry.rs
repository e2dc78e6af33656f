use crate::context::Findings;
use crate::shared::fs_geometry::{self, Names};
use crate::{Context, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::EXT_GEOMETRY,
    name: "ext-geometry",
    summary: "ext stride or stripe_width disagrees with the array",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Hints, RepairKind::Filesystem]),
    page: Page {
        checks: "Whether the `stride` and `stripe_width` in an ext2/3/4 superblock equal the stripe unit and the full stripe of the array \
                 below; also whether they are set where no array is known, or not set where one is.",
        why: "With stale values, from an array that was reshaped or an image copied to other storage, the allocator aligns to boundaries \
              that are not there, and the bitmaps can all land on one member. It uses these values to start large files on a stripe and to \
              spread bitmaps over the members.",
        evidence: "Superblock bytes 0x164 (stride) and 0x170 (stripe width), both in blocks; the array's geometry from md, \
                   device-mapper or the flags.",
        example: "stride 16 × 4,096 = 65,536 on an md array with 524,288-byte chunks: 65,536 ≠ 524,288. Large files are begun on multiples \
                  of 65,536, and of eight such places one is the beginning of a chunk.",
        fix: "`tune2fs -E stride=N,stripe_width=M DEVICE` with N = stripe unit ÷ block size and M = N × data members. `mount -o \
              stripe=M DEVICE DIR` does so for one mount.",
        fix_safety: "Safe at any time: only hints in the superblock change. Files already written stay where they are.",
        references: &[
            "tune2fs(8), -E stride, stripe_width",
            "Linux Documentation/filesystems/ext4/super.rst: s_raid_stride, s_raid_stripe_width",
        ],
    },
    check,
};

const NAMES: Names = Names {
    format: "ext",
    unit: "stride",
    width: "stripe_width",
    help: "tune2fs -E stride=…,stripe_width=… corrects the hints in place",
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    fs_geometry::check(RULE.code, &NAMES, context, findings);
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn ext(stride: u64, stripe_unit: Option<u64>) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        if let Some(unit) = stripe_unit {
            lab.stated(disk, GridRole::StripeUnit, unit);
        }
        let fs = lab.filesystem("ext4", disk, 4096);
        lab.bytes(fs, Key::BlockSize, 4096);
        if stride > 0 {
            lab.bytes(fs, Key::FsStripeUnit, stride);
        }
        lab
    }

    #[test]
    fn stale_missing_and_needless_hints_are_told_apart() {
        ext(65_536, Some(524_288)).one(&RULE, Severity::Warning, "65,536 ≠ 524,288");
        ext(0, Some(524_288)).one(&RULE, Severity::Note, "stride = 0");
        ext(65_536, None).one(&RULE, Severity::Note, "stride = 65,536");
    }

    #[test]
    fn agreement_is_silent() {
        ext(65_536, Some(65_536)).none(&RULE);
        ext(0, None).none(&RULE);
    }
}
