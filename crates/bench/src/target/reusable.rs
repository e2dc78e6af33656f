//! Test files that stay for the next run, as scripts of other tools expect it, and that nothing else is mistaken for.
//!
//! The rule is that only a file which this program made is written to. Scripts run the same tool on the same file many
//! times, so a file that a run is done with is *sealed*: the label behind its data ([`super::label`]) gets a time, and the file is given
//! exactly that time as its time of modification, on whole seconds. A later run takes it again when the label is there, says
//! the length that the file has, and its time is the file's: a file that was copied over it, restored into it or changed in any other
//! way has another length, no label or a later time, and is somebody else's. What is sealed needs nothing of the filesystem but times to
//! two seconds, so that FAT will do.
//!
//! While a run may write to it, the label says so. A run that is killed leaves it that way, and the file is refused from then on:
//! nobody can tell whether somebody else has written to it since.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use straddle_geometry::Bytes;
use straddle_io::owned::{self, NotOwned, Owned, Token};

use super::create::{evict, fill, medium, removed, taken};
use super::label::{LABEL, Label, State};
use super::space::check_space;
use super::{Guard, Limits, Target, TargetError};

/// A test file that this program made, in this run or an earlier one; no other run can have it meanwhile.
#[derive(Debug)]
pub struct TestFile {
    path: PathBuf,
    owned: Arc<Owned>,
    label: Label,
    created: bool,
}

impl TestFile {
    /// The file at `path`, made if it is missing, made longer if its data are shorter than `size`.
    ///
    /// Everything is filled with bytes that no storage can compress or recognise. `making` is told before the first byte of
    /// that, when nothing speaks against it any more; `stop` ends it.
    ///
    /// # Errors
    /// [`ReusableError`] for a file that is not ours, and when the system refuses. What was made up to an error is removed.
    pub fn open_or_create(
        path: &Path,
        size: Bytes,
        making: impl FnOnce(Bytes),
        stop: &AtomicBool,
    ) -> Result<TestFile, ReusableError> {
        let path = followed(path);
        match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                TestFile::create(&path, size, making, stop)
            }
            _ => TestFile::open(&path, size, making, stop),
        }
    }

    fn create(
        path: &Path,
        size: Bytes,
        making: impl FnOnce(Bytes),
        stop: &AtomicBool,
    ) -> Result<TestFile, ReusableError> {
        let os = |doing, source| ReusableError::os(doing, path, source);
        check_space(path, size)?;
        let token = Token::random().map_err(|error| os("finding a name for", error))?;
        let label = Label {
            token,
            size,
            sum: None,
            state: State::Run,
        };
        let owned = match Owned::create(path, label.mark()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(ReusableError::foreign(path));
            }
            made => made.map_err(|error| os("creating", error))?,
        };
        making(size);
        let filled = fill(&owned, Bytes::ZERO, size, &mut |_| (), stop);
        if let Err(error) = filled.and_then(|()| owned.sync_directory()) {
            removed(path, owned.remove())?;
            return Err(match error.kind() {
                ErrorKind::Interrupted => TargetError::Stopped {
                    path: path.to_owned(),
                }
                .into(),
                _ => os("filling", error),
            });
        }
        Ok(TestFile {
            path: path.to_owned(),
            owned: Arc::new(owned),
            label,
            created: true,
        })
    }

    fn open(
        path: &Path,
        size: Bytes,
        making: impl FnOnce(Bytes),
        stop: &AtomicBool,
    ) -> Result<TestFile, ReusableError> {
        let mut label = None;
        let opened = Owned::open(path, |file| {
            label = sealed(file)?;
            Ok(label.as_ref().map(|(label, _)| label.mark()))
        });
        let mut owned = opened.map_err(|error| ReusableError::not_owned(path, error))?;
        let Some((mut label, true)) = label else {
            return Err(ReusableError::Changed {
                path: path.to_owned(),
            });
        };
        let before = label.size;
        label.state = State::Run;
        label.size = before.max(size);
        let more = label.size.checked_sub(before).unwrap_or(Bytes::ZERO);
        if more > Bytes::ZERO {
            check_space(path, more)?;
            making(size);
        }
        let marked = owned.mark(label.mark());
        marked.map_err(|error| ReusableError::not_owned(path, error))?;
        let mut file = TestFile {
            path: path.to_owned(),
            owned: Arc::new(owned),
            label,
            created: false,
        };
        if more > Bytes::ZERO {
            let filled = fill(&file.owned, before, file.size(), &mut |_| (), stop);
            if let Err(error) = filled {
                // What it was before can be measured on still.
                file.shorten(before)?;
                return Err(match error.kind() {
                    ErrorKind::Interrupted => ReusableError::Stopped {
                        path: path.to_owned(),
                    },
                    _ => ReusableError::os("lengthening", path, error),
                });
            }
        }
        Ok(file)
    }

    /// Its path, links followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of its data.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.label.size
    }

    /// Whether this run made it.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// Seals it: nothing writes to it any more, and the next run may have it. No [`Target`] of it may be left.
    ///
    /// # Errors
    /// [`ReusableError::Changed`] when somebody else has written to its label meanwhile; it is left alone then.
    /// [`ReusableError::Os`].
    pub fn release(mut self) -> Result<(), ReusableError> {
        self.seal()
    }

    /// Back to the length that it had.
    fn shorten(&mut self, size: Bytes) -> Result<(), ReusableError> {
        self.label.size = size;
        self.seal()?;
        let whole = size.checked_add(LABEL).unwrap_or(size).get();
        let cut = self.owned.writer().and_then(|file| file.set_len(whole));
        cut.map_err(|error| ReusableError::os("shortening", &self.path, error))?;
        // Cutting it has changed its time.
        self.seal()
    }

    fn seal(&mut self) -> Result<(), ReusableError> {
        let path = self.path.clone();
        let os = |error| ReusableError::os("sealing", &path, error);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // An even second that is over: whatever is written from now on gives the file a later time, on every filesystem.
        let second = (now.unwrap_or_default().as_secs() & !1).saturating_sub(2);
        self.label.state = State::Sealed(second);
        let Some(owned) = Arc::get_mut(&mut self.owned) else {
            return Err(os(io::Error::other("it is still being measured on")));
        };
        let marked = owned.mark(self.label.mark());
        marked.map_err(|error| ReusableError::not_owned(&path, error))?;
        let file = owned.writer().map_err(os)?;
        file.sync_all().map_err(os)?;
        evict(&file);
        let time = UNIX_EPOCH + Duration::from_secs(second);
        file.set_modified(time).map_err(os)
    }
}

