//! What logs and counters say, joined with what is known of the same storage.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::check::text;
use crate::geometry::Bytes;
use crate::inputs;
use crate::io::{ReadAt, Target};
use crate::report::evidence::{Evidence, Failure};
use crate::rules::Options;
use crate::sources::captured::{self, Capture};
use crate::sources::{Overrides, Settings};
use crate::stack::Stack;

pub use straddle_evidence::{
    EvidenceError, FORMATS, Format, Found, Gathered, Observation, Subject, read,
};

/// Reads what `inputs` are: files, folders of them, `-` for standard input. Everything is opened read-only, and may be of any
/// length; what is packed with gzip, bzip2, xz or zstd is unpacked. Texts in which tools describe the same storage (as for [`check`](crate::check())) give the
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
    let earlier = Reading::of(before);
    let is_read = earlier.gathered.figures > 0 && evidence.gathered.figures > 0;
    reading.failures.extend(earlier.failures);
    let evidence = evidence.since(&earlier.gathered);
    if let Some(why) = evidence.why_nothing_changed().filter(|_| is_read) {
        let names: Vec<String> = before
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let names = names.join(", ");
        reading.failures.push(Failure {
            error: format!("{names}: {why}"),
            input: names,
        });
    }
    (evidence, reading.failures)
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

impl Reading {
    fn of(inputs: &[PathBuf]) -> Reading {
        let mut reading = Reading::default();
        inputs::each(inputs, "a file or a folder of logs", &mut |found| {
            reading.take(found)
        });
        reading
    }

    fn take(&mut self, found: inputs::Found) {
        match found {
            inputs::Found::Stdin => {
                let name = "standard input";
                let mut stdin = io::stdin();
                if let Some(found) = self.stream(name, &mut stdin) {
                    self.judge(name, &found, None);
                }
            }
            inputs::Found::Named(name, target) => self.named(&name, &target),
            inputs::Found::Listed(name, target) => self.listed(&name, &target),
            inputs::Found::PassedOver => self.passed_over += 1,
            inputs::Found::Failed(name, error) => self.fail(&name, error),
        }
    }

    fn fail(&mut self, input: &str, error: impl ToString) {
        self.failures.push(Failure {
            input: input.to_owned(),
            error: error.to_string(),
        });
    }

    /// A file that somebody named: it has to be something.
    fn named(&mut self, name: &str, target: &Target) {
        let has_tools = self.capture(target);
        match self.stream(name, &mut from_start(target)) {
            Some(found) if !has_tools => self.judge(name, &found, Some(target)),
            _ => {}
        }
    }

    /// What nothing was found in is no answer.
    fn judge(&mut self, name: &str, found: &Found, target: Option<&Target>) {
        if found.figures > 0 {
            return;
        }
        /// Messages that are counted and have no figures.
        const COUNTED: [&str; 3] = ["errorlog-asides", "backup-databases", "event-viewer"];
        let formats = found.formats.join(", ");
        let are_counted = found.formats.iter().all(|format| COUNTED.contains(format));
        let error = if let Some(other) = found.other.filter(|_| formats.is_empty()) {
            format!("{name}: it has output {other}; docs/reference/evidence.md lists what is")
        } else if let Some(binary) = found.binary.filter(|_| formats.is_empty()) {
            format!("{name}: it is {binary}")
        } else if let Some(other) = target
            .filter(|_| formats.is_empty())
            .and_then(text::for_another_verb)
        {
            format!("{name}: {other}")
        } else if formats.is_empty() {
            format!(
                "{name}: no log, counter or result of a known tool was found in it; docs/reference/evidence.md lists what is read"
            )
        } else if are_counted && found.not_understood == 0 {
            format!(
                "{name}: it has messages of SQL Server, and none of them says how long requests took"
            )
        } else if found.not_understood == 0 {
            format!("{name}: it looks like {formats}, and there is no figure in it; is it cut off?")
        } else {
            format!("{name}: it looks like {formats}, and no line of it could be understood")
        };
        self.fail(name, error);
    }

    /// A file of a folder, among which others lie about.
    fn listed(&mut self, name: &str, target: &Target) {
        let has_tools = self.capture(target);
        let found = self.stream(name, &mut from_start(target));
        let is_nothing = found.is_some_and(|found| found == Found::default());
        self.passed_over += u64::from(is_nothing && !has_tools);
    }

    /// `None` when it could not be read to its end, which is said.
    fn stream(&mut self, name: &str, input: &mut (dyn Read + Send)) -> Option<Found> {
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
fn from_start(target: &Target) -> impl Read + Send {
    // Where it stands is nobody else's: all others say from where they read.
    let mut file = target.file();
    let _ = file.seek(SeekFrom::Start(0));
    file
}
