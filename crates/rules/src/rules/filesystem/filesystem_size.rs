use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{Key, LayerKind, Value};

use crate::context::Findings;
use crate::wording::label;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FILESYSTEM_SIZE,
    name: "filesystem-size",
    summary: "filesystem's size does not match its volume's",
    status: Status::Stable,
    repair: Repair::None(
        "the filesystem's own tools make it fit (resize2fs, xfs_growfs, ntfsresize), once it is known which of the two is right",
    ),
    page: Page {
        checks: "Whether the size in a filesystem's superblock fits the partition or volume that it lies in: larger is an error, smaller by \
                 more than a sixteenth a note.",
        why: "A filesystem larger than its volume has lost its end: an image was cut short, or a partition was shrunk or moved without its \
              contents. It works until the missing part is used. A much smaller one wastes the rest, and is often the trace of a copy from \
              a smaller disk, whose geometry it may have kept too.",
        evidence: "The total number of blocks or sectors in the superblock, and the length of the partition, volume or image.",
        example: "2,560 blocks × 4,096 = 10,485,760 in a partition of 20,472 × 512 = 10,481,664: the last block is missing.",
        fix: "Larger: restore the partition's length or get the whole image before anything is mounted. Smaller: grow it (`resize2fs DEVICE`, \
              `xfs_growfs DIR`, `ntfsresize DEVICE`), or leave it.",
        fix_safety: "Do not run a filesystem check that repairs on a filesystem that is cut short: it throws away what it cannot see. \
                     Lengthen the partition first.",
        references: &[
            "resize2fs(8)",
            "e2fsck(8): the filesystem size is larger than the physical size of the device",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let volume = context
            .stack
            .only_below(id)
            .and_then(|below| context.stack.layer(below).size.clone());
        let (Some(claimed), Some(volume)) = (layer.bytes(Key::ClaimedSize), volume) else {
            continue;
        };
        let unused = volume.value.checked_sub(claimed.value);
        let (severity, title, arithmetic, help) = match unused {
            None => (
                Severity::Error,
                format!(
                    "{} is larger than its volume: its end is missing",
                    layer.name
                ),
                Bytes::new(claimed.value.get() - volume.value.get()),
                "restore the volume's length, or get the whole image, before anything is mounted or checked",
            ),
            Some(rest) if rest.get() > volume.value.get() / 16 => (
                Severity::Note,
                format!("{} uses only a part of its volume", layer.name),
                rest,
                "grow it if the space is wanted",
            ),
            Some(_) => continue,
        };
        findings.push(
            Finding::new(RULE.code, severity, id, title)
                .evidence(
                    &claimed.source,
                    label(Key::ClaimedSize, &Value::Bytes(claimed.value)),
                )
                .evidence(
                    &volume.source,
                    format!("size of the volume = {}", both_ways(volume.value)),
                )
                .arithmetic(format!(
                    "{} − {} = {}",
                    claimed.value.max(volume.value).grouped(),
                    claimed.value.min(volume.value).grouped(),
                    arithmetic.grouped()
                ))
                .help(help),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn in_10_mib(claimed: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let partition = lab.partition(disk, 2048);
        lab.size(partition, 10 << 20);
        let fs = lab.filesystem("ext", partition, 4096);
        lab.bytes(fs, Key::ClaimedSize, claimed);
        lab
    }

    #[test]
    fn a_missing_end_is_an_error_and_waste_a_note() {
        in_10_mib((10 << 20) + 4096).one(&RULE, Severity::Error, "10,489,856 − 10,485,760 = 4,096");
        in_10_mib(5 << 20).one(&RULE, Severity::Note, "10,485,760 − 5,242,880 = 5,242,880");
    }

    #[test]
    fn a_few_sectors_less_are_usual() {
        in_10_mib(10 << 20).none(&RULE);
        in_10_mib((10 << 20) - 512).none(&RULE);
    }
}
