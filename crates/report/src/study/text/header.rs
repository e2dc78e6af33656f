//! What was published, and where.

use std::fmt::Write;

use straddle_predict::study::registry::known_as;

use super::Studied;
use crate::bench::wording::list;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{STRONG, paint};

/// Column at which the text behind a name begins.
const MARGIN: usize = 15;

pub(super) fn render(studied: &Studied, width: usize, out: &mut String) {
    let study = &studied.study;
    let mut line = |name: &str, text: &str| {
        for (index, part) in folded(&terminal(text), width - MARGIN).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let padding = " ".repeat(MARGIN.saturating_sub(name.len()));
            let _ = writeln!(out, "{}{padding}{part}", paint(STRONG, name));
        }
    };
    line(
        "study",
        &format!("{}: {}", known_as(&study.name), study.title),
    );
    line("source", &study.source);
    line("configuration", &study.configuration);
    let profiles: Vec<String> = study.profiles().into_iter().map(str::to_owned).collect();
    line("profile", &list(&profiles));
    if let Some(identifies) = &study.identifies {
        line("identifies", identifies);
    }
}
