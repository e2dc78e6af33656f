//! Stalls, and log writes off the sectors.

use straddle_rules::figures::{counted, number, time, whole};
use straddle_stack::Layer;
use straddle_stack::activity::{Activity, Moment, Quantity, Span, Summary};

use super::ask::{LATENCIES, Said, having};
use crate::evidence::joined::Evidence;

/// The volume of a file: as it was measured, or by the letter of its path.
pub(super) fn volume(evidence: &Evidence, path: &str) -> String {
    if let Some(volume) = evidence.gathered.volume_of(path) {
        return format!("volume {volume}");
    }
    match path.split_once(":\\") {
        Some((letter, _)) if letter.len() == 1 => {
            format!("volume {}: (by its letter)", letter.to_uppercase())
        }
        _ => "an unknown volume".to_owned(),
    }
}

pub(super) fn which_file_stalls(evidence: &Evidence) -> Said {
    let mut stalls = having(evidence, Quantity::Stalled, Span::Event);
    stalls.sort_by(|a, b| b.2.sum.get().total_cmp(&a.2.sum.get()));
    let of = |(layer, _, summary): &(&Layer, &Activity, &Summary)| {
        format!(
            "{} on {}: {}, {}",
            layer.name,
            volume(evidence, &layer.name),
            counted(summary.count, "line"),
            counted(whole(summary.sum.get()), "occurrence")
        )
    };
    let first: Vec<String> = stalls.iter().take(5).map(of).collect();
    let more = match stalls.len().saturating_sub(5) {
        0 => String::new(),
        n => format!("; {}", counted(n, "other file")),
    };
    let needs = "the mount points of the server (mountvol, or `straddle check` of a capture): a folder may be another volume than its letter";
    (!first.is_empty()).then(|| (format!("{}{more}", first.join("; ")), Some(needs)))
}

pub(super) fn is_it_a_number_of_requests(evidence: &Evidence) -> Said {
    let stalls = having(evidence, Quantity::Stalled, Span::Event);
    let lines: u64 = stalls.iter().map(|(_, _, summary)| summary.count).sum();
    let sum: f64 = stalls.iter().map(|(_, _, summary)| summary.sum.get()).sum();
    (lines > 0).then(|| {
        let text = format!(
            "No. {} in {} are requests found waiting at a check, and one is counted at every check for as long as it \
             waits: the number of slow requests is {} at most.",
            counted(whole(sum), "occurrence"),
            counted(lines, "line"),
            number(sum)
        );
        (text, None)
    })
}

const TIMES: &str = "the lines with their times: ERRORLOG itself, or the events with TimeCreated";

pub(super) fn storage_or_clock(evidence: &Evidence) -> Said {
    let stalls = having(evidence, Quantity::Stalled, Span::Event);
    if stalls.is_empty() {
        return None;
    }
    let Some((first, last)) = stretch_of(&stalls) else {
        return Some((
            "Open: the lines do not say when the requests waited.".to_owned(),
            Some(TIMES),
        ));
    };
    let measured = LATENCIES
        .into_iter()
        .flat_map(|latency| having(evidence, latency, Span::Interval));
    let same_time = measured.filter(|(_, _, summary)| {
        let begins = summary.first.at.is_some_and(|at| at <= last);
        begins && summary.last.at.is_some_and(|at| at >= first)
    });
    let worst = same_time.max_by(|a, b| a.2.max.value.get().total_cmp(&b.2.max.value.get()));
    Some(match worst {
        Some((layer, _, summary)) if summary.max.value.get() >= 1.0 => (
            format!(
                "The storage: over the same time the longest mean of an interval is {} on {}.",
                time(summary.max.value.get()),
                layer.name
            ),
            None,
        ),
        Some((layer, _, summary)) => (
            format!(
                "The counters of the same time show no more than {} ({}). Either the stalls are of another volume, or a clock is wrong: power \
                 saving and drifting processors do that to SQL Server 2005 and older.",
                time(summary.max.value.get()),
                layer.name
            ),
            Some(
                "Avg. Disk sec/Transfer of the volume that stalls, at an interval of 15 s or shorter",
            ),
        ),
        None => (
            format!("Open: nothing here measures the disks between {first} and {last}."),
            Some(
                "Avg. Disk sec/Transfer of the same minutes; on SQL Server 2005 and older also whether power saving is on",
            ),
        ),
    })
}

/// From the first moment to the last.
fn stretch_of(series: &[(&Layer, &Activity, &Summary)]) -> Option<(Moment, Moment)> {
    let moments = series
        .iter()
        .flat_map(|(_, _, summary)| {
            [
                summary.first.at,
                summary.last.at,
                summary.max.at,
                summary.min.at,
            ]
        })
        .flatten();
    let (mut first, mut last) = (None, None);
    for moment in moments {
        first = Some(first.map_or(moment, |first: Moment| first.min(moment)));
        last = Some(last.map_or(moment, |last: Moment| last.max(moment)));
    }
    first.zip(last)
}

pub(super) fn what_to_hand_over(evidence: &Evidence) -> Said {
    let stalls = having(evidence, Quantity::Stalled, Span::Event);
    let stretch = match stretch_of(&stalls) {
        Some((first, last)) => format!("between {first} and {last} on the server's clock"),
        None => "at times that the lines do not say".to_owned(),
    };
    let volumes: std::collections::BTreeSet<String> = stalls
        .iter()
        .map(|(layer, _, _)| volume(evidence, &layer.name))
        .collect();
    let worst = stalls
        .iter()
        .max_by(|a, b| a.2.max.value.get().total_cmp(&b.2.max.value.get()))?;
    let at = worst
        .2
        .max
        .at
        .map_or_else(String::new, |at| format!(" at {at}"));
    let text = format!(
        "This page, and: requests to {} waited 15 s or longer {stretch}; most at one check: {}{at}. What did \
         the array and the paths do then: failover, snapshots, replication, a full pool, a rebuild?",
        volumes.into_iter().collect::<Vec<_>>().join(", "),
        number(worst.2.max.value.get())
    );
    Some((
        text,
        Some(
            "serial numbers or LUN numbers of the volumes (`straddle capture --with-serials`), and the offset of the two clocks",
        ),
    ))
}

pub(super) fn which_sectors(evidence: &Evidence) -> Said {
    let asked = Some("`fsutil fsinfo sectorinfo X:` of the log's volume on every replica");
    let lying = having(evidence, Quantity::VolumeSector, Span::Event);
    if let Some((layer, activity, volume)) = lying.first() {
        let made_for = activity.mean(Quantity::FormattedSector, Span::Event);
        let made_for = made_for.map_or_else(String::new, |made_for| {
            format!(
                "was made for sectors of {} bytes and ",
                number(made_for.max.value.get())
            )
        });
        let text = format!(
            "Here {} {made_for}lies on sectors of {} bytes; which other server has which, its own log says.",
            layer.name,
            number(volume.max.value.get())
        );
        return Some((text, asked));
    }
    let misaligned = having(evidence, Quantity::MisalignedLogIo, Span::Event);
    let (layer, _, _) = misaligned.first()?;
    let text = format!(
        "This instance writes {} on larger physical sectors than those for which the log blocks were made; which sizes, and which replica made \
         them, the message does not say.",
        layer.name
    );
    Some((text, asked))
}
