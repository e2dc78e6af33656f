//! The journal: what an experiment is and every sample, a line each, written when they are known.
//!
//! A line is a JSON list of two: the CRC-32 of the text of the second in eight hexadecimal digits, and an object with one
//! member. In this order:
//!
//! | member | written | says |
//! |---|---|---|
//! | `header` | before anything is touched | what is to be done, and the stamp that goes into the test file |
//! | `created` | when the test file was made, still empty | which file that is |
//! | `filled` | when all of it is on the disk | its size |
//! | `placed` | before the first run | where requests lie, and the engine |
//! | `sample` | after each run | all that was measured |
//!
//! What follows the last line end was torn by a crash and counts for nothing. Any other damage is an error. As long as a
//! journal is open it is locked, so that two processes cannot work on one experiment. A sample whose block begins again
//! replaces those of the block that was left unfinished.

mod error;

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_io::Opening;
use straddle_io::engine::Durability;

pub use error::JournalError;

use crate::plan::Plan;
use crate::results::EngineChoice;
use crate::sample::Sample;
use crate::target::Identity;

/// Name and version of the format.
pub const SCHEMA: &str = "straddle.bench.journal/1";

/// Longest journal that is read, in bytes: some hundred thousand runs.
const LONGEST: u64 = 1 << 30;

/// What an experiment is, as far as that is known before anything is touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// Names this experiment; the test file carries it too.
    pub stamp: String,
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Header(Box<Header>),
    Created(Identity),
    Filled(Ready),
    Placed(Arrangement),
    Sample(Box<Sample>),
}

impl Line {
    fn name(&self) -> &'static str {
        match self {
            Line::Header(_) => "header",
            Line::Created(_) => "created",
            Line::Filled(_) => "filled",
            Line::Placed(_) => "placed",
            Line::Sample(_) => "sample",
        }
    }
}

/// What a journal says.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What the experiment is.
    pub header: Header,
    /// The test file when it was made.
    pub created: Option<Identity>,
    /// The target when it was ready; of a test file, when all of it was on the disk.
    pub ready: Option<Ready>,
    /// Where requests lie; known before the first run.
    pub placed: Option<Arrangement>,
    /// Runs that were finished, in their order; a block left unfinished at the end is not among them.
    pub samples: Vec<Sample>,
}

/// A journal that is open and locked.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

/// Where the journal of a test file lies.
#[must_use]
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Looks whether an earlier run left a journal.
///
/// # Errors
/// [`JournalError::Exists`], which says what to do about it.
pub fn check_absent(path: &Path) -> Result<(), JournalError> {
    if path.exists() {
        return Err(exists(path));
    }
    Ok(())
}

fn exists(path: &Path) -> JournalError {
    let recorded = fs::read(path)
        .map_err(|error| JournalError::os("read", path, error))
        .and_then(|bytes| parse(path, &bytes));
    let state = match recorded {
        Ok((recorded, _)) => match (recorded.samples.len(), recorded.ready) {
            (0, None) => "which had not come to its first run".to_owned(),
            (0, Some(_)) => "which had finished no block of runs".to_owned(),
            (runs, _) => format!("of which {runs} runs are kept"),
        },
        Err(error) => {
            return JournalError::Foreign {
                path: path.to_owned(),
                reason: error.to_string(),
            };
        }
    };
    JournalError::Exists {
        path: path.to_owned(),
        state,
    }
}

