//! A plan that was saved: carried out only while it still describes the target.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, bail};
use straddle::fix::Before;
use straddle::report::fix::{Document, SCHEMA};

use super::seen::Seen;

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
    let now = serde_json::to_value(Document::new(&seen.name, &seen.plan))?;
    let of = |document: &serde_json::Value| -> Vec<serde_json::Value> {
        let steps = document["steps"].as_array().into_iter().flatten();
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
    let mut survival = seen.plan.survival.clone();
    survival.sample(
        &seen.stack,
        &seen.plan.after,
        &seen.plan.steps,
        &mut crate::commands::fix::reader(&seen.stack),
    );
    let now = samples(&serde_json::to_value(&survival)?);
    let is_other =
        |(place, sum): (&String, &serde_json::Value)| now.get(place).is_some_and(|now| now != sum);
    if samples(&kept["survival"]).iter().any(is_other) {
        bail!(
            "the target was changed since {shown} was made: its contents are not what they were. Plan again with `straddle fix --json`"
        );
    }
    Ok(())
}

/// Digests of samples, by the names of their layers and their places.
fn samples(survival: &serde_json::Value) -> BTreeMap<String, serde_json::Value> {
    let samples = survival["samples"].as_array().into_iter().flatten();
    let samples = samples.map(|sample| {
        let layer = sample["layer"]
            .as_u64()
            .and_then(|layer| usize::try_from(layer).ok());
        let layer = layer.map_or(&serde_json::Value::Null, |layer| {
            &survival["layers"][layer]["name"]
        });
        let place = format!("{layer} {} {}", sample["offset"], sample["length"]);
        (place, sample["sha256"].clone())
    });
    samples.collect()
}
