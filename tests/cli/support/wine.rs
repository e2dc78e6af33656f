//! Programs of Windows, in Wine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Run, repository, tool};

/// The drive C that tests share which leave nothing running.
pub(crate) const SHARED: &str = "wine";

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
        let booted = wine_in(&prefix).args(["wineboot", "--init"]).output();
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
pub(crate) fn wine_in(prefix: &Path) -> Command {
    of("wine", prefix)
}

/// Lets cargo run in Wine what it builds for Windows, with the drive C that most tests share.
pub(crate) fn runs_in_wine(cargo: &mut Command) {
    let wine = wine();
    for (name, value) in wine.get_envs() {
        match value {
            Some(value) => cargo.env(name, value),
            None => cargo.env_remove(name),
        };
    }
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
}

/// Wine with the drive C that most tests share.
pub(crate) fn wine() -> Command {
    wine_in(&prefix(SHARED))
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
        .env("DISPLAY", "")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// What building for it needs.
pub(crate) const BUILDING: &str =
    "gcc-mingw-w64-x86-64, and `rustup target add x86_64-pc-windows-gnu`";

/// Straddle for Windows, built once.
pub(crate) fn straddle_exe() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        let exe = straddle_testkit::under_wine::build(&mut cargo);
        tool(BUILDING, cargo.current_dir(repository()));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
        folder.join(exe).canonicalize().expect("it was built")
    })
}

/// A program of C for Windows, compiled once for each name.
pub(crate) fn compiled(source: &str, name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let made = program.with_extension(std::process::id().to_string());
    let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
    compiler
        .args(["-O1", "-D_WIN32_WINNT=0x0a00", "-o"])
        .arg(&made)
        .arg(repository().join(source));
    tool("gcc-mingw-w64-x86-64", &mut compiler);
    std::fs::rename(&made, &program).expect("renames");
    program
}

/// `straddle.exe` in `directory`, to be started.
pub(crate) fn straddle_in(directory: &Path) -> Command {
    let mut command = wine();
    command.arg(straddle_exe()).current_dir(directory);
    command
}

/// Runs a command of Windows; its output with the ends of lines that Linux has.
pub(crate) fn run(command: &mut Command) -> Run {
    let output = command.output();
    let output = output.expect("wine; install the Debian packages wine and wine64");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    Run {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Runs `straddle.exe` in `directory`.
pub(crate) fn straddle(directory: &Path, args: &[&str]) -> Run {
    run(straddle_in(directory).args(args))
}
