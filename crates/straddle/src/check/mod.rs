//! What `straddle check` does, without its command line: targets become stacks, and the rules are run on them.
//!
//! A target is an image, a device, a file, captured text, or a directory of any of these; what it is taken for is decided
//! here, for all verbs.

mod boxed;
mod checker;
mod collected;
mod directory;
mod error;
mod handed_in;
mod input;
mod jobs;
mod kind;
mod machines;
mod manifest;
mod outcome;
mod parallel;
mod parts;
mod place;
mod sight;
pub(crate) mod text;
mod undecided;
mod unpack;

use std::path::PathBuf;

use crate::geometry::Unit;
use crate::report::Asked;
use crate::rules;
use crate::sources::linux::Root;
use crate::sources::{Outside, Overrides, Settings};
use crate::stack::{Layer, LayerKind, Source, Stack};
use checker::Checker;
use jobs::{Job, Plan, Task, Unlisted};
use undecided::Undecided;

pub use error::{CheckError, nothing_known};
pub use handed_in::handed_in;
pub use kind::{About, KINDS, Kind};
pub use outcome::{Outcome, Report};

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// What targets are taken for; whatever their content says when `None`.
    pub take_as: Option<Kind>,
    /// How many of the largest files of a directory are looked at from below.
    pub files: usize,
    /// A captured host in place of this one: a directory, or an archive made by `straddle capture`.
    pub sysroot: Option<PathBuf>,
    /// What is known of devices better than they say themselves.
    pub overrides: Overrides,
    /// Whether a virtual disk is followed to every file that it names, not only to those that its owner may read.
    pub follow_outside: bool,
    /// Files inside the guests' filesystems to follow to the disk.
    pub guest_files: Vec<String>,
    /// Request sizes to price.
    pub io: Vec<Unit>,
    /// The bytes whose ways down to the disks are told.
    pub asked: Asked,
}

/// As many files of a directory are looked at from below unless something else is asked for.
pub const FILES: usize = 20;

impl Default for Options {
    fn default() -> Options {
        Options {
            take_as: None,
            files: FILES,
            sysroot: None,
            overrides: Overrides::default(),
            follow_outside: false,
            guest_files: Vec::new(),
            io: rules::Options::default().io,
            asked: Asked::default(),
        }
    }
}

/// How many targets there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One, or what a text that was named turns out to be about.
    One,
    /// The files of one folder: one machine, or a target each. That is known when they have been read.
    Folder,
    /// One directory: a place, or what lies in it. That is known when something was recognised in it, or nothing.
    Directory,
    /// Several.
    Many,
}

/// Targets that are about to be checked.
pub struct Check {
    checker: Checker,
    plan: Plan,
}

/// Looks at what `targets` are: this machine when there are none. Everything is opened read-only.
///
/// ```no_run
/// use straddle::check::{Options, Outcome};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let targets = ["legacy.img".into(), "server.txt".into()];
/// for report in straddle::check(&targets, Options::default())?.reports() {
///     match report.outcome {
///         Ok(Outcome::Checked(checked)) => println!("{}: {} findings", report.target, checked.findings.len()),
///         Ok(Outcome::Unrecognised(_)) => println!("{}: nothing recognised", report.target),
///         Err(error) => eprintln!("{}: {error}", report.target),
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// When the captured host that [`Options::sysroot`] names cannot be read. What is wrong with a target is said in its report.
pub fn check(targets: &[PathBuf], options: Options) -> Result<Check, CheckError> {
    let root = match &options.sysroot {
        Some(path) => Root::open(path)?,
        None => Root::live(),
    };
    let (take_as, captured) = (options.take_as, options.sysroot.is_some());
    let mut plan = jobs::plan(targets, captured, take_as);
    let settings = Settings {
        overrides: options.overrides,
        io: options.io.clone(),
        guest_files: options.guest_files,
        only_when_followed: false,
        outside: outside(targets, options.follow_outside),
    };
    let options_of_rules = rules::Options {
        io: options.io,
        in_full: true,
        ..rules::Options::default()
    };
    let checker = Checker::new(
        // That a folder is a collection says nothing of its files.
        take_as.filter(|kind| *kind != Kind::Collection),
        options.files,
        settings,
        options.asked,
        options_of_rules,
        root,
        captured,
    );
    if !captured && matches!(take_as, None | Some(Kind::Image | Kind::Collection)) {
        let devices = take_as == Some(Kind::Image);
        let tasks = std::mem::take(&mut plan.tasks);
        plan.tasks = jobs::assembled(tasks, devices, |path, origin| checker.path(path, origin));
    }
    Ok(Check { checker, plan })
}

