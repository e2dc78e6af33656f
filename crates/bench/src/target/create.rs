//! A file of its own: made, filled, and removed again.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use straddle_geometry::Bytes;
use straddle_io::owned::{self, NotOwned, Owned, Removal};

use super::label::{LABEL, Label, Owner, State};
use super::space::check_space;
use super::{Guard, Identity, Limits, LimitsFrom, Medium, Target, TargetError};
use crate::journal::Ready;
use crate::plan::Plan;

/// What a test file is called in a directory.
pub const FILE_NAME: &str = "straddle-bench.dat";

/// Written at once, and synced so often: a full disk is found early, and progress means bytes on the disk.
const PIECE: usize = 1 << 20;
const SYNCED: u64 = 64 << 20;

/// A file that was just made and is not filled yet. Dropping it removes it.
#[derive(Debug)]
pub struct Draft {
    made: Made,
    size: Bytes,
    limits: (Limits, LimitsFrom),
    direct: bool,
}

/// A file that this program made: removed on drop, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Made {
    /// Only a drop takes it.
    owned: Option<Owned>,
    pub(super) keep: bool,
}

impl Made {
    pub(super) fn new(owned: Owned) -> Made {
        Made {
            owned: Some(owned),
            keep: false,
        }
    }

    pub(super) fn owned(&self) -> Result<&Owned, NotOwned> {
        self.owned.as_ref().ok_or(NotOwned::Foreign)
    }

    pub(super) fn remove(mut self) -> Removal {
        self.owned.take().map_or(Removal::Gone, Owned::remove)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(owned) = self.owned.take().filter(|_| !self.keep) {
            // There is nobody left to tell.
            let _ = owned.remove();
        }
    }
}

/// Where the test file of `path` goes: into it when it is a directory.
#[must_use]
pub fn place(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE_NAME)
    } else {
        path.to_owned()
    }
}

/// The error for a file that is there already where one was to be made.
#[must_use]
pub fn taken(path: &Path) -> TargetError {
    let path = path.to_owned();
    if owned::is_held(&path) {
        return TargetError::Busy { path };
    }
    if is_test_file(&path) {
        TargetError::LeftOver { path }
    } else {
        TargetError::Exists { path }
    }
}

