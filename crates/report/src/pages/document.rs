//! Documents that verbs printed, read back.
//!
//! Only what a page shows is read; members that are not known are passed over, so that documents of newer versions of the same
//! schema can be read as well.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;
use std::io::{BufReader, Read};

use super::{bench, check, evidence, fix, predict, study, trace};

/// A document of one of the verbs.
pub(crate) enum Document {
    Check(Box<check::Document>),
    Bench(Box<bench::Document>),
    Predict(Box<predict::Document>),
    Study(Box<study::Document>),
    Fix(Box<fix::Document>),
    Evidence(Box<evidence::Document>),
    Trace(Box<trace::Document>),
}

/// Reads one document and nothing behind it. By reference, so that what reads documents is there once in the program, not once for
/// each source of bytes.
pub(crate) fn document(from: &mut dyn Read) -> serde_json::Result<Document> {
    let from = BufReader::with_capacity(1 << 16, from);
    let mut reader = serde_json::Deserializer::from_reader(from);
    let document = Document::deserialize(&mut reader)?;
    reader.end()?;
    Ok(document)
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_map(BySchema)
    }
}

/// Every document begins with the name of its schema, so that it can be read in one pass, whatever its length.
struct BySchema;

impl<'de> Visitor<'de> for BySchema {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document of a straddle command, whose first member is `schema`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let key: Option<String> = map.next_key()?;
        if key.as_deref() != Some("schema") {
            let first = key.map_or_else(
                || "it has no member".to_owned(),
                |key| format!("the first member is `{key}`"),
            );
            return Err(A::Error::custom(format_args!(
                "{first}, expected `schema`: this is no document of a straddle command"
            )));
        }
        let schema: String = map.next_value()?;
        let rest = MapAccessDeserializer::new(map);
        Ok(match schema.as_str() {
            crate::SCHEMA => Document::Check(Deserialize::deserialize(rest)?),
            crate::bench::SCHEMA => Document::Bench(Deserialize::deserialize(rest)?),
            crate::predict::SCHEMA => Document::Predict(Deserialize::deserialize(rest)?),
            crate::study::SCHEMA => Document::Study(Deserialize::deserialize(rest)?),
            crate::fix::SCHEMA => Document::Fix(Deserialize::deserialize(rest)?),
            crate::evidence::SCHEMA => Document::Evidence(Deserialize::deserialize(rest)?),
            crate::trace::SCHEMA => Document::Trace(Deserialize::deserialize(rest)?),
            other => {
                return Err(A::Error::custom(format_args!(
                    "the schema is {other}; a report can be made of {}, {}, {}, {}, {}, {} and {}",
                    crate::SCHEMA,
                    crate::bench::SCHEMA,
                    crate::predict::SCHEMA,
                    crate::study::SCHEMA,
                    crate::fix::SCHEMA,
                    crate::evidence::SCHEMA,
                    crate::trace::SCHEMA
                )));
            }
        })
    }
}
