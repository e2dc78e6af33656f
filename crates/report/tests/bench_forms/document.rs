use straddle_bench::results::{End, Medium};
use straddle_bench::validity::WarningKind;
use straddle_report::bench::{Document, SCHEMA};
use straddle_workload::histogram::Latencies;

use straddle_testkit::experiments::{Recipe, warning};

fn schema() -> serde_json::Value {
    let schema = schemars::schema_for!(Document<'static>);
    serde_json::to_value(&schema).expect("a schema is JSON")
}

#[test]
fn every_document_obeys_the_schema() {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("schema.json", schema())
        .expect("the schema is a schema");
    let compiled = compiler
        .compile("schema.json", &mut schemas)
        .expect("the schema compiles");
    let warned = Recipe {
        stack: false,
        medium: Medium::FileBuffered,
        warnings: vec![warning(WarningKind::Buffered, "cause", "advice")],
        end: End::Failed("no space left on device".to_owned()),
        ..Recipe::one_cell()
    };
    let unreached = Recipe {
        reached: 0,
        blocks: 0,
        end: End::Stopped,
        ..Recipe::classical()
    };
    for recipe in [Recipe::classical(), Recipe::one_cell(), warned, unreached] {
        let experiment = recipe.make();
        let document = serde_json::to_value(Document::new(&experiment)).expect("JSON");
        if let Err(error) = schemas.validate(&document, compiled) {
            panic!("{error}");
        }
        assert_eq!(document["schema"], SCHEMA);
    }
    let mut wrong = serde_json::to_value(Document::new(&Recipe::one_cell().make())).expect("JSON");
    wrong["plan"]["seed"] = "forty-two".into();
    assert!(schemas.validate(&wrong, compiled).is_err());
}

#[test]
fn one_cell_without_its_samples() {
    let experiment = Recipe::one_cell().make();
    let mut document = serde_json::to_value(Document::new(&experiment)).expect("JSON");
    let samples = document["samples"].as_array_mut().expect("a list");
    assert_eq!(samples.len(), experiment.samples.len());
    samples.truncate(1);
    // Its bytes depend on the compressor's version; that they read back is another test.
    samples[0]["reads"]["histogram_v2_base64"] = "…".into();
    let text = serde_json::to_string_pretty(&document).expect("JSON");
    insta::assert_snapshot!("one_cell", text);
}

#[test]
fn histograms_read_back() {
    use base64::Engine as _;
    let experiment = Recipe::one_cell().make();
    let document = serde_json::to_value(Document::new(&experiment)).expect("JSON");
    for (sample, written) in experiment
        .samples
        .iter()
        .zip(document["samples"].as_array().expect("a list"))
    {
        let text = written["reads"]["histogram_v2_base64"].as_str();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.expect("a text"));
        let latencies = Latencies::decode(&bytes.expect("base64"));
        assert_eq!(latencies.as_ref(), Some(&sample.reads.latencies));
        assert!(written["writes"]["histogram_v2_base64"].is_null());
    }
}
