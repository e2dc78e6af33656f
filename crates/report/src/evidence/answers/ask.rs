//! What all questions are asked of.

use straddle_stack::Layer;
use straddle_stack::activity::{Activity, Quantity, Span, Summary};

use crate::evidence::joined::Evidence;

/// An answer, and what would answer what stays open.
pub(super) type Said = Option<(String, Option<&'static str>)>;

/// The layers that have a series, with it.
pub(super) fn having(
    evidence: &Evidence,
    quantity: Quantity,
    span: Span,
) -> Vec<(&Layer, &Activity, &Summary)> {
    let layers = evidence
        .measured
        .iter()
        .map(|id| evidence.checked.stack.layer(*id));
    let series = layers.filter_map(|layer| {
        let activity = layer.activity.as_deref()?;
        Some((layer, activity, activity.mean(quantity, span)?))
    });
    series.collect()
}

pub(super) const LATENCIES: [Quantity; 3] = [
    Quantity::ReadLatency,
    Quantity::WriteLatency,
    Quantity::TransferLatency,
];
