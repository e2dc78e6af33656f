//! `zpool` and `zfs`, which make a pool again from a stream of itself.

use std::fmt::Write;
use std::path::Path;

use super::shell::quoted;
use super::{Language, Refusal, Tool, Writer};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "zpool",
    title: "zpool and zfs, by a stream of the pool in a file",
    language: Language::Shell,
    does: |change| matches!(change, Change::Pool(_)),
    step,
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Pool(pool) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
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
         if ! zpool list -H -o name \"$pool\" > /dev/null 2>&1; then\n    \
             zpool import{folders} \"$pool\" || die \"the pool $pool cannot be imported\"\n\
         fi\n\
         [ \"$(zpool list -H -o health \"$pool\")\" = ONLINE ] || die \"the pool $pool is not ONLINE\"\n\
         work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\")\n\
         snapshot=straddle-fix-$(date +%s)\n\
         zfs snapshot -r \"$pool@$snapshot\" || die 'no snapshot could be made'\n\
         zfs send -R \"$pool@$snapshot\" > \"$work/stream\" || die \"the stream could not be written to $work/stream\"\n\
         zfs get -H -o property,value -s local all \"$pool\" > \"$work/properties\"\n\
         sync\n\
         say \"the pool as a stream: $work/stream; zfs receive -F -d POOL brings it back\"\n\
         zpool destroy \"$pool\" || die \"the pool $pool is in use\"\n\
         zpool create -f -m none -o ashift={ashift} \"$pool\"{vdevs} || fail \"the pool is gone; it comes back from $work/stream\"\n\
         zfs receive -F -u -d \"$pool\" < \"$work/stream\" || fail \"the pool is made and empty; its data are in $work/stream\"\n\
         zpool export \"$pool\" || fail 'all is there, and the pool is still imported'\n\
         say \"the pool is exported; zpool import, look at it, then remove $work and the snapshots @$snapshot\"\n",
        name = quoted(Path::new(&pool.name))?,
        ashift = pool.ashift,
    ))
}
