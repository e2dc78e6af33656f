//! `straddle bench`: makes an experiment, or goes on with one.

mod intent;
mod job;
mod outline;
mod prepare;
mod progress;
mod recorded;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use straddle::bench::journal::{Header, Journal, Limits, Recorded, Role};
use straddle::bench::place::{Ground, Wanted, place, requests_of};
use straddle::bench::plan::Schedule;
use straddle::bench::results::{End, Experiment, Machine, Setting};
use straddle::bench::run::{Replay, Storage};
use straddle::bench::session::{Failure, Session};
use straddle::bench::target::Target;
use straddle::bench::validity::Observer;
use straddle::geometry::Bytes;
use straddle::report::bench::{self as forms, fio};
use straddle::workload::interval::Verdict;

use super::kept::Keeper;
use crate::args::bench::{Bench, BenchFormat};
use crate::exit::{CLEAN, FAILED, UNPROVEN};
use crate::output;
use intent::Intent;
use prepare::Prepared;
use progress::Console;

pub(crate) fn run(args: &Bench) -> anyhow::Result<u8> {
    let keeper = Keeper::new(&args.keeping, "bench")?;
    let console = Console::new(args.quiet)?;
    let ready = match &args.resume {
        Some(path) => resume(args, path, &console)?,
        None => {
            let intent = Intent::new(args)?;
            say(args, &intent)?;
            if args.dry_run {
                return Ok(CLEAN);
            }
            begin(intent, &console)?
        }
    };
    let progress = keeper.under_way(&ready.header.named, ready.session.journal());
    let made = ready.run(args, &console);
    let printed = print(args, &made.experiment);
    let is_kept = keeper.wants() && !made.experiment.samples.is_empty();
    let document = is_kept.then(|| pretty(&forms::Document::new(&made.experiment)));
    let code = made.clean_up(args)?;
    progress.end();
    printed?;
    match document {
        Some(document) => keeper.keep(&document?, code),
        None => Ok(code),
    }
}

/// Says what is going to be done, or would be.
fn say(args: &Bench, intent: &Intent) -> anyhow::Result<()> {
    let header = &intent.header;
    let schedule = Schedule::new(header.plan.clone())?;
    let length = match header.role {
        Role::Own | Role::Null => Some(prepare::length(header)?),
        Role::Device | Role::ReadOnly => None,
    };
    let outline = outline::outline(header, &schedule, length);
    if !args.quiet {
        intent
            .remarks
            .iter()
            .for_each(|remark| output::remark(remark));
    }
    if args.dry_run {
        let (consent, journal) = (intent.consent.as_ref(), intent.journal.as_deref());
        let target = prepare::rehearsal(header, consent, journal)?;
        output::print(&outline)?;
        output::print(&dry_places(header, target.as_ref())?)?;
    } else if !args.quiet {
        output::aside(&outline);
    }
    Ok(())
}

/// Makes or opens the target of a new experiment.
fn begin(intent: Intent, console: &Console) -> anyhow::Result<Ready> {
    let Intent {
        header,
        journal,
        consent,
        replay,
        ..
    } = intent;
    let mut journal = match &journal {
        Some(path) => Some(Journal::create(path, header.clone())?),
        None => None,
    };
    let prepared = prepare::begin(&header, consent.as_ref(), journal.as_mut(), console)
        .and_then(|target| arrange(&header, target, journal.as_mut(), console));
    match (prepared, journal) {
        (Ok(prepared), journal) => Ok(Ready {
            session: Session::new(header.plan.clone(), journal)?,
            header,
            prepared,
            replay,
        }),
        (Err(error), Some(journal)) => {
            // Nothing was measured, and the file is gone already. What went wrong is said before what cannot be removed after it.
            if let Err(left) = journal.remove() {
                output::failure(&error);
                return Err(left.into());
            }
            Err(error)
        }
        (Err(error), None) => Err(error),
    }
}

/// Opens the target of an experiment that goes on.
fn resume(args: &Bench, path: &Path, console: &Console) -> anyhow::Result<Ready> {
    let (mut journal, mut recorded) = Journal::resume(path)?;
    // They are most of a long journal: moved, not copied.
    let samples = std::mem::take(&mut recorded.samples);
    if !args.quiet {
        output::remark(&format!(
            "resuming the experiment on {}: {} runs are kept",
            recorded.header.named,
            samples.len()
        ));
    }
    let raised = raised(args, &recorded)?;
    let replay = recorded.header.plan.replay.as_ref();
    let replay = replay.map(recorded::again).transpose()?;
    let consent = intent::consent(&args.devices);
    let target = prepare::resume(&recorded, consent.as_ref(), &mut journal, console)?;
    if let Some(limits) = raised {
        journal.raised(limits)?;
        recorded.limits = limits;
    }
    let plan = recorded.plan();
    let Recorded {
        mut header, placed, ..
    } = recorded;
    // The label has been compared with it as it was written.
    header.plan = plan;
    let prepared = match &placed {
        Some(placed) => prepare::arrange(&header, target, Some(placed), &console.watch)?,
        None => arrange(&header, target, Some(&mut journal), console)?,
    };
    Ok(Ready {
        session: Session::resume(header.plan.clone(), Some(journal), samples)?,
        header,
        prepared,
        replay,
    })
}

