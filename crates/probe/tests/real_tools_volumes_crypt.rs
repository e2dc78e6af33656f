//! Encrypted volumes and hash devices made by the real tools: every offset, unit, name and map must be what the tool
//! that made it, and `blkid`, say of the same file.
//!
//! Needs cryptsetup-bin, util-linux and dislocker from Debian. What needs a kernel is in `tests/lab/cases`.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::support::qemu_map::{arg, tool};
use straddle_geometry::{Bytes, Map, Segment};
use straddle_io::{Reader, Target};
use straddle_probe::volume::{Below, Holds, Node, Part};
use straddle_probe::{Limits, Window, inspect};
use straddle_stack::{GridRole, Key, Layer, LayerKind, Stack};
use straddle_testkit::bitlocker::{Maker, Volume};

const MIB: u64 = 1 << 20;

/// What is said of a device, and the layers that it makes.
fn read(path: &Path) -> (Layer, Vec<Node>) {
    let target = Target::open(path).expect("a file");
    let reader = Reader::new(&target);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "device"));
    let members = inspect(&mut stack, base, &reader, None, Limits::default());
    let nodes = members.first().map(|member| {
        let part = Part {
            window: Window::whole(&reader, None),
            name: "device",
            serial: None,
        };
        (member.format.assemble)(&[part]).expect("readable").nodes
    });
    (stack.layer(base).clone(), nodes.unwrap_or_default())
}

fn text(layer: &Layer, key: Key) -> String {
    layer
        .attribute(key)
        .map(|fact| fact.value.to_string())
        .unwrap_or_default()
}

fn bytes(layer: &Layer, key: Key) -> Option<u64> {
    layer.bytes(key).map(|fact| fact.value.get())
}

fn size(layer: &Layer) -> u64 {
    layer.size.as_ref().map_or(0, |size| size.value.get())
}

fn sector(layer: &Layer) -> Option<u64> {
    layer
        .grid(GridRole::EncryptionSector)
        .map(|fact| fact.value.unit().get())
}

/// What `blkid` says.
fn blkid(path: &Path) -> BTreeMap<String, String> {
    let said = tool("blkid", "util-linux", ["-p", "-o", "export", arg(path)]);
    said.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.replace("\\ ", " ")))
        .collect()
}

/// The value behind `name:` in what a tool printed.
fn said<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim()
}

/// The number that a tool printed at the beginning of a value.
fn number(text: &str) -> u64 {
    let word = text.split_ascii_whitespace().next().unwrap_or("");
    word.parse().unwrap_or_else(|_| panic!("{text}: no number"))
}

/// A folder with a key file.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), "secret").expect("writable");
        Bench { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, len: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("writable");
        file.set_len(len).expect("writable");
        path
    }

    /// Runs cryptsetup with the key, and little work to derive one from it.
    fn cryptsetup(&self, action: &str, options: &str, path: &Path) -> String {
        let key = self.path("key");
        let fixed = ["-q", "--key-file", arg(&key)];
        let quick = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
        let mut args = vec![action];
        args.extend(fixed);
        if action != "luksDump" {
            args.extend(quick);
        }
        args.extend(options.split_ascii_whitespace());
        args.push(arg(path));
        tool("cryptsetup", "cryptsetup-bin", args)
    }
}

/// LUKS1: what `luksDump` prints.
fn compare_luks1(bench: &Bench, path: &Path, len: u64, what: &str) {
    let dump = tool("cryptsetup", "cryptsetup-bin", ["luksDump", arg(path)]);
    let (device, nodes) = read(path);
    assert_eq!(text(&device, Key::Holds), "LUKS encrypted volume", "{what}");
    assert_eq!(text(&device, Key::Version), said(&dump, "Version"));
    assert_eq!(text(&device, Key::Uuid), said(&dump, "UUID"), "{what}");
    assert_eq!(text(&device, Key::Uuid), blkid(path)["UUID"], "{what}");
    let cipher = format!(
        "{}-{}",
        said(&dump, "Cipher name"),
        said(&dump, "Cipher mode")
    );
    assert_eq!(text(&device, Key::Encryption), cipher, "{what}");
    let enabled = dump.matches(": ENABLED").count();
    assert_eq!(text(&device, Key::KeySlots), enabled.to_string(), "{what}");
    assert!(
        device.anomalies.is_empty(),
        "{what}: {:?}",
        device.anomalies
    );
    let [Node { layer, below, .. }] = nodes.as_slice() else {
        panic!("{what}: {} layers", nodes.len())
    };
    let offset = number(said(&dump, "Payload offset")) * 512;
    assert_eq!(
        layer.map,
        Map::Linear {
            start: Bytes::new(offset)
        },
        "{what}"
    );
    assert_eq!(sector(layer), Some(512), "{what}");
    if offset == 0 {
        assert!(matches!(below.as_slice(), [Below::Missing(_)]), "{what}");
    } else {
        assert_eq!(size(layer), len - offset, "{what}");
    }
    let _ = bench;
}

