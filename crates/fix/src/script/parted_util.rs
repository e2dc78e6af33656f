//! `partedUtil` and `vmkfstools` in the shell of ESXi. A VMFS cannot be moved: it is emptied, and made again.

use std::fmt::Write;
use std::path::Path;

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
    Ok(format!(
        "need esxcli\nneed vim-cmd\nneed vmkfstools\n\
         label={label}\n\
         # One extent, and it is this one.\n\
         extents=$(esxcli --formatter=csv --format-param=fields=VolumeName,DeviceName,Partition storage vmfs extent list) || die 'esxcli lists no extents'\n\
         of_label=$(printf '%s\\n' \"$extents\" | want=\"$label\" awk -F, 'NR > 1 {{ for (i = 1; i <= NF; i++) if ($i == ENVIRON[\"want\"]) n++ }} END {{ print n + 0 }}')\n\
         [ \"$of_label\" = 1 ] || die \"$label has $of_label extents, not one\"\n\
         printf '%s\\n' \"$extents\" | grep -F \"$label\" | grep -F \"${{{name}##*/}}\" > /dev/null || die \"$label is not on ${name}\"\n\
         vms=$(vim-cmd vmsvc/getallvms) || die 'vim-cmd lists no virtual machines'\n\
         if printf '%s\\n' \"$vms\" | grep -F \"[$label]\" > /dev/null; then\n    \
         die \"virtual machines are registered on $label: move them to another datastore first (Storage vMotion)\"\nfi\n\
         # What the filesystem keeps for itself begins with a dot and ends in .sf.\n\
         left=$(ls -A \"/vmfs/volumes/$label\") || die \"/vmfs/volumes/$label is not mounted\"\n\
         left=$(printf '%s\\n' \"$left\" | grep -v -e '^\\..*\\.sf$' -e '^$' || :)\n\
         [ -z \"$left\" ] || [ \"$backed_up\" = 1 ] || die \"$label is not empty: $left; move it away, or say --yes --contents-are-backed-up\"\n\
         # VMFS-6 is made by 6.5 and later.\n\
         case $(vmware -v) in\n\
         *' ESXi 5.'* | *' ESXi 6.0'*) version=vmfs5 ;;\n\
         *' ESXi '*) version=vmfs6 ;;\n\
         *) die 'this is not ESXi 5.0 or later' ;;\n\
         esac\n"
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
    let mut out = String::from(
        "esxcli storage filesystem unmount -l \"$label\" || die \"$label cannot be unmounted: something uses it\"\n\
         # From here on the datastore is gone; the old table, should it be needed:\n\
         printf '%s\\n' \"$table\"\n\
         failed() {\n    printf 'FAILED: %s; %s is unmounted, and has to be made by hand: see the last command\\n' \"$1\" \"$label\" >&2\n    exit 1\n}\n",
    );
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
