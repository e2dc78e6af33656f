use straddle_geometry::{Bytes, Unit, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId};

use crate::context::Findings;
use crate::known_lies::{LIES, Lie};
use crate::repair::FIRST_EXTENT;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FIRST_EXTENT_FAR,
    name: "first-extent-far",
    summary: "first extent of an LVM physical volume was pushed far out by a false optimal I/O size",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::VolumeGroup], FIRST_EXTENT),
    page: Page {
        checks: "Whether `pe_start` is a multiple of a value of `optimal_io_size` that is known to be false, or lies more than 1 GiB into the \
                 device not counting what was left for a boot loader.",
        why: "Space is lost, the start is on no boundary that the device has, and GRUB, which reads the metadata, gives up. `pvcreate` \
              rounds the first extent up to the optimal I/O size that the device reports; when a controller makes that value up, the area \
              before it grows to megabytes or gigabytes. The distance itself slows down no request.",
        evidence: "`pe_start` from the metadata of the physical volume or `pvs -o +pe_start`, the table of known values (STR501), and \
                   `optimal_io_size` where the device still reports it.",
        example: "An mpt3sas controller announces 16,773,120; md on top of it makes 4,293,918,720, the least common multiple with its own \
                  stripes; `pvcreate` then puts the first extent at 4,293,918,720 = 4,095 MiB and the machine does not boot (Debian bug 1121006).",
        fix: "Where it holds nothing yet, re-create the physical volume with an alignment of your own (`pvcreate --dataalignment \
              1m DEVICE`, or the true full stripe), or set `devices/data_alignment_detection = 0` in lvm.conf. With another disk: `pvmove OLD NEW`, `vgreduce VG OLD`, re-create, \
              and back.",
        fix_safety: "pvcreate destroys what the device holds; `pvmove OLD NEW` keeps volumes usable and can be interrupted. Have a backup \
                     that was test-restored. A machine that boots and has the space need not be touched.",
        references: &[
            "https://bugs.debian.org/cgi-bin/bugreport.cgi?bug=1121006",
            "pvcreate(8), --dataalignment",
            "lvm.conf(5), devices/data_alignment_detection",
        ],
    },
    check,
};

/// What nobody gives away on purpose, unless options of pvcreate say so.
const FAR: Bytes = Bytes::mib(1024);

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if let Some(first) = layer.bytes(Key::FirstExtent) {
            findings.extend(finding(context, id, layer, &first));
        }
    }
}

/// The known value that a start was rounded up to. Powers of two are what anybody would align to.
fn lie_behind(start: Bytes) -> Option<&'static Lie> {
    let divides = |lie: &&Lie| {
        let unit = Unit::try_from(lie.value).ok();
        !lie.value.get().is_power_of_two()
            && start > Bytes::ZERO
            && unit.is_some_and(|unit| start.is_multiple_of(unit))
    };
    // The largest: smaller ones divide it by accident.
    LIES.iter().filter(divides).max_by_key(|lie| lie.value)
}

fn finding(
    context: &Context<'_>,
    id: LayerId,
    layer: &Layer,
    first: &Fact<Bytes>,
) -> Option<Finding> {
    let start = first.value;
    let lie = lie_behind(start);
    let lost = |wanted: Bytes| start.checked_sub(wanted).unwrap_or(Bytes::ZERO);
    // A metadata area takes all there is before the first extent, so its size says nothing of what was asked for.
    let asked = layer
        .bytes(Key::BootLoaderArea)
        .map_or(Bytes::ZERO, |fact| fact.value);
    if lie.is_none() && lost(asked) < FAR {
        return None;
    }
    let title = match lie {
        Some(lie) => format!(
            "{}: the first extent lies at {start}, rounded up to the false optimal I/O size {}",
            layer.name,
            lie.value.grouped()
        ),
        None => format!(
            "{}: the first extent lies at {start}; what is before it is lost",
            layer.name
        ),
    };
    let mut finding = Finding::new(RULE.code, Severity::Warning, id, title).evidence(
        &first.source,
        format!("first extent = {}", both_ways(start)),
    );
    let reported = context
        .seen(id)
        .iter()
        .find(|grid| grid.role == GridRole::OptimalIo);
    if let Some(reported) = reported {
        let size = reported.fact.value.unit().bytes();
        finding = finding.evidence(
            &reported.fact.source,
            format!("optimal_io_size = {}", size.grouped()),
        );
    }
    finding = match lie {
        Some(lie) => finding
            .arithmetic(format!(
                "{} = {} × {}",
                start.grouped(),
                start.get() / lie.value.get().max(1),
                lie.value.grouped()
            ))
            .note(format!("{}: {}", lie.value.grouped(), lie.origin)),
        None => finding.arithmetic(format!(
            "{} − 1,048,576, the default = {} bytes",
            start.grouped(),
            lost(Bytes::mib(1)).grouped()
        )),
    };
    let mebibyte = Unit::new(1 << 20)?;
    if !start.is_multiple_of(mebibyte) {
        finding = finding.note(format!(
            "it is not a multiple of 1 MiB either: {} bytes more",
            start.div_rem(mebibyte).1.grouped()
        ));
    }
    if start >= FAR {
        finding = finding.note("GRUB may not find volumes that lie so far in");
    }
    Some(finding.help("with a new physical volume: pvcreate --dataalignment 1m"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::Bytes;
    use straddle_stack::{Key, Value};

    fn volume(first: u64, boot: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.set(disk, Key::FirstExtent, Value::Bytes(Bytes::new(first)));
        lab.set(disk, Key::BootLoaderArea, Value::Bytes(Bytes::new(boot)));
        lab
    }

    #[test]
    fn the_values_of_mpt3sas_and_of_md_above_it_are_known() {
        let finding = volume(4_293_918_720, 0).one(
            &RULE,
            Severity::Warning,
            "4,293,918,720 = 1 × 4,293,918,720",
        );
        assert!(
            finding
                .title
                .contains("rounded up to the false optimal I/O size")
        );
        volume(16_773_120, 0).one(&RULE, Severity::Warning, "16,773,120 = 1 × 16,773,120");
    }

    #[test]
    fn gigabytes_are_odd_whatever_made_them() {
        volume(3 << 30, 0).one(
            &RULE,
            Severity::Warning,
            "3,221,225,472 − 1,048,576, the default = 3,220,176,896 bytes",
        );
    }

    #[test]
    fn usual_places_are_silent() {
        for first in [196_608, 1 << 20, 16 << 20, 32 << 20, 128 << 20] {
            volume(first, 0).none(&RULE);
        }
        volume(3 << 30, (3 << 30) - (1 << 20)).none(&RULE);
    }
}