/// Limits that are larger than those of the journal, where any were given.
fn raised(args: &Bench, recorded: &Recorded) -> anyhow::Result<Option<Limits>> {
    let before = recorded.limits;
    let mut limits = before;
    if let Some(budget) = args.plan.budget {
        limits.budget = budget.0;
    }
    if let Some(blocks) = args.plan.blocks {
        let least = recorded.header.plan.least_blocks;
        if blocks.least != blocks.most && blocks.least != least {
            anyhow::bail!(
                "--blocks {}-{}: the least number of blocks stays {least}, since it says what widths are estimated from; give --blocks {least}-{}",
                blocks.least,
                blocks.most,
                blocks.most
            );
        }
        limits.most_blocks = blocks.most;
    }
    if limits == before {
        return Ok(None);
    }
    if !limits.reach(before) {
        let budget = before.budget.map_or("none".to_owned(), outline::time);
        anyhow::bail!(
            "this experiment has --budget {budget} and up to {} blocks; an experiment that goes on can be given more, not less",
            before.most_blocks
        );
    }
    Ok(Some(limits))
}

fn arrange(
    header: &Header,
    target: Target,
    journal: Option<&mut Journal>,
    console: &Console,
) -> anyhow::Result<Prepared> {
    let prepared = console.runs(
        || (),
        |_| prepare::arrange(header, target, None, &console.watch),
    )?;
    if let Some(journal) = journal {
        journal.placed(&prepared.arrangement())?;
    }
    Ok(prepared)
}

/// Where requests would lie, for a target that is there. Nothing is opened for writing.
fn dry_places(header: &Header, target: Option<&Target>) -> anyhow::Result<String> {
    let Some(target) = target else {
        return Ok(match header.role {
            Role::Own => format!(
                "{:<10} where the file will lie is known when it is made\n",
                "requests"
            ),
            Role::Null | Role::Device | Role::ReadOnly => String::new(),
        });
    };
    let path = std::fs::canonicalize(&header.path)?;
    let stack = prepare::stack_of(header, &path);
    let ground = stack.as_ref().and_then(|stack| Ground::find(stack, &path));
    let placement = place(
        ground,
        &Wanted {
            offsets: &header.plan.offsets,
            requests: &requests_of(&header.plan),
            span: header.span,
            size: target.size(),
            limits: target.limits(),
        },
    )?;
    Ok(outline::places(&placement))
}

/// An experiment that only has to be made.
struct Ready {
    header: Header,
    prepared: Prepared,
    session: Session,
    replay: Option<Replay>,
}

