mod expand;
mod machines;
mod parallel;
mod sink;
mod sos;
mod text;

use anyhow::{Context as _, anyhow, bail};
use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use straddle::fix::Ask;
use straddle::geometry::{Bytes, SectorSize, Unit};
use straddle::io::{OpenError, ReadAt, Target, TargetKind};
use straddle::report::{Asked, Checked};
use straddle::rules::{Options, Why};
use straddle::sources::captured::{self, Capture};
use straddle::sources::linux::{self, Root};
use straddle::sources::{self, Outside, Overrides, Settings, SourceError};
use straddle::stack::{Fact, Key, LayerKind, Stack};

use crate::args::{As, Check, Format, Geometry};
use crate::exit::{CLEAN, FAILED, FOUND};
use expand::{Job, Origin};
use sink::{Mode, Next, Shape, Sink};

pub(crate) fn run(args: &Check) -> anyhow::Result<u8> {
    let root = root(args)?;
    let captured = args.sysroot.is_some();
    let texts = matches!(args.take_as, As::Auto | As::Text);
    let (jobs, unlisted) = expand::jobs(&args.targets, captured, texts);
    let mut checker = Checker {
        take_as: args.take_as,
        settings: Settings {
            overrides: overrides(&args.geometry),
            io: args.io.clone(),
            guest_files: args.guest_files.clone(),
            only_when_followed: false,
            outside: outside(&args.targets, args.geometry.follow_outside),
        },
        asked: Asked {
            extents: args.at.clone(),
            of: args.of.clone(),
        },
        options: Options {
            io: args.io.clone(),
            in_full: false,
        },
        host: root.name().to_owned(),
        root: Mutex::new(root),
        several: Mutex::default(),
        captured,
    };
    let jobs = if !captured && matches!(args.take_as, As::Auto | As::Image) {
        let devices = args.take_as == As::Image;
        expand::assembled(jobs, devices, |path, origin| checker.path(path, origin))
    } else {
        jobs
    };
    // A folder of captures may be one machine, which gets its report; that is known when they have been read.
    let folder =
        unlisted.is_empty() && matches!(jobs.as_slice(), [Job::Folder(..) | Job::Machine(..)]);
    let many =
        jobs.len() + unlisted.len() != 1 || args.targets.iter().any(|target| target.is_dir());
    checker.options.in_full = folder
        || !matches!(
            mode(args, many),
            Mode::Quiet | Mode::Lines | Mode::Summary(_)
        );
    let next = next(args);
    let totals = match jobs.as_slice() {
        [job] if unlisted.is_empty() => {
            let outcomes = checker.check(job);
            let known = |(_, outcome): &&Judged| !matches!(outcome, Ok(Outcome::Unrecognised(_)));
            let mut known = outcomes.iter().filter(known);
            let many = match (known.next(), known.next()) {
                _ if !folder => many || outcomes.len() > MAX_REPORTS,
                (Some((_, Ok(Outcome::Checked(checked)))), None) => !is_captured(&checked.stack),
                _ => true,
            };
            let mode = mode(args, many);
            let next = next.filter(|_| !many);
            let mut sink = Sink::open(mode, many, args.fail_on)?;
            for (name, outcome) in outcomes {
                sink.add(sink::rendered(mode, name, outcome, next.as_ref()))?;
            }
            sink.close()?
        }
        jobs => {
            let mode = mode(args, many);
            let next = next.filter(|_| !many);
            let mut sink = Sink::open(mode, many, args.fail_on)?;
            for (path, error) in unlisted {
                sink.fail(&path.display().to_string(), &error.to_string())?;
            }
            let progress = many && !args.quiet && std::io::stderr().is_terminal();
            parallel::in_order(
                jobs,
                progress,
                |job| {
                    let outcomes = checker.check(job).into_iter();
                    let rendered = outcomes
                        .map(|(name, outcome)| sink::rendered(mode, name, outcome, next.as_ref()));
                    rendered.collect::<Vec<_>>()
                },
                |pieces| pieces.into_iter().try_for_each(|piece| sink.add(piece)),
            )?;
            sink.close()?
        }
    };
    Ok(match (totals.failed, totals.found) {
        (true, _) => FAILED,
        (false, true) => FOUND,
        (false, false) => CLEAN,
    })
}

