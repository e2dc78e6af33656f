//! Statistics as bytes, to be sent to another process or kept, and read from bytes that anybody may have made.
//!
//! ```text
//! straddle, version (4 bytes)   what follows are varints of 7 bits a byte, the lowest first, unless it says otherwise
//! width of windows              0: requests are not counted by time
//! devices                       how many; each: step, name
//! files                         how many; each: name, format, packing, why it was not read to its end
//! parts of files                how many; each: file, from, length, open or not, lines by kind, times, faults, bad lines, courses
//! periods                       how many; each: period, then count and key of each kind of request, in order of keys; a count of 0 ends it
//! CRC-32 of all before it (4 bytes)
//! ```
//!
//! Nothing that is read there sizes anything: what is kept grows with the bytes that were read.

mod out;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use flate2::Crc;
use straddle_geometry::Access;
use thiserror::Error;

use super::course::{Course, Part, Parts, Times};
use super::key::{Key, MAX_DEVICES, MAX_WINDOW};
use super::runs::Runs;
use super::whole::{FileRead, MEMORY, PERIOD, Statistics};
use crate::lines::{BadLine, Counts, Fault, KEPT};
use crate::names::Device;
use crate::record::{Event, shown};
use out::Out;

const MAGIC: &[u8; 8] = b"straddle";
const VERSION: u32 = 1;
/// Magic and version.
const HEAD: usize = 12;
const CHECKSUM: usize = 4;
/// More requests than anybody records. Sums over as many, each of any length, stay within 64 bits.
const MOST: u64 = 1 << 40;
/// A bad line's text has so many characters, each of up to four bytes.
const MAX_TEXT: usize = 320;
/// How files may be packed.
const PACKINGS: [&str; 4] = ["gzip", "zstd", "utf-16le", "utf-16be"];

/// Why bytes are no statistics.
#[derive(Debug, Error)]
pub enum WireError {
    /// They begin otherwise.
    #[error("these are no counts of requests: they do not begin with `straddle`")]
    Magic,
    /// Another program wrote them.
    #[error("counts of requests in version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// They end too early, or bytes in them were changed.
    #[error(
        "counts of requests that were cut or damaged on their way: their checksum does not match"
    )]
    Checksum,
    /// What they say cannot be.
    #[error("counts of requests that contradict themselves at byte {at}: {what}")]
    Wrong {
        /// The byte behind what is wrong.
        at: usize,
        /// What is.
        what: &'static str,
    },
    /// There is no room for them.
    #[error("counts that do not fit in memory could not be kept in a temporary file: {0}")]
    Spill(io::Error),
}

impl Statistics {
    /// All of it as bytes, which `Statistics::from_bytes` reads anywhere: the format is the same on every machine.
    ///
    /// # Errors
    /// When what was kept on disk cannot be read.
    pub fn to_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut out = Out(MAGIC.to_vec());
        out.0.extend(VERSION.to_le_bytes());
        out.number(self.window.unwrap_or(0));
        out.len(self.devices.len());
        for device in &self.devices {
            out.number(device.event as u64);
            out.text(&device.name);
        }
        out.len(self.files.len());
        for file in &self.files {
            out.text(&file.name);
            out.text(file.format);
            let packing = PACKINGS
                .iter()
                .position(|known| file.packing == Some(known));
            out.len(packing.map_or(0, |at| at + 1));
            out.flag(file.stopped.is_some());
            if let Some(why) = &file.stopped {
                out.text(why);
            }
        }
        // A part that is empty says nothing, and its place may be another's.
        let parts: Vec<&Part> = self
            .parts
            .iter()
            .filter(|part| part.to > part.from)
            .collect();
        out.len(parts.len());
        for part in parts {
            out.part(part);
        }
        out.len(self.periods.len());
        for (period, runs) in &mut self.periods {
            out.number(*period);
            let mut before = [0; 2];
            for entry in runs.merged()? {
                let (key, count) = entry?;
                out.entry(&mut before, key, count);
            }
            out.number(0);
        }
        Ok(out.seal())
    }

    /// What [`Statistics::to_bytes`] wrote, of files in these formats.
    pub(crate) fn read_bytes(bytes: &[u8], formats: &[&'static str]) -> Result<Statistics> {
        let mut read = In::new(bytes)?;
        let window = Some(read.number()?).filter(|width| *width > 0);
        let devices = read.devices()?;
        let files = read.files(formats)?;
        let parts = read.parts(files.len(), devices.len())?;
        let memory = MEMORY;
        let mut periods = BTreeMap::new();
        let mut last = 0;
        for _ in 0..read.number()? {
            let period = read.number()?;
            let is_next = period > last || periods.is_empty();
            read.check(is_next, "periods that do not ascend")?;
            read.check(
                (1..=1 << 32).contains(&period),
                "a period of 0 or of more than 4 GiB",
            )?;
            let runs = read.entries(period, devices.len(), window.is_some(), memory)?;
            periods.insert(period, runs);
            last = period;
        }
        read.check(periods.contains_key(&PERIOD), "no counts modulo 1 MiB")?;
        read.check(read.rest.is_empty(), "bytes behind the end")?;
        Ok(Statistics {
            devices,
            files,
            parts,
            periods,
            window,
            memory,
        })
    }
}

