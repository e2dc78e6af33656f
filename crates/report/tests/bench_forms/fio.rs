use serde_json::Value;
use std::collections::BTreeSet;
use straddle_bench::results::Experiment;
use straddle_report::bench::fio::Document;

use straddle_testkit::experiments::{Recipe, workload};

fn exported(experiment: &Experiment) -> Value {
    serde_json::to_value(Document::new(experiment)).expect("JSON")
}

/// One cell that reads and writes, as the recorded job does.
fn mixed() -> Experiment {
    let mut recipe = Recipe::one_cell();
    recipe.cells = vec![workload(70, 8192, 4, 32)];
    recipe.make()
}

/// Every member's path. Lists count by their first element; of options, percentiles and bins only that they are there,
/// since their members differ from job to job.
fn keys(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = format!("{path}/{key}");
                let open = ["job options", "global options", "bins"];
                if !open.contains(&key.as_str()) {
                    keys(value, &path, out);
                }
                out.insert(path);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                keys(first, path, out);
            }
        }
        _ => {}
    }
}

#[test]
fn members_are_those_of_fio() {
    let recorded: Value =
        serde_json::from_str(include_str!("fio/recorded.json")).expect("fio wrote JSON");
    let (mut theirs, mut ours) = (BTreeSet::new(), BTreeSet::new());
    keys(&recorded, "", &mut theirs);
    keys(&exported(&mixed()), "", &mut ours);
    assert!(theirs.contains("/jobs/read/clat_ns/percentile/99.950000"));
    let missing: Vec<_> = theirs.difference(&ours).collect();
    let added: Vec<_> = ours.difference(&theirs).collect();
    assert!(missing.is_empty(), "fio has {missing:#?}");
    assert!(added.is_empty(), "fio does not have {added:#?}");
}

#[test]
fn values_have_the_types_of_fio() {
    fn compare(theirs: &Value, ours: &Value, path: &str) {
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => {
                for (key, theirs) in theirs {
                    if let Some(ours) = ours.get(key) {
                        compare(theirs, ours, &format!("{path}/{key}"));
                    }
                }
            }
            (Value::Array(theirs), Value::Array(ours)) => {
                compare(&theirs[0], &ours[0], path);
            }
            (Value::Number(theirs), Value::Number(ours)) => {
                assert_eq!(theirs.is_f64(), ours.is_f64(), "{path}: {theirs}, {ours}");
            }
            (Value::String(_), Value::String(_)) => {}
            _ => panic!("{path}: {theirs}, {ours}"),
        }
    }
    let recorded = serde_json::from_str(include_str!("fio/recorded.json")).expect("JSON");
    compare(&recorded, &exported(&mixed()), "");
}

#[test]
fn options_are_those_that_plots_are_made_by() {
    let document = exported(&Recipe::classical().make());
    let jobs = document["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 6 * 5);
    // The second offset of the third cell.
    let job = &jobs[2 * 5 + 1];
    assert_eq!(job["jobname"], "8K-randread-t4-o32-off64K");
    let options = &job["job options"];
    assert_eq!(options["rw"], "randread");
    assert_eq!(options["bs"], "8K");
    assert_eq!(options["iodepth"], "32");
    assert_eq!(options["numjobs"], "4");
    assert_eq!(options["offset"], "65536");
    assert_eq!(document["global options"]["ioengine"], "psync");
    assert_eq!(document["global options"]["direct"], "1");
    assert_eq!(document["time"], "Sun Nov 22 07:55:19 2026");
    let names: BTreeSet<_> = jobs.iter().map(|job| job["jobname"].to_string()).collect();
    assert_eq!(names.len(), jobs.len());
}

#[test]
fn figures_are_those_of_the_samples() {
    let experiment = mixed();
    let document = exported(&experiment);
    for (offset, job) in document["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .enumerate()
    {
        let samples = experiment.samples.iter();
        let samples: Vec<_> = samples
            .filter(|s| s.slot.offset as usize == offset)
            .collect();
        let reads: u64 = samples.iter().map(|s| s.reads.requests).sum();
        let bytes: u64 = samples.iter().map(|s| s.reads.bytes.get()).sum();
        let read = &job["read"];
        assert_eq!(read["total_ios"], reads);
        assert_eq!(read["io_bytes"], bytes);
        assert_eq!(read["runtime"], 10_000 * samples.len());
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let rate = reads as f64 / (10.0 * samples.len() as f64);
        assert_eq!(read["iops"], rate);
        assert_eq!(read["iops_samples"], samples.len());
        let bins = read["clat_ns"]["bins"].as_object().expect("an object");
        let counted: u64 = bins.values().filter_map(Value::as_u64).sum();
        assert_eq!(counted, reads);
        // Every request is in one class of one unit.
        let classes = ["latency_ns", "latency_us", "latency_ms"].map(|unit| &job[unit]);
        let members = classes.iter().filter_map(|unit| unit.as_object());
        let shares: f64 = members
            .flat_map(|m| m.values())
            .filter_map(Value::as_f64)
            .sum();
        assert!((shares - 100.0).abs() < 1e-6, "{shares}");
    }
}

#[test]
fn bins_end_where_scripts_of_fio_do() {
    let mut experiment = Recipe::one_cell().make();
    for seconds in [18, 60, 3600] {
        let latencies = &mut experiment.samples[0].reads.latencies;
        latencies.record(seconds * 1_000_000_000);
    }
    let document = exported(&experiment);
    let bins = document["jobs"][0]["read"]["clat_ns"]["bins"].as_object();
    let bins = bins.expect("an object");
    assert_eq!(bins["17112760320"], 3);
    let ends = bins.keys().filter_map(|end| end.parse::<u64>().ok());
    assert_eq!(ends.max(), Some(17_112_760_320));
}

#[test]
fn one_job_a_file() {
    let parts = Document::new(&Recipe::classical().make()).split();
    assert_eq!(parts.len(), 6 * 5);
    for (name, document) in parts {
        let document = serde_json::to_value(document).expect("JSON");
        assert_eq!(document["jobs"].as_array().map(Vec::len), Some(1));
        assert_eq!(document["jobs"][0]["jobname"], name);
        assert!(document["disk_util"].is_null());
    }
}