/// Removes the test file of a run that was ended before it was filled.
///
/// # Errors
/// [`TargetError::Changed`] when another file is there; [`TargetError::NotRemoved`].
pub fn remove_unfilled(path: &Path, owner: &Owner) -> Result<(), TargetError> {
    let of_owner =
        |label: &Label| label.token == owner.token && label.sum.as_ref() == Some(&owner.sum);
    let opened = Owned::open(path, |file| {
        let label = Label::at_end(file, file.metadata()?.len())?;
        Ok(label.filter(of_owner).map(|label| label.mark()))
    });
    match opened {
        Ok(owned) => removed(path, owned.remove()),
        Err(NotOwned::Os(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(not_owned(path, owner, error)),
    }
}

pub(super) fn removed(path: &Path, removal: Removal) -> Result<(), TargetError> {
    if removal.is_done() {
        return Ok(());
    }
    Err(TargetError::NotRemoved {
        path: path.to_owned(),
        removal,
    })
}

fn not_owned(path: &Path, owner: &Owner, error: NotOwned) -> TargetError {
    let path = path.to_owned();
    match error {
        NotOwned::Os(error) if error.kind() == ErrorKind::WouldBlock => TargetError::Busy { path },
        NotOwned::Os(source) => TargetError::Os {
            doing: "open",
            path,
            source,
        },
        NotOwned::WrongType(found) => TargetError::Changed {
            path,
            found: found.to_owned(),
            expected: "the test file of this run".to_owned(),
        },
        NotOwned::Foreign => TargetError::Changed {
            path,
            found: "a file that does not belong to this journal as it is written".to_owned(),
            expected: format!("one with the token {} in it", owner.token),
        },
    }
}

/// What the length of a test file is rounded down to: the page cache, direct I/O and filesystems all deal in whole pages.
fn whole_pages(size: Bytes) -> Bytes {
    Bytes::new(size.get() & !(LABEL.get() - 1))
}

/// Looks at everything that would keep a test file from being made at `path`, and changes nothing.
///
/// # Errors
/// Those of [`Draft::new`] and of [`Draft::check`].
pub fn rehearse(path: &Path, size: Bytes, direct: bool, plan: &Plan) -> Result<(), TargetError> {
    let path = place(path);
    if std::fs::symlink_metadata(&path).is_ok() {
        return Err(taken(&path));
    }
    check_space(&path, whole_pages(size))?;
    let os = |source| TargetError::Os {
        doing: "create a file at",
        path: path.clone(),
        source,
    };
    // Where there are no nameless files, this is found out when the file is made.
    if let Some(file) = owned::scratch(&path).map_err(os)? {
        let (limits, from) = Limits::of_file(&path, &file, direct)?;
        limits.check(from, plan, &path)?;
    }
    Ok(())
}

impl Draft {
    /// Makes a file at `path`, labelled as `owner`'s, for `size` bytes rounded down to whole pages, after a look at the space
    /// there.
    ///
    /// # Errors
    /// [`TargetError`]; nothing is left behind then.
    pub fn new(
        path: &Path,
        size: Bytes,
        direct: bool,
        owner: &Owner,
    ) -> Result<Draft, TargetError> {
        let path = place(path);
        let size = whole_pages(size);
        check_space(&path, size)?;
        let label = Label::of(owner, size, State::Run);
        let owned = match Owned::create(&path, label.mark()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(taken(&path));
            }
            made => made.map_err(|source| TargetError::Os {
                doing: "create",
                path: path.clone(),
                source,
            })?,
        };
        let made = Made::new(owned);
        let limits = match made.owned.as_ref() {
            Some(owned) => Limits::of_file(&path, owned.file(), direct)?,
            None => (Limits::any(), LimitsFrom::Nothing),
        };
        Ok(Draft {
            made,
            size,
            limits,
            direct,
        })
    }

    /// Holds what a plan asks for against what requests have to be aligned to here.
    ///
    /// # Errors
    /// [`TargetError::Misaligned`] for an offset or a size that cannot be had.
    pub fn check(&self, plan: &Plan) -> Result<(), TargetError> {
        let (limits, from) = self.limits;
        let path = self.made.owned.as_ref().map(Owned::path);
        limits.check(from, plan, path.unwrap_or(Path::new("")))
    }

    /// Its size when it will be full.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Fills it with bytes that no compression or deduplication makes fewer. Preallocated space would answer reads without
    /// asking the disk, so every byte is really written, synced, and dropped from the page cache. `progress` is told how much
    /// is on the disk.
    ///
    /// # Errors
    /// [`TargetError`]: no space, quota, a write error, or that `stop` was set. The file is removed then.
    pub fn fill(
        self,
        mut progress: impl FnMut(Bytes),
        stop: &AtomicBool,
    ) -> Result<Target, TargetError> {
        let Draft {
            made,
            size,
            limits,
            direct,
        } = self;
        let owned = made.owned.as_ref();
        let path = owned.map(Owned::path).unwrap_or(Path::new("")).to_owned();
        let filled = made.owned().map_err(io::Error::other).and_then(|owned| {
            let whole = size.checked_add(LABEL).unwrap_or(Bytes::MAX);
            allocate(&*owned.writer()?, whole)?;
            fill(owned, Bytes::ZERO, size, &mut progress, stop)?;
            owned.sync_directory()
        });
        match filled {
            Ok(()) => Ok(Target {
                path,
                size,
                medium: medium(direct),
                limits: limits.0,
                limits_from: limits.1,
                guard: Guard::Made(made),
            }),
            Err(error) => {
                let removed = removed(&path, made.remove());
                let cause = match error.kind() {
                    ErrorKind::Interrupted => TargetError::Stopped { path },
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => TargetError::Full {
                        path,
                        needed: size,
                        reason: error,
                    },
                    _ => TargetError::Os {
                        doing: "fill",
                        path,
                        source: error,
                    },
                };
                Err(match removed {
                    Ok(()) => cause,
                    Err(left) => TargetError::Left {
                        cause: Box::new(cause),
                        left: Box::new(left),
                    },
                })
            }
        }
    }
}

/// Fills part of a file of ours with noise, puts it on stable storage, and drops it from the page cache.
///
/// # Errors
/// Those of the system; the kind [`ErrorKind::Interrupted`] when `stop` was set; any when the file is not ours any more.
pub(super) fn fill(
    owned: &Owned,
    from: Bytes,
    to: Bytes,
    progress: &mut impl FnMut(Bytes),
    stop: &AtomicBool,
) -> io::Result<()> {
    // Two files are not to look alike to storage that looks for doubles.
    let mut seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), from.get());
    let writer = owned.writer()?;
    let mut file: &File = &writer;
    let mut piece = vec![0; PIECE];
    let mut at = from.get();
    while at < to.get() {
        if stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        if (at - from.get()).is_multiple_of(SYNCED) && !owned.is_ours()? {
            return Err(io::Error::other("somebody else has written to it"));
        }
        noise(seed, &mut piece);
        seed = seed.wrapping_add(1);
        let rest = usize::try_from(to.get() - at).unwrap_or(usize::MAX);
        let piece = piece.get(..rest.min(PIECE)).unwrap_or_default();
        // Looking at the mark moves the place at which is written, where there are no reads at a place.
        file.seek(SeekFrom::Start(at))?;
        file.write_all(piece)?;
        at += piece.len() as u64;
        if at.is_multiple_of(SYNCED) {
            file.sync_data()?;
            evict(file);
            progress(Bytes::new(at));
        }
    }
    file.sync_all()?;
    evict(file);
    progress(to);
    Ok(())
}

