//! Which engine is the fastest here: found out, not assumed.
//!
//! On most storage io_uring is, because many requests share a system call. Where the kernel cannot start a request without
//! blocking (tmpfs, zram, some file systems), it hands each one to a thread of its own, and plain `pread` is many times
//! faster.

use std::time::Duration;
use straddle_io::engine::Kind;

use super::{EngineChoice, Options, RunError, Storage, Subject, Task, Watch};
use crate::place::Region;
use crate::plan::Slot;
use crate::target::Target;
use straddle_workload::offset::Offset;
use straddle_workload::{Percent, Workload};

/// Each engine is measured so often, in turn; the median counts. With one request under way its rate depends on which
/// processors the kernel happens to use, and may differ by half from one run to the next.
const ROUNDS: u32 = 5;
const MEASURED: Duration = Duration::from_millis(70);
const WARM_UP: Duration = Duration::from_millis(20);
/// The usual engine is kept when it reaches this share of the fastest: it costs less processor time.
const KEPT: f64 = 0.97;

/// What a trial came to.
#[derive(Debug)]
pub struct Trial {
    /// The engine to take.
    pub engine: Kind,
    /// The same with its reason and the figures.
    pub choice: EngineChoice,
    /// The target back.
    pub target: Target,
}

/// Measures each engine of this system for a moment, by reading what `workload` would read and write, at `offset`; nothing
/// is written. `options.engine` is not looked at.
///
/// # Errors
/// [`RunError`] when no engine works here, with the error of the last one, and [`RunError::Stopped`].
pub fn trial(
    target: Target,
    region: Region,
    options: Options,
    workload: &Workload,
    offset: &Offset,
    watch: &Watch,
) -> Result<Trial, RunError> {
    let workload = Workload {
        reads: Percent::ALL,
        think: Duration::ZERO,
        rate: None,
        ..workload.clone()
    };
    let mut storage = Storage::new(
        target,
        region,
        Options {
            verify: false,
            ..options
        },
    );
    let candidates = Kind::ALL.iter().filter(|kind| **kind != Kind::Null);
    let mut tried: Vec<Tried> = candidates.map(|kind| Tried::new(*kind)).collect();
    let mut last = None;
    for round in 0..ROUNDS {
        for one in tried.iter_mut().filter(|one| one.refused.is_none()) {
            storage.options.engine = one.kind;
            let task = Task {
                slot: Slot {
                    cell: 0,
                    block: round,
                    position: 0,
                    offset: 0,
                },
                workload: &workload,
                offset,
                warm_up: WARM_UP,
                measured: MEASURED,
                seed: 1,
            };
            match storage.run(&task, watch) {
                Ok(sample) => one.rates.push(sample.rate()),
                Err(RunError::Stopped(_)) => return Err(RunError::Stopped(None)),
                Err(error) => {
                    one.refused = Some(error.to_string());
                    last = Some(error);
                }
            }
        }
    }
    match choose(&tried) {
        Some((engine, choice)) => Ok(Trial {
            engine,
            choice,
            target: storage.target,
        }),
        None => Err(last.unwrap_or(RunError::Stopped(None))),
    }
}

/// One engine in a trial.
#[derive(Debug)]
struct Tried {
    kind: Kind,
    rates: Vec<f64>,
    refused: Option<String>,
}

impl Tried {
    fn new(kind: Kind) -> Tried {
        Tried {
            kind,
            rates: Vec::new(),
            refused: None,
        }
    }

    fn rate(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    }
}

/// The first engine that comes near enough to the fastest one.
fn choose(tried: &[Tried]) -> Option<(Kind, EngineChoice)> {
    let works: Vec<&Tried> = tried.iter().filter(|one| one.refused.is_none()).collect();
    let fastest = works
        .iter()
        .copied()
        .max_by(|a, b| a.rate().total_cmp(&b.rate()))?;
    let taken = works
        .iter()
        .copied()
        .find(|one| one.rate() >= KEPT * fastest.rate())?;
    let figure = |one: &Tried| format!("{} {:.0}", one.kind, one.rate());
    let figures: Vec<String> = works.iter().map(|one| figure(one)).collect();
    let mut reason = if works.len() == 1 {
        "the only engine that works here".to_owned()
    } else if taken.kind == fastest.kind {
        format!(
            "the fastest in a short trial, reads/s: {}",
            figures.join(", ")
        )
    } else {
        format!(
            "within 3% of the fastest in a short trial, reads/s: {}",
            figures.join(", ")
        )
    };
    for one in tried {
        if let Some(refused) = &one.refused {
            reason.push_str(&format!("; {} was refused: {refused}", one.kind));
        }
    }
    let choice = EngineChoice {
        name: taken.kind.name().to_owned(),
        reason,
        trial: works
            .iter()
            .map(|one| (one.kind.name().to_owned(), one.rate()))
            .collect(),
    };
    Some((taken.kind, choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(rates: &[f64], refused: &[usize]) -> Vec<Tried> {
        let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Null);
        let all = kinds
            .zip(rates)
            .enumerate()
            .map(|(at, (kind, rate))| Tried {
                kind: *kind,
                rates: vec![*rate, *rate],
                refused: refused.contains(&at).then(|| "forbidden".to_owned()),
            });
        all.collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_fastest_is_taken_and_the_usual_one_when_it_is_near() {
        let name = |rates: &[f64], refused: &[usize]| {
            choose(&tried(rates, refused)).map(|(kind, choice)| {
                assert_eq!(choice.name, kind.name());
                (kind, choice.reason)
            })
        };
        let (kind, reason) = name(&[100.0, 250.0], &[]).expect("both work");
        assert_eq!(kind, Kind::Pread);
        assert!(reason.contains("io_uring 100, pread 250"), "{reason}");
        let (kind, reason) = name(&[98.0, 100.0], &[]).expect("both work");
        assert_eq!(kind, Kind::IoUring);
        assert!(reason.starts_with("within 3%"), "{reason}");
        let (kind, reason) = name(&[500.0, 100.0], &[0]).expect("one works");
        assert_eq!(kind, Kind::Pread);
        assert!(
            reason.contains("io_uring was refused: forbidden"),
            "{reason}"
        );
        assert!(name(&[1.0, 1.0], &[0, 1]).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn one_round_that_was_lucky_decides_nothing() {
        let mut both = tried(&[100.0, 130.0], &[]);
        both[0].rates = vec![100.0, 100.0, 990.0, 100.0, 100.0];
        both[1].rates = vec![130.0, 5.0, 130.0, 130.0, 130.0];
        let (kind, choice) = choose(&both).expect("both work");
        assert_eq!(kind, Kind::Pread);
        assert!(choice.reason.contains("io_uring 100, pread 130"));
    }
}
