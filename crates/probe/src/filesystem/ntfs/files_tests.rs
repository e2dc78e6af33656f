//! Volumes built by hand: what the tools do not make, and damaged structures.

use straddle_io::Reader;
use straddle_stack::AnomalyKind;

use crate::fixture;
use crate::{FindError, FoundFile, Window, find_file};

const CLUSTER: usize = 512;
const RECORD: usize = 1024;
/// The MFT: clusters 8 to 8 + 2 × 32.
const MFT: usize = 8 * CLUSTER;
const RECORDS: usize = 32;
/// The first letters of the table of upper-case letters.
const LETTERS: usize = 100 * CLUSTER;
/// Two blocks of an index.
const BLOCKS: usize = 110 * CLUSTER;
const FILE: u64 = 20;
const NAMES: &str = "$I30";

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn resident(kind: u32, name: &str, value: &[u8]) -> Vec<u8> {
    let name = utf16(name);
    let value_at = (24 + name.len()).next_multiple_of(8);
    let len = (value_at + value.len()).next_multiple_of(8);
    fixture::Volume::new(len)
        .with(0, kind.to_le_bytes())
        .with(4, u32::try_from(len).expect("small").to_le_bytes())
        .with(9, [u8::try_from(name.len() / 2).expect("short"), 24])
        .with(16, u32::try_from(value.len()).expect("small").to_le_bytes())
        .with(20, u16::try_from(value_at).expect("small").to_le_bytes())
        .with(24, name)
        .with(value_at, value)
        .0
}

/// Clusters `first` to `last` of a stream of `size` bytes.
fn outside(kind: u32, name: &str, runs: &[u8], (first, last): (u64, u64), size: u64) -> Vec<u8> {
    let name = utf16(name);
    let runs_at = (72 + name.len()).next_multiple_of(8);
    let len = (runs_at + runs.len() + 1).next_multiple_of(8);
    fixture::Volume::new(len)
        .with(0, kind.to_le_bytes())
        .with(4, u32::try_from(len).expect("small").to_le_bytes())
        .with(8, [1, u8::try_from(name.len() / 2).expect("short"), 72])
        .with(16, first.to_le_bytes())
        .with(24, last.to_le_bytes())
        .with(32, u16::try_from(runs_at).expect("small").to_le_bytes())
        .with(40, size.next_multiple_of(512).to_le_bytes())
        .with(48, size.to_le_bytes())
        .with(56, size.to_le_bytes())
        .with(72, name)
        .with(runs_at, runs)
        .0
}

fn protected(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    let count = bytes.len() / 512;
    bytes[4..6].copy_from_slice(&u16::try_from(at).expect("small").to_le_bytes());
    bytes[6..8].copy_from_slice(&u16::try_from(count + 1).expect("small").to_le_bytes());
    bytes[at..at + 2].copy_from_slice(&[0x34, 0x12]);
    for n in 1..=count {
        bytes.copy_within(n * 512 - 2..n * 512, at + 2 * n);
        bytes[n * 512 - 2..n * 512].copy_from_slice(&[0x34, 0x12]);
    }
    bytes
}

fn record(flags: u16, base: u64, attributes: &[Vec<u8>]) -> Vec<u8> {
    let all = [attributes.concat(), vec![0xff; 4]].concat();
    let used = u32::try_from(56 + all.len()).expect("small");
    let bytes = fixture::Volume::new(RECORD)
        .with(0, b"FILE")
        .with(16, [7, 0])
        .with(20, [56, 0])
        .with(22, flags.to_le_bytes())
        .with(24, used.to_le_bytes())
        .with(32, base.to_le_bytes())
        .with(56, all);
    protected(bytes.0, 48)
}

