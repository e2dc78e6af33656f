//! The module for Python: built with maturin into target/python, and tested there.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

use crate::packages::PYTHON;
use crate::run::{as_tests_have_it, repository, run};

/// A program that packages of tests/python brought.
fn program(name: &str) -> Result<PathBuf> {
    let path = repository().join(PYTHON).join("bin").join(name);
    path.is_file().then_some(path).with_context(|| {
        format!("{PYTHON}/bin/{name} is missing: tests/python/requirements.txt names it, and `rm -r {PYTHON}` has it installed anew")
    })
}

/// Builds the module with this profile, and installs it in target/python.
pub(crate) fn install(profile: &str) -> Result<()> {
    let wheels = repository().join(PYTHON).join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    // For this machine only: wheels for others are made with maturin's own defaults.
    run(Command::new(program("maturin")?)
        .args([
            "build",
            "--quiet",
            "--profile",
            profile,
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
        .arg("straddle"))
}

/// Builds the module and the command, and holds one against the other; `rest` goes to pytest.
pub(crate) fn test(rest: &[&str]) -> Result<()> {
    run(as_tests_have_it().args(["--bin", "straddle"]))?;
    install("dev")?;
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
