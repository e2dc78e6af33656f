//! `zpool` and `zfs`, which make a pool again from a stream of itself.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::Key;

use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "zpool",
    title: "zpool and zfs, by a stream of the pool in a file",
    language: Language::Shell,
    does: |change| matches!(change, Change::Pool(_)),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Pool(pool) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
    let guid = writer.job.stack.layer(pool.layer).text(Key::PoolGuid);
    let guid = guid.ok_or_else(|| {
        Refusal::Unknown(format!(
            "the GUID of the pool {} is not known, which tells it from another of that name; make the plan from its disks",
            pool.name
        ))
    })?;
    let mut vdevs = String::new();
    let mut folders = String::new();
    for vdev in &pool.vdevs {
        if !vdev.kind.is_empty() {
            let _ = write!(vdevs, " {}", vdev.kind);
        }
        for member in &vdev.members {
            // A member must be what can be opened, not a part of it.
            writer.job.path(*member)?;
            let disk = writer.disk(*member);
            let _ = write!(vdevs, " \"$(readlink -f {disk})\"");
            let _ = write!(folders, " -d \"$(dirname \"$(readlink -f {disk})\")\"");
        }
    }
    // One folder is enough where all are the same; zpool does not mind others.
    Ok(format!(
        "need zpool zfsutils-linux\n\
         need zfs zfsutils-linux\n\
         pool={name}\n\
         snapshot=straddle-fix-$(date +%s)\n\
         imported=no\n\
         # Refused, or failed while the pool was still there: it is left as it was found.\n\
         leave() {{\n    \
             if [ \"$status\" != 0 ] && [ -z \"$doing\" ]; then\n        \
                 zfs destroy -r \"$pool@$snapshot\" > /dev/null 2>&1 || :\n        \
                 [ \"$imported\" = no ] || zpool export \"$pool\"\n    \
             fi\n\
         }}\n\
         at_end leave\n\
         if ! zpool list -H -o name \"$pool\" > /dev/null 2>&1; then\n    \
             zpool import{folders} \"$pool\" || die \"the pool $pool cannot be imported\"\n    \
             imported=yes\n\
         fi\n\
         [ \"$(zpool list -H -o guid \"$pool\")\" = {guid} ] || die \"the pool $pool that is imported is another: export it first\"\n\
         [ \"$(zpool list -H -o health \"$pool\")\" = ONLINE ] || die \"the pool $pool is not ONLINE\"\n\
         work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\") || die \"cannot make a folder in $folder\"\n\
         zfs snapshot -r \"$pool@$snapshot\" || die 'no snapshot could be made'\n\
         zfs send -R \"$pool@$snapshot\" > \"$work/stream\" || die \"the stream could not be written to $work/stream\"\n\
         sync\n\
         # A stream of the same snapshot is the same.\n\
         zfs send -R \"$pool@$snapshot\" | cmp -s - \"$work/stream\" || die \"$work/stream is not what the pool holds\"\n\
         zfs get -H -o property,value -s local all \"$pool\" > \"$work/properties\"\n\
         say \"the pool as a stream: $work/stream; zfs receive -F -d POOL brings it back\"\n\
         # What was mounted of it a moment ago may still be busy.\n\
         tries=5\n\
         until zpool destroy \"$pool\"; do\n    \
             tries=$((tries - 1))\n    \
             [ \"$tries\" -gt 0 ] || die \"the pool $pool is in use\"\n    \
             sleep 2\n\
         done\n\
         doing=\"making the pool $pool again\"\n\
         way_back=\"its data are in $work/stream: zpool create, zfs receive -F -u -d $pool < $work/stream\"\n\
         zpool create -f -m none -o ashift={ashift} \"$pool\"{vdevs}\n\
         zfs receive -F -u -d \"$pool\" < \"$work/stream\"\n\
         zpool export \"$pool\"\n\
         doing=\n\
         say \"the pool is exported; zpool import, look at it, then remove $work and the snapshots @$snapshot\"\n",
        name = quoted(Path::new(&pool.name))?,
        guid = quoted(Path::new(guid))?,
        ashift = pool.ashift,
    ))
}
