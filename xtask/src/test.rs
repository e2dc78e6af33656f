//! All tests, after installing what they need.

use anyhow::Result;

use crate::packages;
use crate::run::{cargo, run};

/// Runs every test; `rest` goes to `cargo test`.
pub(crate) fn all(rest: &[&str]) -> Result<()> {
    packages::for_tests()?;
    // Tools that make and examine filesystems live in sbin, which is not on every user's path.
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{path}:/usr/local/sbin:/usr/sbin:/sbin");
    run(cargo()
        .args(["test", "--workspace", "--all-features"])
        .args(rest)
        .env("PATH", path))
}
