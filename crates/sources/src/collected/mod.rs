//! Hosts that support tools collected: what many commands printed on one machine, one file or section each, in a directory or an archive.
//!
//! A [`Collector`] knows by the names of the files whose archive it is, which files tell of storage, and which command printed each. What
//! these say is joined to one stack, as the outputs of one host are.

mod collector;
mod esxi;
mod own;
mod sos;
mod supportconfig;

use std::collections::BTreeMap;
use straddle_geometry::Bytes;
use straddle_stack::{Interval, LayerKind, Stack};

use crate::Settings;
use crate::captured::{self, Capture, MAX_BYTES};
use crate::inventory::{Name, Space, Thing};
use crate::missing::{self, Missing};
use collector::Reads;

pub use collector::Collector;

/// Most files of one host that are read: a server with hundreds of disks has some dozens for each.
const MAX_FILES: usize = 16_384;
/// Most bytes of one host that are read.
const MAX_TOTAL: usize = 64 << 20;

/// What stands in the name of a piece of a file before its number: `vm-support` cuts files that are long.
const PIECE: &str = ".FRAG-";

/// The number of all files of a host: they are of one machine at one time, so what has two names in them is two things, as in one file.
const NUMBER: u32 = 0;

/// The collectors whose archives are read.
pub static COLLECTORS: &[&Collector] = &[
    &sos::COLLECTOR,
    &supportconfig::COLLECTOR,
    &esxi::COLLECTOR,
    &own::COLLECTOR,
];

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

/// True where the first directory of a path is called as a support tool calls it: `sosreport-db3-2026-11-28-abcdefg`.
pub(crate) fn is_named_as_one(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    COLLECTORS
        .iter()
        .any(|collector| (collector.host)(top).is_some())
}

/// True for a file that one of the collectors reads, where its top is that of the archive or the first directory in it.
pub(crate) fn may_be_wanted(path: &str) -> bool {
    let below = path.split_once('/').map(|(_, below)| below);
    COLLECTORS.iter().any(|collector| {
        let reads = |path: &str| (collector.reads)(path).is_some();
        reads(path) || below.is_some_and(reads)
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
    /// Files whose command is known once the devices of the host are.
    later: Vec<Later>,
    /// Pieces of files, by the path of the whole and their number.
    pieces: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    files: usize,
    bytes: usize,
    /// What could not be taken in.
    left_out: usize,
}

/// A file that is read when all others have been.
struct Later {
    path: String,
    /// What is made of its command.
    name: String,
    bytes: Vec<u8>,
    cut: bool,
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
    pub wanting: Vec<String>,
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
            later: Vec::new(),
            pieces: BTreeMap::new(),
            files: 0,
            bytes: 0,
            left_out: 0,
        }
    }

    /// The name of the tool that collected it.
    #[cfg(test)]
    pub(crate) fn collector(&self) -> &'static str {
        self.collector.name
    }

    /// What stands before the paths of its files.
    #[cfg(test)]
    pub(crate) fn top(&self) -> &str {
        &self.top
    }

    /// True for a file that tells of storage; the others need not be read.
    #[must_use]
    pub fn wants(&self, path: &str) -> bool {
        self.reads(path).is_some()
    }

    fn reads(&self, path: &str) -> Option<Reads> {
        let whole = path.rsplit_once(PIECE).map_or(path, |(whole, _)| whole);
        (self.collector.reads)(whole.strip_prefix(self.top.as_str())?)
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
        if let Some((whole, number)) = path.rsplit_once(PIECE)
            && let Ok(number) = number.parse()
        {
            let pieces = self.pieces.entry(whole.to_owned()).or_default();
            pieces.insert(number, bytes);
            return;
        }
        let cut = bytes.len() > MAX_BYTES;
        bytes.truncate(MAX_BYTES);
        let capture = match reads {
            Reads::HostName => {
                let text = String::from_utf8_lossy(&bytes);
                let name = text.lines().next().map(str::trim).unwrap_or("");
                // `hostname` may not be installed, and says so.
                let is_name = !name.is_empty() && !name.contains([' ', '/']);
                if is_name && self.host.is_none() {
                    self.host = Some(name.to_owned());
                }
                return;
            }
            Reads::Value(name) => {
                let value = String::from_utf8_lossy(&bytes);
                let line = format!("{name}:{}", value.lines().next().unwrap_or("").trim());
                captured::printed_by(path, None, line.as_bytes(), false, NUMBER)
            }
            Reads::Printed(command) => {
                captured::printed_by(path, Some(&command), &bytes, cut, NUMBER)
            }
            Reads::System => {
                self.system(&String::from_utf8_lossy(&bytes));
                return;
            }
            Reads::Titled => captured::titled(path, &bytes, cut, NUMBER),
            Reads::Named(name) => {
                let path = path.to_owned();
                return self.later.push(Later {
                    path,
                    name,
                    bytes,
                    cut,
                });
            }
            Reads::Mounts => captured::mounts(path, &bytes, NUMBER),
            Reads::Text => captured::printed_by(path, None, &bytes, cut, NUMBER),
        };
        if !capture.tools.is_empty() {
            self.captures.push(capture);
        }
    }

    /// Reads files that came in pieces, up to the first that is missing, and no line that ends in the one after it.
    fn put_together(&mut self) {
        for (path, pieces) in std::mem::take(&mut self.pieces) {
            let in_turn = (0..)
                .zip(pieces)
                .take_while(|(turn, (number, _))| turn == number);
            let mut whole: Vec<u8> = in_turn.flat_map(|(_, (_, bytes))| bytes).collect();
            let lines = whole.iter().rposition(|byte| *byte == b'\n');
            whole.truncate(lines.map_or(0, |last| last + 1));
            self.bytes = self.bytes.saturating_sub(whole.len());
            self.add(&path, whole);
        }
    }

    /// The host's name by what `uname -a` says, unless it is known.
    fn system(&mut self, text: &str) {
        let name = text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let system = words.next()?;
            matches!(system, "Linux" | "VMkernel").then(|| words.next())?
        });
        if let (None, Some(name)) = (&self.host, name) {
            self.host = Some(name.to_owned());
        }
    }

    /// Counts a file that could not be read.
    pub fn miss(&mut self) {
        self.left_out += 1;
    }

    /// Reads what is known by the devices of the host only.
    fn read_later(&mut self) {
        let things = self
            .captures
            .iter()
            .flat_map(|capture| capture.inventory.things());
        let names = things.flat_map(|thing| &thing.names);
        let devices: Vec<String> = names
            .filter(|name| name.space == Space::Device)
            .map(|name| name.text.to_string())
            .collect();
        for later in std::mem::take(&mut self.later) {
            let mut devices = devices.iter().map(String::as_str);
            let command = (self.collector.command)(&later.name, &mut devices);
            let capture =
                captured::printed_by(&later.path, Some(&command), &later.bytes, later.cut, NUMBER);
            if !capture.tools.is_empty() {
                self.captures.push(capture);
            }
        }
    }

    /// What all of it says.
    #[must_use]
    pub fn finish(mut self, settings: &Settings) -> Collected {
        self.put_together();
        self.read_later();
        // An archive has its members in any order, which is nobody's wish.
        self.captures.sort_by(|a, b| a.file.cmp(&b.file));
        let said = |tools: &[&str]| {
            let mut all = self.captures.iter().flat_map(|capture| &capture.tools);
            all.any(|tool| tools.contains(tool))
        };
        let wanting = self.collector.wanting.iter();
        let wanting = wanting.filter(|(tools, _)| !said(tools));
        let mut wanting: Vec<String> = wanting.map(|(_, next)| (*next).to_owned()).collect();
        without_empty(&mut self.captures);
        // A host by its own name in every file of its: a prompt in one of them does not make it two.
        for capture in &mut self.captures {
            let host = capture.inventory.host.take();
            if self.host.is_none() && self.collector.is_named_inside {
                self.host = host;
            }
        }
        let stack = (!self.captures.is_empty()).then(|| captured::stack(self.captures, settings));
        if let Some(stack) = &stack {
            let asks = missing::asks(stack, self.collector.missing);
            // What is asked for by device need not be asked for at large.
            if asks.iter().any(|(missing, _)| *missing == Missing::Start) {
                wanting.retain(|next| !next.starts_with(missing::STARTS));
            }
            wanting.extend(asks.into_iter().map(|(_, ask)| ask));
        }
        Collected {
            host: self.host,
            collector: self.collector.name,
            stack,
            wanting,
            left_out: self.left_out,
        }
    }
}

