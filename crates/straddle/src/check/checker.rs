//! One target after the other: what it is, and what it stands on.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::boxed::{self, Boxed, Wrapping, wrapping};
use super::jobs::{self, Job};
use super::sight::{Found, Origin, Sight, is_disk_image};
use super::{CheckError, Kind, Outcome, Report, text};
use crate::geometry::Bytes;
use crate::io::{OpenError, ReadAt, Target, TargetKind, is_device, is_shared_with_nobody};
use crate::report::{Asked, Checked, Taken};
use crate::rules::{Options, Why};
use crate::sources::linux::Root;
use crate::sources::{self, Settings, SourceError};
use crate::stack::{LayerKind, Stack};

/// Everything that is the same for all targets.
pub(super) struct Checker {
    take_as: Option<Kind>,
    pub(super) settings: Settings,
    asked: Asked,
    options: Options,
    host: String,
    /// How many of a directory's files are looked at from below.
    pub(super) files: usize,
    /// Targets that need the host share what is read of it, one at a time; images do not need it.
    root: Mutex<Root>,
    captured: bool,
}

impl Checker {
    pub(super) fn new(
        take_as: Option<Kind>,
        files: usize,
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
            files,
            root: Mutex::new(root),
            captured,
        }
    }

    pub(super) fn in_brief(&mut self) {
        self.options.in_full = false;
    }

    /// True unless targets are to be taken for something else.
    pub(super) fn may_be(&self, kind: Kind) -> bool {
        self.take_as.is_none_or(|taken| taken == kind)
    }

    pub(super) fn is_taken_as(&self, kind: Kind) -> bool {
        self.take_as == Some(kind)
    }

    /// What a job comes to: a report for each target.
    pub(super) fn check(&self, job: &Job, each: &mut dyn FnMut(Report)) {
        let name = job.name(&self.host);
        match job {
            Job::Host => {
                let host = sources::host(&self.root(), &self.settings);
                let found = host.map(Sight::Stack).map_err(Into::into);
                each(self.report(name.clone(), Path::new(&name), found));
            }
            Job::Path(path, _) if self.captured => {
                let found = self.on_host(path);
                each(self.report(name, path, found));
            }
            Job::Path(path, origin) => self.seen(path, self.path(path, *origin), each),
            Job::Looked(path, looked) => {
                let looked = looked.take();
                let found = looked.unwrap_or_else(|| self.path(path, Origin::Named));
                self.seen(path, found, each);
            }
            Job::Input => self.input(each),
            Job::Images(paths) => {
                let found = self.images(paths).map(Sight::Stack);
                each(self.report(name.clone(), Path::new(&name), found));
            }
            Job::Together(paths) => self.together(paths, each),
            Job::Folder(folder, paths) => self.folder(folder, paths, each),
            Job::Support(path, collector) => each(self.collected_tree(path, collector)),
            Job::Captured(path) => each(self.captured_tree(path)),
            Job::Place(place) => each(self.place(place)),
        }
    }

    /// The reports of what was seen at a path.
    pub(super) fn seen(&self, path: &Path, found: Found, each: &mut dyn FnMut(Report)) {
        let name = path.display().to_string();
        match found {
            Ok(Sight::Machines(captures)) => self.machines(captures).into_iter().for_each(each),
            Ok(Sight::Boxed(target, origin)) => {
                self.unpack(Boxed::file(name, *target, origin), 0, each);
            }
            found => each(self.report(name, path, found)),
        }
    }

    /// What the rules say of what was found. A name that is no UTF-8 leads to nothing as text, hence the path.
    pub(super) fn report(&self, target: String, path: &Path, found: Found) -> Report {
        let checked = |stack, taken: Option<Taken>| {
            // A place is reported in full, however many files were looked at to know that it is one.
            let is_place = |taken: &Taken| taken.kind == Kind::Place.name();
            let options = Options {
                in_full: self.options.in_full || taken.as_ref().is_some_and(is_place),
                ..self.options.clone()
            };
            let checked = Checked::new(target.clone(), stack, &options, self.asked.clone());
            Outcome::Checked(Checked {
                taken: taken.map(Box::new),
                ..checked
            })
        };
        let outcome = found.map(|seen| match seen {
            Sight::Stack(stack) => checked(stack, None),
            Sight::Taken(stack, taken) => checked(stack, Some(taken)),
            Sight::Mention => Outcome::Unrecognised(Why::Mention),
            Sight::Nothing | Sight::Machines(_) | Sight::Boxed(..) => {
                Outcome::Unrecognised(text::why(path))
            }
        });
        Report { target, outcome }
    }

    /// A text in which no output of a known tool was found.
    pub(super) fn unknown_text(&self, target: String) -> Report {
        let outcome = Ok(Outcome::Unrecognised(Why::NoOutput));
        Report { target, outcome }
    }

    /// Images that belong together.
    fn images(&self, paths: &[PathBuf]) -> Result<Stack, CheckError> {
        let opened = paths.iter().map(|path| Target::open(path).map(Arc::new));
        let targets = opened.collect::<Result<Vec<_>, _>>()?;
        Ok(sources::images(&targets, &self.settings)?)
    }

    /// Files that were named together.
    fn together(&self, paths: &[PathBuf], each: &mut dyn FnMut(Report)) {
        let mut captures = Vec::new();
        for (number, path) in (0_u32..).zip(paths) {
            let found = text::captures(path, number);
            if found.is_empty() {
                self.seen(path, self.path(path, Origin::Named), each);
            }
            captures.extend(found);
        }
        if !captures.is_empty() {
            self.machines(captures).into_iter().for_each(each);
        }
    }

    /// Small files of one folder.
    fn folder(&self, folder: &Path, paths: &[PathBuf], each: &mut dyn FnMut(Report)) {
        let text::Sorted {
            servers,
            unknown,
            mentions,
            rest,
            others,
        } = text::sorted(paths);
        for server in servers {
            each(self.server_in(&folder.display().to_string(), server));
        }
        for path in unknown {
            each(self.report(path.display().to_string(), &path, Ok(Sight::Nothing)));
        }
        for path in mentions {
            each(self.report(path.display().to_string(), &path, Ok(Sight::Mention)));
        }
        let rest = rest
            .into_iter()
            .map(|(path, target)| (path, Ok(target), true));
        let others = others
            .into_iter()
            .map(|(path, target)| (path, target, false));
        let looked = rest.chain(others).map(|(path, target, may_be_text)| {
            let found = if may_be_text {
                self.looked_at(&path, target, Origin::Listed)
            } else {
                self.opened(&path, target, Origin::Listed)
            };
            (path, found)
        });
        let looked: Vec<_> = looked.collect();
        let groups = match self.take_as {
            None => {
                let files = looked.iter().enumerate();
                let files = files.map(|(index, (path, found))| {
                    (index, path.as_path(), jobs::sets(path, found, false))
                });
                jobs::groups(files.collect())
            }
            Some(_) => jobs::Groups::default(),
        };
        for (index, (path, found)) in looked.into_iter().enumerate() {
            if groups.others.contains(&index) {
                continue;
            }
            match groups.firsts.get(&index) {
                Some(members) => self.check(&Job::Images(members.clone()), each),
                None => self.seen(&path, found, each),
            }
        }
    }

    /// The tree of a captured host.
    fn captured_tree(&self, path: &Path) -> Report {
        let name = path.display().to_string();
        let host = Root::open(path).and_then(|root| sources::host(&root, &self.settings));
        let found = host
            .map(|stack| Sight::Taken(stack, boxed::capture(&name)))
            .map_err(Into::into);
        self.report(name, path, found)
    }

    pub(super) fn root(&self) -> MutexGuard<'_, Root> {
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
        if let (Ok(target), None | Some(Kind::Text | Kind::Support)) = (&target, self.take_as) {
            let mut captures = text::of_target(target, 0);
            if self.take_as == Some(Kind::Support) {
                captures.retain(|capture| capture.report.is_some());
            }
            let is_listed = self.take_as.is_none() && origin == Origin::Listed;
            if is_listed && text::is_mention(&captures) {
                return Ok(Sight::Mention);
            }
            if captures.len() > 1 {
                return Ok(Sight::Machines(captures));
            }
            if !captures.is_empty() {
                return Ok(self.told(&path.display().to_string(), captures));
            }
            if origin == Origin::Named
                && let Some(lacking) = text::lacking(target)
            {
                let name = path.display().to_string();
                return Err(CheckError::Lacking { name, lacking });
            }
            if origin == Origin::Named
                && let Some(why) = text::of_another_verb(target)
            {
                let name = path.display().to_string();
                return Err(CheckError::NothingKnown { name, why });
            }
            // As the archive of a support tool it is none either.
            if self.take_as.is_some() && text::is_text(target) || self.is_taken_as(Kind::Text) {
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
                if self.take_as != Some(Kind::Image)
                    && ((source.kind() == ErrorKind::PermissionDenied && is_device(path))
                        || is_shared_with_nobody(&source)) =>
            {
                return self.on_host(path);
            }
            Err(OpenError::Os { source, .. })
                if source.kind() == ErrorKind::NotFound && is_windows_path(path) =>
            {
                return Err(CheckError::Drive(path.to_owned()));
            }
            opened => opened?,
        };
        if target.kind() == TargetKind::File && target.size() == Bytes::ZERO {
            return match origin {
                Origin::Listed => Ok(Sight::Nothing),
                Origin::Named => Err(CheckError::Empty(path.to_owned())),
            };
        }
        if self.take_as == Some(Kind::File)
            || (self.take_as.is_none() && target.kind() == TargetKind::Device)
        {
            return self.on_host(path);
        }
        if target.kind() == TargetKind::File {
            match self.wrapped(path, &target, origin) {
                Some(Ok(Wrapped::Boxed)) => return Ok(Sight::Boxed(Box::new(target), origin)),
                Some(Ok(Wrapped::Strange)) => return Ok(Sight::Nothing),
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        let target = Arc::new(target);
        // A virtual disk that was named is in use here as a rule, so it is followed to the disks where the kernel knows
        // them. A raw image may as well be the copy of a disk from elsewhere.
        let follow = self.take_as.is_none() && origin == Origin::Named;
        let raw = if follow {
            sources::raw_image(&target, &self.settings)?
        } else {
            None
        };
        if follow && raw.is_none() {
            match self.file_on_host(path, true) {
                Ok(stack) => return Ok(Sight::Stack(stack)),
                Err(error) if is_about_following(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let stack = match raw {
            Some(stack) => stack,
            None => sources::image(&target, &self.settings)?,
        };
        if self.take_as == Some(Kind::Image) || is_disk_image(&stack) {
            return Ok(Sight::Stack(stack));
        }
        match origin {
            // Text is meant as what a tool printed; as a file on this machine only where that is said.
            Origin::Named if follow && text::is_text(&target) => Ok(Sight::Nothing),
            // A directory may hold anything; only what was named is followed to the disks.
            Origin::Listed if !is_database_file(&stack) => Ok(Sight::Nothing),
            Origin::Listed | Origin::Named => self.on_host(path),
        }
    }

    /// Whether a file is packed, an archive, or the text form of a captured host; `None` when it is none of these.
    fn wrapped(
        &self,
        path: &Path,
        target: &Target,
        origin: Origin,
    ) -> Option<Result<Wrapped, CheckError>> {
        match self.take_as {
            None => {}
            Some(Kind::Capture | Kind::Support | Kind::Archive) => return Some(Ok(Wrapped::Boxed)),
            Some(_) => return None,
        }
        let head = target.head().ok()?;
        if Root::is_tree(head) {
            return Some(Ok(Wrapped::Boxed));
        }
        match (wrapping(head)?, origin) {
            (Wrapping::Read, _) => Some(Ok(Wrapped::Boxed)),
            // Packages of languages and the like, of which directories are full.
            (Wrapping::Strange(_), Origin::Listed) => Some(Ok(Wrapped::Strange)),
            (Wrapping::Strange(strange), Origin::Named) => Some(Err(CheckError::Strange {
                name: path.to_owned(),
                is: strange.name,
                unpack: strange.unpacked_with,
            })),
        }
    }

    fn on_host(&self, path: &Path) -> Found {
        self.file_on_host(path, false).map(Sight::Stack)
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

/// What is not looked at as it is.
enum Wrapped {
    /// It is looked into.
    Boxed,
    /// Only other programs look into it.
    Strange,
}

/// True for a path with the letter of a drive, where that has no meaning.
fn is_windows_path(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let mut chars = text.chars();
    let (letter, colon) = (chars.next(), chars.next());
    let is_end = matches!(chars.next(), None | Some('\\' | '/'));
    let is_drive = letter.is_some_and(|letter| letter.is_ascii_alphabetic()) && colon == Some(':');
    !cfg!(windows) && (is_drive && is_end || text.starts_with("\\\\"))
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

fn is_database_file(stack: &Stack) -> bool {
    stack
        .layers()
        .iter()
        .any(|layer| layer.kind == LayerKind::DatabasePage)
}
