use crate::context::Findings;
use crate::shared::fs_geometry::{self, Names};
use crate::{Context, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::XFS_GEOMETRY,
    name: "xfs-geometry",
    summary: "XFS sunit or swidth disagrees with the array",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Hints, RepairKind::Filesystem]),
    page: Page {
        checks: "Whether `sunit` and `swidth` in an XFS superblock equal the stripe unit and the full stripe of the array below; also \
                 whether they are set where no array is known, or not set where one is.",
        why: "XFS starts allocations on `sunit` and sizes its log writes by it. mkfs takes the values from `minimum_io_size` and \
              `optimal_io_size`, so a device that lies about those (STR501, STR502) puts wrong values on disk for the life of the \
              filesystem.",
        evidence: "Superblock bytes 184 (unit) and 188 (width), in filesystem blocks; the array's geometry from md, device-mapper or the flags.",
        example: "su=64k,sw=4: unit 16 × 4,096 = 65,536, width 64 × 4,096 = 262,144. The LUN is now on an array with 128 KiB strips: \
                  65,536 ≠ 131,072, so every second allocation begins inside a strip.",
        fix: "Mount once with `mount -o sunit=N,swidth=M DEVICE DIR` (both in 512-byte sectors): XFS writes them to the superblock. For 128 KiB × 4: \
              `sunit=256,swidth=1024`. The kernel refuses that where XFS was made without a stripe unit, or with allocation groups that are \
              not a whole number of the new one: then only `mkfs.xfs -d su=…,sw=… DEVICE` sets them, at the next rebuild.",
        fix_safety: "Safe for data; files already written stay where they are. A mount that is refused changes nothing; the kernel log says why.",
        references: &["xfs(5), sunit and swidth", "mkfs.xfs(8), -d su and sw"],
    },
    check,
};

const NAMES: Names = Names {
    format: "xfs",
    unit: "sunit",
    width: "swidth",
    help: "mount once with -o sunit=…,swidth=… (in 512-byte sectors); XFS takes them where it was made with some and its groups fit",
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

    fn xfs(width: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        lab.stated(disk, GridRole::FullStripe, 262_144);
        let fs = lab.filesystem("xfs", disk, 4096);
        lab.bytes(fs, Key::FsStripeUnit, 65_536);
        lab.bytes(fs, Key::FsFullStripe, width);
        lab
    }

    #[test]
    fn a_width_from_another_array_is_a_warning() {
        xfs(393_216).one(&RULE, Severity::Warning, "393,216 ≠ 262,144");
    }

    #[test]
    fn agreement_and_what_mkfs_was_told_are_silent() {
        xfs(262_144).none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::MinimumIo, 65_536);
        let fs = lab.filesystem("xfs", disk, 4096);
        lab.bytes(fs, Key::FsStripeUnit, 65_536);
        lab.none(&RULE);
    }
}
