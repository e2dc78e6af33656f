//! What rules about a filesystem's own idea of the array below share.

use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, SeenGrid};

use crate::context::Findings;
use crate::{Code, Context, Finding, Severity, codes};

/// How a filesystem names its array geometry.
pub(crate) struct Names {
    /// Its format.
    pub(crate) format: &'static str,
    /// Its word for the stripe unit.
    pub(crate) unit: &'static str,
    /// Its word for the full stripe.
    pub(crate) width: &'static str,
    /// How to correct it.
    pub(crate) help: &'static str,
}

/// Reports filesystems whose geometry disagrees with the array below them.
pub(crate) fn check(code: Code, names: &Names, context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let mine = layer
            .format
            .as_deref()
            .is_some_and(|format| format.starts_with(names.format));
        if !mine {
            continue;
        }
        let pairs = [
            (Key::FsStripeUnit, GridRole::StripeUnit, names.unit),
            (Key::FsFullStripe, GridRole::FullStripe, names.width),
        ];
        for (key, role, name) in pairs {
            let has = layer.bytes(key).filter(|fact| fact.value > Bytes::ZERO);
            let wants = context.below(id, role).next();
            let finding = compare(code, context, (id, layer), has, wants, role, name);
            if let Some(finding) = finding {
                findings.push(finding.help(names.help));
                // A width that goes with a wrong unit is wrong as well.
                break;
            }
        }
    }
}

/// True when [`check`] has something to say about the stripe unit of an ext or XFS filesystem.
pub(crate) fn speaks_of_unit(context: &Context<'_>, id: LayerId, layer: &Layer) -> bool {
    let has = layer
        .bytes(Key::FsStripeUnit)
        .filter(|fact| fact.value > Bytes::ZERO);
    let wants = context.below(id, GridRole::StripeUnit).next();
    // Whose finding it is does not matter here, only whether there is one.
    let finding = compare(
        codes::EXT_GEOMETRY,
        context,
        (id, layer),
        has,
        wants,
        GridRole::StripeUnit,
        "",
    );
    finding.is_some()
}

fn compare(
    code: Code,
    context: &Context<'_>,
    (id, layer): (LayerId, &Layer),
    has: Option<Fact<Bytes>>,
    wants: Option<&SeenGrid<'_>>,
    role: GridRole,
    name: &str,
) -> Option<Finding> {
    match (has, wants) {
        (Some(has), Some(wants)) => {
            let there = wants.fact.value.unit().bytes();
            if has.value == there {
                return None;
            }
            let title = format!(
                "{} was made for a {} of {}; the array has {there}",
                layer.name,
                role.name(),
                has.value
            );
            let finding = Finding::new(code, Severity::Warning, id, title)
                .evidence(&has.source, format!("{name} = {}", both_ways(has.value)))
                .evidence(&wants.fact.source, format!("{} = {there}", role.name()))
                .arithmetic(format!("{} ≠ {}", has.value.grouped(), there.grouped()));
            Some(finding)
        }
        // Only a superblock that was read can say that it has none; mount options name what is in effect.
        (None, Some(wants))
            if role == GridRole::StripeUnit && layer.attribute(Key::BlockSize).is_some() =>
        {
            let there = wants.fact.value.unit();
            let title = format!(
                "{} was made without knowing the array's stripe unit of {there}",
                layer.name
            );
            let finding = Finding::new(code, Severity::Note, id, title)
                .evidence(&wants.fact.source, format!("stripe unit = {there}"))
                .arithmetic(format!("{name} = 0"));
            Some(finding)
        }
        (Some(has), None) if role == GridRole::StripeUnit => {
            // A LUN that reports its unit as its minimum I/O size is where mkfs took it from.
            let reported = context
                .below(id, GridRole::MinimumIo)
                .any(|grid| grid.fact.value.unit().bytes() == has.value);
            if reported {
                return None;
            }
            let title = format!(
                "{} was made for an array with a stripe unit of {}; none is known here",
                layer.name, has.value
            );
            let finding = Finding::new(code, Severity::Note, id, title)
                .evidence(&has.source, format!("{name} = {}", both_ways(has.value)))
                .arithmetic(format!("{name} = {}", has.value.grouped()))
                .note("harmless on a single drive; if an array lies below, give its unit with --stripe-unit");
            Some(finding)
        }
        _ => None,
    }
}
