//! diskspd's command line.
//!
//! Source: the usage text and the wiki of diskspd 2.x (<https://github.com/microsoft/diskspd>, MIT licence). A switch and its
//! value are one argument, and targets follow the switches. Sizes end with K, M, G, T (binary) or b, which is the length of a
//! request.

mod profile;

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};

use super::{
    Argument, MAX_OUTSTANDING, MAX_REQUEST, MAX_RUN, Refused, argument, names_a_raw_device, number,
    raw_device, small,
};
use crate::place::Region;
use straddle_workload::{Pattern, Percent, Workload};

pub use profile::{parse_profile, profile};

/// Most threads of each target.
const MAX_THREADS: u32 = 1024;
/// Most targets.
const MAX_TARGETS: usize = 256;

/// One run of diskspd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Files, as they were named.
    pub targets: Vec<String>,
    /// `-b`: length of a request.
    pub block: Unit,
    /// `-t`: threads of each target.
    pub threads: u32,
    /// `-o`: requests that each thread keeps under way.
    pub outstanding: u32,
    /// `-r`, `-s`, `-si`.
    pub order: Order,
    /// The size behind `-s` and `-si`: from the beginning of a request to that of the next. The length of a request without.
    pub stride: Unit,
    /// `-T`, which has no meaning with one thread: a thread begins that far behind the one before it.
    pub thread_stride: Bytes,
    /// `-w`: share of requests that write.
    pub writes: Percent,
    /// `-d`: how long is measured.
    pub runs: Duration,
    /// `-W`: how long it runs before that.
    pub warm_up: Duration,
    /// `-B`: first byte that is used.
    pub base: Bytes,
    /// `-B` after the colon: how many are used.
    pub length: Option<Bytes>,
    /// `-f`: byte at which the use of each target ends.
    pub limit: Option<Bytes>,
    /// `-c`: length of the files that are made.
    pub create: Option<Bytes>,
    /// The page cache is left out (`-Su`, `-Sh`, `-h`).
    pub direct: bool,
    /// Writes end on stable storage (`-Sw`, `-Sh`, `-h`).
    pub write_through: bool,
    /// `-L`: latencies are reported.
    pub latency: bool,
    /// `-n`: threads are not bound to processors, as they never are here.
    pub affinity_disabled: bool,
    /// `-v`.
    pub verbose: bool,
    /// `-Rxml`: the report is XML.
    pub xml: bool,
    /// `-Z`: what is written.
    pub buffer: Buffer,
    /// `-z`: seeds the addresses; `None` is a seed of the time.
    pub seed: Option<u32>,
    /// What is read otherwise than a reader of the command line may think.
    pub remarks: Vec<String>,
}

/// Where the next request lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `-r`: anywhere on the lattice of blocks.
    Random,
    /// `-s`: each thread goes through all of the target by itself.
    Sequential,
    /// `-si`: all threads go through the target together.
    Interlocked,
}

/// What is written. It is random in any case; diskspd says in its report how large the buffer is that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// No `-Z`. diskspd writes bytes that count up.
    Unsaid,
    /// `-Z1G`: from a buffer of that length.
    Random(Bytes),
    /// `-Zr`: filled again for each request.
    RandomEachTime,
}

impl Command {
    /// What each thread asks of each target, and how many threads do: [`Command::threads`], but one where all threads share a
    /// cursor, which keeps the requests of all of them under way.
    #[must_use]
    pub fn workload(&self) -> (u32, Workload) {
        let in_order = if self.stride == self.block {
            Pattern::Sequential
        } else {
            Pattern::Strided(self.stride)
        };
        let (threads, pattern, outstanding) = match self.order {
            Order::Random => (self.threads, Pattern::Random, self.outstanding),
            Order::Sequential => (self.threads, in_order, self.outstanding),
            Order::Interlocked => {
                let all = self.outstanding.saturating_mul(self.threads);
                (1, in_order, all)
            }
        };
        let reads = Percent::new(100 - self.writes.get());
        let workload = Workload {
            reads: reads.unwrap_or(Percent::NONE),
            pattern,
            sizes: vec![(self.block, 1)],
            workers: 1,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        };
        (threads, workload)
    }

