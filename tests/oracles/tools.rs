//! What the tools say of an image.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::matrix::{data_areas, run, run_unchecked, sparse};

/// A partition as sfdisk lists it, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) kind: String,
}

impl Listed {
    pub(crate) fn is_extended(&self) -> bool {
        matches!(self.kind.as_str(), "05" | "0f" | "85")
    }

    /// EFI system partitions and BIOS boot partitions: nothing reads them but a boot loader.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "ef" | "C12A7328-F81F-11D2-BA4B-00A0C93EC93B" | "21686148-6449-6E6F-744E-656564454649"
        )
    }
}

/// The partitions by number.
pub(crate) fn sfdisk(image: &Path) -> BTreeMap<u64, Listed> {
    let path = image.to_str().expect("UTF-8");
    let text = run("sfdisk", "fdisk", &["-J", path], "");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let table = &json["partitiontable"];
    assert_eq!(table["sectorsize"], 512, "{path}");
    let rows = table["partitions"].as_array().expect("a list").iter();
    rows.map(|row| {
        let number = row["node"].as_str().and_then(|n| n.strip_prefix(path));
        let kind = row["type"].as_str().expect("a type");
        let listed = Listed {
            start: row["start"].as_u64().expect("a start") * 512,
            size: row["size"].as_u64().expect("a size") * 512,
            // sfdisk writes MBR types without the leading zero.
            kind: match u8::from_str_radix(kind, 16) {
                Ok(byte) => format!("{byte:02x}"),
                Err(_) => kind.to_owned(),
            },
        };
        let number = number.expect("named after its image").parse();
        (number.expect("a number"), listed)
    })
    .collect()
}

/// Whether parted calls a partition aligned. With `-s` its exit status says so, and only that; without, only its words.
pub(crate) fn parted_says_aligned(image: &Path, kind: &str, number: u64) -> bool {
    let path = image.to_str().expect("UTF-8");
    let number = number.to_string();
    let args = ["-s", path, "align-check", kind, &number];
    let (aligned, text) = run_unchecked("parted", "parted", &args, "");
    assert_eq!(text, "", "{path}: parted has something else to say");
    aligned
}

/// What the tools say of the filesystem in a partition.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    /// As blkid calls it, FAT by its version; empty when it finds nothing.
    pub(crate) kind: String,
    /// Where this program reads labels too: ext, XFS, btrfs and swap keep them in the superblock.
    pub(crate) label: String,
    /// Bytes of the unit that files consist of.
    pub(crate) allocation_unit: u64,
    /// The rest, by the name that the program's JSON has for it.
    pub(crate) facts: BTreeMap<&'static str, u64>,
}

