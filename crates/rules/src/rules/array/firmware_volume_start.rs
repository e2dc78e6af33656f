use straddle_stack::Key;

use crate::context::Findings;
use crate::shared::member_start::look;
use crate::{Context, Page, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FIRMWARE_VOLUME_START,
    name: "firmware-volume-start",
    summary: "firmware RAID volume starts inside a physical sector of its members",
    status: Status::Stable,
    repair: Repair::None(
        "the firmware puts its volumes where it does: make the volume again in its set-up, or use md",
    ),
    page: Page {
        checks: "Whether a volume that a controller's firmware described on its disks (Intel Matrix RAID and Rapid Storage, SNIA DDF, and \
                 others) starts on a physical sector (and indirection unit) of every member.",
        why: "Every sector-sized write to such a volume reads and writes two sectors below, however well its partitions are placed. A set \
              can hold several volumes, one after another on the same disks. The second starts where the first ends, plus what the \
              firmware reserves, counted in sectors of 512 bytes: that is a multiple of eight only if somebody saw to it, and old option \
              ROMs did not.",
        evidence: "The start of the volume on its members, in the metadata at their ends (IMSM: `pba_of_lba0`; DDF: the starting block of each \
                   element), and the sectors of the members.",
        example: "The second volume of an Intel set starts at sector 8,193 of each member: 4,194,816 = 1,024 × 4,096 + 512.",
        fix: "Delete the volume and create it again with mdadm or a current version of the vendor's tool, which place it on a boundary; or give the \
              volume before it a size of whole mebibytes on each member.",
        fix_safety: "Deleting a volume loses what is on it; have a backup that was test-restored. The volumes before it can stay.",
        references: &[
            "mdadm(8), --metadata=imsm and ddf",
            "SNIA, Common RAID Disk Data Format Specification, 4.2.27: Starting Block",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let help = "back it up, delete the volume and create it again on a boundary, with mdadm or the vendor's tool";
    let is_firmware = |layer: &straddle_stack::Layer| layer.attribute(Key::FirmwareRaid).is_some();
    look(context, RULE.code, is_firmware, help, findings);
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::rules::array::member_data_offset;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn volume(start: u64) -> Lab {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(512)];
        let array = lab.array(&members, 65_536, &[start, start]);
        lab.text(array, Key::FirmwareRaid, "SNIA DDF");
        lab
    }

    #[test]
    fn a_second_volume_starts_off_a_sector() {
        let lab = volume(8193 * 512);
        lab.one(&RULE, Severity::Error, "4,194,816 = 1,024 × 4,096 + 512");
        // One voice for one cause.
        lab.none(&member_data_offset::RULE);
    }

    #[test]
    fn volumes_on_boundaries_are_silent() {
        volume(8192 * 512).none(&RULE);
    }

    #[test]
    fn arrays_of_a_kernel_are_another_rule_s() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        lab.array(&members, 65_536, &[512, 512]);
        lab.none(&RULE);
    }
}
