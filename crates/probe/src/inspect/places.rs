//! Where partitions lie: whether they overlap, reach beyond what holds them, or leave their container.

use straddle_geometry::{Bytes, Extent};
use straddle_stack::{Anomaly, AnomalyKind, LayerId, Source, Stack};

use crate::{Child, Nesting};

/// Reports partitions that overlap, reach beyond the end of what holds them, or leave their container.
pub(super) fn check(stack: &mut Stack, base: LayerId, size: Bytes, children: &[Child]) {
    let mut anomalies = Vec::new();
    let mut report = |child: &Child, detail: String| {
        let source: Source = child.placement.source.clone();
        anomalies.push(Anomaly::at(AnomalyKind::Overlap, detail, source));
    };
    for child in children {
        let extent = child.placement.value;
        if !Extent::whole(size).contains(extent) {
            let detail = format!(
                "{} ends at byte {}, beyond the end at {}",
                child.name,
                extent.end().grouped(),
                size.grouped()
            );
            report(child, detail);
        }
        let held = || {
            children.iter().any(|other| {
                other.nesting == Nesting::Container && other.placement.value.contains(extent)
            })
        };
        if child.nesting == Nesting::Contained && !held() {
            let detail = format!(
                "{}, bytes {} to {}, lies outside of every extended partition",
                child.name,
                extent.start().grouped(),
                extent.end().grouped()
            );
            report(child, detail);
        }
    }
    // A container may cover what it contains but nothing else, so the two are compared with the plain ones in turn.
    for other_kind in [Nesting::Container, Nesting::Contained] {
        let mut order: Vec<&Child> = children
            .iter()
            .filter(|child| !child.placement.value.is_empty())
            .filter(|child| matches!(child.nesting, n if n == other_kind || n == Nesting::Plain))
            .collect();
        if other_kind == Nesting::Contained && !order.iter().any(|c| c.nesting == other_kind) {
            continue;
        }
        // Sorted by start, a partition can only overlap one before it that reaches furthest.
        order.sort_by_key(|child| child.placement.value.start());
        let mut furthest: Option<&Child> = None;
        for child in order {
            let extent = child.placement.value;
            if let Some(before) = furthest
                .filter(|before| before.placement.value.overlaps(extent))
                // Two plain ones were compared in the first turn.
                .filter(|before| {
                    other_kind == Nesting::Container
                        || [before.nesting, child.nesting].contains(&other_kind)
                })
            {
                let detail = format!(
                    "{} starts at byte {}, inside {}, which ends at {}",
                    child.name,
                    extent.start().grouped(),
                    before.name,
                    before.placement.value.end().grouped()
                );
                report(child, detail);
            }
            if furthest.is_none_or(|before| before.placement.value.end() < extent.end()) {
                furthest = Some(child);
            }
        }
    }
    stack.layer_mut(base).anomalies.extend(anomalies);
}
