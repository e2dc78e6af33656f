use straddle_geometry::{Bytes, Unit};
use straddle_stack::GridRole;

use crate::context::Findings;
use crate::shared::start::partition_starts;
use crate::wording::{remainder_line, start_label};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ODD_BUT_RIGHT,
    name: "odd-but-right",
    summary: "partition's start looks misaligned but is not: the device shifts its sectors",
    status: Status::Stable,
    repair: Repair::None("nothing is wrong: reported so that nobody moves it"),
    page: Page {
        checks: "Whether a start that no rule of thumb would accept (not a multiple of 4,096) lies on a boundary nevertheless, because \
                 the device's physical sectors do not begin at address 0.",
        why: "Moving such a partition to `1 MiB` would create the very damage that it is meant to fix. Some drives, made when Windows XP \
              put everything at sector 63, shift their sectors by one logical sector so that 63 falls on a boundary.",
        evidence: "sysfs `alignment_offset` of the disk: the address of its first boundary, from the drive's LOWEST ALIGNED LOGICAL BLOCK \
                   ADDRESS. 3584 means sector 7.",
        example: "alignment_offset 3,584: 63 × 512 = 32,256 = 3,584 + 7 × 4,096 + 0, on a boundary. 2,048 × 512 = 1,048,576 = 3,584 + 255 × \
                  4,096 + 512: off.",
        fix: "None: leave it alone. When the data moves to another drive without the shift, start at 1 MiB there, and copy files or use a \
              tool that knows both offsets, not sector by sector.",
        fix_safety: "Tools that only look at remainders of 2,048 sectors call this partition misaligned; do not follow them.",
        references: &[
            "SBC-4, READ CAPACITY (16): LOWEST ALIGNED LOGICAL BLOCK ADDRESS",
            "https://sourceware.org/lvm2/: lvm.conf, devices/data_alignment_offset_detection",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for start in partition_starts(context, GridRole::PhysicalSector) {
        let looks_wrong = !start.start.is_multiple_of(Unit::B4096);
        let shifted = start.there.phase() != Bytes::ZERO;
        if !(start.is_on_grid() && shifted && looks_wrong) {
            continue;
        }
        let title = format!(
            "{} looks misaligned and is not: the device's sectors begin at byte {}",
            start.layer.name,
            start.there.phase().grouped()
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, start.id, title);
        if let Some(placement) = &start.layer.placement {
            let label = start_label(start.layer, start.start);
            finding = finding.evidence(&placement.source, label);
        }
        findings.push(
            finding
                .evidence(
                    &start.grid.fact.source,
                    format!("first boundary = {} B", start.there.phase().grouped()),
                )
                .arithmetic(remainder_line(start.layer, start.start, start.there))
                .help("leave it where it is; 1 MiB would be off this device's grid"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn sector_63_is_right_on_a_shifted_drive() {
        let mut lab = Lab::new();
        let disk = lab.shifted_disk(3584);
        lab.partition(disk, 63);
        lab.one(
            &RULE,
            Severity::Note,
            "63 × 512 = 32,256 = 3,584 (first boundary) + 7 × 4,096 + 0",
        );
    }

    #[test]
    fn round_starts_and_plain_drives_are_silent() {
        let mut lab = Lab::new();
        let shifted = lab.shifted_disk(3584);
        lab.partition(shifted, 2048);
        let plain = lab.disk(4096);
        lab.partition(plain, 63);
        lab.partition(plain, 64);
        lab.none(&RULE);
    }
}
