//! Every published experiment simulated. Nothing is timed and a run is the same to the bit everywhere, so any build will do.

use anyhow::{Result, bail};
use std::process::Command;

use super::archive::{directory, heading};
use crate::run::{cargo, run};

/// Archives `benches/DATE-studies/`: the scoreboard, and every cell for programs.
pub(crate) fn studies() -> Result<()> {
    run(cargo().args(["build", "--quiet", "--package", "straddle-cli"]))?;
    let directory = directory("studies")?;
    for (format, file) in [("json", "studies.json"), ("csv", "studies.csv")] {
        let text = scoreboard(format)?;
        std::fs::write(directory.join(file), text)?;
    }
    let summary = format!(
        "{}`studies.json` and `studies.csv` have every cell; [docs/studies.md](../../docs/studies.md) is written from them.\n\n\
         ```text\n{}```\n",
        heading("studies", "cargo xtask bench studies")?,
        scoreboard("text")?
    );
    std::fs::write(directory.join("summary.md"), &summary)?;
    println!("{summary}archived in {}", directory.display());
    Ok(())
}

/// What `straddle study --all` prints. That some cells are further off than their tolerance is a result, no failure.
fn scoreboard(format: &str) -> Result<String> {
    let output = Command::new("target/debug/straddle")
        .args(["study", "--all", "--format", format])
        .output()?;
    match output.status.code() {
        Some(0 | 1) => Ok(String::from_utf8(output.stdout)?),
        _ => bail!(
            "studies cannot be simulated: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}