/// An entry of an index, for `FILE`; without a name it is the last.
fn entry(name: &str, below: Option<u64>) -> Vec<u8> {
    let letters = utf16(name);
    let key = if name.is_empty() {
        0
    } else {
        66 + letters.len()
    };
    let plain = (16 + key).next_multiple_of(8);
    let len = plain + if below.is_some() { 8 } else { 0 };
    let flags = u8::from(below.is_some()) | if name.is_empty() { 2 } else { 0 };
    let mut volume = fixture::Volume::new(len)
        .with(0, (7 << 48 | FILE).to_le_bytes())
        .with(8, u16::try_from(len).expect("small").to_le_bytes())
        .with(12, [flags]);
    if !name.is_empty() {
        let count = u8::try_from(letters.len() / 2).expect("short");
        volume = volume.with(16 + 64, [count, 1]).with(16 + 66, letters);
    }
    if let Some(below) = below {
        volume = volume.with(plain, below.to_le_bytes());
    }
    volume.0
}

fn node(entries: &[Vec<u8>]) -> Vec<u8> {
    let all = entries.concat();
    let end = u32::try_from(16 + all.len()).expect("small");
    let header = fixture::Volume::new(16)
        .with(0, [16])
        .with(4, end.to_le_bytes());
    [header.0, all].concat()
}

fn root(entries: &[Vec<u8>]) -> Vec<u8> {
    let header = fixture::Volume::new(16)
        .with(0, [0x30])
        .with(8, 512_u32.to_le_bytes());
    resident(0x90, NAMES, &[header.0, node(entries)].concat())
}

fn block(address: u64, entries: &[Vec<u8>]) -> Vec<u8> {
    let bytes = fixture::Volume::new(512)
        .with(0, b"INDX")
        .with(16, address.to_le_bytes())
        .with(24, node(entries));
    let mut bytes = bytes.0;
    // The array of fixups comes between the header of the node and its entries.
    let entries = bytes[40..504].to_vec();
    bytes[48..512].copy_from_slice(&entries);
    bytes[24] = 24;
    let end = u32::from_le_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]) + 8;
    bytes[28..32].copy_from_slice(&end.to_le_bytes());
    protected(bytes, 40)
}

/// A volume whose root directory has this index, and `FILE` these attributes.
fn volume(index: &[Vec<u8>], file: &[Vec<u8>]) -> fixture::Volume {
    let mft = outside(0x80, "", &[0x11, 64, 8], (0, 63), (RECORDS * RECORD) as u64);
    let letters = outside(0x80, "", &[0x11, 1, 100, 0x02, 0xff, 0], (0, 255), 131_072);
    let upper = (0..256_u16).flat_map(|unit| match u8::try_from(unit) {
        Ok(byte) => u16::from(byte.to_ascii_uppercase()).to_le_bytes(),
        Err(_) => unit.to_le_bytes(),
    });
    let at = |number: usize| MFT + number * RECORD;
    fixture::Volume::new(1 << 17)
        .with(3, b"NTFS    ")
        .with(11, 512_u16.to_le_bytes())
        .with(13, [1])
        .with(40, 255_u64.to_le_bytes())
        .with(48, 8_u64.to_le_bytes())
        .with(64, [0xf6])
        .with(68, [0xf7])
        .with(at(0), record(1, 0, &[mft]))
        .with(at(5), record(3, 0, index))
        .with(at(10), record(1, 0, &[letters]))
        .with(LETTERS, upper.collect::<Vec<u8>>())
        .with(at(20), record(1, 0, file))
}

/// One file, `File`, in the root node.
fn simple(file: &[Vec<u8>]) -> fixture::Volume {
    volume(&[root(&[entry("File", None), entry("", None)])], file)
}

fn data() -> Vec<u8> {
    outside(0x80, "", &[0x11, 4, 120], (0, 3), 2000)
}

fn find(volume: &fixture::Volume, path: &str) -> Result<FoundFile, FindError> {
    let reader = Reader::new(&volume.0);
    find_file(&Window::whole(&reader, None), "ntfs", path)
}

fn error(volume: &fixture::Volume) -> String {
    find(volume, "/file").expect_err("damaged").to_string()
}

