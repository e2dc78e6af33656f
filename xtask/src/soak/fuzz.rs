//! Fuzzing for minutes, a group of targets at a time.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Outcome;
use crate::run::repository;

/// New inputs go here, not into the seed corpus; a crash becomes a fixture by hand.
const FOUND: &str = "fuzz/found";

/// Targets of captured text begin so; their seeds are the captures that the tests read.
const CAPTURED: &str = "captured-";
/// So are those of logs and counters.
const EVIDENCE: &str = "evidence";
/// And those of recorded requests.
const TRACE: &str = "trace";

/// Which targets to fuzz.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    All,
    Formats,
    Containers,
    Volumes,
    Captured,
    Bench,
    Predict,
    Windows,
    Evidence,
    Traces,
}

impl Group {
    /// Whether targets that call `what` of the fuzz crate are in it.
    fn has(self, what: &str) -> bool {
        match self {
            Group::All => true,
            Group::Formats => matches!(what, "prober" | "files" | "fuzz_inspect"),
            // `check` opens virtual disks, and looks at what is in them.
            Group::Containers => matches!(what, "container" | "fuzz_check"),
            Group::Volumes => what == "volume",
            Group::Captured => matches!(what, "captured" | "collected"),
            Group::Bench => matches!(what, "compat" | "journal" | "realign"),
            Group::Predict => what == "predict",
            Group::Windows => what == "windows",
            Group::Evidence => matches!(what, "evidence" | "reader"),
            Group::Traces => matches!(what, "trace" | "traces" | "statistics" | "table"),
        }
    }

    fn targets(self) -> Result<Vec<String>> {
        let mut members = Vec::new();
        for target in targets()? {
            if self.has(&called(&target)?) {
                members.push(target);
            }
        }
        Ok(members)
    }
}

/// What a target calls of the fuzz crate: a macro, a function or a module.
fn called(target: &str) -> Result<String> {
    let path = folder().join(format!("{target}.rs"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (_, call) = text
        .rsplit_once("straddle_fuzz::")
        .with_context(|| format!("{target} calls nothing of the fuzz crate"))?;
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    Ok(call.chars().take_while(|c| name(*c)).collect())
}

/// The folder of a target's seeds.
fn seeds(target: &str) -> String {
    match target {
        target if target.starts_with(CAPTURED) => "tests/captured".to_owned(),
        target if target.starts_with(EVIDENCE) => "tests/evidence".to_owned(),
        target if target.starts_with(TRACE) => "tests/traces".to_owned(),
        target => format!("fuzz/corpus/{target}"),
    }
}

/// Fuzzes the targets of a group in turn, `minutes` in total.
pub(super) fn run(group: Group, minutes: u64, seed: u64) -> Result<Outcome> {
    let targets = group.targets()?;
    let each = Duration::from_secs((minutes * 60).div_ceil(targets.len().try_into()?));
    let mut report = format!(
        "{} targets, {} s each. Seeds: `fuzz/corpus/`, for captured text `tests/captured/`, for logs and counters `tests/evidence/`, for recorded requests `tests/traces/`. An input that takes more than 5 s \
         or 512 MiB counts as a crash.\n\n\
         | target | inputs run | peak MiB | crashes |\n|---|---|---|---|\n",
        targets.len(),
        each.as_secs(),
    );
    // What is not there or not built has no crashes.
    const NEEDS: &str =
        "cargo-fuzz is needed: `cargo install --locked cargo-fuzz`, and a nightly toolchain";
    for target in &targets {
        let mut build = Command::new("cargo");
        crate::run::run(build.args(["+nightly", "fuzz", "build", target])).context(NEEDS)?;
    }
    let mut crashed = Vec::new();
    for target in &targets {
        let found = format!("{FOUND}/{target}");
        std::fs::create_dir_all(&found)?;
        println!("soak: {target} for {} s", each.as_secs());
        let run = Command::new("cargo")
            .args([
                "+nightly",
                "fuzz",
                "run",
                target,
                &found,
                &seeds(target),
                "--",
            ])
            .arg(format!("-max_total_time={}", each.as_secs()))
            .arg(format!("-seed={seed}"))
            // Time and memory are part of what is promised for hostile input.
            .args([
                "-timeout=5",
                "-rss_limit_mb=512",
                "-max_len=262144",
                "-print_final_stats=1",
            ])
            .stdin(Stdio::null())
            .output()
            .context(NEEDS)?;
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

fn folder() -> PathBuf {
    repository().join("fuzz/fuzz_targets")
}

/// The names of all targets.
pub(crate) fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "rs") {
            names.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::{How, SOAKS};
    use straddle::probe::registry;

    #[test]
    fn every_target_is_in_a_group_that_a_soak_fuzzes_and_no_group_is_empty() {
        let groups: Vec<Group> = SOAKS
            .iter()
            .filter_map(|soak| match soak.how {
                How::Fuzz(group, _) => Some(group),
                How::Test(_) | How::Evidence(_) => None,
            })
            .filter(|group| *group != Group::All)
            .collect();
        let targets = targets().expect("targets");
        let calls: Vec<String> = targets
            .iter()
            .map(|target| called(target).expect(target))
            .collect();
        for (target, call) in targets.iter().zip(&calls) {
            assert!(
                groups.iter().any(|group| group.has(call)),
                "{target} calls {call}, which is in no group of its own: add it to `Group::has`"
            );
        }
        for group in groups {
            assert!(calls.iter().any(|call| group.has(call)));
        }
    }

    #[test]
    fn the_registry_decides_which_targets_are_containers() {
        let containers = Group::Containers.targets().expect("targets");
        let formats = registry::CONTAINERS.iter().map(|format| format.name);
        let mut expected: Vec<&str> = formats.chain(["check"]).collect();
        expected.sort_unstable();
        assert_eq!(containers, expected);
    }
}
