//! What `straddle check` does, without its command line: targets become stacks, and the rules are run on them.
//!
//! A target is an image, a device, a file, captured text, or a directory of any of these; what it is taken for is decided
//! here, for all verbs.

mod checker;
mod error;
mod handed_in;
mod jobs;
mod machines;
mod parallel;
mod sos;
pub(crate) mod text;

use std::path::PathBuf;

use crate::geometry::Unit;
use crate::report::{Asked, Checked};
use crate::rules::{self, Why};
use crate::sources::linux::Root;
use crate::sources::{Outside, Overrides, Settings};
use crate::stack::Stack;
use checker::Checker;
use jobs::{Job, Unlisted};

pub use error::{CheckError, nothing_known};
pub use handed_in::handed_in;

/// What a file is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TakeAs {
    /// Whatever it is recognised as.
    #[default]
    Auto,
    /// A disk image by itself.
    Image,
    /// A file with extents on this machine's disks.
    File,
    /// What tools printed on some machine.
    Text,
}

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// What files are taken for.
    pub take_as: TakeAs,
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

impl Default for Options {
    fn default() -> Options {
        Options {
            take_as: TakeAs::default(),
            sysroot: None,
            overrides: Overrides::default(),
            follow_outside: false,
            guest_files: Vec::new(),
            io: rules::Options::default().io,
            asked: Asked::default(),
        }
    }
}

/// What one target came to.
#[derive(Debug)]
pub struct Report {
    /// The target as it was named or found; of the host, its own name.
    pub target: String,
    /// What is known of it.
    pub outcome: Result<Outcome, CheckError>,
}

/// What a target that could be read came to.
#[derive(Debug)]
pub enum Outcome {
    /// A stack, and what the rules say of it.
    Checked(Checked),
    /// A file in which nothing was recognised: of a directory, or text without the output of a known tool.
    Unrecognised(Why),
}

/// How many targets there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One, or what a text that was named turns out to be about.
    One,
    /// The files of one folder: one machine, or a target each. That is known when they have been read.
    Folder,
    /// Several.
    Many,
}

/// Targets that are about to be checked.
pub struct Check {
    checker: Checker,
    jobs: Vec<Job>,
    unlisted: Vec<Unlisted>,
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
    let texts = matches!(take_as, TakeAs::Auto | TakeAs::Text);
    let (jobs, unlisted) = jobs::jobs(targets, captured, texts);
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
        take_as,
        settings,
        options.asked,
        options_of_rules,
        root,
        captured,
    );
    let jobs = if !captured && matches!(take_as, TakeAs::Auto | TakeAs::Image) {
        let devices = take_as == TakeAs::Image;
        jobs::assembled(jobs, devices, |path, origin| checker.path(path, origin))
    } else {
        jobs
    };
    Ok(Check {
        checker,
        jobs,
        unlisted,
    })
}

impl Check {
    /// How many targets there will be.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self.jobs.as_slice() {
            _ if !self.unlisted.is_empty() => Scope::Many,
            [Job::Folder(..) | Job::Machine(..)] => Scope::Folder,
            [_] => Scope::One,
            _ => Scope::Many,
        }
    }

    /// Leaves out what findings only list, for those who count them.
    #[must_use]
    pub fn in_brief(mut self) -> Check {
        self.checker.in_brief();
        self
    }

    /// The reports one after the other, each made when it is asked for.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        let unlisted = self.unlisted.iter().map(unlisted);
        let checked = self.jobs.iter().flat_map(|job| self.checker.check(job));
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
        for unlisted in self.unlisted.iter().map(unlisted) {
            deliver(work(unlisted))?;
        }
        let all = self.jobs.len();
        parallel::in_order(
            &self.jobs,
            |job| -> Vec<R> { self.checker.check(job).into_iter().map(&work).collect() },
            |pieces| pieces.into_iter().try_for_each(&mut deliver),
            |done| progress(done, all),
        )
    }
}

/// The stacks of `targets`, for verbs that go on from there. An archive or a tree of `straddle capture` that is named alone
/// is the host that was captured. Files in which nothing is recognised have none.
///
/// # Errors
///
/// The first target that could not be read, with its name.
pub fn stacks(
    targets: &[PathBuf],
    overrides: Overrides,
    follow_outside: bool,
) -> Result<Vec<(String, Stack)>, (String, CheckError)> {
    let is_capture = |path: &&PathBuf| {
        let extension = path.extension();
        extension.is_some_and(|extension| extension == "gz" || extension == "tree")
    };
    let (targets, sysroot) = match targets {
        [path] if is_capture(&path) => (&[][..], Some(path.clone())),
        _ => (targets, None),
    };
    let named = sysroot.as_ref().map(|path| path.display().to_string());
    let options = Options {
        sysroot,
        overrides,
        follow_outside,
        ..Options::default()
    };
    let check = check(targets, options).map_err(|error| (named.unwrap_or_default(), error))?;
    let mut stacks = Vec::new();
    for report in check.reports() {
        match report.outcome {
            Ok(Outcome::Checked(checked)) => stacks.push((report.target, checked.stack)),
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
