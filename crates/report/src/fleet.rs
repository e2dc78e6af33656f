//! What many targets come to: counts, which findings, the worst ones. Its size does not grow with their number.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use straddle_geometry::Ratio;
use straddle_rules::{Code, Finding, Severity, Why};

use crate::Checked;
use crate::alike::{Alike, Host, Kinds};

/// How many of the worst targets are named.
pub(crate) const NAMED: usize = 10;

/// What many targets come to.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// The worst targets: those whose worst finding costs most, at most ten; none with nothing but notes that cost nothing.
    pub worst: Vec<Worst>,
    /// Each rule that found something, the one that costs most first.
    pub rules: Vec<RuleCount>,
    /// Targets looked at.
    pub targets: usize,
    /// Targets whose worst finding is an error.
    pub with_errors: usize,
    /// Targets whose worst finding is a warning.
    pub with_warnings: usize,
    /// Targets with notes only.
    pub with_notes: usize,
    /// Targets without any finding.
    pub clean: usize,
    /// Targets with notes at most, of which no start was checked.
    pub unchecked: usize,
    /// Every target of which no start was checked, by reason.
    pub gaps: Vec<Gap>,
    /// Files in which nothing was recognised.
    pub unrecognised: usize,
    /// Targets that could not be read.
    pub failed: usize,
    /// How many of the targets are hosts.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hosts: usize,
    /// The hosts by what was found on them, worst first: those that are alike are counted together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<Alike>,
    /// Hosts that are like none of these, where there are too many kinds to tell them all apart.
    #[serde(default, skip_serializing_if = "is_none")]
    pub other_hosts: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Targets of which no start was checked, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gap {
    /// The reason.
    pub why: Why,
    /// How many there are.
    pub targets: usize,
    /// The first of them, at most ten.
    pub first: Vec<String>,
}

/// The worst finding on a target.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Worst {
    /// The target.
    pub target: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// What it costs for the worst of the request sizes asked for: extra operations per operation when aligned.
    pub extra: Ratio,
    /// Its rule.
    pub code: Code,
    /// What is the case.
    pub title: String,
}

/// How often a rule found something.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuleCount {
    /// The rule.
    pub code: Code,
    /// Severity of its worst finding.
    pub severity: Severity,
    /// What its worst finding costs.
    pub extra: Ratio,
    /// Targets on which it found something.
    pub targets: usize,
    /// Its findings on all of them.
    pub findings: usize,
}

/// What one target comes to.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    /// Why nothing was checked, if that is so, and of what.
    gap: Option<(Why, String)>,
    worst: Option<Worst>,
    rules: Vec<RuleCount>,
    host: Option<Box<Host>>,
}

impl Digest {
    /// True when the target is a host, whose line is that of all that are alike.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.host.is_some()
    }

    /// The digest of a target's findings.
    #[must_use]
    pub fn of(checked: &Checked) -> Digest {
        let mut rules: Vec<RuleCount> = Vec::new();
        for finding in &checked.findings {
            match rules.iter_mut().find(|rule| rule.code == finding.code) {
                Some(rule) => rule.add(&RuleCount::of(finding)),
                None => rules.push(RuleCount::of(finding)),
            }
        }
        // Findings are worst first.
        let worst = checked.findings.first().map(|finding| Worst {
            target: checked.name.clone(),
            severity: finding.severity,
            extra: finding.worst_price(),
            code: finding.code,
            title: finding.title.clone(),
        });
        let gap = checked
            .coverage
            .why()
            .map(|why| (why, checked.name.clone()));
        Digest {
            gap,
            worst,
            rules,
            host: Host::of(checked).map(Box::new),
        }
    }

    /// The worst severity.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.worst.as_ref().map(|worst| worst.severity)
    }
}

impl RuleCount {
    fn of(finding: &Finding) -> RuleCount {
        RuleCount {
            code: finding.code,
            severity: finding.severity,
            extra: finding.worst_price(),
            targets: 1,
            findings: 1,
        }
    }

    /// Adds findings of the same rule, on the same target.
    fn add(&mut self, other: &RuleCount) {
        self.findings += other.findings;
        self.severity = self.severity.max(other.severity);
        if other.extra > self.extra {
            self.extra = other.extra;
        }
    }
}

/// A [`Summary`] while targets are still being added.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    summary: Summary,
    rules: BTreeMap<Code, RuleCount>,
    kinds: Kinds,
}

impl Fleet {
    /// Adds one target. Of two that cost the same, the first one stays ahead.
    pub fn add(&mut self, mut digest: Digest) {
        if let Some(host) = digest.host.take() {
            self.kinds.add(*host);
        }
        let summary = &mut self.summary;
        summary.targets += 1;
        match digest.severity() {
            None | Some(Severity::Note) if digest.gap.is_some() => summary.unchecked += 1,
            Some(Severity::Error) => summary.with_errors += 1,
            Some(Severity::Warning) => summary.with_warnings += 1,
            Some(Severity::Note) => summary.with_notes += 1,
            None => summary.clean += 1,
        }
        if let Some((why, target)) = digest.gap {
            self.gap(why, target);
        }
        let summary = &mut self.summary;
        // A note that costs nothing, such as a fact that was not captured, makes no target one of the worst.
        let tells = |worst: &Worst| worst.severity > Severity::Note || !worst.extra.is_zero();
        if let Some(worst) = digest.worst.filter(tells) {
            let key = |w: &Worst| (w.extra, w.severity);
            let at = summary
                .worst
                .iter()
                .position(|other| key(other) < key(&worst))
                .unwrap_or(summary.worst.len());
            if at < NAMED {
                summary.worst.insert(at, worst);
                summary.worst.truncate(NAMED);
            }
        }
        for rule in digest.rules {
            match self.rules.get_mut(&rule.code) {
                Some(have) => {
                    have.add(&rule);
                    have.targets += 1;
                }
                None => {
                    self.rules.insert(rule.code, rule);
                }
            }
        }
    }

