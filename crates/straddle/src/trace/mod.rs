//! What each offset would cost recorded requests, on the grids of a stack or on any that are named.

mod below;
mod replay;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::check::{CheckError, text};
use crate::geometry::{Bytes, Family, Grid};
use crate::inputs::{self, Found};
use crate::io::Target;
use crate::report::trace::{Boundary, Failure, Section, Trace};
use crate::sources::Overrides;

use below::Below;

pub use replay::{ReplayError, recording, replayed};
pub use straddle_trace::{
    Answer, ColumnMap, Counter, Event, FORMATS, Fault, Format, Input, JoinError, Options, PERIOD,
    Question, Record, STEP, Scanner, Source, Statistics, TABLES, TraceError, Translate, WireError,
    access, answer, records, scan,
};

/// What is asked of traces.
#[derive(Clone, Default)]
pub struct Asked {
    /// Files, folders of them, `-` for standard input.
    pub inputs: Vec<PathBuf>,
    /// Grids in recorded addresses, each with what crossing a boundary costs, for traces without a stack.
    pub grids: Vec<(Grid, Family)>,
    /// What the recorded devices rest on, as [`check`](crate::check()) takes it.
    pub stack: Option<PathBuf>,
    /// The layer of that stack that was recorded, where names do not tell.
    pub layer: Option<String>,
    /// What is known of the stack beyond what it says.
    pub overrides: Overrides,
    /// Where what was recorded begins today.
    pub start: Bytes,
    /// Recorded addresses count from there.
    pub is_relative: bool,
    /// Other places where it could begin.
    pub starts: Vec<Bytes>,
    /// Only these devices.
    pub only: Vec<String>,
    /// As many devices are looked at at every start.
    pub devices: usize,
    /// How traces are read.
    pub options: Options,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The stack cannot be had.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// There is no such layer in it.
    #[error("{0}")]
    Layer(String),
    /// There are too many stretches of time.
    #[error("more than {MAX_WINDOWS} windows; ask for windows of at least {} seconds", .0 / 1_000_000_000 + 1)]
    Windows(u64),
    /// Counts could not be kept.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing was counted from which this follows.
    #[error("units of {0} were not counted: name them where requests are counted")]
    Uncounted(Bytes),
    /// Nor read again.
    #[error("counts that were kept in a temporary file could not be read again: {0}")]
    Reread(io::Error),
}

/// Reads traces, and says what their requests cost at each start.
///
/// # Errors
/// When there is no stack of that name, or no room for counts. What is wrong with an input is in the answer.
pub fn trace(asked: &Asked) -> Result<Trace, Error> {
    let below = asked
        .stack
        .as_deref()
        .map(|target| Below::new(target, asked))
        .transpose()?
        .map(Arc::new);
    let mut options = asked.options.clone();
    let grids = asked.grids.iter().map(|(grid, _)| grid.unit().get());
    options.periods = grids
        .chain(below.iter().flat_map(|below| below.units()))
        .collect();
    options.translate = below.clone().map(|below| below as Arc<dyn Translate>);
    let mut reading = Reading {
        scanner: Scanner::new(&options),
        failures: Vec::new(),
        passed_over: 0,
    };
    inputs::each(
        &asked.inputs,
        "a file that a recorder wrote, or a folder of them",
        &mut |found| reading.take(found),
    );
    let Reading {
        scanner,
        mut failures,
        passed_over,
    } = reading;
    let mut statistics = scanner.finish()?;
    if let Some(below) = &below {
        failures.extend(below.strangers(&statistics));
    }
    let trace = report(asked, below.as_deref(), &mut statistics, failures)?;
    Ok(Trace {
        passed_over,
        ..trace
    })
}

/// Says what requests that were counted before cost at each start, on the grids that are asked about: inputs and options say only what
/// they are called, and a stack would have had to be followed when they were counted.
///
/// # Errors
/// When a grid has a unit that was not counted, and when counts cannot be read again.
pub fn judged(statistics: &mut Statistics, asked: &Asked) -> Result<Trace, Error> {
    let units = asked.grids.iter().map(|(grid, _)| grid.unit());
    for unit in units {
        let is_counted = PERIOD.is_multiple_of(unit.get())
            || statistics.periods().any(|period| period == unit.get());
        if !is_counted {
            return Err(Error::Uncounted(unit.bytes()));
        }
    }
    report(asked, None, statistics, Vec::new())
}

