//! What SQLIO and diskspd have in common: test files that stay, and several loads that run at the same time.

use anyhow::{Context, bail};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use straddle::bench::place::Region;
use straddle::bench::plan::Slot;
use straddle::bench::run::{Options, RunError, Storage, Subject, Task, Watch, trial};
use straddle::bench::sample::Sample;
use straddle::bench::target::{Target, TestFile, data_length};
use straddle::geometry::Bytes;
use straddle::io::engine::{Durability, Kind};
use straddle::workload::Workload;
use straddle::workload::offset::Offset;

use crate::output;

/// Longest parameter file and profile.
const MAX_TEXT: u64 = 4 << 20;

/// The text of a parameter file or profile; PowerShell's `>` writes UTF-16.
pub(crate) fn text_of(file: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(file)?
        .take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)?;
    if read as u64 > MAX_TEXT {
        bail!("it is longer than 4 MiB; expected a short text");
    }
    let Some(wide) = bytes.strip_prefix(&[0xff, 0xfe]) else {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    };
    let units = wide.chunks_exact(2).filter_map(|pair| pair.try_into().ok());
    let units = units.map(u16::from_le_bytes);
    let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    Ok(chars.collect())
}

/// One load: what is asked of a region of a target. Each has threads of its own.
pub(crate) struct Load {
    pub(crate) target: Target,
    pub(crate) region: Region,
    pub(crate) workload: Workload,
    pub(crate) seed: u64,
}

/// A file that a command line names.
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    /// How long it has to be: as long as it is, when nothing is said.
    pub(crate) size: Option<Bytes>,
    /// How long it is made when it is missing and nothing is said.
    pub(crate) default: Bytes,
    pub(crate) writes: bool,
}

/// A file that is measured on.
pub(crate) struct Opened {
    /// Its length.
    pub(crate) size: Bytes,
    /// Its length before, when it was made or made longer.
    pub(crate) grown_from: Option<Bytes>,
    /// What makes it ours; none when it is only read.
    ours: Option<Arc<TestFile>>,
    path: std::path::PathBuf,
}

/// Opens or makes all files. When one cannot be had, the others are released.
pub(crate) fn open<'a>(
    files: impl Iterator<Item = Wanted<'a>>,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Opened>> {
    let mut all: Vec<Opened> = Vec::new();
    for wanted in files {
        let again = all.iter().find_map(|opened| opened.again(&wanted));
        match again.map_or_else(|| Opened::new(&wanted, stop), Ok) {
            Ok(opened) => all.push(opened),
            Err(error) => {
                release(all)?;
                return Err(error);
            }
        }
    }
    Ok(all)
}

/// Says that the run is over, so that the next one knows the files: all of them, also when one cannot be released.
pub(crate) fn release(opened: Vec<Opened>) -> anyhow::Result<()> {
    let ours = opened.into_iter().filter_map(|opened| opened.ours);
    // Of a file that was named twice, the last one.
    let released: Vec<_> = ours
        .filter_map(Arc::into_inner)
        .map(TestFile::release)
        .collect();
    for result in released {
        result?;
    }
    Ok(())
}

impl Opened {
    /// A file for writing is made if it is missing, and must be ours if it is there. A file for reading may be anybody's, and is
    /// made, too, if it is missing.
    fn new(wanted: &Wanted<'_>, stop: &AtomicBool) -> anyhow::Result<Opened> {
        let name = wanted.name;
        if !cfg!(windows) && names_a_drive(name) {
            let file = name
                .rsplit(['\\', '/'])
                .next()
                .filter(|file| !file.is_empty());
            bail!(
                "`{name}` is a path of Windows; name a file of this system, such as ./{}, also in the parameter file",
                file.unwrap_or("testfile.dat")
            );
        }
        let path = Path::new(name);
        let before = data_length(path);
        let size = wanted.size;
        let enough = before.is_some_and(|before| size.is_none_or(|size| before >= size));
        if enough && !wanted.writes {
            return Ok(Opened {
                size: before.unwrap_or_default(),
                grown_from: None,
                ours: None,
                path: path.to_owned(),
            });
        }
        let size = size.or(before).unwrap_or(wanted.default);
        let making =
            |size| output::remark(&format!("making {name}, {size}; it stays for later runs"));
        let ours = TestFile::open_or_create(path, size, making, stop)?;
        let grown = before.is_none_or(|before| before < ours.size());
        Ok(Opened {
            size: ours.size(),
            grown_from: grown.then(|| before.unwrap_or_default()),
            ours: Some(Arc::new(ours)),
            path: path.to_owned(),
        })
    }

