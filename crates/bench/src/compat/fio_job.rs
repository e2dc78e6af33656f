//! Job files of fio: the common subset, in which each job is a cell of an experiment.
//!
//! Source: fio's HOWTO and fio 3.33 itself, which the tests ask whether it takes the same files. A file has sections of
//! `key=value` lines; `[global]` holds for all sections behind it; `;` and `#` begin comments. With fio's usual `kb_base`, `k` is
//! 1024 and `kib` is 1000, the reverse of what everybody else means, so the second is refused. fio reads a value behind a blank
//! (`bs = 4k`) without its suffix, as 4 bytes; that is refused too.

mod value;

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_io::engine::Durability;

use self::value::{
    bytes, durable, engine, mode, percent, same_block, seed, set, split, text, time, whole,
};
use super::{MAX_OUTSTANDING, Refused};
use straddle_workload::{Pattern, Percent, Workload};

/// Most jobs of a file.
const MAX_JOBS: usize = 256;
/// Most clones of a job.
const MAX_CLONES: u32 = 1024;

/// A job file: what a plan is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The jobs, in their order. Never empty.
    pub cells: Vec<Cell>,
    /// `filename`, below `directory` where that is given.
    pub file: Option<String>,
    /// `directory`, when no file is named.
    pub directory: Option<String>,
    /// `size`: bytes of the file that are used, and its length if it is made.
    pub size: Option<Bytes>,
    /// `offset`: where the use of the file begins.
    pub offset: Bytes,
    /// `direct`: the page cache is left out. fio's default is to use it.
    pub direct: bool,
    /// `sync=dsync`.
    pub durability: Durability,
    /// `ioengine`, as [`straddle_io::engine::Kind`] calls it; `None` leaves the choice to a trial.
    pub engine: Option<&'static str>,
    /// `runtime`: how long each job is measured.
    pub runs: Duration,
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

/// Reads a job file.
///
/// # Errors
/// [`Refused`] with line and key, for what fio would refuse, and for what it does and Straddle does not.
pub fn parse(text: &str) -> Result<Job, Refused> {
    let sections = sections(text)?;
    let mut jobs = Vec::new();
    for section in &sections {
        let mut settings = Settings::default();
        for entry in &section.entries {
            settings.read(entry)?;
        }
        jobs.push((section, settings));
    }
    let (Some((first, shared)), true) = (jobs.first(), jobs.len() <= MAX_JOBS) else {
        return Err(Refused::new(
            "the job file",
            format!("it has {} jobs", jobs.len()),
            format!("write 1 to {MAX_JOBS} sections such as [randread]"),
        ));
    };
    for (section, settings) in jobs.iter().skip(1) {
        if !settings.stonewall {
            return Err(Refused::new(
                format!("line {}: [{}]", section.line, section.name),
                "fio runs it at the same time as the job before it; cells of an experiment run one after the other",
                "add `stonewall` to it",
            ));
        }
        if let Some(key) = settings.differs(shared) {
            return Err(Refused::new(
                format!("line {}: [{}]", section.line, section.name),
                format!(
                    "its `{key}` is not that of [{}]; an experiment has one",
                    first.name
                ),
                "write the jobs into two files",
            ));
        }
    }
    let mut remarks = Vec::new();
    let mut cells = Vec::new();
    for (section, settings) in &jobs {
        cells.push(settings.cell(section, &mut remarks)?);
    }
    shared.job(first, cells, remarks)
}

/// A section with what holds for it: the lines of `[global]` first, then its own.
#[derive(Debug)]
struct Section<'a> {
    name: &'a str,
    line: usize,
    entries: Vec<Entry<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    line: usize,
    key: &'a str,
    /// What stands behind `=`; `None` without one.
    value: Option<&'a str>,
}

impl Entry<'_> {
    fn what(&self) -> String {
        match self.value {
            Some(value) => format!("line {}: {}={value}", self.line, self.key),
            None => format!("line {}: {}", self.line, self.key),
        }
    }

    fn refused(&self, why: impl Into<String>, instead: impl Into<String>) -> Refused {
        Refused::new(self.what(), why, instead)
    }
}

fn sections(text: &str) -> Result<Vec<Section<'_>>, Refused> {
    let mut global: Vec<Entry<'_>> = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    // Where lines go: nowhere yet, to `[global]`, or to the last section.
    let mut at: Option<bool> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']').filter(|name| !name.is_empty()) else {
                return Err(Refused::new(
                    format!("line {number}: {line}"),
                    "it begins a section and does not end it",
                    "write [NAME]",
                ));
            };
            at = Some(name == "global");
            if name != "global" {
                sections.push(Section {
                    name,
                    line: number,
                    entries: global.clone(),
                });
            }
            continue;
        }
        let entry = entry(number, line)?;
        match (at, sections.last_mut()) {
            (Some(true), _) => global.push(entry),
            (Some(false), Some(section)) => section.entries.push(entry),
            _ => {
                return Err(entry.refused(
                    "it stands before the first section",
                    "put it behind [global]",
                ));
            }
        }
    }
    Ok(sections)
}