fn report(
    asked: &Asked,
    below: Option<&Below>,
    statistics: &mut Statistics,
    mut failures: Vec<Failure>,
) -> Result<Trace, Error> {
    if let (Some(width), Some((from, to))) = (statistics.window(), statistics.span())
        && (to - from) / width >= MAX_WINDOWS
    {
        return Err(Error::Windows((to - from) / MAX_WINDOWS));
    }
    if below.is_none() {
        failures.extend(missing(&asked.only, statistics));
    }
    let mut sections = Vec::new();
    for question in questions(asked, below, statistics) {
        let answer = answer(statistics, &question.asked).map_err(Error::Reread)?;
        if answer.all.requests != [0, 0] {
            sections.push(Section {
                title: question.title,
                boundaries: question.boundaries,
                question: question.asked,
                answer,
            });
        }
    }
    let name = match asked.inputs.as_slice() {
        [only] if only.as_os_str() == "-" => "standard input".to_owned(),
        [only] => only.display().to_string(),
        several => format!("{} inputs", several.len()),
    };
    Ok(Trace {
        name,
        files: statistics.files().to_vec(),
        summaries: (0..statistics.files().len())
            .map(|file| statistics.file(file))
            .collect(),
        span: statistics.span(),
        sections,
        failures,
        passed_over: 0,
    })
}

struct Reading<'o> {
    scanner: Scanner<'o>,
    failures: Vec<Failure>,
    passed_over: u64,
}

impl Reading<'_> {
    fn take(&mut self, found: Found) {
        let (name, target, is_listed) = match found {
            Found::Stdin => {
                let source = Source::Stream(Box::new(io::stdin()));
                return self.read("standard input".to_owned(), source, None, false);
            }
            Found::Named(name, target) => (name, target, false),
            Found::Listed(name, target) => (name, target, true),
            Found::PassedOver => {
                self.passed_over += 1;
                return;
            }
            Found::Failed(_, error) => return self.failures.push(Failure { error }),
        };
        self.read(name, Source::At(&target, None), Some(&target), is_listed);
    }

    fn read(&mut self, name: String, source: Source<'_>, target: Option<&Target>, is_listed: bool) {
        let error = match self.scanner.read(Input { name, source }) {
            Ok(()) => return,
            // Others lie about in folders.
            Err(TraceError::Unknown { .. } | TraceError::Empty { .. }) if is_listed => {
                self.passed_over += 1;
                return;
            }
            Err(TraceError::Unknown { name, first }) => {
                match target.and_then(text::for_another_verb) {
                    Some(other) => format!("{name}: no trace of a known recorder: {other}"),
                    None => TraceError::Unknown { name, first }.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        self.failures.push(Failure { error });
    }
}

/// Devices that were asked about and not recorded.
fn missing(only: &[String], statistics: &Statistics) -> Option<Failure> {
    let devices = statistics.devices();
    let is_there = |name: &&String| devices.iter().any(|device| device.name == **name);
    let missing: Vec<&str> = only
        .iter()
        .filter(|name| !is_there(name))
        .map(String::as_str)
        .collect();
    let mut names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    names.dedup();
    let more = match names.len() {
        0..=NAMED => "",
        _ => " and more",
    };
    names.truncate(NAMED);
    (!missing.is_empty()).then(|| Failure {
        error: format!(
            "no request is of a device called {}; there are {}{more}",
            missing.join(", "),
            names.join(", ")
        ),
    })
}

/// As many devices are named in a message.
const NAMED: usize = 20;
/// As many stretches of time are told apart: more could not be shown, and would take memory without end.
const MAX_WINDOWS: u64 = 100_000;

/// A question, and how its grids are called.
struct Titled {
    title: Option<String>,
    boundaries: Vec<Boundary>,
    asked: Question,
}

fn questions(asked: &Asked, below: Option<&Below>, statistics: &Statistics) -> Vec<Titled> {
    let Some(below) = below else {
        let boundary = |(grid, family): &(Grid, Family)| Boundary {
            role: None,
            layer: None,
            grid: *grid,
            family: *family,
        };
        return vec![Titled {
            title: None,
            boundaries: asked.grids.iter().map(boundary).collect(),
            asked: Question {
                grids: asked.grids.clone(),
                today: asked.start,
                is_absolute: !asked.is_relative,
                starts: other(&asked.starts, asked.start),
                only: asked.only.clone(),
                devices: asked.devices,
            },
        }];
    };
    let names: Vec<&str> = statistics
        .devices()
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    let places = below
        .places
        .iter()
        .filter(|place| names.contains(&place.name.as_str()));
    places.map(|place| below.question(place, asked)).collect()
}

/// Starts that are not today's.
fn other(starts: &[Bytes], today: Bytes) -> Vec<Bytes> {
    let others = starts.iter().filter(|start| **start != today);
    others.copied().collect()
}