    /// What requests may touch in a target of this length.
    ///
    /// # Errors
    /// [`Refused`] when not one block fits.
    pub fn region(&self, size: Bytes) -> Result<Region, Refused> {
        let mut end = size.min(self.limit.unwrap_or(Bytes::MAX));
        if let Some(length) = self.length {
            end = end.min(self.base.checked_add(length).unwrap_or(Bytes::MAX));
        }
        match end.checked_sub(self.base) {
            Some(len) if len >= self.block.bytes() => Ok(Region {
                base: self.base,
                len,
            }),
            _ => Err(Refused::new(
                format!("{} bytes of a target", size.grouped()),
                "-B and -f leave less than one block (-b) of it",
                "make the target larger (-c), or the block smaller",
            )),
        }
    }
}

/// Reads diskspd's arguments, without the name of the program.
///
/// # Errors
/// [`Refused`] for what diskspd would refuse, and for what it does and Straddle does not.
pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Command, Refused> {
    let mut switches = Vec::new();
    let mut targets = Vec::new();
    for text in arguments.iter().map(AsRef::as_ref) {
        match argument(text)? {
            Argument::Name(name) if names_a_raw_device(name) => {
                return Err(raw_device(&format!("`{name}`")));
            }
            Argument::Name(name) => targets.push(name.to_owned()),
            Argument::Switch(..) if !targets.is_empty() => {
                return Err(Refused::new(
                    format!("`{text}`"),
                    "diskspd takes no switches after the first target",
                    "put it before the targets",
                ));
            }
            Argument::Switch(letter, value) => switches.push((letter, value, format!("`{text}`"))),
        }
    }
    let mut block = None;
    // Other sizes may be given in blocks, so this comes first.
    for (_, value, whole) in switches.iter().filter(|(letter, ..)| *letter == 'b') {
        let size = size(whole, value, None)?;
        let fits = Unit::try_from(size).ok();
        let fits = fits.filter(|size| size.get() <= MAX_REQUEST);
        let fits = fits.ok_or_else(|| {
            Refused::new(
                whole,
                "a request has from 1 byte to 64 MiB",
                "give another size",
            )
        })?;
        set(&mut block, fits, whole)?;
    }
    let mut given = Given {
        block: block.or(Unit::new(64 << 10)).unwrap_or(Unit::B4096),
        ..Given::default()
    };
    for (letter, value, whole) in &switches {
        given.switch(*letter, value, whole)?;
    }
    if targets.is_empty() || targets.len() > MAX_TARGETS {
        return Err(Refused::new(
            format!("{} targets", targets.len()),
            format!("1 to {MAX_TARGETS} can be measured"),
            "name a test file, with -c and its size if it is to be made",
        ));
    }
    if let Some((thread_stride, whole)) = &given.thread_stride
        && *thread_stride > Bytes::ZERO
        && given.threads.unwrap_or(1) > 1
    {
        return Err(refuse('T', "", whole));
    }
    Ok(given.command(targets))
}

/// What has been given so far; each switch once.
#[derive(Debug)]
struct Given {
    block: Unit,
    threads: Option<u32>,
    outstanding: Option<u32>,
    order: Option<Order>,
    stride: Option<Unit>,
    thread_stride: Option<(Bytes, String)>,
    writes: Option<Percent>,
    seconds: Option<u64>,
    warm_up: Option<u64>,
    bounds: Option<(Bytes, Option<Bytes>)>,
    limit: Option<Bytes>,
    create: Option<Bytes>,
    direct: Option<bool>,
    write_through: Option<bool>,
    latency: bool,
    affinity_disabled: bool,
    verbose: bool,
    xml: Option<bool>,
    buffer: Option<Buffer>,
    seed: Option<Option<u32>>,
}

