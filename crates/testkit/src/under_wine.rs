//! The program for Windows, as tests run it under Wine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What it is built for.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

/// Packages of which tests under Wine ask little: optimising them takes longer than running them as they are. Those of ours are the same
/// there.
const PLAIN: [&str; 7] = [
    "proptest",
    "straddle-bench",
    "straddle-evidence",
    "straddle-predict",
    "straddle-realign",
    "straddle-trace",
    "straddle-workload",
];

/// Has `cargo` build for Windows what tests run.
pub fn builds(cargo: &mut Command) {
    cargo.args(["--target", TARGET]);
    for name in PLAIN {
        let plain = format!("profile.dev.package.{name}.opt-level=0");
        cargo.args(["--config", &plain]);
    }
}

/// Makes of `cargo` the command that builds it. What comes back is where it is then, in the target folder.
pub fn build(cargo: &mut Command) -> PathBuf {
    cargo.args(["build", "--quiet", "--package", "straddle-cli"]);
    builds(cargo);
    Path::new(TARGET).join("debug").join("straddle.exe")
}
