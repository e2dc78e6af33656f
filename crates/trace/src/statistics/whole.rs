use std::collections::BTreeMap;
use std::io;

use thiserror::Error;

use crate::lines::{BadLine, Counts, Fault};
use crate::names::{Device, SharedNames};
use crate::record::ROWS;

use super::course::{Part, Parts, Times};
use super::key::Key;
use super::runs::Runs;

/// The period from which every power of two up to it follows.
pub const PERIOD: u64 = 1 << 20;

/// Bytes that counts may take, unless somebody says otherwise.
pub(crate) const MEMORY: usize = 128 << 20;

/// A file of which at least a part was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// As it was named.
    pub name: String,
    /// The name of its format.
    pub format: &'static str,
    /// How it was packed.
    pub packing: Option<&'static str>,
    /// Why it was not read to its end.
    pub stopped: Option<String>,
}

/// Why statistics cannot become one.
#[derive(Debug, Error)]
pub enum JoinError {
    /// Stretches of time of different widths.
    #[error(
        "counts over windows of different lengths cannot be joined: count both with the same window"
    )]
    Windows,
    /// Different periods.
    #[error("counts for different units cannot be joined: count both with the same units")]
    Periods,
    /// Bytes of a file would count twice.
    #[error("bytes {from} to {to} of {name} are counted in both")]
    Twice {
        /// The file.
        name: String,
        /// The first byte of the part that comes in.
        from: u64,
        /// The byte behind it.
        to: u64,
    },
    /// Too many of them.
    #[error("more than 1,048,576 devices")]
    Devices,
    /// No room on disk.
    #[error("counts that do not fit in memory could not be kept in a temporary file: {0}")]
    Spill(io::Error),
}

/// Everything that was counted.
///
/// Statistics of blocks, files and machines become one by [`Statistics::join`], in any order, with the same result.
#[derive(Debug)]
pub struct Statistics {
    pub(crate) devices: Vec<Device>,
    pub(crate) files: Vec<FileRead>,
    pub(crate) parts: Parts,
    /// By period, ascending; the first is [`PERIOD`].
    pub(crate) periods: BTreeMap<u64, Runs>,
    pub(crate) window: Option<u64>,
    pub(crate) memory: usize,
}

/// What is known of a file beside its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// How many lines were what.
    pub counts: Counts,
    /// Bytes that were read, unpacked.
    pub bytes: u64,
    /// Its last line has no end: it may have been cut.
    pub is_open: bool,
    /// Requests that lie nowhere in what is judged.
    pub elsewhere: u64,
    /// Pieces beyond the first of requests that lie in several.
    pub split: u64,
    /// Of its requests.
    pub times: Option<Times>,
    /// Its first bad lines.
    pub bad: Vec<BadLine>,
    /// Bad lines by kind.
    pub faults: BTreeMap<Fault, u64>,
}

impl Statistics {
    /// Nothing yet, to be counted in these periods beside [`PERIOD`].
    pub(crate) fn new(periods: &[u64], window: Option<u64>, memory: usize) -> Statistics {
        let periods = [PERIOD].iter().chain(periods);
        Statistics {
            devices: Vec::new(),
            files: Vec::new(),
            parts: Parts::default(),
            periods: periods.map(|period| (*period, Runs::default())).collect(),
            window,
            memory,
        }
    }

    /// The devices, by number.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The files, in the order in which they were given.
    #[must_use]
    pub fn files(&self) -> &[FileRead] {
        &self.files
    }

    /// What is known of the file with this number.
    #[must_use]
    pub fn file(&self, number: usize) -> FileSummary {
        let mut summary = FileSummary::default();
        let file = self.files.get(number);
        let is_rows = file.is_some_and(|file| file.format == ROWS);
        for part in self
            .parts
            .iter()
            .filter(|part| part.file as usize == number)
        {
            let lines = summary.counts.lines();
            summary.counts.add(part.counts);
            if !is_rows {
                summary.bytes += part.to - part.from;
            }
            summary.is_open = part.is_open;
            summary.elsewhere += part.elsewhere;
            summary.split += part.split;
            summary.times = Times::both(summary.times, part.times);
            summary.bad.extend(part.bad.iter().map(|bad| BadLine {
                line: bad.line + lines,
                ..bad.clone()
            }));
            for (fault, count) in &part.faults {
                *summary.faults.entry(*fault).or_default() += count;
            }
        }
        summary
    }

