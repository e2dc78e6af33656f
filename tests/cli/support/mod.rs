//! What the command-line tests share: running the program, unpacking fixtures.

pub(crate) mod qemu;
pub(crate) mod shipped;
pub(crate) mod wine;

pub(crate) use straddle_testkit::repository;
use straddle_testkit::shipped::under_test;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A folder in memory, where that has room (containers have 64 MiB): what is written to it waits for no disk. It is below `/dev`, where
/// names are taken for those of devices: not for tests of how a script names a file.
pub(crate) fn in_memory() -> tempfile::TempDir {
    const ROOM: u64 = 2 << 30;
    let shm = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(shm)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= ROOM);
    let made = if has_room {
        tempfile::tempdir_in(shm)
    } else {
        tempfile::tempdir()
    };
    made.expect("temporary directory")
}

/// A folder for one test.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("temporary directory")
}

/// A search path with a `cryptsetup` that spends no seconds on turning a passphrase into a key, as `luksFormat` does by default.
pub(crate) fn with_quick_luks() -> String {
    use std::os::unix::fs::PermissionsExt;
    const TEXT: &str = r#"#!/bin/sh
for word; do
    if [ "$word" = luksFormat ]; then set -- "$@" --pbkdf pbkdf2 --pbkdf-force-iterations 1000; fi
done
PATH=${PATH#*:}
exec cryptsetup "$@"
"#;
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let folder = MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quick-luks");
        std::fs::create_dir_all(&folder).expect("writable");
        // Another program of tests may use the one that is there.
        let new = folder.join(std::process::id().to_string());
        std::fs::write(&new, TEXT).expect("writable");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&new, mode).expect("possible");
        std::fs::rename(&new, folder.join("cryptsetup")).expect("writable");
        folder
    });
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", folder.display())
}

/// Runs lines of shell in `folder`, up to the first that fails; gives what they print.
pub(crate) fn sh(folder: &Path, lines: &str) -> String {
    let output = Command::new("sh")
        .args(["-euc", lines])
        .current_dir(folder)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{lines}\n{text}{error}\n(`cargo xtask test` installs the tools)"
    );
    text
}

/// What one run of the program came to.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs straddle in `directory`, with neutral surroundings.
pub(crate) fn straddle(directory: &Path, args: &[&str]) -> Run {
    let output = Command::new(under_test(env!("CARGO_BIN_EXE_straddle")))
        .env("STRADDLE_HISTORY", "none")
        .args(args)
        .current_dir(directory)
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("straddle runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Run {
    /// stdout, stderr and the exit status as one text, for snapshots.
    pub(crate) fn transcript(&self) -> String {
        let mut out = self.stdout.clone();
        if !self.stderr.is_empty() {
            out.push_str(&format!("--- stderr\n{}", self.stderr));
        }
        let code = self
            .code
            .map_or("killed by a signal".to_owned(), |code| code.to_string());
        out.push_str(&format!("--- exit status {code}\n"));
        out
    }
}

/// The status of a check that comes to `code`, where it checked anything: what checked nothing says so, and ends with 2.
pub(crate) fn status(code: i32, text: &str) -> i32 {
    // A summary of several targets begins a line with it.
    let said = ["; nothing was checked: ", ": nothing was checked: "];
    match said.iter().any(|said| text.contains(said)) {
        true => 2,
        false => code,
    }
}

/// Runs a program that a test needs; fails naming it, and the Debian package it is in, when it is missing.
pub(crate) fn tool(package: &str, command: &mut Command) -> Output {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            panic!("this test needs `{program}` of the Debian package {package}: {error}")
        }
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{program}` failed: {stderr}");
    output
}

/// Fails when shellcheck has anything to say about a script. It takes longer than most scripts do, so one is shown to it for a line that none
/// before had, and in a soak for lines in another order, too; words with digits (sizes, places, identifiers) are alike.
pub(crate) fn lint(script: &str) {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    let words = script.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let alike = words.map(|word| match has_digit(word) {
        true => word.trim_start_matches(|c: char| c.is_ascii_alphanumeric()),
        false => word,
    });
    let alike: String = alike.collect();
    let parts: Vec<&str> = match straddle_testkit::is_soak() {
        true => vec![alike.as_str()],
        false => alike.lines().map(str::trim).collect(),
    };
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = shown.len();
    shown.extend(parts.into_iter().map(str::to_owned));
    if shown.len() == before {
        return;
    }
    drop(shown);
    let mut shellcheck = Command::new("shellcheck")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("shellcheck, of the Debian package of that name");
    let mut text = shellcheck.stdin.take().expect("piped");
    text.write_all(script.as_bytes()).expect("it reads");
    drop(text);
    let said = shellcheck.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.is_empty(), "{text}\n{script}");
}

/// Unpacks the image `name` of `tests/images` into `directory` and gives its file name.
pub(crate) fn unpack_image(name: &str, directory: &Path) -> String {
    let archive = repository().join(format!("tests/images/{name}.tgz"));
    assert!(
        archive.exists(),
        "there is no image {}; tests/images/build.sh makes them",
        archive.display()
    );
    tool(
        "tar",
        Command::new("tar")
            .arg("-xzSf")
            .arg(&archive)
            .arg("-C")
            .arg(directory),
    );
    format!("{name}.img")
}

/// Copies the captured text `name` of `tests/captured`, a file or the folder of one machine, into `directory`; gives its
/// name there.
pub(crate) fn copy_capture(name: &str, directory: &Path) -> String {
    let from = repository().join("tests/captured").join(name);
    let short = from.file_name().expect("a name").to_os_string();
    let to = directory.join(&short);
    let copy = |from: &Path, to: &Path| {
        std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    };
    if from.is_dir() {
        std::fs::create_dir(&to).expect("writable");
        for entry in std::fs::read_dir(&from).expect("readable") {
            let entry = entry.expect("readable");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        copy(&from, &to);
    }
    short.into_string().expect("UTF-8")
}
