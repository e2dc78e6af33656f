//! The collection scripts for Windows.
//!
//! `straddle-collect.cmd` runs in Wine's `cmd.exe`. Batch files beside it, `tests/collect/windows/`, stand for the commands
//! that it calls, and note how they were called.
//!
//! There is no PowerShell to run `straddle-collect.ps1` in. What is checked is its grammar, that it calls commands of a list
//! and no other, and that `straddle` reads what it writes, recorded in `tests/captured/powershell`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use straddle_testkit::repository;
use tempfile::TempDir;

fn script(name: &str) -> String {
    let path = repository().join("collect").join(name);
    std::fs::read_to_string(path).expect("readable")
}

/// Where Wine keeps its registry and drive C, made once.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wine");
        if !prefix.join("drive_c/windows/system32/cmd.exe").exists() {
            let made = wine(&prefix).args(["wineboot", "--init"]).output();
            made.expect("wine; install the Debian packages wine and wine64");
        }
        prefix
    })
}

fn wine(prefix: &Path) -> Command {
    let mut wine = Command::new("wine");
    wine.env("WINEPREFIX", prefix)
        .env("WINEDEBUG", "-all")
        .env("DISPLAY", "");
    wine
}

/// The script and the commands that it calls, in a folder of their own.
fn desk() -> TempDir {
    let desk = tempfile::tempdir().expect("a folder");
    let commands = repository().join("tests/collect/windows");
    for entry in std::fs::read_dir(commands).expect("a folder") {
        let from = entry.expect("readable").path();
        let name = from.file_name().expect("a name").to_owned();
        std::fs::copy(from, desk.path().join(name)).expect("writable");
    }
    let to = desk.path().join("straddle-collect.cmd");
    std::fs::write(to, script("straddle-collect.cmd")).expect("writable");
    desk
}

fn collect(desk: &Path, arguments: &[&str]) -> (i32, String) {
    let output = wine(prefix())
        .args(["cmd", "/c", "straddle-collect.cmd"])
        .args(arguments)
        .current_dir(desk)
        .output()
        .expect("wine");
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    (output.status.code().expect("it ends by itself"), text)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("readable").file_name();
        name.to_string_lossy().into_owned()
    };
    entries.map(name).collect()
}

fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("readable");
    text.replace("\r\n", "\n")
}

fn check(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .arg("check")
        .arg(folder)
        .output()
        .expect("it runs")
}

#[test]
fn the_console_script_says_what_it_runs_runs_that_and_straddle_reads_it() {
    let desk = desk();
    let before = names(desk.path());
    let (code, said) = collect(desk.path(), &["out"]);
    assert_eq!(code, 0, "{said}");

    // The list stands before the first command that was run, and has each of them.
    let (list, progress) = said
        .split_once("Serial numbers of disks are NOT hidden.")
        .expect("a heading");
    assert!(list.contains("\n    out\n"), "{list}");
    let expected = "\n    ver\n    wmic-diskdrive\n    wmic-partition\n    wmic-volume: failed\n    \
                    wmic-logicaldisktopartition\n    mountvol\n    fsutil-ntfsinfo-C\n    fsutil-sectorinfo-C: failed\n    \
                    diskpart-list\n    diskpart-disk0\n    diskpart-partitions-disk0\n";
    assert!(progress.contains(expected), "{progress}");
    assert!(progress.contains("straddle check \"out\""), "{progress}");
    for call in read(&desk.path().join("calls.log")).lines() {
        let words: Vec<&str> = call.split_whitespace().collect();
        // What differs from disk to disk and volume to volume is listed with a letter in its place.
        let known = match words.as_slice() {
            ["diskpart", "/s", ..] => list.contains("diskpart /s"),
            ["mountvol", letter, "/L"] => letter.len() == 2 && list.contains("mountvol X: /L"),
            ["fsutil", "fsinfo", what, _] => list.contains(&format!("fsutil fsinfo {what} X:")),
            ["fsutil", "dirty", "query", _] => list.contains("fsutil dirty query"),
            _ => list.contains(&format!("    {}\n", call.trim())),
        };
        assert!(known, "{call} is not in the list:\n{list}");
    }

    // Nothing is written anywhere else.
    let mut after = names(desk.path());
    assert!(after.remove("out") && after.remove("calls.log"));
    assert_eq!(after, before);

    let out = desk.path().join("out");
    let files = names(&out);
    assert_eq!(files.len(), 11, "{files:?}");
    for file in &files {
        let text = read(&out.join(file));
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|l| l.starts_with("### host: ")));
        assert!(lines.next().is_some_and(|l| l.starts_with("### command: ")));
    }
    let failed = read(&out.join("fsutil-sectorinfo-C.txt"));
    let expected = "Error:  Access is denied.\n### error: the command ended with code 1\n";
    assert!(failed.ends_with(expected), "{failed}");
    // The partition's number was found behind the dashes, not among the volumes above.
    let partitions = read(&out.join("diskpart-partitions-disk0.txt"));
    let expected = "select disk 0\nselect partition 1\ndetail partition\n";
    assert!(partitions.contains(expected), "{partitions}");

    let output = check(&out);
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("STR101"), "{report}");
}

