//! What the command prints with `--json`.

use std::path::PathBuf;

use pyo3::prelude::*;
use straddle::check::{KINDS, Kind, Options, Outcome, nothing_known};
use straddle::report::trace::Document;
use straddle::report::{Digest, Fleet, SCHEMA, json};
use straddle::trace::Asked;

use crate::arguments::{Counting, Error, Size, failed, grids, starts, words, wrong};

fn not_written(error: serde_json::Error) -> PyErr {
    failed(&error)
}

/// The document of `straddle check --json`.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    take_as: &str,
    io: Option<Vec<Size>>,
    sysroot: Option<PathBuf>,
) -> PyResult<String> {
    let mut options = Options {
        take_as: match take_as {
            "auto" => None,
            kind => Some(Kind::named(kind).ok_or_else(|| {
                let kinds: Vec<&str> = KINDS.iter().map(|about| about.name).collect();
                wrong(format!("`{kind}` is none of auto, {}", kinds.join(", ")))
            })?),
        },
        sysroot,
        ..Options::default()
    };
    if let Some(io) = io {
        options.io = io.iter().map(Size::unit).collect::<PyResult<_>>()?;
    }
    py.detach(|| checked(&paths, options))
}

fn checked(paths: &[PathBuf], options: Options) -> PyResult<String> {
    let check = straddle::check(paths, options).map_err(|error| failed(&error))?;
    let (mut fleet, mut targets, mut failures) = (Fleet::default(), Vec::new(), Vec::new());
    for report in check.reports() {
        match report.outcome {
            Ok(Outcome::Checked(checked)) => {
                targets.push(json::line(&checked.document()).map_err(not_written)?);
                fleet.add(Digest::of(&checked));
            }
            Ok(Outcome::Unrecognised(why)) => {
                // A single file of which nothing is known is an error, as on the command line.
                if let ([only], false) = (paths, nothing_known(why).is_empty())
                    && !only.is_dir()
                {
                    let (target, why) = (&report.target, nothing_known(why));
                    return Err(Error::new_err(format!("{target}: {why}")));
                }
                fleet.unrecognised(why, report.target);
            }
            Err(error) => {
                fleet.failed();
                let error = words(&error);
                failures.push(serde_json::json!({ "target": report.target, "error": error }));
            }
        }
    }
    let line = |value: &serde_json::Value| json::line(value).map_err(not_written);
    Ok(format!(
        "{{\"schema\":{},\"straddle\":{},\"targets\":[{}],\"failures\":{},\"summary\":{}}}",
        json::line(SCHEMA).map_err(not_written)?,
        json::line(env!("CARGO_PKG_VERSION")).map_err(not_written)?,
        targets.join(","),
        line(&failures.into())?,
        json::line(&fleet.summary()).map_err(not_written)?,
    ))
}

/// What is asked about requests, however they were counted.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Question {
    units: Option<Vec<Size>>,
    offsets: Option<Vec<Size>>,
    start: Size,
    relative: bool,
    only: Vec<String>,
    devices: usize,
}

impl Question {
    pub(crate) fn asked(&self) -> PyResult<Asked> {
        Ok(Asked {
            grids: grids(self.units.as_deref())?,
            start: self.start.start()?,
            is_relative: self.relative,
            starts: starts(self.offsets.as_deref())?,
            only: self.only.clone(),
            devices: self.devices,
            ..Asked::default()
        })
    }
}

/// The document of `straddle trace --json`.
#[pyfunction]
pub(crate) fn trace(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    question: Question,
    counting: Counting,
    stack: Option<PathBuf>,
    layer: Option<String>,
) -> PyResult<String> {
    let asked = Asked {
        inputs: paths,
        stack,
        layer,
        options: counting.options()?,
        ..question.asked()?
    };
    py.detach(|| {
        let trace = straddle::trace(&asked).map_err(|error| failed(&error))?;
        json::line(&Document::new(&trace)).map_err(not_written)
    })
}
