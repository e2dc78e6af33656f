//! LVM2's tools: the metadata of a group are restored with another place of the first extent; what the extents hold is copied away
//! and back.

use std::fmt::Write;
use std::path::Path;

use super::shell::quoted;
use super::{Language, Refusal, Tool, Writer};
use crate::Step;
use crate::change::Change;
use crate::change::volume_group::VolumeGroup;

pub(super) static TOOL: Tool = Tool {
    name: "lvm",
    title: "pvcreate and vgcfgrestore of LVM2, which put the first extent elsewhere and leave all else",
    language: Language::Shell,
    does: |change| matches!(change, Change::VolumeGroup(_)),
    step,
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::VolumeGroup(group) = &step.change else {
        return Ok(String::new());
    };
    let disk = writer.disk(group.device);
    let n = step.number;
    writer.check(&checks(group, &disk, n)?);
    let uuid = quoted(Path::new(&group.uuid))?;
    let (from, to) = (group.from.get(), group.to.get());
    let mut out = format!(
        "work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\")\n\
         vgcfgbackup -q -f \"$work/group.before\" \"$group{n}\" > /dev/null\n\
         say \"the metadata as they were, and what the extents hold meanwhile: $work\"\n\
         state=\"nothing was changed yet, but $group{n} may be inactive: vgchange -ay $group{n}\"\n\
         vgchange -q -an \"$group{n}\"\n\
         keep {disk} {from} \"$bytes{n}\" \"$work/extents\"\n",
    );
    let _ = write!(
        out,
        "# The same metadata, with another place of the first extent of this physical volume and as many extents as have room.\n\
         awk -v uuid={uuid} -v start={start} -v count=\"$count{n}\" '\n\
         $1 == \"id\" {{ here = ($3 == \"\\\"\" uuid \"\\\"\") }}\n\
         $1 == \"}}\" {{ here = 0 }}\n\
         here && $1 == \"pe_start\" {{ sub(/= [0-9]+/, \"= \" start) }}\n\
         here && $1 == \"pe_count\" {{ sub(/= [0-9]+/, \"= \" count) }}\n\
         {{ print }}' \"$work/group.before\" > \"$work/group.after\"\n",
        start = to / 512,
    );
    let _ = write!(
        out,
        "state=\"what the extents held is in $work/extents. The way back: pvremove -ff -y DEVICE; pvcreate --uuid {bare} --restorefile \
         $work/group.before DEVICE; vgcfgrestore -f $work/group.before $group{n}; dd if=$work/extents of=DEVICE bs=1M oflag=seek_bytes \
         seek={from} conv=notrunc\"\n\
         pvremove -q -q -ff -y {disk}\n\
         pvcreate -q -q -y --uuid {uuid} --restorefile \"$work/group.after\" {disk}\n\
         put \"$work/extents\" \"$bytes{n}\" {disk} {to}\n\
         vgcfgrestore -q -f \"$work/group.after\" \"$group{n}\" > /dev/null\n\
         vgchange -q -ay \"$group{n}\"\n\
         state=\nsay \"$work can be deleted when the contents were looked at\"\n",
        bare = group.uuid,
    );
    Ok(out)
}

/// The group is the one that the plan was made for, nothing of it is in use, and all that it holds has room.
fn checks(group: &VolumeGroup, disk: &str, n: usize) -> Result<String, Refusal> {
    let mut out = format!(
        "\ngroup{n}={name}\n\
         need pvcreate lvm2\n\
         # field NAME: of the physical volume\n\
         field() {{ pvs --noheadings --nosuffix --units b -o \"$1\" {disk} | tr -d ' '; }}\n\
         [ -b {disk} ] || die {disk} 'is no block device: work on the machine that has the group, or attach it with losetup'\n",
        name = quoted(Path::new(&group.group))?,
    );
    let uuid = quoted(Path::new(&group.uuid))?;
    let extent = group.extent.get();
    let _ = write!(
        out,
        "[ \"$(field pv_uuid)\" = {uuid} ] || die {disk} 'is another physical volume'\n\
         [ \"$(field vg_name)\" = \"$group{n}\" ] || die {disk} 'belongs to another group'\n\
         [ \"$(field pe_start)\" = {from} ] || die 'the first extent does not lie where the plan says'\n\
         [ \"$(field vg_extent_size)\" = {extent} ] || die 'extents are not as long as the plan says'\n\
         [ \"$(field pv_mda_count)\" = 1 ] || die {disk} 'has no or two areas of metadata: what is at its end would be lost'\n\
         [ \"$(field vg_missing_pv_count)\" = 0 ] || die 'a physical volume of the group is missing'\n\
         if lvs --noheadings -o lv_device_open \"$group{n}\" | grep -q open; then die \"volumes of $group{n} are in use\"; fi\n\
         if lvs -a --noheadings -o segtype \"$group{n}\" | grep -q -v -x -E ' *(linear|striped) *'; then\n    \
             die \"$group{n} has volumes that are neither linear nor striped: move them with pvmove\"\n\
         fi\n",
        from = group.from.get(),
    );
    let _ = write!(
        out,
        "# To the last extent that a volume uses, and as many as have room afterwards.\n\
         used{n}=$(pvs --noheadings --segments -o pvseg_start,pvseg_size,lv_name {disk} | awk 'NF > 2 {{ end = $1 + $2; if (end > most) most = end }} END {{ print most + 0 }}')\n\
         bytes{n}=$((used{n} * {extent}))\n\
         count{n}=$((($(blockdev --getsize64 {disk}) - {to}) / {extent}))\n\
         [ \"$(field pv_pe_count)\" -ge \"$count{n}\" ] || count{n}=$(field pv_pe_count)\n\
         [ \"$used{n}\" -le \"$count{n}\" ] || die 'there is no room for the last extents: free them with pvmove --alloc anywhere'\n\
         room_for \"$bytes{n}\"\n",
        to = group.to.get(),
    );
    Ok(out)
}