/// Takes out devices without a medium, such as loop devices that nothing is attached to, drives of discs, and packages that are mounted:
/// every tool lists them, and there is nothing to ask about them.
fn without_empty(captures: &mut [Capture]) {
    let things = captures
        .iter()
        .flat_map(|capture| capture.inventory.things());
    let is_empty = |thing: &&Thing| {
        let size = thing.size.as_ref();
        let is_named = thing.names.iter().any(is_of_no_disk);
        thing.kind == LayerKind::Device
            && (is_named || size.is_some_and(|size| size.value == Interval::exact(Bytes::ZERO)))
    };
    let names = things
        .filter(is_empty)
        .flat_map(|thing| thing.names.clone());
    let mut empty: Vec<Name> = names.collect();
    let snaps = captures
        .iter()
        .flat_map(|capture| capture.inventory.things())
        .filter(|thing| thing.names.iter().any(is_of_snap));
    // Their contents never change, and nobody chose where these lie.
    empty.extend(
        snaps
            .flat_map(|thing| thing.on.clone())
            .filter(|name| name.space == Space::Device && name.text.starts_with("loop")),
    );
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

/// True where Ubuntu mounts the packages of its own format, each a file of its own.
fn is_of_snap(name: &Name) -> bool {
    let tops = ["/snap/", "/var/lib/snapd/snap/"];
    name.space == Space::MountPoint && tops.iter().any(|top| name.text.starts_with(top))
}

/// True for drives of discs and floppies, and for memory.
fn is_of_no_disk(name: &Name) -> bool {
    let number = |prefix| name.text.strip_prefix(prefix);
    let mut numbers = ["sr", "fd", "ram"].into_iter().filter_map(number);
    name.space == Space::Device
        && numbers.any(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
