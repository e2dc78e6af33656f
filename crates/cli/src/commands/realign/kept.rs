//! A plan that was saved: carried out only while it still describes the target.

use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, bail};
use straddle::fix::{Before, sha256};
use straddle::geometry::Bytes;
use straddle::report::fix::{Document, SCHEMA};

use super::seen::Seen;
use crate::commands::fix::reader;

/// Longest sample of a plan.
const MAX_SAMPLE: usize = 1 << 20;
/// Longest plan that is read.
const MAX_LEN: u64 = 64 << 20;

/// Refuses a plan whose steps for partitions, or what must survive them, are not what would be planned now.
pub(super) fn is_still_so(path: &Path, seen: &Seen) -> anyhow::Result<()> {
    let shown = path.display();
    let file = straddle::io::regular(path).with_context(|| format!("cannot open {shown}"))?;
    let mut bytes = Vec::new();
    file.take(MAX_LEN + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 > MAX_LEN {
        bail!("{shown} is not a plan: expected at most {MAX_LEN} bytes");
    }
    let no_plan = || format!("{shown} is not a plan from `straddle fix --json`");
    let kept: serde_json::Value = serde_json::from_slice(&bytes).with_context(no_plan)?;
    let before: Before = serde_json::from_value(kept.clone()).with_context(no_plan)?;
    before.check(SCHEMA).with_context(no_plan)?;
    let now = serde_json::to_value(Document::new(&seen.name, &seen.stack, &seen.plan))?;
    let of = |document: &serde_json::Value| -> Vec<serde_json::Value> {
        let lists = ["steps", "optional"].map(|list| document[list].as_array());
        let steps = lists.into_iter().flatten().flatten();
        let steps = steps.filter(|step| step["change"]["change"] == "partitions");
        steps.map(|step| step["change"].clone()).collect()
    };
    let (planned, found) = (of(&kept), of(&now));
    if planned.is_empty() {
        bail!("{shown} moves no partition; expected a plan with such a step");
    }
    if planned != found {
        bail!(
            "the target is not what {shown} was made for: it plans other places for its partitions. Plan again with `straddle fix --json`, or \
             give the same options (--stripe-unit, --physical-sector, …) as then"
        );
    }
    let mut read = reader(&seen.stack, false);
    for sample in kept["survival"]["samples"].as_array().into_iter().flatten() {
        let layer = sample["layer"]
            .as_u64()
            .and_then(|layer| usize::try_from(layer).ok());
        let name = layer.map(|layer| &kept["survival"]["layers"][layer]["name"]);
        let name = name.and_then(serde_json::Value::as_str).unwrap_or_default();
        let length = sample["length"]
            .as_u64()
            .and_then(|len| usize::try_from(len).ok());
        let mut bytes = vec![0; length.unwrap_or(0).min(MAX_SAMPLE)];
        let at = Bytes::new(sample["offset"].as_u64().unwrap_or(u64::MAX));
        // Several filesystems may have one name.
        let layers = seen.stack.iter().filter(|(_, layer)| layer.name == name);
        let mut layers = layers.map(|(id, _)| id);
        let is_same =
            layers.any(|id| read(id, at, &mut bytes) && sample["sha256"] == sha256(&bytes));
        if !is_same {
            bail!(
                "the target was changed since {shown} was made: bytes of {name} are not what they were. Plan again with `straddle fix --json`"
            );
        }
    }
    Ok(())
}
