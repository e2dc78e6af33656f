//! How slow it is, and over which time.

use straddle_rules::figures::{number, time};
use straddle_stack::LayerKind;
use straddle_stack::activity::{Quantity, Span};

use super::ask::{LATENCIES, Said, having};
use crate::evidence::joined::Evidence;

pub(super) fn slowest(evidence: &Evidence) -> Said {
    let mut volumes = Vec::new();
    for latency in LATENCIES {
        for (layer, _, summary) in having(evidence, latency, Span::Interval) {
            if matches!(layer.kind, LayerKind::Filesystem | LayerKind::Device) {
                volumes.push((layer.name.clone(), latency, summary.mean.get()));
            }
        }
    }
    let mut files = Vec::new();
    for id in &evidence.measured {
        let layer = evidence.checked.stack.layer(*id);
        let Some(activity) = layer
            .activity
            .as_deref()
            .filter(|_| layer.kind == LayerKind::File)
        else {
            continue;
        };
        for latency in [Quantity::ReadLatency, Quantity::WriteLatency] {
            if let Some(counters) = activity.cumulative(latency) {
                files.push((layer.name.clone(), latency, counters.mean()));
            }
        }
    }
    let worst = |list: &mut Vec<(String, Quantity, f64)>| {
        list.sort_by(|a, b| b.2.total_cmp(&a.2));
        let (name, latency, mean) = list.first()?.clone();
        Some(format!(
            "{name} with a {} of {}",
            latency.name().replace('-', " "),
            time(mean)
        ))
    };
    let (volume, file) = (worst(&mut volumes), worst(&mut files));
    let text = match (volume, file) {
        (Some(volume), Some(file)) => {
            format!("Over the captured time {volume}; by file since the start {file}.")
        }
        (Some(volume), None) => {
            format!("Over the captured time {volume}. Of files nothing is said.")
        }
        (None, Some(file)) => format!("By file, since the start, {file}."),
        (None, None) => return None,
    };
    let needs = volumes
        .is_empty()
        .then_some("counters by volume over the same time (Performance Monitor, iostat)");
    Some((text, needs))
}

pub(super) fn now_or_since(evidence: &Evidence) -> Said {
    let layers = evidence
        .measured
        .iter()
        .map(|id| evidence.checked.stack.layer(*id));
    let mut said = Vec::new();
    let mut open = false;
    for layer in layers {
        let Some(activity) = layer.activity.as_deref() else {
            continue;
        };
        for latency in [Quantity::ReadLatency, Quantity::WriteLatency] {
            let Some(counters) = activity.cumulative(latency) else {
                continue;
            };
            match counters.between() {
                Some((mean, _)) => said.push(format!(
                    "{} {}: {} between the readings, {} since the start",
                    layer.name,
                    latency.name().replace('-', " "),
                    time(mean),
                    time(counters.mean())
                )),
                None => open = true,
            }
        }
    }
    said.truncate(6);
    match (said.is_empty(), open) {
        (false, _) => Some((said.join("; "), None)),
        (true, true) => Some((
            "Open: there is one reading of the counters, which is an average since the start."
                .to_owned(),
            Some("a second reading of the same some minutes later"),
        )),
        (true, false) => None,
    }
}

pub(super) fn sum_or_latency(evidence: &Evidence) -> Said {
    let mut example = None;
    for (time_sum, count) in [
        (Quantity::ReadTime, Quantity::Reads),
        (Quantity::WriteTime, Quantity::Writes),
    ] {
        for (layer, activity, sum) in having(evidence, time_sum, Span::SinceStart) {
            if let Some(count) = activity
                .counter(count)
                .filter(|count| count.last.value.get() > 0.0)
            {
                example = example.or(Some((layer, sum.last.value.get(), count.last.value.get())));
            }
        }
    }
    let (layer, sum, count) = example?;
    let text = format!(
        "Stall columns are sums over all requests: of {} {} ÷ {} requests = {} each.",
        layer.name,
        time(sum),
        number(count),
        time(sum / count)
    );
    Some((text, None))
}

pub(super) fn why_they_disagree(evidence: &Evidence) -> Said {
    let intervals = LATENCIES
        .into_iter()
        .flat_map(|latency| having(evidence, latency, Span::Interval))
        .max_by(|a, b| a.2.mean.get().total_cmp(&b.2.mean.get()))?;
    let mut since = Vec::new();
    for id in &evidence.measured {
        let layer = evidence.checked.stack.layer(*id);
        let activity = layer
            .activity
            .as_deref()
            .filter(|_| layer.kind == LayerKind::File);
        let counters = activity.and_then(|activity| activity.cumulative(Quantity::ReadLatency));
        since.extend(counters.map(|counters| (layer, counters.mean())));
    }
    let (layer, mean) = since.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "They are of different times: {} on {} is a mean of {} intervals, {} of {} a mean since SQL Server started, with every backup and every \
         bad hour in it. File statistics are taken by SQL Server itself, and include what lies between it and the disk's driver.",
        time(intervals.2.mean.get()),
        intervals.0.name,
        intervals.2.count,
        time(mean),
        layer.name
    );
    Some((
        text,
        Some("two readings of the file statistics at the beginning and at the end of the counters"),
    ))
}