#[test]
fn luks1_is_what_cryptsetup_says() {
    let bench = Bench::new();
    let len = 8 * MIB;
    let options = [
        "",
        "--cipher aes-cbc-essiv:sha256 --key-size 256",
        "--cipher aes-cbc-plain --key-size 128",
        "--cipher aes-xts-plain --key-size 256",
        "--hash sha512",
        "--align-payload 1",
        "--align-payload 63",
        "--align-payload 8",
        "--align-payload 2048",
        "--align-payload 8192",
        "--offset 4040",
        "--offset 6144",
        "--key-slot 7",
    ];
    for (index, options) in options.iter().enumerate() {
        let path = bench.file(&format!("{index}.img"), len);
        bench.cryptsetup("luksFormat", &format!("--type luks1 {options}"), &path);
        compare_luks1(&bench, &path, len, options);
    }
    let two = bench.path("0.img");
    let key = bench.path("key");
    tool(
        "cryptsetup",
        "cryptsetup-bin",
        [
            "luksAddKey",
            "-q",
            "--pbkdf-force-iterations",
            "1000",
            "--key-file",
            arg(&key),
            arg(&two),
            arg(&key),
        ],
    );
    compare_luks1(&bench, &two, len, "two keys");
    // The header in a file of its own names no place on the data's device.
    let header = bench.path("header.img");
    let data = bench.file("data.img", len);
    bench.cryptsetup(
        "luksFormat",
        &format!("--type luks1 --header {}", arg(&header)),
        &data,
    );
    compare_luks1(&bench, &header, len, "header apart");
}

/// LUKS2: what `luksDump --dump-json-metadata` prints. Gives the layer.
fn compare_luks2(bench: &Bench, path: &Path, what: &str) -> Node {
    let json = bench.cryptsetup("luksDump", "--dump-json-metadata", path);
    let json: Json = serde_json::from_str(&json).expect("JSON");
    let dump = tool("cryptsetup", "cryptsetup-bin", ["luksDump", arg(path)]);
    let (device, nodes) = read(path);
    let known = blkid(path);
    assert_eq!(text(&device, Key::Holds), "LUKS encrypted volume", "{what}");
    assert_eq!(text(&device, Key::Version), known["VERSION"], "{what}");
    assert_eq!(text(&device, Key::Uuid), known["UUID"], "{what}");
    let label = known.get("LABEL").cloned().unwrap_or_default();
    assert_eq!(text(&device, Key::Label), label, "{what}");
    assert!(
        device.anomalies.is_empty(),
        "{what}: {:?}",
        device.anomalies
    );
    let slots = json["keyslots"].as_object().expect("an object");
    let keys = slots
        .values()
        .filter(|slot| slot["type"] == "luks2")
        .count();
    assert_eq!(text(&device, Key::KeySlots), keys.to_string(), "{what}");
    // What stands before the data: two headers of the size that is dumped, and the key slots.
    let headers = 2 * number(said(&dump, "Metadata area")) + number(said(&dump, "Keyslots area"));
    assert_eq!(bytes(&device, Key::HeaderSize), Some(headers), "{what}");

    let len = std::fs::metadata(path).expect("a file").len();
    let text_number = |value: &Json| value.as_str().expect("text").parse::<u64>().ok();
    let mut expected = Vec::new();
    let mut at = 0;
    let segments = json["segments"].as_object().expect("an object");
    let mut order: Vec<(u64, &Json)> = segments
        .iter()
        .map(|(name, segment)| (name.parse().expect("a number"), segment))
        .collect();
    order.sort_by_key(|(name, _)| *name);
    let mut widest = None;
    let mut cipher = String::new();
    for (_, segment) in order {
        let flags = segment["flags"].to_string();
        if flags.contains("backup-") {
            continue;
        }
        let offset = text_number(&segment["offset"]).expect("a number");
        let size = text_number(&segment["size"]).unwrap_or(len.saturating_sub(offset));
        widest = widest.max(segment["sector_size"].as_u64());
        if let Some(text) = segment["encryption"].as_str().filter(|_| cipher.is_empty()) {
            text.clone_into(&mut cipher);
        }
        expected.push((at, offset, size));
        at += size;
    }
    let [node] = <[Node; 1]>::try_from(nodes).expect("one layer");
    let layer = &node.layer;
    assert_eq!(sector(layer), widest, "{what}");
    assert_eq!(text(layer, Key::Encryption), cipher, "{what}");
    if matches!(node.below.as_slice(), [Below::Missing(_)]) {
        return node;
    }
    let found: Vec<(u64, u64, u64)> = match &layer.map {
        Map::Linear { start } => vec![(0, start.get(), size(layer))],
        Map::Segments(all) => all
            .iter()
            .map(|s: &Segment| (s.upper.start().get(), s.lower.get(), s.upper.len().get()))
            .collect(),
        other => panic!("{what}: {other:?}"),
    };
    assert_eq!(found, expected, "{what}");
    assert_eq!(size(layer), at, "{what}");
    node
}