impl Ready {
    /// Makes the runs.
    fn run(self, args: &Bench, console: &Console) -> Made {
        let Ready {
            header,
            prepared,
            mut session,
            replay,
        } = self;
        let Prepared {
            target,
            placement,
            mut warnings,
            stack,
            devices,
            engine,
            options,
        } = prepared;
        let setting = Setting {
            target: target.path().display().to_string(),
            medium: target.medium(),
            span: placement.region.len,
            engine,
            options,
            began: header.began,
            places: placement.places,
            stack,
            machine: Machine::this(),
        };
        let observer = Observer::new(&devices, Path::new("/")).with_engine(options.engine);
        let observer = Mutex::new(observer);
        let earlier = session.samples().len();
        let mut storage = Storage::new(target, placement.region, options)
            .with_devices(devices.all)
            .with_replay(replay)
            .with_beginning(session.began());
        let look = || lock(&observer).look();
        let end = console.runs(look, |runs| {
            session.run(&mut storage, &console.watch, |run| {
                runs.begin(run, header.plan.budget)
            })
        });
        let observer = observer
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let seen = session.samples().get(earlier..).unwrap_or_default();
        warnings.extend(observer.finish(seen, session.plan()));
        if let Some(seen) = storage.verified().filter(|_| !args.quiet) {
            output::remark(&format!(
                "verified: {} sectors written with a stamp, {} read back correct, {} read that this run had not written",
                Bytes::new(seen.written).grouped(),
                Bytes::new(seen.right).grouped(),
                Bytes::new(seen.earlier.saturating_add(seen.strange)).grouped()
            ));
        }
        let of_writing = session.failure().is_some_and(Failure::is_of_writing);
        let (experiment, journal) = session.finish(end, setting, warnings);
        Made {
            experiment,
            header,
            target: storage.into_target(),
            journal,
            of_writing,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An experiment that was made, as far as it came, and what it leaves behind.
struct Made {
    experiment: Experiment,
    header: Header,
    target: Target,
    journal: Option<Journal>,
    /// Its end was that something could not be written.
    of_writing: bool,
}

impl Made {
    fn is_finished(&self) -> bool {
        matches!(
            self.experiment.end,
            End::Precise | End::OutOfTime | End::OutOfBlocks
        )
    }

    /// Every gain has a verdict: what it is, or that it is below the precision asked for.
    fn is_proven(&self) -> bool {
        let plan = &self.experiment.plan;
        let asked = plan.cells.len() * plan.offsets.len().saturating_sub(1);
        let gains = self.experiment.cells.iter().flat_map(|cell| &cell.gains);
        let proven = gains.filter(|gain| gain.verdict != Verdict::NotEnoughEvidence);
        proven.count() == asked
    }

    /// Nothing to go on with, or nothing to go on with it on.
    fn is_worthless(&self) -> bool {
        self.experiment.samples.is_empty() || (self.of_writing && self.header.role == Role::Own)
    }

    /// What becomes of test file and journal, and of the exit status.
    fn clean_up(self, args: &Bench) -> anyhow::Result<u8> {
        let is_finished = self.is_finished();
        let is_proven = self.is_proven();
        let stays = args.keep || !(is_finished || self.is_worthless());
        match &self.experiment.end {
            End::Failed(error) => output::error(error),
            End::Stopped if !args.quiet => output::remark("stopped"),
            _ => {}
        }
        let Made {
            header,
            mut target,
            journal,
            experiment: Experiment { end, .. },
            ..
        } = self;
        if stays {
            target.keep();
            let goes_on = !is_finished || (!is_proven && !args.quiet);
            if let Some(journal) = journal.filter(|_| goes_on) {
                if journal.has_its_name() {
                    let more = match end {
                        End::OutOfTime => " --budget TIME",
                        End::OutOfBlocks => " --blocks N",
                        _ => "",
                    };
                    output::remark(&resume_hint(&header, journal.path(), more));
                } else {
                    output::error(&format!(
                        "another file is called {} now, so this experiment cannot be resumed; remove {}, which is left over",
                        journal.path().display(),
                        header.path.display()
                    ));
                }
            }
        } else {
            // The file goes first: a journal without its file is nothing that can be gone on with, a file without its
            // journal would be nobody's.
            let removed = target.remove();
            let journal = journal.map_or(Ok(()), Journal::remove);
            removed?;
            journal?;
        }
        Ok(match (is_finished, is_proven || !args.quiet) {
            (true, true) => CLEAN,
            (true, false) => UNPROVEN,
            (false, _) => FAILED,
        })
    }
}

/// How to go on.
fn resume_hint(header: &Header, journal: &Path, more: &str) -> String {
    let devices = match header.role {
        Role::Device => format!(
            " --destroy-data {} --yes-destroy {}",
            header.path.display(),
            header.path.file_name().unwrap_or_default().display()
        ),
        Role::Own | Role::ReadOnly | Role::Null => String::new(),
    };
    let file = match header.role {
        Role::Own => format!(
            ", or remove {} and {}",
            journal.display(),
            header.path.display()
        ),
        Role::Device | Role::ReadOnly | Role::Null => format!(", or remove {}", journal.display()),
    };
    format!(
        "resume with: straddle bench --resume {}{devices}{more}{file}",
        journal.display()
    )
}

fn print(args: &Bench, experiment: &Experiment) -> anyhow::Result<()> {
    if args.quiet {
        return Ok(());
    }
    let format = if args.json {
        BenchFormat::Json
    } else {
        args.format
    };
    match format {
        BenchFormat::Text => output::print(&forms::text::report(experiment, output::width()))?,
        BenchFormat::Json => output::print(&pretty(&forms::Document::new(experiment))?)?,
        BenchFormat::Fio => output::print(&pretty(&fio::Document::new(experiment))?)?,
        BenchFormat::Csv => forms::csv::results(experiment, output::stdout())?,
        BenchFormat::Runs => forms::csv::samples(experiment, output::stdout())?,
        BenchFormat::Svg => match forms::picture::gains(experiment) {
            Some(picture) => output::print(&picture)?,
            None => anyhow::bail!(
                "no chart: a gain needs at least two complete blocks of runs and two offsets for its interval"
            ),
        },
    }
    Ok(())
}

fn pretty(document: &impl serde::Serialize) -> serde_json::Result<String> {
    straddle::report::json::pretty(document)
}
