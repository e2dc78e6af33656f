//! Hosts that are alike: the same findings at the same places on the same models.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Ratio;
use straddle_rules::{Code, Severity};
use straddle_stack::{Key, LayerKind};

use crate::Checked;

/// How many hosts of a kind are named.
const NAMED: usize = 3;
/// Most kinds that are told apart. Of a fleet with more, the others are counted together.
const MAX_KINDS: usize = 4096;

/// Hosts that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Alike {
    /// How many there are.
    pub hosts: usize,
    /// The first of them, at most three.
    pub first: Vec<String>,
    /// Their rules, each with its worst severity and price, those that cost most first.
    pub findings: Vec<AlikeFinding>,
    /// Models of their disks.
    pub models: Vec<String>,
    /// Why nothing was checked on them, where that is so.
    pub unchecked: Option<&'static str>,
    /// The line of the first of them.
    #[serde(skip)]
    pub(crate) line: Likeness,
}

/// What a rule found on each of some hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AlikeFinding {
    /// The rule.
    pub code: Code,
    /// Severity of its worst finding.
    pub severity: Severity,
    /// What that costs.
    pub extra: Ratio,
    /// How many findings of it there are on each host.
    pub findings: usize,
}

/// What makes two hosts alike, and what is told of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Likeness {
    /// Equal for hosts that are alike. That two others have the same is as likely as a disk that reads back something else.
    key: u128,
    /// What the first finding says.
    pub(crate) title: String,
}

/// A host as one of many.
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    kind: Alike,
}

impl Host {
    /// The host that a target is; `None` of what is no host.
    #[must_use]
    pub fn of(checked: &Checked) -> Option<Host> {
        if !is_host(checked) {
            return None;
        }
        let stack = &checked.stack;
        let mut findings: Vec<AlikeFinding> = Vec::new();
        let mut places: Vec<String> = Vec::new();
        for finding in &checked.findings {
            let layer = stack.layer(finding.layer);
            let start = layer.placement.as_ref().map(|fact| fact.value.start());
            // Names of hosts stand in titles, and are not what makes them different.
            places.push(format!(
                "{} {:?} {} {} {start:?}",
                finding.code,
                finding.severity,
                finding.worst_price(),
                layer.kind.name(),
            ));
            match findings.iter_mut().find(|of| of.code == finding.code) {
                Some(of) => {
                    of.findings += 1;
                    of.severity = of.severity.max(finding.severity);
                    of.extra = of.extra.max(finding.worst_price());
                }
                None => findings.push(AlikeFinding {
                    code: finding.code,
                    severity: finding.severity,
                    extra: finding.worst_price(),
                    findings: 1,
                }),
            }
        }
        findings.sort_by(|a, b| {
            let cost = |of: &AlikeFinding| (of.extra, of.severity);
            cost(b).cmp(&cost(a)).then(a.code.cmp(&b.code))
        });
        places.sort_unstable();
        let mut models: Vec<String> = stack
            .iter()
            .filter(|(_, layer)| layer.kind == LayerKind::Device && layer.below.is_empty())
            .filter_map(|(_, layer)| layer.text(Key::Model).map(str::to_owned))
            .collect();
        models.sort_unstable();
        models.dedup();
        let unchecked = checked.coverage.why().map(|why| why.words());
        let key = key_of(places.iter().chain(&models).map(String::as_str), unchecked);
        let title = checked
            .findings
            .first()
            .map_or_else(String::new, |finding| finding.title.clone());
        let name = host_name(checked);
        Some(Host {
            kind: Alike {
                hosts: 1,
                first: vec![name.clone()],
                findings,
                models,
                unchecked,
                line: Likeness { key, title },
            },
            name,
        })
    }
}

/// What was found where, and on what, as a number: the words of a host with thousands of partitions are long, and there may be thousands of
/// hosts.
fn key_of<'p>(parts: impl Iterator<Item = &'p str> + Clone, unchecked: Option<&str>) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        for part in parts.clone() {
            part.hash(&mut hasher);
        }
        unchecked.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// What the host is called: as it was taken for, else as the target.
fn host_name(checked: &Checked) -> String {
    let host = checked.taken.as_ref().and_then(|taken| taken.host.as_ref());
    host.unwrap_or(&checked.name).clone()
}

