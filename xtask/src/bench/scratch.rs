//! Where measurements keep their files, and programs that they call.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::repository;

/// A directory in memory, where there is one, that goes away at the end.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Scratch> {
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() {
            shm.to_owned()
        } else {
            repository().join("target")
        };
        Scratch::at(&base)
    }

    /// The same below `base`.
    pub(super) fn at(base: &Path) -> Result<Scratch> {
        let path = base.join(format!("straddle-bench-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a program without a word from it.
pub(super) fn quietly(words: &[&str]) -> Result<()> {
    let (program, arguments) = words.split_first().context("no program")?;
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    anyhow::ensure!(
        output.status.success(),
        "`{}`: {}",
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
