//! Runs a `.cmd` in Wine's `cmd.exe`, with a stub in the place of every tool.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::support::{repository, tool, wine};

/// Where Wine keeps its registry and drive C: one that says it is Windows 10, and one that says it is 2003.
fn prefix(is_2003: bool) -> PathBuf {
    if !is_2003 {
        return wine::prefix(wine::SHARED);
    }
    static OLD: OnceLock<PathBuf> = OnceLock::new();
    let old = OLD.get_or_init(|| {
        let prefix = wine::prefix("wine-fix-2003");
        let key = [
            "reg",
            "add",
            "HKCU\\Software\\Wine",
            "/v",
            "Version",
            "/d",
            "win2003",
            "/f",
        ];
        tool("wine", wine::wine_in(&prefix).args(key));
        prefix
    });
    old.clone()
}

/// The stub, compiled once.
fn stub() -> &'static Path {
    static STUB: OnceLock<PathBuf> = OnceLock::new();
    STUB.get_or_init(|| {
        let stub = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fix-windows-stub.exe");
        tool(
            "gcc-mingw-w64-x86-64",
            Command::new("x86_64-w64-mingw32-gcc")
                .arg(repository().join("tests/cli/fix_windows/stub.c"))
                .arg("-o")
                .arg(&stub),
        );
        stub
    })
}

/// A folder with a script and the tools that it calls.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new(script: &str) -> Desk {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("fix.cmd"), script).expect("writable");
        // Of two scripts that begin in one second, only one has its folder in TEMP.
        let own = "@echo off\r\nset \"TEMP=%CD%\"\r\ncmd /c fix.cmd %*\r\nexit %errorlevel%\r\n";
        std::fs::write(folder.path().join("run.cmd"), own).expect("writable");
        for name in ["wmic", "diskpart", "diskpar", "format"] {
            let to = folder.path().join(format!("{name}.exe"));
            std::fs::copy(stub(), to).expect("writable");
        }
        Desk { folder }
    }

    /// What a tool is to print: `wmic-diskdrive-Index=1-Size`, `diskpart`, `diskpar-1`.
    pub(crate) fn says(self, what: &str, text: &str) -> Desk {
        let path = self.folder.path().join(format!("{what}.txt"));
        std::fs::write(path, text).expect("writable");
        self
    }

    /// Runs the script: its exit status, what it said, and what it called, one line each, with what each was told below it.
    pub(crate) fn run(&self, options: &[&str]) -> (i32, String, String) {
        self.run_on(false, options)
    }

    /// The same on Windows Server 2003.
    pub(crate) fn run_on_2003(&self, options: &[&str]) -> (i32, String, String) {
        self.run_on(true, options)
    }

    #[expect(
        clippy::print_stderr,
        reason = "shown where a test fails: why a tool did not run"
    )]
    fn run_on(&self, is_2003: bool, options: &[&str]) -> (i32, String, String) {
        let keys = self.folder.path().join("keys");
        std::fs::write(&keys, "\r\n\r\n\r\n\r\n").expect("writable");
        let log = self.folder.path().join("calls.log");
        let run = || {
            let _ = std::fs::remove_file(&log);
            wine::wine_in(&prefix(is_2003))
                .args(["cmd", "/c", "run.cmd"])
                .args(options)
                .current_dir(self.folder.path())
                .stdin(Stdio::from(std::fs::File::open(&keys).expect("readable")))
                .output()
                .expect("wine; install the Debian packages wine and wine64")
        };
        // Wine's server ends with its last program, and what starts in that moment does not run at all: neither a script, which else says
        // something, nor, on a busy machine, a tool in the midst of one, though it is there.
        let is_whole = |output: &Output| {
            let lost = String::from_utf8_lossy(&output.stderr).contains("Can't recognize '");
            !lost && (!output.stdout.is_empty() || log.exists())
        };
        let mut output = run();
        for _ in 0..5 {
            if is_whole(&output) {
                break;
            }
            output = run();
        }
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        let failed = std::fs::read_to_string(self.folder.path().join("stub.err"));
        assert!(failed.is_err(), "a stub failed: {failed:?}");
        let said = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
        let calls = std::fs::read_to_string(&log).unwrap_or_default();
        let calls = calls.replace("\r\n", "\n");
        (
            output.status.code().expect("it ends by itself"),
            said,
            calls,
        )
    }
}
