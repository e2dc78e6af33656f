//! Recorded requests: the iologs of fio, and tables with a heading.

use std::sync::Arc;

use straddle_geometry::Access;

use super::{Kind, Record, Script};
use crate::profile::Refusal;

/// Most requests of a recording.
const MAX: usize = 4_000_000;
/// Longest request.
const MAX_LEN: u64 = 64 << 20;

const EXPECTED: &str = "an iolog of fio (version 2 or 3), or a table with the columns offset, size and type (read or write)";

impl Script {
    /// Reads a recording: an iolog of fio, or comma-separated values with a heading that names `offset`, `size` and `type`,
    /// whatever else there is (as in the traces of MSR Cambridge, which have no heading and are told by their columns).
    ///
    /// # Errors
    /// Text that is none, without a request, or with a request that is longer than 64 MiB.
    pub fn recorded(name: &str, text: &str) -> Result<Script, Refusal> {
        let refuse = |found: String| Refusal::new(name, found, EXPECTED);
        let mut lines = text.lines().map(str::trim).enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(refuse("nothing in it".to_owned()));
        };
        let form =
            Form::of(first).ok_or_else(|| refuse(format!("line 1 is `{}`", shortened(first))))?;
        let mut records = Vec::new();
        // A table without a heading begins with a request.
        let headless = matches!(
            form,
            Form::Columns {
                has_heading: false,
                ..
            }
        )
        .then_some((0, first));
        for (number, line) in headless.into_iter().chain(lines) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match form.record(line) {
                Ok(Some(record)) => records.push(record),
                Ok(None) => {}
                Err(()) => {
                    return Err(refuse(format!(
                        "line {} is `{}`",
                        number + 1,
                        shortened(line)
                    )));
                }
            }
            if records.len() > MAX {
                return Err(refuse(format!("more than {MAX} requests")));
            }
        }
        if records.is_empty() {
            return Err(refuse("without a read or a write".to_owned()));
        }
        Ok(Script {
            title: format!("recorded in {name}"),
            kind: Kind::Recorded(Arc::new(records)),
        })
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

enum Form {
    /// `FILE ACTION OFFSET LENGTH`, after so many columns before it.
    Iolog { skip: usize },
    /// Columns of offset, size and type.
    Columns { at: [usize; 3], has_heading: bool },
}

impl Form {
    fn of(first: &str) -> Option<Form> {
        if let Some(version) = first.strip_prefix("fio version ") {
            // Version 3 has the time before the file.
            let skip = match version.split(' ').next()? {
                "2" => 0,
                "3" => 1,
                _ => return None,
            };
            return Some(Form::Iolog { skip });
        }
        let cells: Vec<String> = first
            .split(',')
            .map(|cell| cell.trim().to_lowercase())
            .collect();
        let find = |names: &[&str]| cells.iter().position(|cell| names.contains(&cell.as_str()));
        let named = [
            find(&["offset", "start", "byteoffset"]),
            find(&["size", "length", "len", "iosize"]),
            find(&["type", "rw", "op", "iotype"]),
        ];
        if let [Some(offset), Some(size), Some(kind)] = named {
            return Some(Form::Columns {
                at: [offset, size, kind],
                has_heading: true,
            });
        }
        // Timestamp, host, disk, type, offset, size, response time.
        let is_msr = cells.len() == 7 && access(cells.get(3)?).is_some();
        is_msr.then_some(Form::Columns {
            at: [4, 5, 3],
            has_heading: false,
        })
    }

    /// `Ok(None)` is a line that says nothing of a request.
    fn record(&self, line: &str) -> Result<Option<Record>, ()> {
        let (kind, start, len) = match self {
            Form::Iolog { skip } => {
                let mut words = line.split_whitespace().skip(*skip + 1);
                let action = words.next().ok_or(())?;
                if access(action).is_none() {
                    return Ok(None);
                }
                (action, words.next().ok_or(())?, words.next().ok_or(())?)
            }
            Form::Columns { at, .. } => {
                let cells: Vec<&str> = line.split(',').map(str::trim).collect();
                let cell = |at: usize| cells.get(at).copied().ok_or(());
                (cell(at[2])?, cell(at[0])?, cell(at[1])?)
            }
        };
        let record = Record {
            access: access(kind).ok_or(())?,
            start: start.parse().map_err(|_| ())?,
            len: len.parse().map_err(|_| ())?,
        };
        let is_sound =
            (1..=MAX_LEN).contains(&record.len) && record.start.checked_add(record.len).is_some();
        if is_sound { Ok(Some(record)) } else { Err(()) }
    }
}

fn access(text: &str) -> Option<Access> {
    match text.to_lowercase().as_str() {
        "read" | "r" => Some(Access::Read),
        "write" | "w" => Some(Access::Write),
        _ => None,
    }
}