#[test]
fn the_console_script_overwrites_nothing() {
    let desk = desk();
    let out = desk.path().join("out");
    std::fs::create_dir(&out).expect("writable");
    std::fs::write(out.join("ver.txt"), "mine").expect("writable");
    let (code, said) = collect(desk.path(), &["out"]);
    assert_eq!(code, 2);
    assert!(said.contains("exists already. Nothing was run."), "{said}");
    assert_eq!(read(&out.join("ver.txt")), "mine");
    assert!(!desk.path().join("calls.log").exists());
}

#[test]
fn serial_numbers_are_hidden_when_that_is_asked_for() {
    let desk = desk();
    let (code, said) = collect(desk.path(), &["-NoSerials", "my disks"]);
    assert_eq!(code, 0, "{said}");
    let out = desk.path().join("my disks");
    for file in names(&out) {
        let text = read(&out.join(&file));
        assert!(!text.contains("WD-WMAYP4852917"), "{file}: {text}");
    }
    let serials = read(&out.join("wmic-diskdrive-serials.txt"));
    let expected = "BytesPerSector=512\nIndex=0\nSerialNumber=sha256-1a2b3c4d5e6f7081\n";
    assert!(serials.contains(expected), "{serials}");
    assert_eq!(check(&out).status.code(), Some(1));
}

#[test]
fn the_powershell_script_is_sound_and_calls_nothing_that_writes() {
    /// What it may call. `New-Item` makes the folder; files are written by one method, see below.
    const ALLOWED: [&str; 11] = [
        "Format-List",
        "Get-Command",
        "Get-Date",
        "Join-Path",
        "New-Item",
        "New-Object",
        "Out-String",
        "Set-StrictMode",
        "Sort-Object",
        "Test-Path",
        "Write-Host",
    ];
    let source = script("straddle-collect.ps1");
    assert!(
        source.is_ascii(),
        "Windows PowerShell reads it in any code page"
    );
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_powershell::LANGUAGE.into())
        .expect("a grammar of this version");
    let tree = parser.parse(&source, None).expect("a tree");
    let mut functions = BTreeSet::new();
    let mut calls = BTreeSet::new();
    let mut writes = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        let text = &source[node.byte_range()];
        let line = node.start_position().row + 1;
        assert!(!node.is_error() && !node.is_missing(), "{line}: {text}");
        match node.kind() {
            "function_name" => drop(functions.insert(text)),
            "command_name" => drop(calls.insert(text)),
            "redirection" => assert_eq!(text, "2>$null", "{line}"),
            "invokation_expression" if text.contains("[System.IO.File]::") => writes.push(text),
            _ => {}
        }
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor));
    }
    assert!(!tree.root_node().has_error());
    let unknown: Vec<&&str> = calls
        .iter()
        .filter(|call| !functions.contains(*call) && !ALLOWED.contains(*call))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!(
        writes,
        ["[System.IO.File]::WriteAllText($file, $text, $encoding)"]
    );
    assert_eq!(source.matches("New-Item").count(), 1);
    // What is run are texts in the script. The one that is more than a name or a program is looked into.
    let (_, rest) = source.split_once("$command = '").expect("a text");
    let (command, _) = rest.split_once('\'').expect("its end");
    let tree = parser.parse(command, None).expect("a tree");
    assert!(!tree.root_node().has_error(), "{command}");
    for word in command.split([' ', '{']).filter(|word| word.contains('-')) {
        let reads = word.starts_with("Get-") || ["Where-Object", "ForEach-Object"].contains(&word);
        assert!(reads || word.starts_with('-'), "{word}");
    }
}

#[test]
fn what_the_powershell_script_writes_is_read() {
    let source = script("straddle-collect.ps1");
    for (name, note) in [
        ("collected-ps1", "not hidden"),
        (
            "collected-ps1-no-serials",
            "replaced by the beginning of their SHA-256",
        ),
    ] {
        let folder = repository().join(format!("tests/captured/powershell/{name}.server"));
        for file in names(&folder) {
            let text = read(&folder.join(&file));
            let lines: Vec<&str> = text.lines().take(3).collect();
            assert_eq!(lines[0], "### host: WS7");
            let command = lines[1].strip_prefix("### command: ").expect("a command");
            let program = command.split_whitespace().next().expect("a word");
            assert!(source.contains(program), "{command}");
            assert_eq!(lines[2], format!("### serial numbers of disks are {note}"));
            let note = note.trim_end_matches('.');
            assert!(source.contains(note), "{note}");
        }
        let output = check(&folder);
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{report}");
        // The folder is one machine, which gets its report; a line near the end sums it up.
        let mut end = report.trim_end().lines().rev().take(2);
        assert!(
            end.any(|line| line.contains(&format!("{name}.server: "))),
            "{report}"
        );
        assert!(report.contains("disk 0 partition"), "{report}");
    }
}