/// A path without links, as far as it exists: a link that somebody made to a file of ours is as good as its name.
fn followed(path: &Path) -> PathBuf {
    let of_parent = || {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let parent = std::fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
        Some(parent.join(path.file_name()?))
    };
    let whole = std::fs::canonicalize(path).ok();
    whole.or_else(of_parent).unwrap_or_else(|| path.to_owned())
}

/// The label of a file that stays, and whether it is sealed and nobody has written to it since.
fn sealed(file: &File) -> io::Result<Option<(Label, bool)>> {
    let metadata = file.metadata()?;
    let label = Label::at_end(file, metadata.len())?.filter(|label| label.sum.is_none());
    let Some(label) = label else { return Ok(None) };
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
    let is_sealed = match (label.state, modified) {
        (State::Sealed(second), Ok(modified)) => modified == Duration::from_secs(second),
        _ => false,
    };
    Ok(Some((label, is_sealed)))
}

/// The length of the data of the file at `path`, without its label if it is a test file that stays. `None` when there is no
/// regular file.
#[must_use]
pub fn data_length(path: &Path) -> Option<Bytes> {
    let path = std::fs::canonicalize(path).ok()?;
    let file = owned::look(&path).ok()?;
    let len = file.metadata().ok()?.len();
    match sealed(&file) {
        Ok(Some((label, _))) => Some(label.size),
        _ => Some(Bytes::new(len)),
    }
}

