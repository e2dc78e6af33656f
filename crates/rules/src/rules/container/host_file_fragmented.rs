use straddle_stack::Seen;

use crate::context::Findings;
use crate::shared::guest::{Below, disks_and_grids, holder, in_view, is_on};
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::{Context, Finding, Page, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::HOST_FILE_FRAGMENTED,
    name: "host-file-fragmented",
    summary: "file that holds a virtual disk is misaligned on the host, in part or as a whole",
    status: Status::Stable,
    repair: Repair::None(
        "the file lies where its filesystem put it: copy it after making room, or move the partition below",
    ),
    page: Page {
        checks: "Where the file that holds a virtual disk lies on the host: each of its extents, through filesystem, volume and partition, against the physical \
                 sectors, indirection units and stripe units below, and what that costs the guest through the container's own blocks.",
        why: "A container that is aligned inside its file is aligned on the disk only if the file is. A file that grows with the guest \
              gets its extents when and where there is room: at any cluster of the host's filesystem, which need not be on a stripe unit.",
        evidence: "The extents as the host's filesystem gives them (FIEMAP), or as a filesystem that lies inside another disk records them, composed with every \
                   entry of the container's block table; the price is counted over all of it.",
        example: "A qcow2 of 64 KiB clusters whose file begins 4 KiB behind a boundary of a 64 KiB stripe unit: each cluster lies on two disks of the array, and \
                  a 64 KiB request of the guest needs both.",
        fix: "Copy the file into free space that is large enough in one piece: preallocate it (`qemu-img convert -O qcow2 -o \
              preallocation=falloc OLD NEW`, `fallocate -l SIZE FILE`), or use a filesystem made for the stripe (`mkfs.xfs -d su=64k,sw=4 \
              DEVICE`, `mkfs.ext4 -E stride=16 DEVICE`), or larger clusters for VM storage (64 KiB on NTFS and ReFS).",
        fix_safety: "Shut the guest down or use the hypervisor's live storage migration; check the extents of the copy before the old file goes.",
        references: &[
            "Linux Documentation/filesystems/fiemap.rst",
            "qemu-img(1): preallocation",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for disk in disks_and_grids(context, |grid| HARD.contains(&grid.role)) {
        let file_seen = &disk.from_file.seen;
        if is_on(file_seen) || is_on(&disk.grid.seen) || !is_the_files_doing(context, &disk) {
            continue;
        }
        let Some(line) = off(file_seen) else {
            continue;
        };
        let file = holder(context.stack, disk.id).unwrap_or(disk.id);
        let layer = context.stack.layer(file);
        let unit = disk.grid.fact.value.unit();
        let name = disk.grid.role.name();
        let title = format!("{}: the file lies off the {name} of {unit}", layer.name);
        let mut finding = Finding::priced(RULE.code, disk.id, title, context.prices(disk.grid));
        if let Some(placement) = &layer.placement {
            finding = finding.evidence_in(Some(file), &placement.source, "extents of the file");
        }
        finding = finding
            .evidence(&disk.grid.fact.source, format!("{name} = {unit}"))
            .arithmetic(format!("the file: {line}"));
        if let Some(line) = off(&disk.grid.seen) {
            finding = finding.arithmetic(format!("the disk inside: {line}"));
        }
        let finding = finding.help(
            "rewrite the file into one aligned piece: qemu-img convert -o preallocation=falloc",
        );
        findings.push(say_what_is_free(finding));
    }
}

/// True when the file, and not what it lies in as a whole, is off: STR414 says it of a host partition.
fn is_the_files_doing(context: &Context<'_>, disk: &Below<'_>) -> bool {
    let stack = context.stack;
    let file = holder(stack, disk.id);
    let below = file.and_then(|file| stack.layer(file).below.first().copied());
    let seen = below.and_then(|below| in_view(context, below, disk.grid));
    match seen.map(|grid| &grid.seen) {
        Some(Seen::Uniform(below)) => !disk.from_file.seen.is_everywhere(*below),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    fn qcow2(pieces: &[(u64, u64, u64)]) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        let fs = lab.filesystem("ext", disk, 4096);
        let file = lab.file(fs, pieces);
        lab.container("qcow2", file, 65_536, &[65_536, 131_072, 196_608, 0]);
        lab
    }

    #[test]
    fn the_part_of_the_file_that_is_off_is_paid_for_by_the_blocks_in_it() {
        // The second half of the file begins half a stripe unit off.
        let lab = qcow2(&[
            (0, 131_072, 1 << 20),
            (131_072, 131_072, (2 << 20) + 32_768),
        ]);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "the file: 131,072 of 262,144 bytes = 50% lie in pieces that are off the grid",
        );
        assert_eq!(finding.worst_price().to_string(), "50%");
    }

    #[test]
    fn a_file_on_boundaries_is_silent() {
        qcow2(&[(0, 131_072, 1 << 20), (131_072, 131_072, 3 << 20)]).none(&RULE);
    }
}
