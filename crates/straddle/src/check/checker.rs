//! One target after the other: what it is, and what it stands on.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::jobs::{self, Job, Origin};
use super::{CheckError, Outcome, Report, TakeAs, text};
use crate::geometry::Bytes;
use crate::io::{OpenError, ReadAt, Target, TargetKind, is_device, is_shared_with_nobody};
use crate::report::{Asked, Checked};
use crate::rules::{Options, Why};
use crate::sources::captured::{self, Capture};
use crate::sources::linux::Root;
use crate::sources::{self, Settings, SourceError};
use crate::stack::{Key, LayerKind, Stack};

/// A stack; none where nothing was recognised.
type Found = Result<Option<Stack>, CheckError>;

/// Everything that is the same for all targets.
pub(super) struct Checker {
    take_as: TakeAs,
    pub(super) settings: Settings,
    asked: Asked,
    options: Options,
    host: String,
    /// Texts that were looked at and are about several machines.
    pub(super) several: Mutex<BTreeMap<PathBuf, Vec<Capture>>>,
    /// Targets that need the host share what is read of it, one at a time; images do not need it.
    root: Mutex<Root>,
    captured: bool,
}

impl Checker {
    pub(super) fn new(
        take_as: TakeAs,
        settings: Settings,
        asked: Asked,
        options: Options,
        root: Root,
        captured: bool,
    ) -> Checker {
        Checker {
            take_as,
            settings,
            asked,
            options,
            host: root.name().to_owned(),
            several: Mutex::default(),
            root: Mutex::new(root),
            captured,
        }
    }

    pub(super) fn in_brief(&mut self) {
        self.options.in_full = false;
    }

    /// What a job comes to: a report for each target.
    pub(super) fn check(&self, job: &Job) -> Vec<Report> {
        let name = job.name(&self.host);
        let path = match job {
            Job::Path(path, _) | Job::Looked(path, _) => path,
            _ => Path::new(&name),
        };
        let one = |found: Found| vec![self.report(name.clone(), path, found)];
        let or_machines = |path: &Path, stack| match self.machines_of(path) {
            Some(captures) => self.machines(captures),
            None => one(stack),
        };
        match job {
            Job::Host => one(sources::host(&self.root(), &self.settings)
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
                Ok(captures) if captures.is_empty() => one(Err(CheckError::NothingKnown {
                    name: name.clone(),
                    why: Why::NoOutput,
                })),
                Ok(captures) => one(Ok(Some(captured::stack(captures, &self.settings)))),
                Err(error) => one(Err(error)),
            },
            Job::Images(paths) => one(self.images(paths).map(Some)),
            Job::Together(paths) => self.together(paths),
            Job::Folder(folder, paths) => self.folder(folder, paths),
            Job::Machine(_, paths) => vec![self.machine(name.clone(), paths)],
        }
    }

    /// What the rules say of what was found. A name that is no UTF-8 leads to nothing as text, hence the path.
    pub(super) fn report(&self, target: String, path: &Path, found: Found) -> Report {
        let outcome = found.map(|stack| match stack {
            Some(stack) => {
                let asked = self.asked.clone();
                Outcome::Checked(Checked::new(target.clone(), stack, &self.options, asked))
            }
            None => Outcome::Unrecognised(text::why(path)),
        });
        Report { target, outcome }
    }

    /// Images that belong together.
    fn images(&self, paths: &[PathBuf]) -> Result<Stack, CheckError> {
        let opened = paths.iter().map(|path| Target::open(path).map(Arc::new));
        let targets = opened.collect::<Result<Vec<_>, _>>()?;
        Ok(sources::images(&targets, &self.settings)?)
    }

    /// Files that were named together.
    fn together(&self, paths: &[PathBuf]) -> Vec<Report> {
        let (mut captures, mut reports) = (Vec::new(), Vec::new());
        for (number, path) in (0_u32..).zip(paths) {
            let found = text::captures(path, number);
            if found.is_empty() {
                let found = self.path(path, Origin::Named);
                reports.push(self.report(path.display().to_string(), path, found));
            }
            captures.extend(found);
        }
        if !captures.is_empty() {
            reports.extend(self.machines(captures));
        }
        reports
    }

