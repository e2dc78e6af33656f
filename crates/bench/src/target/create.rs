//! A file of its own: made, filled, and removed again.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use straddle_geometry::Bytes;
use straddle_io::Opening;

use super::{Identity, Limits, LimitsFrom, Target, TargetError};
use crate::plan::Plan;
use crate::results::Medium;

/// What a test file is called in a directory.
pub const FILE_NAME: &str = "straddle-bench.dat";

/// Behind the bytes that are measured lies a block that says whose file this is. No request reaches it.
const STAMP: Bytes = Bytes::kib(4);
const GREETING: &str = "straddle bench test file\n";

/// Written at once, and synced so often: a full disk is found early, and progress means bytes on the disk.
const PIECE: usize = 1 << 20;
const SYNCED: u64 = 64 << 20;

/// A file that was just made and is still empty. Dropping it removes it.
#[derive(Debug)]
pub struct Draft {
    file: File,
    made: Made,
    size: Bytes,
    limits: (Limits, LimitsFrom),
    direct: bool,
}

/// A file that this program made: removed on drop, unless it is to be kept or something else is there by then.
#[derive(Debug)]
pub(super) struct Made {
    path: PathBuf,
    identity: Identity,
    pub(super) keep: bool,
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.keep && Identity::of(&self.path).is_ok_and(|found| found == self.identity) {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
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
    if is_test_file(&path) {
        TargetError::LeftOver { path }
    } else {
        TargetError::Exists { path }
    }
}

/// Removes a test file that was never filled, which the journal of its run knows by its identity.
///
/// # Errors
/// [`TargetError::Changed`] when another file is there.
pub fn remove_unfilled(path: &Path, identity: Identity) -> Result<(), TargetError> {
    let os = |source| TargetError::Os {
        doing: "remove",
        path: path.to_owned(),
        source,
    };
    match Identity::of(path) {
        Ok(found) if found == identity => fs::remove_file(path).map_err(os),
        Ok(found) => Err(TargetError::Changed {
            path: path.to_owned(),
            found: found.to_string(),
            expected: identity.to_string(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(os(error)),
    }
}

impl Draft {
    /// Makes an empty file at `path`, for `size` bytes rounded down to whole pages, after a look at the space there.
    ///
    /// # Errors
    /// [`TargetError`]; nothing is left behind then.
    pub fn new(path: &Path, size: Bytes, direct: bool) -> Result<Draft, TargetError> {
        let path = place(path);
        // The page cache, direct I/O and filesystems all deal in whole pages.
        let size = Bytes::new(size.get() & !(STAMP.get() - 1));
        check_space(&path, size)?;
        let opening = Opening {
            write: true,
            create: true,
            ..Opening::default()
        };
        let os = |doing, source| TargetError::Os {
            doing,
            path: path.clone(),
            source,
        };
        let file = match opening.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(taken(&path));
            }
            opened => opened.map_err(|error| os("create", error))?,
        };
        let identity = file.metadata().map_err(|error| os("look at", error))?;
        let made = Made {
            path: path.clone(),
            identity: Identity::from_metadata(&identity),
            keep: false,
        };
        let limits = Limits::of_file(&path, direct)?;
        Ok(Draft {
            file,
            made,
            size,
            limits,
            direct,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.made.path
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.made.identity
    }

    /// Holds what a plan asks for against what requests have to be aligned to here.
    ///
    /// # Errors
    /// [`TargetError::Misaligned`] for an offset or a size that cannot be had.
    pub fn check(&self, plan: &Plan) -> Result<(), TargetError> {
        let (limits, from) = self.limits;
        limits.check(from, plan, self.path())
    }

    /// Its size when it will be full.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Fills it with bytes that no compression or deduplication makes fewer, and puts `stamp` behind them. Preallocated
    /// space would answer reads without asking the disk, so every byte is really written, synced, and dropped from the
    /// page cache. `progress` is told how much is on the disk.
    ///
    /// # Errors
    /// [`TargetError`]: no space, quota, a write error, or that `stop` was set. The file is removed then.
    pub fn fill(
        self,
        stamp: &str,
        mut progress: impl FnMut(Bytes),
        stop: &AtomicBool,
    ) -> Result<Target, TargetError> {
        let path = self.made.path.clone();
        let size = self.size;
        let failed = |doing, source: io::Error| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => TargetError::Full {
                path: path.clone(),
                needed: size,
                reason: source,
            },
            _ => TargetError::Os {
                doing,
                path: path.clone(),
                source,
            },
        };
        let whole = self.size.checked_add(STAMP).unwrap_or(Bytes::MAX);
        allocate(&self.file, whole).map_err(|error| failed("allocate space for", error))?;
        let mut file = &self.file;
        let mut piece = vec![0; PIECE];
        let mut seed = u64::from_le_bytes(*b"straddle");
        let mut written = 0;
        while written < self.size.get() {
            if stop.load(Ordering::Relaxed) {
                return Err(TargetError::Stopped { path });
            }
            noise(seed, &mut piece);
            seed = seed.wrapping_add(1);
            let rest = usize::try_from(self.size.get() - written).unwrap_or(usize::MAX);
            let piece = piece.get(..rest.min(PIECE)).unwrap_or_default();
            file.write_all(piece)
                .map_err(|error| failed("write", error))?;
            written += piece.len() as u64;
            if written.is_multiple_of(SYNCED) {
                file.sync_data().map_err(|error| failed("sync", error))?;
                evict(file);
                progress(Bytes::new(written));
            }
        }
        let mut last = format!("{GREETING}{stamp}\n").into_bytes();
        last.resize(usize::try_from(STAMP.get()).unwrap_or(0), 0);
        file.write_all(&last)
            .map_err(|error| failed("write", error))?;
        file.sync_all().map_err(|error| failed("sync", error))?;
        sync_directory(&path).map_err(|error| failed("sync the directory of", error))?;
        evict(file);
        progress(self.size);
        Ok(Target {
            path,
            size: self.size,
            medium: medium(self.direct),
            writable: true,
            limits: self.limits.0,
            limits_from: self.limits.1,
            identity: self.made.identity,
            made: Some(self.made),
            _claim: None,
        })
    }
}

impl Target {
    /// A new file of `size` bytes, full of bytes that cannot be compressed; see [`Draft`]. Dropping the target removes it.
    ///
    /// # Errors
    /// [`TargetError`]; nothing is left behind then.
    pub fn create(
        path: &Path,
        size: Bytes,
        direct: bool,
        progress: impl FnMut(Bytes),
        stop: &AtomicBool,
    ) -> Result<Target, TargetError> {
        Draft::new(path, size, direct)?.fill("", progress, stop)
    }

    /// The test file of an earlier run, which the journal of that run describes: its identity, its size and its stamp have
    /// to be the same.
    ///
    /// # Errors
    /// [`TargetError::Changed`] when it is another file; then it is left alone.
    pub fn resumed(
        path: &Path,
        identity: Identity,
        size: Bytes,
        stamp: &str,
        direct: bool,
    ) -> Result<Target, TargetError> {
        let changed = |found: String, expected: String| TargetError::Changed {
            path: path.to_owned(),
            found,
            expected,
        };
        let os = |source| TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        };
        let file = Opening::default().open(path).map_err(os)?;
        let metadata = file.metadata().map_err(os)?;
        let found = Identity::from_metadata(&metadata);
        if found != identity {
            return Err(changed(found.to_string(), identity.to_string()));
        }
        let whole = size.checked_add(STAMP).unwrap_or(Bytes::MAX);
        if metadata.len() != whole.get() {
            let found = Bytes::new(metadata.len());
            return Err(changed(
                format!("{} bytes", found.grouped()),
                format!("{} bytes", whole.grouped()),
            ));
        }
        let found = stamp_of(&file, metadata.len()).map_err(os)?;
        if found.as_deref() != Some(stamp) {
            let found = found.map_or("no stamp behind its data".to_owned(), |found| {
                format!("stamp {found}")
            });
            return Err(changed(found, format!("stamp {stamp}")));
        }
        evict(&file);
        let (limits, limits_from) = Limits::of_file(path, direct)?;
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: medium(direct),
            writable: true,
            limits,
            limits_from,
            identity,
            made: Some(Made {
                path: path.to_owned(),
                identity,
                keep: false,
            }),
            _claim: None,
        })
    }
}

