use straddle_stack::activity::{Quantity, Span};

use crate::context::Findings;
use crate::figures::{counted, percent, time};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::HYPERVISOR_LATENCY,
    name: "hypervisor-latency",
    summary: "requests wait in the hypervisor, not in the array",
    status: Status::Stable,
    repair: Repair::None("queue depths of the hypervisor and of the adapter"),
    page: Page {
        checks: "KAVG of esxtop, the time that the hypervisor's kernel adds to each command, and QAVG, the part of it in its queue.",
        why: "What a guest sees (GAVG) is what the device takes (DAVG) and what the kernel adds (KAVG). KAVG is near zero; more than 2 ms means \
              that commands wait for a place in the device's queue, which no array can make up for.",
        evidence: "Columns of esxtop's batch mode or screen, by adapter and device.",
        example: "GAVG 224.85 ms = DAVG 44.10 + KAVG 180.75: four fifths of what the guest waits for are spent in the host's queue.",
        fix: "Raise the queue depth of the adapter and of the device (DQLEN) as the array's maker advises, spread virtual machines over more \
              LUNs, and look for aborts. With DAVG high and KAVG low the host is right, and the array or the path to it is slow.",
        fix_safety: "A longer queue moves the waiting to the array: measure DAVG before and after.",
        references: &[
            "https://knowledge.broadcom.com/external/article/382249/using-esxtop-and-interpreting-esxtop-sta.html: what the columns are",
            "http://www.datacenterdan.com/blog/vsphere-55-bptroubleshooting05-esxtop-disk-adapter: more than 1 ms; the limit of 2 ms here is this rule's own",
        ],
    },
    check,
};

const MUCH: f64 = 0.002;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(kernel) = activity.mean(Quantity::KernelLatency, Span::Interval) else {
            continue;
        };
        let share = kernel.distribution.above(MUCH);
        if share < 0.05 {
            continue;
        }
        let title = format!(
            "{} the hypervisor adds more than {} to each command in {} of {}",
            titled(layer),
            time(MUCH),
            percent(share),
            counted(kernel.count, "interval")
        );
        let finding = Finding::new(RULE.code, Severity::Warning, id, title);
        let label = format!("KAVG = {}", time(kernel.max.value.get()));
        let mut finding = show_largest(finding, kernel, label);
        let device = activity.mean(Quantity::DeviceLatency, Span::Interval);
        let guest = activity.mean(Quantity::GuestLatency, Span::Interval);
        if let (Some(device), Some(guest)) = (device, guest) {
            let (device, kernel, guest) = (device.mean.get(), kernel.mean.get(), guest.mean.get());
            finding = finding.arithmetic(format!(
                "DAVG {} + KAVG {} = {}, GAVG {}",
                time(device),
                time(kernel),
                time(device + kernel),
                time(guest)
            ));
        }
        findings.push(
            finding.help("the queue depth of adapter and device, and how many machines share them"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn what_the_kernel_adds_is_told_apart_from_what_the_device_takes() {
        let lab = |kernel: f64| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::DeviceLatency, Span::Interval, &[0.0441][..]),
                (Quantity::KernelLatency, Span::Interval, &[kernel]),
                (Quantity::GuestLatency, Span::Interval, &[0.0441 + kernel]),
            ];
            lab.active(LayerKind::Service, &[], &series);
            lab
        };
        lab(0.002).none(&RULE);
        let line = "DAVG 44.1 ms + KAVG 181 ms = 225 ms, GAVG 225 ms";
        lab(0.180_75).one(&RULE, Severity::Warning, line);
    }
}