/// True for a machine: captured, collected, or told of by text.
fn is_host(checked: &Checked) -> bool {
    let taken = checked.taken.as_ref().map(|taken| taken.kind);
    matches!(taken, Some("capture" | "support"))
        || checked
            .stack
            .layers()
            .iter()
            .any(|layer| layer.attribute(Key::Platform).is_some())
}

/// The hosts of a fleet by kind. Its size does not grow with their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    kinds: BTreeMap<u128, Alike>,
    pub(crate) hosts: usize,
    /// Hosts of kinds that were too many.
    pub(crate) others: usize,
}

impl Kinds {
    pub(crate) fn add(&mut self, host: Host) {
        self.hosts += 1;
        let is_full = self.kinds.len() >= MAX_KINDS;
        match self.kinds.entry(host.kind.line.key) {
            Entry::Occupied(mut of) => {
                let of = of.get_mut();
                of.hosts += 1;
                if of.first.len() < NAMED {
                    of.first.push(host.name);
                }
            }
            Entry::Vacant(_) if is_full => self.others += 1,
            Entry::Vacant(none) => {
                none.insert(host.kind);
            }
        }
    }

    /// The kinds, worst first; of two that are as bad, the one with more hosts.
    pub(crate) fn all(self) -> Vec<Alike> {
        let mut all: Vec<Alike> = self.kinds.into_values().collect();
        let cost = |of: &Alike| {
            let worst = of.findings.first();
            worst.map(|worst| (worst.extra, worst.severity))
        };
        all.sort_by(|a, b| {
            (cost(b), b.hosts)
                .cmp(&(cost(a), a.hosts))
                .then_with(|| a.first.cmp(&b.first))
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asked, Taken};
    use straddle_rules::{Finding, Options, codes};
    use straddle_stack::{Fact, Layer, Stack, Value};

    fn host(name: &str, model: &str, starts: &[(&str, Severity)]) -> Host {
        let mut stack = Stack::new();
        let mut disk = Layer::new(LayerKind::Device, "sda");
        disk.set(
            Key::Model,
            Fact::stated(Value::Text(model.to_owned().into()), "test", ""),
        );
        let disk = stack.push(disk);
        let mut checked = Checked::new(name, stack, &Options::default(), Asked::default());
        checked.findings = starts
            .iter()
            .map(|(title, severity)| {
                Finding::new(
                    codes::PARTITION_START_PHYSICAL_SECTOR,
                    *severity,
                    disk,
                    *title,
                )
            })
            .collect();
        checked.taken = Some(Box::new(Taken {
            kind: "capture",
            words: format!("a capture of host {name}"),
            host: Some(name.to_owned()),
            instead: None,
        }));
        Host::of(&checked).expect("a host")
    }

    #[test]
    fn hosts_are_folded_by_what_was_found_where_and_on_what() {
        let mut kinds = Kinds::default();
        for n in 0..5 {
            let title = format!("sda1 of db{n} is off");
            kinds.add(host(&format!("db{n}"), "A", &[(&title, Severity::Error)]));
        }
        kinds.add(host("other-model", "B", &[("off", Severity::Error)]));
        kinds.add(host("clean", "A", &[]));
        kinds.add(host(
            "twice",
            "A",
            &[("a", Severity::Error), ("b", Severity::Error)],
        ));
        assert_eq!((kinds.hosts, kinds.others), (8, 0));
        let all = kinds.all();
        let found: Vec<(usize, &str)> = all
            .iter()
            .map(|of| (of.hosts, of.first[0].as_str()))
            .collect();
        assert_eq!(
            found,
            [(5, "db0"), (1, "other-model"), (1, "twice"), (1, "clean")]
        );
        assert_eq!(all[0].first, ["db0", "db1", "db2"]);
        assert_eq!(all[2].findings[0].findings, 2);
        assert!(all[3].findings.is_empty());
    }

    #[test]
    fn kinds_are_bounded_and_no_host_is_lost() {
        let mut kinds = Kinds::default();
        for n in 0..MAX_KINDS + 10 {
            kinds.add(host(&format!("h{n}"), &format!("model {n}"), &[]));
        }
        kinds.add(host("again", "model 0", &[]));
        assert_eq!((kinds.hosts, kinds.others), (MAX_KINDS + 11, 10));
        let counted: usize = kinds.all().iter().map(|of| of.hosts).sum();
        assert_eq!(counted, MAX_KINDS + 1);
    }
}
