//! Straddle for Windows, run by Wine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{Run, repository, tool};

const PACKAGES: &str = "wine, wine64 or gcc-mingw-w64-x86-64 (install all three)";
const TARGET: &str = "x86_64-pc-windows-gnu";

/// `straddle.exe`, built once into the target directory of these tests.
pub(crate) fn straddle_exe() -> &'static Path {
    static EXE: OnceLock<PathBuf> = OnceLock::new();
    EXE.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
        let target = target.expect("the folder of these tests is in it");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "straddle-cli", "--target", TARGET])
            .current_dir(repository())
            .env("CARGO_TARGET_DIR", target)
            .output()
            .expect("cargo");
        assert!(
            built.status.success(),
            "no straddle.exe; this test needs the target {TARGET} and the Debian packages {PACKAGES}: {}",
            String::from_utf8_lossy(&built.stderr)
        );
        target.join(TARGET).join("debug/straddle.exe")
    })
}

/// A program of C for Windows, compiled once for each name.
pub(crate) fn compiled(source: &str, name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let made = program.with_extension(std::process::id().to_string());
    tool(
        "gcc-mingw-w64-x86-64",
        Command::new("x86_64-w64-mingw32-gcc")
            .args(["-O1", "-D_WIN32_WINNT=0x0a00", "-o"])
            .arg(&made)
            .arg(repository().join(source)),
    );
    std::fs::rename(&made, &program).expect("renames");
    program
}

/// Wine, with a folder of its own in which the library is that Wine 8 has not. What follows is the program and its arguments.
pub(crate) fn wine() -> Command {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    let prefix = PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wine-straddle");
        let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        if !library.exists() {
            tool(PACKAGES, of("wine", &prefix).args(["wineboot", "--init"]));
            // What it began goes on behind it, and programs that run meanwhile may be ended with it.
            tool(PACKAGES, of("wineserver", &prefix).arg("--wait"));
            tool(
                PACKAGES,
                Command::new("x86_64-w64-mingw32-gcc")
                    .args(["-O2", "-shared", "-o"])
                    .arg(&library)
                    .arg(repository().join("xtask/wine/bcryptprimitives.c"))
                    .arg("-ladvapi32"),
            );
        }
        prefix
    });
    of("wine", prefix)
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

/// `straddle.exe` in `directory`, to be started.
pub(crate) fn straddle_in(directory: &Path) -> Command {
    let mut command = wine();
    command.arg(straddle_exe()).current_dir(directory);
    command
}

/// Runs `straddle.exe` in `directory`; its output with the ends of lines that Linux has.
pub(crate) fn straddle(directory: &Path, args: &[&str]) -> Run {
    let output = straddle_in(directory).args(args).output();
    let output = output.expect("wine; install the Debian packages wine and wine64");
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .expect("output is UTF-8")
            .replace("\r\n", "\n")
    };
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
