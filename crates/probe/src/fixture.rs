//! Volumes built by hand, for the unit tests beside each prober.

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, GridRole, Key, Source, Value};

use crate::{Detected, Prober, Window};

/// Bytes of a volume, zero unless written.
pub(crate) struct Volume(pub(crate) Vec<u8>);

impl Volume {
    pub(crate) fn new(len: usize) -> Volume {
        Volume(vec![0; len])
    }

    /// The same volume with `bytes` at `at`.
    pub(crate) fn with(mut self, at: usize, bytes: impl AsRef<[u8]>) -> Volume {
        let bytes = bytes.as_ref();
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// What `prober` says about it.
    pub(crate) fn probe(&self, prober: &Prober) -> Option<Detected> {
        self.probe_on(prober, None)
    }

    /// What `prober` says about it on a device with sectors of `sector` bytes.
    pub(crate) fn probe_on(&self, prober: &Prober, sector: Option<u32>) -> Option<Detected> {
        let reader = Reader::new(&self.0);
        let sector = sector.and_then(SectorSize::new);
        let found = prober
            .run(&Window::whole(&reader, sector))
            .expect("everything can be read");
        if let Some(found) = &found {
            for attribute in &found.attributes {
                if let Source::Image(bytes) = &attribute.value.source {
                    assert!(
                        !bytes.field().is_empty(),
                        "{:?} shows no evidence",
                        attribute.key
                    );
                }
            }
        }
        found
    }
}

/// Attributes and grids of a [`Detected`], by name.
pub(crate) trait Asked {
    fn get(&self, key: Key) -> Option<&Value>;
    fn bytes(&self, key: Key) -> Option<u64>;
    fn text(&self, key: Key) -> Option<String>;
    /// Offset and bytes of the evidence for an attribute.
    fn evidence(&self, key: Key) -> Option<(u64, Vec<u8>)>;
    /// Unit and phase.
    fn grid(&self, role: GridRole) -> Option<(u64, u64)>;
    fn anomalies(&self) -> Vec<AnomalyKind>;
}

impl Asked for Detected {
    fn get(&self, key: Key) -> Option<&Value> {
        let found = self.attributes.iter().find(|a| a.key == key)?;
        Some(&found.value.value)
    }

    fn bytes(&self, key: Key) -> Option<u64> {
        match self.get(key)? {
            Value::Bytes(bytes) => Some(bytes.get()),
            other => panic!("{key:?} is {other:?}"),
        }
    }

    fn text(&self, key: Key) -> Option<String> {
        self.get(key).map(ToString::to_string)
    }

    fn evidence(&self, key: Key) -> Option<(u64, Vec<u8>)> {
        let found = self.attributes.iter().find(|a| a.key == key)?;
        match &found.value.source {
            Source::Image(bytes) => Some((bytes.offset().get(), bytes.field().to_vec())),
            _ => None,
        }
    }

    fn grid(&self, role: GridRole) -> Option<(u64, u64)> {
        let grid = self.grids.iter().find(|g| g.role == role)?.grid.value;
        Some((grid.unit().get(), Bytes::get(grid.phase())))
    }

    fn anomalies(&self) -> Vec<AnomalyKind> {
        self.anomalies.iter().map(|o| o.kind).collect()
    }
}
