//! Counts of recorded requests.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use straddle::io::{ReadAt, Target};
use straddle::report::json;
use straddle::report::trace::Document;
use straddle::trace::{Counter, Input, Options, Source, Statistics, judged, scan};

use crate::arguments::{Counting, failed};
use crate::batches::{Columns, count};
use crate::capsule::{Batches, batches};
use crate::documents::Question;
use crate::file::PyFile;

/// Everything that was counted of recorded requests. See `straddle.Counts`, which says what its methods take.
#[pyclass(frozen, module = "straddle._straddle", name = "Counts")]
pub(crate) struct Counts(Mutex<Statistics>);

impl Counts {
    fn of(statistics: Statistics) -> Counts {
        Counts(Mutex::new(statistics))
    }

    fn statistics(&self) -> MutexGuard<'_, Statistics> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> PyResult<Vec<u8>> {
        self.statistics().to_bytes().map_err(|error| failed(&error))
    }
}

fn scanned(
    name: &str,
    source: &dyn ReadAt,
    begin: Option<u64>,
    end: Option<u64>,
    options: &Options,
) -> PyResult<Statistics> {
    let range = match (begin, end) {
        (None, None) => None,
        (begin, end) => Some((begin.unwrap_or(0), end.unwrap_or(u64::MAX))),
    };
    let input = Input {
        name: name.to_owned(),
        source: Source::At(source, range),
    };
    let (statistics, failures) = scan(vec![input], options).map_err(|error| failed(&error))?;
    match failures.first() {
        Some(failure) => Err(failed(failure)),
        None => Ok(statistics),
    }
}

#[pymethods]
impl Counts {
    /// Counts the lines that begin in a range of a file.
    #[staticmethod]
    #[pyo3(name = "scan")]
    fn scan_range(
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        name: String,
        begin: Option<u64>,
        end: Option<u64>,
        counting: Counting,
    ) -> PyResult<Counts> {
        let mut options = counting.options()?;
        let statistics = match file.extract::<PathBuf>() {
            Ok(path) => py.detach(|| {
                let target = Target::open(Path::new(&path)).map_err(|error| failed(&error))?;
                scanned(&name, &target, begin, end, &options)
            }),
            Err(_) => {
                // Only one thread at a time can be in Python.
                options.threads = 1;
                let file = PyFile::new(file)?;
                py.detach(|| scanned(&name, &file, begin, end, &options))
            }
        };
        statistics.map(Counts::of)
    }

    /// Counts rows of batches.
    #[staticmethod]
    fn from_batches(
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: String,
        columns: Columns,
        counting: Counting,
    ) -> PyResult<Counts> {
        let mut counter = Counter::new(&name, &counting.options()?);
        let mut counted = |some: Batches| -> PyResult<()> {
            py.detach(|| {
                for batch in some {
                    let batch = batch.map_err(|error| failed(&error))?;
                    count(&batch, &columns, &mut counter)?;
                }
                Ok(())
            })
        };
        if let Some(some) = batches(object)? {
            counted(some)?;
        } else {
            let kind = object.get_type().name()?.to_string();
            let each = object.try_iter().map_err(|_| {
                PyTypeError::new_err(format!(
                    "{kind} is no Arrow table or batch, and nothing that yields them"
                ))
            })?;
            for one in each {
                let one = one?;
                let some = batches(&one)?.ok_or_else(|| {
                    let kind = one.get_type().name().map(|name| name.to_string());
                    let kind = kind.unwrap_or_default();
                    PyTypeError::new_err(format!("{kind} is no Arrow table or batch"))
                })?;
                counted(some)?;
            }
        }
        let statistics = py.detach(|| counter.finish());
        statistics.map(Counts::of).map_err(|error| failed(&error))
    }

    /// Reads what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Counts> {
        let read = py.detach(|| Statistics::from_bytes(bytes));
        read.map(Counts::of).map_err(|error| failed(&error))
    }

    /// All of it as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Adds others to these.
    fn join(&self, py: Python<'_>, other: &Bound<'_, Counts>) -> PyResult<()> {
        let other = other.get();
        py.detach(|| {
            let other = Statistics::from_bytes(&other.bytes()?).map_err(|error| failed(&error))?;
            let joined = self.statistics().join(other);
            joined.map_err(|error| failed(&error))
        })
    }

    /// The document about these.
    fn answer(&self, py: Python<'_>, question: Question) -> PyResult<String> {
        let mut asked = question.asked()?;
        py.detach(|| {
            let mut statistics = self.statistics();
            let names = statistics
                .files()
                .iter()
                .map(|file| file.name.as_str().into());
            asked.inputs = names.collect();
            let trace = judged(&mut statistics, &asked).map_err(|error| failed(&error))?;
            json::line(&Document::new(&trace)).map_err(|error| failed(&error))
        })
    }

    /// How many lines or rows were what.
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.statistics().counts();
        let lines = PyDict::new(py);
        lines.set_item("requests", counts.requests)?;
        lines.set_item("other", counts.other)?;
        lines.set_item("bad", counts.bad)?;
        Ok(lines)
    }

    /// The first rows or lines that could not be understood, of all files.
    fn bad(&self) -> Vec<(String, u64, String, String)> {
        let statistics = self.statistics();
        let mut bad = Vec::new();
        for (number, file) in statistics.files().iter().enumerate() {
            for line in statistics.file(number).bad {
                bad.push((file.name.clone(), line.line, line.fault.says(), line.text));
            }
        }
        bad
    }
}
