//! The module for Python: built with maturin into target/python, and tested there.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::packages::PYTHON;
use crate::run::{CARGO_OF, as_tests_have_it, cargo, repository, run};

/// A program that packages of tests/python brought.
fn program(name: &str) -> Result<PathBuf> {
    let path = repository().join(PYTHON).join("bin").join(name);
    path.is_file().then_some(path).with_context(|| {
        format!("{PYTHON}/bin/{name} is missing: tests/python/requirements.txt names it, and `rm -r {PYTHON}` has it reinstalled")
    })
}

/// The profile that tests of Rust are built with.
const OF_TESTS: &str = "dev";

/// Builds the module with maturin, and installs it in target/python.
pub(crate) fn install(profile: &str) -> Result<()> {
    let wheels = repository().join(PYTHON).join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let mut maturin = Command::new(program("maturin")?);
    // For this machine only: wheels for others are made with maturin's own defaults.
    maturin
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
        .arg(&wheels);
    // With the features that they ask for, so that nothing below the module is built twice.
    if profile == OF_TESTS {
        maturin
            .env(CARGO_OF, cargo().get_program())
            .env("CARGO", std::env::current_exe()?);
    }
    run(&mut maturin)?;
    run(Command::new(program("python")?)
        .args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--force-reinstall"])
        .args(["--no-deps", "--no-index", "--find-links"])
        .arg(&wheels)
        .arg("straddle"))
}

/// What maturin runs as cargo. It can only ask for the module by itself, of which most would have other features.
pub(crate) fn as_cargo(cargo: &OsStr, args: &[&str]) -> ExitCode {
    let mut command = match args {
        ["rustc", ..] => {
            let mut build = as_tests_have_it();
            build.args(["--lib", "--message-format", "json-render-diagnostics"]);
            build
        }
        other => {
            let mut own = Command::new(cargo);
            own.args(other);
            own
        }
    };
    let error = command.env("CARGO", cargo).env_remove(CARGO_OF).exec();
    eprintln!("xtask: cannot run {}: {error}", cargo.display());
    ExitCode::FAILURE
}

/// Builds the module and the command, and compares the two; `rest` goes to pytest.
pub(crate) fn test(rest: &[&str]) -> Result<()> {
    run(as_tests_have_it().args(["--bin", "straddle"]))?;
    install(OF_TESTS)?;
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
        // Compiled modules are kept, for the processes of Spark too, and not beside the tests.
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .env(
            "PYTHONPYCACHEPREFIX",
            repository().join(PYTHON).join("bytecode"),
        )
        // Spark's processes live for seconds: what a second compiler would win takes longer than it saves.
        .env(
            "JDK_JAVA_OPTIONS",
            "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        )
        .env("STRADDLE", repository().join("target/debug/straddle")))
}
