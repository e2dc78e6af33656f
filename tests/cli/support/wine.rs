//! Programs of Windows, in Wine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{repository, tool};

/// Where a Wine keeps its registry and drive C, made once. Rust programs start in it.
pub(crate) fn prefix(name: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.insert(prefix.clone()) {
        return prefix;
    }
    let system = prefix.join("drive_c/windows/system32");
    if !system.join("cmd.exe").exists() {
        let booted = wine(&prefix).args(["wineboot", "--init"]).output();
        booted.expect("wine; install the Debian packages wine and wine64");
        // What it began goes on behind it, and a tool that a script calls meanwhile may never run.
        tool("wine", of("wineserver", &prefix).arg("--wait"));
    }
    let library = system.join("bcryptprimitives.dll");
    if !library.exists() {
        // Wine 8 lacks it, and the standard library of Rust imports it.
        let source = repository().join("xtask/wine/bcryptprimitives.c");
        let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
        compiler.args(["-O2", "-shared", "-o"]).arg(&library);
        tool(
            "gcc-mingw-w64-x86-64",
            compiler.arg(source).arg("-ladvapi32"),
        );
    }
    prefix
}

/// Wine with its drive C there.
pub(crate) fn wine(prefix: &Path) -> Command {
    of("wine", prefix)
}

/// Ends all that runs there.
pub(crate) fn stop(prefix: &Path) {
    // It fails where nothing runs.
    let _ = of("wineserver", prefix).arg("--kill").output();
    tool("wine", of("wineserver", prefix).arg("--wait"));
}

fn of(program: &str, prefix: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("WINEPREFIX", prefix)
        .env("WINEDEBUG", "-all")
        .env("DISPLAY", "");
    command
}

/// Straddle for Windows, built once.
pub(crate) fn straddle_exe() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        const TARGET: &str = "x86_64-pc-windows-gnu";
        let args = ["build", "--quiet", "-p", "straddle-cli", "--target", TARGET];
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(args).current_dir(repository());
        tool(
            "gcc-mingw-w64-x86-64, and `rustup target add x86_64-pc-windows-gnu`",
            &mut cargo,
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
        let exe = folder.join(TARGET).join("debug/straddle.exe");
        exe.canonicalize().expect("it was built")
    })
}
