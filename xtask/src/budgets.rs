//! Limits that are raised on purpose or not at all.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::dist;
use crate::run::{cargo, output};

/// Packages in Cargo.lock, ours included. It was 220 before moves in place, whose digests have to be as fast as memory, and 224 before
/// `report`, which brings minijinja for its pages, and 225 before `history`: rusqlite with SQLite bundled, four packages below it, and ours,
/// and 232 before `serve`: axum with hyper and tokio, HTTP/1 on one thread; and 257 before pictures of terminals in docs/, which only xtask makes,
/// and 260 before `trace`, a crate of ours, and what ahash of the module for Python names for WebAssembly, which is never built,
/// and 265 before the C compiler of SQLite is shared with zstd's, which wants several at once (jobserver),
/// and 266 before images and archives packed with xz and bzip2 are read: two decoders in Rust, and the digests that xz checks itself with,
/// and 276 before disks in an appliance are compared with its checksums, which are SHA-1 in old ones.
const MAX_PACKAGES: usize = 277;
/// The module for Python, which nothing else needs.
const PYTHON: &str = "straddle-python";
/// Packages that only it needs, itself included: PyO3 and what it is made of.
const MAX_PACKAGES_OF_PYTHON: usize = 7;
/// Where the feature `parquet` names its packages.
const TRACES: &str = "crates/trace/Cargo.toml";
/// Packages that only this feature needs: Parquet, Arrow's arrays, and what unpacks them.
const MAX_PACKAGES_OF_PARQUET: usize = 33;
/// The static binary that is shipped, in bytes, with everything in: readers of captured text, logs and traces, containers and volumes, the simulator with its profiles and
/// studies, the mover, reports and their page, SQLite and a server. It was 19.5 MB before a panic ended what is shipped (so nothing is unwound), before
/// addresses that are moved at its start were packed, and before schemas were carried as text. The readers of captured text compiled for size were
/// 0.6 MB less then, and `check` of such text 1.24 times as slow.
const LARGEST_BINARY: u64 = 15_000_000;
/// Lines of a source file without its tests; big files hide the interesting part.
const LONGEST_FILE: usize = 600;