/// What is between version and checksum, with both around it: for tests, which go on behind what a checksum finds.
#[doc(hidden)]
#[must_use]
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let mut out = Out(MAGIC.to_vec());
    out.0.extend(VERSION.to_le_bytes());
    out.0.extend(body);
    out.seal()
}

/// All that a bad line can be, but for [`Fault::Columns`], which is 0; by number from 1. A new one comes at the end.
const FAULTS: [Fault; 14] = [
    Fault::Start,
    Fault::Length,
    Fault::Time,
    Fault::Direction,
    Fault::TooLong,
    Fault::BeyondTheEnd,
    Fault::Shape,
    Fault::Unfinished,
    Fault::Unseen,
    Fault::Contradiction,
    Fault::LineTooLong,
    Fault::Garbage,
    Fault::Cut,
    Fault::Devices,
];

struct In<'a> {
    rest: &'a [u8],
    /// Bytes with the checksum.
    whole: usize,
}

type Result<T, E = WireError> = std::result::Result<T, E>;

impl<'a> In<'a> {
    /// What is between the version and the checksum.
    fn new(bytes: &'a [u8]) -> Result<In<'a>> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(WireError::Magic)?;
        let (version, _) = rest.split_first_chunk().ok_or(WireError::Checksum)?;
        match u32::from_le_bytes(*version) {
            VERSION => {}
            other => return Err(WireError::Version(other)),
        }
        let (body, sum) = bytes
            .split_last_chunk::<CHECKSUM>()
            .ok_or(WireError::Checksum)?;
        let mut crc = Crc::new();
        crc.update(body);
        if crc.sum() != u32::from_le_bytes(*sum) {
            return Err(WireError::Checksum);
        }
        Ok(In {
            rest: body.get(HEAD..).ok_or(WireError::Checksum)?,
            whole: bytes.len(),
        })
    }

    fn wrong(&self, what: &'static str) -> WireError {
        WireError::Wrong {
            at: self.whole - CHECKSUM - self.rest.len(),
            what,
        }
    }

    fn check(&self, is_right: bool, what: &'static str) -> Result<()> {
        match is_right {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self
                .rest
                .split_first()
                .ok_or_else(|| self.wrong("a number without its end"))?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            self.check(
                bits << shift >> shift == bits,
                "a number of more than 64 bits",
            )?;
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.wrong("a number of more than 64 bits"))
    }

    /// A number that counts something in memory, or numbers one.
    fn len(&mut self) -> Result<usize> {
        let number = self.number()?;
        usize::try_from(number)
            .map_err(|_| self.wrong("a number of more bits than this machine has"))
    }

