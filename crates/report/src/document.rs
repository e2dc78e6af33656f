use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Unit};
use straddle_rules::{self as rules, Context, Correlation, Coverage, Finding, Options, Severity};
use straddle_stack::{GridRole, Interval, Key, Layer, LayerId, LayerKind, Stack, Trust, Value};

use crate::below::{FilesBelow, Taken};
use crate::fold::{Folded, fold};
use crate::places::{Asked, Place, places};
use crate::views::{View, views};

/// Name and version of the JSON document that `check` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.check/1";

/// A target, and what was found out about it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The target as the user named it; the host's own name for the host.
    pub name: String,
    /// Its stack.
    pub stack: Stack,
    /// What the rules say, worst first.
    pub findings: Vec<Finding>,
    /// What these rest on: whether the start of anything was checked.
    pub coverage: Coverage,
    /// The bytes whose ways down are told.
    pub asked: Asked,
    /// What the target was taken for, where it could have been something else.
    pub taken: Option<Box<Taken>>,
    /// Of a directory: its largest files.
    pub files: Option<Box<FilesBelow>>,
}

/// Commands that go on from a check.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Next<'a> {
    /// Says whether it is worth fixing, and how.
    pub fix: &'a str,
    /// Moves the partitions, where that is a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realign: Option<&'a str>,
}

/// A [`Checked`] target in JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TargetDocument<'a> {
    /// The target as the user named it.
    pub target: &'a str,
    /// What it was taken for, where it could have been something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_as: Option<&'a Taken>,
    /// Whether the start of anything was checked; where none was, why, and what to capture next.
    pub coverage: &'a Coverage,
    /// Number of findings by severity.
    pub counts: Counts,
    /// What the rules say, worst first; of one rule at most 200. `layer` is an index into `stack`.
    pub findings: Vec<&'a Finding>,
    /// How many more findings there are of each rule that has more. They are in `counts`.
    pub folded: Vec<Folded>,
    /// The two classical correlations for every partition.
    pub correlations: Vec<LayerCorrelations>,
    /// Where bytes lie in every layer below, and what changes there when they are written: of the layers that were asked for,
    /// else the first byte of each topmost layer of a guest.
    pub places: Vec<Place>,
    /// How the grids below look from where requests begin.
    pub views: Vec<View>,
    /// Of a directory: its largest files from below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<&'a FilesBelow>,
    /// The layers, lowest first.
    pub stack: &'a Stack,
    /// What to type next, where one target was checked and a plan for it has a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next<'a>>,
}

/// The classical correlations of one layer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LayerCorrelations {
    /// Index into the stack.
    pub layer: LayerId,
    /// Both divisions, as far as their units are known; a layer for which none is known is not listed.
    pub correlations: Vec<Correlation>,
}

/// Number of findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

impl Counts {
    /// Counts findings.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Counts {
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
        Counts {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }
}

impl Checked {
    /// Applies all rules to a stack.
    #[must_use]
    pub fn new(name: impl Into<String>, stack: Stack, options: &Options, asked: Asked) -> Checked {
        let context = Context::new(&stack, options);
        let findings = rules::check(&context);
        let coverage = rules::coverage(&context, &findings);
        Checked {
            name: name.into(),
            stack,
            findings,
            coverage,
            asked,
            taken: None,
            files: None,
        }
    }

    /// The target in JSON.
    #[must_use]
    pub fn document(&self) -> TargetDocument<'_> {
        let correlations = self
            .stack
            .iter()
            .filter(|(id, _)| has_correlations(&self.stack, *id))
            .map(|(id, _)| LayerCorrelations {
                layer: id,
                correlations: correlations(&self.stack, id),
            })
            .filter(|layer| !layer.correlations.is_empty())
            .collect();
        let (findings, folded) = fold(&self.findings);
        TargetDocument {
            target: &self.name,
            taken_as: self.taken.as_deref(),
            coverage: &self.coverage,
            counts: Counts::of(&self.findings),
            findings,
            folded,
            correlations,
            places: places(self),
            views: views(&self.stack),
            files: self.files.as_deref(),
            stack: &self.stack,
            next: None,
        }
    }
}

/// True for what the classical correlations are about: partitions that hold data, and filesystems without a partition.
pub(crate) fn has_correlations(stack: &Stack, id: LayerId) -> bool {
    let layer = stack.layer(id);
    match layer.kind {
        LayerKind::Partition => layer.attribute(Key::HoldsPartitions).is_none(),
        LayerKind::Filesystem => stack
            .only_below(id)
            .is_none_or(|below| stack.layer(below).kind != LayerKind::Partition),
        _ => false,
    }
}

/// What the first correlation is called.
pub(crate) fn first_correlation(layer: &Layer) -> &'static str {
    match layer.kind {
        LayerKind::Partition => "partition offset ÷ stripe unit",
        _ => "start ÷ stripe unit",
    }
}

/// `partition offset ÷ stripe unit` and `stripe unit ÷ allocation unit`, as far as the units are known.
pub(crate) fn correlations(stack: &Stack, partition: LayerId) -> Vec<Correlation> {
    let mut out = Vec::new();
    let Some((base, stripe_unit)) = stripe_unit_below(stack, partition) else {
        return out;
    };
    if let Some(start) = stack.start_in(partition, base) {
        out.push(Correlation::new(
            first_correlation(stack.layer(partition)),
            start,
            stripe_unit,
        ));
    }
    if let Some(unit) = allocation_unit_above(stack, partition) {
        out.push(Correlation::new(
            "stripe unit ÷ allocation unit",
            stripe_unit.bytes(),
            unit,
        ));
    }
    out
}

/// The nearest layer below that has a stripe unit, and that unit.
pub(crate) fn stripe_unit_below(stack: &Stack, layer: LayerId) -> Option<(LayerId, Unit)> {
    stack.foundations(layer).into_iter().find_map(|id| {
        stack
            .layer(id)
            .grid(GridRole::StripeUnit)
            .map(|fact| (id, fact.value.unit()))
    })
}

/// The allocation unit of a filesystem, or of the one that stands directly on a layer.
pub(crate) fn allocation_unit_above(stack: &Stack, layer: LayerId) -> Option<Unit> {
    std::iter::once(layer)
        .chain(stack.above(layer))
        .find_map(|id| {
            stack
                .layer(id)
                .grid(GridRole::AllocationUnit)
                .map(|fact| fact.value.unit())
        })
}

/// Where a layer starts in the layer directly below it.
pub(crate) fn start_below(stack: &Stack, layer: LayerId) -> Option<Bytes> {
    let below = stack.only_below(layer)?;
    stack.start_in(layer, below)
}

/// What a rounded figure leaves open, and how far it is trusted.
pub(crate) fn between(layer: &Layer, key: Key) -> Option<(Interval, Trust)> {
    let fact = layer.attribute(key)?;
    match fact.value {
        Value::Between(interval) => Some((interval, fact.trust)),
        _ => None,
    }
}
