//! The long forms of tests: the same tests, with `STRADDLE_SOAK=1`, which try everything where the short form samples.

use anyhow::Result;
use std::process::Stdio;

use super::Outcome;
use crate::packages;
use crate::run::cargo;

/// Which tests.
pub(super) struct Test {
    pub(super) package: &'static str,
    /// The test program; the library's own tests where it is empty.
    pub(super) program: &'static str,
    /// Parts of their names, of which each has one, with spaces between them; all where it is empty.
    pub(super) filter: &'static str,
}

/// Runs them; what they print is the report.
pub(super) fn run(test: &Test) -> Result<Outcome> {
    packages::for_tests()?;
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", test.package]);
    if test.program.is_empty() {
        command.arg("--lib");
    } else {
        command.args(["--test", test.program]);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let run = command
        .args(["--", "--nocapture"])
        .args(test.filter.split_whitespace())
        .env("STRADDLE_SOAK", "1")
        .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .output()?;
    let mut text = String::from_utf8_lossy(&run.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&run.stderr));
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(60)..)
        .unwrap_or_default();
    let made = lines
        .iter()
        .any(|line| line.starts_with("test result: ok.") && !line.contains(" 0 passed"));
    let failure = if !run.status.success() {
        Some("tests failed".to_owned())
    } else if !made {
        Some("no test has that name".to_owned())
    } else {
        None
    };
    Ok(Outcome {
        report: format!("```text\n{}\n```", last.join("\n")),
        failure,
    })
}
