//! Scripts for the shell of ESXi: what they begin with, and what tells a device from others there.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::LayerId;

use super::guarded::Guarded;
use super::words::{quoted, variable};
use super::{Job, Refusal};

/// Functions that every script for ESXi has besides those of any shell.
pub(super) const PRELUDE: &str = r#"need() { command -v "$1" > /dev/null 2>&1 || die "$1 is not here: this is a script for the shell of ESXi 5.0 or later"; }

# table_is DEVICE SECTORS PARTITIONS: the size, and number, first and last sector of every partition
table_is() {
    [ -e "$1" ] || die "$1 does not exist"
    table=$(partedUtil getptbl "$1") || die "partedUtil cannot read the table of $1"
    sectors=$(printf '%s\n' "$table" | awk 'NR == 2 { print $4 }')
    [ "$sectors" = "$2" ] || die "$1 has $sectors sectors, the plan was made for $2: it is another disk"
    have=$(printf '%s\n' "$table" | awk 'NR > 2 { printf "%s%s %s %s", sep, $1, $2, $3; sep = ", " }')
    [ "$have" = "$3" ] || die "$1 has the partitions $have, the plan was made for $3: it is another disk, or it was changed"
}

"#;

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