    /// The same file once more, when it is wanted again and is long enough.
    fn again(&self, wanted: &Wanted<'_>) -> Option<Opened> {
        let ours = self.ours.as_ref()?;
        let path = std::fs::canonicalize(wanted.name).ok()?;
        let is_enough = wanted.size.is_none_or(|size| self.size >= size);
        (is_enough && path == ours.path()).then(|| Opened {
            size: self.size,
            grown_from: None,
            ours: Some(Arc::clone(ours)),
            path: self.path.clone(),
        })
    }

    /// The file as a target; `writes` only where it is ours.
    pub(crate) fn target(&self, direct: bool, writes: bool) -> anyhow::Result<Target> {
        match (&self.ours, writes) {
            (Some(ours), true) => Ok(Target::reusable(ours, direct)?),
            _ => Ok(Target::existing(&self.path, direct)?),
        }
    }
}

/// `C:\…` or `C:/…`.
fn names_a_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}

/// How often a signal is looked for.
const TICK: Duration = Duration::from_millis(50);

/// What loads that ran at the same time came to.
pub(crate) struct Measured<T> {
    /// A sample for each, in order.
    pub(crate) samples: Vec<Sample>,
    /// What was observed where the measured part began and ended.
    pub(crate) seen: Option<[T; 2]>,
    /// A signal ended it early: the samples are what was measured until then.
    pub(crate) stopped: bool,
}

/// Runs all loads at the same time, on the engine that is the fastest for the first of them.
pub(crate) fn run<T: Send>(
    loads: Vec<Load>,
    durability: Durability,
    warm_up: Duration,
    measured: Duration,
    observe: impl Fn() -> T + Send,
    stop: &AtomicBool,
) -> anyhow::Result<Measured<T>> {
    let offset = Offset {
        name: "0".to_owned(),
        bytes: Bytes::ZERO,
    };
    let mut options = Options {
        engine: Kind::Pread,
        durability,
        atomic: false,
        polled: false,
        verify: false,
    };
    let mut loads = loads.into_iter();
    let first = loads.next().context("there is nothing to measure on")?;
    let watch = Watch::default();
    let trial = trial(
        first.target,
        first.region,
        options,
        &first.workload,
        &offset,
        &watch,
    )?;
    options.engine = trial.engine;
    let first = Load {
        target: trial.target,
        ..first
    };
    let all: Vec<Load> = std::iter::once(first).chain(loads).collect();
    let start = Barrier::new(all.len() + 1);
    let watches: Vec<Watch> = all.iter().map(|_| Watch::default()).collect();
    let over = AtomicBool::new(false);
    let (results, seen) = std::thread::scope(|scope| {
        let start = &start;
        let (over, watches) = (&over, &watches);
        let observer = scope.spawn(move || {
            start.wait();
            let began = Instant::now();
            wait(began + warm_up, over);
            let first = observe();
            wait(began + warm_up + measured, over);
            [first, observe()]
        });
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    for watch in watches {
                        watch.stop.store(true, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(TICK);
            }
        });
        let threads: Vec<_> = (0..)
            .zip(all)
            .zip(watches)
            .map(|((number, load), watch)| {
                let offset = &offset;
                scope.spawn(move || {
                    let task = Task {
                        slot: Slot {
                            cell: number,
                            block: 0,
                            position: 0,
                            offset: 0,
                        },
                        workload: &load.workload,
                        offset,
                        warm_up,
                        measured,
                        seed: load.seed,
                    };
                    let mut storage = Storage::new(load.target, load.region, options);
                    start.wait();
                    storage.run(&task, watch)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| {
                Err(RunError::Engine {
                    engine: options.engine.name(),
                    source: std::io::Error::other("a thread panicked; this is a bug"),
                })
            })
        });
        let results: Vec<Result<Sample, RunError>> = joined.collect();
        over.store(true, Ordering::Relaxed);
        (results, observer.join().ok())
    });
    let mut stopped = false;
    let mut samples = Vec::new();
    for result in results {
        samples.push(match result {
            Err(RunError::Stopped(Some(sample))) => {
                stopped = true;
                *sample
            }
            Err(RunError::Stopped(None)) => bail!("stopped before anything was measured"),
            other => other?,
        });
    }
    if stopped {
        let took = samples.iter().map(|sample| sample.took).max();
        output::remark(&format!(
            "stopped; the report is about the {:.1} s that were measured",
            took.unwrap_or_default().as_secs_f64()
        ));
    }
    Ok(Measured {
        samples,
        seen,
        stopped,
    })
}

/// Waits until then, or until everything is over.
fn wait(then: Instant, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(TICK));
    }
}
