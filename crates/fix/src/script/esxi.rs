//! Scripts for the shell of ESXi: what they begin with, and what tells a device from others there.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::LayerId;

use super::guarded::Guarded;
use super::words::{quoted, variable};
use super::{Job, Refusal};

/// Functions that every script for ESXi has besides those of any shell.
pub(super) const PRELUDE: &str = include_str!("fragments/esxi.sh");

/// The lines that refuse to go on with another device.
pub(super) fn guard(job: &Job<'_>, layer: LayerId, number: usize) -> Result<Guarded, Refusal> {
    let device = job.stack.layer(layer);
    let is_named = device.name.split_once('.').is_some_and(|(space, _)| {
        ["naa", "eui", "t10", "mpx"].contains(&space) && !device.name.contains('/')
    });
    if !is_named {
        return Err(Refusal::Unknown(format!(
            "{} is no device of ESXi (naa., eui., t10.); make the plan from what partedUtil getptbl prints there",
            device.name
        )));
    }
    let path = format!("/vmfs/devices/disks/{}", device.name);
    let disk = variable("disk", number);
    let mut out = format!("\n{disk}={}\nneed partedUtil\n", quoted(Path::new(&path))?);
    let step = job.plan.steps.iter().find(|step| step.layer == layer);
    let (Some(step), Some(size)) = (step, &device.size) else {
        return Err(Refusal::Unknown(format!(
            "the size of {} is not known",
            device.name
        )));
    };
    let plan = super::partitions_of(&step.change)?;
    let sectors = |bytes: straddle_geometry::Bytes| bytes.div_rem(plan.sector.unit()).0;
    let mut entries: Vec<_> = plan.entries.iter().collect();
    entries.sort_by_key(|entry| entry.number);
    let list: Vec<String> = entries
        .iter()
        .map(|entry| {
            let last = sectors(entry.from.end()).saturating_sub(1);
            format!("{} {} {last}", entry.number, sectors(entry.from.start()))
        })
        .collect();
    let _ = writeln!(
        out,
        "table_is \"${disk}\" {} '{}'",
        sectors(size.value),
        list.join(", ")
    );
    for entry in entries.iter().filter(|entry| entry.changes()) {
        out += &super::parted_util::checks(entry, &format!("${disk}"))?;
    }
    Ok(Guarded {
        before: out,
        ..Guarded::default()
    })
}
