//! How the unit types look in JSON: plain integers of bytes, ratios as numerator, denominator and value.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::borrow::Cow;

use crate::{Bytes, Extent, Grid, Price, Ratio, SectorSize, Share, Unit};

macro_rules! as_integer {
    ($type:ty, $name:literal, $description:literal, $minimum:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(u64::from(self.get()))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "integer", "minimum": $minimum, "description": $description })
            }
        }
    };
}

as_integer!(Bytes, "Bytes", "A position or a length in bytes.", 0);
as_integer!(
    Unit,
    "Unit",
    "The distance between two boundaries, in bytes.",
    1
);
as_integer!(
    SectorSize,
    "SectorSize",
    "The size of one logical block, in bytes.",
    1
);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        u64::deserialize(deserializer).map(Bytes::new)
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        let size = u64::deserialize(deserializer)?;
        Unit::new(size).ok_or_else(|| D::Error::custom(format!("{size} is no size")))
    }
}

macro_rules! as_object {
    ($type:ty, $name:literal, $description:literal, $( $field:literal : $schema:ty = $get:expr ),+) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = serializer.serialize_struct($name, [$($field),+].len())?;
                $( object.serialize_field($field, &($get)(*self))?; )+
                object.end()
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "object",
                    "description": $description,
                    "properties": { $( $field: generator.subschema_for::<$schema>() ),+ },
                    "required": [ $( $field ),+ ],
                    "additionalProperties": false,
                })
            }
        }
    };
}

as_object!(Extent, "Extent", "A run of bytes.",
    "start": Bytes = Extent::start, "len": Bytes = Extent::len);
as_object!(Grid, "Grid", "Boundaries at every address that leaves the remainder `phase` when divided by `unit`.",
    "unit": Unit = Grid::unit, "phase": Bytes = Grid::phase);
as_object!(Ratio, "Ratio", "An exact fraction, and its nearest decimal value.",
    "numerator": u64 = Ratio::numerator, "denominator": u64 = Ratio::denominator, "value": f64 = Ratio::to_f64);
as_object!(Price, "Price", "Mean back-end operations per request: as requests lie, if they were aligned, and how much more that is.",
    "now": Ratio = |price: Price| price.now, "aligned": Ratio = |price: Price| price.aligned,
    "extra": Ratio = |price: Price| price.extra);

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "enum": [Share::Data.name(), Share::Copy.name(), Share::Parity.name(), Share::Syndrome.name()],
            "description": "What bytes are to the data that they belong to.",
        })
    }
}
