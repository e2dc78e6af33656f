//! SQLIO's command line and parameter file.
//!
//! Source: the `readme.txt` of SQLIO 1.5 (1999), which came with every copy of the tool, and published scripts. Switches stand
//! with or without a space before their value, after `-` or `/`. A file of parameters has lines of `name threads mask size`,
//! where the size is in MB (2²⁰ bytes).

mod parameters;

use std::time::Duration;
use straddle_geometry::{Access, Bytes, Unit};

use super::{
    Argument, MAX_OUTSTANDING, MAX_REQUEST, MAX_RUN, Refused, argument, names_a_raw_device, number,
    raw_device, small,
};
use crate::place::Region;
use straddle_workload::{Pattern, Percent, Workload};

pub use parameters::parameters;

/// The file that SQLIO takes when none is named.
const DEFAULT_FILE: &str = "testfile.dat";
/// Most threads, and most files: SQLIO's own maximum.
const MAX: u32 = 256;

/// `-f` and `-i` when they are left out.
const DEFAULT_FACTOR: u64 = 64;
const DEFAULT_PER_RUN: u64 = 64;

/// Length of a file that is made when nobody says how long: what SQLIO's defaults (`-f64 -b2 -i64`) touch.
pub const DEFAULT_SIZE: Bytes = Bytes::mib(8);

/// One run of SQLIO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// `-k`: all requests read, or all write.
    pub access: Access,
    /// `-s`: how long it runs.
    pub runs: Duration,
    /// `-f`: where the next request lies.
    pub order: Order,
    /// `-b`: length of a request.
    pub block: Unit,
    /// `-o`: requests that each thread keeps under way. `None` (and `-o0`): it waits for each.
    pub outstanding: Option<u32>,
    /// `-B`.
    pub buffering: Buffering,
    /// `-L`: latencies are reported.
    pub latency: bool,
    /// `-S`: blocks that are left out at the beginning of the file.
    pub start: u64,
    /// `-F`: where files and threads are listed, when it is given.
    pub parameter_file: Option<String>,
    /// Files, and the threads of each.
    pub files: Vec<File>,
    /// What is read otherwise than a reader of the command line may think.
    pub remarks: Vec<String>,
}

/// A file that is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// As it was named.
    pub name: String,
    /// Threads that use it.
    pub threads: u32,
    /// Length that is used; `None` is all of the file.
    pub size: Option<Bytes>,
}

/// Where the next request lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `-frandom`: anywhere on the lattice of blocks.
    Random,
    /// `-fsequential`: behind the one before it in this file, whichever thread that was.
    Sequential,
    /// `-f64`: blocks as a table with rows of that many, and as many rows as a run has requests (`-i`). A run is one column,
    /// top to bottom; the next run is the column beside it. Each thread has columns of its own.
    Stripe {
        /// Blocks of a row.
        factor: u64,
        /// Rows.
        per_run: u64,
    },
}

impl Order {
    /// Blocks that are touched, where that is not all of the file; `None` when there are more than can be counted.
    fn blocks(self) -> Option<Option<u64>> {
        match self {
            Order::Random | Order::Sequential => Some(None),
            Order::Stripe { factor, per_run } => factor.checked_mul(per_run).map(Some),
        }
    }
}

/// Which caches are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// Not said, which is [`Buffering::None`], but SQLIO prints nothing about it.
    #[default]
    Unsaid,
    /// `-BN`: neither.
    None,
    /// `-BY`: both.
    Both,
    /// `-BH`: that of the disk.
    Hardware,
    /// `-BS`: that of the file system.
    Software,
}

impl Buffering {
    /// Whether the page cache is left out: `FILE_FLAG_NO_BUFFERING`.
    #[must_use]
    pub fn is_direct(self) -> bool {
        !matches!(self, Buffering::Both | Buffering::Software)
    }

    /// Whether a write ends on stable storage: `FILE_FLAG_WRITE_THROUGH`.
    #[must_use]
    pub fn is_write_through(self) -> bool {
        !matches!(self, Buffering::Both | Buffering::Hardware)
    }
}

