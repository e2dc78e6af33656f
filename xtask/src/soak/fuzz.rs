//! Fuzzing for minutes, a group of targets at a time.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use straddle::probe::registry;

use super::Outcome;

/// Targets that open virtual disks and what is inside them; a group to be run by itself.
const CONTAINERS: &[&str] = &[
    "check",
    "parallels",
    "qcow2",
    "qed",
    "vdi",
    "vhd",
    "vhdx",
    "vmdk",
];
/// New inputs go here, not into the seed corpus; a crash becomes a fixture by hand.
const FOUND: &str = "fuzz/found";

/// Targets of what `bench` reads begin so.
const BENCH: [&str; 2] = ["bench-", "compat-"];
/// Targets of what `predict`, `profile` and `study` read begin so.
const PREDICT: &str = "predict-";
/// Targets of captured text begin so; their seeds are the captures that the tests read.
const CAPTURED: &str = "captured-";

/// Which targets to fuzz.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    All,
    Containers,
    Volumes,
    Captured,
    Bench,
    Predict,
}

impl Group {
    fn has(self, target: &str) -> bool {
        match self {
            Group::All => true,
            Group::Containers => CONTAINERS.contains(&target),
            Group::Volumes => registry::VOLUMES.iter().any(|format| format.name == target),
            Group::Captured => target.starts_with(CAPTURED),
            Group::Bench => BENCH.iter().any(|start| target.starts_with(start)),
            Group::Predict => target.starts_with(PREDICT),
        }
    }
}

/// The folder of a target's seeds.
fn seeds(target: &str) -> String {
    if target.starts_with(CAPTURED) {
        "tests/captured".to_owned()
    } else {
        format!("fuzz/corpus/{target}")
    }
}

/// Fuzzes the targets of a group in turn, `minutes` in total.
pub(super) fn run(group: Group, minutes: u64, seed: u64) -> Result<Outcome> {
    let mut targets = targets()?;
    targets.retain(|target| group.has(target));
    let each = Duration::from_secs((minutes * 60).div_ceil(targets.len().try_into()?));
    let mut report = format!(
        "{} targets, {} s each. Seeds: `fuzz/corpus/`, for captured text `tests/captured/`. An input that takes more than 5 s \
         or 512 MiB counts as a crash.\n\n\
         | target | inputs run | peak MiB | crashes |\n|---|---|---|---|\n",
        targets.len(),
        each.as_secs(),
    );
    let mut crashed = Vec::new();
    for target in &targets {
        let found = format!("{FOUND}/{target}");
        std::fs::create_dir_all(&found)?;
        println!("soak: {target} for {} s", each.as_secs());
        let run = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, &found, &seeds(target), "--"])
            .arg(format!("-max_total_time={}", each.as_secs()))
            .arg(format!("-seed={seed}"))
            // Time and memory are part of what is promised for hostile input.
            .args(["-timeout=5", "-rss_limit_mb=512", "-max_len=262144", "-print_final_stats=1"])
            .stdin(Stdio::null())
            .output()
            .context("cannot run cargo-fuzz; install it with `cargo install --locked cargo-fuzz`, and a nightly toolchain")?;
        let log = String::from_utf8_lossy(&run.stderr);
        let stat = |name: &str| {
            let line = log.lines().rev().find(|line| line.contains(name));
            line.and_then(|line| line.rsplit(' ').next())
                .unwrap_or("?")
                .to_owned()
        };
        let verdict = if run.status.success() {
            "none"
        } else {
            "CRASH"
        };
        let _ = writeln!(
            report,
            "| {target} | {} | {} | {verdict} |",
            stat("stat::number_of_executed_units"),
            stat("stat::peak_rss_mb"),
        );
        if !run.status.success() {
            let tail: Vec<&str> = log.lines().rev().take(25).collect();
            eprintln!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
            crashed.push(target.clone());
        }
    }
    let failure = (!crashed.is_empty()).then(|| {
        format!(
            "crashes in {}; the inputs lie in fuzz/artifacts/",
            crashed.join(", ")
        )
    });
    Ok(Outcome { report, failure })
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("fuzz/fuzz_targets")? {
        let path = entry?.path();
        names.extend(
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned()),
        );
    }
    names.sort();
    Ok(names)
}
