//! The journal: what an experiment is and every sample, a line each, written when they are known.
//!
//! A line is a JSON list of two: the CRC-32 of the text of the second in eight hexadecimal digits, and an object with one
//! member. In this order:
//!
//! | member | written | says |
//! |---|---|---|
//! | `header` | before anything is touched | what is to be done, and the token that goes into the test file |
//! | `filled` | when all of it is on the disk | its size |
//! | `placed` | before the first run | where requests lie, and the engine |
//! | `sample` | after each run | all that was measured |
//! | `raised` | before the first run of a process that was given more time or blocks | the new limits |
//!
//! What follows the last line end was torn by a crash and counts for nothing. Any other damage is an error. As long as a
//! journal is open it is locked, so that two processes cannot work on one experiment. A sample whose block begins again
//! replaces those of the block that was left unfinished.
//!
//! A journal is a file of this program's like the test file ([`straddle_io::owned`]): its header line, which holds a random token,
//! is its mark. It is there before the name is, is read again before each line is added, and nothing is added, and nothing
//! removed, when it is gone. The test file holds the same token, and the SHA-256 of the header ([`Header::owner`]), so that neither an
//! edited header nor a journal whose test file was replaced leads to anybody else's data.
//!
//! A journal that is read back is input like any other ([`read`]): a line at a time, each of bounded length, and every
//! figure within the bounds that the command line has.

mod bounds;
mod error;
mod read;

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_io::engine::Durability;
use straddle_io::owned::{self, Mark, Owned, Removal};

pub use error::JournalError;
pub use read::read;

use crate::plan::Plan;
use crate::run::EngineChoice;
use crate::sample::Sample;
use crate::target::{Identity, Owner};

/// Name and version of the format.
pub const SCHEMA: &str = "straddle.bench.journal/2";

/// What an experiment is, as far as that is known before anything is touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// Names this experiment: a [`straddle_io::owned::Token`]. The test file carries it too.
    pub token: String,
    /// When it began, since 1970-01-01 00:00 UTC.
    pub began: Duration,
    /// The target as the user named it.
    pub named: String,
    /// The file or device itself.
    pub path: PathBuf,
    /// What the target is to this program.
    pub role: Role,
    /// Past the page cache.
    pub direct: bool,
    /// The engine that was asked for; `None` is the one that a trial finds best.
    pub engine: Option<String>,
    /// What writes promise.
    pub durability: DurabilityName,
    /// Writes are never torn.
    pub atomic: bool,
    /// Completions are polled for.
    pub polled: bool,
    /// Blocks are stamped and checked.
    pub verify: bool,
    /// Bytes that requests of one offset are to be spread over; `None` is as many as there is room for.
    pub span: Option<Bytes>,
    /// Stripe unit of the array below, as the user stated it.
    pub stripe_unit: Option<Unit>,
    /// Its stripe width.
    pub stripe_width: Option<Unit>,
    /// What is to be run.
    pub plan: Plan,
}

impl Header {
    /// What the label of its test file or device says.
    ///
    /// # Errors
    /// When its token is none.
    pub fn owner(&self) -> Result<Owner, JournalError> {
        let token = self.token.parse().map_err(|error| JournalError::Token {
            found: self.token.clone(),
            source: error,
        })?;
        // The text is the same whenever it is written: fields have their order, and numbers read back as they were.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let sum = hmac_sha256::Hash::hash(&text);
        let sum = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Owner { token, sum })
    }
}

/// What a target is to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A file that it makes, fills and removes.
    Own,
    /// A device that it may write to. Consent is not in the journal: the name may be another device's by the time it is
    /// resumed.
    Device,
    /// A file or device that it only reads.
    ReadOnly,
    /// Nothing.
    Null,
}

/// [`Durability`] in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurabilityName {
    /// [`Durability::Cached`].
    Cached,
    /// [`Durability::WriteThrough`].
    WriteThrough,
    /// [`Durability::ForcedUnitAccess`].
    ForcedUnitAccess,
}

impl From<Durability> for DurabilityName {
    fn from(durability: Durability) -> DurabilityName {
        match durability {
            Durability::Cached => DurabilityName::Cached,
            Durability::WriteThrough => DurabilityName::WriteThrough,
            Durability::ForcedUnitAccess => DurabilityName::ForcedUnitAccess,
        }
    }
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Durability {
        match name {
            DurabilityName::Cached => Durability::Cached,
            DurabilityName::WriteThrough => Durability::WriteThrough,
            DurabilityName::ForcedUnitAccess => Durability::ForcedUnitAccess,
        }
    }
}

/// The target as it was when it was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Which file or device it is.
    pub identity: Identity,
    /// Its size, without the stamp of a test file.
    pub size: Bytes,
}

