mod sink;

use std::io::IsTerminal;
use straddle::check::{self, Check, CheckError, Kind, Outcome, Report, Scope};
use straddle::fix::Ask;
use straddle::report::Asked;
use straddle::rules::Options;
use straddle::stack::{Key, Stack};

use super::kept::Keeper;
use crate::args::{self, Form};
use crate::exit::{CLEAN, FAILED, FOUND};
use crate::output;
use sink::{Mode, Next, Shape, Sink};

pub(crate) fn run(args: &args::Check) -> anyhow::Result<u8> {
    let keeper = Keeper::when_asked(&args.keeping, "check")?;
    let mut check = straddle::check(&args.targets, options(args))?;
    let scope = check.scope();
    let many = scope != Scope::One;
    let is_brief = matches!(
        mode(args, many),
        Mode::Quiet | Mode::Lines | Mode::Summary(_)
    );
    // A folder of captures may be one machine, which gets its report; that is known when they have been read.
    if is_brief && scope != Scope::Folder && !keeper.wants() {
        check = check.in_brief();
    }
    let next = next(args);
    let totals = match scope {
        Scope::Directory => {
            let next = next.as_ref();
            print_directory(&check, args, next, keeper.wants())?
        }
        Scope::Many => {
            let next = next.filter(|_| !many);
            print_as_they_come(&check, args, many, next.as_ref(), keeper.wants())?
        }
        Scope::One | Scope::Folder => {
            let reports: Vec<Report> = check.reports().collect();
            let many = match scope {
                Scope::Folder => {
                    !is_one_captured_machine(&reports) && !reports.iter().all(is_place)
                }
                _ => many || reports.len() > MAX_REPORTS,
            };
            let mode = mode(args, many);
            let next = next.filter(|_| !many);
            let mut sink = Sink::open(mode, many, args.fail_on, keeper.wants())?;
            for report in reports {
                sink.add(sink::rendered(mode, report, next.as_ref(), keeper.wants()))?;
            }
            sink.close()?
        }
    };
    if !args.quiet && !args.targets.is_empty() {
        for place in check.not_entered() {
            output::remark(&format!(
                "{} is another filesystem and was not looked into; name it to check it",
                place.display()
            ));
        }
    }
    let code = match (totals.failed, totals.found) {
        (true, _) => FAILED,
        (false, true) => FOUND,
        (false, false) => CLEAN,
    };
    match totals.document {
        Some(document) => keeper.keep(&document, code),
        None => Ok(code),
    }
}

fn print_as_they_come(
    check: &Check,
    args: &args::Check,
    many: bool,
    next: Option<&Next>,
    is_kept: bool,
) -> anyhow::Result<sink::Totals> {
    let mode = mode(args, many);
    let mut sink = Sink::open(mode, many, args.fail_on, is_kept)?;
    let mut bar: Option<indicatif::ProgressBar> = None;
    let is_shown = many && !args.quiet && std::io::stderr().is_terminal();
    check.in_parallel(
        |report| sink::rendered(mode, report, next, is_kept),
        |piece| sink.add(piece),
        |done, all| {
            if !is_shown {
                return;
            }
            let count = |n| u64::try_from(n).unwrap_or(u64::MAX);
            let bar = bar.get_or_insert_with(|| progress_bar(count(all)));
            bar.set_position(count(done));
            if done == all {
                bar.finish_and_clear();
            }
        },
    )?;
    sink.close()
}

/// Prints what one directory comes to: a place gets its report, what lies in a collection a line each. Which of the two it is shows with
/// the first report.
fn print_directory(
    check: &Check,
    args: &args::Check,
    next: Option<&Next>,
    is_kept: bool,
) -> anyhow::Result<sink::Totals> {
    let open = |many| Sink::open(mode(args, many), many, args.fail_on, is_kept);
    let mut sink: Option<Sink> = None;
    // What could not be listed comes first, and is a part of either.
    let mut early = Vec::new();
    check.in_parallel(
        |report| {
            let many = !is_place(&report);
            let mode = mode(args, many);
            let next = next.filter(|_| !many);
            let is_unlisted = matches!(report.outcome, Err(CheckError::Unlisted(_)));
            let piece = sink::rendered(mode, report, next, is_kept);
            (many, is_unlisted, piece)
        },
        |(many, is_unlisted, piece)| match &mut sink {
            Some(sink) => sink.add(piece),
            None if is_unlisted => {
                early.push(piece);
                Ok(())
            }
            none => {
                let sink = none.insert(open(many)?);
                early
                    .drain(..)
                    .chain([piece])
                    .try_for_each(|piece| sink.add(piece))
            }
        },
        |_, _| (),
    )?;
    let mut sink = match sink {
        Some(sink) => sink,
        None => open(true)?,
    };
    early.into_iter().try_for_each(|piece| sink.add(piece))?;
    sink.close()
}

