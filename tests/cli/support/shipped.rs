//! The static binary that is shipped, for tests of how much it takes: of time, memory or instructions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use straddle_testkit::{repository, shipped};

/// Where it is. Budgets and the smoke test look at it as well: there is no other optimised build. Made where it is not there yet.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        let program = shipped::build(cargo.current_dir(repository()));
        let built = cargo.status().expect("cargo runs");
        assert!(built.success(), "the build of the static binary failed");
        let here = Path::new(env!("CARGO_BIN_EXE_straddle"));
        here.ancestors()
            .nth(2)
            .expect("a target folder")
            .join(program)
    })
}