/// Of how many machines one text may tell for each to get its report; of more, each gets a line, as each file of a folder does.
const MAX_REPORTS: usize = 32;

/// What makes a plan for what was checked; `None` where the same words would not mean the same.
fn next(args: &Check) -> Option<Next> {
    // What came through a pipe is gone.
    let is_piped = args.targets.iter().any(|path| path.as_os_str() == "-");
    let is_plain = !is_piped
        && args.sysroot.is_none()
        && args.take_as == As::Auto
        && args.guest_files.is_empty()
        && args.at.is_empty();
    is_plain.then(|| {
        let mut words = vec!["straddle fix".to_owned()];
        words.extend(super::typed::words(&args.targets, &args.geometry, &args.io));
        let options = Options {
            io: args.io.clone(),
            in_full: false,
        };
        Next {
            command: words.join(" "),
            ask: Ask {
                options,
                ..Ask::default()
            },
        }
    })
}

/// The stacks of targets, as `check` takes them; without one, and of a captured host, the host's.
pub(crate) fn stacks(
    paths: &[PathBuf],
    overrides: Overrides,
    follow_outside: bool,
) -> anyhow::Result<Vec<(String, Stack)>> {
    let capture = match paths {
        [path] => Some(path).filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "gz" || extension == "tree")
        }),
        _ => None,
    };
    let root = match capture {
        Some(path) => Root::open(path)?,
        None => Root::live(),
    };
    let checker = Checker {
        take_as: As::Auto,
        settings: Settings {
            overrides,
            outside: outside(paths, follow_outside),
            ..Settings::default()
        },
        asked: Asked::default(),
        options: Options::default(),
        host: root.name().to_owned(),
        root: Mutex::new(root),
        several: Mutex::default(),
        captured: capture.is_some(),
    };
    let targets = if capture.is_some() { &[] } else { paths };
    let (jobs, unlisted) = expand::jobs(targets, capture.is_some(), true);
    if let Some((path, error)) = unlisted.into_iter().next() {
        return Err(anyhow::Error::new(error).context(format!("{}", path.display())));
    }
    let jobs = expand::assembled(jobs, false, |path, origin| checker.path(path, origin));
    let mut stacks = Vec::new();
    for (name, outcome) in jobs.iter().flat_map(|job| checker.check(job)) {
        match outcome? {
            Outcome::Checked(checked) => stacks.push((name, checked.stack)),
            Outcome::Unrecognised(_) => {}
        }
    }
    Ok(stacks)
}

/// What is printed for one target, or for many.
fn mode(args: &Check, many: bool) -> Mode {
    let format = if args.json { Format::Json } else { args.format };
    match (format, args.summary) {
        _ if args.quiet => Mode::Quiet,
        (Format::Text, true) => Mode::Summary(Shape::Text),
        (Format::Json, true) => Mode::Summary(Shape::Json),
        (Format::Csv, true) => Mode::Summary(Shape::Csv),
        (Format::Json, false) => Mode::Json,
        (Format::Csv, false) => Mode::Csv,
        (Format::Text, false) if many && !args.details => Mode::Lines,
        (Format::Text, false) => Mode::Report,
    }
}

/// A target's name, and what checking it came to.
type Judged = (String, anyhow::Result<Outcome>);

/// What one job came to.
enum Outcome {
    Checked(Checked),
    /// A file in which nothing was recognised: of a directory, or text without the output of a known tool.
    Unrecognised(Why),
}