#[test]
fn luks2_is_what_cryptsetup_says() {
    let bench = Bench::new();
    let mut options: Vec<String> = [
        "",
        "--label payload --subsystem test",
        "--cipher aes-cbc-essiv:sha256 --key-size 256",
        "--cipher aes-cbc-plain64 --key-size 192",
        "--cipher aes-xts-plain64 --key-size 256 --sector-size 2048",
        "--align-payload 4096",
        "--align-payload 65536",
        "--offset 32784 --sector-size 512",
        "--offset 32776",
        "--offset 40960",
        "--luks2-keyslots-size 512k",
        "--luks2-keyslots-size 256k --luks2-metadata-size 32k --offset 2048",
        "--luks2-keyslots-size 8m --luks2-metadata-size 1m",
    ]
    .map(str::to_owned)
    .to_vec();
    options.extend([512, 1024, 2048, 4096].map(|size| format!("--sector-size {size}")));
    let sizes = [
        "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m",
    ];
    options.extend(sizes.map(|size| format!("--luks2-metadata-size {size}")));
    for (index, options) in options.iter().enumerate() {
        let path = bench.file(&format!("{index}.img"), 48 * MIB);
        bench.cryptsetup("luksFormat", &format!("--type luks2 {options}"), &path);
        let node = compare_luks2(&bench, &path, options);
        assert_eq!(node.holds, Holds::Nothing, "{options}");
        std::fs::remove_file(path).expect("removable");
    }
    assert!(options.len() >= 26);
}

#[test]
fn a_luks2_header_apart_names_its_data_device() {
    let bench = Bench::new();
    for options in ["", "--offset 65536", "--luks2-metadata-size 64k"] {
        let header = bench.path("header.img");
        let data = bench.file("data.img", 48 * MIB);
        let options = format!("--type luks2 --header {} {options}", arg(&header));
        bench.cryptsetup("luksFormat", &options, &data);
        let node = compare_luks2(&bench, &header, &options);
        let uuid = blkid(&header)["UUID"].clone();
        assert_eq!(
            node.below,
            [Below::Missing(format!("data device of luks-{uuid}"))]
        );
        assert_eq!(
            read(&data).1.len(),
            0,
            "{options}: nothing shows on the data"
        );
        std::fs::remove_file(header).expect("removable");
    }
    // A backup of a header ends where the data would begin.
    let whole = bench.file("whole.img", 48 * MIB);
    bench.cryptsetup("luksFormat", "--type luks2", &whole);
    let backup = bench.path("backup.img");
    let args = [
        "luksHeaderBackup",
        "-q",
        "--header-backup-file",
        arg(&backup),
        arg(&whole),
    ];
    tool("cryptsetup", "cryptsetup-bin", args);
    let node = compare_luks2(&bench, &backup, "backup");
    assert!(matches!(node.below.as_slice(), [Below::Missing(_)]));
}

