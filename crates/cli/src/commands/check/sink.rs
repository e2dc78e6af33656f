//! Where results go: rendered by the worker that found them, written in order by one thread.

use std::io::{self, Write};
use std::path::PathBuf;

use straddle::check::{Kind, Outcome, Report, nothing_known};
use straddle::fix::{self, Ask, change::KINDS};
use straddle::realign::intent;
use straddle::report::{
    self, Checked, Digest, Fleet, SCHEMA, Summary, Taken, TargetDocument, csv, escape, json, text,
};
use straddle::rules::{Finding, Severity, Why};

use crate::args::FailOn;
use crate::commands::typed;
use crate::output;

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Quiet,
    /// The whole report for each target.
    Report,
    /// One line for each target.
    Lines,
    /// One JSON document.
    Json,
    /// One line for each partition.
    Csv,
    /// One line for each finding.
    Findings,
    /// One document a line, for each target as soon as it is done.
    Ndjson,
    /// What all targets come to.
    Summary(Shape),
}

/// How a summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// For people.
    Text,
    /// One JSON document without the targets.
    Json,
    /// One line for each target.
    Csv,
}

/// What one job came to, ready to be written.
pub(super) enum Piece {
    /// Checked: its text, its document where that is kept, and its digest for the totals. Findings stay with the thread that made them.
    Checked(Vec<u8>, Option<Vec<u8>>, Digest),
    /// Nothing recognised in it.
    Unrecognised(String, Why),
    /// Could not be read.
    Failed(String, String),
}

/// What to do about a target's findings.
pub(super) struct Next {
    /// The command that makes a plan for it.
    pub(super) fix: String,
    /// The command that moves partitions, and the only target that it is for.
    pub(super) realign: Option<(String, PathBuf)>,
    /// What that command is asked for.
    pub(super) ask: Ask,
}

impl Next {
    /// The commands for it, if the plan would have a step and the findings are not all notes, which are worth no outage.
    fn of(&self, checked: &Checked) -> Option<report::Next<'_>> {
        let cures = |finding: &Finding| KINDS.iter().any(|kind| kind.is_for(finding.code));
        let mut dear = checked
            .findings
            .iter()
            .filter(|f| f.severity >= Severity::Warning);
        // What lies in an archive is unpacked before anything is done to it.
        let is_packed = |taken: &Taken| taken.kind == Kind::Archive.name();
        let is_packed = checked.taken.as_deref().is_some_and(is_packed);
        if is_packed || checked.coverage.why().is_some() || !dear.any(cures) {
            return None;
        }
        let plan = fix::outline(&checked.stack, &self.ask);
        let can_move = |(_, target): &&(String, PathBuf)| {
            let names = typed::names(&checked.name, target);
            intent::is_for(&checked.stack, &plan.steps, &names)
        };
        let realign = self.realign.as_ref().filter(can_move);
        (!plan.is_empty()).then(|| report::Next {
            fix: &self.fix,
            realign: realign.map(|(command, _)| command.as_str()),
        })
    }
}

/// Renders what a job came to; runs on the worker's thread. A report ends with what to do `next`.
pub(super) fn rendered(mode: Mode, report: Report, next: Option<&Next>, is_kept: bool) -> Piece {
    let checked = match report.outcome {
        Ok(Outcome::Checked(checked)) => checked,
        Ok(Outcome::Unrecognised(why)) => return Piece::Unrecognised(report.target, why),
        Err(error) => return Piece::Failed(report.target, output::chain(&error.into())),
    };
    let mut bytes = Vec::new();
    let next = || next.and_then(|next| next.of(&checked));
    let document = || TargetDocument {
        next: next(),
        ..checked.document()
    };
    let written =
        match mode {
            Mode::Quiet | Mode::Summary(Shape::Text | Shape::Json) => Ok(()),
            Mode::Summary(Shape::Csv) => csv::target(&checked, &mut bytes)
                .map_err(|error| io::Error::other(error.to_string())),
            Mode::Report => {
                let report = text::report(&checked, next());
                bytes.write_all(escape::page(&report).as_bytes())
            }
            Mode::Lines => writeln!(bytes, "{}", escape::page(&text::line(&checked))),
            Mode::Json => json::write(&document(), &mut bytes).map_err(io::Error::from),
            Mode::Ndjson => json::write(&document(), &mut bytes)
                .map_err(io::Error::from)
                .and_then(|()| bytes.write_all(b"\n")),
            Mode::Findings => csv::findings(&checked, &mut bytes)
                .map_err(|error| io::Error::other(error.to_string())),
            Mode::Csv => {
                csv::rows(&checked, &mut bytes).map_err(|error| io::Error::other(error.to_string()))
            }
        };
    let mut kept = is_kept.then(Vec::new);
    let written = written.and_then(|()| match &mut kept {
        Some(kept) => json::write(&document(), kept).map_err(io::Error::from),
        None => Ok(()),
    });
    match written {
        Ok(()) => Piece::Checked(bytes, kept, Digest::of(&checked)),
        Err(error) => Piece::Failed(checked.name, error.to_string()),
    }
}

/// Writes pieces in order and keeps the totals.
pub(super) struct Sink {
    mode: Mode,
    many: bool,
    fail_on: FailOn,
    out: Box<dyn Write>,
    fleet: Fleet,
    failures: Vec<(String, String)>,
    found: bool,
    /// The document as far as it is made, where it is kept.
    kept: Option<Vec<u8>>,
}

/// What decides the exit status.
pub(super) struct Totals {
    /// Something could not be read, or no start of anything was checked.
    pub(super) failed: bool,
    pub(super) found: bool,
    /// The document, where it is kept.
    pub(super) document: Option<String>,
}