fn entry(line: usize, text: &str) -> Result<Entry<'_>, Refused> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key.trim_end(), Some(value)),
        None => (text, None),
    };
    let entry = Entry { line, key, value };
    if key.starts_with("include") && value.is_none() {
        return Err(entry.refused("other files are not included", "copy its lines"));
    }
    let Some(value) = value else {
        return Ok(entry);
    };
    if value.starts_with(char::is_whitespace) {
        return Err(entry.refused(
            "a blank stands behind `=`, with which fio reads a size without its suffix",
            "take the blank away",
        ));
    }
    if value.contains('$') {
        return Err(entry.refused("variables are not put in", "write the value"));
    }
    Ok(entry)
}

/// What a job asks for, as far as it is given.
#[derive(Clone, Debug, Default)]
struct Settings {
    name: Option<String>,
    mode: Option<Mode>,
    reads: Option<Percent>,
    size_of_block: Option<Unit>,
    split: Option<Vec<(Unit, u32)>>,
    size: Option<Bytes>,
    file: Option<String>,
    directory: Option<String>,
    depth: Option<u32>,
    clones: Option<u32>,
    runs: Option<Duration>,
    time_based: bool,
    ramp: Option<Duration>,
    direct: bool,
    engine: Option<Engine>,
    offset: Bytes,
    rate: Option<u32>,
    think: Option<Duration>,
    durable: bool,
    seed: Option<u64>,
    stonewall: bool,
}

/// `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode {
    pattern: Pattern,
    /// Bytes between the end of a request and the beginning of the next.
    gap: Option<Unit>,
    reads: Percent,
    mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    IoUring,
    LibAio,
    Psync,
    Null,
}

impl Settings {
    fn read(&mut self, entry: &Entry<'_>) -> Result<(), Refused> {
        let value = entry.value.unwrap_or_default();
        match entry.key {
            "name" => self.name = Some(text(entry)?),
            "rw" | "readwrite" => self.mode = Some(mode(entry, value)?),
            "rwmixread" => self.reads = Some(percent(entry, value)?),
            "rwmixwrite" => self.reads = Percent::new(100 - percent(entry, value)?.get()),
            "bs" | "blocksize" => self.size_of_block = Some(same_block(entry, value)?),
            "bssplit" => self.split = Some(split(entry, value)?),
            "size" => self.size = Some(bytes(entry, value)?),
            "filename" if value.contains(':') => {
                return Err(entry.refused(
                    "fio takes what stands between colons for several files",
                    "name one file",
                ));
            }
            "filename" => self.file = Some(text(entry)?),
            "directory" => self.directory = Some(text(entry)?),
            "iodepth" => {
                let most = u32::try_from(MAX_OUTSTANDING).unwrap_or(u32::MAX);
                self.depth = Some(whole(entry, value, 1, most)?);
            }
            "numjobs" => self.clones = Some(whole(entry, value, 1, MAX_CLONES)?),
            "runtime" | "timeout" => self.runs = Some(time(entry, value, "s")?),
            "time_based" => self.time_based = set(entry)?,
            "ramp_time" => self.ramp = Some(time(entry, value, "s")?),
            "direct" => self.direct = whole(entry, value, 0, 1)? == 1,
            "ioengine" => self.engine = Some(engine(entry, value)?),
            "offset" => self.offset = bytes(entry, value)?,
            "rate_iops" => self.rate = Some(whole(entry, value, 1, u32::MAX)?),
            "thinktime" => self.think = Some(time(entry, value, "us")?),
            "sync" => self.durable = durable(entry, value)?,
            "fsync" | "fdatasync" if value != "0" => {
                return Err(entry.refused(
                    "a flush after so many writes is a request of its own, which is not made",
                    "give sync=dsync, with which each write is durable when it ends",
                ));
            }
            "randseed" => self.seed = Some(seed(entry, value)?),
            "stonewall" | "wait_for_previous" => self.stonewall = set(entry)?,
            // How results are printed; and what is done anyway.
            "description" | "fsync" | "fdatasync" => {}
            "group_reporting" | "norandommap" | "thread" => {
                set(entry)?;
            }
            "refill_buffers" => {
                set(entry)?;
            }
            "bsrange" | "blocksize_range" => {
                return Err(entry.refused(
                    "lengths between two others are not drawn",
                    "give bssplit, such as bssplit=4k/50:64k/50",
                ));
            }
            "rate" | "rate_min" => {
                return Err(entry.refused(
                    "a rate is given in requests, not in bytes",
                    "give rate_iops",
                ));
            }
            _ => {
                return Err(entry.refused(
                    "this key is not read",
                    "leave it out, if the job means the same without it; docs/compatibility.md lists what is read",
                ));
            }
        }
        Ok(())
    }

