//! What may depend on what: crates only on those before them, and files of a crate not in circles.

mod conditions;
mod graph;
mod imports;
mod modules;
mod names;
mod order;
mod paths;
mod scopes;
mod segments;
#[cfg(test)]
mod tests;
mod tokens;

use anyhow::{Result, bail};
use std::path::Path;

use crate::run::{cargo, output};
use graph::Graph;

/// Checks crates and files; with `all`, cycles that are permitted are printed too.
pub(crate) fn check(all: bool) -> Result<()> {
    let metadata = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let order = order::check(&metadata);
    let cycles = cycles(&metadata, all);
    order.and(cycles)
}

/// Checks that files import each other in circles only within a folder, and no more than a few of them.
fn cycles(metadata: &serde_json::Value, all: bool) -> Result<()> {
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        for target in package["targets"].as_array().into_iter().flatten() {
            let kind = target["kind"][0].as_str().unwrap_or_default();
            let root = target["src_path"].as_str().unwrap_or_default();
            if matches!(kind, "lib" | "bin") {
                one(name, &Graph::read(Path::new(root))?, all, &mut faults);
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// Prints what is found in one crate, and notes more than is known.
fn one(name: &str, graph: &Graph, all: bool, faults: &mut Vec<String>) {
    let cycles = graph.cycles();
    let wrong: Vec<_> = cycles.iter().filter(|c| c.is_fault()).collect();
    println!(
        "layers: {name}: {} files, {} cycles within a folder, {} too large or across folders",
        graph.files(),
        cycles.len() - wrong.len(),
        wrong.len()
    );
    for cycle in cycles.iter().filter(|c| all || c.is_fault()) {
        println!(
            "  cycle of {} files in {} folders: {}",
            cycle.files(),
            cycle.folders,
            graph.names(cycle).join(", ")
        );
        for step in graph.steps(cycle) {
            println!("    {step}");
        }
    }
    if !wrong.is_empty() {
        faults.push(format!("{name}: files import each other in circles"));
    }
}
