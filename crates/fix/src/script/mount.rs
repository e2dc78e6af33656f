//! `mount`, by which XFS is told the stripe of the array below: the kernel writes it to the superblock.

use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "mount",
    title: "mount of XFS with sunit and swidth, which writes both to its superblock",
    language: Language::Shell,
    does: |change| matches!(change, Change::Hints(hints) if hints.format == "xfs"),
    script: |order| shell::script(order, step),
};

/// Where the superblock has the stripe unit, in blocks and with the highest byte first; the full stripe follows.
const UNIT_AT: u32 = 184;

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Hints(hints) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
    let (unit, width) = hints.in_blocks();
    Ok(format!(
        "need mount mount\n{reach}\
         at=$(mktemp -d \"$folder/straddle-fix.XXXXXX\") || die \"cannot make a folder in $folder\"\n\
         gone() {{ rmdir \"$at\" 2> /dev/null || :; }}\n\
         at_end gone\n\
         doing='mounting it, which writes stripe unit and width'\n\
         way_back='it is as it was, or as planned: straddle check says which'\n\
         mount -t xfs -o sunit={sunit},swidth={swidth} \"$part\" \"$at\" || {{ doing=; die 'it was not mounted with these, and is as it was: the kernel log says why'; }}\n\
         umount \"$at\" || fail \"it is still mounted, at $at\"\n\
         if [ -b \"$part\" ]; then blockdev --flushbufs \"$part\"; fi\n\
         have=$(od -An -v --endian=big -t u4 -j {UNIT_AT} -N 8 \"$part\" | awk '{{ print $1, $2 }}')\n\
         [ \"$have\" = '{unit} {width}' ] || fail \"the kernel left stripe unit and width at $have blocks, not {unit} {width}: its log says why\"\ndoing=\n{release}",
        reach = writer.reach(hints.device)?,
        sunit = hints.stripe_unit.get() / 512,
        swidth = hints.full_stripe.get() / 512,
        release = writer.release(hints.device)?,
    ))
}
