use straddle_stack::{LayerId, LayerKind, SeenGrid};

use crate::context::Findings;
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::{Context, Finding, Page, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FILE_EXTENTS,
    name: "file-extents",
    summary: "file's own extents are misaligned",
    status: Status::Stable,
    repair: Repair::None(
        "extents change when a file is rewritten: copy it within the filesystem, and check the copy",
    ),
    page: Page {
        checks: "Where the bytes of one file really lie: each extent, through filesystem, volume and partition, against the physical sectors, \
                 indirection units and stripe units below. It answers the administrator's question: is my .mdf, my tablespace, aligned?",
        why: "A database writes pages at multiples of their size in the file. Whether such a page crosses a boundary depends on where the \
              extent that holds it starts, and extents may start at any cluster. A fragmented file can be right in one part and wrong in \
              another.",
        evidence: "The file's extents as the filesystem gives them (FIEMAP), each shifted down to the device; the price is the mean over \
                   all extents, weighted by their length.",
        example: "Three quarters of a file begin on a 64 KiB stripe unit, one quarter 32 KiB off it: 64 KiB requests straddle in that quarter \
                  only, 25% more operations.",
        fix: "If the whole file is off, the partition or volume is: see the findings there. If parts are, copy the file into free space that is \
              large enough in one piece (preallocate it), or use larger clusters or the filesystem's stripe setting.",
        fix_safety: "Stop the database or use its own means. SQL Server: `ALTER DATABASE d MODIFY FILE (NAME = logical, FILENAME = 'path')`, \
                     then the database is set OFFLINE, the file is copied to that path, and it is set ONLINE; or a backup and a restore WITH \
                     MOVE. Never defragment a file that is open without the vendor's blessing. Check the extents of the copy before the old \
                     file goes.",
        references: &["Linux Documentation/filesystems/fiemap.rst", "filefrag(8)"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::File) {
        // A file behind a loop device is that device's matter (STR603), one that holds a virtual disk that disk's (STR405).
        let carries_a_device = context.stack.above(id).any(|above| {
            let kind = context.stack.layer(above).kind;
            matches!(kind, LayerKind::Device | LayerKind::Container)
        });
        if carries_a_device {
            continue;
        }
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            if let Some(line) = off(&grid.seen) {
                findings.push(finding(context, id, &layer.name, grid, line));
            }
        }
    }
}

fn finding(
    context: &Context<'_>,
    id: LayerId,
    name: &str,
    grid: &SeenGrid<'_>,
    line: String,
) -> Finding {
    let unit = grid.fact.value.unit();
    let title = format!("{name}: extents are off the {} of {unit}", grid.role.name());
    let layer = context.stack.layer(id);
    let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
    if let Some(placement) = &layer.placement {
        finding = finding.evidence(&placement.source, "extents of the file");
    }
    let finding = finding
        .evidence(&grid.fact.source, format!("{} = {unit}", grid.role.name()))
        .arithmetic(line)
        .help("whole file off: fix the partition or volume below; parts off: rewrite the file into one aligned piece");
    say_what_is_free(finding)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    fn file(pieces: &[(u64, u64, u64)]) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        let fs = lab.filesystem("ext", disk, 4096);
        lab.file(fs, pieces);
        lab
    }

    #[test]
    fn a_quarter_of_the_file_pays() {
        let finding = file(&[(0, 196_608, 1 << 20), (196_608, 65_536, (2 << 20) + 32_768)]).one(
            &RULE,
            Severity::Warning,
            "65,536 of 262,144 bytes = 25% lie in pieces that are off the grid",
        );
        assert_eq!(finding.worst_price().to_string(), "25%");
    }

    #[test]
    fn one_piece_off_is_the_whole_file() {
        file(&[(0, 1 << 20, (1 << 20) + 4096)]).one(
            &RULE,
            Severity::Error,
            "every piece begins 4,096 B behind a boundary (unit 65,536)",
        );
    }

    #[test]
    fn extents_on_boundaries_are_silent() {
        file(&[(0, 65_536, 1 << 20), (65_536, 65_536, 3 << 20)]).none(&RULE);
    }
}