impl Default for Given {
    fn default() -> Given {
        Given {
            block: Unit::B4096,
            threads: None,
            outstanding: None,
            order: None,
            stride: None,
            thread_stride: None,
            writes: None,
            seconds: None,
            warm_up: None,
            bounds: None,
            limit: None,
            create: None,
            direct: None,
            write_through: None,
            latency: false,
            affinity_disabled: false,
            verbose: false,
            xml: None,
            buffer: None,
            seed: None,
        }
    }
}

impl Given {
    fn switch(&mut self, letter: char, value: &str, whole: &str) -> Result<(), Refused> {
        let most = u32::try_from(MAX_OUTSTANDING).unwrap_or(u32::MAX);
        let block = Some(self.block);
        match letter {
            'b' => Ok(()),
            't' => set(
                &mut self.threads,
                small(whole, value, 1, MAX_THREADS)?,
                whole,
            ),
            'o' => set(&mut self.outstanding, small(whole, value, 1, most)?, whole),
            'r' => self.order(Order::Random, value, whole),
            's' => match value.strip_prefix('i') {
                Some(stride) => self.order(Order::Interlocked, stride, whole),
                None => self.order(Order::Sequential, value, whole),
            },
            'w' => {
                let share = match value {
                    "" => 0,
                    value => small(whole, value, 0, 100)?,
                };
                let share = u8::try_from(share).ok().and_then(Percent::new);
                set(&mut self.writes, share.unwrap_or(Percent::ALL), whole)
            }
            'd' => set(&mut self.seconds, number(whole, value, 1, MAX_RUN)?, whole),
            'W' => set(&mut self.warm_up, number(whole, value, 0, MAX_RUN)?, whole),
            'B' => {
                let (base, length) = match value.split_once(':') {
                    Some((base, length)) => (base, Some(size(whole, length, block)?)),
                    None => (value, None),
                };
                let bounds = (size(whole, base, block)?, length);
                set(&mut self.bounds, bounds, whole)
            }
            'f' if value.bytes().next().is_some_and(|b| b.is_ascii_digit()) => {
                set(&mut self.limit, size(whole, value, block)?, whole)
            }
            'T' => {
                let given = (size(whole, value, block)?, whole.to_owned());
                set(&mut self.thread_stride, given, whole)
            }
            'c' => set(&mut self.create, size(whole, value, block)?, whole),
            'h' if value.is_empty() => self.caches("h", whole),
            'S' => self.caches(if value.is_empty() { "u" } else { value }, whole),
            'L' if value.is_empty() => flag(&mut self.latency),
            'n' if value.is_empty() => flag(&mut self.affinity_disabled),
            'v' if value.is_empty() => flag(&mut self.verbose),
            'Z' if value == "r" => set(&mut self.buffer, Buffer::RandomEachTime, whole),
            'Z' if !value.is_empty() && !value.contains(',') => {
                let buffer = Buffer::Random(size(whole, value, block)?);
                set(&mut self.buffer, buffer, whole)
            }
            'z' if value.is_empty() => set(&mut self.seed, None, whole),
            'z' => set(
                &mut self.seed,
                Some(small(whole, value, 0, u32::MAX)?),
                whole,
            ),
            // What is asked for is what is done anyway.
            'R' if value == "text" => set(&mut self.xml, false, whole),
            'R' if value == "xml" => set(&mut self.xml, true, whole),
            'C' if value == "0" => Ok(()),
            'I' if value == "3" => Ok(()),
            'e' if value == "q" => Ok(()),
            _ => Err(refuse(letter, value, whole)),
        }
    }

