//! `partedUtil` and `vmkfstools` in the shell of ESXi. A VMFS cannot be moved: it is emptied, and re-created.

use std::fmt::Write;
use std::path::Path;

use super::fragment::filled;
use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::Entry;

pub(super) static TOOL: Tool = Tool {
    name: "parted-util",
    title: "partedUtil and vmkfstools of ESXi 5.0 or later, which make an empty datastore again",
    language: Language::Esxi,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |order| shell::script(order, step),
};

/// Type of a partition with VMFS, as partedUtil writes it.
const VMFS: &str = "AA31E02A400F11DB9590000C2911D1B8";

/// Lines that refuse a datastore that anything is left on.
pub(super) fn checks(entry: &Entry, disk: &str) -> Result<String, Refusal> {
    let kind = entry.kind.as_deref().unwrap_or_default();
    let is_vmfs = ["fb", "AA31E02A-400F-11DB-9590-000C2911D1B8"].contains(&kind);
    let (true, Some(label)) = (is_vmfs, &entry.label) else {
        return Err(Refusal::Unknown(format!(
            "partition {} is no datastore whose name is known; capture esxcli storage vmfs extent list as well. What ESXi itself \
             lies on is made by its installer",
            entry.number
        )));
    };
    let name = disk.trim_start_matches('$');
    let label = quoted(Path::new(label))?;
    Ok(filled(
        include_str!("fragments/datastore.sh"),
        &[("label", &label), ("name", name)],
    ))
}

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let plan = super::partitions_of(&step.change)?;
    let disk = writer.disk(plan.device);
    let [entry] = plan.entries.as_slice() else {
        return Err(Refusal::Unknown(
            "partedUtil writes a whole table, and this disk has more than the one partition with a datastore: copy it to another disk"
                .to_owned(),
        ));
    };
    let sectors = |bytes: straddle_geometry::Bytes| bytes.div_rem(plan.sector.unit()).0;
    let device = writer.job.stack.layer(plan.device);
    let size = device.size.as_ref().map_or(0, |size| sectors(size.value));
    // The copy of a GPT takes the last 33 sectors.
    let usable = size.saturating_sub(34);
    let last = sectors(entry.to.end()).saturating_sub(1).min(usable);
    let start = sectors(entry.to.start());
    let mut out = String::from(include_str!("fragments/datastore_gone.sh"));
    let _ = write!(
        out,
        "partedUtil setptbl {disk} gpt \"1 {start} {last} {VMFS} 0\" || failed 'partedUtil setptbl'\n\
         have=$(partedUtil getptbl {disk} | awk 'NR == 3 {{ print $2 }}')\n\
         [ \"$have\" = {start} ] || failed \"the partition begins at sector $have, not {start}\"\n\
         vmkfstools -C \"$version\" -S \"$label\" {disk}:1 || failed 'vmkfstools -C'\n\
         esxcli storage filesystem list\n"
    );
    Ok(out)
}
