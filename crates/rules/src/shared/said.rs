//! Layers of which nothing says where they lie, but their system says how far they are from the next physical sector.

use straddle_geometry::{Bytes, Grid, Map, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Value};

use super::pieces::off;
use crate::commands::{Lack, for_fact};
use crate::context::platform_of;
use crate::{Code, Context, Finding, Prices};

/// What a system says of such a layer.
pub(crate) struct Said {
    /// Bytes to the next boundary.
    distance: Fact<Bytes>,
    /// The physical sectors below it.
    sector: Fact<Grid>,
}

impl Said {
    pub(crate) fn of(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Said> {
        let is_placed = layer.placement.is_some() || layer.map != Map::Segments(Vec::new());
        if is_placed || layer.attribute(Key::StartShown).is_some() || layer.below.is_empty() {
            return None;
        }
        let distance = layer.alignment_offset()?;
        // That of the largest disk: the kernel counts in it.
        let lower = context.stack.foundations(id);
        let sectors = lower
            .into_iter()
            .filter_map(|id| context.stack.layer(id).grid(GridRole::PhysicalSector));
        let sector = sectors.max_by_key(|fact| fact.value.unit())?.clone();
        Some(Said { distance, sector })
    }

    /// Bytes to the next physical sector. The kernel may count in larger units, whole numbers of sectors.
    fn distance(&self) -> Bytes {
        Bytes::new(self.distance.value.get() % self.sector.value.unit().get())
    }

    pub(crate) fn unit(&self) -> Unit {
        self.sector.value.unit()
    }

    pub(crate) fn is_off(&self) -> bool {
        self.distance() > Bytes::ZERO
    }

    /// The finding that a layer starts inside a sector.
    pub(crate) fn finding(
        &self,
        code: Code,
        context: &Context<'_>,
        id: LayerId,
        title: &str,
    ) -> Finding {
        let role = GridRole::PhysicalSector;
        let (unit, distance) = (self.sector.value.unit(), self.distance());
        let into = Bytes::new(unit.get() - distance.get());
        let seen = Seen::Uniform(Grid::with_phase(unit, distance));
        let prices = Prices::of(role, unit, &seen, Bytes::ZERO, &context.options.io);
        Finding::priced(code, id, title, prices)
            .evidence(
                &self.distance.source,
                format!("{} bytes into a sector", into.grouped()),
            )
            .evidence(&self.sector.source, format!("{} = {unit}", role.name()))
            .arithmetic(format!(
                "start mod {} = {}, {} bytes before the next boundary",
                unit.bytes().grouped(),
                into.grouped(),
                distance.grouped()
            ))
    }
}

/// The commands that print where partitions start, on the system of a layer.
pub(crate) fn starts(context: &Context<'_>, id: LayerId) -> String {
    let platform = platform_of(context.stack, id);
    let commands: Vec<&str> = for_fact(Lack::Start, platform)
        .map(|supply| supply.command)
        .collect();
    commands.join(", or ")
}

/// Layers of these kinds that are said to be off, where nothing below them is: there the fault is, or on what nothing is said of.
pub(crate) fn off_here(
    code: Code,
    context: &Context<'_>,
    kinds: &[LayerKind],
    help: &str,
) -> Vec<Finding> {
    let layers = context.stack.iter();
    let found = layers.filter_map(|(id, layer)| {
        let said = Said::of(context, id, layer)
            .filter(|said| kinds.contains(&layer.kind) && said.is_off())?;
        let lower = context.stack.foundations(id);
        let is_off = |id: &LayerId| is_off(context, *id);
        if lower.iter().any(is_off) {
            return None;
        }
        let is_known = layer.below.iter().all(|id| is_known(context, *id));
        let title = format!(
            "{} starts inside a {}-byte physical sector{}",
            layer.name,
            said.unit().bytes().grouped(),
            if is_known {
                "; what it lies on does not"
            } else {
                ""
            }
        );
        let finding = said.finding(code, context, id, &title).help(help);
        Some(if is_known {
            finding
        } else {
            finding.note("nothing says whether what it lies on starts on a physical sector: it may be that which is off")
        })
    });
    found.collect()
}

/// Whether a layer is known to start inside a physical sector.
fn is_off(context: &Context<'_>, id: LayerId) -> bool {
    let layer = context.stack.layer(id);
    let mut seen = context.below(id, GridRole::PhysicalSector);
    seen.any(|grid| off(&grid.seen).is_some())
        || Said::of(context, id, layer).is_some_and(|said| said.is_off())
}

/// Whether it is known in which place of a physical sector a layer starts: a disk starts with one.
fn is_known(context: &Context<'_>, id: LayerId) -> bool {
    let layer = context.stack.layer(id);
    layer.kind == LayerKind::Device && layer.below.is_empty()
        || layer.alignment_offset().is_some()
        || context.below(id, GridRole::PhysicalSector).next().is_some()
}

/// Whether its system says of a layer that it starts on a physical sector, whose size is known, without saying where.
#[must_use]
pub fn is_said_to_be_aligned(stack: &straddle_stack::Stack, layer: &Layer) -> bool {
    let said = layer.attribute(Key::AlignmentOffset);
    let is_zero = said.is_some_and(|fact| {
        matches!(
            fact.value,
            Value::SignedBytes(0) | Value::Bytes(Bytes::ZERO)
        )
    });
    let has_no_place = layer.placement.is_none() && layer.map == Map::Segments(Vec::new());
    let kinds = [
        LayerKind::Partition,
        LayerKind::Volume,
        LayerKind::Encryption,
        LayerKind::Array,
    ];
    let is_told = |id: LayerId| {
        let sector = stack.layer(id).grid(GridRole::PhysicalSector);
        sector.is_some_and(|fact| fact.trust < straddle_stack::Trust::Assumed)
    };
    let has_sectors =
        |id: &LayerId| is_told(*id) || stack.foundations(*id).into_iter().any(is_told);
    is_zero
        && has_no_place
        && kinds.contains(&layer.kind)
        && !layer.below.is_empty()
        && layer.below.iter().all(has_sectors)
}
