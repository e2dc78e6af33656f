//! The program for Windows, as tests run it under Wine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What it is built for.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

/// Crates that are the same there, of which tests under Wine ask little: optimising them takes longer than running them as they are.
const PLAIN: [&str; 6] = [
    "bench", "evidence", "predict", "realign", "trace", "workload",
];

/// Makes of `cargo` the command that builds it. What comes back is where it is then, in the target folder.
pub fn build(cargo: &mut Command) -> PathBuf {
    cargo
        .args(["build", "--quiet", "--package", "straddle-cli"])
        .args(["--target", TARGET]);
    for name in PLAIN {
        let plain = format!("profile.dev.package.straddle-{name}.opt-level=0");
        cargo.args(["--config", &plain]);
    }
    Path::new(TARGET).join("debug").join("straddle.exe")
}
