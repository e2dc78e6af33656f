use std::collections::BTreeMap;
use std::io;

use crate::lines::{BadLine, Counts, Fault};
use crate::names::{Device, SharedNames};

use super::course::{Part, Parts, Times};
use super::key::Key;
use super::runs::Runs;

/// The period from which every power of two up to it follows.
pub const PERIOD: u64 = 1 << 20;

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
        for part in self
            .parts
            .iter()
            .filter(|part| part.file as usize == number)
        {
            let lines = summary.counts.lines();
            summary.counts.add(part.counts);
            summary.bytes += part.to - part.from;
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

    /// Both together. Files and devices of one name are the same ones.
    ///
    /// # Errors
    /// When counts cannot be kept on disk.
    pub fn join(&mut self, other: Statistics) -> io::Result<()> {
        let names = SharedNames::of(std::mem::take(&mut self.devices));
        let numbers: Option<Vec<u32>> = other
            .devices
            .into_iter()
            .map(|device| names.number(device))
            .collect();
        self.devices = names.into_devices();
        let numbers = numbers.ok_or_else(|| io::Error::other(Fault::Devices.says()))?;
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
            self.parts.add(part);
        }
        for (period, runs) in other.periods {
            let runs = runs.renumbered(&numbers, self.memory)?;
            self.periods
                .entry(period)
                .or_default()
                .join(runs, self.memory)?;
        }
        Ok(())
    }

    pub(crate) fn add(&mut self, part: Part) {
        self.parts.add(part);
    }
}
