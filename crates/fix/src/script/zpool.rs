//! `zpool` and `zfs`, which make a pool again from a stream of itself.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::Key;

use super::fragment::filled;
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
    Ok(filled(
        include_str!("fragments/zpool.sh"),
        &[
            ("name", &quoted(Path::new(&pool.name))?),
            ("guid", &quoted(Path::new(guid))?),
            ("ashift", &pool.ashift.to_string()),
            ("folders", &folders),
            ("vdevs", &vdevs),
        ],
    ))
}