/// Checks package count, licences, locks, binary size and file lengths.
pub(crate) fn check() -> Result<()> {
    let mut faults = Vec::new();
    lock_of_the_fuzz_targets()?;
    packages(&mut faults)?;
    licences(&mut faults)?;
    binary(&mut faults)?;
    files(&mut faults)?;
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// They are a workspace by themselves, of which nothing here builds anything: their lock would go stale unseen.
fn lock_of_the_fuzz_targets() -> Result<()> {
    const MANIFEST: [&str; 2] = ["--manifest-path", "fuzz/Cargo.toml"];
    let args = ["metadata", "--locked", "--quiet", "--format-version", "1"];
    output(cargo().args(args).args(MANIFEST))
        .context("`cargo metadata --manifest-path fuzz/Cargo.toml` updates fuzz/Cargo.lock")?;
    Ok(())
}

fn packages(faults: &mut Vec<String>) -> Result<()> {
    let lock = std::fs::read_to_string("Cargo.lock")?;
    let manifest: toml::Table = std::fs::read_to_string(TRACES)?.parse()?;
    let optional = manifest
        .get("features")
        .and_then(|features| features.get("parquet")?.as_array());
    let optional = optional.with_context(|| format!("{TRACES} has no feature `parquet`"))?;
    let optional: Vec<&str> = optional
        .iter()
        .filter_map(|name| name.as_str()?.strip_prefix("dep:"))
        .collect();
    let [without, parquet, python] = counted(&lock, &optional)?;
    println!(
        "budgets: {without} of {MAX_PACKAGES} packages in Cargo.lock, {parquet} of {MAX_PACKAGES_OF_PARQUET} that only the feature `parquet` needs, and {python} of {MAX_PACKAGES_OF_PYTHON} that only {PYTHON} needs"
    );
    for (count, most) in [
        (without, MAX_PACKAGES),
        (parquet, MAX_PACKAGES_OF_PARQUET),
        (python, MAX_PACKAGES_OF_PYTHON),
    ] {
        if count > most {
            faults.push(format!("{count} packages in Cargo.lock, more than {most}"));
        }
    }
    Ok(())
}

/// How many packages of a lock file there are, how many of them besides are needed by the feature `parquet` of traces only, whose own dependencies are
/// `optional`, and how many by the module for Python only.
fn counted(lock: &str, optional: &[&str]) -> Result<[usize; 3]> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.context("Cargo.lock lists no packages")?;
    let text = |package: &toml::Value, key: &str| -> String {
        let value = package.get(key).and_then(toml::Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    // A dependency is named with its version where there are several.
    let mut known = BTreeMap::new();
    for (at, package) in packages.iter().enumerate() {
        let (name, version) = (text(package, "name"), text(package, "version"));
        known.insert(format!("{name} {version}"), at);
        known.insert(name, at);
    }
    let reached = |optional: &[&str]| -> usize {
        let is_ours = |package: &&toml::Value| package.get("source").is_none();
        let mut open: Vec<usize> = packages
            .iter()
            .filter(is_ours)
            .map(|package| text(package, "name"))
            .filter(|name| name != PYTHON)
            .filter_map(|name| known.get(&name).copied())
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let is_traces = text(&packages[at], "name") == "straddle-trace";
            let needs = packages[at].get("dependencies");
            let needs = needs.and_then(toml::Value::as_array).into_iter().flatten();
            open.extend(needs.filter_map(|name| {
                let name = name.as_str()?;
                let bare = name.split(' ').next().unwrap_or(name);
                let is_left_out = is_traces && optional.contains(&bare);
                known.get(name).copied().filter(|_| !is_left_out)
            }));
        }
        seen.len()
    };
    let (without, with) = (reached(optional), reached(&[]));
    Ok([without, with - without, packages.len() - with])
}

/// Every package must offer a licence that deny.toml allows.
fn licences(faults: &mut Vec<String>) -> Result<()> {
    let deny: toml::Table = std::fs::read_to_string("deny.toml")?.parse()?;
    let allowed = deny
        .get("licenses")
        .and_then(|l| l.get("allow"))
        .and_then(|a| a.as_array());
    let allowed: Vec<&str> = allowed
        .context("deny.toml has no licenses.allow")?
        .iter()
        .filter_map(|v| v.as_str())
        .collect();
    let exceptions = deny
        .get("licenses")
        .and_then(|l| l.get("exceptions"))
        .and_then(|e| e.as_array());
    let is_excepted = |name: &str, licence: &str| {
        exceptions.into_iter().flatten().any(|exception| {
            let allowed = exception.get("allow").and_then(|a| a.as_array());
            exception.get("crate").and_then(|c| c.as_str()) == Some(name)
                && allowed
                    .is_some_and(|allowed| allowed.iter().any(|a| a.as_str() == Some(licence)))
        })
    };
    let metadata = output(cargo().args(["metadata", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(licence) = package["license"].as_str() else {
            faults.push(format!("{name} states no licence"));
            continue;
        };
        // Cargo still accepts the old separator.
        let expression =
            spdx::Expression::parse_mode(&licence.replace('/', " OR "), spdx::ParseMode::LAX)
                .with_context(|| format!("licence of {name}: {licence}"))?;
        let fine = expression.evaluate(|requirement| {
            requirement
                .license
                .id()
                .is_some_and(|id| allowed.contains(&id.name))
        });
        if !fine && !is_excepted(name, licence) {
            faults.push(format!(
                "{name} is under {licence}, which deny.toml does not allow"
            ));
        }
    }
    println!(
        "budgets: licences of {} packages are allowed",
        packages.len()
    );
    Ok(())
}

fn binary(faults: &mut Vec<String>) -> Result<()> {
    let size = std::fs::metadata(dist::shipped()?)?.len();
    println!("budgets: the binary has {size} of {LARGEST_BINARY} bytes");
    if size > LARGEST_BINARY {
        faults.push(format!(
            "the binary has {size} bytes, more than {LARGEST_BINARY}"
        ));
    }
    Ok(())
}

fn files(faults: &mut Vec<String>) -> Result<()> {
    let mut sources = Vec::new();
    collect(Path::new("crates"), &mut sources)?;
    collect(Path::new("xtask"), &mut sources)?;
    let mut longest = 0;
    for path in sources {
        let text = std::fs::read_to_string(&path)?;
        let is_test =
            path.components().any(|c| c.as_os_str() == "tests") || path.ends_with("tests.rs");
        if is_test {
            continue;
        }
        let lines = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default()
            .lines()
            .count();
        longest = longest.max(lines);
        if lines > LONGEST_FILE {
            faults.push(format!(
                "{} has {lines} lines before its tests, more than {LONGEST_FILE}",
                path.display()
            ));
        }
    }
    println!("budgets: the longest source file has {longest} of {LONGEST_FILE} lines");
    Ok(())
}

fn collect(directory: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_python_and_parquet_need_is_counted_apart() {
        let package = |name: &str, version: &str, source: &str, needs: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}dependencies = [{needs}]\n"
            )
        };
        let elsewhere = "source = \"registry\"\n";
        let lock = [
            package("straddle", "0.1.0", "", "\"syn 3.0.0\", \"straddle-trace\""),
            package("straddle-trace", "0.1.0", "", "\"parquet\", \"libc\""),
            package("parquet", "60.1.0", elsewhere, "\"snap\", \"libc\""),
            package("snap", "1.0.0", elsewhere, ""),
            package(PYTHON, "0.1.0", "", "\"straddle\", \"pyo3\""),
            package("pyo3", "0.30.1", elsewhere, "\"syn 2.0.0\", \"libc\""),
            package("syn", "2.0.0", elsewhere, ""),
            package("syn", "3.0.0", elsewhere, "\"libc\""),
            package("libc", "0.2.0", elsewhere, ""),
        ];
        let counts = counted(&lock.concat(), &["parquet"]).expect("a lock file");
        assert_eq!(counts, [4, 2, 3]);
    }
}
