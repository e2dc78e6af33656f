use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use straddle_geometry::{Blocks, Bytes, Extent, Grid, Map, RaidLayout, Segment, Unit};

use crate::activity::Activity;
use crate::survey::SurveyDocument;
use crate::{Anomaly, Attribute, Fact, GridFact, GridRole, Key, LayerId, Survey, Value};

/// What a layer is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A disk, SSD, LUN or whole image.
    Device,
    /// Several layers below made into one: RAID.
    Array,
    /// A volume cut out of a pool: LVM, dm, thin, bcache.
    Volume,
    /// Encrypted or integrity-protected storage.
    Encryption,
    /// An entry of a partition table.
    Partition,
    /// A filesystem or swap.
    Filesystem,
    /// A virtual disk.
    Container,
    /// A file on a filesystem.
    File,
    /// The pages of a database file.
    DatabasePage,
    /// A server or a program of which only figures are known, not where they come from.
    Service,
}

impl LayerKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LayerKind::Device => "device",
            LayerKind::Array => "array",
            LayerKind::Volume => "volume",
            LayerKind::Encryption => "encryption",
            LayerKind::Partition => "partition",
            LayerKind::Filesystem => "filesystem",
            LayerKind::Container => "container",
            LayerKind::File => "file",
            LayerKind::DatabasePage => "database pages",
            LayerKind::Service => "service",
        }
    }
}

/// One layer of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// What it is called: `sda`, `partition 1`, `/var/lib/db.mdf`.
    pub name: String,
    /// Its format, where it has one: `ntfs`, `raid10`, `crypt`.
    pub format: Option<Cow<'static, str>>,
    /// Its length.
    pub size: Option<Fact<Bytes>>,
    /// The layers below, as the targets of `map`. Empty for a device.
    pub below: Vec<LayerId>,
    /// How its addresses reach the layers below.
    pub map: Map,
    /// How `map` is known: for a partition, the table's record of its start. `None` for devices. Its length is zero where
    /// `size` is not known.
    pub placement: Option<Fact<Extent>>,
    /// The grids it contributes, in its own addresses.
    pub grids: Vec<GridFact>,
    /// Everything else known about it.
    pub attributes: Vec<Attribute>,
    /// What is odd about it.
    pub anomalies: Vec<Anomaly>,
    /// For a virtual disk with a block table: what [`Stack::survey`](crate::Stack::survey) found in it.
    pub survey: Option<Arc<Survey>>,
    /// How it did, where logs or counters say so.
    pub activity: Option<Arc<Activity>>,
}

impl Layer {
    /// A layer with nothing below it and nothing known about it.
    #[must_use]
    pub fn new(kind: LayerKind, name: impl Into<String>) -> Layer {
        Layer {
            kind,
            name: name.into(),
            format: None,
            size: None,
            below: Vec::new(),
            map: Map::IDENTITY,
            placement: None,
            grids: Vec::new(),
            attributes: Vec::new(),
            anomalies: Vec::new(),
            survey: None,
            activity: None,
        }
    }

    /// The first attribute with this key.
    #[must_use]
    pub fn attribute(&self, key: Key) -> Option<&Fact<Value>> {
        self.attributes
            .iter()
            .find(|attribute| attribute.key == key)
            .map(|attribute| &attribute.value)
    }

    /// The first attribute with this key, if it is a number of bytes.
    #[must_use]
    pub fn bytes(&self, key: Key) -> Option<Fact<Bytes>> {
        let fact = self.attribute(key)?;
        match fact.value {
            Value::Bytes(bytes) => Some(fact.clone().map(|_| bytes)),
            _ => None,
        }
    }

    /// How far its first byte is from the next boundary, as its system says; `None` where it says nothing, or −1.
    #[must_use]
    pub fn alignment_offset(&self) -> Option<Fact<Bytes>> {
        let fact = self.attribute(Key::AlignmentOffset)?;
        let distance = match fact.value {
            Value::SignedBytes(bytes) => Bytes::new(u64::try_from(bytes).ok()?),
            Value::Bytes(bytes) => bytes,
            _ => return None,
        };
        Some(fact.clone().map(|_| distance))
    }

