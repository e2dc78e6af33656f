//! Test files that stay for the next run, as scripts of other tools expect it, and that nothing else is mistaken for.
//!
//! The rule is that only a file which this program made is written to. Scripts run the same tool on the same file many
//! times, so the file is stamped ([`straddle_io::stamp`]) with its length and its time of modification when a run is done
//! with it. A later run takes it again when the stamp is there and both still hold: a file that was copied over it, restored
//! into it or changed in any other way has a later time, and is somebody else's.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use straddle_geometry::Bytes;
use straddle_io::stamp;

use super::create::{check_space, evict, noise, sync_directory};
use super::{Target, TargetError};

/// Bytes written at once when a file is made.
const PIECE: u64 = 1 << 20;
/// Bytes after which they are put on stable storage: a full disk is found early.
const SYNCED: u64 = 64 << 20;

/// A test file that this program made, in this run or an earlier one.
#[derive(Debug)]
pub struct TestFile {
    path: PathBuf,
    size: Bytes,
    created: bool,
    stamped: bool,
}

impl TestFile {
    /// The file at `path`, made if it is missing, made longer if it is shorter than `size`.
    ///
    /// Everything is filled with bytes that no storage can compress or recognise.
    ///
    /// # Errors
    /// [`ReusableError`] for a file that is not ours, and when the system refuses. What was made up to an error is removed.
    pub fn open_or_create(path: &Path, size: Bytes) -> Result<TestFile, ReusableError> {
        let os = |doing, source| ReusableError::Os {
            doing,
            path: path.to_owned(),
            source,
        };
        let exists = match std::fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(os("looking at", error)),
        };
        let Some(metadata) = exists else {
            check_space(path, size)?;
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)
                .map_err(|error| os("creating", error))?;
            let filled = fill(&mut file, 0, size.get()).and_then(|()| sync_directory(path));
            if let Err(error) = filled {
                drop(file);
                // What is left is an error about space most of the time: the file would keep the space.
                let _ = std::fs::remove_file(path);
                return Err(os("filling", error));
            }
            let mut made = TestFile {
                path: path.to_owned(),
                size,
                created: true,
                stamped: false,
            };
            made.stamp()?;
            return Ok(made);
        };
        if !metadata.is_file() {
            return Err(ReusableError::NoFile {
                path: path.to_owned(),
            });
        }
        let found = stamp::read(path).map_err(|error| os("reading the stamp of", error))?;
        let Some(found) = found else {
            return Err(ReusableError::Foreign {
                path: path.to_owned(),
            });
        };
        if found != words(path).map_err(|error| os("looking at", error))? {
            return Err(ReusableError::Changed {
                path: path.to_owned(),
            });
        }
        let mut ours = TestFile {
            path: path.to_owned(),
            size: Bytes::new(metadata.len()),
            created: false,
            stamped: true,
        };
        if let Some(more) = size
            .checked_sub(ours.size)
            .filter(|more| *more > Bytes::ZERO)
        {
            check_space(path, more)?;
            ours.lengthen(size)
                .map_err(|error| os("lengthening", error))?;
            ours.size = size;
            ours.stamp()?;
        }
        Ok(ours)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Whether this run made it.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// Whether a later run can take it again: the filesystem knows stamps.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.stamped
    }

    /// Says that nothing writes to it any more: its stamp is renewed, or the next run would take it for changed.
    ///
    /// # Errors
    /// [`ReusableError::Os`].
    pub fn release(mut self) -> Result<(), ReusableError> {
        self.stamp()
    }

    fn lengthen(&self, size: Bytes) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        let filled = fill(&mut file, self.size.get(), size.get());
        if filled.is_err() {
            file.set_len(self.size.get())?;
        }
        filled
    }

    fn stamp(&mut self) -> Result<(), ReusableError> {
        let os = |doing, source| ReusableError::Os {
            doing,
            path: self.path.clone(),
            source,
        };
        let words = words(&self.path).map_err(|error| os("looking at", error))?;
        match stamp::write(&self.path, &words) {
            Ok(()) => self.stamped = true,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.stamped = false,
            Err(error) => return Err(os("stamping", error)),
        }
        Ok(())
    }
}

impl Target {
    /// A test file as a target that may be read and written.
    ///
    /// # Errors
    /// [`TargetError`] when it cannot be opened, or not with direct I/O where that is asked for.
    pub fn reusable(file: &TestFile, direct: bool) -> Result<Target, TargetError> {
        let mut target = Target::existing(file.path(), direct)?;
        target.writable = true;
        Ok(target)
    }
}

