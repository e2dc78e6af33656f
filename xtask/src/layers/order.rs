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
    "straddle-trace",
    "straddle-evidence",
    "straddle-workload",
    "straddle-bench",
    "straddle-predict",
    "straddle-fix",
    "straddle-realign",
    "straddle-history",
    "straddle-report",
    "straddle",
    "straddle-serve",
    "straddle-python",
    "straddle-cli",
    TESTKIT,
    "xtask",
];

/// What tests share. Every crate's tests may use it, whatever it depends on, and xtask, which starts guests of the lab with it.
const TESTKIT: &str = "straddle-testkit";

/// Crates that must not depend on anything outside this repository.
const PURE: &[&str] = &["straddle-geometry"];

/// The only crates whose lints do not forbid unsafe code: system calls, and memory that another library hands over.
const MAY_BE_UNSAFE: &[&str] = &["straddle-io", "straddle-python"];

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
            faults.extend(wrong(name, rank, dependency));
        }
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let text = std::fs::read_to_string(manifest).with_context(|| manifest.to_owned())?;
        let forbids =
            text.contains("[lints]\nworkspace = true") || text.contains("unsafe_code = \"forbid\"");
        if !forbids && !MAY_BE_UNSAFE.contains(&name) {
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

/// What is wrong with a dependency of the crate `name`, whose place in the list is `rank`.
fn wrong(name: &str, rank: usize, dependency: &serde_json::Value) -> Option<String> {
    let on = dependency["name"].as_str().unwrap_or_default();
    let for_tests = dependency["kind"] == "dev";
    match ORDER.iter().position(|n| *n == on) {
        Some(_) if on == TESTKIT => (!for_tests && name != "xtask")
            .then(|| format!("{name} depends on {on}, which is for tests")),
        Some(above) if above >= rank => {
            Some(format!("{name} depends on {on}, which comes after it"))
        }
        None if PURE.contains(&name) && !for_tests && dependency["optional"] != true => {
            Some(format!("{name} depends on {on}; it must depend on nothing"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_tests_and_xtask_may_use_what_tests_share() {
        let rank = |name| ORDER.iter().position(|n| *n == name).expect(name);
        for name in ORDER.iter().filter(|name| **name != TESTKIT) {
            let by_tests = json!({ "name": TESTKIT, "kind": "dev" });
            assert_eq!(wrong(name, rank(*name), &by_tests), None);
            for kind in [json!(null), json!("build")] {
                let by_all = json!({ "name": TESTKIT, "kind": kind });
                let fault = wrong(name, rank(*name), &by_all);
                assert_eq!(fault.is_none(), *name == "xtask", "{name}: {fault:?}");
            }
        }
    }

    #[test]
    fn a_crate_depends_only_on_those_before_it() {
        let on = |name: &str| json!({ "name": name, "kind": null });
        assert_eq!(wrong("straddle-io", 2, &on("straddle-stack")), None);
        assert!(wrong("straddle-io", 2, &on("straddle-probe")).is_some());
        assert!(wrong("straddle-geometry", 0, &on("serde")).is_some());
    }
}
