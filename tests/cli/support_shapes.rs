//! What tests of support archives share: files from a list, and facts of layers by value.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{scratch, sh, straddle};

/// A number in the layer of this name: at a place of its document (`/placement/value/start`), the unit of a grid (`grid full-stripe`), an
/// attribute (`attribute fs-stripe-unit`); `below NAME` says what it lies on, `only one` that there is no other of the name, `none` that there is none.
pub(crate) struct Fact<'f>(pub(crate) &'f str, pub(crate) &'f str, pub(crate) u64);

/// Writes files below a directory.
pub(crate) fn put_all(here: &Path, top: &str, files: &[(&str, String)]) {
    for (path, text) in files {
        let path = here.join(top).join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }
}

/// Checks a collection as a directory and as an archive.
pub(crate) fn check_shape(top: &str, files: &[(&str, String)], words: &str, facts: &[Fact<'_>]) {
    let folder = scratch();
    let here = folder.path();
    put_all(here, top, files);
    sh(here, &format!("tar czf packed.tgz {top}"));
    for target in [top, "packed.tgz"] {
        check_facts(here, target, words, facts);
    }
}

/// Checks one target.
pub(crate) fn check_facts(here: &Path, target: &str, words: &str, facts: &[Fact<'_>]) {
    let run = straddle(here, &["check", "--json", target]);
    let document: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.transcript()));
    let targets = document["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 1, "{target}: {document:#}");
    let found = &targets[0];
    assert_eq!(found["taken_as"]["words"], words, "{target}: {found:#}");
    assert_eq!(found["taken_as"]["kind"], "support", "{target}");
    let stack = found["stack"]
        .as_array()
        .unwrap_or_else(|| panic!("{found:#}"));
    for Fact(name, what, expected) in facts {
        let named: Vec<&Value> = stack
            .iter()
            .filter(|layer| layer["name"] == *name)
            .collect();
        if *what == "none" {
            assert!(named.is_empty(), "{target}: {name} in {stack:#?}");
            continue;
        }
        let Some(layer) = named.first() else {
            panic!("{target}: no {name} in {stack:#?}");
        };
        let value = value(layer, what, &named, stack);
        assert_eq!(
            value,
            Some(*expected),
            "{target}: {what} of {name} in {stack:#?}"
        );
    }
}

fn value(layer: &Value, what: &str, named: &[&Value], stack: &[Value]) -> Option<u64> {
    let listed = |list: &str, key: &str, wanted: &str| {
        let mut entries = layer[list].as_array()?.iter();
        entries.find(|entry| entry[key] == wanted)
    };
    if let Some(role) = what.strip_prefix("grid ") {
        let grid = &listed("grids", "role", role)?["grid"];
        // What is taken for granted is nothing that was read.
        return first_number(grid).filter(|_| grid["trust"] != "assumed");
    }
    if let Some(key) = what.strip_prefix("attribute ") {
        return first_number(&listed("attributes", "key", key)?["value"]);
    }
    if let Some(on) = what.strip_prefix("below ") {
        let below = layer["below"].as_array()?;
        let is_it = below.iter().any(|id| {
            let at = id.as_u64().and_then(|id| usize::try_from(id).ok());
            at.and_then(|at| stack.get(at))
                .is_some_and(|layer| layer["name"] == on)
        });
        return is_it.then_some(0);
    }
    match what {
        "only one" => u64::try_from(named.len()).ok(),
        _ => layer.pointer(what)?.as_u64(),
    }
}

/// The first number in a value, however deep: a unit stands in front of its phase.
fn first_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::Bool(flag) => Some(u64::from(*flag)),
        Value::Object(members) => ["value", "unit", "bytes", "between", "from", "flag"]
            .iter()
            .find_map(|key| first_number(members.get(*key)?)),
        _ => None,
    }
}

/// `parted -s DISK unit s print`: sectors of the disk, logical and physical sector, kind of table, and number, start and length of each
/// partition.
pub(crate) fn parted(
    disk: &str,
    sectors: u64,
    (logical, physical): (u64, u64),
    table: &str,
    partitions: &[(u64, u64, u64)],
) -> String {
    let mut text = format!(
        "Model: ACME 4000 (scsi)\nDisk {disk}: {sectors}s\nSector size (logical/physical): {logical}B/{physical}B\nPartition Table: {table}\nDisk Flags: \n\n"
    );
    let kind = if table == "msdos" { "Type     " } else { "" };
    let _ = writeln!(
        text,
        "Number  Start         End           Size          {kind}File system  {}Flags",
        if table == "msdos" { "" } else { "Name  " }
    );
    for (number, start, len) in partitions {
        let primary = if table == "msdos" { "primary  " } else { "" };
        let _ = writeln!(
            text,
            " {number:<6} {:<13} {:<13} {:<13} {primary}",
            format!("{start}s"),
            format!("{}s", start + len - 1),
            format!("{len}s"),
        );
    }
    text.push('\n');
    text
}

/// `fdisk -l DISK` of a table of DOS: bytes of the disk, physical sector, and number, start and length of each partition.
pub(crate) fn fdisk(
    disk: &str,
    bytes: u64,
    physical: u64,
    partitions: &[(u64, u64, u64)],
) -> String {
    let sectors = bytes / 512;
    let mut text = format!(
        "Disk {disk}: {} GiB, {bytes} bytes, {sectors} sectors\nUnits: sectors of 1 * 512 = 512 bytes\nSector size (logical/physical): 512 bytes / {physical} bytes\n\
         I/O size (minimum/optimal): {physical} bytes / {physical} bytes\nDisklabel type: dos\nDisk identifier: 0x{:08x}\n\nDevice     Boot Start       End   Sectors Size Id Type\n",
        bytes >> 30,
        sectors & 0xffff_ffff
    );
    for (number, start, len) in partitions {
        text.push_str(&format!(
            "{disk}{number}        {start} {} {len} 1G 83 Linux\n",
            start + len - 1
        ));
    }
    text
}
