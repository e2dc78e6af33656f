use schemars::{Schema as JsonSchema, SchemaGenerator, json_schema, schema_for};
use straddle::report::json::pretty;
use straddle::report::{
    SCHEMA, Summary, TargetDocument, bench, compare, evidence, fix, kept, predict, realign, study,
    trace,
};

use crate::args::{Schema, Verb};
use crate::exit::CLEAN;
use crate::output;

pub(crate) fn run(args: &Schema) -> anyhow::Result<u8> {
    let schema = match args.verb {
        Verb::Check => check(SchemaGenerator::default()),
        Verb::Bench => schema_for!(bench::Document<'static>),
        Verb::Predict => schema_for!(predict::Document<'static>),
        Verb::Fix => schema_for!(fix::Document<'static>),
        Verb::Realign => schema_for!(realign::Document<'static>),
        Verb::Evidence => schema_for!(evidence::Document<'static>),
        Verb::Trace => schema_for!(trace::Document<'static>),
        Verb::Profile => schema_for!(predict::profile::Document),
        Verb::Compare => schema_for!(compare::Comparison),
        Verb::History => schema_for!(kept::Document<'static>),
        Verb::Study => schema_for!(study::Document<'static>),
    };
    output::print(&pretty(&schema)?)?;
    Ok(CLEAN)
}

/// What `straddle check --json` prints: one document, whatever the number of targets.
///
/// `check` writes the outer object piece by piece as targets are finished; a test holds it against this schema.
fn check(mut generator: SchemaGenerator) -> JsonSchema {
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
