use straddle_stack::{Key, Layer, LayerKind};

use crate::context::Findings;
use crate::repair::DATA_OFFSET;
use crate::shared::member_start::look;
use crate::shared::said::off_here;
use crate::{Context, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MEMBER_DATA_OFFSET,
    name: "member-data-offset",
    summary: "array data starts inside a physical sector of a member, or members are aligned differently",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Array, RepairKind::VolumeGroup], DATA_OFFSET),
    page: Page {
        checks: "Whether the data of an array start on a physical sector (and indirection unit) of every member, the member's own place \
                 on its disk included, and whether all members start at the same distance from one.",
        why: "The data offset is added to the address of everything above. If it is not on a sector boundary, every sector-sized write \
              above is split in two below, however well partitions and filesystems are placed. If members differ, no start above is right \
              for all of them.",
        evidence: "sysfs `md/dev-*/offset`, the device-mapper table, and the grid of each member as it is seen at that place.",
        example: "Data offset of 2,050 sectors on a 4K-sector disk: 1,049,600 = 256 × 4,096 + 1,024. A member on a partition at sector 63: \
                  32,256 + 1,048,576 = 1,080,832 = 263 × 4,096 + 3,584.",
        fix: "Take one member out (`mdadm /dev/mdN --fail /dev/X --remove /dev/X`), re-create its partition on a boundary, not shorter than \
              before, and add it (`mdadm --manage /dev/mdN --add /dev/X`): the array rebuilds onto it. The next member only when that has \
              ended (`mdadm --wait /dev/mdN`, `cat /proc/mdstat`), never two at once: without both, a mirror of two has no data left. \
              RAID 0 and linear arrays rebuild nothing: copy what is on them away, and re-create them. Where the offset itself is off on all members, `mdadm --grow /dev/mdN --data-offset=1024K` moves the data of RAID 4, 5, 6 and 10 in place, \
              towards the front; mdadm refuses an offset that is too large. Otherwise give `--data-offset` when creating the array, and \
              restore.",
        fix_safety: "During a rebuild or a reshape the array has less redundancy or none: check every other member first (`echo check > \
                     /sys/block/mdN/md/sync_action`), have a backup that was test-restored. RAID 0 cannot be rebuilt.",
        references: &[
            "mdadm(8), --data-offset: members may have different offsets",
            "Linux Documentation/admin-guide/md.rst: dev-XXX/offset",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    // STR212 speaks of arrays that firmware described: they are fixed elsewhere.
    let own = |layer: &Layer| layer.attribute(Key::FirmwareRaid).is_none();
    let first = findings.len();
    let members = look(context, RULE.code, own, "", findings);
    for finding in &mut findings[first..] {
        let off = members.iter().filter(|(array, _)| *array == finding.layer);
        let layer = context.stack.layer(finding.layer);
        finding.help = vec![repair(layer, off.count())];
    }
    let help = "capture where its data start on each member: mdadm --examine MEMBER";
    findings.extend(off_here(RULE.code, context, &[LayerKind::Array], help));
}

/// What to do about members of an array whose data start off a sector, of which there are so many.
fn repair(array: &Layer, off: usize) -> String {
    let level = array.text(Key::Level).or(array.format.as_deref());
    if matches!(level, Some("raid0" | "linear" | "striped")) {
        return "nothing can be rebuilt without redundancy: copy what is on it away, re-create this member on a boundary, and the array"
            .to_owned();
    }
    let one = "re-create this member on a boundary, not shorter than before, and let the array rebuild onto it";
    match off {
        1 => one.to_owned(),
        _ => format!(
            "{one}; {off} members are off: one after the other, the next only when the rebuild has ended (mdadm --wait, cat /proc/mdstat), \
             never two at once"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Map};
    use straddle_stack::{Key, LayerKind};

    #[test]
    fn one_member_starts_off_its_sectors() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        lab.array(&members, 65_536, &[1 << 20, 2050 * 512]);
        let finding = lab.one(&RULE, Severity::Error, "1,049,600 = 256 × 4,096 + 1,024");
        assert!(finding.title.contains("member sda"));
    }

    #[test]
    fn several_members_are_done_one_after_the_other() {
        let help = |starts: [u64; 2], level: &'static str| {
            let mut lab = Lab::new();
            let members = [lab.disk(4096), lab.disk(4096)];
            let array = lab.array(&members, 65_536, &starts);
            lab.text(array, Key::Level, level);
            let findings = lab.findings(&RULE);
            let help: Vec<String> = findings.iter().map(|f| f.help.join(" ")).collect();
            help
        };
        let both = help([512, 1024], "raid1");
        assert_eq!(both.len(), 2);
        for text in both {
            assert!(
                text.contains("2 members are off: one after the other"),
                "{text}"
            );
            assert!(text.contains("only when the rebuild has ended"), "{text}");
            assert!(text.ends_with("never two at once"), "{text}");
        }
        let one = help([512, 1 << 20], "raid1");
        assert_eq!(one.len(), 1);
        assert!(!one[0].contains("one after the other"), "{one:?}");
        let none = help([512, 512], "raid0");
        assert!(
            none[0].starts_with("nothing can be rebuilt without redundancy"),
            "{none:?}"
        );
    }

    #[test]
    fn the_place_of_a_member_s_partition_counts() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, 63);
        let start = Bytes::mib(1);
        lab.over(LayerKind::Array, &[partition], Map::Linear { start });
        lab.one(
            &RULE,
            Severity::Error,
            "1,048,576 = 512 (first boundary) + 255 × 4,096 + 3,584",
        );
    }

    #[test]
    fn equal_offsets_on_boundaries_are_silent() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(512)];
        lab.array(&members, 65_536, &[1 << 20, 129 << 20]);
        lab.none(&RULE);
    }
}
