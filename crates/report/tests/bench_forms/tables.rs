use straddle_bench::results::Experiment;
use straddle_report::bench::csv;

use straddle_testkit::experiments::{Recipe, workload};

fn results(experiment: &Experiment) -> String {
    let mut out = Vec::new();
    csv::results(experiment, &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("UTF-8")
}

fn samples(experiment: &Experiment) -> String {
    let mut out = Vec::new();
    csv::samples(experiment, &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("UTF-8")
}

/// A line for each column with the values of some records.
fn turned(text: &str, records: usize) -> String {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let mut out = String::new();
    for (index, name) in rows[0].iter().enumerate() {
        let values = rows[1..].iter().take(records).map(|row| row[index]);
        let line = format!("{name:<28} {}", values.collect::<Vec<_>>().join(" | "));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn a_line_for_each_cell_and_offset() {
    let experiment = Recipe::classical().make();
    let text = results(&experiment);
    assert_eq!(text.lines().count(), 1 + 6 * 5);
    insta::assert_snapshot!("csv", turned(&text, 2));
}

#[test]
fn cells_that_were_not_reached_have_no_line() {
    let recipe = Recipe {
        reached: 2,
        ..Recipe::classical()
    };
    assert_eq!(results(&recipe.make()).lines().count(), 1 + 2 * 5);
}

#[test]
fn a_line_for_each_run() {
    let mut recipe = Recipe::one_cell();
    let large = workload(70, 65_536, 1, 8);
    recipe.cells = vec![workload(70, 8192, 1, 8)];
    recipe.cells[0].sizes.push((large.sizes[0].0, 3));
    let experiment = recipe.make();
    let text = samples(&experiment);
    assert_eq!(text.lines().count(), 1 + experiment.samples.len());
    insta::assert_snapshot!("csv_samples", turned(&text, 2));
}