/// Where requests lie and how they are made: what a resumed experiment has to do alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrangement {
    /// The byte that offset 0 stands for.
    pub base: Bytes,
    /// Bytes that requests of one offset are spread over.
    pub span: Bytes,
    /// Name of the engine.
    pub engine: String,
    /// Why it was taken.
    pub reason: String,
    /// Requests each second of every engine in the trial.
    pub trial: Vec<(String, f64)>,
}

impl Arrangement {
    /// The engine, as results have it.
    #[must_use]
    pub fn choice(&self) -> EngineChoice {
        EngineChoice {
            name: self.engine.clone(),
            reason: self.reason.clone(),
            trial: self.trial.clone(),
        }
    }
}

/// How long an experiment goes on. The header stays as it was written, since the label of the test file has its digest; limits that were
/// raised later have a line of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time after which no block is begun.
    pub budget: Option<Duration>,
    /// Most blocks of each cell.
    pub most_blocks: u32,
}

impl Limits {
    /// Those of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Limits {
        Limits {
            budget: plan.budget,
            most_blocks: plan.most_blocks,
        }
    }

    /// True when everything that others allow is allowed.
    #[must_use]
    pub fn reach(self, others: Limits) -> bool {
        let time = match (self.budget, others.budget) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(this), Some(other)) => this >= other,
        };
        time && self.most_blocks >= others.most_blocks
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Header(Box<Header>),
    Filled(Ready),
    Placed(Arrangement),
    Raised(Limits),
    Sample(Box<Sample>),
}

impl Line {
    fn name(&self) -> &'static str {
        match self {
            Line::Header(_) => "header",
            Line::Filled(_) => "filled",
            Line::Placed(_) => "placed",
            Line::Raised(_) => "raised",
            Line::Sample(_) => "sample",
        }
    }
}

/// What a journal says.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What the experiment is.
    pub header: Header,
    /// The target when it was ready; of a test file, when all of it was on the disk.
    pub ready: Option<Ready>,
    /// Where requests lie; known before the first run.
    pub placed: Option<Arrangement>,
    /// How long it goes on: what the header says, or what was raised last.
    pub limits: Limits,
    /// Runs that were finished, in their order; a block left unfinished at the end is not among them.
    pub samples: Vec<Sample>,
}

impl Recorded {
    /// What is to be run, within the limits that hold now.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan {
            budget: self.limits.budget,
            most_blocks: self.limits.most_blocks,
            ..self.header.plan.clone()
        }
    }
}

/// A journal that is open and locked.
#[derive(Debug)]
pub struct Journal {
    owned: Owned,
    /// Where its last whole line ends: what it is long as long as nobody else writes to it.
    end: u64,
}

/// Where the journal of a test file lies.
#[must_use]
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Looks whether a run left a journal, or is at work on one.
///
/// # Errors
/// [`JournalError::Exists`], which says what to do about it, or [`JournalError::InUse`].
pub fn check_absent(path: &Path) -> Result<(), JournalError> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(exists(path));
    }
    Ok(())
}

fn exists(path: &Path) -> JournalError {
    let path = path.to_owned();
    if owned::is_held(&path) {
        return JournalError::InUse { path };
    }
    let looked = owned::look(&path).map_err(|error| JournalError::not_owned(&path, error));
    let state = match looked.and_then(|file| read::parse(&path, &file)) {
        Ok(parsed) => match (parsed.recorded.samples.len(), parsed.recorded.ready) {
            (0, None) => "which had not come to its first run".to_owned(),
            (0, Some(_)) => "which had finished no block of runs".to_owned(),
            (runs, _) => format!("of which {runs} runs are kept"),
        },
        Err(error) => {
            let reason = error.to_string();
            return JournalError::Foreign { path, reason };
        }
    };
    JournalError::Exists { path, state }
}

/// The text of a line.
fn text_of(line: &Line) -> io::Result<String> {
    let text = serde_json::to_string(line)?;
    let sum = crc32fast::hash(text.as_bytes());
    Ok(format!("[\"{sum:08x}\",{text}]\n"))
}