impl Command {
    /// What is asked of one of the files.
    ///
    /// The threads of SQLIO share one cursor in a file that is read or written sequentially. One worker with all their
    /// requests does the same.
    #[must_use]
    pub fn workload(&self, threads: u32) -> Workload {
        let outstanding = self.outstanding.unwrap_or(1);
        let (pattern, workers, outstanding) = match self.order {
            Order::Random => (Pattern::Random, threads, outstanding),
            // One column is one block after the other; it has room for one thread.
            Order::Sequential | Order::Stripe { factor: 0 | 1, .. } => {
                (Pattern::Sequential, 1, threads.saturating_mul(outstanding))
            }
            Order::Stripe { factor, .. } => {
                let row = self.block.checked_mul(factor).unwrap_or(Unit::MAX);
                (Pattern::Columns(row), threads, outstanding)
            }
        };
        Workload {
            reads: match self.access {
                Access::Read => Percent::ALL,
                Access::Write => Percent::NONE,
            },
            pattern,
            sizes: vec![(self.block, 1)],
            workers,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        }
    }

    /// What requests may touch in a file of this length.
    ///
    /// # Errors
    /// [`Refused`] when not one block fits.
    pub fn region(&self, size: Bytes) -> Result<Region, Refused> {
        let base = self.block.bytes().checked_mul(self.start);
        let left = base.and_then(|base| Some((base, size.checked_sub(base)?)));
        // All of the file, or as much as the stripes touch.
        let touched = |left: Bytes| match self.order.blocks()? {
            None => Some(left).filter(|left| *left >= self.block.bytes()),
            Some(blocks) => {
                let touched = self.block.bytes().checked_mul(blocks)?;
                Some(touched).filter(|touched| *touched <= left)
            }
        };
        if let Some((base, len)) = left.and_then(|(base, left)| Some((base, touched(left)?))) {
            return Ok(Region { base, len });
        }
        let stripe = match self.order {
            Order::Stripe { factor, per_run } => format!(" -f{factor} -i{per_run}"),
            Order::Random | Order::Sequential => String::new(),
        };
        Err(Refused::new(
            format!("-b{} -S{}{stripe}", self.block.get() >> 10, self.start),
            format!(
                "what is asked for does not fit into {} bytes",
                size.grouped()
            ),
            if stripe.is_empty() {
                "give the file a larger size in the parameter file"
            } else {
                "name a longer file, or give a smaller -f or -i"
            },
        ))
    }

    /// Shortest file that this can be done in.
    #[must_use]
    pub fn least_size(&self) -> Bytes {
        let blocks = self.order.blocks().unwrap_or(Some(u64::MAX)).unwrap_or(1);
        let blocks = self.start.saturating_add(blocks);
        let size = self.block.bytes().checked_mul(blocks);
        size.unwrap_or(Bytes::MAX)
    }

    /// Whether a file that is shorter than [`Command::least_size`] is made longer, as SQLIO does where the switches say
    /// which blocks are touched.
    #[must_use]
    pub fn expands(&self) -> bool {
        matches!(self.order, Order::Stripe { .. })
    }

    /// The same with the files of its parameter file in place of its own.
    ///
    /// # Errors
    /// [`Refused`] for a line that makes no sense or asks for something that is not done.
    pub fn with_parameters(mut self, text: &str) -> Result<Command, Refused> {
        self.files = parameters(text)?;
        self.check()?;
        Ok(self)
    }

    /// What only all switches together can tell.
    fn check(&self) -> Result<(), Refused> {
        for file in &self.files {
            if let Order::Stripe { factor, .. } = self.order {
                let threads = u64::from(file.threads);
                if threads > factor {
                    return Err(Refused::new(
                        format!("`-f{factor}` with {threads} threads"),
                        "SQLIO's stripe must be as wide as there are threads",
                        "give fewer threads, a larger -f, or -fsequential",
                    ));
                }
                if !factor.is_multiple_of(threads.max(1)) {
                    return Err(Refused::new(
                        format!("`-f{factor}` with {threads} threads"),
                        format!(
                            "SQLIO's documentation does not say how {threads} threads share {factor} blocks"
                        ),
                        "give a number of threads that divides -f (64 when it is left out), or -frandom",
                    ));
                }
                if file.size.is_some() {
                    return Err(Refused::new(
                        format!("the size of {}", file.name),
                        "SQLIO takes one only with -frandom or -fsequential",
                        "leave it out, or give -fsequential",
                    ));
                }
            }
        }
        if self.files.len() > 1 && self.outstanding.is_none() && self.parameter_file.is_none() {
            return Err(Refused::new(
                format!("{} files without -o", self.files.len()),
                "SQLIO's threads then wait for each file in turn",
                "give -o1, which keeps one request under way in each file, or a parameter file (-F)",
            ));
        }
        Ok(())
    }
}

