//! What callers hand over, and what they get when it is wrong.

use std::time::Duration;

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use straddle::geometry::{Bytes, Family, Grid, Unit};
use straddle::trace::{ColumnMap, FORMATS, Options};
use straddle::typed;

pyo3::create_exception!(
    straddle,
    Error,
    PyException,
    "What the command would say on standard error."
);

/// An error of the kernel, in its words and those of its causes.
pub(crate) fn failed(error: &dyn std::error::Error) -> PyErr {
    Error::new_err(words(error))
}

/// The words of an error and of its causes, as the command prints them.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// An argument that is none.
pub(crate) fn wrong(why: impl Into<String>) -> PyErr {
    PyValueError::new_err(why.into())
}

/// A size in bytes, or as it is typed: 4096, "4K".
#[derive(FromPyObject)]
pub(crate) enum Size {
    /// A number of bytes.
    Number(u64),
    /// As it is typed.
    Text(String),
}

impl Size {
    fn text(&self) -> String {
        match self {
            Size::Number(number) => number.to_string(),
            Size::Text(text) => text.clone(),
        }
    }

    pub(crate) fn offset(&self) -> PyResult<Bytes> {
        typed::offset(&self.text()).map_err(wrong)
    }

    pub(crate) fn start(&self) -> PyResult<Bytes> {
        typed::start(&self.text()).map_err(wrong)
    }

    pub(crate) fn unit(&self) -> PyResult<Unit> {
        typed::unit(&self.text()).map_err(wrong)
    }

    fn grid(&self) -> PyResult<(Grid, Family)> {
        typed::grid(&self.text()).map_err(wrong)
    }
}

pub(crate) fn grids(units: Option<&[Size]>) -> PyResult<Vec<(Grid, Family)>> {
    match units {
        Some(units) => units.iter().map(Size::grid).collect(),
        None => typed::UNITS
            .split(',')
            .map(|text| typed::grid(text).map_err(wrong))
            .collect(),
    }
}

pub(crate) fn starts(offsets: Option<&[Size]>) -> PyResult<Vec<Bytes>> {
    match offsets {
        Some(offsets) => offsets.iter().map(Size::start).collect(),
        None => typed::OFFSETS
            .split(',')
            .map(|text| typed::start(text).map_err(wrong))
            .collect(),
    }
}

/// How requests are counted, as all that count them are told.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Counting {
    units: Option<Vec<Size>>,
    window: Option<Duration>,
    columns: Option<String>,
    recorder: Option<String>,
    threads: Option<usize>,
    memory: Option<usize>,
}

impl Counting {
    pub(crate) fn options(&self) -> PyResult<Options> {
        let mut options = Options::default();
        let grids = grids(self.units.as_deref())?;
        options.periods = grids.iter().map(|(grid, _)| grid.unit().get()).collect();
        if let Some(window) = self.window {
            if window < Duration::from_millis(1) {
                return Err(wrong("the window is shorter than 1 ms"));
            }
            options.window = Some(u64::try_from(window.as_nanos()).unwrap_or(u64::MAX));
        }
        if let Some(columns) = &self.columns {
            let columns = columns.parse::<ColumnMap>();
            options.columns = Some(columns.map_err(|error| wrong(error.to_string()))?);
        }
        if let Some(name) = &self.recorder {
            if !FORMATS.iter().any(|format| format.name == name) {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                let names = names.join(", ");
                return Err(wrong(format!(
                    "no recorder is called `{name}`; there are {names}"
                )));
            }
            options.format = Some(name.clone());
        }
        if let Some(threads) = self.threads {
            options.threads = threads.clamp(1, 1024);
        }
        if let Some(memory) = self.memory {
            options.memory = memory;
        }
        Ok(options)
    }
}
