//! Hosts that support tools collected: what many commands printed on one machine, one file or section each, in a directory or an archive.
//!
//! A [`Collector`] knows by the names of the files whose archive it is, which files tell of storage, and which command printed each. What
//! these say is joined to one stack, as the outputs of one host are.

mod esxi;
mod sos;
mod supportconfig;

use straddle_geometry::Bytes;
use straddle_stack::{Interval, LayerKind, Stack};

use crate::Settings;
use crate::captured::{self, Capture, MAX_BYTES};
use crate::inventory::{Name, Thing};

/// Most files of one host that are read: a server with hundreds of disks has some dozens for each.
const MAX_FILES: usize = 16_384;
/// Most bytes of one host that are read.
const MAX_TOTAL: usize = 64 << 20;

/// A support tool, and how its archives are read.
pub struct Collector {
    /// Its name: `sosreport`.
    pub name: &'static str,
    /// The files that only its archives have: as much of a path as tells.
    pub marks: &'static [&'static str],
    /// What is said of where its archives come from.
    pub of: &'static str,
    /// How the file at this path, counted from the top of the collection, is read; `None` where it tells nothing of storage.
    reads: fn(&str) -> Option<Reads>,
    /// The name of the host, by the name of the directory in which everything lies.
    host: fn(&str) -> Option<&str>,
    /// What would have to be collected for what is not known, by what was not in it.
    wanting: &'static [(&'static [&'static str], &'static str)],
}

/// How a file is read.
enum Reads {
    /// The whole of it, with the commands in it.
    Text,
    /// What one command printed.
    Printed(String),
    /// One value: the line of sysfs that it is.
    Value(String),
    /// The name of the host.
    HostName,
}

/// The collectors whose archives are read.
pub static COLLECTORS: &[&Collector] =
    &[&sos::COLLECTOR, &supportconfig::COLLECTOR, &esxi::COLLECTOR];

/// Whose a path in an archive or a directory is, and where its top is.
#[must_use]
pub fn of_path(path: &str) -> Option<(&'static Collector, &str)> {
    COLLECTORS.iter().find_map(|collector| {
        let top = collector.marks.iter().find_map(|mark| {
            let at = match path.strip_prefix(mark) {
                Some(_) => 0,
                None => path.find(&format!("/{mark}"))? + 1,
            };
            // The mark is a whole name, or the beginning of a path.
            let behind = path.get(at + mark.len()..)?;
            (mark.ends_with('/') || behind.is_empty()).then_some(path.get(..at)?)
        })?;
        // A directory in the top one at most: what lies deeper belongs to something else.
        (top.matches('/').count() <= 1).then_some((*collector, top))
    })
}

/// The collector whose directory this is, by what is in it.
#[must_use]
pub fn of_directory(has: impl Fn(&str) -> bool) -> Option<&'static Collector> {
    let is_its = |collector: &&&Collector| collector.marks.iter().any(|mark| has(mark));
    COLLECTORS.iter().find(is_its).copied()
}

/// What is read of one host.
pub struct Gathering {
    collector: &'static Collector,
    top: String,
    host: Option<String>,
    captures: Vec<Capture>,
    files: usize,
    bytes: usize,
    /// What could not be taken in.
    left_out: usize,
}

/// A host that was collected.
pub struct Collected {
    /// Its name, where that is known.
    pub host: Option<String>,
    /// The tool that collected it.
    pub collector: &'static str,
    /// What is known of it; `None` where no output of a known tool was found.
    pub stack: Option<Stack>,
    /// What to collect for what is not known.
    pub wanting: Vec<&'static str>,
    /// Files that could not be read, or were too many or too long together.
    pub left_out: usize,
}

