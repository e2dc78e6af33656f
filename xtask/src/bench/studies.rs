//! Every published experiment simulated. Nothing is timed and a run is the same to the bit everywhere, so any build will do.

use anyhow::{Result, bail};
use std::process::Command;

use super::archive::{directory, heading};
use crate::docs::studies::kinds;
use crate::run::{as_tests_have_it, run};

/// Archives `benches/DATE-studies/`: the scoreboard, and every cell for programs.
pub(crate) fn studies() -> Result<()> {
    run(as_tests_have_it().args(["--bin", "straddle"]))?;
    let directory = directory("studies")?;
    // Simulated once: what is printed of it is written from the document.
    let text = simulated()?;
    std::fs::write(directory.join("studies.json"), &text)?;
    let document: serde_json::Value = serde_json::from_str(&text)?;
    let summary = format!(
        "{}`studies.json` has every cell; [docs/studies.md](../../docs/studies.md) is written from it.\n\n{}",
        heading("studies", "cargo xtask bench studies")?,
        kinds(&document["score"])
    );
    std::fs::write(directory.join("summary.md"), &summary)?;
    println!("{summary}archived in {}", directory.display());
    Ok(())
}

/// What `straddle study --all --json` prints. That some cells are further off than their tolerance is a result, no failure.
fn simulated() -> Result<String> {
    let output = Command::new("target/debug/straddle")
        .args(["study", "--all", "--json", "--history", "none"])
        .output()?;
    match output.status.code() {
        Some(0 | 1) => Ok(String::from_utf8(output.stdout)?),
        _ => bail!(
            "studies cannot be simulated: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}