    /// The first attribute with this key, if it is text.
    #[must_use]
    pub fn text(&self, key: Key) -> Option<&str> {
        match &self.attribute(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The first grid with this role.
    #[must_use]
    pub fn grid(&self, role: GridRole) -> Option<&Fact<Grid>> {
        self.grids
            .iter()
            .find(|grid| grid.role == role)
            .map(|grid| &grid.grid)
    }

    /// Adds an attribute.
    pub fn set(&mut self, key: Key, value: Fact<Value>) {
        self.attributes.push(Attribute { key, value });
    }

    /// Adds a grid.
    pub fn add_grid(&mut self, role: GridRole, grid: Fact<Grid>) {
        self.grids.push(GridFact { role, grid });
    }
}

impl Layer {
    /// How `placement` looks in JSON. Without a size, the length in it stands for none.
    fn place(&self) -> Option<Fact<Placement>> {
        let place = |extent: Extent| Placement {
            start: extent.start(),
            len: self.size.as_ref().map(|_| extent.len()),
        };
        self.placement.clone().map(|fact| fact.map(place))
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Layer", 12)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("format", &self.format)?;
        object.serialize_field("size", &self.size)?;
        object.serialize_field("below", &self.below)?;
        object.serialize_field("map", &MapDocument::of(&self.map, self.below.is_empty()))?;
        object.serialize_field("placement", &self.place())?;
        object.serialize_field("grids", &self.grids)?;
        object.serialize_field("attributes", &self.attributes)?;
        object.serialize_field("oddities", &self.anomalies)?;
        match &self.survey {
            Some(survey) => object.serialize_field("survey", &SurveyDocument::of(survey))?,
            None => object.skip_field("survey")?,
        }
        match &self.activity {
            Some(activity) => object.serialize_field("activity", activity)?,
            None => object.skip_field("activity")?,
        }
        object.end()
    }
}

impl JsonSchema for Layer {
    fn schema_name() -> Cow<'static, str> {
        "Layer".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "One layer of a stack; `below` holds indices into the list of layers.",
            "properties": {
                "kind": generator.subschema_for::<LayerKind>(),
                "name": { "type": "string" },
                "format": { "type": ["string", "null"] },
                "size": generator.subschema_for::<Option<Fact<Bytes>>>(),
                "below": generator.subschema_for::<Vec<LayerId>>(),
                "map": generator.subschema_for::<Option<MapDocument>>(),
                "placement": generator.subschema_for::<Option<Fact<Placement>>>(),
                "grids": generator.subschema_for::<Vec<GridFact>>(),
                "attributes": generator.subschema_for::<Vec<Attribute>>(),
                "oddities": generator.subschema_for::<Vec<Anomaly>>(),
                "survey": generator.subschema_for::<SurveyDocument>(),
                "activity": generator.subschema_for::<Activity>(),
            },
            "required": ["kind", "name", "format", "size", "below", "map", "placement", "grids", "attributes", "oddities"],
            "additionalProperties": false,
        })
    }
}

/// Where a layer lies on the one below it.
#[derive(serde::Serialize, JsonSchema)]
struct Placement {
    start: Bytes,
    /// `null` where nothing says how long it is.
    len: Option<Bytes>,
}

/// How a [`Map`] looks in JSON. Long lists of segments are cut; `segment_count` says how many there are.
#[derive(serde::Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "shape")]
enum MapDocument {
    Linear {
        start: Bytes,
    },
    Segments {
        segment_count: usize,
        first_segments: Vec<SegmentDocument>,
    },
    Striped {
        stripe_unit: Bytes,
        starts: Vec<Bytes>,
    },
    Raid {
        layout: Cow<'static, str>,
        /// Absent for a mirror.
        #[serde(skip_serializing_if = "Option::is_none")]
        stripe_unit: Option<Bytes>,
        starts: Vec<Bytes>,
    },
    Blocks {
        block: Unit,
        parent: Option<usize>,
    },
}

#[derive(serde::Serialize, JsonSchema)]
struct SegmentDocument {
    upper: Extent,
    target: usize,
    lower: Bytes,
}

impl MapDocument {
    const MAX_SEGMENTS: usize = 64;

    fn of(map: &Map, nothing_below: bool) -> Option<MapDocument> {
        if nothing_below {
            return None;
        }
        Some(match map {
            Map::Linear { start } => MapDocument::Linear { start: *start },
            Map::Segments(segments) => MapDocument::Segments {
                segment_count: segments.len(),
                first_segments: segments
                    .iter()
                    .take(Self::MAX_SEGMENTS)
                    .map(
                        |Segment {
                             upper,
                             target,
                             lower,
                         }| SegmentDocument {
                            upper: *upper,
                            target: *target,
                            lower: *lower,
                        },
                    )
                    .collect(),
            },
            Map::Striped(striping) => MapDocument::Striped {
                stripe_unit: striping.unit.bytes(),
                starts: striping.starts.clone(),
            },
            Map::Raid(raid) => MapDocument::Raid {
                layout: raid.layout.name(),
                stripe_unit: (raid.layout != RaidLayout::Mirror).then(|| raid.unit.bytes()),
                starts: raid.starts.clone(),
            },
            Map::Blocks(Blocks(table)) => MapDocument::Blocks {
                block: table.block(),
                parent: table.parent(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_nothing_tells_is_null_in_json() {
        let mut layer = Layer::new(LayerKind::Partition, "p");
        let extent = Extent::new(Bytes::new(512), Bytes::ZERO).expect("small");
        layer.placement = Some(Fact::derived(extent, "told"));
        let place = |layer: &Layer| {
            serde_json::to_value(layer).expect("writes")["placement"]["value"].clone()
        };
        assert_eq!(
            place(&layer),
            serde_json::json!({ "start": 512, "len": null })
        );
        layer.size = Some(Fact::derived(Bytes::ZERO, "told"));
        assert_eq!(place(&layer), serde_json::json!({ "start": 512, "len": 0 }));
    }
}