impl Journal {
    /// A new journal.
    ///
    /// # Errors
    /// [`JournalError::Exists`] when one is there already, which says what to do about it.
    pub fn create(path: &Path, header: Header) -> Result<Journal, JournalError> {
        let opening = Opening {
            write: true,
            create: true,
            ..Opening::default()
        };
        let file = match opening.open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(exists(path));
            }
            opened => opened.map_err(|source| JournalError::NotCreated {
                path: path.to_owned(),
                source,
            })?,
        };
        let mut journal = Journal::locked(path, file)?;
        let written = journal
            .append(&Line::Header(Box::new(header)))
            .and_then(|()| journal.sync())
            .and_then(|()| journal.sync_directory());
        if let Err(error) = written {
            // A journal without a header is of no use to anybody.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(journal)
    }

    /// Opens a journal to go on with; what was torn at its end is cut off.
    ///
    /// # Errors
    /// [`JournalError`] when it is damaged, another format or in use by another process.
    pub fn resume(path: &Path) -> Result<(Journal, Recorded), JournalError> {
        let opening = Opening {
            write: true,
            ..Opening::default()
        };
        let file = opening
            .open(path)
            .map_err(|error| JournalError::os("open", path, error))?;
        let mut journal = Journal::locked(path, file)?;
        let mut bytes = Vec::new();
        let read = (&mut journal.file)
            .take(LONGEST + 1)
            .read_to_end(&mut bytes);
        read.map_err(|error| JournalError::os("read", path, error))?;
        if bytes.len() as u64 > LONGEST {
            return Err(JournalError::Foreign {
                path: path.to_owned(),
                reason: format!("more than {} bytes", Bytes::new(LONGEST).grouped()),
            });
        }
        let (recorded, end) = parse(path, &bytes)?;
        journal
            .file
            .set_len(end)
            .and_then(|()| journal.file.seek(SeekFrom::Start(end)))
            .map_err(|error| JournalError::os("write", path, error))?;
        Ok((journal, recorded))
    }

    fn locked(path: &Path, file: File) -> Result<Journal, JournalError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(JournalError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(fs::TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(fs::TryLockError::Error(error)) => {
                return Err(JournalError::os("lock", path, error));
            }
        }
        Ok(Journal {
            file,
            path: path.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The test file was made, and is still empty.
    ///
    /// # Errors
    /// Those of writing; the line is on the disk otherwise.
    pub fn created(&mut self, identity: Identity) -> Result<(), JournalError> {
        self.append(&Line::Created(identity))?;
        self.sync()
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
        let synced = self.file.sync_data();
        synced.map_err(|error| JournalError::os("sync", &self.path, error))
    }

    /// The experiment is finished, and nobody will go on with it.
    ///
    /// # Errors
    /// Those of removing it.
    pub fn remove(self) -> Result<(), JournalError> {
        let removed = fs::remove_file(&self.path);
        removed.map_err(|error| JournalError::os("remove", &self.path, error))
    }

    /// Writes a line with one call, so that it is there as a whole or torn, and never mixed with another.
    fn append(&mut self, line: &Line) -> Result<(), JournalError> {
        let write = |file: &mut File| -> std::io::Result<()> {
            let text = serde_json::to_string(line)?;
            let line = format!("[\"{:08x}\",{text}]\n", crc32fast::hash(text.as_bytes()));
            file.write_all(line.as_bytes())
        };
        write(&mut self.file).map_err(|error| JournalError::os("write", &self.path, error))
    }

    #[cfg(unix)]
    fn sync_directory(&self) -> Result<(), JournalError> {
        let directory = match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| JournalError::os("sync the directory of", &self.path, error))
    }

    #[cfg(not(unix))]
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "directories cannot be synced here"
    )]
    fn sync_directory(&self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// What the bytes of a journal say; `path` is only for errors.
///
/// # Errors
/// [`JournalError::Damaged`] and [`JournalError::Empty`].
pub fn read(path: &Path, bytes: &[u8]) -> Result<Recorded, JournalError> {
    parse(path, bytes).map(|(recorded, _)| recorded)
}

/// Reads a journal; also says where its last whole line ends.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Recorded, u64), JournalError> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = bytes.get(..end.map_or(0, |end| end + 1)).unwrap_or(bytes);
    let mut recorded: Option<Recorded> = None;
    let lines = whole.split_inclusive(|byte| *byte == b'\n');
    for (number, line) in (1..).zip(lines) {
        let damaged = |found: String, expected: &str| JournalError::Damaged {
            path: path.to_owned(),
            line: number,
            found,
            expected: expected.to_owned(),
        };
        let line = line_of(line).map_err(|(found, expected)| damaged(found, expected))?;
        let name = line.name();
        match (&mut recorded, line) {
            (None, Line::Header(header)) if header.schema == SCHEMA => {
                recorded = Some(Recorded {
                    header: *header,
                    created: None,
                    ready: None,
                    placed: None,
                    samples: Vec::new(),
                });
            }
            (None, Line::Header(header)) => return Err(damaged(header.schema, SCHEMA)),
            (None, _) => return Err(damaged(format!("`{name}`"), "`header`")),
            (Some(journal), Line::Created(identity))
                if journal.ready.is_none() && journal.header.role == Role::Own =>
            {
                journal.created = Some(identity);
            }
            (Some(journal), Line::Filled(ready)) if journal.ready.is_none() => {
                journal.ready = Some(ready);
            }
            (Some(journal), Line::Placed(placed))
                if journal.ready.is_some() && journal.placed.is_none() =>
            {
                journal.placed = Some(placed);
            }
            (Some(journal), Line::Sample(sample)) if journal.placed.is_some() => {
                is_possible(&sample, &journal.header.plan)
                    .map_err(|(found, expected)| damaged(found, expected))?;
                push(&mut journal.samples, *sample);
            }
            (Some(journal), _) => {
                let expected = match (journal.ready, &journal.placed) {
                    (None, _) => "`created` or `filled`",
                    (Some(_), None) => "`placed`",
                    (Some(_), Some(_)) => "`sample`",
                };
                return Err(damaged(format!("`{name}`"), expected));
            }
        }
    }
    let Some(mut recorded) = recorded else {
        return Err(JournalError::Empty {
            path: path.to_owned(),
        });
    };
    drop_unfinished(&mut recorded);
    Ok((recorded, whole.len() as u64))
}