/// The filesystem in the partition `listed`: its kind by blkid, its geometry by its own tool, on a copy of the partition.
pub(crate) fn volume(image: &Path, listed: &Listed, scratch: &Path) -> Volume {
    let path = image.to_str().expect("UTF-8");
    let (offset, size) = (listed.start.to_string(), listed.size.to_string());
    let args = [
        "-p", "-o", "export", "--offset", &offset, "--size", &size, path,
    ];
    // Status 2 and silence mean that there is nothing.
    let (_, text) = run_unchecked("blkid", "util-linux", &args, "");
    let blkid: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once('=')).collect();
    let Some(kind) = blkid.get("TYPE") else {
        return Volume::default();
    };
    let block: u64 = match blkid.get("BLOCK_SIZE") {
        Some(text) => text.parse().expect("a number"),
        None => 0,
    };
    let copy = extract(image, listed, scratch);
    let copy = copy.to_str().expect("UTF-8");
    let mut volume = Volume {
        kind: (*kind).to_owned(),
        ..Volume::default()
    };
    let label = blkid.get("LABEL").copied().unwrap_or("").to_owned();
    match *kind {
        "ntfs" => {
            let text = run("ntfsinfo", "ntfs-3g", &["-m", "-f", copy], "");
            volume.allocation_unit = after(&text, "Cluster Size:");
            volume.facts = BTreeMap::from([
                ("sector-size", after(&text, "Sector Size:")),
                ("block-size", after(&text, "Cluster Size:")),
                ("mft-record-size", after(&text, "MFT Record Size:")),
                ("index-record-size", after(&text, "Index Block Size:")),
                ("hidden-sectors", listed.start),
            ]);
            assert_eq!(volume.facts["sector-size"], block, "{path}: two oracles");
        }
        "ext4" => {
            let text = run("dumpe2fs", "e2fsprogs", &["-h", copy], "");
            volume.allocation_unit = after(&text, "Block size:");
            volume.label = label;
            volume.fact("block-size", volume.allocation_unit);
            volume.fact(
                "fs-stripe-unit",
                after_or_0(&text, "RAID stride:") * volume.allocation_unit,
            );
            volume.fact(
                "fs-full-stripe",
                after_or_0(&text, "RAID stripe width:") * volume.allocation_unit,
            );
            assert_eq!(volume.allocation_unit, block, "{path}: two oracles");
        }
        "xfs" => {
            let args = ["-r", "-c", "sb 0", "-c", "p", copy];
            let text = run("xfs_db", "xfsprogs", &args, "");
            let field = |name: &str| after_or_0(&format!("\n{text}"), &format!("\n{name} ="));
            volume.allocation_unit = field("blocksize");
            volume.label = label;
            volume.fact("block-size", field("blocksize"));
            volume.fact("sector-size", field("sectsize"));
            volume.fact("fs-stripe-unit", field("unit") * field("blocksize"));
            volume.fact("fs-full-stripe", field("width") * field("blocksize"));
            assert_eq!(field("sectsize"), block, "{path}: two oracles");
        }
        "btrfs" => {
            let args = ["inspect-internal", "dump-super", copy];
            let text = run("btrfs", "btrfs-progs", &args, "");
            volume.allocation_unit = after(&text, "\nsectorsize");
            volume.label = label;
            volume.fact("node-size", after(&text, "\nnodesize"));
            volume.fact("sector-size", after(&text, "\nsectorsize"));
            assert_eq!(volume.allocation_unit, block, "{path}: two oracles");
        }
        "vfat" => {
            // Status 1: it would repair something, were it not for -n.
            let (_, text) = run_unchecked("fsck.fat", "dosfstools", &["-n", "-v", copy], "");
            volume.allocation_unit = before(&text, " bytes per cluster");
            let sector = before(&text, " bytes per logical");
            volume.fact("sector-size", sector);
            volume.fact("hidden-sectors", before(&text, " hidden sectors") * sector);
            volume.fact(
                "cluster-heap-offset",
                after(&text, "Data area starts at byte"),
            );
            assert_eq!(sector, block, "{path}: two oracles");
            volume.kind = blkid["VERSION"].to_lowercase();
        }
        "exfat" => {
            let text = run("dump.exfat", "exfatprogs", &[copy], "");
            volume.allocation_unit = after(&text, "Cluster size:");
            let sector = 1 << after(&text, "Sector Size Bits:");
            let heap = after(&text, "Cluster Heap Offset (sector offset):");
            volume.fact("sector-size", sector);
            volume.fact("cluster-heap-offset", heap * sector);
            assert_eq!(sector, block, "{path}: two oracles");
        }
        "swap" => {
            volume.label = label;
            // What mkswap was told; blkid 2.38 does not say it, later versions call it BLOCK_SIZE.
            volume.allocation_unit = 4096;
            volume.fact("page-size", 4096);
        }
        other => panic!("{path}: blkid finds {other}"),
    }
    std::fs::remove_file(copy).expect("is there");
    volume
}

impl Volume {
    /// Adds a fact; zero stands for one that is not there.
    fn fact(&mut self, name: &'static str, value: u64) {
        if value != 0 {
            self.facts.insert(name, value);
        }
    }
}

/// A sparse copy of one partition.
fn extract(image: &Path, listed: &Listed, scratch: &Path) -> std::path::PathBuf {
    let copy = scratch.join(image.file_name().expect("has a name"));
    let from = File::open(image).expect("is there");
    let to = sparse(&copy, listed.size);
    for (at, len) in data_areas(&from, listed.start, listed.start + listed.size) {
        let mut bytes = vec![0; usize::try_from(len).expect("small")];
        from.read_exact_at(&mut bytes, at).expect("is there");
        to.write_all_at(&bytes, at - listed.start)
            .expect("has room");
    }
    copy
}

/// The number behind the first `label`.
fn after(text: &str, label: &str) -> u64 {
    find_after(text, label).unwrap_or_else(|| panic!("no {label:?} in {text}"))
}

fn after_or_0(text: &str, label: &str) -> u64 {
    find_after(text, label).unwrap_or(0)
}

fn find_after(text: &str, label: &str) -> Option<u64> {
    let rest = text[text.find(label)? + label.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The number in front of `label`.
fn before(text: &str, label: &str) -> u64 {
    let at = text
        .find(label)
        .unwrap_or_else(|| panic!("no {label:?} in {text}"));
    let word = text[..at].split_whitespace().next_back();
    word.and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no number before {label:?} in {text}"))
}