/// Everything that is the same for all targets.
struct Checker {
    take_as: As,
    settings: Settings,
    asked: Asked,
    options: Options,
    host: String,
    /// Texts that were looked at and are about several machines.
    several: Mutex<BTreeMap<PathBuf, Vec<Capture>>>,
    /// Targets that need the host share what is read of it, one at a time; images do not need it.
    root: Mutex<Root>,
    captured: bool,
}

impl Checker {
    /// What a job comes to: one outcome for each target, with its name.
    fn check(&self, job: &Job) -> Vec<Judged> {
        let name = job.name(&self.host);
        let one = |stack: anyhow::Result<Option<Stack>>| {
            let outcome = stack.map(|stack| self.judged(name.clone(), stack));
            vec![(name.clone(), outcome)]
        };
        let or_machines = |path: &Path, stack| match self.machines_of(path) {
            Some(captures) => self.machines(captures),
            None => one(stack),
        };
        match job {
            Job::Host => one(linux::host(&self.root(), &self.settings)
                .map(Some)
                .map_err(Into::into)),
            Job::Path(path, _) if self.captured => one(self.on_host(path).map(Some)),
            Job::Path(path, origin) => {
                let stack = self.path(path, *origin);
                or_machines(path, stack)
            }
            Job::Looked(path, looked) => {
                let looked = looked.take();
                let stack = looked.unwrap_or_else(|| self.path(path, Origin::Named));
                or_machines(path, stack)
            }
            Job::Input => match text::from_input().map_err(Into::into) {
                Ok(captures) if captures.len() > 1 => self.machines(captures),
                Ok(captures) if captures.is_empty() => one(Err(anyhow!(
                    "{}",
                    nothing_known("standard input", Why::NoOutput)
                ))),
                Ok(captures) => one(Ok(Some(captured::stack(captures, &self.settings)))),
                Err(error) => one(Err(error)),
            },
            Job::Images(paths) => one(self.images(paths).map(Some)),
            Job::Together(paths) => self.together(paths),
            Job::Folder(folder, paths) => self.folder(folder, paths),
            Job::Machine(_, paths) => vec![self.machine(name.clone(), paths)],
        }
    }

    fn judged(&self, name: String, stack: Option<Stack>) -> Outcome {
        let Some(stack) = stack else {
            return Outcome::Unrecognised(text::why(Path::new(&name)));
        };
        Outcome::Checked(Checked::new(name, stack, &self.options, self.asked.clone()))
    }

    /// Images that belong together.
    fn images(&self, paths: &[PathBuf]) -> anyhow::Result<Stack> {
        let opened = paths.iter().map(|path| Target::open(path).map(Arc::new));
        let targets = opened.collect::<Result<Vec<_>, _>>()?;
        Ok(sources::images(&targets, &self.settings)?)
    }

    /// Files that were named together.
    fn together(&self, paths: &[PathBuf]) -> Vec<Judged> {
        let (mut captures, mut outcomes) = (Vec::new(), Vec::new());
        for (number, path) in (0_u32..).zip(paths) {
            let found = text::captures(path, number);
            if found.is_empty() {
                let name = path.display().to_string();
                let stack = self.path(path, Origin::Named);
                let outcome = stack.map(|stack| self.judged(name.clone(), stack));
                outcomes.push((name, outcome));
            }
            captures.extend(found);
        }
        if !captures.is_empty() {
            outcomes.extend(self.machines(captures));
        }
        outcomes
    }

