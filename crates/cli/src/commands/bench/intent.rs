//! What was asked for, by arguments or by a job file, as the header of a journal.

use anyhow::bail;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use straddle::bench::journal::{self, Header, Role, SCHEMA};
use straddle::bench::plan::{Plan, Schedule};
use straddle::bench::run::Replay;
use straddle::bench::target::{self, Consent};
use straddle::geometry::Bytes;
use straddle::io::engine::{Durability, Kind};
use straddle::io::owned::Token;
use straddle::workload::Workload;

use super::{job, outline, recorded};
use crate::args::bench::{Bench, Blocks, Budget, Devices, How};

/// Working set in a test file, in bytes, unless said otherwise.
const USUAL_SPAN: Bytes = Bytes::mib(1024);

/// The time for all runs, where it is enough for the least blocks.
const USUAL_BUDGET: Duration = Duration::from_secs(120);
const USUAL_BLOCKS: Blocks = Blocks {
    least: 5,
    most: 1000,
};

/// What is to be done.
pub(super) struct Intent {
    pub(super) header: Header,
    /// Where its journal goes; `None` when it needs none.
    pub(super) journal: Option<PathBuf>,
    /// Recorded requests, where they are made.
    pub(super) replay: Option<Replay>,
    /// For writing to a device.
    pub(super) consent: Option<Consent>,
    /// What is done otherwise than a reader of the job file may think.
    pub(super) remarks: Vec<String>,
}

/// A job file, or what stands for it on the command line.
pub(super) struct Wanted {
    pub(super) target: Option<PathBuf>,
    pub(super) cells: Vec<Workload>,
    /// What the cells are called; none, or one for each.
    pub(super) names: Vec<String>,
    pub(super) span: Option<Bytes>,
    pub(super) measured: Duration,
    pub(super) warm_up: Duration,
    pub(super) direct: bool,
    pub(super) durability: Durability,
    pub(super) engine: Option<Kind>,
    pub(super) seed: Option<u64>,
    pub(super) remarks: Vec<String>,
}

impl Intent {
    pub(super) fn new(args: &Bench) -> anyhow::Result<Intent> {
        if cfg!(not(target_os = "linux")) {
            known_here(&args.how)?;
        }
        let job = match args.recorded.replay {
            None => job::named(args)?,
            Some(_) => None,
        };
        let mut replay = None;
        let wanted = match (job, &args.recorded.replay) {
            (Some(path), _) => job::read(args, path)?,
            (None, Some(path)) => {
                let (wanted, found) = recorded::read(args, path)?;
                replay = Some(found);
                wanted
            }
            (None, None) => from_args(args)?,
        };
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let blocks = args.plan.blocks.unwrap_or(USUAL_BLOCKS);
        let mut plan = Plan {
            cells: wanted.cells,
            names: wanted.names,
            replay: replay.as_ref().map(|(replayed, _)| replayed.clone()),
            offsets: args.plan.offsets.clone(),
            measured: wanted.measured,
            warm_up: wanted.warm_up,
            least_blocks: blocks.least,
            most_blocks: blocks.most,
            precision: args.plan.precision,
            budget: None,
            // The seconds would do, but for two experiments of one second.
            seed: wanted
                .seed
                .unwrap_or(began.as_secs() ^ u64::from(began.subsec_nanos())),
        };
        let mut remarks = wanted.remarks;
        plan.budget = budget(args.plan.budget, &plan, &mut remarks)?;
        let (named, path, role) = subject(args, wanted.target, wanted.engine, &plan)?;
        let span = match role {
            // A recording that is smaller needs no more.
            Role::Own | Role::Null => wanted.span.or(Some(match &plan.replay {
                Some(replay) => replay.end.min(USUAL_SPAN),
                None => USUAL_SPAN,
            })),
            Role::Device | Role::ReadOnly => wanted.span,
        };
        let journal = match (&args.journal, role) {
            (Some(path), _) => Some(path.clone()),
            (None, Role::Null) => None,
            (None, Role::Own) => Some(journal::beside(&path)),
            (None, Role::Device | Role::ReadOnly) => Some(here(&path)),
        };
        Ok(Intent {
            header: Header {
                schema: SCHEMA.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                token: Token::random()?.to_string(),
                began,
                named: named.display().to_string(),
                path,
                role,
                direct: wanted.direct,
                engine: wanted.engine.map(|engine| engine.name().to_owned()),
                durability: wanted.durability.into(),
                atomic: args.how.atomic,
                polled: args.how.polled,
                verify: args.how.verify,
                span,
                stripe_unit: args.how.stripe_unit,
                stripe_width: args.how.stripe_width,
                plan,
            },
            journal,
            consent: consent(&args.devices),
            replay: replay.map(|(_, replay)| replay),
            remarks,
        })
    }
}

