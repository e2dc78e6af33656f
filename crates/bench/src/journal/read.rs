//! Reading a journal back, a line at a time: it may have been edited, damaged, or be something else altogether.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::bounds::{self, Wrong};
use super::{JournalError, Limits, Line, Recorded, SCHEMA};
use crate::plan::Slot;
use crate::sample::Sample;

/// Limit of the first line: a plan with as many workloads and offsets as one may have takes half of it.
const MAX_HEADER: u64 = 4 << 20;
/// Limit of any other line: a run of a day, with a count for each tenth of a second, takes half of it.
const MAX_LINE: u64 = 16 << 20;

/// A journal as it was read.
pub(super) struct Parsed {
    pub(super) recorded: Recorded,
    /// Its first line.
    pub(super) header: Vec<u8>,
    /// Where its last whole line ends.
    pub(super) end: u64,
}

/// What the bytes of a journal say; `path` is only for errors.
///
/// # Errors
/// [`JournalError::Damaged`] and [`JournalError::Empty`].
pub fn read(path: &Path, bytes: &[u8]) -> Result<Recorded, JournalError> {
    parse(path, bytes).map(|parsed| parsed.recorded)
}

/// Reads a journal. Besides what it returns, one line is in memory at a time.
pub(super) fn parse(path: &Path, bytes: impl Read) -> Result<Parsed, JournalError> {
    let mut lines = Lines {
        reader: BufReader::with_capacity(1 << 16, bytes),
        line: Vec::new(),
        number: 0,
        end: 0,
    };
    let damaged = |line, (found, expected): Wrong| JournalError::Damaged {
        path: path.to_owned(),
        line,
        found,
        expected,
    };
    let next = |lines: &mut Lines<_>| {
        lines.next(path).and_then(|is_whole| {
            let line = is_whole.then(|| line_of(&lines.line)).transpose();
            line.map_err(|wrong| damaged(lines.number, wrong))
        })
    };
    let header = match next(&mut lines)? {
        None => {
            return Err(JournalError::Empty {
                path: path.to_owned(),
            });
        }
        Some(Line::Header(header)) if header.schema == SCHEMA => header,
        Some(Line::Header(header)) => {
            let found = format!("the schema `{}`", header.schema.escape_debug());
            return Err(damaged(1, (found, SCHEMA.to_owned())));
        }
        Some(line) => {
            let found = format!("`{}`", line.name());
            return Err(damaged(1, (found, "`header`".to_owned())));
        }
    };
    bounds::header(&header).map_err(|wrong| damaged(1, wrong))?;
    let text = std::mem::take(&mut lines.line);
    let mut recorded = Recorded {
        limits: Limits::of(&header.plan),
        header: *header,
        ready: None,
        placed: None,
        samples: Vec::new(),
    };
    let mut blocks = Blocks::default();
    while let Some(line) = next(&mut lines)? {
        let wrong = |wrong| damaged(lines.number, wrong);
        take(&mut recorded, &mut blocks, line).map_err(wrong)?;
    }
    blocks.drop_unfinished(&mut recorded.samples);
    Ok(Parsed {
        recorded,
        header: text,
        end: lines.end,
    })
}

/// Adds a line to what is known.
fn take(recorded: &mut Recorded, blocks: &mut Blocks, line: Line) -> Result<(), Wrong> {
    let name = line.name();
    match line {
        Line::Filled(ready) if recorded.ready.is_none() => {
            bounds::ready(&ready)?;
            recorded.ready = Some(ready);
        }
        Line::Placed(placed) if recorded.ready.is_some() && recorded.placed.is_none() => {
            bounds::placed(&placed, recorded)?;
            recorded.placed = Some(placed);
        }
        Line::Raised(limits) => {
            bounds::limits(limits, recorded)?;
            recorded.limits = limits;
        }
        Line::Sample(sample) if recorded.placed.is_some() => {
            bounds::sample(&sample, &recorded.header.plan, recorded.limits)?;
            let runs = recorded.header.plan.runs_per_block();
            blocks.push(&mut recorded.samples, *sample, runs)?;
        }
        _ => {
            let expected = match (recorded.ready, &recorded.placed) {
                (None, _) => "`filled`",
                (Some(_), None) => "`placed`",
                (Some(_), Some(_)) => "`sample`",
            };
            return Err((format!("`{name}`"), expected.to_owned()));
        }
    }
    Ok(())
}

