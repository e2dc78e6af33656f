//! Pages that people look at: documents that verbs printed, as one self-contained HTML file, as Markdown, or as pictures.
//!
//! A verb's file says what it reads of the verb's document and makes [`Section`]s of it, whose parts are the same whatever they are
//! written as; nothing is computed again. `html.rs` and `markdown.rs` write them.

mod bench;
mod block;
pub(crate) mod chart;
mod check;
mod document;
mod evidence;
mod finding;
mod fix;
mod fleet;
mod html;
mod map;
mod markdown;
mod measure;
mod predict;
mod read;
mod ruler;
mod study;
mod trace;

pub use block::{
    Answer, Block, Column, Figure, Finding, Fleet, FleetRows, Picture, Ruler, RulerData, RulerGrid,
    RulerPanel, Section, Series, Table,
};
pub use html::html;
pub use markdown::markdown;
pub use measure::{Measure, Scale, Spread, Summary};

use serde::Serialize;
use std::io::Read;

use crate::utc::when;
use document::Document;
use straddle_history::Entry;

/// What is known of a run besides its document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// What it is called: a file, or `run 12`.
    pub name: String,
    /// More of it, in words: when, on which machine, by which command.
    pub facts: Vec<(String, String)>,
}

impl About {
    /// What a history knows of a run.
    #[must_use]
    pub fn kept(entry: &Entry) -> About {
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut facts = vec![fact("began", &when(entry.began_seconds()))];
        for (name, value) in [
            ("machine", &entry.machine),
            ("command", &entry.command),
            ("version", &entry.version),
        ] {
            if !value.is_empty() {
                facts.push(fact(name, value));
            }
        }
        About {
            name: format!("run {}", entry.id),
            facts,
        }
    }
}

/// A page: documents in the order in which they were named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// Where a link at its head leads, for a page that is one of several.
    pub home: Option<String>,
    /// One for each document.
    pub parts: Vec<Part>,
}

/// A document on a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is called and where it comes from.
    pub about: About,
    /// What it says.
    pub sections: Vec<Section>,
}

/// A document in short: what a history needs to find it again, and what another is compared with.
///
/// # Errors
/// As [`Page::add`].
pub fn summary(mut document: impl Read) -> serde_json::Result<Summary> {
    let document = document::document(&mut document)?;
    let mut summary = match &document {
        Document::Check(document) => check::summary(document),
        Document::Bench(document) => bench::summary(document),
        Document::Predict(document) => predict::summary(document),
        Document::Study(document) => study::summary(document),
        Document::Fix(document) => fix::summary(document),
        Document::Evidence(document) => evidence::summary(document),
        Document::Trace(document) => trace::summary(document),
    };
    let sections = sections(document);
    if let Some(first) = sections.first() {
        summary.verb = first.verb;
        summary.target.clone_from(&first.title);
        summary.headline.clone_from(&first.answer);
    }
    if sections.len() > 1 && summary.verb != "check" {
        let more = sections.len() - 1;
        summary.target.push_str(&format!(" and {more} more"));
    }
    Ok(summary)
}

fn sections(document: Document) -> Vec<Section> {
    match document {
        Document::Check(document) => check::sections(*document),
        Document::Bench(document) => vec![bench::section(&document)],
        Document::Predict(document) => predict::sections(&document),
        Document::Study(document) => study::sections(&document),
        Document::Fix(document) => vec![fix::section(&document)],
        Document::Evidence(document) => vec![evidence::section(&document)],
        Document::Trace(document) => vec![trace::section(&document)],
    }
}

impl Page {
    /// A page of one section.
    #[must_use]
    pub fn of(section: Section) -> Page {
        Page {
            title: format!("{}: {}", section.verb, section.title),
            home: None,
            parts: vec![Part {
                about: About::default(),
                sections: vec![section],
            }],
        }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// With line and column, where it is no document of a command of which a report can be made.
    pub fn add(&mut self, about: About, mut document: impl Read) -> serde_json::Result<()> {
        let sections = sections(document::document(&mut document)?);
        if self.title.is_empty() {
            let first = sections.first();
            self.title = first.map_or_else(String::new, |section| {
                format!("{}: {}", section.verb, section.title)
            });
        }
        self.parts.push(Part { about, sections });
        Ok(())
    }

    /// Its pictures, each by itself with its colours, and what it shows.
    #[must_use]
    pub fn pictures(&self) -> Vec<(String, String)> {
        let sections = self.parts.iter().flat_map(|part| &part.sections);
        let blocks = sections.flat_map(|section| &section.blocks);
        let picture = |block: &Block| match block {
            Block::Figure(figure) => {
                Some((figure.title.clone(), chart::alone(&figure.picture.wide)))
            }
            Block::Ruler(ruler) => {
                let title = format!("A request on {}", ruler.layer);
                Some((title, chart::alone(&ruler.picture.wide)))
            }
            _ => None,
        };
        blocks.filter_map(picture).collect()
    }
}