/// One line; what was found and expected otherwise.
fn line_of(line: &[u8]) -> Result<Line, (String, &'static str)> {
    const SHAPE: &str = "[\"eight hexadecimal digits\",{…}]";
    let shape = || {
        let start = line.get(..line.len().min(20)).unwrap_or(line);
        (
            format!("`{}…`", String::from_utf8_lossy(start).escape_debug()),
            SHAPE,
        )
    };
    let line = std::str::from_utf8(line).map_err(|_| shape())?;
    let inner = line
        .strip_prefix("[\"")
        .and_then(|line| line.strip_suffix("]\n"));
    let (sum, text) = inner
        .and_then(|inner| inner.split_once("\","))
        .ok_or_else(shape)?;
    let found = format!("{:08x}", crc32fast::hash(text.as_bytes()));
    if sum != found {
        return Err((
            format!(
                "text with the CRC-32 {found}, recorded as {}",
                sum.escape_debug()
            ),
            "the text as it was written",
        ));
    }
    serde_json::from_str(text).map_err(|error| (error.to_string(), "a line of this version"))
}

/// Whether a plan can have had a run.
fn is_possible(sample: &Sample, plan: &Plan) -> Result<(), (String, &'static str)> {
    let slot = sample.slot;
    let is_in = |index: u32, len: usize| usize::try_from(index).is_ok_and(|index| index < len);
    if !is_in(slot.cell, plan.cells.len()) || !is_in(slot.offset, plan.offsets.len()) {
        let found = format!("a run of workload {} at offset {}", slot.cell, slot.offset);
        return Err((found, "one of the plan"));
    }
    for side in [&sample.reads, &sample.writes] {
        if side.latencies.count() != side.requests {
            return Err((
                format!(
                    "{} latencies of {} requests",
                    side.latencies.count(),
                    side.requests
                ),
                "as many",
            ));
        }
    }
    Ok(())
}

/// Appends a run; one that begins a block again replaces the runs of that block.
fn push(samples: &mut Vec<Sample>, sample: Sample) {
    let slot = sample.slot;
    if slot.position == 0 {
        samples.retain(|other| (other.slot.cell, other.slot.block) != (slot.cell, slot.block));
    }
    samples.push(sample);
}

/// Drops the runs of a last block that was not finished.
fn drop_unfinished(recorded: &mut Recorded) {
    let runs = 2 * recorded.header.plan.offsets.len().saturating_sub(1) + 1;
    let Some(last) = recorded.samples.last().map(|sample| sample.slot) else {
        return;
    };
    if u64::from(last.position) + 1 < runs as u64 {
        let samples = &mut recorded.samples;
        samples.retain(|other| (other.slot.cell, other.slot.block) != (last.cell, last.block));
    }
}

#[cfg(test)]
mod tests;
