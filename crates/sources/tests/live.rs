//! This machine, compared with what its own tools say.
#![cfg(target_os = "linux")]

use std::io::{Seek, SeekFrom, Write};
use std::process::Command;
use straddle_geometry::Map;
use straddle_sources::Settings;
use straddle_sources::linux::{Root, file, host};
use straddle_sources::{CaptureOptions, capture};
use straddle_stack::{GridRole, Key, LayerKind, Value};
use straddle_testkit::filefrag::pieces;

fn run(program: &str, package: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|e| panic!("{program} (Debian: {package}): {e}"));
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_host_agrees_with_lsblk() {
    let columns = "KNAME,TYPE,START,SIZE,LOG-SEC,PHY-SEC,MIN-IO,OPT-IO,ALIGNMENT";
    let text = run("lsblk", "util-linux", &["-J", "-b", "-l", "-o", columns]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let stack = host(&Root::live(), &Settings::default()).expect("this is a host");
    let rows = json["blockdevices"].as_array().expect("a list");
    let mut compared = 0;
    for row in rows {
        let name = row["kname"].as_str().expect("a name");
        let size = row["size"].as_u64().expect("a size");
        if size == 0 {
            continue;
        }
        let upper = [LayerKind::Filesystem, LayerKind::File];
        let mut layers = stack.layers().iter();
        let layer = layers.find(|l| l.name == name && !upper.contains(&l.kind));
        let layer = layer.unwrap_or_else(|| panic!("no layer {name}"));
        compared += 1;
        let own = layer.size.as_ref().map(|s| s.value.get());
        assert_eq!(own, Some(size), "{name}");
        let offset = layer.attribute(Key::AlignmentOffset);
        let offset = offset.map(|f| f.value.clone());
        let alignment = row["alignment"].as_i64().map(Value::SignedBytes);
        assert_eq!(offset, alignment, "{name}");
        if let Some(start) = row["start"].as_u64() {
            let placed = layer.placement.as_ref();
            let placed = placed.map(|p| p.value.start().get());
            assert_eq!(placed, Some(start * 512), "{name}");
        }
        if layer.below.is_empty() {
            for (column, role) in [
                ("log-sec", GridRole::LogicalSector),
                ("phy-sec", GridRole::PhysicalSector),
                ("min-io", GridRole::MinimumIo),
                ("opt-io", GridRole::OptimalIo),
            ] {
                let unit = layer.grid(role).map_or(0, |g| g.value.unit().get());
                assert_eq!(Some(unit), row[column].as_u64(), "{name} {column}");
            }
        }
    }
    assert!(compared > 0, "lsblk lists no device with a size");
}

#[test]
fn a_fragmented_file_agrees_with_filefrag() {
    // On the build directory's filesystem: /tmp may be in memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory");
    let path = dir.path().join("fragmented");
    let mut out = std::fs::File::create(&path).expect("creates");
    // Every other 64 KiB: the holes keep the pieces apart.
    for piece in 0..20_u64 {
        out.seek(SeekFrom::Start(piece * 131_072)).expect("seeks");
        out.write_all(&vec![7; 65_536]).expect("writes");
        out.sync_all().expect("syncs");
    }
    let want = pieces(&path);
    assert_eq!(want.len(), 20, "filefrag shows other fragments");
    let path = path.to_str().expect("plain path");
    let stack = file(&Root::live(), path, &Settings::default()).expect("this file");
    let mut layers = stack.layers().iter();
    let layer = layers.find(|l| l.kind == LayerKind::File);
    let Map::Segments(segments) = &layer.expect("a file layer").map else {
        panic!("segments expected")
    };
    let got = segments
        .iter()
        .map(|s| (s.upper.start().get(), s.lower.get(), s.upper.len().get()));
    assert_eq!(got.collect::<Vec<_>>(), want);
}

#[test]
fn this_machine_captured_is_this_machine_without_its_contents() {
    let root = Root::live();
    let mut archive = Vec::new();
    capture(&root, &CaptureOptions::default(), &mut archive).expect("captures");
    let captured = Root::from_archive("captured", &archive).expect("reads");
    let there = host(&captured, &Settings::default()).expect("a host");
    let here = host(&root, &Settings::default()).expect("a host");
    for layer in there.layers() {
        let mut layers = here.layers().iter();
        let same = layers.find(|l| l.name == layer.name && l.kind == layer.kind);
        let same = same.unwrap_or_else(|| panic!("{} is only in the capture", layer.name));
        assert_eq!(same.map, layer.map, "{}", layer.name);
        assert_eq!(
            same.size.as_ref().map(|s| s.value),
            layer.size.as_ref().map(|s| s.value)
        );
        for grid in &layer.grids {
            let found = same.grid(grid.role).map(|g| g.value);
            assert_eq!(found, Some(grid.grid.value), "{}", layer.name);
        }
    }
}