    /// A number of at most `most`.
    fn upto(&mut self, most: u64, what: &'static str) -> Result<u64> {
        let number = self.number()?;
        self.check(number <= most, what)?;
        Ok(number)
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.upto(1, "neither yes nor no")? == 1)
    }

    fn text(&mut self) -> Result<&'a str> {
        let len = self.len()?;
        let split = self.rest.split_at_checked(len);
        let (text, rest) =
            split.ok_or_else(|| self.wrong("a text that is longer than what is left"))?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| self.wrong("a text that is no UTF-8"))
    }

    fn devices(&mut self) -> Result<Vec<Device>> {
        let mut devices = Vec::new();
        let mut known = BTreeSet::new();
        let count = self.upto(MAX_DEVICES as u64, "more than 1,048,576 devices")?;
        for _ in 0..count {
            let event = self.len()?;
            let event = Event::ALL
                .into_iter()
                .find(|known| *known as usize == event);
            let device = Device {
                event: event.ok_or_else(|| self.wrong("a step that is none"))?,
                name: self.text()?.to_owned(),
            };
            let is_shown = shown(device.name.as_bytes()) == device.name;
            self.check(is_shown, "a name that no device has")?;
            self.check(known.insert(device.clone()), "a device that is there twice")?;
            devices.push(device);
        }
        Ok(devices)
    }

    fn files(&mut self, formats: &[&'static str]) -> Result<Vec<FileRead>> {
        let mut files = Vec::new();
        let mut known = BTreeSet::new();
        for _ in 0..self.number()? {
            let name = self.text()?;
            self.check(known.insert(name), "a file that is there twice")?;
            let format = self.text()?;
            let format = formats.iter().find(|known| **known == format);
            let format =
                *format.ok_or_else(|| self.wrong("a format that this program does not know"))?;
            let packing = match self.len()? {
                0 => None,
                at => Some(
                    *PACKINGS
                        .get(at - 1)
                        .ok_or_else(|| self.wrong("a packing that is none"))?,
                ),
            };
            let stopped = match self.flag()? {
                true => Some(self.text()?.to_owned()),
                false => None,
            };
            files.push(FileRead {
                name: name.to_owned(),
                format,
                packing,
                stopped,
            });
        }
        self.check(
            u32::try_from(files.len()).is_ok(),
            "more files than can be told apart",
        )?;
        Ok(files)
    }

    fn parts(&mut self, files: usize, devices: usize) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut last = None;
        let (mut requests, mut lines) = (0_u64, 0_u64);
        for _ in 0..self.number()? {
            let part = self.part(files, devices)?;
            let is_behind = last.is_none_or(|(file, to)| (part.file, part.from) >= (file, to));
            self.check(is_behind, "parts of a file that overlap or do not ascend")?;
            last = Some((part.file, part.to));
            requests += part.counts.requests.max(part.split);
            lines += part.counts.lines();
            self.check(requests <= MOST && lines <= 4 * MOST, MANY)?;
            parts.add(part);
        }
        Ok(parts)
    }

    fn part(&mut self, files: usize, devices: usize) -> Result<Part> {
        let file = self.number()?;
        let file = u32::try_from(file)
            .ok()
            .filter(|file| (*file as usize) < files);
        let file = file.ok_or_else(|| self.wrong("a part of no file"))?;
        let (from, len) = (self.number()?, self.number()?);
        self.check(len > 0, "a part of 0 bytes")?;
        let to = from
            .checked_add(len)
            .ok_or_else(|| self.wrong("a part that ends nowhere"))?;
        let is_open = self.flag()?;
        let mut count = || self.upto(MOST, MANY);
        let counts = Counts {
            requests: count()?,
            other: count()?,
            bad: count()?,
        };
        let (elsewhere, split) = (count()?, count()?);
        self.check(
            elsewhere <= counts.requests,
            "more requests elsewhere than there are",
        )?;
        let times = match self.flag()? {
            true => Some(self.times(counts.requests)?),
            false => None,
        };
        let faults = self.faults(counts.bad)?;
        let bad = self.bad(counts)?;
        let courses = self.courses(devices, counts.requests.saturating_add(split))?;
        Ok(Part {
            file,
            from,
            to,
            is_open,
            counts,
            elsewhere,
            split,
            times,
            courses,
            bad,
            faults,
        })
    }

    fn times(&mut self, requests: u64) -> Result<Times> {
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = self.number()?;
        }
        let times = Times::of(numbers).filter(|times| times.backwards < requests);
        times.ok_or_else(|| self.wrong("times that cannot be"))
    }

    fn fault(&mut self) -> Result<Fault> {
        match self.len()? {
            0 => Ok(Fault::Columns {
                expected: self.len()?,
                found: self.len()?,
            }),
            at => FAULTS
                .get(at - 1)
                .copied()
                .ok_or_else(|| self.wrong("a fault that is none")),
        }
    }

    fn faults(&mut self, bad: u64) -> Result<BTreeMap<Fault, u64>> {
        let mut faults = BTreeMap::new();
        let mut left = bad;
        for _ in 0..self.number()? {
            let fault = self.fault()?;
            let is_next = faults
                .last_key_value()
                .is_none_or(|(last, _)| *last < fault);
            self.check(is_next, "faults that do not ascend")?;
            let count = self.number()?;
            self.check(
                (1..=left).contains(&count),
                "faults that are not as many as the bad lines",
            )?;
            left -= count;
            faults.insert(fault, count);
        }
        self.check(left == 0, "faults that are not as many as the bad lines")?;
        Ok(faults)
    }

    fn bad(&mut self, counts: Counts) -> Result<Vec<BadLine>> {
        let mut lines = Vec::new();
        let most = counts.bad.min(KEPT as u64);
        for _ in 0..self.upto(most, "more bad lines than there are")? {
            let line = BadLine {
                line: self.number()?,
                at: self.number()?,
                fault: self.fault()?,
                text: self.text()?.to_owned(),
            };
            self.check(
                (1..=counts.lines()).contains(&line.line),
                "a bad line that is none of the lines",
            )?;
            let is_text = line.text.len() <= MAX_TEXT && !line.text.contains(char::is_control);
            self.check(is_text, "a text that no bad line has")?;
            lines.push(line);
        }
        Ok(lines)
    }

    fn courses(&mut self, devices: usize, requests: u64) -> Result<Vec<(u32, Course)>> {
        let mut courses: Vec<(u32, Course)> = Vec::new();
        let mut left = requests;
        for _ in 0..self.upto(devices as u64, "more courses than devices")? {
            let device = self.number()?;
            let device = u32::try_from(device)
                .ok()
                .filter(|device| (*device as usize) < devices);
            let device = device.ok_or_else(|| self.wrong("a course of no device"))?;
            let is_next = courses.last().is_none_or(|(last, _)| *last < device);
            self.check(is_next, "courses that do not ascend")?;
            let start = self.number()?;
            let access = self.access()?;
            let end = self.number()?;
            let sequential = [self.number()?, self.number()?];
            for count in sequential {
                self.check(
                    count <= left,
                    "more requests that follow each other than there are",
                )?;
                left -= count;
            }
            courses.push((device, Course::of(start, access, end, sequential)));
        }
        Ok(courses)
    }

    fn access(&mut self) -> Result<Access> {
        Ok(match self.flag()? {
            true => Access::Write,
            false => Access::Read,
        })
    }

    /// The counts of a period. What takes more than `memory` bytes goes to disk.
    fn entries(
        &mut self,
        period: u64,
        devices: usize,
        has_windows: bool,
        memory: usize,
    ) -> Result<Runs> {
        let most = (memory / size_of::<(Key, u64)>()).max(1 << 10);
        let mut runs = Runs::default();
        let mut some: Vec<(Key, u64)> = Vec::new();
        let mut before: Option<[u64; 2]> = None;
        let mut left = MOST;
        loop {
            let count = self.number()?;
            if count == 0 {
                break;
            }
            self.check(count <= left, MANY)?;
            left -= count;
            let [who, shape] = before.unwrap_or_default();
            let (more, further) = (self.number()?, self.number()?);
            let base = if more == 0 { shape } else { 0 };
            let (Some(who), Some(shape)) = (who.checked_add(more), base.checked_add(further))
            else {
                return Err(self.wrong("a key of more than 64 bits"));
            };
            self.check(
                before.is_none_or(|before| before < [who, shape]),
                "keys that do not ascend",
            )?;
            before = Some([who, shape]);
            let key = Key::from_words(who, shape);
            self.check((key.device() as usize) < devices, "requests of no device")?;
            let last = if has_windows { MAX_WINDOW } else { 0 };
            self.check(
                key.window() <= last,
                "requests of a time, which is not counted",
            )?;
            self.check(
                key.place() < period,
                "requests that begin beyond the period",
            )?;
            self.check(key.length() > 0, "requests of 0 bytes")?;
            some.push((key, count));
            if some.len() >= most {
                runs.spill(&some).map_err(WireError::Spill)?;
                some.clear();
            }
        }
        runs.hold(some);
        Ok(runs)
    }
}

const MANY: &str = "more requests than can be";