impl Sink {
    /// Opens the output and writes what comes before the first target.
    pub(super) fn open(
        mode: Mode,
        many: bool,
        fail_on: FailOn,
        is_kept: bool,
    ) -> anyhow::Result<Sink> {
        let mut out: Box<dyn Write> = match mode {
            Mode::Quiet => Box::new(io::sink()),
            Mode::Report | Mode::Lines | Mode::Summary(Shape::Text) => output::stdout(),
            // Whoever reads one host after the other waits for each.
            Mode::Ndjson => Box::new(io::stdout()),
            Mode::Json | Mode::Csv | Mode::Findings | Mode::Summary(Shape::Json | Shape::Csv) => {
                Box::new(io::BufWriter::new(io::stdout()))
            }
        };
        match mode {
            Mode::Json | Mode::Summary(Shape::Json) => head(&mut out)?,
            Mode::Csv => csv::header(&mut out)?,
            Mode::Findings => csv::findings_header(&mut out)?,
            Mode::Summary(Shape::Csv) => csv::target_header(&mut out)?,
            Mode::Quiet
            | Mode::Report
            | Mode::Lines
            | Mode::Ndjson
            | Mode::Summary(Shape::Text) => {}
        }
        Ok(Sink {
            mode,
            many,
            fail_on,
            out,
            fleet: Fleet::default(),
            failures: Vec::new(),
            found: false,
            kept: match is_kept {
                true => {
                    let mut kept = Vec::new();
                    head(&mut kept)?;
                    Some(kept)
                }
                false => None,
            },
        })
    }

    /// Writes one piece.
    pub(super) fn add(&mut self, piece: Piece) -> anyhow::Result<()> {
        match piece {
            Piece::Checked(bytes, document, digest) => {
                let first = self.fleet.targets() == 0;
                if let (Some(kept), Some(document)) = (&mut self.kept, document) {
                    if !first {
                        kept.push(b',');
                    }
                    kept.extend(document);
                }
                // Hosts that are alike share a line, below all others.
                let is_folded = self.mode == Mode::Lines && digest.is_host();
                match self.mode {
                    Mode::Json if !first => self.out.write_all(b",")?,
                    Mode::Report if !first => self.out.write_all(b"\n")?,
                    _ => {}
                }
                if !is_folded {
                    self.out.write_all(&bytes)?;
                }
                let worst = digest.severity();
                self.found |= worst.is_some_and(|worst| self.fail_on.is_reached_by(worst));
                self.fleet.add(digest);
                Ok(())
            }
            Piece::Unrecognised(target, why) => {
                if !self.many && self.mode != Mode::Quiet {
                    self.out.flush()?;
                    output::error(&format!("{target}: {}", nothing_known(why)));
                }
                self.fleet.unrecognised(why, target);
                Ok(())
            }
            Piece::Failed(target, error) => self.fail(&target, &error),
        }
    }

    /// Records a target that could not be read.
    fn fail(&mut self, target: &str, error: &str) -> anyhow::Result<()> {
        if self.mode == Mode::Ndjson {
            let document = serde_json::json!({ "target": target, "error": error });
            writeln!(self.out, "{document}")?;
        }
        // Keep stdout and stderr in step where both go to one terminal.
        self.out.flush()?;
        if self.mode != Mode::Quiet {
            let named = error.contains(target);
            output::error(&if named {
                error.to_owned()
            } else {
                format!("{target}: {error}")
            });
        }
        self.fleet.failed();
        self.failures.push((target.to_owned(), error.to_owned()));
        Ok(())
    }

    /// Writes what comes after the last target.
    pub(super) fn close(mut self) -> anyhow::Result<Totals> {
        let is_any_checked = self.fleet.is_any_checked();
        let summary = self.fleet.summary();
        match self.mode {
            Mode::Json | Mode::Summary(Shape::Json) => {
                tail(&mut self.out, &self.failures, &summary)?;
            }
            Mode::Report | Mode::Lines if self.many => {
                let below = text::below_lines(&summary);
                writeln!(self.out, "\n{}", escape::page(&below))?
            }
            Mode::Summary(Shape::Text) => {
                writeln!(self.out, "{}", escape::page(&text::fleet(&summary)))?
            }
            Mode::Report if summary.unrecognised > 0 && summary.targets > 0 => {
                self.out.flush()?;
                output::remark(&format!(
                    "files in which the output of no known tool was found: {}",
                    summary.unrecognised
                ));
            }
            _ => {}
        }
        self.out.flush()?;
        let document = match self.kept {
            Some(mut kept) => {
                tail(&mut kept, &self.failures, &summary)?;
                Some(String::from_utf8(kept)?)
            }
            None => None,
        };
        Ok(Totals {
            document,
            failed: summary.failed > 0 || !is_any_checked,
            found: self.found,
        })
    }
}

/// What a document has before its first target.
fn head(mut out: impl Write) -> anyhow::Result<()> {
    let (schema, version) = (json::line(SCHEMA)?, json::line(env!("CARGO_PKG_VERSION"))?);
    write!(
        out,
        "{{\"schema\":{schema},\"straddle\":{version},\"targets\":["
    )?;
    Ok(())
}

/// What it has behind the last one.
fn tail(
    mut out: impl Write,
    failures: &[(String, String)],
    summary: &Summary,
) -> anyhow::Result<()> {
    let failures: Vec<_> = failures
        .iter()
        .map(|(target, error)| serde_json::json!({ "target": target, "error": error }))
        .collect();
    let (failures, summary) = (json::line(&failures)?, json::line(summary)?);
    writeln!(out, "],\"failures\":{failures},\"summary\":{summary}}}")?;
    Ok(())
}