#[test]
fn a_luks2_encryption_in_progress_is_followed_segment_by_segment() {
    let bench = Bench::new();
    let len = 96 * MIB;
    let path = bench.file("encrypt.img", len);
    let options = "--encrypt --init-only --reduce-device-size 32M --type luks2";
    bench.cryptsetup("reencrypt", options, &path);
    let node = compare_luks2(&bench, &path, "encrypt");
    assert_eq!(text(&node.layer, Key::Reencryption), "encrypt");
    assert_eq!(node.holds, Holds::Volume, "nothing of it is encrypted yet");

    let path = bench.file("reencrypt.img", len);
    bench.cryptsetup("luksFormat", "--type luks2 --sector-size 512", &path);
    bench.cryptsetup(
        "reencrypt",
        "--init-only --force-offline-reencrypt --sector-size 4096",
        &path,
    );
    let node = compare_luks2(&bench, &path, "reencrypt");
    assert_eq!(text(&node.layer, Key::Reencryption), "reencrypt");
    assert_eq!(node.holds, Holds::Nothing);

    let header = bench.path("decrypt.header");
    let path = bench.file("decrypt.img", len);
    bench.cryptsetup(
        "luksFormat",
        &format!("--type luks2 --header {}", arg(&header)),
        &path,
    );
    let options = format!(
        "--decrypt --init-only --force-offline-reencrypt --header {}",
        arg(&header)
    );
    bench.cryptsetup("reencrypt", &options, &path);
    let node = compare_luks2(&bench, &header, "decrypt");
    assert_eq!(text(&node.layer, Key::Reencryption), "decrypt");
}

#[test]
fn damaged_headers_are_told_as_cryptsetup_tells_them() {
    use std::os::unix::fs::FileExt;
    let bench = Bench::new();
    let make = |name: &str| {
        let path = bench.file(name, 48 * MIB);
        bench.cryptsetup("luksFormat", "--type luks2", &path);
        path
    };
    let spoil = |path: &Path, at: u64| {
        let file = File::options().write(true).open(path).expect("writable");
        file.write_all_at(&[0xff; 64], at).expect("writable");
    };
    // cryptsetup repairs the first from the second as it reads: so it is asked last.
    for (name, places, still_opens) in [
        ("first", &[600_u64][..], true),
        ("first-magic", &[0], true),
        ("json", &[4200], true),
        ("second", &[16_384 + 600], true),
        ("both", &[600, 16_384 + 600], false),
    ] {
        let path = make(name);
        let before = read(&path).1.remove(0).layer;
        places.iter().for_each(|at| spoil(&path, *at));
        let (device, nodes) = read(&path);
        // The checksum of a second header is not looked at while the first is sound.
        assert_eq!(device.anomalies.is_empty(), name == "second", "{name}");
        let layer = &nodes[0].layer;
        assert_eq!(layer.map, before.map, "{name}");
        let key = bench.path("key");
        let opens = std::process::Command::new("cryptsetup")
            .args([
                "luksOpen",
                "--test-passphrase",
                "--key-file",
                arg(&key),
                arg(&path),
            ])
            .output()
            .expect("cryptsetup of the Debian package cryptsetup-bin");
        assert_eq!(opens.status.success(), still_opens, "{name}: {opens:?}");
    }
}

#[test]
fn verity_is_what_veritysetup_says() {
    let bench = Bench::new();
    for options in [
        "",
        "--hash sha512",
        "--hash sha1 --format 0",
        "--data-block-size 512 --hash-block-size 512",
        "--data-block-size 1024 --hash-block-size 4096",
        "--salt -",
    ] {
        let data = bench.file("data.img", 4 * MIB);
        let hashes = bench.file("hashes.img", 0);
        let mut args = vec!["format"];
        args.extend(options.split_ascii_whitespace());
        args.extend([arg(&data), arg(&hashes)]);
        tool("veritysetup", "cryptsetup-bin", args);
        let dump = tool("veritysetup", "cryptsetup-bin", ["dump", arg(&hashes)]);
        let (device, nodes) = read(&hashes);
        let known = blkid(&hashes);
        assert_eq!(known["TYPE"], "DM_verity_hash");
        assert_eq!(text(&device, Key::Uuid), known["UUID"], "{options}");
        assert_eq!(text(&device, Key::Integrity), said(&dump, "Hash algorithm"));
        let block = number(said(&dump, "Data block size"));
        assert_eq!(
            bytes(&device, Key::BlockSize),
            Some(number(said(&dump, "Hash block size")))
        );
        assert_eq!(sector(&nodes[0].layer), Some(block), "{options}");
        assert_eq!(
            size(&nodes[0].layer),
            number(said(&dump, "Data blocks")) * block
        );
        assert!(matches!(nodes[0].below.first(), Some(Below::Missing(_))));
    }
}

