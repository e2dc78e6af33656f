//! The sectors of what is at the bottom of a stack: known, or what everybody assumes.

use straddle_geometry::{Bytes, Grid, SectorSize, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, Stack, Value};

const ASSUMED_PHYSICAL: &str = "as 512e disks have, 512n not; see --physical-sector";
const ASSUMED_PHYSICAL_OF_4KN: &str =
    "as long as its logical sector, and no shorter; see --physical-sector";
const ASSUMED_LOGICAL: &str = "nothing in the image says otherwise; see --logical-sector";

/// The logical sector that a layer is known to have.
pub(crate) fn logical_sector_of(layer: &Layer) -> Option<SectorSize> {
    let fact = layer.grid(GridRole::LogicalSector)?;
    SectorSize::new(u32::try_from(fact.value.unit().get()).ok()?)
}

/// Adds the sector sizes that the contents do not tell.
pub(crate) fn assume_sectors(stack: &mut Stack, base: LayerId) {
    let layer = stack.layer_mut(base);
    if layer.grid(GridRole::LogicalSector).is_none() {
        let from_table = layer.attribute(Key::TableSectorSize).and_then(|fact| {
            let Value::Bytes(bytes) = fact.value else {
                return None;
            };
            let unit = Unit::try_from(bytes).ok()?;
            Some(fact.clone().map(|_| Grid::new(unit)))
        });
        let logical = from_table
            .unwrap_or_else(|| Fact::assumed(Grid::new(SectorSize::B512.unit()), ASSUMED_LOGICAL));
        layer.add_grid(GridRole::LogicalSector, logical);
    }
    if layer.grid(GridRole::PhysicalSector).is_none() {
        // No physical sector is shorter than a logical one.
        let logical = layer.grid(GridRole::LogicalSector);
        let long = logical.filter(|grid| grid.value.unit() >= Unit::B4096);
        let (unit, reason) = match long.map(|grid| grid.value.unit()) {
            Some(unit) => (unit, ASSUMED_PHYSICAL_OF_4KN),
            None => (Unit::B4096, ASSUMED_PHYSICAL),
        };
        let physical = Grid::with_phase(unit, Bytes::ZERO);
        layer.add_grid(GridRole::PhysicalSector, Fact::assumed(physical, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_stack::LayerKind;

    #[test]
    fn no_physical_sector_is_assumed_to_be_shorter_than_a_logical_one() {
        for (logical, physical, reason) in [
            (512, 4096, ASSUMED_PHYSICAL),
            (4096, 4096, ASSUMED_PHYSICAL_OF_4KN),
            (8192, 8192, ASSUMED_PHYSICAL_OF_4KN),
        ] {
            let mut layer = Layer::new(LayerKind::Device, "sda");
            let unit = Unit::new(logical).expect("a sector");
            layer.add_grid(
                GridRole::LogicalSector,
                Fact::derived(Grid::new(unit), "said"),
            );
            let mut stack = Stack::new();
            let id = stack.push(layer);
            assume_sectors(&mut stack, id);
            let grid = stack
                .layer(id)
                .grid(GridRole::PhysicalSector)
                .expect("assumed");
            assert_eq!(grid.value.unit().get(), physical);
            let expected = Fact::assumed((), reason).source;
            assert_eq!(grid.source, expected);
        }
    }
}