/// The time for all runs: what was asked for, or enough for the least blocks.
///
/// Nothing is called faster or slower below the least number of blocks, so that a shorter time would be spent for nothing.
fn budget(
    asked: Option<Budget>,
    plan: &Plan,
    remarks: &mut Vec<String>,
) -> anyhow::Result<Option<Duration>> {
    let least = Schedule::new(plan.clone())?.outline().least;
    let work = || {
        format!(
            "{} blocks of {} with {} runs of {} each take {}",
            plan.least_blocks,
            match plan.cells.len() {
                1 => "1 workload".to_owned(),
                number => format!("{number} workloads"),
            },
            plan.runs_per_block(),
            outline::time(plan.run_time()),
            outline::time(least.time)
        )
    };
    let is_enough = |time: Duration| time >= least.time || plan.offsets.len() < 2;
    match asked {
        None if is_enough(USUAL_BUDGET) => Ok(Some(USUAL_BUDGET)),
        None => {
            // Runs take a little longer than they are asked to.
            let time = least.time.saturating_add(least.time / 4);
            remarks.push(format!(
                "{}, so --budget is {} unless it is said",
                work(),
                outline::time(time)
            ));
            Ok(Some(time))
        }
        Some(Budget(Some(time))) if !is_enough(time) => bail!(
            "--budget {} proves nothing: {}; give --budget {} or more, fewer --blocks (3 at least), a shorter --runtime, or fewer offsets or workloads",
            outline::time(time),
            work(),
            outline::time(least.time.saturating_add(least.time / 4))
        ),
        Some(budget) => Ok(budget.0),
    }
}

/// Refuses what only Linux can be asked for, before anything is made.
fn known_here(how: &How) -> anyhow::Result<()> {
    if how.fua {
        bail!(
            "--fua asks for stable storage with each write, which only Linux lets a program do; expected --write-through, with which the file is opened to write through, all writes alike"
        );
    }
    let flags = [(how.atomic, "--atomic"), (how.polled, "--polled")];
    match flags.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, flag)) => bail!("{flag} is known on Linux only; run without it here"),
        None => Ok(()),
    }
}

/// That a device may be written to, if it was said.
pub(super) fn consent(args: &Devices) -> Option<Consent> {
    args.yes_destroy.clone().map(|name| Consent {
        name,
        overwrite_signatures: args.overwrite_signatures,
    })
}

/// The journal of a target beside which nothing can be written.
fn here(path: &Path) -> PathBuf {
    let name = target::name_of(path);
    PathBuf::from(format!("straddle-bench-{name}.journal"))
}

pub(super) fn from_args(args: &Bench) -> anyhow::Result<Wanted> {
    let durability = match (args.how.write_through, args.how.fua) {
        (true, _) => Durability::WriteThrough,
        (false, true) => Durability::ForcedUnitAccess,
        (false, false) => Durability::Cached,
    };
    Ok(Wanted {
        target: args.target.clone(),
        cells: cells(args)?,
        names: Vec::new(),
        span: args.plan.size.map(|size| size.bytes()),
        measured: args.plan.runtime,
        warm_up: args.plan.warm_up,
        direct: !args.how.buffered,
        durability,
        engine: args.how.engine.0,
        seed: args.plan.seed,
        remarks: Vec::new(),
    })
}

/// All combinations, those that differ in concurrency alone beside each other.
fn cells(args: &Bench) -> anyhow::Result<Vec<Workload>> {
    let asked = &args.workload;
    let streams = asked.streams().map_err(anyhow::Error::msg)?;
    let mut cells = Vec::new();
    for sizes in &asked.io {
        for (reads, pattern) in &streams {
            for workers in &asked.workers {
                for outstanding in &asked.outstanding {
                    cells.push(Workload {
                        reads: *reads,
                        pattern: *pattern,
                        sizes: sizes.0.clone(),
                        workers: *workers,
                        outstanding: *outstanding,
                        think: asked.think,
                        rate: asked.rate,
                    });
                }
            }
        }
    }
    Ok(cells)
}

/// The target as it was named, the file or device itself, and what it is to this program.
fn subject(
    args: &Bench,
    target: Option<PathBuf>,
    engine: Option<Kind>,
    plan: &Plan,
) -> anyhow::Result<(PathBuf, PathBuf, Role)> {
    if engine == Some(Kind::Null) {
        let named = target.unwrap_or_else(|| PathBuf::from("null"));
        return Ok((named.clone(), named, Role::Null));
    }
    if let Some(device) = &args.devices.destroy_data {
        if let Some(other) = target.filter(|target| target != device) {
            bail!(
                "TARGET is {} and --destroy-data is {}; leave one of them out",
                other.display(),
                device.display()
            );
        }
        return Ok((device.clone(), device.clone(), Role::Device));
    }
    let Some(named) = target else {
        bail!("no target; name a directory or a path for a test file");
    };
    let reads = plan.cells.iter().all(Workload::is_read_only);
    let own = target::place(&named);
    // A dangling link is a name that is taken, too.
    let is_taken = std::fs::symlink_metadata(&own).is_ok();
    // Windows looks for a disk's name in vain among those of files.
    if named.is_dir() || !is_taken && !straddle::io::is_device(&named) {
        // The journal of an earlier run says more than the file it left.
        journal::check_absent(&journal::beside(&own))?;
        if is_taken {
            return Err(target::taken(&own).into());
        }
        let directory = own.parent().filter(|parent| *parent != Path::new(""));
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            bail!(
                "{} is not a directory, so {} cannot be created in it; create the directory first",
                directory.display(),
                own.display()
            );
        }
        return Ok((named, std::path::absolute(own)?, Role::Own));
    }
    if straddle::io::is_device(&named) {
        if !reads {
            return Err(target::no_consent(&named).into());
        }
    } else if named.is_file() {
        journal::check_absent(&journal::beside(&named))?;
        if !reads {
            return Err(target::taken(&named).into());
        }
    }
    Ok((named.clone(), std::path::absolute(named)?, Role::ReadOnly))
}