impl Gathering {
    /// Begins with the files whose paths begin with `top`, the directory in which everything lies, which is called `named`.
    #[must_use]
    pub fn new(collector: &'static Collector, top: &str, named: &str) -> Gathering {
        Gathering {
            collector,
            host: (collector.host)(named.trim_end_matches('/')).map(str::to_owned),
            top: top.to_owned(),
            captures: Vec::new(),
            files: 0,
            bytes: 0,
            left_out: 0,
        }
    }

    /// True for a file that tells of storage; the others need not be read.
    #[must_use]
    pub fn wants(&self, path: &str) -> bool {
        self.reads(path).is_some()
    }

    fn reads(&self, path: &str) -> Option<Reads> {
        (self.collector.reads)(path.strip_prefix(self.top.as_str())?)
    }

    /// Takes a file in.
    pub fn add(&mut self, path: &str, mut bytes: Vec<u8>) {
        let Some(reads) = self.reads(path) else {
            return;
        };
        if self.files >= MAX_FILES || self.bytes + bytes.len() > MAX_TOTAL {
            self.left_out += 1;
            return;
        }
        self.files += 1;
        self.bytes += bytes.len();
        let number = u32::try_from(self.files).unwrap_or(u32::MAX);
        let cut = bytes.len() > MAX_BYTES;
        bytes.truncate(MAX_BYTES);
        let capture = match reads {
            Reads::HostName => {
                let text = String::from_utf8_lossy(&bytes);
                let name = text.lines().next().map(str::trim).unwrap_or("");
                if !name.is_empty() && self.host.is_none() {
                    self.host = Some(name.to_owned());
                }
                return;
            }
            Reads::Value(name) => {
                let value = String::from_utf8_lossy(&bytes);
                let line = format!("{name}:{}", value.lines().next().unwrap_or("").trim());
                captured::printed_by(path, None, line.as_bytes(), false, number)
            }
            Reads::Printed(command) => {
                captured::printed_by(path, Some(&command), &bytes, cut, number)
            }
            Reads::Text => captured::printed_by(path, None, &bytes, cut, number),
        };
        if !capture.tools.is_empty() {
            self.captures.push(capture);
        }
    }

    /// Counts a file that could not be read.
    pub fn miss(&mut self) {
        self.left_out += 1;
    }

    /// What all of it says.
    #[must_use]
    pub fn finish(mut self, settings: &Settings) -> Collected {
        let said = |tools: &[&str]| {
            let mut all = self.captures.iter().flat_map(|capture| &capture.tools);
            all.any(|tool| tools.contains(tool))
        };
        let wanting = self.collector.wanting.iter();
        let wanting = wanting.filter(|(tools, _)| !said(tools));
        let wanting: Vec<&str> = wanting.map(|(_, next)| *next).collect();
        without_empty(&mut self.captures);
        // A host by its own name in every file of its: a prompt in one of them does not make it two.
        for capture in &mut self.captures {
            capture.inventory.host = None;
        }
        let stack = (!self.captures.is_empty()).then(|| captured::stack(self.captures, settings));
        Collected {
            host: self.host,
            collector: self.collector.name,
            stack,
            wanting,
            left_out: self.left_out,
        }
    }
}

/// Takes out devices without a medium, such as loop devices that nothing is attached to: every tool lists them, and there is nothing to ask
/// about them.
fn without_empty(captures: &mut [Capture]) {
    let things = captures
        .iter()
        .flat_map(|capture| capture.inventory.things());
    let is_empty = |thing: &&Thing| {
        let size = thing.size.as_ref();
        thing.kind == LayerKind::Device
            && size.is_some_and(|size| size.value == Interval::exact(Bytes::ZERO))
    };
    let names = things
        .filter(is_empty)
        .flat_map(|thing| thing.names.clone());
    let empty: Vec<Name> = names.collect();
    if empty.is_empty() {
        return;
    }
    for capture in captures {
        let is_of_it = |thing: &Thing| {
            let mut names = thing.names.iter().chain(&thing.on);
            names.any(|name| empty.contains(name))
        };
        capture.inventory.retain(|thing| !is_of_it(thing));
    }
}