/// True for a directory that is a place, also where nothing could be found out of it.
fn is_place(report: &Report) -> bool {
    match &report.outcome {
        Ok(Outcome::Checked(checked)) => {
            let taken = checked.taken.as_ref();
            taken.is_some_and(|taken| taken.kind == Kind::Place.name())
        }
        Ok(Outcome::Unrecognised(_)) => false,
        Err(CheckError::Unlisted(_)) => false,
        Err(_) => std::path::Path::new(&report.target).is_dir(),
    }
}

fn progress_bar(all: u64) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(all);
    match indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn options(args: &args::Check) -> check::Options {
    check::Options {
        take_as: args.take_as.0,
        files: args.files,
        sysroot: args.sysroot.clone(),
        overrides: args.geometry.overrides(),
        follow_outside: args.geometry.follow_outside,
        guest_files: args.guest_files.clone(),
        io: args.io.clone(),
        asked: Asked {
            extents: args.at.clone(),
            of: args.of.clone(),
        },
    }
}

/// Of how many machines one text may tell for each to get its report; of more, each gets a line, as each file of a folder does.
const MAX_REPORTS: usize = 32;

/// What makes a plan for what was checked; `None` where the same words would not mean the same.
fn next(args: &args::Check) -> Option<Next> {
    // What came through a pipe is gone.
    let is_piped = args.targets.iter().any(|path| path.as_os_str() == "-");
    let is_plain = !is_piped
        && args.sysroot.is_none()
        && args.take_as.0.is_none()
        && args.guest_files.is_empty()
        && args.at.is_empty();
    is_plain.then(|| {
        let words = super::typed::words(&args.targets, &args.geometry, &args.io);
        let realign = match args.targets.as_slice() {
            [only] => Some((super::typed::realign(&words), only.clone())),
            _ => None,
        };
        let options = Options {
            io: args.io.clone(),
            in_full: false,
            ..Options::default()
        };
        Next {
            fix: super::typed::command("straddle fix", &words),
            realign,
            ask: Ask {
                options,
                ..Ask::default()
            },
        }
    })
}

/// What is printed for one target, or for many.
fn mode(args: &args::Check, many: bool) -> Mode {
    let format = if args.json { Form::Json } else { args.format };
    match (format, args.summary) {
        _ if args.quiet => Mode::Quiet,
        (Form::Text, true) => Mode::Summary(Shape::Text),
        (Form::Json, true) => Mode::Summary(Shape::Json),
        (Form::Csv, true) => Mode::Summary(Shape::Csv),
        (Form::Json, false) => Mode::Json,
        (Form::Csv, false) => Mode::Csv,
        (Form::Findings, _) => Mode::Findings,
        (Form::Ndjson, _) => Mode::Ndjson,
        (Form::Text, false) if many && !args.details => Mode::Lines,
        (Form::Text, false) => Mode::Report,
    }
}

/// Whether the files of a folder are captures of one machine, and nothing else was recognised in it.
fn is_one_captured_machine(reports: &[Report]) -> bool {
    let mut known = reports
        .iter()
        .filter(|report| !matches!(report.outcome, Ok(Outcome::Unrecognised(_))));
    match (known.next(), known.next()) {
        (Some(only), None) => {
            matches!(&only.outcome, Ok(Outcome::Checked(checked)) if is_captured(&checked.stack))
        }
        _ => false,
    }
}

/// True for what captured text describes.
fn is_captured(stack: &Stack) -> bool {
    let mut layers = stack.layers().iter();
    layers.any(|layer| layer.attribute(Key::Platform).is_some())
}