#[test]
fn a_file_is_found_in_any_case_and_its_run_is_the_evidence() {
    let found = find(&simple(&[data()]), r"c:\FILE").expect("there");
    assert_eq!(found.path, "/File");
    let place = found.placement.expect("known");
    assert_eq!(place.value.start().get(), 120 * 512);
    assert_eq!(place.value.len().get(), 2000);
    let run = MFT + 20 * RECORD + 56 + 72;
    assert_eq!(
        format!("{:?}", place.source),
        format!("Image({run:#x}: 110478)")
    );
    assert_eq!(found.anomalies, []);
}

#[test]
fn blocks_below_the_root_are_searched() {
    let index = [
        root(&[entry("M", Some(0)), entry("", Some(1))]),
        outside(0xa0, NAMES, &[0x11, 2, 110], (0, 1), 1024),
    ];
    let volume = volume(&index, &[data()])
        .with(
            BLOCKS,
            block(0, &[entry("a", None), entry("File", None), entry("", None)]),
        )
        .with(BLOCKS + 512, block(1, &[entry("x", None), entry("", None)]));
    for path in ["/A", "/file", "/m", "/X"] {
        assert!(find(&volume, path).is_ok(), "{path}");
    }
    let missing = find(&volume, "/fil").expect_err("not there").to_string();
    assert_eq!(missing, "`fil` is not in `/`, which has `File`, `M`, `a`");
}

#[test]
fn indexes_that_lead_astray_end_in_an_error() {
    let index = |below| {
        [
            root(&[entry("", Some(below))]),
            outside(0xa0, NAMES, &[0x11, 2, 110], (0, 1), 1024),
        ]
    };
    let circle = volume(&index(0), &[data()]).with(BLOCKS, block(0, &[entry("", Some(0))]));
    let text = error(&circle);
    assert!(
        text.starts_with("levels of a directory's tree: more than 32"),
        "{text}"
    );
    let far = error(&volume(&index(1 << 60), &[data()]));
    assert!(
        far.contains("a node below at address 1152921504606846976"),
        "{far}"
    );
    let other = volume(&index(0), &[data()]).with(BLOCKS, block(1, &[entry("", None)]));
    let other = error(&other);
    assert!(
        other.contains("byte 56,336 is damaged: a block for address 1; expected 0"),
        "{other}"
    );
    let torn = volume(&index(0), &[data()])
        .with(BLOCKS, block(0, &[entry("", None)]))
        .with(BLOCKS + 510, [0, 0]);
    let torn = error(&torn);
    assert!(
        torn.starts_with("index block at byte 56,830 is damaged: check number 0x0000"),
        "{torn}"
    );
    let endless = volume(&[root(&[entry("a", None)])], &[data()]);
    let endless = error(&endless);
    assert!(endless.contains("no whole entry"), "{endless}");
}

#[test]
fn attribute_lists_are_followed_and_checked() {
    let list = |first: u64, record: u64| {
        fixture::Volume::new(32)
            .with(0, [0x80])
            .with(4, [32, 0, 0, 26])
            .with(8, first.to_le_bytes())
            .with(16, (7 << 48 | record).to_le_bytes())
            .0
    };
    let file = |pieces: &[Vec<u8>]| simple(&[resident(0x20, "", &pieces.concat())]);
    let at = |number: usize| MFT + number * RECORD;
    let part = |first, last, runs: &[u8]| outside(0x80, "", runs, (first, last), 4096);
    let good = file(&[list(0, 21), list(4, 22)])
        .with(at(21), record(1, FILE, &[part(0, 3, &[0x11, 4, 120])]))
        .with(at(22), record(1, FILE, &[part(4, 7, &[0x21, 4, 150, 0])]));
    let found = find(&good, "/file").expect("there");
    let lower: Vec<u64> = found.segments.iter().map(|s| s.lower.get() / 512).collect();
    assert_eq!(lower, [120, 150]);
    let foreign = good.with(at(22), record(1, 19, &[part(4, 7, &[0x11, 4, 120])]));
    let text = error(&foreign);
    assert!(
        text.contains("an extension of record 19; expected one of record 20"),
        "{text}"
    );
    let twice = file(&[list(0, 21), list(0, 21)])
        .with(at(21), record(1, FILE, &[part(0, 3, &[0x11, 4, 120])]));
    let text = error(&twice);
    assert!(
        text.contains("runs from cluster 0 of the stream on; expected those from 4 on"),
        "{text}"
    );
    let gone = error(&file(&[list(0, 1 << 40)]));
    assert!(gone.contains("record 1099511627776 of the MFT"), "{gone}");
    let missing = file(&[list(0, 21), list(4, 21)])
        .with(at(21), record(1, FILE, &[part(0, 3, &[0x11, 4, 120])]));
    let text = error(&missing);
    assert!(text.contains("no such attribute"), "{text}");
}

