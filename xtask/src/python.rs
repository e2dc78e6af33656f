//! The module for Python: built with maturin into target/python, and tested there.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

use crate::packages::PYTHON;
use crate::run::{cargo, repository, run};

/// Builds the module and the command, and holds one against the other; `rest` goes to pytest.
pub(crate) fn test(rest: &[&str]) -> Result<()> {
    let folder = repository().join(PYTHON);
    let program = |name: &str| -> Result<PathBuf> {
        let path = folder.join("bin").join(name);
        path.is_file().then_some(path).with_context(|| {
            format!("{PYTHON}/bin/{name} is missing: tests/python/requirements.txt names it, and `rm -r {PYTHON}` has it installed anew")
        })
    };
    run(cargo().args(["build", "--quiet", "--package", "straddle-cli"]))?;
    let wheels = folder.join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    // For this machine only: wheels for others are made with maturin's own defaults.
    run(Command::new(program("maturin")?)
        .args([
            "build",
            "--quiet",
            "--profile",
            "dev",
            "--compatibility",
            "linux",
        ])
        .args(["--manifest-path", "crates/python/Cargo.toml"])
        .arg("--interpreter")
        .arg(program("python")?)
        .arg("--out")
        .arg(&wheels))?;
    run(Command::new(program("python")?)
        .args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--force-reinstall"])
        .args(["--no-deps", "--no-index", "--find-links"])
        .arg(&wheels)
        .arg("straddle"))?;
    run(Command::new(program("python")?)
        .args([
            "-m",
            "pytest",
            "--quiet",
            "-p",
            "no:cacheprovider",
            "tests/python",
        ])
        .args(rest)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("STRADDLE", repository().join("target/debug/straddle")))
}
