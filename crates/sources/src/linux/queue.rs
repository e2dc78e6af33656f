//! Queue limits: what the kernel says about the requests a device wants.
//!
//! Source: Linux `Documentation/ABI/stable/sysfs-block` and `block/blk-settings.c`.

use straddle_geometry::{Bytes, Grid, SectorSize, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, Value};

use super::host::{Device, Host};

/// A file below `queue/` that is a unit in bytes, times a factor.
const UNITS: [(&str, u64, GridRole); 6] = [
    ("logical_block_size", 1, GridRole::LogicalSector),
    ("physical_block_size", 1, GridRole::PhysicalSector),
    ("minimum_io_size", 1, GridRole::MinimumIo),
    ("optimal_io_size", 1, GridRole::OptimalIo),
    ("discard_granularity", 1, GridRole::DiscardGranularity),
    // An atomic write lies at a multiple of its own length, so the largest sets the grid.
    ("atomic_write_unit_max_bytes", 1, GridRole::AtomicWrite),
];

/// A file below `queue/` that is a length in bytes, times a factor.
const LENGTHS: [(&str, u64, Key); 4] = [
    ("max_sectors_kb", 1024, Key::MaxRequest),
    ("atomic_write_unit_min_bytes", 1, Key::AtomicWriteMin),
    ("atomic_write_unit_max_bytes", 1, Key::AtomicWriteMax),
    ("atomic_write_boundary_bytes", 1, Key::AtomicWriteBoundary),
];

impl Host<'_> {
    /// Adds the limits of a device's own queue to its layer; a partition has none.
    ///
    /// A stacked device inherits limits. Those that it repeats from below are left out where the map carries the
    /// originals up: they would be counted twice, and with the wrong phase.
    pub(super) fn add_queue(&self, device: &Device, layer: &mut Layer) {
        if device.disk.is_some() {
            return;
        }
        let queue = format!("{}/queue", device.path);
        let shift = self.shift(device);
        let offset = self.root.text(&format!("{}/alignment_offset", device.path));
        let misaligned = offset.as_deref() == Some("-1");
        for (role, fact) in self.limits(device) {
            let unit = fact.value;
            // Only a layer that carries the lower grids up may leave them to it.
            let carried = super::host::nowhere() != layer.map;
            let repeated = layer.below.iter().any(|below| {
                self.claims
                    .get(below)
                    .is_some_and(|claims| claims.contains(&(role, unit)))
            });
            if carried && repeated && role != GridRole::LogicalSector {
                continue;
            }
            let phase = match role {
                GridRole::PhysicalSector | GridRole::MinimumIo | GridRole::OptimalIo => shift,
                GridRole::DiscardGranularity => self.discard_shift(device),
                _ => Bytes::ZERO,
            };
            let mut grid = fact.map(|unit| Grid::with_phase(unit, phase));
            // The kernel itself says that no phase is right.
            if misaligned && role == GridRole::PhysicalSector {
                grid = grid.doubted();
            }
            layer.add_grid(role, grid);
        }
        for (file, factor, key) in LENGTHS {
            if let Some(fact) = self.number(&format!("{queue}/{file}"))
                && let Some(bytes) = Bytes::new(fact.value).checked_mul(factor)
                && bytes > Bytes::ZERO
            {
                layer.set(key, fact.map(|_| Value::Bytes(bytes)));
            }
        }
        for (file, key) in [
            ("rotational", Key::Rotational),
            ("stable_writes", Key::StableWrites),
        ] {
            if let Some(fact) = self.number(&format!("{queue}/{file}")) {
                layer.set(key, fact.map(|n| Value::Flag(n != 0)));
            }
        }
        if let Some(fact) = self.text(&format!("{queue}/zoned")) {
            layer.set(Key::Zoned, fact.map(|text| Value::Text(text.into())));
        }
        self.add_alignment_offset(device, layer);
        if let Some(fact) = self.number(&format!("{}/discard_alignment", device.path)) {
            layer.set(
                Key::DiscardAlignment,
                fact.map(|n| Value::Bytes(Bytes::new(n))),
            );
        }
    }

    pub(super) fn add_alignment_offset(&self, device: &Device, layer: &mut Layer) {
        let path = format!("{}/alignment_offset", device.path);
        if let Some(text) = self.root.text(&path)
            && let Ok(offset) = text.parse()
        {
            layer.set(
                Key::AlignmentOffset,
                Fact::reported(Value::SignedBytes(offset), path, text),
            );
        }
    }

    /// Remembers what the queue of `device` claims, for the layers above `id`.
    pub(super) fn add_claims(&mut self, id: LayerId, device: &Device) {
        if device.disk.is_none() {
            let limits = self.limits(device);
            let claims = limits.into_iter().map(|(role, fact)| (role, fact.value));
            let claims: Vec<_> = claims.collect();
            self.claims.insert(id, claims);
        }
    }

    fn limits(&self, device: &Device) -> Vec<(GridRole, Fact<Unit>)> {
        let queue = format!("{}/queue", device.path);
        let mut found = Vec::new();
        let mut add = |file: &str, factor: u64, role| {
            if let Some(fact) = self.number(&format!("{queue}/{file}"))
                && let Some(bytes) = fact.value.checked_mul(factor)
                && let Some(unit) = Unit::new(bytes)
            {
                found.push((role, fact.map(|_| unit)));
            }
        };
        for (file, factor, role) in UNITS {
            add(file, factor, role);
        }
        // On a zoned device `chunk_sectors` is the size of a zone.
        let zoned = self.root.text(&format!("{queue}/zoned"));
        let role = if zoned.is_none_or(|model| model == "none") {
            GridRole::ChunkSectors
        } else {
            GridRole::Zone
        };
        add("chunk_sectors", u64::from(SectorSize::B512.get()), role);
        found
    }

    /// Where the first physical sector begins: `alignment_offset` of a whole device. −1 says that nothing fits; then
    /// nothing better than 0 is known.
    fn shift(&self, device: &Device) -> Bytes {
        self.number(&format!("{}/alignment_offset", device.path))
            .map_or(Bytes::ZERO, |fact| Bytes::new(fact.value))
    }

    fn discard_shift(&self, device: &Device) -> Bytes {
        self.number(&format!("{}/discard_alignment", device.path))
            .map_or(Bytes::ZERO, |fact| Bytes::new(fact.value))
    }
}