    /// The first key in which two jobs differ that an experiment has only once.
    fn differs(&self, other: &Settings) -> Option<&'static str> {
        let keys = [
            ("filename", self.file != other.file),
            ("directory", self.directory != other.directory),
            ("size", self.size != other.size),
            ("offset", self.offset != other.offset),
            ("direct", self.direct != other.direct),
            ("sync", self.durable != other.durable),
            ("ioengine", self.engine != other.engine),
            ("runtime", self.runs != other.runs),
            ("ramp_time", self.ramp != other.ramp),
            ("randseed", self.seed != other.seed),
        ];
        keys.into_iter()
            .find_map(|(key, differs)| differs.then_some(key))
    }

    fn cell(&self, section: &Section<'_>, remarks: &mut Vec<String>) -> Result<Cell, Refused> {
        let name = self.name.clone().unwrap_or_else(|| section.name.to_owned());
        let refused = |what: &str, why: &str, instead: &str| {
            Refused::new(
                format!("line {}: [{}]: {what}", section.line, section.name),
                why,
                instead,
            )
        };
        let mode = self.mode.unwrap_or(Mode {
            pattern: Pattern::Sequential,
            gap: None,
            reads: Percent::ALL,
            mixed: false,
        });
        let reads = match (mode.mixed, self.reads) {
            (true, Some(reads)) => reads,
            _ => mode.reads,
        };
        let clones = self.clones.unwrap_or(1);
        if mode.pattern == Pattern::Sequential && clones > 1 {
            return Err(refused(
                &format!("numjobs={clones} and a sequential rw"),
                "fio's clones all go through the same place; workers here have a part each",
                "give numjobs=1 and a larger iodepth, or a random rw",
            ));
        }
        if clones > 1 && self.file.is_none() {
            return Err(refused(
                &format!("numjobs={clones} without filename"),
                "fio gives each clone a file of its own; an experiment has one",
                "give filename",
            ));
        }
        let mut depth = self.depth.unwrap_or(1);
        if self.engine.unwrap_or(Engine::Psync) == Engine::Psync && depth > 1 {
            remarks.push(format!(
                "[{name}]: iodepth={depth} has no effect on psync, in fio as here: 1 request of each job is under way"
            ));
            depth = 1;
        }
        if self.think.is_some_and(|think| !think.is_zero()) && depth > 1 {
            return Err(refused(
                "thinktime with an iodepth above 1",
                "fio then stops all requests of a job; here, each slot pauses by itself",
                "give iodepth=1 and more jobs",
            ));
        }
        if self.rate.is_some() {
            remarks.push(format!(
                "[{name}]: rate_iops: latency counts from when a request was due, not from when it could be started"
            ));
        }
        let block = self.size_of_block.unwrap_or(Unit::B4096);
        let sizes = self.split.clone().unwrap_or_else(|| vec![(block, 1)]);
        let pattern = match (mode.gap, sizes.as_slice()) {
            (None, _) => mode.pattern,
            (Some(gap), [(size, _)]) => {
                let stride = size.get().checked_add(gap.get()).and_then(Unit::new);
                let stride = stride.ok_or_else(|| {
                    refused(
                        &format!("rw with a gap of {gap}"),
                        "it reaches past the largest address",
                        "give a smaller one",
                    )
                })?;
                Pattern::Strided(stride)
            }
            (Some(_), _) => {
                return Err(refused(
                    "rw with a gap and several sizes",
                    "the gap then begins at the end of each request; here, requests begin at a fixed distance",
                    "give one bs",
                ));
            }
        };
        Ok(Cell {
            workload: Workload {
                reads,
                pattern,
                sizes,
                workers: clones,
                outstanding: depth,
                think: self.think.unwrap_or_default(),
                rate: self.rate.map(|rate| f64::from(rate) * f64::from(clones)),
            },
            name,
        })
    }

    fn job(
        &self,
        section: &Section<'_>,
        cells: Vec<Cell>,
        mut remarks: Vec<String>,
    ) -> Result<Job, Refused> {
        let Some(runs) = self.runs.filter(|runs| !runs.is_zero()) else {
            return Err(Refused::new(
                format!("line {}: [{}]", section.line, section.name),
                "it has no runtime; fio would end when `size` bytes are done, an experiment measures for a time",
                "give runtime=60 and time_based",
            ));
        };
        if !self.time_based {
            remarks.push(
                "without time_based fio ends early when `size` bytes are done; here all of runtime is measured"
                    .to_owned(),
            );
        }
        if self.engine == Some(Engine::LibAio) {
            remarks.push("ioengine=libaio: io_uring makes the same requests".to_owned());
        }
        let file = match (&self.directory, &self.file) {
            (Some(directory), Some(file)) => {
                Some(format!("{}/{file}", directory.trim_end_matches('/')))
            }
            (_, file) => file.clone(),
        };
        Ok(Job {
            cells,
            directory: self.directory.clone().filter(|_| file.is_none()),
            file,
            size: self.size,
            offset: self.offset,
            direct: self.direct,
            durability: if self.durable {
                Durability::WriteThrough
            } else {
                Durability::Cached
            },
            engine: self.engine.map(|engine| match engine {
                Engine::IoUring | Engine::LibAio => "io_uring",
                Engine::Psync => "pread",
                Engine::Null => "null",
            }),
            runs,
            warm_up: self.ramp.unwrap_or_default(),
            seed: self.seed,
            remarks,
        })
    }
}

#[cfg(test)]
mod tests;