impl Journal {
    /// A new journal.
    ///
    /// # Errors
    /// [`JournalError::Exists`] when one is there already, which says what to do about it.
    pub fn create(path: &Path, header: Header) -> Result<Journal, JournalError> {
        let not_created = |source| JournalError::NotCreated {
            path: path.to_owned(),
            source,
        };
        let line = text_of(&Line::Header(Box::new(header))).map_err(not_created)?;
        let mark = Mark {
            at: 0,
            bytes: line.into_bytes(),
        };
        let end = mark.bytes.len() as u64;
        let owned = match Owned::create(path, mark) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(path)),
            made => made.map_err(not_created)?,
        };
        let mut journal = Journal { owned, end };
        let synced = journal.sync().and_then(|()| {
            let synced = journal.owned.sync_directory();
            synced.map_err(|error| JournalError::os("sync the directory of", path, error))
        });
        match synced {
            Ok(()) => Ok(journal),
            Err(error) => {
                // Nothing was done yet that it could be of use for. Where it cannot be removed either, the error names it.
                let _ = journal.remove();
                Err(error)
            }
        }
    }

    /// Opens a journal to go on with; what was torn at its end is cut off.
    ///
    /// # Errors
    /// [`JournalError`] when it is damaged, another format or in use by another process.
    pub fn resume(path: &Path) -> Result<(Journal, Recorded), JournalError> {
        if owned::is_held(path) {
            return Err(JournalError::InUse {
                path: path.to_owned(),
            });
        }
        let not_owned = |error| JournalError::not_owned(path, error);
        let file = owned::look(path).map_err(not_owned)?;
        let parsed = read::parse(path, &file)?;
        let mark = Mark {
            at: 0,
            bytes: parsed.header,
        };
        // Another journal that has the name by now has another token.
        let owned = Owned::open(path, |file| Ok(mark.is_in(file)?.then_some(mark)));
        let journal = Journal {
            owned: owned.map_err(not_owned)?,
            end: parsed.end,
        };
        let cut = journal.owned.writer();
        let cut = cut.and_then(|file| file.set_len(parsed.end));
        cut.map_err(|error| JournalError::os("write", path, error))?;
        Ok((journal, parsed.recorded))
    }

    fn file(&self) -> &File {
        self.owned.file()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.owned.path()
    }

    /// True as long as its name leads to it, so that it can be gone on with by that name.
    #[must_use]
    pub fn has_its_name(&self) -> bool {
        self.owned.has_its_name()
    }

    /// The target is ready.
    ///
    /// # Errors
    /// Those of writing; the line is on the disk otherwise.
    pub fn ready(&mut self, ready: Ready) -> Result<(), JournalError> {
        self.append(&Line::Filled(ready))?;
        self.sync()
    }

    /// Requests have their place.
    ///
    /// # Errors
    /// Those of writing; the line is on the disk otherwise.
    pub fn placed(&mut self, placed: &Arrangement) -> Result<(), JournalError> {
        self.append(&Line::Placed(placed.clone()))?;
        self.sync()
    }

    /// The experiment goes on for longer than its header says.
    ///
    /// # Errors
    /// Those of writing; the line is on the disk otherwise.
    pub fn raised(&mut self, limits: Limits) -> Result<(), JournalError> {
        self.append(&Line::Raised(limits))?;
        self.sync()
    }

    /// A run was made. The line survives the end of this process at once, that of the machine after [`Journal::sync`].
    ///
    /// # Errors
    /// Those of writing.
    pub fn sample(&mut self, sample: &Sample) -> Result<(), JournalError> {
        self.append(&Line::Sample(Box::new(sample.clone())))
    }

    /// Waits until everything so far is on stable storage.
    ///
    /// # Errors
    /// Those of the system.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        let synced = self.owned.writer().and_then(|file| file.sync_data());
        synced.map_err(|error| JournalError::os("sync", self.path(), error))
    }

    /// The experiment is finished, and nobody will go on with it.
    ///
    /// # Errors
    /// [`JournalError::NotRemoved`] when another file has its name, or somebody has written to it; nothing of theirs is touched.
    pub fn remove(self) -> Result<(), JournalError> {
        let path = self.path().to_owned();
        // With another length it is not what was written, whatever its first line says.
        let is_whole = self
            .file()
            .metadata()
            .is_ok_and(|found| found.len() == self.end);
        let removal = if is_whole || !self.has_its_name() {
            self.owned.remove()
        } else {
            Removal::Changed
        };
        if removal.is_done() {
            return Ok(());
        }
        Err(JournalError::NotRemoved { path, removal })
    }

    /// Writes a line with one call, so that it is there as a whole or torn, and never mixed with another; nothing at all when
    /// somebody else has written to the journal.
    fn append(&mut self, line: &Line) -> Result<(), JournalError> {
        let write = |journal: &Journal, text: &[u8]| -> io::Result<()> {
            let writer = journal.owned.writer()?;
            let mut file: &File = &writer;
            file.seek(SeekFrom::Start(journal.end))?;
            file.write_all(text)
        };
        let text = text_of(line);
        let text = text.map_err(|error| JournalError::os("write", self.path(), error))?;
        let is_ours = self
            .owned
            .is_ours()
            .and_then(|has_mark| Ok(has_mark && self.file().metadata()?.len() == self.end));
        match is_ours {
            Ok(true) => {}
            Ok(false) => {
                return Err(JournalError::Changed {
                    path: self.path().to_owned(),
                });
            }
            Err(error) => return Err(JournalError::os("read", self.path(), error)),
        }
        if let Err(error) = write(self, text.as_bytes()) {
            // What is there of the line would be taken for somebody else's.
            let _ = self.owned.writer().and_then(|file| file.set_len(self.end));
            return Err(JournalError::os("write", self.path(), error));
        }
        self.end += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