fn medium(direct: bool) -> Medium {
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

/// True when the file carries the stamp of a test file, whoever's.
fn is_test_file(path: &Path) -> bool {
    let read = || -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Ok(false);
        }
        Ok(stamp_of(&File::open(path)?, metadata.len())?.is_some())
    };
    read().unwrap_or(false)
}

/// The stamp of a test file that is `len` bytes long; `None` when it is none.
fn stamp_of(mut file: &File, len: u64) -> io::Result<Option<String>> {
    use std::io::Read;
    let Some(at) = len.checked_sub(STAMP.get()) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(at))?;
    let mut block = vec![0; usize::try_from(STAMP.get()).unwrap_or(0)];
    file.read_exact(&mut block)?;
    let text = String::from_utf8_lossy(&block);
    let stamp = text.strip_prefix(GREETING).and_then(|text| {
        let (stamp, rest) = text.split_once('\n')?;
        rest.bytes().all(|byte| byte == 0).then_some(stamp)
    });
    Ok(stamp.map(str::to_owned))
}

/// The directory that a file lies in.
#[cfg(unix)]
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(target_os = "linux")]
pub(super) fn check_space(path: &Path, needed: Bytes) -> Result<(), TargetError> {
    let available =
        straddle_io::linux::available(directory(path)).map_err(|source| TargetError::Os {
            doing: "look at the filesystem of",
            path: path.to_owned(),
            source,
        })?;
    if available < needed.checked_add(STAMP).unwrap_or(Bytes::MAX) {
        return Err(TargetError::Space {
            path: path.to_owned(),
            needed,
            available,
        });
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn check_space(_: &Path, _: Bytes) -> Result<(), TargetError> {
    Ok(())
}

/// Sets the space aside, so that a full disk or quota is known at once; a filesystem that cannot do so finds out later.
#[cfg(target_os = "linux")]
fn allocate(file: &File, len: Bytes) -> io::Result<()> {
    match straddle_io::linux::allocate(file, len) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        done => done,
    }
}

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

#[cfg(unix)]
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary directory")
    }

    fn never() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn a_file_is_made_full_of_noise_and_removed_when_it_is_dropped() {
        let dir = scratch();
        let mut told = Vec::new();
        let target = Target::create(
            dir.path(),
            Bytes::mib(2),
            false,
            |bytes| told.push(bytes),
            &never(),
        );
        let target = target.expect("is made");
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
        let error = Draft::new(&path, Bytes::mib(1), false).expect_err("exists");
        assert!(matches!(error, TargetError::Exists { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("reads"), b"data");
    }

    #[test]
    fn another_file_at_its_place_is_not_removed() {
        let dir = scratch();
        let target = Target::create(dir.path(), Bytes::mib(1), false, |_| (), &never());
        let path = dir.path().join(FILE_NAME);
        // The first file lives on, or the second could get its inode.
        fs::rename(&path, dir.path().join("elsewhere")).expect("renames");
        fs::write(&path, "another").expect("writes");
        drop(target.expect("is made"));
        assert_eq!(fs::read(&path).expect("is left"), b"another");
    }

    #[test]
    fn stopping_removes_it() {
        let dir = scratch();
        let stop = AtomicBool::new(true);
        let error = Target::create(dir.path(), Bytes::mib(1), false, |_| (), &stop);
        assert!(matches!(error, Err(TargetError::Stopped { .. })));
        assert!(!dir.path().join(FILE_NAME).exists());
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_made() {
        let dir = scratch();
        let error = Draft::new(dir.path(), Bytes::new(1 << 60), false).expect_err("an EiB");
        let text = error.to_string();
        assert!(text.contains("1 EiB") && text.contains("--size"), "{text}");
        assert!(!dir.path().join(FILE_NAME).exists());
    }

    #[test]
    fn only_the_very_same_file_is_resumed() {
        let dir = scratch();
        let draft = Draft::new(dir.path(), Bytes::mib(1), false).expect("is made");
        let identity = draft.identity();
        let mut target = draft.fill("one", |_| (), &never()).expect("is filled");
        target.keep();
        let path = target.path().to_owned();
        drop(target);
        let resume = |stamp: &str, size| Target::resumed(&path, identity, size, stamp, false);
        for (stamp, size) in [("two", Bytes::mib(1)), ("one", Bytes::mib(2))] {
            let error = resume(stamp, size).expect_err("another");
            assert!(matches!(error, TargetError::Changed { .. }), "{error}");
        }
        assert!(path.exists(), "a refusal leaves it alone");
        let error = Draft::new(&path, Bytes::mib(1), false).expect_err("exists");
        assert!(matches!(error, TargetError::LeftOver { .. }), "{error}");
        drop(resume("one", Bytes::mib(1)).expect("the same"));
        assert!(!path.exists());
    }
}