/// Reads SQLIO's arguments, without the name of the program.
///
/// # Errors
/// [`Refused`] for what SQLIO would refuse, and for what it did and Straddle does not.
pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Command, Refused> {
    let mut given = Given::default();
    let mut arguments = arguments.iter().map(AsRef::as_ref);
    while let Some(text) = arguments.next() {
        match argument(text)? {
            Argument::Name(name) => given.names.push(name.to_owned()),
            Argument::Switch(letter, value) => {
                let whole = format!("`{text}`");
                if value.is_empty() && TAKES_VALUE.contains(letter) {
                    let next = arguments.next().unwrap_or_default();
                    given.switch(letter, next, &format!("`{text} {next}`"))?;
                } else {
                    given.switch(letter, value, &whole)?;
                }
            }
        }
    }
    given.command()
}

/// Switches whose value may be the next argument.
const TAKES_VALUE: &str = "kstfobiBLSFd";

/// What has been given so far; each switch once.
#[derive(Debug, Default)]
struct Given {
    access: Option<Access>,
    seconds: Option<u64>,
    factor: Option<Factor>,
    block: Option<u64>,
    outstanding: Option<u32>,
    threads: Option<u32>,
    per_run: Option<u64>,
    buffering: Option<Buffering>,
    latency: Option<Clock>,
    start: Option<u64>,
    parameter_file: Option<String>,
    /// `-d`, as it was typed, and its letters.
    drives: Option<(String, String)>,
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Random,
    Sequential,
    Blocks(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    System,
    Processor,
}

impl Given {
    fn switch(&mut self, letter: char, value: &str, whole: &str) -> Result<(), Refused> {
        let unlike = |expected: &str| {
            Refused::new(whole, format!("`{value}` is not {expected}"), "give one")
        };
        match letter {
            'k' => {
                let access = match value {
                    "R" | "r" => Access::Read,
                    "W" | "w" => Access::Write,
                    _ => return Err(unlike("R or W")),
                };
                set(&mut self.access, access, whole)
            }
            's' => set(&mut self.seconds, number(whole, value, 1, MAX_RUN)?, whole),
            'f' => {
                let factor = match value {
                    "random" => Factor::Random,
                    "sequential" => Factor::Sequential,
                    _ => Factor::Blocks(
                        number(whole, value, 1, 1 << 32)
                            .map_err(|_| unlike("random, sequential or a number of blocks"))?,
                    ),
                };
                set(&mut self.factor, factor, whole)
            }
            'b' => set(
                &mut self.block,
                number(whole, value, 1, MAX_REQUEST >> 10)?,
                whole,
            ),
            'o' => {
                let most = u32::try_from(MAX_OUTSTANDING).unwrap_or(u32::MAX);
                set(&mut self.outstanding, small(whole, value, 0, most)?, whole)
            }
            't' => set(&mut self.threads, small(whole, value, 1, MAX)?, whole),
            'i' => set(&mut self.per_run, number(whole, value, 1, 1 << 40)?, whole),
            'B' => {
                let buffering = match value {
                    "N" | "n" => Buffering::None,
                    "Y" | "y" => Buffering::Both,
                    "H" | "h" => Buffering::Hardware,
                    "S" | "s" => Buffering::Software,
                    _ => return Err(unlike("N, Y, H or S")),
                };
                set(&mut self.buffering, buffering, whole)
            }
            'L' => {
                let clock = match value {
                    "S" | "s" => Clock::System,
                    "P" | "p" => Clock::Processor,
                    "Si" | "Pi" | "si" | "pi" => {
                        return Err(Refused::new(
                            whole,
                            "the time that a call takes to start a request is not measured",
                            "give -LS",
                        ));
                    }
                    _ => return Err(unlike("S or P")),
                };
                set(&mut self.latency, clock, whole)
            }
            'S' => set(&mut self.start, number(whole, value, 0, 1 << 40)?, whole),
            'F' if value.is_empty() => Err(unlike("a file")),
            'F' => set(&mut self.parameter_file, value.to_owned(), whole),
            'd' if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphabetic()) => {
                self.drives = Some((whole.to_owned(), value.to_owned()));
                Ok(())
            }
            'd' => Err(unlike("letters of drives")),
            '6' if value == "4" => Ok(()),
            _ => Err(refuse(letter, whole)),
        }
    }

