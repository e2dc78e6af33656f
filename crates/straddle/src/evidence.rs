//! What logs and counters say, joined with what is known of the same storage.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::check::text;
use crate::geometry::Bytes;
use crate::io::{OpenError, ReadAt, Target, TargetKind};
use crate::report::evidence::{Evidence, Failure};
use crate::rules::Options;
use crate::sources::captured::{self, Capture};
use crate::sources::{Overrides, Settings};
use crate::stack::Stack;

pub use straddle_evidence::{
    EvidenceError, FORMATS, Format, Found, Gathered, Observation, Subject, read,
};

/// Reads what `inputs` are: files, folders of them, `-` for standard input. Everything is opened read-only, and may be of any
/// length; gzip and zstd are unpacked. Texts in which tools describe the same storage (as for [`check`](crate::check())) give the
/// layers that the figures belong to.
///
/// What was captured `before` something was changed is compared with the rest.
///
/// Inputs that cannot be read to their end, or in which nothing is recognised, are in the list; what was read of them before is in
/// the evidence.
#[must_use]
pub fn evidence(
    inputs: &[PathBuf],
    before: &[PathBuf],
    overrides: Overrides,
    options: Options,
) -> (Evidence, Vec<Failure>) {
    let mut reading = Reading::of(inputs);
    let settings = Settings {
        overrides,
        ..Settings::default()
    };
    let mut servers = captured::of_one(std::mem::take(&mut reading.captures));
    let stack = match servers.len() {
        0 | 1 => servers.pop().map_or_else(Stack::new, |server| {
            captured::stack(server.captures, &settings)
        }),
        n => {
            reading.failures.push(Failure {
                input: "captures".to_owned(),
                error: format!(
                    "the captures describe {n} machines; give the files of one at a time"
                ),
            });
            Stack::new()
        }
    };
    let name = match inputs {
        [only] if only.as_os_str() == "-" => "standard input".to_owned(),
        [only] => only.display().to_string(),
        several => format!("{} inputs", several.len()),
    };
    if reading.failures.is_empty() && reading.gathered.figures == 0 {
        let error = format!(
            "{name}: nothing in it was measured; `straddle check` reads what tools say of storage"
        );
        reading.fail(&name, error);
    }
    let mut evidence = Evidence::new(&name, reading.gathered, stack, options);
    evidence.passed_over = reading.passed_over;
    if before.is_empty() {
        return (evidence, reading.failures);
    }
    let before = Reading::of(before);
    reading.failures.extend(before.failures);
    (evidence.since(&before.gathered), reading.failures)
}

#[derive(Default)]
struct Reading {
    gathered: Gathered,
    captures: Vec<Capture>,
    failures: Vec<Failure>,
    /// Files in folders in which nothing was found.
    passed_over: u64,
    /// Of the last file of captured text.
    number: u32,
}

/// Folders in folders, as far as somebody keeps logs.
const DEEPEST: usize = 16;

impl Reading {
    fn of(inputs: &[PathBuf]) -> Reading {
        let mut reading = Reading::default();
        for input in inputs {
            if input.as_os_str() == "-" {
                let name = "standard input";
                let mut stdin = io::stdin().lock();
                if let Some(found) = reading.stream(name, &mut stdin) {
                    reading.judge(name, &found);
                }
            } else if input.is_dir() {
                reading.folder(input, 0);
            } else {
                reading.named(input);
            }
        }
        reading
    }

    fn fail(&mut self, input: &str, error: impl ToString) {
        self.failures.push(Failure {
            input: input.to_owned(),
            error: error.to_string(),
        });
    }

    /// A file that somebody named: it has to be something.
    fn named(&mut self, path: &Path) {
        let name = path.display().to_string();
        match Target::open(path) {
            Ok(target) if target.kind() == TargetKind::File => {
                let has_tools = self.capture(&target);
                match self.stream(&name, &mut from_start(&target)) {
                    Some(found) if !has_tools => self.judge(&name, &found),
                    _ => {}
                }
            }
            Ok(_) => self.no_file(&name, "a block device"),
            Err(OpenError::WrongType { found, .. }) => self.no_file(&name, found),
            Err(error) => self.fail(&name, error),
        }
    }

    fn no_file(&mut self, name: &str, found: &str) {
        let error = format!(
            "{name} is {found}; expected a file or a folder of logs, or `-` for standard input"
        );
        self.fail(name, error);
    }

    /// What nothing was found in is no answer.
    fn judge(&mut self, name: &str, found: &Found) {
        if found.figures > 0 {
            return;
        }
        let formats = found.formats.join(", ");
        let error = if formats.is_empty() {
            format!(
                "{name}: no log, counter or result of a known tool was found in it; docs/reference/evidence.md lists what is read"
            )
        } else if found.not_understood == 0 {
            format!("{name}: it looks like {formats}, and there is no figure in it; is it cut off?")
        } else {
            format!("{name}: it looks like {formats}, and no line of it could be understood")
        };
        self.fail(name, error);
    }

    /// The files of a folder, among which others lie about.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let name = folder.display().to_string();
        let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.fail(&name, format!("{name}: {error}")),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = path.display().to_string();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.listed(&name, Target::open_listed(&path));
            } else if depth >= DEEPEST {
                self.fail(&name, format!("{name}: more than {DEEPEST} folders deep"));
            } else {
                self.folder(&path, depth + 1);
            }
        }
    }

    fn listed(&mut self, name: &str, target: Result<Target, OpenError>) {
        match target {
            Ok(target) if target.kind() == TargetKind::File => {
                let has_tools = self.capture(&target);
                let found = self.stream(name, &mut from_start(&target));
                let is_nothing = found.is_some_and(|found| found == Found::default());
                self.passed_over += u64::from(is_nothing && !has_tools);
            }
            // Links, sockets and the like are not followed.
            Ok(_) | Err(OpenError::WrongType { .. }) => self.passed_over += 1,
            Err(error) => self.fail(name, error),
        }
    }

    /// `None` when it could not be read to its end, which is said.
    fn stream(&mut self, name: &str, input: &mut dyn Read) -> Option<Found> {
        match read(name, input, &mut self.gathered) {
            Ok(found) => Some(found),
            Err(error) => {
                self.fail(name, error);
                None
            }
        }
    }

    /// Whether tools describe storage in a text. A longer one is a log.
    fn capture(&mut self, target: &Target) -> bool {
        let most = Bytes::new(u64::try_from(captured::MAX_BYTES).unwrap_or(u64::MAX));
        if target.size() > most {
            return false;
        }
        let captures = text::of_target(target, self.number);
        self.number += 1;
        let found = !captures.is_empty();
        self.captures.extend(captures);
        found
    }
}

/// A file, to be read from its first byte.
fn from_start(target: &Target) -> impl Read {
    // Where it stands is nobody else's: all others say from where they read.
    let mut file = target.file();
    let _ = file.seek(SeekFrom::Start(0));
    file
}
