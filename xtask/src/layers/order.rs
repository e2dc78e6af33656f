//! Which crate may depend on which: only on those above it in the list, which is the data flow.

use anyhow::{Context, Result, bail};

/// The crates, in the order of ARCHITECTURE.md.
const ORDER: &[&str] = &[
    "straddle-geometry",
    "straddle-stack",
    "straddle-io",
    "straddle-probe",
    "straddle-sources",
    "straddle-rules",
    "straddle-workload",
    "straddle-bench",
    "straddle-predict",
    "straddle-fix",
    "straddle-report",
    "straddle",
    "straddle-cli",
    "xtask",
];

/// Crates that must not depend on anything outside this repository.
const PURE: &[&str] = &["straddle-geometry"];

/// The only crate whose lints do not forbid unsafe code.
const MAY_BE_UNSAFE: &str = "straddle-io";

/// Checks the order, the purity of geometry, and where unsafe code may be.
pub(super) fn check(metadata: &serde_json::Value) -> Result<()> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(rank) = ORDER.iter().position(|n| *n == name) else {
            faults.push(format!(
                "{name} is not in the list of crates; add it where its place is"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev";
            match ORDER.iter().position(|n| *n == on) {
                Some(above) if above >= rank => {
                    faults.push(format!("{name} depends on {on}, which comes after it"));
                }
                None if PURE.contains(&name) && !for_tests && dependency["optional"] != true => {
                    faults.push(format!("{name} depends on {on}; it must depend on nothing"));
                }
                _ => {}
            }
        }
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let text = std::fs::read_to_string(manifest).with_context(|| manifest.to_owned())?;
        let forbids =
            text.contains("[lints]\nworkspace = true") || text.contains("unsafe_code = \"forbid\"");
        if !forbids && name != MAY_BE_UNSAFE {
            faults.push(format!("{name} does not forbid unsafe code"));
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!(
        "layers: {} crates, each depending only on those before it",
        packages.len()
    );
    Ok(())
}