#[test]
fn what_is_odd_about_a_file_is_said() {
    let kinds = |attributes: &[Vec<u8>]| {
        let found = find(&simple(attributes), "/file").expect("there");
        let kinds = found.anomalies.iter().map(|o| o.kind);
        (kinds.collect::<Vec<_>>(), found)
    };
    let flagged = |mut attribute: Vec<u8>, flags: u16, unit: u8| {
        attribute[12..14].copy_from_slice(&flags.to_le_bytes());
        attribute[34] = unit;
        attribute
    };
    let units = [0x11, 16, 120, 0x11, 3, 20, 0x01, 13];
    let squeezed = flagged(outside(0x80, "", &units, (0, 31), 16_000), 1, 4);
    let (odd, found) = kinds(&[squeezed]);
    assert_eq!(odd, [AnomalyKind::Compressed]);
    assert_eq!(found.segments.len(), 1);
    assert_eq!(
        found.anomalies[0].detail,
        "7,808 of 16,000 bytes are in compressed units"
    );
    let (odd, _) = kinds(&[flagged(data(), 0x4000, 0)]);
    assert_eq!(odd, [AnomalyKind::Encrypted]);
    let (odd, found) = kinds(&[resident(0x80, "", b"hello")]);
    assert_eq!(odd, [AnomalyKind::Inline]);
    assert_eq!(found.placement.expect("known").value.len().get(), 5);
    let overlay = resident(0xc0, "", &0x8000_0017_u32.to_le_bytes());
    let (odd, _) = kinds(&[data(), overlay]);
    assert_eq!(odd, [AnomalyKind::Elsewhere]);
    let junction = resident(0xc0, "", &0xa000_0003_u32.to_le_bytes());
    let text = error(&simple(&[data(), junction]));
    assert!(
        text.starts_with("`/File` is a link to elsewhere (reparse tag 0xa0000003)"),
        "{text}"
    );
    let unit = error(&simple(&[flagged(data(), 1, 0)]));
    assert!(unit.contains("a compression unit of 2^0"), "{unit}");
}

#[test]
fn damaged_records_name_the_byte() {
    let at = MFT + 20 * RECORD;
    let starts = |volume: fixture::Volume, want: &str| {
        let text = error(&volume);
        assert!(text.starts_with(want), "{text}");
    };
    let good = || simple(&[data()]);
    starts(
        good().with(at, b"BAAD"),
        "record 20 of the MFT at byte 24,576 is damaged: `BAAD`; expected `FILE`",
    );
    starts(
        good().with(at + 16, [8]),
        "record 20 of the MFT at byte 24,592 is damaged: sequence number 8; expected 7",
    );
    starts(
        good().with(at + 22, [0]),
        "record 20 of the MFT at byte 24,598 is damaged: a record that is not in use",
    );
    starts(
        good().with(at + 60, [3]),
        "record 20 of the MFT at byte 24,636 is damaged: an attribute of 3 bytes",
    );
    starts(
        good().with(at + 24, [0xff; 4]),
        "record 20 of the MFT at byte 24,600 is damaged: 4294967295 bytes in use",
    );
    starts(
        good().with(at + 56 + 73, [3]),
        "record 20 of the MFT at byte 24,704 is damaged: runs up to cluster 3",
    );
    starts(good().with(3, b"NTFX"), "there is no ntfs here: ");
    starts(good().with(48, [9]), "record 0 of the MFT at byte ");
    starts(simple(&[]), "`/File` is a record without data, not a file");
}