    /// Lines of all files.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for part in self.parts.iter() {
            counts.add(part.counts);
        }
        counts
    }

    /// From the earliest to the latest time, in nanoseconds, where files have some.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        let spans = self
            .parts
            .iter()
            .filter_map(|part| part.times.map(|times| times.span));
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// How many requests of each device begin where the one before them ended, in the same file: reads, writes.
    #[must_use]
    pub fn sequential(&self) -> Vec<[u64; 2]> {
        let mut sums = vec![[0; 2]; self.devices.len()];
        for (device, course) in self.parts.iter().flat_map(|part| &part.courses) {
            if let Some(sum) = sums.get_mut(*device as usize) {
                sum[0] += course.sequential[0];
                sum[1] += course.sequential[1];
            }
        }
        sums
    }

    /// The periods in which places were counted.
    pub fn periods(&self) -> impl Iterator<Item = u64> {
        self.periods.keys().copied()
    }

    /// How many requests have which key, in order of keys: places are modulo `period`.
    ///
    /// # Errors
    /// When what was kept on disk cannot be read.
    pub fn counted(
        &mut self,
        period: u64,
    ) -> io::Result<impl Iterator<Item = io::Result<(Key, u64)>>> {
        let runs = self.periods.entry(period).or_default();
        runs.merged()
    }

    /// How wide a window is, in nanoseconds.
    #[must_use]
    pub const fn window(&self) -> Option<u64> {
        self.window
    }

    /// Whether both count the same: by stretches of time of one width, in the same periods, and no bytes of a file twice.
    fn fits(&self, other: &Statistics) -> Result<(), JoinError> {
        if self.window != other.window {
            return Err(JoinError::Windows);
        }
        if !self.periods.keys().eq(other.periods.keys()) {
            return Err(JoinError::Periods);
        }
        for part in other.parts.iter() {
            let file = other.files.get(part.file as usize);
            let Some(file) = file.filter(|file| file.format != ROWS) else {
                continue;
            };
            let known = self.files.iter().position(|known| known.name == file.name);
            let Some(known) = known.and_then(|known| u32::try_from(known).ok()) else {
                continue;
            };
            if self.parts.overlaps(&part.clone().of_file(known)) {
                let (name, from, to) = (file.name.clone(), part.from, part.to);
                return Err(JoinError::Twice { name, from, to });
            }
        }
        Ok(())
    }

    /// Both together. Files and devices of one name are the same ones.
    ///
    /// # Errors
    /// When both count different things or one thing twice, and when counts cannot be kept on disk. What was there is as it was in the
    /// first case only.
    pub fn join(&mut self, other: Statistics) -> Result<(), JoinError> {
        self.fits(&other)?;
        let names = SharedNames::of(std::mem::take(&mut self.devices));
        let numbers: Option<Vec<u32>> = other
            .devices
            .into_iter()
            .map(|device| names.number(device))
            .collect();
        self.devices = names.into_devices();
        let numbers = numbers.ok_or(JoinError::Devices)?;
        let files: Vec<u32> = other
            .files
            .into_iter()
            .map(|file| {
                let known = self.files.iter().position(|known| known.name == file.name);
                let number = known.unwrap_or_else(|| {
                    self.files.push(file);
                    self.files.len() - 1
                });
                u32::try_from(number).unwrap_or(u32::MAX)
            })
            .collect();
        for mut part in other.parts.into_iter() {
            part.renumber(files[part.file as usize], &numbers);
            let is_rows = self.files.get(part.file as usize);
            if is_rows.is_some_and(|file| file.format == ROWS)
                && let Some(end) = self.parts.end(part.file)
            {
                // Rows have no place in a file: those of the other come behind these, and do not follow them.
                part.behind(end.saturating_add(1));
            }
            self.parts.add(part);
        }
        for (period, runs) in other.periods {
            let runs = runs.renumbered(&numbers, self.memory);
            let mine = self.periods.entry(period).or_default();
            runs.and_then(|runs| mine.join(runs, self.memory))
                .map_err(JoinError::Spill)?;
        }
        Ok(())
    }

    pub(crate) fn add(&mut self, part: Part) {
        self.parts.add(part);
    }
}
