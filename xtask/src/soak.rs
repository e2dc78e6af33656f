//! What takes too long for every commit, and the archive of its last run.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use straddle::probe::registry;

use crate::run::output;

/// Where the last runs are kept.
const ARCHIVE: &str = "tests/soak";
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
pub(crate) enum Group {
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

/// Fuzzes the targets of a group in turn, `minutes` in total, and archives what was run.
pub(crate) fn fuzz(minutes: u64, group: Group) -> Result<()> {
    let mut targets = targets()?;
    let (name, archive) = match group {
        Group::All => ("", format!("{ARCHIVE}/fuzz.md")),
        Group::Containers => (" containers", format!("{ARCHIVE}/fuzz-containers.md")),
        Group::Volumes => (" volumes", format!("{ARCHIVE}/fuzz-volumes.md")),
        Group::Captured => (" captured", format!("{ARCHIVE}/fuzz-captured.md")),
        Group::Bench => (" bench", format!("{ARCHIVE}/fuzz-bench.md")),
        Group::Predict => (" predict", format!("{ARCHIVE}/fuzz-predict.md")),
    };
    targets.retain(|target| group.has(target));
    let each = Duration::from_secs((minutes * 60).div_ceil(targets.len().try_into()?));
    let mut rows = String::new();
    let mut crashed = Vec::new();
    let start = Instant::now();
    for target in &targets {
        let found = format!("{FOUND}/{target}");
        std::fs::create_dir_all(&found)?;
        println!("soak: {target} for {} s", each.as_secs());
        let run = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, &found, &seeds(target), "--"])
            .arg(format!("-max_total_time={}", each.as_secs()))
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
            rows,
            "| {target} | {} | {} | {} | {verdict} |",
            each.as_secs(),
            stat("stat::number_of_executed_units"),
            stat("stat::peak_rss_mb"),
        );
        if !run.status.success() {
            let tail: Vec<&str> = log.lines().rev().take(25).collect();
            eprintln!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
            crashed.push(target.clone());
        }
    }
    let text = format!(
        "# Last run of `cargo xtask soak fuzz {minutes}{name}`\n\nDate {}, commit {}, {}; {} s of wall time for {} targets. \
         Seeds: `fuzz/corpus/`, for captured text `tests/captured/`. A run that is slower than 5 s or needs more than 512 MiB counts as a crash.\n\n\
         | target | seconds | inputs run | peak MiB | crashes |\n|---|---|---|---|---|\n{rows}",
        command("date", &["--utc", "+%Y-%m-%d"])?,
        command("git", &["describe", "--always", "--dirty"])?,
        machine()?,
        start.elapsed().as_secs(),
        targets.len(),
    );
    std::fs::create_dir_all(ARCHIVE)?;
    std::fs::write(&archive, text)?;
    if !crashed.is_empty() {
        bail!(
            "crashes in {}; the inputs lie in fuzz/artifacts/",
            crashed.join(", ")
        );
    }
    println!("soak: no crash; archived in {archive}");
    Ok(())
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

fn command(program: &str, args: &[&str]) -> Result<String> {
    Ok(output(Command::new(program).args(args))?.trim().to_owned())
}

/// Processor and number of cores.
fn machine() -> Result<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism()?;
    Ok(format!(
        "{}, {cores} cores",
        model.trim_start_matches(['\t', ' ', ':'])
    ))
}
