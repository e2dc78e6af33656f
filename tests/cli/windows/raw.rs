//! Disks and volumes that are read through their names among devices, and the same images under Linux.

use serde_json::Value;

use super::Host;
use crate::support::{scratch, straddle, unpack_image};

/// The name of the disk that stands for an image.
const DISK: &str = r"\\.\PhysicalDrive7";

/// Images that the real tools made: MBR and GPT, sectors of 512 and of 4,096 bytes, boot sectors, and what lies in partitions.
const IMAGES: [&str; 9] = [
    "mbr-63",
    "mbr-2048",
    "mbr-64",
    "gpt-2048",
    "gpt-4096",
    "gpt-hybrid",
    "ntfs-2048",
    "ntfs-64k",
    "ntfs-moved",
];

fn document(text: &str) -> Value {
    let mut all: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    all["targets"][0].take()
}

/// What is said of a target, whatever it is called: names of it are made one, and where a fact of the disk itself comes from is left
/// out, for one is a file and the other a device.
fn without_names(mut document: Value, names: &[&str]) -> String {
    if let Some(disk) = document.pointer_mut("/stack/0") {
        disk.as_object_mut().expect("a layer").remove("size");
    }
    let mut text = serde_json::to_string_pretty(&document).expect("JSON");
    for name in names {
        let quoted = serde_json::to_string(name).expect("JSON");
        text = text.replace(quoted.trim_matches('"'), "THE DISK");
    }
    // What moves partitions in place here makes a new file there.
    text.replace(" -o NEW", "")
}

#[test]
fn a_disk_has_the_findings_of_its_image() {
    let folder = scratch();
    let host = Host::new();
    let mut with_findings = 0;
    for image in IMAGES {
        let name = unpack_image(image, folder.path());
        host.with("physicaldrive7", &folder.path().join(&name));
        let here = straddle(folder.path(), &["check", &name, "--json"]);
        let there = host.straddle(&["check", DISK, "--json"]);
        host.without("physicaldrive7");
        assert_eq!(there.code, here.code, "{image}: {}", there.stderr);
        let (here, there) = (document(&here.stdout), document(&there.stdout));
        let codes = |document: &Value| {
            let findings = document["findings"].as_array().expect("findings");
            findings.len()
        };
        with_findings += usize::from(codes(&here) > 0);
        let here = without_names(here, &[&name]);
        let there = without_names(there, &[DISK, "disk 7"]);
        assert!(here == there, "{image}:\n{}", differing(&here, &there));
    }
    assert!(with_findings >= 6, "{with_findings} have findings");
}

/// The lines in which two texts differ.
fn differing(a: &str, b: &str) -> String {
    let pairs = a.lines().zip(b.lines());
    let lines = pairs
        .filter(|(a, b)| a != b)
        .take(20)
        .map(|(a, b)| format!("- {a}\n+ {b}\n"));
    lines.collect()
}

#[test]
fn a_volume_is_read_by_its_letter() {
    let folder = scratch();
    let name = unpack_image("ntfs-2048", folder.path());
    let host = Host::new();
    let disk = std::fs::read(folder.path().join(&name)).expect("readable");
    // From its first partition on, as a volume is seen.
    let volume = folder.path().join("volume");
    std::fs::write(&volume, &disk[2048 * 512..]).expect("writable");
    host.with("e::", &volume);
    host.with("e:", folder.path());
    let run = host.straddle(&["check", r"\\.\E:"]);
    // Its boot sector, read through the letter.
    let read = "E:, byte 0x40\n   |\n   | 00000040  f6 00 00 00 01";
    assert!(run.stdout.contains(read), "{}", run.stdout);
    assert!(run.stdout.contains("allocation unit"), "{}", run.stdout);
    // Nothing of it is on a disk that is known.
    assert!(run.stdout.contains("names no disk"), "{}", run.stdout);
}

/// The two disks of a dynamic volume, of which Wine tells nothing but that they are there.
#[test]
fn dynamic_disks_are_put_together_from_their_databases() {
    let folder = scratch();
    let name = unpack_image("ldm-striped-63", folder.path());
    let second = name.replace(".img", ".2.img");
    let host = Host::new();
    host.with("physicaldrive7", &folder.path().join(&name));
    host.with("physicaldrive8", &folder.path().join(&second));
    let there = host.straddle(&["check", "--json"]);
    let here = straddle(folder.path(), &["check", &name, &second, "--json"]);
    let stripes = |document: &Value| {
        let findings = document["findings"].as_array().expect("findings");
        let said = |finding: &&Value| finding["code"].as_str() != Some("STR903");
        let of = |finding: &Value| {
            let title = finding["title"].as_str().expect("a title");
            let title = title.replace(&*name, "A").replace(&*second, "B");
            let title = title.replace("disk 7", "A").replace("disk 8", "B");
            (finding["code"].to_string(), title)
        };
        let mut all: Vec<_> = findings.iter().filter(said).map(of).collect();
        all.sort();
        all
    };
    let (here, there) = (document(&here.stdout), document(&there.stdout));
    assert!(!stripes(&here).is_empty());
    assert_eq!(stripes(&there), stripes(&here));
}

#[test]
fn there_is_no_such_disk() {
    let host = Host::new();
    let run = host.straddle(&["check", r"\\.\PhysicalDrive99"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("cannot open"), "{}", run.stderr);
}
