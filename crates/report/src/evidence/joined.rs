//! Figures, joined with what is known of the same storage.

use straddle_evidence::Gathered;
use straddle_rules::{self as rules, Context, Family, Finding, Options};
use straddle_stack::{LayerId, Stack};

use super::change::{Change, changes};
use crate::{Asked, Checked};

/// What was read, and what it comes to.
pub struct Evidence {
    /// What was named, for the last line.
    pub name: String,
    /// What inputs said.
    pub gathered: Gathered,
    /// The layers of which something was measured.
    pub measured: Vec<LayerId>,
    /// The stack, with findings about performance, and those about layers whose place is known.
    pub checked: Checked,
    /// What was asked.
    pub options: Options,
    /// How many files in folders were of no known tool.
    pub passed_over: u64,
    /// What changed since an earlier capture, where there is one.
    pub changes: Vec<Change>,
}

impl Evidence {
    /// Joins figures with what is known of the same storage, and applies the rules.
    #[must_use]
    pub fn new(name: &str, gathered: Gathered, mut stack: Stack, options: Options) -> Evidence {
        let known = stack.layers().len();
        let measured = gathered.join(&mut stack);
        let context = Context::new(&stack, &options);
        let mut findings = rules::check(&context);
        // Of what logs alone speak of, nothing is known but how it did.
        findings.retain(|finding| is_about_figures(finding) || finding.layer.index() < known);
        let coverage = rules::coverage(&context, &findings);
        Evidence {
            name: name.to_owned(),
            gathered,
            measured,
            checked: Checked {
                name: name.to_owned(),
                stack,
                findings,
                coverage,
                asked: Asked::default(),
                taken: None,
                files: None,
            },
            options,
            passed_over: 0,
            changes: Vec::new(),
        }
    }

    /// The same, compared with an earlier capture of the same things.
    #[must_use]
    pub fn since(mut self, before: &Gathered) -> Evidence {
        self.changes = changes(before, &self.gathered);
        self
    }
}

fn is_about_figures(finding: &Finding) -> bool {
    finding.code.family() == Some(Family::Evidence)
}
