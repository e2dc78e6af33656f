//! What logs and counters say, joined with what is known of the same storage.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::geometry::Bytes;
use crate::io::{OpenError, ReadAt, Target, TargetKind};
use crate::report::evidence::{Evidence, Failure};
use crate::rules::Options;
use crate::sources::captured::{self, Capture};
use crate::sources::{Overrides, Settings};
use crate::stack::Stack;

pub use straddle_evidence::{EvidenceError, FORMATS, Format, Gathered, Observation, Subject, read};

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
    let mut servers = captured::of_one(reading.captures);
    let stack = match servers.len() {
        0 | 1 => servers.pop().map_or_else(Stack::new, |server| {
            captured::stack(server.captures, &settings)
        }),
        n => {
            reading.failures.push(Failure {
                input: "captures".to_owned(),
                error: format!("{n} machines are described; give the files of one at a time"),
            });
            Stack::new()
        }
    };
    let name = match inputs {
        [only] if only.as_os_str() == "-" => "standard input".to_owned(),
        [only] => only.display().to_string(),
        several => format!("{} inputs", several.len()),
    };
    let evidence = Evidence::new(&name, reading.gathered, stack, options);
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
                let mut stdin = io::stdin().lock();
                reading.stream("standard input", &mut stdin, true, false);
            } else if input.is_dir() {
                reading.folder(input, 0);
            } else {
                reading.file(input, Target::open(input), true);
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

    fn folder(&mut self, folder: &Path, depth: usize) {
        let name = folder.display().to_string();
        let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.fail(&name, error),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder {
                self.file(&path, Target::open_listed(&path), false);
            } else if depth >= DEEPEST {
                self.fail(&path.display().to_string(), "a folder too deep");
            } else {
                self.folder(&path, depth + 1);
            }
        }
    }

    /// A file. What somebody named has to be something; in a folder other files lie about.
    fn file(&mut self, path: &Path, target: Result<Target, OpenError>, named: bool) {
        let name = path.display().to_string();
        let target = match target {
            Ok(target) if target.kind() == TargetKind::File => target,
            Ok(_) => return self.fail(&name, "is a device; logs and counters are files"),
            Err(_) if !named => return,
            Err(error) => return self.fail(&name, error),
        };
        let tools = self.capture(&name, &target);
        let mut bytes = Stream {
            target: &target,
            at: Bytes::ZERO,
        };
        self.stream(&name, &mut bytes, named, tools);
    }

    fn stream(&mut self, name: &str, input: &mut dyn Read, named: bool, tools: bool) {
        let (formats, figures) = (self.gathered.formats.len(), self.gathered.figures);
        let (counted, had) = (self.gathered.counted.len(), self.gathered.formats.clone());
        if let Err(error) = read(name, input, &mut self.gathered) {
            self.fail(name, error);
            return;
        }
        let nothing = self.gathered.formats.len() == formats
            && self.gathered.figures == figures
            && self.gathered.counted.len() == counted
            && had == self.gathered.formats;
        if nothing && !tools && named {
            self.fail(
                name,
                "no log, counter or result of a known tool was found in it; the page of formats lists what is read",
            );
        }
    }

    /// Whether tools describe storage in a text.
    fn capture(&mut self, name: &str, target: &Target) -> bool {
        let is_text = target.head().is_ok_and(captured::looks_like_text);
        let most = Bytes::new(u64::try_from(captured::MAX_BYTES).unwrap_or(u64::MAX));
        if !is_text || target.size() > most {
            return false;
        }
        let mut bytes = Vec::new();
        let mut stream = Stream {
            target,
            at: Bytes::ZERO,
        };
        if stream.read_to_end(&mut bytes).is_err() {
            return false;
        }
        let mut captures = captured::machines(name, &bytes, false, self.number);
        captures.retain(|capture| !capture.tools.is_empty());
        self.number += 1;
        let found = !captures.is_empty();
        self.captures.extend(captures);
        found
    }
}

/// A file, from its first byte to its last.
struct Stream<'t> {
    target: &'t Target,
    at: Bytes,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let had = self.target.read_at(self.at, buffer)?;
        let next = self
            .at
            .checked_add(Bytes::new(u64::try_from(had).unwrap_or(u64::MAX)));
        self.at = next.unwrap_or(self.at);
        Ok(had)
    }
}