    /// `-r`, with a lattice that has to be that of blocks, and `-s` and `-si` with the distance between requests.
    fn order(&mut self, order: Order, stride: &str, whole: &str) -> Result<(), Refused> {
        let (split, percent) = match (order, stride.as_bytes()) {
            (Order::Random, [b's', ..]) => (true, "a share of random requests"),
            (Order::Random, [b'd', ..]) => (true, "a distribution of random requests"),
            _ => (false, ""),
        };
        if split {
            return Err(Refused::new(
                whole,
                format!("{percent} is not made; all places are equally likely"),
                "give -r or -s",
            ));
        }
        if !stride.is_empty() {
            let stride = size(whole, stride, Some(self.block))?;
            if order == Order::Random && stride != self.block.bytes() {
                return Err(Refused::new(
                    whole,
                    "random requests lie on a lattice of their own length (-b), not of another one",
                    "leave the size out; -B moves the lattice, which is how alignment is tested",
                ));
            }
            let fits = Unit::try_from(stride).ok();
            let fits = fits.filter(|stride| *stride >= self.block).ok_or_else(|| {
                Refused::new(
                    whole,
                    format!(
                        "requests of {} bytes (-b) would overlap",
                        self.block.bytes().grouped()
                    ),
                    "give a stride of at least -b",
                )
            })?;
            set(&mut self.stride, fits, whole)?;
        }
        match self.order {
            Some(before) if before != order => Err(Refused::new(
                whole,
                "random and sequential exclude each other",
                "leave one of them out",
            )),
            _ => {
                self.order = Some(order);
                Ok(())
            }
        }
    }

    /// `-S` and its letters.
    fn caches(&mut self, letters: &str, whole: &str) -> Result<(), Refused> {
        for letter in letters.chars() {
            match letter {
                'b' => set(&mut self.direct, false, whole)?,
                'u' => set(&mut self.direct, true, whole)?,
                'w' => set(&mut self.write_through, true, whole)?,
                'h' => {
                    set(&mut self.direct, true, whole)?;
                    set(&mut self.write_through, true, whole)?;
                }
                _ => return Err(refuse('S', letters, whole)),
            }
        }
        Ok(())
    }

    fn command(self, targets: Vec<String>) -> Command {
        let threads = self.threads.unwrap_or(1);
        let mut order = self.order.unwrap_or(Order::Sequential);
        let mut remarks = Vec::new();
        if order == Order::Interlocked {
            if threads == 1 {
                order = Order::Sequential;
            } else {
                remarks.push(format!(
                    "-si: one thread with the requests of all {threads} goes through each target, which asks the same of the storage; the report has one row for it"
                ));
            }
        }
        Command {
            targets,
            block: self.block,
            threads,
            outstanding: self.outstanding.unwrap_or(2),
            order,
            stride: self.stride.unwrap_or(self.block),
            thread_stride: self.thread_stride.map_or(Bytes::ZERO, |(stride, _)| stride),
            writes: self.writes.unwrap_or(Percent::NONE),
            runs: Duration::from_secs(self.seconds.unwrap_or(10)),
            warm_up: Duration::from_secs(self.warm_up.unwrap_or(5)),
            base: self.bounds.map_or(Bytes::ZERO, |(base, _)| base),
            length: self.bounds.and_then(|(_, length)| length),
            limit: self.limit,
            create: self.create,
            direct: self.direct.unwrap_or(false),
            write_through: self.write_through.unwrap_or(false),
            latency: self.latency,
            affinity_disabled: self.affinity_disabled,
            verbose: self.verbose,
            xml: self.xml.unwrap_or(false),
            buffer: self.buffer.unwrap_or(Buffer::Unsaid),
            seed: self.seed.unwrap_or(Some(0)),
            remarks,
        }
    }
}

fn flag(place: &mut bool) -> Result<(), Refused> {
    *place = true;
    Ok(())
}