/// The parts of a volume that read as zeroes: start and length.
fn holes(layer: &Layer) -> Vec<(u64, u64)> {
    let Map::Segments(segments) = &layer.map else {
        panic!("segments")
    };
    let mut at = 0;
    let mut out = Vec::new();
    for segment in segments {
        if segment.upper.start().get() > at {
            out.push((at, segment.upper.start().get() - at));
        }
        at = segment.upper.end().get();
    }
    out
}

#[test]
fn bitlocker_is_what_cryptsetup_blkid_and_dislocker_say() {
    let bench = Bench::new();
    let seven = Volume::new(Maker::Seven);
    let volumes = [
        seven.clone(),
        Volume::new(Maker::ToGo),
        Volume::new(Maker::Vista),
        Volume {
            method: 0x8005,
            ..seven.clone()
        },
        Volume {
            method: 0x8002,
            ..seven.clone()
        },
        Volume {
            method: 0x8001,
            ..seven.clone()
        },
        Volume {
            sector: 4096,
            sectors_per_cluster: 1,
            moved_sectors: 2,
            ..seven.clone()
        },
        Volume {
            moved_to: 0x70_0000,
            moved_sectors: 64,
            ..seven.clone()
        },
        Volume {
            metadata: [0x20_0000, 0x40_0000, 0x60_0000],
            moved_to: 0x21_0000,
            ..seven.clone()
        },
    ];
    for (index, volume) in volumes.iter().enumerate() {
        let path = bench.path(&format!("{index}.img"));
        std::fs::write(&path, volume.bytes()).expect("writable");
        let (device, nodes) = read(&path);
        let layer = &nodes[0].layer;
        assert_eq!(text(&device, Key::Holds), "BitLocker encrypted volume");
        assert!(
            device.anomalies.is_empty(),
            "{index}: {:?}",
            device.anomalies
        );
        assert_eq!(blkid(&path)["TYPE"], "BitLocker");
        assert_eq!(sector(layer), Some(volume.sector.into()));
        assert_eq!(size(layer), volume.size);
        // It checks the checksum, and prints places as hexadecimal numbers.
        let told = std::process::Command::new("dislocker-metadata")
            .args(["-V", arg(&path)])
            .output()
            .expect("dislocker-metadata of the Debian package dislocker");
        let told = String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned();
        if volume.sector == 512 {
            for place in volume.metadata {
                assert!(told.contains(&format!("{place:#x}")), "{place:#x}: {told}");
            }
            assert!(told.contains("Current state: ENCRYPTED"), "{told}");
            assert!(told.contains(&text(&device, Key::Uuid)), "{told}");
        }
        if volume.maker == Maker::Vista {
            // cryptsetup does not know of that version.
            let zones = volume.metadata.map(|at| (at, 65_536));
            assert_eq!(holes(layer), zones);
            continue;
        }
        let dump = tool("cryptsetup", "cryptsetup-bin", ["bitlkDump", arg(&path)]);
        assert_eq!(text(&device, Key::Uuid), said(&dump, "GUID"));
        assert_eq!(sector(layer), Some(number(said(&dump, "Sector size"))));
        assert_eq!(size(layer), number(said(&dump, "Volume size")));
        let (_, zones) = dump.split_once("Metadata segments:").expect("that part");
        let values = |name: &str| -> Vec<u64> {
            let lines = zones
                .lines()
                .filter_map(|line| line.trim().strip_prefix(name));
            lines.map(number).collect()
        };
        let mut zones: Vec<(u64, u64)> =
            values("Offset:").into_iter().zip(values("Size:")).collect();
        let moved = zones[3];
        zones.sort_unstable();
        // Zones that touch are one hole.
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (at, len) in zones {
            match joined.last_mut() {
                Some(last) if last.0 + last.1 == at => last.1 += len,
                _ => joined.push((at, len)),
            }
        }
        assert_eq!(holes(layer), joined, "{index}");
        let first = layer.map.locate(Bytes::ZERO).expect("a place");
        assert_eq!((first.offset.get(), first.run.get()), moved, "{index}");
        let then = layer.map.locate(Bytes::new(moved.1)).expect("a place");
        assert_eq!(then.offset.get(), moved.1, "{index}");
    }
}