impl Target {
    /// The test file of an earlier run, which the journal of that run describes: which file it is, its size and the label
    /// behind its data have to be as they were. It is kept when this is dropped, unless it is removed.
    ///
    /// # Errors
    /// [`TargetError::Changed`] when it is another file; then it is left alone.
    pub fn resumed(
        path: &Path,
        ready: Ready,
        owner: &Owner,
        direct: bool,
    ) -> Result<Target, TargetError> {
        let size = ready.size;
        let label = Label::of(owner, size, State::Run);
        let whole = size.checked_add(LABEL).unwrap_or(Bytes::MAX);
        let mut other = None;
        let owned = Owned::open(path, |file| {
            let metadata = file.metadata()?;
            let is_whole = metadata.len() == whole.get();
            // A copy has the label too, and is not what was measured on.
            let identity = Identity::of(file)?;
            if identity != ready.identity {
                other = Some(identity);
                return Ok(None);
            }
            let found = Label::read(file, size)?.filter(|found| is_whole && *found == label);
            Ok(found.map(|label| label.mark()))
        });
        if let Some(other) = other {
            return Err(TargetError::Changed {
                path: path.to_owned(),
                found: other.to_string(),
                expected: ready.identity.to_string(),
            });
        }
        let owned = owned.map_err(|error| not_owned(path, owner, error))?;
        let mut made = Made::new(owned);
        made.keep = true;
        let file = made
            .owned()
            .map_err(|error| not_owned(path, owner, error))?;
        let file = file.file();
        evict(file);
        let (limits, limits_from) = Limits::of_file(path, file, direct)?;
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: medium(direct),
            limits,
            limits_from,
            guard: Guard::Made(made),
        })
    }
}

pub(super) fn medium(direct: bool) -> Medium {
    if direct {
        Medium::FileDirect
    } else {
        Medium::FileBuffered
    }
}

/// Fills `bytes` with noise.
pub(super) fn noise(seed: u64, bytes: &mut [u8]) {
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(bytes);
}

/// True when the file carries the label of a test file, whoever's.
fn is_test_file(path: &Path) -> bool {
    let read = || -> Result<bool, NotOwned> {
        let file = owned::look(path)?;
        Ok(Label::at_end(&file, file.metadata()?.len())?.is_some())
    };
    read().unwrap_or(false)
}

/// Sets the space aside, so that a full disk or quota is known at once; a filesystem that cannot do so finds out later.
#[cfg(target_os = "linux")]
fn allocate(file: &File, len: Bytes) -> io::Result<()> {
    match straddle_io::linux::allocate(file, len) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        done => done,
    }
}

/// NTFS has set the space aside, and zeroed it, when the label was written behind it. `SetFileValidData` would save the zeroes where
/// an administrator runs this, but for a while everybody who may read the file would see what was deleted there; and every byte is written
/// with noise in any case.
#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: Bytes) -> io::Result<()> {
    Ok(())
}

