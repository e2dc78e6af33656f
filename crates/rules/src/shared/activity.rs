//! What rules about measured figures share.

use straddle_stack::activity::{Activity, Summary};
use straddle_stack::{Layer, LayerId};

use crate::{Context, Finding};

/// The layers of which something was measured.
pub(crate) fn active<'a>(
    context: &'a Context<'a>,
) -> impl Iterator<Item = (LayerId, &'a Layer, &'a Activity)> {
    let layers = context.stack.iter();
    layers.filter_map(|(id, layer)| Some((id, layer, layer.activity.as_deref()?)))
}

/// Shows the line of the largest figure.
pub(crate) fn show_largest(
    finding: Finding,
    summary: &Summary,
    label: impl Into<String>,
) -> Finding {
    finding.evidence(&summary.max.source, label)
}

/// What a title begins with: `sda:`, `volume E:`.
pub(crate) fn titled(layer: &Layer) -> String {
    match layer.name.ends_with(':') {
        true => format!("volume {}", layer.name),
        false => format!("{}:", layer.name),
    }
}
