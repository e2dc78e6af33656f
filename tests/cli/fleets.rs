//! Many captures: which are of one machine, and what a fleet comes to.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn straddle(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("straddle runs");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(input.as_bytes())
        .expect("written");
    child.wait_with_output().expect("straddle ends")
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

/// What diskpar prints of a disk whose one partition starts at this sector.
fn diskpar(sector: u64) -> String {
    format!(
        "---- Drive 0 Geometry Infomation ----\nBytesPerSector = 512\nDiskSize = 1000204886016 (Bytes) = 953869 (MB)\n\n\
         ---- Drive Partition 0 Infomation ----\nStatringOffset = {}\nPartitionLength = 999653638144\n\
         HiddenSectors = {sector}\nPartitionNumber = 1\nPartitionType = 7\n",
        sector * 512
    )
}

/// What PowerShell says of it.
fn get_partition(sector: u64) -> String {
    format!(
        "DiskNumber      : 0\nPartitionNumber : 1\nDriveLetter     : C\nOffset          : {}\nSize            : 999653638144\n",
        sector * 512
    )
}

/// Twelve servers with one file each: every third is at sector 63, the others at 1 MiB.
fn fleet(folder: &Path) {
    for server in 0..12 {
        let sector = if server % 3 == 1 { 63 } else { 2048 };
        fs::write(folder.join(format!("srv{server:02}.txt")), diskpar(sector)).expect("written");
    }
}

#[test]
fn a_fleet_opens_with_the_worst_by_price() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fleet(folder.path());
    let output = straddle(folder.path(), &["check", "--summary", "."], "");
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Worst, by price");
    for (line, server) in lines[1..5].iter().zip(["01", "04", "07", "10"]) {
        assert!(
            line.starts_with("error") && line.contains("+300%") && line.contains(server),
            "{line}"
        );
    }
    assert!(text.contains("       4  STR101 "), "{text}");
    assert!(text.contains("hosts  such as"), "{text}");
    let last = *lines.last().expect("a line");
    assert!(last.starts_with("12 hosts: 4 with errors"), "{last}");
}

#[test]
fn a_fleet_in_csv_has_a_line_for_each_server() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fleet(folder.path());
    let output = straddle(
        folder.path(),
        &["check", "--summary", "--format", "csv", "."],
        "",
    );
    let text = said(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 13, "{text}");
    assert!(lines[0].starts_with("target,severity,worst_extra_percent,worst_code,"));
    assert!(
        lines[2].contains("srv01.txt,error,300.00,STR101,"),
        "{}",
        lines[2]
    );
}

#[test]
fn a_fleet_in_json_has_its_summary_and_no_targets() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fleet(folder.path());
    let output = straddle(folder.path(), &["check", "--summary", "--json", "."], "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["targets"], serde_json::json!([]));
    let summary = &json["summary"];
    assert_eq!(summary["targets"], 12);
    assert_eq!(summary["with_errors"], 4);
    assert_eq!(summary["worst"].as_array().map(Vec::len), Some(4));
    assert_eq!(summary["worst"][0]["code"], "STR101");
    assert_eq!(summary["rules"][0]["code"], "STR101");
    assert_eq!(summary["rules"][0]["targets"], 4);
    let schema = straddle(folder.path(), &["schema", "check"], "");
    let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).expect("a schema");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("schema.json", schema)
        .expect("a resource");
    let index = compiler
        .compile("schema.json", &mut schemas)
        .expect("a schema");
    schemas.validate(&json, index).expect("as the schema says");
}

#[test]
fn a_folder_for_each_server_gives_a_target_for_each() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (server, sector) in [("db1", 63), ("db2", 2048)] {
        let inner = folder.path().join(server);
        fs::create_dir(&inner).expect("a folder");
        fs::write(inner.join("diskpar.txt"), diskpar(sector)).expect("written");
        fs::write(inner.join("partitions.txt"), get_partition(sector)).expect("written");
    }
    let output = straddle(folder.path(), &["check", "--json", "."], "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let targets = json["targets"].as_array().expect("a list");
    assert_eq!(targets.len(), 2);
    for (target, name) in targets.iter().zip(["./db1", "./db2"]) {
        assert_eq!(target["target"], name);
        // Both files speak of one disk and one partition.
        let kinds = target["stack"].as_array().expect("a list").iter();
        let kinds: Vec<&str> = kinds.filter_map(|layer| layer["kind"].as_str()).collect();
        assert_eq!(kinds, ["device", "partition"]);
    }
}

#[test]
fn a_folder_of_one_server_gets_the_whole_report() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let inner = folder.path().join("db1");
    fs::create_dir(&inner).expect("a folder");
    fs::write(inner.join("diskpar.txt"), diskpar(63)).expect("written");
    fs::write(inner.join("partitions.txt"), get_partition(63)).expect("written");
    let text = said(&straddle(folder.path(), &["check", "db1"], ""));
    // Longer than a screen: the verdict first.
    assert!(text.starts_with("db1: 1 error"), "{text}");
    assert!(
        text.contains("\nnext: straddle fix db1\n\nerror[STR101]: "),
        "{text}"
    );
    let mut end = text.trim_end().lines().rev();
    let next = end.next();
    assert_eq!(next, Some("is it worth fixing, and how: straddle fix db1"));
    assert!(
        end.next()
            .is_some_and(|line| line.starts_with("db1: 1 error")),
        "{text}"
    );
}

#[test]
fn files_named_together_are_of_one_machine() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fs::write(folder.path().join("a.txt"), diskpar(63)).expect("written");
    fs::write(folder.path().join("b.txt"), get_partition(63)).expect("written");
    let output = straddle(folder.path(), &["check", "a.txt", "b.txt"], "");
    let text = said(&output);
    assert!(text.contains("a.txt, line "), "{text}");
    assert_eq!(text.matches("starts at 31.5 KiB").count(), 1, "{text}");
    let mut end = text.trim_end().lines().rev();
    assert_eq!(
        end.next(),
        Some("is it worth fixing, and how: straddle fix a.txt b.txt")
    );
    assert!(
        end.next()
            .is_some_and(|line| line.starts_with("a.txt + b.txt: "))
    );
}

#[test]
fn standard_input_is_read_as_captured_text() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let output = straddle(folder.path(), &["check", "-"], &diskpar(63));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("standard input, line "),
        "{}",
        said(&output)
    );
    // What came through a pipe is gone: no command could read it again.
    assert!(!said(&output).contains("straddle fix"), "{}", said(&output));
    let output = straddle(folder.path(), &["check", "-"], "hello\n");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("no output of a known tool was found"),
        "{error}"
    );
}

#[test]
fn text_in_which_nothing_is_known_is_an_error_when_text_was_asked_for() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fs::write(folder.path().join("letter.txt"), "Dear all,\n").expect("written");
    let output = straddle(folder.path(), &["check", "--as", "text", "letter.txt"], "");
    assert_eq!(output.status.code(), Some(2));
}
