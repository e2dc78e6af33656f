//! Recorded requests in their order, for a model or a device that works through them again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use straddle_trace::{Event, Input, Options, Record, Source, TraceError, records};
use thiserror::Error;

use crate::geometry::Bytes;
use crate::io::{OpenError, Target};
use crate::predict::script::{self, MAX_RECORDS};
use crate::workload::recording::{Recorded, Recording, Unusable};

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is none, or not a known one.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// It could not be read to its end.
    #[error("{name}: not read to its end: {why}")]
    Stopped {
        /// The file.
        name: String,
        /// Why.
        why: String,
    },
    /// Lines were not understood, so that it is not known what is missing.
    #[error("{name}:{line}: {why}; {bad} of its lines were not understood")]
    Bad {
        /// The file.
        name: String,
        /// The first of them.
        line: u64,
        /// What is wrong with it.
        why: String,
        /// How many there are.
        bad: u64,
    },
    /// Its requests cannot be made.
    #[error("{name}: {why}")]
    Unusable {
        /// The file.
        name: String,
        /// Why not.
        why: Unusable,
    },
    /// Requests of several devices are not one stream.
    #[error("{name}: requests of several devices: name one of {devices}")]
    Devices {
        /// The file.
        name: String,
        /// Their names.
        devices: String,
    },
}

/// The requests of one device for a model.
///
/// # Errors
/// See [`ReplayError`].
pub fn replayed(path: &Path, device: Option<&str>) -> Result<Vec<script::Record>, ReplayError> {
    of_one_device(path, device, |record| script::Record {
        access: record.access,
        start: record.start,
        len: record.len,
    })
}

/// The requests of one device for storage, with the number of those that were left out because they begin before `start`, where the data
/// begin in what was recorded.
///
/// # Errors
/// See [`ReplayError`].
pub fn recording(
    path: &Path,
    device: Option<&str>,
    start: Bytes,
) -> Result<(Recording, u64), ReplayError> {
    let found = of_one_device(path, device, |record| Recorded {
        access: record.access,
        start: record.start,
        len: record.len,
        time: record.time,
    })?;
    let name = path.display().to_string();
    if found.len() > MAX_RECORDS {
        return Err(ReplayError::Unusable {
            name,
            why: Unusable {
                found: format!("more than {MAX_RECORDS} requests"),
                expected: "a shorter trace, or a part of this one".to_owned(),
            },
        });
    }
    let all = found.len();
    let inside = found.into_iter().filter_map(|request| {
        let place = request.start.checked_sub(start.get())?;
        Some(Recorded {
            start: place,
            ..request
        })
    });
    let inside: Vec<Recorded> = inside.collect();
    let left_out = (all - inside.len()) as u64;
    let recording = Recording::new(inside);
    Ok((
        recording.map_err(|why| ReplayError::Unusable { name, why })?,
        left_out,
    ))
}

/// The requests of one device, in the order in which they were recorded: of the step of their way that comes first in
/// [`Event::ALL`]. At most one more than can be replayed.
fn of_one_device<T>(
    path: &Path,
    device: Option<&str>,
    make: impl Fn(&Record<'_>) -> T + Sync,
) -> Result<Vec<T>, ReplayError>
where
    T: Send,
{
    let name = path.display().to_string();
    let target = Target::open(path)?;
    let input = Input {
        name: name.clone(),
        source: Source::At(&target, None),
    };
    let mut found: BTreeMap<String, BTreeMap<Event, Vec<T>>> = BTreeMap::new();
    let mut visit = |record: &Record<'_>| {
        let of = record.device_name();
        if device.is_some_and(|device| device != of) {
            return ControlFlow::Continue(());
        }
        let steps = found.entry(of).or_default();
        let records = steps.entry(record.event).or_default();
        records.push(make(record));
        match records.len() > MAX_RECORDS {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let (file, summary) = records(input, &Options::default(), &mut visit)?;
    if let Some(why) = file.stopped {
        return Err(ReplayError::Stopped { name, why });
    }
    if let Some(bad) = summary.bad.first() {
        return Err(ReplayError::Bad {
            name,
            line: bad.line,
            why: bad.fault.says(),
            bad: summary.counts.bad,
        });
    }
    if found.len() > 1 {
        let devices: Vec<&str> = found.keys().map(String::as_str).take(20).collect();
        return Err(ReplayError::Devices {
            name,
            devices: devices.join(", "),
        });
    }
    let mut steps = found.into_values().next().unwrap_or_default();
    let chosen = Event::ALL.iter().find_map(|event| steps.remove(event));
    Ok(chosen.unwrap_or_default())
}
