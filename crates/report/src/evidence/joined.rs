//! Figures, joined with what is known of the same storage.

use straddle_evidence::Gathered;
use straddle_rules::{self as rules, Context, Family, Finding, Options};
use straddle_stack::{LayerId, Stack};

use super::change::{Change, Unmatched, changes, some};
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
    /// What cannot be compared with it, because one of the two has no figures of it.
    pub unmatched: Unmatched,
}

impl Evidence {
    /// Joins figures with what is known of the same storage, and applies the rules.
    #[must_use]
    pub fn new(name: &str, mut gathered: Gathered, mut stack: Stack, options: Options) -> Evidence {
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
            unmatched: Unmatched::default(),
        }
    }

    /// The same, compared with an earlier capture of the same things.
    #[must_use]
    pub fn since(mut self, before: &Gathered) -> Evidence {
        self.changes = changes(before, &self.gathered);
        self.unmatched = Unmatched::of(before, &self.gathered);
        self
    }

    /// Why nothing was compared with the earlier capture; `None` when something was.
    #[must_use]
    pub fn why_nothing_changed(&self) -> Option<String> {
        let Unmatched { before, after } = &self.unmatched;
        if !self.changes.is_empty() {
            return None;
        }
        Some(match self.unmatched.is_mutual() {
            true => format!(
                "nothing in it can be compared: it has figures of {}, the rest of {}; what is compared has the same name in both",
                some(before),
                some(after)
            ),
            false => "nothing in it can be compared: means of intervals have to be in both, or two readings of the same counters in each; two readings \
                      of which one is older are given together, without --before"
                .to_owned(),
        })
    }
}

fn is_about_figures(finding: &Finding) -> bool {
    finding.code.family() == Some(Family::Evidence)
}
