//! LVM2's tools: the metadata of a group are restored with another place of the first extent; what the extents hold is copied away
//! and back. Or the extents are moved to another device, on which they are in the right place from the beginning.

use std::fmt::Write;
use std::path::Path;

use super::prelude::Choice;
use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, indented, shell};
use crate::Step;
use crate::change::Change;
use crate::change::volume_group::{VolumeGroup, alignment};

pub(super) static TOOL: Tool = Tool {
    name: "lvm",
    title: "pvcreate and vgcfgrestore of LVM2, or pvmove to another device",
    language: Language::Shell,
    does: |change| matches!(change, Change::VolumeGroup(_)),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::VolumeGroup(group) = &step.change else {
        return Ok(String::new());
    };
    let disk = writer.disk(group.device);
    let n = step.number;
    writer.choice(&ONTO);
    writer.check(&checks(group, &disk, n)?);
    let uuid = quoted(Path::new(&group.uuid))?;
    let (from, to) = (group.from.get(), group.to.get());
    let moved = indented(&moved(group, &disk, n));
    let mut restored = format!(
        "work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\")\n\
         vgcfgbackup -q -f \"$work/group.before\" \"$group{n}\" > /dev/null\n\
         say \"the metadata as they were, and what the extents hold meanwhile: $work\"\n\
         doing=\"copying what $group{n} holds\"\n\
         way_back=\"nothing was changed, but the group may be inactive: vgchange -ay $group{n}\"\n\
         vgchange -q -an \"$group{n}\"\n\
         keep {disk} {from} \"$bytes{n}\" \"$work/extents\"\n",
    );
    let _ = write!(
        restored,
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
        restored,
        "doing=\"putting the extents of $group{n} elsewhere\"\n\
         way_back=\"what they held is in $work/extents. The way back: pvremove -ff -y DEVICE; pvcreate --uuid {bare} --restorefile \
         $work/group.before DEVICE; vgcfgrestore -f $work/group.before $group{n}; dd if=$work/extents of=DEVICE bs=1M oflag=seek_bytes \
         seek={from} conv=notrunc\"\n\
         pvremove -q -q -ff -y {disk}\n\
         pvcreate -q -q -y --uuid {uuid} --restorefile \"$work/group.after\" {disk}\n\
         put \"$work/extents\" {disk} {to} \"$bytes{n}\"\n\
         vgcfgrestore -q -f \"$work/group.after\" \"$group{n}\" > /dev/null\n\
         vgchange -q -ay \"$group{n}\"\n\
         doing=\nsay \"$work can be deleted when the contents were looked at\"\n",
        bare = group.uuid,
    );
    Ok(format!(
        "if [ -n \"$onto\" ]; then\n{moved}else\n{}fi\n",
        indented(&restored)
    ))
}

/// The other way: while the volumes are in use.
static ONTO: Choice = Choice {
    flag: "--onto",
    value: Some("DEVICE"),
    variable: "onto",
};

/// Lines that move the extents to a physical volume made with the right alignment.
fn moved(group: &VolumeGroup, disk: &str, n: usize) -> String {
    let unit = group.alignment.get();
    let offset = group.alignment_offset.get();
    format!(
        "doing=\"moving extents of $group{n} to $onto\"\n\
         way_back='pvmove by itself goes on where it stopped, and pvmove --abort leaves them where they were'\n\
         pvcreate -q -q -y --dataalignment {alignment} \"$onto\"\n\
         start=$(pvs --noheadings --nosuffix --units b -o pe_start \"$onto\" | tr -d ' ')\n\
         [ $(((start - {offset}) % {unit})) = 0 ] || fail \"pvcreate puts the first extent of $onto at $start\"\n\
         vgextend -q -q \"$group{n}\" \"$onto\"\n\
         [ \"$used{n}\" = 0 ] || pvmove -q -i 5 {disk} \"$onto\"\n\
         vgreduce -q -q \"$group{n}\" {disk}\n\
         doing=\nsay {disk} 'is a physical volume of no group now'\n",
        alignment = alignment(group.alignment, group.alignment_offset),
    )
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
         [ \"$(field vg_missing_pv_count)\" = 0 ] || die 'a physical volume of the group is missing'\n\
         # To the last extent that a volume uses.\n\
         used{n}=$(pvs --noheadings --segments -o pvseg_start,pvseg_size,lv_name {disk} | awk 'NF > 2 {{ end = $1 + $2; if (end > most) most = end }} END {{ print most + 0 }}')\n\
         bytes{n}=$((used{n} * {extent}))\n",
        from = group.from.get(),
    );
    let device = format!(
        "[ -b \"$onto\" ] || die \"$onto is no block device\"\n\
         not_in_use \"$onto\"\n\
         [ -z \"$(wipefs -n \"$onto\")\" ] || die \"$onto holds something: wipefs $onto says what\"\n\
         [ \"$(blockdev --getsize64 \"$onto\")\" -ge $((bytes{n} + {most})) ] || die \"$onto has no room for $used{n} extents\"\n",
        // The first extent comes to lie on the next boundary behind the metadata.
        most = group
            .to
            .get()
            .max(1 << 20)
            .saturating_add(group.alignment.get()),
    );
    let here = format!(
        "[ \"$(field pv_mda_count)\" = 1 ] || die {disk} 'has no or two areas of metadata: what is at its end would be lost'\n\
         if lvs --noheadings -o lv_device_open \"$group{n}\" | grep -q open; then die \"volumes of $group{n} are in use\"; fi\n\
         if lvs -a --noheadings -o segtype \"$group{n}\" | grep -q -v -x -E ' *(linear|striped) *'; then\n    \
             die \"$group{n} has volumes that are neither linear nor striped: --onto moves them\"\n\
         fi\n\
         # As many as have room afterwards.\n\
         count{n}=$((($(blockdev --getsize64 {disk}) - {to}) / {extent}))\n\
         [ \"$(field pv_pe_count)\" -ge \"$count{n}\" ] || count{n}=$(field pv_pe_count)\n\
         [ \"$used{n}\" -le \"$count{n}\" ] || die 'there is no room for the last extents: free them with pvmove --alloc anywhere'\n\
         room_for \"$bytes{n}\"\n",
        to = group.to.get(),
    );
    let _ = write!(
        out,
        "if [ -n \"$onto\" ]; then\n{}else\n{}fi\n",
        indented(&device),
        indented(&here)
    );
    Ok(out)
}
