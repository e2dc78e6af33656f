//! Job files of fio: the common subset, in which each job is a cell of an experiment.
//!
//! Source: fio's HOWTO and fio 3.33 itself, which the tests ask whether it takes the same files. A file has sections of
//! `key=value` lines; `[global]` holds for all sections behind it; `;` and `#` begin comments. With fio's usual `kb_base`, `k` is
//! 1024 and `kib` is 1000, the reverse of what everybody else means, so the second is refused. fio reads a value behind a blank
//! (`bs = 4k`) without its suffix, as 4 bytes; that is refused too.
//!
//! A file is read to its end whatever is wrong with it: all that keeps it from being measured is told at once ([`Obstacles`]).

mod cell;
mod keys;
mod lines;
mod settings;
mod terms;
mod value;

use std::fmt;
use std::time::Duration;
use straddle_io::engine::Durability;

use self::lines::{Lines, Section};
use self::settings::Settings;
pub use self::terms::{Size, Surroundings};
use super::Refused;
use straddle_workload::Workload;

/// Most jobs of a file.
const MAX_JOBS: usize = 256;
/// Most obstacles that are told.
const MAX_TOLD: usize = 40;

/// A job file: what a plan is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The jobs, in their order. Never empty.
    pub cells: Vec<Cell>,
    /// `filename`, below `directory` where that is given.
    pub file: Option<String>,
    /// `directory`, when no file is named.
    pub directory: Option<String>,
    /// `size`: how much of the file is used, and its length if it is made.
    pub size: Option<Size>,
    /// `direct`: the page cache is left out. fio's default is to use it.
    pub direct: bool,
    /// `sync=dsync`.
    pub durability: Durability,
    /// `ioengine`, as [`straddle_io::engine::Kind`] calls it; `None` leaves the choice to a trial.
    pub engine: Option<&'static str>,
    /// `runtime`: how long each job is measured. `None` where nothing is said.
    pub runs: Option<Duration>,
    /// `ramp_time`: how long it runs before that.
    pub warm_up: Duration,
    /// `randseed`.
    pub seed: Option<u64>,
    /// What is done otherwise than a reader of the file may think.
    pub remarks: Vec<String>,
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its section, or its `name`.
    pub name: String,
    /// What it asks of the storage.
    pub workload: Workload,
}

/// Everything that keeps a job file from being measured, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles(pub Vec<Refused>);

impl fmt::Display for Obstacles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(f);
        }
        write!(f, "{} obstacles", self.0.len())?;
        for refused in self.0.iter().take(MAX_TOLD) {
            write!(f, "\n  {refused}")?;
        }
        match self.0.len().saturating_sub(MAX_TOLD) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl std::error::Error for Obstacles {}

/// Whether a text is a job file by its looks: its first line that is no comment begins a section, and the lines behind it have keys
/// of fio's.
#[must_use]
pub fn looks_like_one(text: &str) -> bool {
    let mut lines = text
        .lines()
        .map(|line| line.trim_start_matches('\u{feff}').trim())
        .filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
    let begins = lines
        .next()
        .is_some_and(|line| line.starts_with('[') && line.ends_with(']'));
    let key = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        matches!(
            key,
            "rw" | "readwrite"
                | "bs"
                | "blocksize"
                | "ioengine"
                | "iodepth"
                | "filename"
                | "bssplit"
        )
    };
    begins && lines.take(1000).any(key)
}

/// Reads a job file.
///
/// # Errors
/// [`Obstacles`] with line and key, for what fio would refuse, and for what it does and Straddle does not.
pub fn parse(text: &str, around: &Surroundings<'_>) -> Result<Job, Obstacles> {
    let mut lines = Lines::default();
    lines.read(text, None, 0, around);
    let Lines {
        sections,
        mut obstacles,
        ..
    } = lines;
    let mut jobs: Vec<(&Section, Settings)> = Vec::new();
    for section in sections.iter().take(MAX_JOBS + 1) {
        let mut settings = Settings::default();
        for entry in &section.entries {
            note(&mut obstacles, settings.read(entry));
        }
        jobs.push((section, settings));
    }
    let Some(((first, shared), others)) = jobs.split_first().filter(|_| jobs.len() <= MAX_JOBS)
    else {
        obstacles.push(Refused::new(
            "the job file",
            format!("it has {} jobs", sections.len()),
            format!("write 1 to {MAX_JOBS} sections such as [randread]"),
        ));
        return Err(Obstacles(obstacles));
    };
    for (section, settings) in others {
        note(&mut obstacles, follows(section, settings, first, shared));
    }
    let mut remarks = shared.remarks();
    let mut cells = Vec::new();
    for (section, settings) in &jobs {
        cells.extend(note(&mut obstacles, settings.cell(section, &mut remarks)));
    }
    if !obstacles.is_empty() {
        return Err(Obstacles(obstacles));
    }
    Ok(shared.job(cells, remarks))
}

/// What comes of it, or one obstacle more; a line of `[global]` counts once, however many sections have it.
fn note<T>(obstacles: &mut Vec<Refused>, result: Result<T, Refused>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(refused) => {
            if !obstacles.contains(&refused) {
                obstacles.push(refused);
            }
            None
        }
    }
}

/// Whether a job may be a cell behind the first one.
fn follows(
    section: &Section,
    settings: &Settings,
    first: &Section,
    shared: &Settings,
) -> Result<(), Refused> {
    let refused = |why: String, instead: &str| {
        Refused::new(format!("{}: [{}]", section.at, section.name), why, instead)
    };
    if !settings.stonewall {
        return Err(refused(
            "fio runs it at the same time as the job before it; cells of an experiment run one after the other"
                .to_owned(),
            "add `stonewall` to it",
        ));
    }
    match settings.differs(shared).as_slice() {
        [] => Ok(()),
        keys => {
            let (is, those) = if keys.len() == 1 {
                ("is", "that")
            } else {
                ("are", "those")
            };
            Err(refused(
                format!(
                    "its `{}` {is} not {those} of [{}]; an experiment has one",
                    keys.join("`, `"),
                    first.name
                ),
                "write the jobs into two files",
            ))
        }
    }
}

#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