    /// Small files of one folder.
    fn folder(&self, folder: &Path, paths: &[PathBuf]) -> Vec<Judged> {
        let text::Sorted {
            servers,
            unknown,
            rest,
            others,
        } = text::sorted(paths);
        let mut outcomes = Vec::new();
        for server in servers {
            let name = match (&server.name, server.captures.as_slice()) {
                (None, _) => folder.display().to_string(),
                (Some(_), [only]) => only.title(),
                (Some(name), _) => format!("{} ({name})", folder.display()),
            };
            outcomes.push(self.server(name, server));
        }
        for path in unknown {
            let why = text::why(&path);
            outcomes.push((path.display().to_string(), Ok(Outcome::Unrecognised(why))));
        }
        let mut images = Vec::new();
        images.extend(
            rest.into_iter()
                .map(|(path, target)| (path, Ok(target), true)),
        );
        images.extend(
            others
                .into_iter()
                .map(|(path, target)| (path, target, false)),
        );
        let looked = images.into_iter().map(|(path, target, may_be_text)| {
            let stack = if may_be_text {
                self.looked_at(&path, target, Origin::Listed)
            } else {
                self.opened(&path, target, Origin::Listed)
            };
            (path, stack)
        });
        let looked: Vec<_> = looked.collect();
        let groups = match self.take_as {
            As::Auto => {
                let files = looked.iter().enumerate();
                let files = files.map(|(index, (path, stack))| {
                    (index, path.as_path(), expand::sets(path, stack, false))
                });
                expand::groups(files.collect())
            }
            _ => expand::Groups::default(),
        };
        for (index, (path, stack)) in looked.into_iter().enumerate() {
            if groups.others.contains(&index) {
                continue;
            }
            if let Some(members) = groups.firsts.get(&index) {
                outcomes.extend(self.check(&Job::Images(members.clone())));
                continue;
            }
            let name = path.display().to_string();
            let outcome = stack.map(|stack| self.judged(name.clone(), stack));
            outcomes.push((name, outcome));
        }
        outcomes
    }