/// What stays in the page cache would answer buffered reads; where it cannot be dropped, direct I/O does not see it.
#[cfg(target_os = "linux")]
pub(super) fn evict(file: &File) {
    let _ = straddle_io::linux::evict(file);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn evict(_: &File) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use straddle_io::owned::Token;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary directory")
    }

    fn never() -> AtomicBool {
        AtomicBool::new(false)
    }

    fn owner() -> Owner {
        Owner {
            token: Token::random().expect("random bits"),
            sum: "0".repeat(64),
        }
    }

    fn draft(path: &Path, size: Bytes) -> Result<Draft, TargetError> {
        Draft::new(path, size, false, &owner())
    }

    #[test]
    fn a_file_is_made_full_of_noise_and_removed_when_it_is_dropped() {
        let dir = scratch();
        let mut told = Vec::new();
        let made = draft(dir.path(), Bytes::mib(2)).expect("is made");
        let target = made.fill(|bytes| told.push(bytes), &never());
        let target = target.expect("is filled");
        let path = dir.path().join(FILE_NAME);
        assert_eq!(target.path(), path);
        assert_eq!(target.size(), Bytes::mib(2));
        assert_eq!(told.last(), Some(&Bytes::mib(2)));
        let bytes = fs::read(&path).expect("reads");
        assert_eq!(bytes.len(), (2 << 20) + 4096);
        let (first, second) = bytes[..2 << 20].split_at(1 << 20);
        assert_ne!(first, second, "pieces differ, or deduplication finds them");
        let zeros = first.iter().filter(|byte| **byte == 0).count();
        assert!((3500..4700).contains(&zeros), "one byte in 256: {zeros}");
        drop(target);
        assert!(!path.exists());
    }

    #[test]
    fn what_exists_is_left_alone() {
        let dir = scratch();
        let path = dir.path().join("precious");
        fs::write(&path, "data").expect("writes");
        let error = draft(&path, Bytes::mib(1)).expect_err("exists");
        assert!(matches!(error, TargetError::Exists { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("reads"), b"data");
    }

    #[test]
    fn another_file_at_its_place_is_not_removed() {
        let dir = scratch();
        let target = draft(dir.path(), Bytes::mib(1)).and_then(|made| made.fill(|_| (), &never()));
        let path = dir.path().join(FILE_NAME);
        fs::remove_file(&path).expect("removes");
        fs::write(&path, "another").expect("writes");
        drop(target.expect("is made"));
        assert_eq!(fs::read(&path).expect("is left"), b"another");
    }

    #[test]
    fn stopping_removes_it() {
        let dir = scratch();
        let made = draft(dir.path(), Bytes::mib(1)).expect("is made");
        let error = made.fill(|_| (), &AtomicBool::new(true));
        assert!(matches!(error, Err(TargetError::Stopped { .. })));
        assert!(!dir.path().join(FILE_NAME).exists());
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_made() {
        let dir = scratch();
        let error = draft(dir.path(), Bytes::new(1 << 60)).expect_err("an EiB");
        let text = error.to_string();
        assert!(text.contains("1 EiB") && text.contains("--size"), "{text}");
        assert!(!dir.path().join(FILE_NAME).exists());
    }

    #[test]
    fn only_the_very_same_file_is_resumed() {
        let dir = scratch();
        let owner = owner();
        let draft = Draft::new(dir.path(), Bytes::mib(1), false, &owner).expect("is made");
        let path = dir.path().join(FILE_NAME);
        let error = Draft::new(&path, Bytes::mib(1), false, &owner).expect_err("it is held");
        assert!(matches!(error, TargetError::Busy { .. }), "{error}");
        let mut target = draft.fill(|_| (), &never()).expect("is filled");
        target.keep();
        drop(target);
        let identity = Identity::of(&File::open(&path).expect("opens")).expect("stats");
        let resume = |owner: &Owner, size| {
            let ready = Ready { identity, size };
            Target::resumed(&path, ready, owner, false)
        };
        let other_token = Owner {
            token: Token::random().expect("random bits"),
            ..owner.clone()
        };
        let other_sum = Owner {
            sum: "1".repeat(64),
            ..owner.clone()
        };
        for (owner, size) in [
            (&other_token, Bytes::mib(1)),
            (&other_sum, Bytes::mib(1)),
            (&owner, Bytes::mib(2)),
        ] {
            let error = resume(owner, size).expect_err("another");
            assert!(matches!(error, TargetError::Changed { .. }), "{error}");
        }
        assert!(path.exists(), "a refusal leaves it alone");
        let error = Draft::new(&path, Bytes::mib(1), false, &owner).expect_err("exists");
        assert!(matches!(error, TargetError::LeftOver { .. }), "{error}");
        let same = resume(&owner, Bytes::mib(1)).expect("the same");
        same.remove().expect("it is ours");
        assert!(!path.exists());
    }

    #[test]
    fn a_rehearsal_refuses_what_the_run_would_refuse_and_leaves_nothing() {
        let dir = scratch();
        let plan = crate::plan::Plan {
            cells: Vec::new(),
            names: Vec::new(),
            replay: None,
            offsets: Vec::new(),
            measured: std::time::Duration::ZERO,
            warm_up: std::time::Duration::ZERO,
            least_blocks: 1,
            most_blocks: 1,
            precision: 0.1,
            budget: None,
            seed: 1,
        };
        let rehearsed = |path: &Path, size| rehearse(path, size, false, &plan);
        rehearsed(dir.path(), Bytes::mib(1)).expect("there is room");
        assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 0);
        let error = rehearsed(dir.path(), Bytes::new(1 << 60)).expect_err("an EiB");
        assert!(matches!(error, TargetError::Space { .. }), "{error}");
        fs::write(dir.path().join(FILE_NAME), "data").expect("writes");
        let error = rehearsed(dir.path(), Bytes::mib(1)).expect_err("taken");
        assert!(matches!(error, TargetError::Exists { .. }), "{error}");
    }
}
