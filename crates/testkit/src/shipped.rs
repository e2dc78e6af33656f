//! The static binary for Linux, as it is shipped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What it is built for.
pub const TARGET: &str = "x86_64-unknown-linux-musl";
/// How it is built.
pub const PROFILE: &str = "dist";

/// The variable that names it to tests of the command.
const UNDER_TEST: &str = "STRADDLE_UNDER_TEST";

/// The program that a test of the command runs: what is shipped, where that was built before, else `own`, the build that came with the
/// test. What is given hostile input or is stopped in the midst runs its own, whose arithmetic is checked for overflow.
#[must_use]
pub fn under_test(own: &str) -> PathBuf {
    std::env::var_os(UNDER_TEST).map_or_else(|| own.into(), PathBuf::from)
}

/// Has the tests that `cargo` runs use it, given where it is.
pub fn use_for_tests(cargo: &mut Command, program: &Path) {
    cargo.env(UNDER_TEST, program);
}

/// Makes of `cargo` the command that builds it. What comes back is where it is then, in the target folder.
pub fn build(cargo: &mut Command) -> PathBuf {
    let script = crate::repository().join("crates/testkit/src/shipped.ld");
    let flags = [
        format!("-Clink-arg=-T{}", script.display()),
        // Half a million bytes say which addresses are moved when the program is loaded; packed, a hundredth of it. musl reads them from
        // 1.2.5 on, which Rust has since 1.93.
        "-Clink-arg=-Wl,-z,pack-relative-relocs".to_owned(),
    ];
    cargo
        .args(["build", "--quiet", "--package", "straddle-cli"])
        .args(["--profile", PROFILE, "--target", TARGET])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    PathBuf::from(TARGET).join(PROFILE).join("straddle")
}
