use std::borrow::Cow;
use straddle_geometry::{Bytes, Grid, SectorSize, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, Trust, Value};

/// What the user says about the devices at the bottom, in place of what they say about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--logical-sector`.
    pub logical_sector: Option<Fact<SectorSize>>,
    /// `--physical-sector`.
    pub physical_sector: Option<Fact<Unit>>,
    /// `--stripe-unit`.
    pub stripe_unit: Option<Fact<Unit>>,
    /// `--stripe-width`: the data of one whole stripe.
    pub stripe_width: Option<Fact<Unit>>,
}

/// Sizes as flags of their names state them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// `--logical-sector`; 512 to 65,536 bytes, a power of two, or it says nothing.
    pub logical_sector: Option<Unit>,
    /// `--physical-sector`.
    pub physical_sector: Option<Unit>,
    /// `--stripe-unit`.
    pub stripe_unit: Option<Unit>,
    /// `--stripe-width`.
    pub stripe_width: Option<Unit>,
}

impl From<Stated> for Overrides {
    fn from(stated: Stated) -> Overrides {
        // As one could type it: `64KiB`.
        let typed = |unit: Unit| unit.to_string().replace(' ', "");
        let fact = |unit: Option<Unit>, flag| unit.map(|u| Fact::stated(u, flag, typed(u)));
        let logical = stated.logical_sector.and_then(|unit| {
            let size = SectorSize::new(u32::try_from(unit.get()).ok()?)?;
            Some(Fact::stated(size, "--logical-sector", typed(unit)))
        });
        Overrides {
            logical_sector: logical,
            physical_sector: fact(stated.physical_sector, "--physical-sector"),
            stripe_unit: fact(stated.stripe_unit, "--stripe-unit"),
            stripe_width: fact(stated.stripe_width, "--stripe-width"),
        }
    }
}

impl Overrides {
    /// Replaces grids of `layer`, a root. A grid that gives way stays as a doubtful attribute with its own provenance,
    /// so that a finding can say what was overridden. The first boundary stays where it was: a flag names a size only.
    pub(crate) fn apply(&self, layer: &mut Layer) {
        let logical = self
            .logical_sector
            .clone()
            .map(|fact| fact.map(SectorSize::unit));
        for (role, said) in [
            (GridRole::LogicalSector, logical),
            (GridRole::PhysicalSector, self.physical_sector.clone()),
            (GridRole::StripeUnit, self.stripe_unit.clone()),
            (GridRole::FullStripe, self.stripe_width.clone()),
        ] {
            let Some(said) = said else { continue };
            let mut phase = Bytes::ZERO;
            if let Some(at) = layer.grids.iter().position(|grid| grid.role == role) {
                let old = layer.grids.remove(at).grid;
                phase = old.value.phase();
                let text = format!("{} {}", role.name(), old.value.unit());
                if old.trust != Trust::Assumed {
                    layer.set(
                        Key::Overridden,
                        old.map(|_| Value::Text(Cow::Owned(text))).doubted(),
                    );
                }
            }
            layer.add_grid(role, said.map(|unit| Grid::with_phase(unit, phase)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_stack::LayerKind;

    #[test]
    fn what_a_flag_replaces_can_still_be_named() {
        let mut disk = Layer::new(LayerKind::Device, "sda");
        let unit = |n| Unit::new(n).expect("not zero");
        let read = Grid::with_phase(unit(4096), Bytes::new(3584));
        disk.add_grid(
            GridRole::PhysicalSector,
            Fact::reported(read, "/sys/block/sda/queue/physical_block_size", "4096"),
        );
        let overrides = Overrides {
            physical_sector: Some(Fact::stated(unit(16_384), "--physical-sector", "16K")),
            stripe_unit: Some(Fact::stated(unit(65_536), "--stripe-unit", "64K")),
            ..Overrides::default()
        };
        overrides.apply(&mut disk);
        let now = disk.grid(GridRole::PhysicalSector).expect("kept");
        assert_eq!(now.value, Grid::with_phase(unit(16_384), Bytes::new(3584)));
        assert_eq!(now.trust, Trust::Stated);
        assert_eq!(disk.text(Key::Overridden), Some("physical sector 4 KiB"));
        assert_eq!(
            disk.attribute(Key::Overridden).map(|fact| fact.trust),
            Some(Trust::Doubtful)
        );
        assert_eq!(
            disk.grid(GridRole::StripeUnit).map(|g| g.value),
            Some(Grid::new(unit(65_536)))
        );
    }
}
