use straddle_stack::{Key, LayerKind};

use crate::context::Findings;
use crate::shared::cloud::cloud_of;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CLOUD_OPERATIONS,
    name: "cloud-operations",
    summary: "cloud volume counts operations by their length",
    status: Status::Stable,
    repair: Repair::None("the unit in which a cloud counts belongs to the type of volume"),
    page: Page {
        checks: "Whether a disk is a volume of Amazon EBS, by its model.",
        why: "The operations per second that are paid for are not requests: EBS counts up to 256 KiB as one operation on SSD types (gp2, gp3, \
              io1, io2) and up to 1 MiB on HDD types (st1, sc1), and a longer request once for each such part. It joins requests that follow \
              each other up to that length. So many small random requests use up the operations while the throughput is idle, and few large \
              ones use up the throughput.",
        evidence: "The model that the drive reports, `Amazon Elastic Block Store`. The type of volume is not visible from inside. Largest request \
                   of the kernel: sysfs `queue/max_sectors_kb`.",
        example: "A scan in requests of 1,048,576 bytes: 1,048,576 ÷ 262,144 = 4 operations each on gp3, 1 on st1. Pages of 8,192 at random: 1 \
                  operation each on both.",
        fix: "Nothing to repair: compare sizes of requests (blktrace, Performance Monitor) with what the volume is paid for. On st1 and sc1 read \
              and write in requests of 1 MiB, with read-ahead of at least that.",
        fix_safety: "Nothing on the volume changes. Another type of volume is chosen in the cloud's console or API, while the volume is in use; it is \
                     slower until it has been converted.",
        references: &[
            "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-io-characteristics.html",
            "https://docs.aws.amazon.com/ebs/latest/userguide/using_cloudwatch_ebs.html: VolumeConsumedReadWriteOps",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let (Some(cloud), Some(model)) = (cloud_of(layer), layer.attribute(Key::Model)) else {
            continue;
        };
        let Some(counted) = &cloud.counted else {
            continue;
        };
        let title = format!(
            "{}: {} counts up to {} as one operation, on HDD types {}",
            layer.name, cloud.name, counted.flash, counted.disk
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&model.source, format!("model = {}", model.value));
        let largest = layer.bytes(Key::MaxRequest);
        let unit = straddle_geometry::Unit::try_from(counted.flash).ok();
        finding = match (largest, unit) {
            (Some(largest), Some(unit)) => finding
                .evidence(
                    &largest.source,
                    format!("largest request = {}", largest.value),
                )
                .arithmetic(
                    Correlation::new("largest request ÷ counted unit", largest.value, unit)
                        .arithmetic(),
                ),
            _ => finding.arithmetic(format!(
                "{} bytes are one operation on SSD types, {} on HDD types",
                counted.flash.grouped(),
                counted.disk.grouped()
            )),
        };
        findings.push(
            finding
                .note("requests that follow each other are joined up to that length; random ones are counted each")
                .help("compare sizes of requests with the operations and the throughput that the volume is paid for"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn volume(model: &'static str) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Model, model);
        lab
    }

    #[test]
    fn a_volume_of_ebs_says_what_counts() {
        let finding = volume("Amazon Elastic Block Store").one(
            &RULE,
            Severity::Note,
            "262,144 bytes are one operation on SSD types, 1,048,576 on HDD types",
        );
        assert!(finding.prices.is_none());
    }

    #[test]
    fn the_largest_request_is_counted() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Model, "Amazon Elastic Block Store     ");
        lab.bytes(disk, Key::MaxRequest, 1 << 20);
        lab.one(&RULE, Severity::Note, "1,048,576 ÷ 262,144 = 4");
    }

    #[test]
    fn other_disks_are_silent() {
        volume("Amazon EC2 NVMe Instance Storage").none(&RULE);
        volume("Virtual Disk").none(&RULE);
        Lab::new().none(&RULE);
    }
}
