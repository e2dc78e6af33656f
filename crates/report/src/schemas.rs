//! JSON Schemas of what the verbs print with `--json`, made from the types of their documents.
//!
//! The program does not make them: it carries `docs/schemas/`, which is written from here. What makes a schema of each type is a twentieth
//! of the program otherwise.

use schemars::{Schema, SchemaGenerator, json_schema, schema_for};

use crate::{
    SCHEMA, Summary, TargetDocument, bench, compare, evidence, fix, kept, predict, realign, study,
    trace,
};

/// The schema of each verb's document, by the verb's name.
pub fn all() -> [(&'static str, Schema); 11] {
    [
        ("check", check()),
        ("bench", schema_for!(bench::Document<'static>)),
        ("predict", schema_for!(predict::Document<'static>)),
        ("fix", schema_for!(fix::Document<'static>)),
        ("realign", schema_for!(realign::Document<'static>)),
        ("evidence", schema_for!(evidence::Document<'static>)),
        ("trace", schema_for!(trace::Document<'static>)),
        ("profile", schema_for!(predict::profile::Document)),
        ("study", schema_for!(study::Document<'static>)),
        ("compare", schema_for!(compare::Comparison)),
        ("history", schema_for!(kept::Document<'static>)),
    ]
}

/// What `straddle check --json` prints: one document, whatever the number of targets.
///
/// `check` writes the outer object piece by piece as targets are finished; a test validates it with this schema.
fn check() -> Schema {
    let mut generator = SchemaGenerator::default();
    let target = generator.subschema_for::<TargetDocument<'static>>();
    let summary = generator.subschema_for::<Summary>();
    let definitions = generator.take_definitions(true);
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "straddle check",
        "type": "object",
        "properties": {
            "schema": { "const": SCHEMA, "description": "Name and version of this schema." },
            "straddle": { "type": "string", "description": "Version of straddle that wrote it." },
            "targets": { "type": "array", "items": target, "description": "What was checked, in the order in which it was named." },
            "failures": {
                "type": "array",
                "description": "Targets that could not be read.",
                "items": {
                    "type": "object",
                    "properties": { "target": { "type": "string" }, "error": { "type": "string" } },
                    "required": ["target", "error"],
                    "additionalProperties": false,
                },
            },
            "summary": summary,
        },
        "required": ["schema", "straddle", "targets", "failures", "summary"],
        "additionalProperties": false,
        "$defs": definitions,
    })
}