impl Check {
    /// How many targets there will be.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self.plan.tasks.as_slice() {
            [task] if matches!(task.job, Job::Folder(..)) && self.plan.unlisted.is_empty() => {
                Scope::Folder
            }
            _ if self.is_one_directory() => Scope::Directory,
            _ if !self.plan.unlisted.is_empty() => Scope::Many,
            [_] => Scope::One,
            _ => Scope::Many,
        }
    }

    /// Whether all is about one directory, which may turn out to be a place.
    fn is_one_directory(&self) -> bool {
        let is_of_it = |task: &Task| task.of.is_some();
        self.plan.directories.len() == 1 && self.plan.tasks.iter().all(is_of_it)
    }

    /// Filesystems that are mounted in the directories that were named, and that are not looked into.
    #[must_use]
    pub fn not_entered(&self) -> &[PathBuf] {
        &self.plan.not_entered
    }

    /// Leaves out what findings only list, for those who count them.
    #[must_use]
    pub fn in_brief(mut self) -> Check {
        self.checker.in_brief();
        self
    }

    /// The reports one after the other, each made when it is asked for.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        let unlisted = self.plan.unlisted.iter().map(unlisted);
        let mut undecided = Undecided::new(&self.plan);
        let checked = self
            .plan
            .tasks
            .iter()
            .enumerate()
            .flat_map(move |(number, task)| {
                let mut reports = Vec::new();
                self.checker.check(&task.job, &mut |report| {
                    undecided.take(task.of, tells(&report), report, &mut |report| {
                        reports.push(report)
                    });
                });
                undecided.done(
                    number,
                    |directory| self.checker.place(directory),
                    &mut |report| {
                        reports.push(report);
                    },
                );
                reports
            });
        unlisted.chain(checked)
    }

    /// Makes the reports on all cores. `work` is called on the thread that made a report, `deliver` on this one, in order;
    /// `progress` is told how many of how many files are done. Ends early when `deliver` fails, with its error.
    ///
    /// # Errors
    ///
    /// What `deliver` fails with.
    pub fn in_parallel<R: Send, E>(
        &self,
        work: impl Fn(Report) -> R + Sync,
        mut deliver: impl FnMut(R) -> Result<(), E>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), E> {
        for unlisted in self.plan.unlisted.iter().map(unlisted) {
            deliver(work(unlisted))?;
        }
        let tasks = &self.plan.tasks;
        let mut undecided = Undecided::new(&self.plan);
        let mut number = 0;
        parallel::in_order(
            tasks,
            |task| task.job.is_long(),
            |task| -> Vec<(bool, R)> {
                let mut pieces = Vec::new();
                self.checker.check(&task.job, &mut |report| {
                    pieces.push((tells(&report), work(report)));
                });
                pieces
            },
            |pieces| {
                let mut ready = Vec::new();
                let of = tasks.get(number).and_then(|task| task.of);
                for (tells, piece) in pieces {
                    undecided.take(of, tells, piece, &mut |piece| ready.push(piece));
                }
                let place = |directory: &_| work(self.checker.place(directory));
                undecided.done(number, place, &mut |piece| ready.push(piece));
                number += 1;
                ready.into_iter().try_for_each(&mut deliver)
            },
            |done| progress(done, tasks.len()),
        )
    }
}

/// Whether a report shows that a directory is a collection: something in it is an image, a capture or a host.
fn tells(report: &Report) -> bool {
    match &report.outcome {
        Ok(Outcome::Checked(checked)) => {
            checked.taken.is_some() || !is_file_of_this_machine(&checked.stack)
        }
        Ok(Outcome::Unrecognised(_)) | Err(_) => false,
    }
}

/// True for a database's file on this machine, which is a part of the place.
fn is_file_of_this_machine(stack: &Stack) -> bool {
    stack.iter().any(|(id, layer)| {
        layer.kind == LayerKind::DatabasePage
            && layer
                .below
                .iter()
                .any(|below| stack.layer(*below).kind == LayerKind::File)
            && stack.above(id).next().is_none()
    })
}

/// A target in which something was recognised.
#[derive(Debug)]
pub struct Known {
    /// The target as it was named or found.
    pub name: String,
    /// Its stack.
    pub stack: Stack,
    /// What it was taken for, where it could have been something else.
    pub taken: Option<Kind>,
}

impl Known {
    /// Whether it is about another machine, so far as anybody knows: nothing that its layers are called by may be opened on this one.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        let is_printed = |source: &Source| matches!(source, Source::Captured { .. });
        let is_told = |layer: &Layer| {
            let attributes = layer.attributes.iter().map(|a| &a.value.source);
            let grids = layer.grids.iter().map(|grid| &grid.grid.source);
            let size = layer.size.iter().map(|size| &size.source);
            let placement = layer.placement.iter().map(|placement| &placement.source);
            let mut sources = attributes.chain(grids).chain(size).chain(placement);
            sources.any(is_printed)
        };
        matches!(self.taken, Some(Kind::Capture | Kind::Support))
            || self.stack.layers().iter().any(|layer| is_told(layer))
    }
}

/// The stacks of `targets`, for verbs that go on from there. Files in which nothing is recognised have none.
///
/// # Errors
///
/// The first target that could not be read, with its name.
pub fn stacks(
    targets: &[PathBuf],
    overrides: Overrides,
    follow_outside: bool,
) -> Result<Vec<Known>, (String, CheckError)> {
    let options = Options {
        files: 0,
        overrides,
        follow_outside,
        ..Options::default()
    };
    let check = check(targets, options).map_err(|error| (String::new(), error))?;
    let mut stacks = Vec::new();
    for report in check.reports() {
        match report.outcome {
            Ok(Outcome::Checked(checked)) => stacks.push(Known {
                name: report.target,
                stack: checked.stack,
                taken: checked.taken.and_then(|taken| Kind::named(taken.kind)),
            }),
            Ok(Outcome::Unrecognised(_)) => {}
            Err(error) => return Err((report.target, error)),
        }
    }
    Ok(stacks)
}

fn unlisted((path, error): &Unlisted) -> Report {
    let error = std::io::Error::new(error.kind(), error.to_string());
    Report {
        target: path.display().to_string(),
        outcome: Err(CheckError::Unlisted(error)),
    }
}

/// What virtual disks may lead to: what was named, or everything.
fn outside(targets: &[PathBuf], all: bool) -> Outside {
    let real = |path: &PathBuf| std::fs::canonicalize(path).ok();
    Outside {
        all,
        named: targets.iter().filter_map(real).collect(),
    }
}