fn set<T: PartialEq>(place: &mut Option<T>, value: T, whole: &str) -> Result<(), Refused> {
    match place {
        Some(before) if *before != value => Err(Refused::new(
            whole,
            "it contradicts a switch before it",
            "give one of them",
        )),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

/// A size with K, M, G, T or b behind it.
fn size(whole: &str, text: &str, block: Option<Unit>) -> Result<Bytes, Refused> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" => Some(1),
        "K" | "k" => Some(1 << 10),
        "M" | "m" => Some(1 << 20),
        "G" | "g" => Some(1 << 30),
        "T" | "t" => Some(1 << 40),
        "B" | "b" => block.map(Unit::get),
        _ => None,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value: Option<u64> = if plain { digits.parse().ok() } else { None };
    let bytes = value.and_then(|value| value.checked_mul(unit?));
    bytes
        .filter(|bytes| *bytes <= Unit::MAX.get())
        .map(Bytes::new)
        .ok_or_else(|| {
            Refused::new(
                whole,
                format!("`{text}` is not a size as diskspd writes them"),
                "write it like 65536, 64K, 1M, 20G or, but for -b, 10b (blocks)",
            )
        })
}

/// Switches of diskspd that are not done here, and what is none of diskspd's.
fn refuse(letter: char, value: &str, whole: &str) -> Refused {
    let (why, instead) = match letter {
        'a' => (
            "threads are not bound to processors",
            "leave it out, and start straddle under taskset (Linux) or start /affinity (Windows)",
        ),
        'C' => (
            "nothing runs after the measured time",
            "leave it out: what is measured does not change",
        ),
        'D' => (
            "the spread of IOPS over intervals is not part of this report",
            "leave it out; `straddle bench --json` has the requests of each tenth of a second",
        ),
        'e' => ("Windows event tracing is not done", "leave it out"),
        'f' => (
            "the system is given no hints about the cache",
            "leave it out",
        ),
        'F' | 'O' => (
            "threads are counted for each target",
            "give -t (threads of each target) and -o (requests of each thread)",
        ),
        'g' => (
            "threads are not throttled one by one",
            "`straddle bench --rate` offers a rate and counts latency from when requests are due",
        ),
        'i' | 'j' => (
            "there are no bursts and no pauses",
            "leave it out; `straddle bench` knows think time",
        ),
        'I' => ("requests have no priorities", "leave it out"),
        'l' => ("buffers are not in large pages", "leave it out"),
        'N' => ("memory-mapped I/O is not done", "leave it out"),
        'p' => ("requests do not start at the same place", "leave it out"),
        'P' => ("no dots are printed", "leave it out"),
        'R' if value.starts_with('p') => (
            "a profile is not printed without a run",
            "give -Rxml: the profile is a part of the results",
        ),
        'R' => ("the report is text or XML", "give -Rtext or -Rxml"),
        'S' if value.contains('m') => {
            ("memory-mapped I/O is not done", "give -Sb, -Su, -Sw or -Sh")
        }
        'S' if value.contains('r') => (
            "caches of remote file systems are not told from local ones",
            "give -Sb, -Su, -Sw or -Sh",
        ),
        'S' => ("it is none of b, h, u and w", "give -Sb, -Su, -Sw or -Sh"),
        'T' => (
            "all threads begin at the same place; each would begin at one of its own and then go through all of the target",
            "leave it out, or give -t1, with which it has no meaning",
        ),
        'x' => (
            "there are no completion routines",
            "leave it out: what is asked of the storage does not change",
        ),
        'X' => (
            "it names no file",
            "give it with its file, such as -Xprofile.xml",
        ),
        'y' => ("there are no Windows events", "leave it out"),
        'Z' if value.is_empty() => (
            "zeros are not written: storage that compresses or leaves zeros out would deliver figures of nothing",
            "give -Zr, or leave it out",
        ),
        'Z' => (
            "what is written does not come from a file",
            "give -Zr or leave it out",
        ),
        '?' => (
            "there is no help of diskspd's own",
            "see docs/compatibility.md",
        ),
        _ => (
            "diskspd has no such switch",
            "see docs/compatibility.md for what is taken",
        ),
    };
    Refused::new(whole, why, instead)
}

#[cfg(test)]
mod tests;