    /// What `-dEFG` means, and what to type in its place.
    fn drives(&self) -> Result<(), Refused> {
        let Some((whole, letters)) = &self.drives else {
            return Ok(());
        };
        let why = "SQLIO puts each of these drive letters before the name of the file, and uses all of these files at once; names are not put together here";
        let usual = [DEFAULT_FILE.to_owned()];
        let names = match self.names.as_slice() {
            [] => usual.as_slice(),
            names => names,
        };
        if let Some(file) = &self.parameter_file {
            return Err(Refused::new(
                whole,
                why,
                format!("leave it out, and write each file in full into {file}, a line each"),
            ));
        }
        let mut files = Vec::new();
        for letter in letters.chars() {
            for name in names {
                let name = name.trim_start_matches('\\');
                files.push(format!("{letter}:\\{name}"));
            }
        }
        // Several files are used at once only with -o.
        let outstanding = match (files.len(), self.outstanding) {
            (2.., None) => "-o1 ",
            _ => "",
        };
        Err(Refused::new(
            whole,
            why,
            format!(
                "type {outstanding}{} in its place; on Linux, the path of each",
                files.join(" ")
            ),
        ))
    }

    fn command(self) -> Result<Command, Refused> {
        self.drives()?;
        let mut remarks = Vec::new();
        let per_run = self.per_run.unwrap_or(DEFAULT_PER_RUN);
        let order = match self.factor {
            Some(Factor::Random) => Order::Random,
            Some(Factor::Sequential) => Order::Sequential,
            Some(Factor::Blocks(factor)) => Order::Stripe { factor, per_run },
            None => Order::Stripe {
                factor: DEFAULT_FACTOR,
                per_run,
            },
        };
        if let (Order::Random | Order::Sequential, Some(per_run)) = (order, self.per_run) {
            remarks.push(format!(
                "-i{per_run} has no meaning with -frandom and -fsequential, as SQLIO's documentation says"
            ));
        }
        if self.latency == Some(Clock::Processor) {
            remarks.push(
                "-LP: latencies come from the system's clock, as with -LS; it counts nanoseconds here"
                    .to_owned(),
            );
        }
        let files = match &self.parameter_file {
            Some(_) if !self.names.is_empty() => {
                return Err(Refused::new(
                    format!("`{}` beside -F", self.names.join(" ")),
                    "the parameter file names the files",
                    "leave one of them out",
                ));
            }
            Some(file) => {
                if let Some(threads) = self.threads {
                    remarks.push(format!(
                        "-t{threads}: {file} says how many threads there are, as it did for SQLIO"
                    ));
                }
                Vec::new()
            }
            None => {
                let names = match self.names.as_slice() {
                    [] => vec![DEFAULT_FILE.to_owned()],
                    names => names.to_vec(),
                };
                if names.len() > MAX as usize {
                    return Err(Refused::new(
                        format!("{} files", names.len()),
                        format!("SQLIO takes {MAX} at most"),
                        "name fewer",
                    ));
                }
                let threads = self.threads.unwrap_or(1);
                let file = |name: String| {
                    if names_a_raw_device(&name) {
                        return Err(raw_device(&format!("`{name}`")));
                    }
                    Ok(File {
                        name,
                        threads,
                        size: None,
                    })
                };
                names.into_iter().map(file).collect::<Result<_, _>>()?
            }
        };
        let command = Command {
            access: self.access.unwrap_or(Access::Read),
            runs: Duration::from_secs(self.seconds.unwrap_or(30)),
            order,
            block: Unit::new(self.block.unwrap_or(2) << 10).unwrap_or(Unit::B4096),
            outstanding: self.outstanding.filter(|outstanding| *outstanding > 0),
            buffering: self.buffering.unwrap_or_default(),
            latency: self.latency.is_some(),
            start: self.start.unwrap_or(0),
            parameter_file: self.parameter_file,
            files,
            remarks,
        };
        command.check()?;
        Ok(command)
    }
}

fn set<T: PartialEq>(place: &mut Option<T>, value: T, whole: &str) -> Result<(), Refused> {
    match place {
        Some(before) if *before != value => Err(Refused::new(
            whole,
            "the same switch has been given before with another value",
            "give it once",
        )),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

/// Switches of SQLIO that are not done here, and what is none of SQLIO's.
fn refuse(letter: char, whole: &str) -> Refused {
    let (why, instead) = match letter {
        'R' => return raw_device(whole),
        'm' => (
            "requests are made from one buffer each, not scattered or copied",
            "leave it out",
        ),
        'p' | 'a' => (
            "threads are not bound to processors",
            "leave it out, and start straddle under taskset (Linux) or start /affinity (Windows)",
        ),
        'U' => (
            "utilization of processors is not part of this report",
            "leave it out",
        ),
        'v' => (
            "the order of blocks of SQLIO 1.1.1 is not made",
            "leave it out",
        ),
        'D' => ("there is no debug output", "leave it out"),
        _ => (
            "SQLIO has no such switch",
            "see docs/compatibility.md for what is taken",
        ),
    };
    Refused::new(whole, why, instead)
}

#[cfg(test)]
mod tests;
