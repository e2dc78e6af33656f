//! Where the data of an array start on its members.

use straddle_geometry::{Bytes, Map, both_ways};
use straddle_stack::{
    Attribute, Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Source, Value,
};

use crate::context::{Findings, is_believable};
use crate::wording::{division, with_article};
use crate::{Code, Context, Finding, Prices};

/// Finds data of arrays of one kind that start off their members' sectors; returns those members, each with its array.
pub(crate) fn look(
    context: &Context<'_>,
    code: Code,
    is_of_kind: impl Fn(&Layer) -> bool,
    help: &'static str,
    findings: &mut Findings,
) -> Vec<(LayerId, LayerId)> {
    let mut off = Vec::new();
    for (id, layer) in context.stack.iter().filter(|(_, layer)| is_of_kind(layer)) {
        for (index, member) in layer.below.iter().enumerate() {
            if let Some(start) = data_start(context, layer, index, *member) {
                let array = (code, help, id, layer);
                let before = findings.len();
                check_member(context, array, *member, &start, findings);
                if findings.len() > before {
                    off.push((id, *member));
                }
            }
        }
    }
    off
}

/// Where the data of a striped or mirrored layer start on a member.
fn data_start(
    context: &Context<'_>,
    layer: &Layer,
    index: usize,
    member: LayerId,
) -> Option<Fact<Bytes>> {
    // md says it for each member by name, also where its map has no closed form (parity).
    let directory = format!("/dev-{}/", context.stack.layer(member).name);
    let said = layer.attributes.iter().find_map(|attribute| {
        let Source::HostFile { path, .. } = &attribute.value.source else {
            return None;
        };
        match attribute.value.value {
            Value::Bytes(bytes)
                if attribute.key == Key::DataOffset && path.contains(&directory) =>
            {
                Some(attribute.value.clone().map(|_| bytes))
            }
            _ => None,
        }
    });
    // Captured text has one for each member, in their order.
    let all: Vec<&Attribute> = layer
        .attributes
        .iter()
        .filter(|attribute| attribute.key == Key::DataOffset)
        .collect();
    let is_array = layer.kind == LayerKind::Array;
    let in_order = all
        .get(index)
        .filter(|_| is_array && all.len() == layer.below.len());
    let said = said.or_else(|| {
        let fact = &in_order?.value;
        match fact.value {
            Value::Bytes(bytes) => Some(fact.clone().map(|_| bytes)),
            _ => None,
        }
    });
    let mapped = match &layer.map {
        Map::Striped(striping) => striping.starts.get(index).copied(),
        Map::Raid(raid) => raid.starts.get(index).copied(),
        Map::Linear { start } if layer.kind == LayerKind::Array => Some(*start),
        _ => None,
    };
    said.or_else(|| mapped.map(|start| Fact::derived(start, "the table of the array")))
}

fn check_member(
    context: &Context<'_>,
    (code, help, id, layer): (Code, &'static str, LayerId, &Layer),
    member: LayerId,
    start: &Fact<Bytes>,
    findings: &mut Findings,
) {
    let name = &context.stack.layer(member).name;
    for grid in context.seen(member) {
        let (role, unit) = (grid.role, grid.fact.value.unit());
        let hard = matches!(role, GridRole::PhysicalSector | GridRole::IndirectionUnit);
        let Seen::Uniform(seen) = grid.seen else {
            continue;
        };
        if !hard || !is_believable(grid) || seen.contains(start.value) {
            continue;
        }
        let up = Seen::Uniform(seen.seen_from(start.value));
        let prices = Prices::of(role, unit, &up, Bytes::ZERO, &context.options.io);
        let title = format!(
            "{}: the data on member {name} start inside {} of {unit}",
            layer.name,
            with_article(role)
        );
        findings.push(
            Finding::priced(code, id, title, prices)
                .evidence(
                    &start.source,
                    format!("data offset = {}", both_ways(start.value)),
                )
                .evidence(&grid.fact.source, format!("{} = {unit}", role.name()))
                .arithmetic(division(start.value, seen))
                .help(help),
        );
    }
}
