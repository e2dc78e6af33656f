//! Arrays that the firmware of a disk controller describes on the disks themselves ("fake RAID"): what the formats share.
//!
//! Each describes its volumes as a [`Described`]; the layer, its map and its grids are made here, as they are for an array
//! that a live kernel runs.

use std::borrow::Cow;
use straddle_geometry::{
    Bytes, Copies, DoubleRotation, Extent, FarCopies, FarSets, Grid, Map, Raid, RaidLayout,
    Rotation, Segment, Striping, Unit,
};
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};

use super::{Below, Holds, Node, Part};
use crate::Window;

/// How a volume deals its addresses to its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Stripe units in turn.
    Striped,
    /// Everything on every member.
    Mirror,
    /// Each stripe unit several times.
    Copies(Copies),
    /// A parity in each row.
    Parity(Rotation),
    /// Two parities in each row.
    DoubleParity(DoubleRotation),
    /// One member after the other, as long as these.
    Concatenated(Vec<Bytes>),
    /// In a way that is not known here, or that no map describes: why.
    Unmapped(Cow<'static, str>),
}

impl Shape {
    /// Two copies side by side: what every firmware calls RAID 10.
    pub(super) const NEAR_2: Shape = Shape::Copies(Copies {
        near: 2,
        far: 1,
        distance: FarCopies::NextRow,
        sets: FarSets::All,
    });

    /// How much a volume over `columns` members holds, of each of which `used` bytes belong to it.
    pub(super) fn capacity(&self, columns: usize, unit: Unit, used: Bytes) -> Option<Bytes> {
        match self {
            Shape::Striped => {
                let rows = used.div_rem(unit).0;
                let units = rows.checked_mul(u64::try_from(columns).ok()?)?;
                unit.bytes().checked_mul(units)
            }
            Shape::Concatenated(lens) => lens
                .iter()
                .try_fold(Bytes::ZERO, |sum, len| sum.checked_add(*len)),
            _ => self.layout()?.capacity(columns, unit, used),
        }
    }

    fn layout(&self) -> Option<RaidLayout> {
        Some(match self {
            Shape::Mirror => RaidLayout::Mirror,
            Shape::Copies(copies) => RaidLayout::Copies(*copies),
            Shape::Parity(rotation) => RaidLayout::Parity(*rotation),
            Shape::DoubleParity(rotation) => RaidLayout::DoubleParity(*rotation),
            Shape::Striped | Shape::Concatenated(_) | Shape::Unmapped(_) => return None,
        })
    }

    fn has_stripes(&self) -> bool {
        matches!(
            self,
            Shape::Striped | Shape::Copies(_) | Shape::Parity(_) | Shape::DoubleParity(_)
        )
    }
}

/// A member in its place.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// What it is.
    pub(super) below: Below,
    /// Where the data of the volume start on it.
    pub(super) start: Fact<Bytes>,
    /// How long it is, where it was given.
    pub(super) room: Option<Bytes>,
}

/// A volume as its metadata describe it.
#[derive(Clone, Debug)]
pub(super) struct Described {
    /// What the metadata call it.
    pub(super) name: String,
    /// Title of the metadata.
    pub(super) metadata: Fact<&'static str>,
    /// Its level, in md's words: `raid5`, `linear`.
    pub(super) level: Fact<&'static str>,
    pub(super) shape: Shape,
    /// Stripe unit in bytes, as recorded.
    pub(super) unit: Option<Fact<u64>>,
    pub(super) columns: Vec<Column>,
    /// How much of each member it takes.
    pub(super) used: Option<Bytes>,
    pub(super) size: Option<Fact<Bytes>>,
    /// In what state it is: `optimal`, or everything that is not.
    pub(super) states: Vec<Fact<String>>,
    pub(super) anomalies: Vec<Anomaly>,
    /// False for a part of another volume: nothing is looked for on it.
    pub(super) is_whole: bool,
}

impl Described {
    /// The layer.
    pub(super) fn node(self) -> Node {
        let mut layer = Layer::new(LayerKind::Array, self.name.clone());
        layer.format = Some(Cow::Borrowed(self.level.value));
        let text = |fact: &Fact<&'static str>| fact.clone().map(|t| Value::Text(Cow::Borrowed(t)));
        layer.set(Key::FirmwareRaid, text(&self.metadata));
        layer.set(Key::Level, text(&self.level));
        let count = u64::try_from(self.columns.len()).unwrap_or(u64::MAX);
        let members = self.level.clone().map(|_| Value::Count(count));
        layer.set(Key::Members, members);
        for state in &self.states {
            let value = state.clone().map(|text| Value::Text(text.into()));
            layer.set(Key::State, value);
        }
        layer.anomalies.clone_from(&self.anomalies);
        self.check_room(&mut layer);
        layer.size.clone_from(&self.size);
        layer.map = match self.map() {
            Ok(map) => {
                self.add_grids(&mut layer, &map);
                map
            }
            Err((kind, why)) => {
                layer.anomalies.push(match &self.unit {
                    Some(unit) if kind == AnomalyKind::Damaged => {
                        Anomaly::at(kind, why, unit.source.clone())
                    }
                    _ => Anomaly::new(kind, why),
                });
                self.add_grids(&mut layer, &nowhere());
                nowhere()
            }
        };
        // One data offset for each layer below, in the same order.
        for column in &self.columns {
            layer.set(Key::DataOffset, column.start.clone().map(Value::Bytes));
        }
        let holds = if self.is_whole && layer.map != nowhere() {
            Holds::Volume
        } else {
            Holds::Nothing
        };
        Node {
            layer,
            below: self.columns.into_iter().map(|c| c.below).collect(),
            holds,
        }
    }

