//! The registry values that say where the Virtual Disk Service puts the partitions it makes: Windows Vista, Server 2008 and later.

use std::fmt::Write;
use straddle_geometry::{gcd, lcm};

use super::windows::{crlf, heading};
use super::{Language, Order, Refusal, Tool};
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "vds",
    title: "the alignment values of the Virtual Disk Service of Windows",
    language: Language::Registry,
    does: |change| matches!(change, Change::Partitions(_)),
    script,
};

/// The values, the size of disks that each is for, and what it is unless it was set.
const VALUES: [(&str, u64, u32); 4] = [
    ("LessThan4GB", 4 << 30, 65_536),
    ("Between4_8GB", 8 << 30, 1_048_576),
    ("Between8_32GB", 32 << 30, 1_048_576),
    ("GreaterThan32GB", u64::MAX, 1_048_576),
];

/// The `.reg` file.
fn script(order: &Order<'_>) -> Result<String, Refusal> {
    let Order { job, tool, .. } = *order;
    let mut out = String::from("Windows Registry Editor Version 5.00\n\n");
    for text in heading(order) {
        let _ = writeln!(out, "{}", format!("; {text}").trim_end());
    }
    out += "; It moves nothing: partitions that diskpart (without align=) or Disk Management make after the next start of the\n\
            ; Virtual Disk Service (vds) begin on multiples of these values, in bytes. The class is that of the disk's size.\n";
    let mut values: [Option<u64>; 4] = [None; 4];
    for step in job
        .plan
        .steps
        .iter()
        .filter(|step| (tool.does)(&step.change))
    {
        let plan = super::partitions_of(&step.change)?;
        let layer = job.stack.layer(plan.device);
        let ends = plan.entries.iter().map(|entry| entry.from.end().get());
        let size = layer.size.as_ref().map(|size| size.value.get());
        let size = size.or_else(|| ends.max()).unwrap_or(0);
        let starts = plan.entries.iter().filter(|entry| entry.changes());
        let unit = starts.fold(0, |unit, entry| gcd(unit, entry.to.start().get()));
        let class = VALUES.iter().position(|(_, below, _)| size < *below);
        if let (Some(slot), true) = (class.and_then(|class| values.get_mut(class)), unit > 0) {
            // All disks of a class have to do with one value.
            let both = slot.map_or(Some(unit), |old| lcm(unit, old));
            *slot = both;
        }
    }
    out += "\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\VDS\\Alignment]\n";
    let mut any = false;
    for ((name, _, usual), value) in VALUES.iter().zip(values) {
        match value.map(u32::try_from) {
            Some(Ok(value)) => {
                any = true;
                let _ = writeln!(
                    out,
                    "; {value} bytes = {} KiB, which every start of the plan is a multiple of; usually {usual}\n\"{name}\"=dword:{value:08x}",
                    value / 1024
                );
            }
            Some(Err(_)) => {
                return Err(Refusal::Unknown(
                    "the starts of this plan have no divisor that fits into 32 bits, which is all that the registry value has".to_owned(),
                ));
            }
            None => {
                let _ = writeln!(
                    out,
                    "; \"{name}\": no disk of this plan has this size; usually {usual}"
                );
            }
        }
    }
    if any {
        Ok(crlf(&out))
    } else {
        Err(Refusal::Unknown(
            "no partition of this plan begins elsewhere".to_owned(),
        ))
    }
}