/// What a file is stamped with: version of the stamp, length, time of modification.
fn words(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    let modified = metadata.modified()?;
    let (sign, since) = match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => ("", since),
        Err(before) => ("-", before.duration()),
    };
    Ok(format!(
        "1 size={} modified={sign}{}.{:09}",
        metadata.len(),
        since.as_secs(),
        since.subsec_nanos()
    ))
}

/// Writes bytes that cannot be compressed from `start` to `end`, and waits until they are on stable storage.
fn fill(file: &mut File, start: u64, end: u64) -> io::Result<()> {
    // Two files made by two runs are not to look alike to storage that looks for doubles.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(0, |now| {
        u64::from(now.subsec_nanos()) << 32 | (now.as_secs() & 0xffff_ffff)
    });
    let mut piece = vec![0; usize::try_from(PIECE).unwrap_or_default()];
    file.seek(SeekFrom::Start(start))?;
    let mut at = start;
    while at < end {
        noise(seed.wrapping_add(at), &mut piece);
        let len = usize::try_from(PIECE.min(end - at)).unwrap_or_default();
        file.write_all(piece.get(..len).unwrap_or_default())?;
        at += len as u64;
        if (at - start).is_multiple_of(SYNCED) {
            file.sync_data()?;
            evict(file);
        }
    }
    file.sync_all()?;
    // What was just written would be read from memory, not from the storage, where the page cache is used.
    evict(file);
    Ok(())
}

/// Why a file cannot be used as a test file.
#[derive(Debug, thiserror::Error)]
pub enum ReusableError {
    /// It was there before, and no run of this program made it.
    #[error(
        "{} exists and was not made by straddle, so it is not written to; name a file that does not exist (it is created), or delete this one",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// This program made it, but something has written to it since.
    #[error(
        "{} was made by straddle, but has been written to since its last run ended (or that run was killed), so it is not written to; delete it, and it is created again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, a device or something else that has no content of its own.
    #[error("{} is not a regular file; name a file that does not exist (it is created)", path.display())]
    NoFile {
        /// What it is called.
        path: PathBuf,
    },
    /// It does not fit, or cannot be opened as it is asked for.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The system refused.
    #[error("{doing} {}: {source}", path.display())]
    Os {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::kib(64);

    #[test]
    fn a_file_is_made_once_and_taken_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("testfile.dat");
        let made = TestFile::open_or_create(&path, SIZE).expect("made");
        assert!(made.is_new());
        let content = std::fs::read(&path).expect("readable");
        assert_eq!(content.len(), 65_536);
        let zeros = content.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 1000, "incompressible, not {zeros} zeros");
        if !made.is_reusable() {
            return;
        }
        drop(made);
        let again = TestFile::open_or_create(&path, Bytes::kib(4)).expect("ours");
        assert!(!again.is_new());
        assert_eq!(again.size(), SIZE);
        let longer = TestFile::open_or_create(&path, Bytes::kib(100)).expect("ours");
        assert_eq!(std::fs::read(&path).expect("readable")[..65_536], content);
        assert_eq!(longer.size(), Bytes::kib(100));
        let longer = TestFile::open_or_create(&path, SIZE).expect("ours");
        assert_eq!(longer.size(), Bytes::kib(100));
    }

    #[test]
    fn what_is_not_ours_stays_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("payroll.mdf");
        std::fs::write(&path, "the company's").expect("a file");
        let error = TestFile::open_or_create(&path, SIZE).expect_err("not ours");
        assert!(matches!(error, ReusableError::Foreign { .. }), "{error}");
        assert_eq!(std::fs::read(&path).expect("readable"), b"the company's");
        let error = TestFile::open_or_create(directory.path(), SIZE).expect_err("a directory");
        assert!(matches!(error, ReusableError::NoFile { .. }), "{error}");
    }

    #[test]
    fn what_was_copied_over_ours_is_not_ours() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("testfile.dat");
        let made = TestFile::open_or_create(&path, SIZE).expect("made");
        if !made.is_reusable() {
            return;
        }
        // As `cp` does it: the same inode, truncated and written, with the length that it had.
        std::fs::write(&path, vec![7; 65_536]).expect("overwritten");
        let error = TestFile::open_or_create(&path, SIZE).expect_err("changed");
        assert!(matches!(error, ReusableError::Changed { .. }), "{error}");
        // A run that ends as it should says so.
        made.release().expect("stamped");
        assert!(TestFile::open_or_create(&path, SIZE).is_ok());
    }

    #[test]
    fn what_could_not_be_filled_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("missing").join("testfile.dat");
        let error = TestFile::open_or_create(&path, SIZE).expect_err("no such directory");
        assert!(!path.exists(), "{error}");
    }
}