    /// Small files of one folder.
    fn folder(&self, folder: &Path, paths: &[PathBuf]) -> Vec<Report> {
        let text::Sorted {
            servers,
            unknown,
            rest,
            others,
        } = text::sorted(paths);
        let mut reports = Vec::new();
        for server in servers {
            let name = match (&server.name, server.captures.as_slice()) {
                (None, _) => folder.display().to_string(),
                (Some(_), [only]) => only.title(),
                (Some(name), _) => format!("{} ({name})", folder.display()),
            };
            reports.push(self.server(name, server));
        }
        for path in unknown {
            reports.push(self.report(path.display().to_string(), &path, Ok(None)));
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
            TakeAs::Auto => {
                let files = looked.iter().enumerate();
                let files = files.map(|(index, (path, stack))| {
                    (index, path.as_path(), jobs::sets(path, stack, false))
                });
                jobs::groups(files.collect())
            }
            _ => jobs::Groups::default(),
        };
        for (index, (path, stack)) in looked.into_iter().enumerate() {
            if groups.others.contains(&index) {
                continue;
            }
            if let Some(members) = groups.firsts.get(&index) {
                reports.extend(self.check(&Job::Images(members.clone())));
                continue;
            }
            reports.push(self.report(path.display().to_string(), &path, stack));
        }
        reports
    }

    fn root(&self) -> MutexGuard<'_, Root> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn path(&self, path: &Path, origin: Origin) -> Found {
        let target = match origin {
            Origin::Named => Target::open(path),
            Origin::Listed => Target::open_listed(path),
        };
        self.looked_at(path, target, origin)
    }

    /// Whatever it is: captured text, or [`Self::opened`].
    fn looked_at(&self, path: &Path, target: Result<Target, OpenError>, origin: Origin) -> Found {
        if let (Ok(target), TakeAs::Auto | TakeAs::Text) = (&target, self.take_as) {
            let captures = text::of_target(target, 0);
            if captures.len() > 1 {
                let mut several = self.several.lock().unwrap_or_else(PoisonError::into_inner);
                several.insert(path.to_owned(), captures);
                return Ok(None);
            }
            if !captures.is_empty() {
                return Ok(Some(captured::stack(captures, &self.settings)));
            }
            if self.take_as == TakeAs::Text {
                let why = match text::why(path) {
                    Why::Unrecognised => Why::NoOutput,
                    why => why,
                };
                let name = path.display().to_string();
                return Err(CheckError::NothingKnown { name, why });
            }
        }
        self.opened(path, target, origin)
    }

    /// What is no captured text.
    fn opened(&self, path: &Path, target: Result<Target, OpenError>, origin: Origin) -> Found {
        let target = match target {
            // The system tells anybody what it knows of a device, and where a file lies that a database has for itself; only what is in it takes
            // leave to open it.
            Err(OpenError::Os { source, .. })
                if self.take_as != TakeAs::Image
                    && ((source.kind() == ErrorKind::PermissionDenied && is_device(path))
                        || is_shared_with_nobody(&source)) =>
            {
                return self.on_host(path).map(Some);
            }
            opened => opened?,
        };
        if target.kind() == TargetKind::File && target.size() == Bytes::ZERO {
            return match origin {
                Origin::Listed => Ok(None),
                Origin::Named => Err(CheckError::Empty(path.to_owned())),
            };
        }
        if self.take_as == TakeAs::File
            || (self.take_as == TakeAs::Auto && target.kind() == TargetKind::Device)
        {
            return self.on_host(path).map(Some);
        }
        let target = Arc::new(target);
        // A virtual disk that was named is in use here as a rule, so it is followed to the disks where the kernel knows
        // them. A raw image may as well be the copy of a disk from elsewhere.
        let follow = self.take_as == TakeAs::Auto && origin == Origin::Named;
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
        if self.take_as == TakeAs::Image || is_disk_image(&stack) {
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

    fn on_host(&self, path: &Path) -> Result<Stack, CheckError> {
        self.file_on_host(path, false)
    }

    fn file_on_host(&self, path: &Path, only_when_followed: bool) -> Result<Stack, CheckError> {
        // A captured host knows its files by the names they had there, and Windows its devices by one name only.
        let path = if self.captured || (cfg!(windows) && is_device(path)) {
            path.to_owned()
        } else {
            std::fs::canonicalize(path)?
        };
        let name = path
            .to_str()
            .ok_or_else(|| CheckError::NotUtf8(path.clone()))?;
        let settings = Settings {
            only_when_followed,
            ..self.settings.clone()
        };
        Ok(sources::file(&self.root(), name, &settings)?)
    }
}

/// True when the host's side of a file could not be had; the file itself can still be looked at.
fn is_about_following(error: &CheckError) -> bool {
    matches!(
        error,
        CheckError::Source(
            SourceError::NotFollowed { .. }
                | SourceError::NotAHost { .. }
                | SourceError::NoDisks { .. }
        )
    )
}

pub(super) fn is_disk_image(stack: &Stack) -> bool {
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
