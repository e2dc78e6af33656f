//! Runs on their way to another history: one JSON object a line.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{BufRead, Read, Write};

use crate::{Entry, Error, Key, Run, Store};

/// Longest line that is read.
pub const MAX_LINE: u64 = 256 << 20;

/// Name and version of a line.
const SCHEMA: &str = "straddle.run/1";

/// A run in one line.
#[derive(Serialize, Deserialize)]
struct Exported {
    schema: String,
    key: Key,
    verb: String,
    target: String,
    headline: String,
    began_unix_microseconds: i64,
    machine: String,
    version: String,
    command: String,
    status: u8,
    /// Byte for byte as it was stored.
    document: String,
}

/// What became of a line.
#[derive(Debug)]
pub enum Line {
    /// Kept under this number.
    New(i64),
    /// It was there already, under this number.
    Known(i64),
    /// Not kept, and why.
    Refused(String),
}

/// What became of all lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Runs that were new.
    pub new: u64,
    /// Runs that were there already.
    pub known: u64,
    /// Lines that were refused: their number, from 1, and why.
    pub refused: Vec<(u64, String)>,
}

impl Store {
    /// Writes a run in one line.
    ///
    /// # Errors
    /// Where it cannot be read, or `out` not be written.
    pub fn export(&self, entry: &Entry, mut out: impl Write) -> Result<std::io::Result<()>, Error> {
        let document = self.document(entry.id)?;
        let line = Exported {
            schema: SCHEMA.to_owned(),
            key: entry.key,
            verb: entry.verb.clone(),
            target: entry.target.clone(),
            headline: entry.headline.clone(),
            began_unix_microseconds: entry.began,
            machine: entry.machine.clone(),
            version: entry.version.clone(),
            command: entry.command.clone(),
            status: entry.status,
            document,
        };
        let written = serde_json::to_writer(&mut out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"));
        Ok(written)
    }

    /// Keeps what lines say that are not known yet. A line that is no exported run is given to `other`, which may make a run of the text;
    /// each line is kept whole or not at all, and one that is refused does not stop the others.
    ///
    /// # Errors
    /// Where the history cannot be written. Lines before that are kept.
    pub fn import(
        &mut self,
        mut from: impl BufRead,
        other: impl Fn(&str) -> Result<Run, String>,
    ) -> Result<std::io::Result<Imported>, Error> {
        let mut out = Imported::default();
        let mut number = 0;
        loop {
            number += 1;
            let mut bytes = Vec::new();
            let read = from
                .by_ref()
                .take(MAX_LINE + 1)
                .read_until(b'\n', &mut bytes);
            match read {
                Err(error) => return Ok(Err(error)),
                Ok(0) => return Ok(Ok(out)),
                Ok(_) if bytes.len() as u64 > MAX_LINE => {
                    out.refused
                        .push((number, format!("longer than {MAX_LINE} bytes")));
                    return Ok(Ok(out));
                }
                Ok(_) => {}
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            match self.line(&bytes, &other)? {
                Line::New(_) => out.new += 1,
                Line::Known(_) => out.known += 1,
                Line::Refused(why) => out.refused.push((number, why)),
            }
        }
    }

    /// Keeps the one run that a text of several lines is.
    ///
    /// # Errors
    /// As [`Store::import`].
    pub fn import_one(
        &mut self,
        text: &str,
        other: impl Fn(&str) -> Result<Run, String>,
    ) -> Result<Imported, Error> {
        let mut out = Imported::default();
        match self.line(text.as_bytes(), &other)? {
            Line::New(_) => out.new = 1,
            Line::Known(_) => out.known = 1,
            Line::Refused(why) => out.refused.push((1, why)),
        }
        Ok(out)
    }

    fn line(
        &mut self,
        bytes: &[u8],
        other: &impl Fn(&str) -> Result<Run, String>,
    ) -> Result<Line, Error> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.trim(),
            Err(error) => return Ok(Line::Refused(format!("not UTF-8: {error}"))),
        };
        let run = match serde_json::from_str::<Exported>(text) {
            Ok(line) if line.schema != SCHEMA => {
                return Ok(Line::Refused(format!(
                    "its schema is {}, expected {SCHEMA}",
                    line.schema
                )));
            }
            Ok(line) => {
                let key = line.key;
                let run = Run {
                    verb: line.verb,
                    target: line.target,
                    headline: line.headline,
                    began: line.began_unix_microseconds,
                    machine: line.machine,
                    version: line.version,
                    command: line.command,
                    status: line.status,
                    document: line.document,
                };
                let found = Key::of(&run);
                if found != key {
                    return Ok(Line::Refused(format!(
                        "its key is {key}, what it says has {found}: it was changed on its way"
                    )));
                }
                if let Err(error) = serde_json::from_str::<&RawValue>(&run.document) {
                    return Ok(Line::Refused(format!("its document is no JSON: {error}")));
                }
                run
            }
            Err(error) => match other(text) {
                Ok(run) => run,
                Err(why) => {
                    return Ok(Line::Refused(format!(
                        "no exported run ({error}), and no document of a command: {why}"
                    )));
                }
            },
        };
        let (id, is_new) = self.add(&run)?;
        Ok(if is_new {
            Line::New(id)
        } else {
            Line::Known(id)
        })
    }
}
