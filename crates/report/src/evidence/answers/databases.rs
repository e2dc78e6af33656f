//! What databases say of themselves.

use straddle_rules::figures::{number, time};
use straddle_stack::activity::{Quantity, Span, Statistic};

use super::ask::{Said, having};
use crate::evidence::joined::Evidence;

pub(super) fn checkpoint(evidence: &Evidence) -> Said {
    let servers = having(evidence, Quantity::CheckpointSync, Span::Event);
    let which = match servers.len() > 1 {
        true => "Of the slowest of several servers, ",
        false => "",
    };
    let slowest = servers.into_iter();
    let slowest = slowest.max_by(|a, b| a.2.mean.get().total_cmp(&b.2.mean.get()));
    let (layer, activity, sync) = slowest?;
    let which = match which {
        "" => String::new(),
        which => format!("{which}{}: ", layer.name),
    };
    let write = activity.mean(Quantity::CheckpointWrite, Span::Event)?;
    let longest = activity.mean(Quantity::CheckpointLongestSync, Span::Event);
    let longest = longest.map_or_else(String::new, |longest| {
        format!(
            "; the longest wait for one file is {}",
            time(longest.max.value.get())
        )
    });
    let text = format!(
        "{which}Writing took {} on average and is spread on purpose; syncing took {} on average, {} at most, and is the disk{longest}.",
        time(write.mean.get()),
        time(sync.mean.get()),
        time(sync.max.value.get())
    );
    Some((text, None))
}

pub(super) fn etcd(evidence: &Evidence) -> Said {
    let target = evidence.options.targets.flush;
    let layers = evidence
        .measured
        .iter()
        .map(|id| evidence.checked.stack.layer(*id));
    let tail = layers.filter_map(|layer| {
        let activity = layer.activity.as_deref()?;
        let p99 = activity.find(
            Quantity::FlushLatency,
            Statistic::Percentile(99_000),
            Span::Run,
        )?;
        Some((layer, p99.max.value.get()))
    });
    let (layer, p99) = tail.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // etcd's FAQ, "What does the etcd warning 'failed to send out heartbeat on time' mean?"; the pass mark of OpenShift's disk test.
    let (asked, bearable) = (0.010, 0.020);
    let mut verdict = match p99 {
        p if p <= asked => "No: it is within the 10 ms that etcd's FAQ asks for.",
        p if p <= bearable => {
            "It is above the 10 ms that etcd's FAQ asks for, and within the 20 ms of OpenShift's test: enough for a quiet cluster; under load \
             elections become likely."
        }
        _ => "Yes: it is above the 10 ms of etcd's FAQ and the 20 ms of OpenShift's test; under load leaders lose their place.",
    }
    .to_owned();
    if (target - asked).abs() > f64::EPSILON {
        verdict.push_str(&format!(
            " The target that was given is {}: {}.",
            time(target),
            if p99 <= target { "kept" } else { "missed" }
        ));
    }
    Some((format!("{}: {}. {verdict}", layer.name, time(p99)), None))
}

pub(super) fn backup(evidence: &Evidence) -> Said {
    let mut rates = Vec::new();
    for (layer, activity, pages) in having(evidence, Quantity::BackupPages, Span::Event) {
        let seconds = activity.mean(Quantity::BackupTime, Span::Event)?;
        if seconds.sum.get() > 0.0 {
            rates.push((layer, pages.sum.get() * 8192.0 / seconds.sum.get()));
        }
    }
    let (layer, rate) = rates.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "{} reached {} million bytes a second. The limit is the slower of reading the data files in requests of up to 1 MiB and writing the target. \
         A backup to NUL writes nothing: its rate is that of reading alone, and what the real one lacks is the target's.",
        layer.name,
        number((rate / 1e5).round() / 10.0)
    );
    Some((
        text,
        Some(
            "BACKUP … TO DISK = 'NUL' WITH COPY_ONLY, and `straddle bench --rw read --io 1M` on both volumes",
        ),
    ))
}