impl Target {
    /// A test file as a target that may be read and written.
    ///
    /// # Errors
    /// [`TargetError`] when it cannot be opened, or not with direct I/O where that is asked for.
    pub fn reusable(file: &TestFile, direct: bool) -> Result<Target, TargetError> {
        let (limits, limits_from) = Limits::of_file(file.path(), file.owned.file(), direct)?;
        Ok(Target {
            path: file.path.clone(),
            size: file.size(),
            medium: medium(direct),
            limits,
            limits_from,
            guard: Guard::Reused(Arc::clone(&file.owned)),
        })
    }
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
    /// The user stopped it while it was made longer.
    #[error("stopped while {} was made longer; it has the length that it had", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, a device or something else that has no content of its own.
    #[error("{} is {found}, no regular file; name a file that does not exist (it is created)", path.display())]
    NoFile {
        /// What it is called.
        path: PathBuf,
        /// What it is.
        found: &'static str,
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

impl ReusableError {
    fn os(doing: &'static str, path: &Path, source: io::Error) -> ReusableError {
        ReusableError::Os {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    fn not_owned(path: &Path, error: NotOwned) -> ReusableError {
        let owned = path.to_owned();
        match error {
            NotOwned::Os(error) if error.kind() == ErrorKind::WouldBlock => {
                TargetError::Busy { path: owned }.into()
            }
            NotOwned::Os(source) => ReusableError::os("opening", path, source),
            NotOwned::WrongType(found) => ReusableError::NoFile { path: owned, found },
            NotOwned::Foreign => ReusableError::foreign(path),
        }
    }

    /// A file that no run of this kind made: one of `bench`, which may be at work on it, or a stranger's.
    fn foreign(path: &Path) -> ReusableError {
        match taken(path) {
            TargetError::Exists { path } => ReusableError::Foreign { path },
            other => other.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::kib(64);

    fn open(path: &Path, size: Bytes) -> Result<TestFile, ReusableError> {
        TestFile::open_or_create(path, size, |_| (), &AtomicBool::new(false))
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("testfile.dat");
        (directory, path)
    }

    fn read(path: &Path) -> Vec<u8> {
        std::fs::read(path).expect("readable")
    }

    #[test]
    fn a_file_is_made_once_and_taken_again() {
        let (_directory, path) = scratch();
        let made = open(&path, SIZE).expect("made");
        assert!(made.is_new());
        let content = read(&path);
        assert_eq!(content.len(), 65_536 + 4096);
        let zeros = content[..65_536].iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 1000, "incompressible, not {zeros} zeros");
        made.release().expect("sealed");
        let again = open(&path, Bytes::kib(4)).expect("ours");
        assert!(!again.is_new());
        assert_eq!(again.size(), SIZE);
        again.release().expect("sealed");
        let longer = open(&path, Bytes::kib(100)).expect("ours");
        assert_eq!(read(&path)[..65_536], content[..65_536]);
        assert_eq!(read(&path).len(), (100 << 10) + 4096);
        assert_eq!(longer.size(), Bytes::kib(100));
        longer.release().expect("sealed");
        assert_eq!(data_length(&path), Some(Bytes::kib(100)));
        let longer = open(&path, SIZE).expect("ours");
        assert_eq!(longer.size(), Bytes::kib(100));
    }

    #[test]
    fn what_is_not_ours_stays_as_it_is() {
        let (directory, _) = scratch();
        let path = directory.path().join("payroll.mdf");
        std::fs::write(&path, "the company's").expect("a file");
        let error = open(&path, SIZE).expect_err("not ours");
        assert!(matches!(error, ReusableError::Foreign { .. }), "{error}");
        assert_eq!(read(&path), b"the company's");
        let error = open(directory.path(), SIZE).expect_err("a directory");
        assert!(matches!(error, ReusableError::NoFile { .. }), "{error}");
    }

    #[test]
    fn what_was_written_to_since_is_not_ours() {
        let (_directory, path) = scratch();
        let made = open(&path, SIZE).expect("made");
        let error = open(&path, SIZE).expect_err("another run has it");
        assert!(
            matches!(error, ReusableError::Target(TargetError::Busy { .. })),
            "{error}"
        );
        made.release().expect("sealed");
        let sealed = read(&path);
        // As `cp` does it: the same inode, truncated and written, with the length that it had.
        std::fs::write(&path, vec![7; sealed.len()]).expect("overwritten");
        let error = open(&path, SIZE).expect_err("changed");
        assert!(matches!(error, ReusableError::Foreign { .. }), "{error}");
        // As `dd conv=notrunc` does it: the label is left.
        let mut other = sealed.clone();
        other[..1000].fill(7);
        std::fs::write(&path, &other).expect("overwritten");
        let error = open(&path, SIZE).expect_err("changed");
        assert!(matches!(error, ReusableError::Changed { .. }), "{error}");
        assert_eq!(read(&path), other);
    }

    #[test]
    fn a_run_that_was_killed_leaves_a_file_that_is_refused() {
        let (_directory, path) = scratch();
        drop(open(&path, SIZE).expect("made"));
        let error = open(&path, SIZE).expect_err("nobody knows what is in it");
        assert!(matches!(error, ReusableError::Changed { .. }), "{error}");
    }

    #[test]
    fn a_stranger_that_takes_the_name_meanwhile_gets_no_seal() {
        let (directory, path) = scratch();
        let made = open(&path, SIZE).expect("made");
        std::fs::rename(&path, directory.path().join("aside")).expect("renamed");
        std::fs::write(&path, "a stranger's").expect("a file");
        let before = std::fs::metadata(&path).and_then(|found| found.modified());
        made.release().expect("the file that was held is sealed");
        assert_eq!(read(&path), b"a stranger's");
        let after = std::fs::metadata(&path).and_then(|found| found.modified());
        assert_eq!(before.expect("a time"), after.expect("a time"));
        let error = open(&path, SIZE).expect_err("not ours");
        assert!(matches!(error, ReusableError::Foreign { .. }), "{error}");
        assert!(open(&directory.path().join("aside"), SIZE).is_ok());
    }

    #[test]
    fn stopped_while_it_is_made_nothing_is_left_and_longer_it_stays_what_it_was() {
        let (_directory, path) = scratch();
        let stopped = |size| TestFile::open_or_create(&path, size, |_| (), &AtomicBool::new(true));
        let error = stopped(SIZE).expect_err("stopped");
        assert!(
            matches!(error, ReusableError::Target(TargetError::Stopped { .. })),
            "{error}"
        );
        assert!(!path.exists());
        open(&path, SIZE).expect("made").release().expect("sealed");
        let error = stopped(Bytes::kib(100)).expect_err("stopped");
        assert!(matches!(error, ReusableError::Stopped { .. }), "{error}");
        let again = open(&path, Bytes::kib(4)).expect("ours still");
        assert_eq!(again.size(), SIZE);
        assert_eq!(read(&path).len(), 65_536 + 4096);
    }

    #[test]
    fn where_none_can_be_made_none_is_left() {
        let (directory, _) = scratch();
        let path = directory.path().join("missing").join("testfile.dat");
        let error = open(&path, SIZE).expect_err("no such directory");
        assert!(!path.exists(), "{error}");
    }
}
