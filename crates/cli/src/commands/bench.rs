//! `straddle bench`: makes an experiment, or goes on with one.

mod intent;
mod outline;
mod prepare;
mod progress;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use straddle::bench::journal::{Header, Journal, Recorded, Role};
use straddle::bench::place::{Ground, Wanted, place, requests_of};
use straddle::bench::plan::Schedule;
use straddle::bench::results::{End, Experiment, Machine, Setting};
use straddle::bench::run::{Storage, Watch};
use straddle::bench::session::{Failure, Session};
use straddle::bench::target::Target;
use straddle::bench::validity::Observer;
use straddle::geometry::Bytes;
use straddle::report::bench::{self as forms, fio};

use crate::args::bench::{Bench, BenchFormat};
use crate::exit::{CLEAN, FAILED};
use crate::output;
use intent::Intent;
use prepare::Prepared;
use progress::Screen;

pub(crate) fn run(args: &Bench) -> anyhow::Result<u8> {
    let stop = crate::interrupts::interrupts()?;
    let screen = Screen::new(args.quiet);
    match &args.resume {
        Some(path) => resume(args, path, &screen, &stop),
        None => begin(args, &screen, &stop),
    }
}

fn begin(args: &Bench, screen: &Screen, stop: &AtomicBool) -> anyhow::Result<u8> {
    let intent = Intent::new(args)?;
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
        let target =
            prepare::rehearsal(header, intent.consent.as_ref(), intent.journal.as_deref())?;
        output::print(&outline)?;
        output::print(&dry_places(header, target.as_ref())?)?;
        return Ok(CLEAN);
    }
    if !args.quiet {
        output::aside(&outline);
    }
    let mut journal = match &intent.journal {
        Some(path) => Some(Journal::create(path, header.clone())?),
        None => None,
    };
    let watch = Watch::default();
    let prepared = prepare::begin(
        header,
        intent.consent.as_ref(),
        journal.as_mut(),
        screen,
        stop,
    )
    .and_then(|target| arrange(header, target, journal.as_mut(), &watch, screen, stop));
    match (prepared, journal) {
        (Ok(prepared), journal) => {
            let session = Session::new(header.plan.clone(), journal)?;
            measure(args, header, prepared, session, &watch, screen, stop)
        }
        (Err(error), Some(journal)) => {
            // Nothing was measured, and the file is gone already.
            journal.remove()?;
            Err(error)
        }
        (Err(error), None) => Err(error),
    }
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

fn arrange(
    header: &Header,
    target: Target,
    journal: Option<&mut Journal>,
    watch: &Watch,
    screen: &Screen,
    stop: &AtomicBool,
) -> anyhow::Result<Prepared> {
    let prepared = screen.runs(
        watch,
        stop,
        || (),
        |_| prepare::arrange(header, target, None, watch),
    )?;
    if let Some(journal) = journal {
        journal.placed(&prepared.arrangement())?;
    }
    Ok(prepared)
}

fn resume(args: &Bench, path: &Path, screen: &Screen, stop: &AtomicBool) -> anyhow::Result<u8> {
    let (mut journal, mut recorded) = Journal::resume(path)?;
    // They are most of a long journal: moved, not copied.
    let samples = std::mem::take(&mut recorded.samples);
    let Recorded { header, placed, .. } = &recorded;
    if !args.quiet {
        output::remark(&format!(
            "going on with an experiment on {}: {} runs are kept",
            header.named,
            samples.len()
        ));
    }
    let consent = intent::consent(&args.devices);
    let target = prepare::resume(&recorded, consent.as_ref(), &mut journal, screen, stop)?;
    let watch = Watch::default();
    let prepared = match placed {
        Some(placed) => prepare::arrange(header, target, Some(placed), &watch)?,
        None => arrange(header, target, Some(&mut journal), &watch, screen, stop)?,
    };
    let session = Session::resume(header.plan.clone(), Some(journal), samples)?;
    measure(args, header, prepared, session, &watch, screen, stop)
}

/// Makes the runs, prints what they came to, and cleans up.
fn measure(
    args: &Bench,
    header: &Header,
    prepared: Prepared,
    mut session: Session,
    watch: &Watch,
    screen: &Screen,
    stop: &AtomicBool,
) -> anyhow::Result<u8> {
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
        .with_beginning(session.began());
    let budget = header.plan.budget;
    let look = || lock(&observer).look();
    let end = screen.runs(watch, stop, look, |runs| {
        session.run(&mut storage, watch, |run| runs.begin(run, budget))
    });
    let observer = observer
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let seen = session.samples().get(earlier..).unwrap_or_default();
    warnings.extend(observer.finish(seen, session.plan()));
    if let Some(seen) = storage.verified().filter(|_| !args.quiet) {
        output::remark(&format!(
            "verified: {} sectors written with a stamp, {} read and right, {} read that this run had not written",
            Bytes::new(seen.written).grouped(),
            Bytes::new(seen.right).grouped(),
            Bytes::new(seen.earlier.saturating_add(seen.strange)).grouped()
        ));
    }
    let of_writing = session.failure().is_some_and(Failure::is_of_writing);
    let (experiment, journal) = session.finish(end, setting, warnings);
    let printed = print(args, &experiment);
    let aftermath = Aftermath {
        finished: matches!(
            experiment.end,
            End::Precise | End::OutOfTime | End::OutOfBlocks
        ),
        // Nothing to go on with, or nothing to go on with it on.
        worthless: experiment.samples.is_empty() || (of_writing && header.role == Role::Own),
    };
    let code = aftermath.clean_up(
        args,
        header,
        storage.into_target(),
        journal,
        &experiment.end,
    )?;
    printed?;
    Ok(code)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What becomes of test file and journal.
struct Aftermath {
    finished: bool,
    worthless: bool,
}

impl Aftermath {
    fn clean_up(
        &self,
        args: &Bench,
        header: &Header,
        mut target: Target,
        journal: Option<Journal>,
        end: &End,
    ) -> anyhow::Result<u8> {
        let stays = args.keep || !(self.finished || self.worthless);
        match end {
            End::Failed(error) => output::error(error),
            End::Stopped if !args.quiet => output::remark("stopped"),
            _ => {}
        }
        if stays {
            target.keep();
            if let Some(journal) = journal.filter(|_| !self.finished) {
                if journal.has_its_name() {
                    output::remark(&resume_hint(header, journal.path()));
                } else {
                    output::error(&format!(
                        "another file has the name {} now: this run cannot be gone on with; {} stays, remove it",
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
        Ok(if self.finished { CLEAN } else { FAILED })
    }
}

/// How to go on.
fn resume_hint(header: &Header, journal: &Path) -> String {
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
        "go on with: straddle bench --resume {}{devices}{file}",
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
                "there is no picture: a gain has an interval from two complete blocks of runs and two offsets on"
            ),
        },
    }
    Ok(())
}

fn pretty(document: &impl serde::Serialize) -> serde_json::Result<String> {
    straddle::report::json::pretty(document)
}