    fn root(&self) -> MutexGuard<'_, Root> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, path: &Path, origin: Origin) -> anyhow::Result<Option<Stack>> {
        let target = match origin {
            Origin::Named => Target::open(path),
            Origin::Listed => Target::open_listed(path),
        };
        self.looked_at(path, target, origin)
    }

    /// Whatever it is: captured text, or [`Self::opened`].
    fn looked_at(
        &self,
        path: &Path,
        target: Result<Target, OpenError>,
        origin: Origin,
    ) -> anyhow::Result<Option<Stack>> {
        if let (Ok(target), As::Auto | As::Text) = (&target, self.take_as) {
            let captures = text::of_target(target, 0);
            if captures.len() > 1 {
                let mut several = self.several.lock().unwrap_or_else(PoisonError::into_inner);
                several.insert(path.to_owned(), captures);
                return Ok(None);
            }
            if !captures.is_empty() {
                return Ok(Some(captured::stack(captures, &self.settings)));
            }
            if self.take_as == As::Text {
                let why = match text::why(path) {
                    Why::Unrecognised => Why::NoOutput,
                    why => why,
                };
                bail!("{}", nothing_known(&path.display().to_string(), why));
            }
        }
        self.opened(path, target, origin)
    }

    /// What is no captured text.
    fn opened(
        &self,
        path: &Path,
        target: Result<Target, OpenError>,
        origin: Origin,
    ) -> anyhow::Result<Option<Stack>> {
        let target = match target {
            // The kernel tells anybody what it knows of a device; only what lies on it takes leave to open it.
            Err(OpenError::Os { source, .. })
                if source.kind() == ErrorKind::PermissionDenied
                    && self.take_as != As::Image
                    && is_device(path) =>
            {
                return self.on_host(path).map(Some);
            }
            opened => opened?,
        };
        if target.kind() == TargetKind::File && target.size() == Bytes::ZERO {
            return match origin {
                Origin::Listed => Ok(None),
                Origin::Named => bail!(
                    "{} is empty: 0 bytes found; expected a disk image, or a file with data",
                    path.display()
                ),
            };
        }
        if self.take_as == As::File
            || (self.take_as == As::Auto && target.kind() == TargetKind::Device)
        {
            return self.on_host(path).map(Some);
        }
        let target = Arc::new(target);
        // A virtual disk that was named is in use here as a rule, so it is followed to the disks where the kernel knows
        // them. A raw image may as well be the copy of a disk from elsewhere.
        let follow = self.take_as == As::Auto && origin == Origin::Named;
        let raw = if follow {
            sources::raw_image(&target, &self.settings)?
        } else {
            None
        };
        if follow && raw.is_none() {
            match self.file_on_host(path, true) {
                Ok(stack) => return Ok(Some(stack)),
                Err(error) if is_about_following(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let stack = match raw {
            Some(stack) => stack,
            None => sources::image(&target, &self.settings)?,
        };
        if self.take_as == As::Image || is_disk_image(&stack) {
            return Ok(Some(stack));
        }
        match origin {
            // Text is meant as what a tool printed; as a file on this machine only where that is said.
            Origin::Named if follow && text::is_text(&target) => Ok(None),
            // A directory may hold anything; only what was named is followed to the disks.
            Origin::Listed if !is_database_file(&stack) => Ok(None),
            Origin::Listed | Origin::Named => self.on_host(path).map(Some),
        }
    }

    fn on_host(&self, path: &Path) -> anyhow::Result<Stack> {
        self.file_on_host(path, false)
    }

    fn file_on_host(&self, path: &Path, only_when_followed: bool) -> anyhow::Result<Stack> {
        // A captured host knows its files by the names they had there.
        let path = if self.captured {
            path.to_owned()
        } else {
            std::fs::canonicalize(path)?
        };
        let name = path
            .to_str()
            .with_context(|| format!("{} is not valid UTF-8", path.display()))?;
        let settings = Settings {
            only_when_followed,
            ..self.settings.clone()
        };
        Ok(linux::file(&self.root(), name, &settings)?)
    }
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

/// The error for a text in which nothing is known.
fn nothing_known(name: &str, why: Why) -> String {
    format!("{name}: {}", sink::nothing_known(why))
}

/// True when the host's side of a file could not be had; the file itself can still be looked at.
fn is_about_following(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(SourceError::NotFollowed { .. } | SourceError::NotAHost { .. })
    )
}

/// True for what captured text describes.
fn is_captured(stack: &Stack) -> bool {
    let mut layers = stack.layers().iter();
    layers.any(|layer| layer.attribute(Key::Platform).is_some())
}

fn is_disk_image(stack: &Stack) -> bool {
    stack.layers().iter().any(|layer| {
        matches!(
            layer.kind,
            LayerKind::Partition | LayerKind::Filesystem | LayerKind::Container
        ) || layer.attribute(Key::PartitionTable).is_some()
            // A member of an array, a volume group or the like.
            || layer.attribute(Key::Holds).is_some()
    })
}

fn is_database_file(stack: &Stack) -> bool {
    stack
        .layers()
        .iter()
        .any(|layer| layer.kind == LayerKind::DatabasePage)
}

fn root(args: &Check) -> anyhow::Result<Root> {
    match &args.sysroot {
        Some(path) => Ok(Root::open(path)?),
        None => Ok(Root::live()),
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

pub(crate) fn overrides(args: &Geometry) -> Overrides {
    let stated = |unit: Option<Unit>, flag| unit.map(|u| Fact::stated(u, flag, as_typed(u)));
    let logical = args.logical_sector.and_then(|unit| {
        let size = SectorSize::new(u32::try_from(unit.get()).ok()?)?;
        Some(Fact::stated(size, "--logical-sector", as_typed(unit)))
    });
    Overrides {
        logical_sector: logical,
        physical_sector: stated(args.physical_sector, "--physical-sector"),
        stripe_unit: stated(args.stripe_unit, "--stripe-unit"),
        stripe_width: stated(args.stripe_width, "--stripe-width"),
    }
}

/// A size as one could type it: `64KiB`.
fn as_typed(unit: Unit) -> String {
    unit.to_string().replace(' ', "")
}

/// A path that could not be listed, and why.
type Unlisted = (PathBuf, std::io::Error);