/// Lines as they come.
struct Lines<R: Read> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: usize,
    end: u64,
}

impl<R: Read> Lines<R> {
    /// Reads the next line; false when there is no whole one any more.
    fn next(&mut self, path: &Path) -> Result<bool, JournalError> {
        self.number += 1;
        self.line.clear();
        let limit = if self.number == 1 {
            MAX_HEADER
        } else {
            MAX_LINE
        };
        let mut bounded = (&mut self.reader).take(limit);
        let read = bounded.read_until(b'\n', &mut self.line);
        let len = read.map_err(|error| JournalError::os("read", path, error))? as u64;
        if self.line.ends_with(b"\n") {
            self.end += len;
            return Ok(true);
        }
        if len < limit {
            return Ok(false);
        }
        Err(JournalError::Damaged {
            path: path.to_owned(),
            line: self.number,
            found: format!("a line of more than {limit} bytes"),
            expected: "a line that a run of this program writes".to_owned(),
        })
    }
}

/// One line; what was found and expected otherwise.
fn line_of(line: &[u8]) -> Result<Line, Wrong> {
    let shape = || {
        let start = line.get(..line.len().min(20)).unwrap_or(line);
        (
            format!("`{}…`", String::from_utf8_lossy(start).escape_debug()),
            "[\"eight hexadecimal digits\",{…}]".to_owned(),
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
        let sum: String = sum.chars().take(20).collect();
        return Err((
            format!(
                "text with the CRC-32 {found}, recorded as {}",
                sum.escape_debug()
            ),
            "the text as it was written".to_owned(),
        ));
    }
    serde_json::from_str(text).map_err(|error| {
        let text: String = error.to_string().chars().take(300).collect();
        (
            text.escape_debug().to_string(),
            "a line of this version".to_owned(),
        )
    })
}

/// Whether runs come in the order in which they were made: one block after the other, each from its first run on.
#[derive(Default)]
struct Blocks {
    /// The block of the last run, and where it begins among the samples.
    last: Option<(Slot, usize)>,
    /// All before it.
    finished: std::collections::HashSet<(u32, u32)>,
    is_finished: bool,
}

impl Blocks {
    fn push(
        &mut self,
        samples: &mut Vec<Sample>,
        sample: Sample,
        runs: usize,
    ) -> Result<(), Wrong> {
        let slot = sample.slot;
        let block = (slot.cell, slot.block);
        let expected = match self.last {
            Some((last, _)) if !self.is_finished && (last.cell, last.block) == block => {
                last.position + 1
            }
            _ => 0,
        };
        if slot.position == 0 && !self.finished.contains(&block) {
            self.drop_unfinished(samples);
            self.last = Some((slot, samples.len()));
        } else if expected > 0 && slot.position == expected {
            self.last = self.last.map(|(_, from)| (slot, from));
        } else {
            return Err((
                format!(
                    "run {} of block {} of workload {}",
                    slot.position, slot.block, slot.cell
                ),
                "the next run of its block, or the first of another".to_owned(),
            ));
        }
        self.is_finished = slot.position as usize + 1 == runs;
        if self.is_finished {
            self.finished.insert(block);
        }
        samples.push(sample);
        Ok(())
    }

    /// Drops the runs of a last block that was not finished.
    fn drop_unfinished(&mut self, samples: &mut Vec<Sample>) {
        if let Some((_, from)) = self.last.filter(|_| !self.is_finished) {
            samples.truncate(from);
        }
        self.last = None;
    }
}
