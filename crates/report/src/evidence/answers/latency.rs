//! How slow it is, and over which time.

use std::collections::HashMap;

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
    let drives = by_drive(evidence);
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
    let text = format!("{text}{}", drives.unwrap_or_default());
    let needs = volumes
        .is_empty()
        .then_some("counters by volume over the same time (Performance Monitor, iostat)");
    Some((text, needs))
}

/// Requests, and the sum of their times.
type Sums = HashMap<String, (f64, f64)>;

/// The means of files by drive, and by database on the slowest drive: of all their requests, not of their means.
fn by_drive(evidence: &Evidence) -> Option<String> {
    const SHOWN: usize = 4;
    let mut files = Vec::new();
    for id in &evidence.measured {
        let layer = evidence.checked.stack.layer(*id);
        let activity = layer.activity.as_deref();
        let Some(activity) = activity.filter(|_| layer.kind == LayerKind::File) else {
            continue;
        };
        for latency in [Quantity::ReadLatency, Quantity::WriteLatency] {
            if let Some(counters) = activity.cumulative(latency) {
                let sums = (
                    counters.count.last.value.get(),
                    counters.time.last.value.get(),
                );
                files.push((
                    &*layer.name,
                    super::stalls::volume(evidence, &layer.name),
                    sums,
                ));
            }
        }
    }
    let slowest = |sums: Sums| -> Vec<(String, f64, f64)> {
        let mean = |(name, (count, time)): (String, (f64, f64))| (name, time / count, count);
        let mut means: Vec<_> = sums.into_iter().map(mean).collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        means
    };
    let add = |sums: &mut Sums, name: String, (count, time): (f64, f64)| {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + count, sum.1 + time);
    };
    let mut sums = Sums::new();
    for (_, drive, of) in &files {
        add(&mut sums, drive.clone(), *of);
    }
    let drives = slowest(sums);
    let mut sums = Sums::new();
    for (file, drive, of) in &files {
        if drives.first().is_some_and(|(first, ..)| first == drive)
            && let Some(database) = evidence.gathered.database_of(file)
        {
            add(&mut sums, database.to_owned(), *of);
        }
    }
    let shown = |(name, mean, count): &(String, f64, f64)| {
        format!("{name} {} over {} requests", time(*mean), number(*count))
    };
    let list: Vec<String> = drives.iter().take(SHOWN).map(shown).collect();
    let database = slowest(sums).first().map_or_else(String::new, |first| {
        format!("; on the first, database {}", shown(first))
    });
    (!list.is_empty()).then(|| {
        format!(
            " By drive, from the files on it, since the start: {}{database}.",
            list.join(", ")
        )
    })
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
            "Open: there is one reading of the counters since they began, which is an average since then."
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
        for latency in [Quantity::ReadLatency, Quantity::WriteLatency] {
            let counters = activity.and_then(|activity| activity.cumulative(latency));
            since.extend(counters.map(|counters| (layer, counters.mean())));
        }
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