    fn gap(&mut self, why: Why, target: String) {
        let gaps = &mut self.summary.gaps;
        let at = gaps.iter().position(|gap| gap.why == why);
        let at = at.unwrap_or_else(|| {
            gaps.push(Gap {
                why,
                targets: 0,
                first: Vec::new(),
            });
            gaps.len() - 1
        });
        let gap = &mut gaps[at];
        gap.targets += 1;
        if gap.first.len() < NAMED {
            gap.first.push(target);
        }
    }

    /// Counts a file that is nothing that is read.
    pub fn unrecognised(&mut self, why: Why, target: String) {
        self.summary.unrecognised += 1;
        self.gap(why, target);
    }

    /// Counts a target that could not be read.
    pub fn failed(&mut self) {
        self.summary.failed += 1;
    }

    /// Targets added so far.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.summary.targets
    }

    /// True when the start of anything was checked, or something is known to be blank.
    #[must_use]
    pub fn is_any_checked(&self) -> bool {
        let summary = &self.summary;
        let gaps: usize = summary.gaps.iter().map(|gap| gap.targets).sum();
        summary.targets + summary.unrecognised > gaps
    }

    /// What they come to.
    #[must_use]
    pub fn summary(self) -> Summary {
        let mut rules: Vec<RuleCount> = self.rules.into_values().collect();
        rules.sort_by(|a, b| {
            let key = |rule: &RuleCount| (rule.extra, rule.severity, rule.targets);
            key(b).cmp(&key(a)).then(a.code.cmp(&b.code))
        });
        Summary {
            rules,
            hosts: self.kinds.hosts,
            other_hosts: self.kinds.others,
            alike: self.kinds.all(),
            ..self.summary
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_rules::codes;

    fn digest(target: usize, percent: u64) -> Digest {
        let extra = Ratio::new(percent, 100).expect("not zero");
        let severity = Severity::of_price(extra);
        Digest {
            gap: None,
            worst: Some(Worst {
                target: target.to_string(),
                severity,
                extra,
                code: codes::PARTITION_START_PHYSICAL_SECTOR,
                title: String::new(),
            }),
            rules: vec![RuleCount {
                code: codes::PARTITION_START_PHYSICAL_SECTOR,
                severity,
                extra,
                targets: 1,
                findings: 2,
            }],
            host: None,
        }
    }

    #[test]
    fn the_ten_worst_of_many_are_named_worst_first() {
        let mut fleet = Fleet::default();
        for target in 0..1000 {
            // Every price from 0% to 99%, ten times, in no order.
            fleet.add(digest(
                target,
                (u64::try_from(target).expect("small") * 37) % 100,
            ));
        }
        fleet.add(Digest::default());
        let summary = fleet.summary();
        let prices: Vec<String> = summary.worst.iter().map(|w| w.extra.to_string()).collect();
        assert_eq!(prices, vec!["99%"; 10]);
        let first: usize = summary.worst[0].target.parse().expect("a number");
        assert_eq!(first * 37 % 100, 99);
        assert!(first < 100, "the first of those that cost the same");
        assert_eq!((summary.targets, summary.clean), (1001, 1));
        let counted = (summary.rules[0].targets, summary.rules[0].findings);
        assert_eq!(counted, (1000, 2000));
        assert_eq!(
            summary.with_errors + summary.with_warnings + summary.with_notes,
            1000
        );
    }

    #[test]
    fn targets_of_which_nothing_was_checked_are_counted_by_reason() {
        let mut fleet = Fleet::default();
        for target in 0..12 {
            fleet.add(Digest {
                gap: Some((Why::NoStart, target.to_string())),
                ..Digest::default()
            });
        }
        fleet.unrecognised(Why::NoOutput, "readme".to_owned());
        assert!(!fleet.is_any_checked());
        // What is wrong all the same is not hidden by it.
        fleet.add(Digest {
            gap: Some((Why::NoStart, "sda".to_owned())),
            ..digest(50, 50)
        });
        assert!(!fleet.is_any_checked());
        fleet.add(digest(1, 0));
        assert!(fleet.is_any_checked());
        let summary = fleet.summary();
        let gaps: Vec<_> = summary
            .gaps
            .iter()
            .map(|gap| (gap.why, gap.targets, gap.first.len()))
            .collect();
        assert_eq!(gaps, [(Why::NoStart, 13, 10), (Why::NoOutput, 1, 1)]);
        assert_eq!((summary.unchecked, summary.clean), (12, 0));
        assert_eq!((summary.targets, summary.unrecognised), (14, 1));
    }
}
