//! Running other programs.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}

/// The variable that says where cargo is to what runs in its place.
pub(crate) const CARGO_OF: &str = "STRADDLE_CARGO";

/// The cargo that runs this.
pub(crate) fn cargo() -> Command {
    let named = std::env::var_os(CARGO_OF).or_else(|| std::env::var_os("CARGO"));
    Command::new(named.unwrap_or_else(|| "cargo".into()))
}

/// Where tests find programs: tools that make and examine filesystems live in sbin, which is not on every user's path.
pub(crate) fn path_of_tests() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/local/sbin:/usr/sbin:/sbin")
}

/// `cargo build` of programs with the features and the path that tests ask for, so that nothing is built twice.
pub(crate) fn as_tests_have_it() -> Command {
    let mut build = cargo();
    // What looks for Python is built again where the path is another.
    build.env("PATH", path_of_tests());
    build.args(["build", "--quiet", "--workspace", "--all-features"]);
    // With any example, dependencies of tests count.
    build.args(["--example", "unpack"]);
    build
}

/// Runs a command; fails, naming it, when it does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command
        .status()
        .with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// Runs a command and gives its output; fails, naming it, when it does not succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
