//! What repeats: a table of thousands of disks that all have one fault is one fault. The first findings of a rule are told, which
//! are its worst, and of the rest how many there are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Ratio;
use straddle_rules::{Code, Finding, Severity};

/// Most findings of one rule on one target that are told one by one.
pub const MAX_OF_ONE_RULE: usize = 200;

/// Findings of one rule that are not told one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Folded {
    /// The rule.
    pub code: Code,
    /// How many more there are of it.
    pub more: usize,
    /// The severity of the worst of them.
    pub severity: Severity,
    /// The price of the worst of them: extra operations, as part of those when aligned.
    pub worst_extra: Ratio,
}

/// The findings that are told, in their order, and what became of the others, by code.
pub(crate) fn fold(findings: &[Finding]) -> (Vec<&Finding>, Vec<Folded>) {
    let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
    let mut folded: BTreeMap<Code, Folded> = BTreeMap::new();
    let mut told = Vec::new();
    for finding in findings {
        let count = counts.entry(finding.code).or_default();
        *count += 1;
        if *count <= MAX_OF_ONE_RULE {
            told.push(finding);
            continue;
        }
        let price = finding.worst_price();
        let all = folded.entry(finding.code).or_insert(Folded {
            code: finding.code,
            more: 0,
            severity: finding.severity,
            worst_extra: price,
        });
        all.more += 1;
        all.severity = all.severity.max(finding.severity);
        all.worst_extra = all.worst_extra.max(price);
    }
    (told, folded.into_values().collect())
}
