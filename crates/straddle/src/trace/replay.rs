//! Recorded requests in their order, for a model or a device that works through them again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use straddle_trace::{Event, Input, Options, Record, Source, TraceError, records};
use thiserror::Error;

use crate::io::{OpenError, Target};
use crate::predict::script::{self, MAX_RECORDS};

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
    /// Requests of several devices are not one stream.
    #[error("{name}: requests of several devices: name one of {devices}")]
    Devices {
        /// The file.
        name: String,
        /// Their names.
        devices: String,
    },
}

/// The requests of one device, in the order in which they were recorded: of the step of their way that comes first in
/// [`Event::ALL`]. At most one more than can be replayed.
///
/// # Errors
/// See [`ReplayError`].
pub fn replayed(path: &Path, device: Option<&str>) -> Result<Vec<script::Record>, ReplayError> {
    let name = path.display().to_string();
    let target = Target::open(path)?;
    let input = Input {
        name: name.clone(),
        source: Source::At(&target, None),
    };
    let mut found: BTreeMap<String, BTreeMap<Event, Vec<script::Record>>> = BTreeMap::new();
    let mut visit = |record: &Record<'_>| {
        let of = record.device_name();
        if device.is_some_and(|device| device != of) {
            return ControlFlow::Continue(());
        }
        let steps = found.entry(of).or_default();
        let records = steps.entry(record.event).or_default();
        records.push(script::Record {
            access: record.access,
            start: record.start,
            len: record.len,
        });
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