    /// The map, or what is odd about it.
    fn map(&self) -> Result<Map, (AnomalyKind, String)> {
        let starts: Vec<Bytes> = self.columns.iter().map(|c| c.start.value).collect();
        let damaged = |why: &str| Err((AnomalyKind::Damaged, why.to_owned()));
        if starts.is_empty() {
            return damaged("a volume without members: where its data lie is not known");
        }
        if let Shape::Unmapped(why) = &self.shape {
            return Err((AnomalyKind::Missing, why.clone().into_owned()));
        }
        if let Shape::Concatenated(lens) = &self.shape {
            return match concatenated(&starts, lens) {
                Some(map) => Ok(map),
                None => damaged("its parts are together longer than 2⁶⁴ bytes"),
            };
        }
        let unit = match (self.shape.has_stripes(), &self.unit) {
            // A mirror is not cut; any unit will do.
            (false, _) => Unit::B4096,
            (true, unit) => match unit.as_ref().and_then(|unit| Unit::new(unit.value)) {
                Some(unit) => unit,
                None => return damaged("its stripe unit is zero: expected a power of two"),
            },
        };
        let Some(layout) = self.shape.layout() else {
            return Ok(Map::Striped(Striping { unit, starts }));
        };
        let raid = Raid {
            layout,
            unit,
            starts,
        };
        let enough = match layout {
            RaidLayout::Copies(copies) => raid.columns() >= copies.near,
            _ => raid.data_columns().is_some(),
        };
        if enough {
            Ok(Map::Raid(raid))
        } else {
            damaged("it has fewer members than its level needs")
        }
    }

    fn add_grids(&self, layer: &mut Layer, map: &Map) {
        if let Some(layout) = self.shape.layout().filter(|l| *l != RaidLayout::Mirror) {
            let name = Fact::derived(Value::Text(layout.name()), "level and qualifier");
            let name = Fact {
                source: self.level.source.clone(),
                trust: self.level.trust,
                ..name
            };
            layer.set(Key::Layout, name);
        }
        let recorded = self.unit.as_ref().filter(|_| self.shape.has_stripes());
        let grid = recorded.and_then(|fact| Some((fact, Unit::new(fact.value)?)));
        let Some((fact, unit)) = grid else { return };
        let unit = fact.clone().map(|_| Grid::new(unit));
        layer.add_grid(GridRole::StripeUnit, unit.clone());
        let count = self.columns.len();
        let (data, from) = match map {
            Map::Striped(striping) => (Some(striping.starts.len()), "all".to_owned()),
            Map::Raid(raid) => (raid.data_columns(), arithmetic(raid)),
            _ => return,
        };
        let Some(data) = data.and_then(|data| u64::try_from(data).ok()) else {
            return;
        };
        let from = format!("{from} of {count} members");
        layer.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
        let parity = matches!(self.shape, Shape::Parity(_) | Shape::DoubleParity(_));
        if let Some(full) = unit.value.unit().checked_mul(data).filter(|_| parity) {
            let bytes = unit.value.unit().bytes().grouped();
            let from = format!("{data} data members × {bytes} B");
            layer.add_grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
        }
    }

    /// Reports members that are too short for what is said to lie on them.
    fn check_room(&self, layer: &mut Layer) {
        let Some(used) = self.used else { return };
        for column in &self.columns {
            let Some(room) = column.room else { continue };
            let end = column.start.value.checked_add(used);
            if end.is_some_and(|end| end <= room) {
                continue;
            }
            let detail = format!(
                "its data on a member are said to lie at byte {} and to be {} bytes long: the member ends at {}; was the image cut?",
                column.start.value.grouped(),
                used.grouped(),
                room.grouped()
            );
            let source = column.start.source.clone();
            layer
                .anomalies
                .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
            return;
        }
    }
}

fn arithmetic(raid: &Raid) -> String {
    let count = raid.columns();
    match raid.layout {
        RaidLayout::Copies(copies) => format!("{count} ÷ {} copies", copies.near),
        RaidLayout::Parity(_) => format!("{count} − 1 parity"),
        RaidLayout::DoubleParity(_) => format!("{count} − 2 parity"),
        RaidLayout::Mirror => "1".to_owned(),
    }
}

/// The map of a layer whose addresses are known to reach the layers below, but not where.
fn nowhere() -> Map {
    Map::Segments(Vec::new())
}

fn concatenated(starts: &[Bytes], lens: &[Bytes]) -> Option<Map> {
    let mut at = Bytes::ZERO;
    let mut segments = Vec::with_capacity(starts.len());
    for (target, (start, len)) in starts.iter().zip(lens).enumerate() {
        let upper = Extent::new(at, *len)?;
        at = upper.end();
        segments.push(Segment {
            upper,
            target,
            lower: *start,
        });
    }
    Map::segments(segments)
}

/// True for a window that firmware metadata can belong to: firmware knows whole disks, so that no partition costs a read.
pub(super) fn is_whole_disk(window: &Window<'_>) -> bool {
    window.extent().start() == Bytes::ZERO
}

/// True when `want` stands at `at`. An end that cannot be read, such as that of a volume whose last member is missing, is
/// nobody's metadata: who needs those bytes reports it.
pub(super) fn has(window: &Window<'_>, at: u64, want: &[u8]) -> Result<bool, ReadError> {
    match window.matches(at, want) {
        Err(error) if matches!(error.kind, ReadErrorKind::Device) => Ok(false),
        other => other,
    }
}

/// How long a member is.
pub(super) fn room(parts: &[Part<'_>], below: &Below) -> Option<Bytes> {
    match below {
        Below::Part(index) => parts.get(*index).map(|part| part.window.size()),
        Below::Node(_) | Below::Missing(_) => None,
    }
}
