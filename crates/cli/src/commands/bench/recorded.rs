//! A recorded trace in place of a workload: `--replay TRACE`.

use anyhow::{Context as _, bail};
use std::path::Path;
use std::sync::Arc;
use straddle::bench::plan::Replayed;
use straddle::bench::run::Replay;
use straddle::geometry::Bytes;
use straddle::trace::recording;
use straddle::workload::recording::Fit;

use super::intent::{Wanted, from_args};
use crate::args::bench::{Bench, FitArg};

/// What is to be made of a trace.
pub(super) fn read(args: &Bench, path: &Path) -> anyhow::Result<(Wanted, (Replayed, Replay))> {
    let asked = &args.recorded;
    let device = asked.device.clone();
    let start = asked
        .replay_start
        .as_ref()
        .map_or(Bytes::ZERO, |start| start.bytes);
    let (recording, left_out) = recording(path, device.as_deref(), start)?;
    let speed = match (asked.replay_speed, asked.timed) {
        (Some(speed), _) => Some(speed),
        (None, true) => Some(1.0),
        (None, false) => None,
    };
    if speed.is_some() && recording.took().is_none() {
        bail!(
            "{} does not say when each request was made, so it cannot be timed; leave --timed and --replay-speed out to make them as fast as possible",
            path.display()
        );
    }
    let replay = Replay {
        recording: Arc::new(recording),
        fit: match asked.replay_fit {
            FitArg::Wrap => Fit::Wrap,
            FitArg::Scale => Fit::Scale,
        },
        speed,
    };
    let recording = &replay.recording;
    let replayed = Replayed {
        file: std::path::absolute(path)?,
        device,
        start,
        requests: recording.requests().len() as u64,
        left_out,
        end: recording.end(),
        fit: replay.fit,
        speed,
        digest: replay.digest(),
    };
    let mut wanted = from_args(args)?;
    wanted.cells = Vec::new();
    for workers in &args.workload.workers {
        for outstanding in &args.workload.outstanding {
            wanted
                .cells
                .push(recording.workload(*workers, *outstanding));
        }
    }
    if left_out > 0 {
        wanted.remarks.push(format!(
            "{left_out} requests begin before --replay-start and are left out"
        ));
    }
    if speed.is_some() {
        wanted.remarks.push(
            "timed: as long as the storage keeps up, every offset makes the same requests each second; compare latencies"
                .to_owned(),
        );
    }
    Ok((wanted, (replayed, replay)))
}

/// The recording of an experiment that goes on, which has to be the same.
pub(super) fn again(replayed: &Replayed) -> anyhow::Result<Replay> {
    let file = replayed.file.display();
    let (recording, _) = recording(&replayed.file, replayed.device.as_deref(), replayed.start)
        .with_context(|| format!("the recording {file} is needed to go on"))?;
    let replay = Replay {
        recording: Arc::new(recording),
        fit: replayed.fit,
        speed: replayed.speed,
    };
    if replay.digest() != replayed.digest {
        bail!(
            "{file} has other requests than when the experiment began; the samples so far cannot be continued. Remove the journal and start over"
        );
    }
    Ok(replay)
}
