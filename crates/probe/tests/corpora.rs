//! Replays the fuzzers' corpora on a stable compiler: every file through its prober, and through the whole inspection.
//!
//! A prober without a corpus or without a fuzz target fails here.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use straddle_testkit::processor_time;

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place, SectorSize};
use straddle_io::{ReadAt, Reader};
use straddle_probe::container::{self, Container, Content, Disk};
use straddle_probe::{Class, Limits, Window, inspect, registry};
use straddle_stack::{Layer, LayerKind, Stack};

/// What the table that costs most may read: 256 extended boot records of one page each, and what surrounds them.
const MAX_BY_PROBER: Bytes = Bytes::kib(1100);
/// What the inspection of one seed may read; none has more than a handful of partitions.
const MAX_BY_INSPECTION: Bytes = Bytes::kib(256);
/// What the metadata of one member may cost, read twice; LVM's text may be a few MiB.
const MAX_BY_VOLUME: Bytes = Bytes::mib(8);
/// Of processor time, so that a busy machine changes nothing, for a debug build; the files take less than a millisecond.
const MAX_LEN: Duration = Duration::from_secs(2);

fn fuzz() -> PathBuf {
    straddle_testkit::repository().join("fuzz")
}

/// The files of a target's corpus.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fuzz().join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; fuzz/seed.sh makes the corpora",
            folder.display()
        )
    });
    entries
        .map(|entry| {
            let path = entry.expect("a file of the corpus").path();
            let bytes = fs::read(&path).expect("a readable seed");
            (path, bytes)
        })
        .collect()
}

/// The names in the registry; some formats have a second prober that looks for copies.
fn formats() -> Vec<&'static str> {
    let mut names: Vec<&str> = registry::all().map(|prober| prober.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The names of the container formats.
fn containers() -> impl Iterator<Item = &'static str> {
    registry::CONTAINERS.iter().map(|format| format.name)
}

/// The names of the volume formats.
fn volumes() -> impl Iterator<Item = &'static str> {
    registry::VOLUMES.iter().map(|format| format.name)
}

fn names() -> impl Iterator<Item = &'static str> {
    formats()
        .into_iter()
        .chain(containers())
        .chain(volumes())
        .chain(["inspect", "check"])
}

/// The formats in which files are looked for.
fn finders() -> impl Iterator<Item = &'static str> {
    let found = registry::FILESYSTEMS.iter().filter(|p| p.find.is_some());
    found.map(|prober| prober.name)
}

/// What a search may read in a seed: directories are small there.
const MAX_BY_FINDER: Bytes = Bytes::kib(1024);

#[test]
fn every_finder_has_a_fuzz_target_and_finds_files_in_its_seeds_within_bounds() {
    for name in finders() {
        let target = fuzz().join(format!("fuzz_targets/{name}-files.rs"));
        let text = fs::read_to_string(&target)
            .unwrap_or_else(|error| panic!("{}: {error}", target.display()));
        assert!(text.contains(&format!("files!(\"{name}\")")));
        let mut found = 0;
        for (path, bytes) in corpus(&format!("{name}-files")) {
            let started = processor_time();
            let (count, most) =
                straddle_testkit::files::find_all(name, &bytes, Reader::DEFAULT_BUDGET);
            assert!(
                processor_time() - started < MAX_LEN,
                "{}: too slow",
                path.display()
            );
            assert!(most <= MAX_BY_FINDER, "{}: read {most}", path.display());
            found += count;
        }
        assert!(found >= 4, "{name}: {found} files found in all seeds");
    }
}

#[test]
fn every_prober_has_a_fuzz_target_and_seeds() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for name in names() {
        assert!(!corpus(name).is_empty(), "fuzz/corpus/{name} is empty");
        let target = fuzz().join("fuzz_targets").join(format!("{name}.rs"));
        let text = fs::read_to_string(&target)
            .unwrap_or_else(|error| panic!("{}: {error}", target.display()));
        let call = match name {
            "inspect" => "fuzz_inspect(data)".to_owned(),
            "check" => "fuzz_check(data)".to_owned(),
            container if containers().any(|known| known == container) => {
                format!("container!(\"{container}\")")
            }
            format if volumes().any(|known| known == format) => {
                format!("volume!(\"{format}\")")
            }
            prober => format!("prober!(\"{prober}\")"),
        };
        assert!(text.contains(&call), "{} lacks {call}", target.display());
        assert!(
            manifest.contains(&format!("name = \"{name}\"\n")),
            "fuzz/Cargo.toml lacks the target {name}"
        );
    }
}

#[test]
fn every_seed_is_read_by_its_prober_within_bounds() {
    for name in formats() {
        let mut recognised = 0;
        for (path, bytes) in corpus(name) {
            let bytes = straddle_testkit::sparse::unpacked(&bytes);
            for sector in [None, Some(SectorSize::B512), Some(SectorSize::B4096)] {
                for prober in registry::by_name(name) {
                    let reader = Reader::new(&bytes);
                    let started = processor_time();
                    let found = prober.run(&Window::whole(&reader, sector));
                    assert!(
                        processor_time() - started < MAX_LEN,
                        "{}: too slow",
                        path.display()
                    );
                    assert!(
                        reader.spent() <= MAX_BY_PROBER,
                        "{}: read {}",
                        path.display(),
                        reader.spent()
                    );
                    recognised += usize::from(matches!(found, Ok(Some(_))));
                }
            }
        }
        assert!(recognised > 0, "{name} recognises none of its seeds");
    }
}

/// Opens `bytes` as the container format called `name` and walks over its table; what it says about every address must
/// be in order, and the same when a single address is asked.
fn walked(name: &str, bytes: Vec<u8>) -> Option<Container> {
    let file: Arc<dyn ReadAt> = Arc::new(straddle_testkit::sparse::unpacked(&bytes));
    let reader = Reader::new(&*file);
    let (format, container) = container::recognise(&reader, &file).ok()??;
    if format.name != name {
        return None;
    }
    if let Some(Disk {
        content: Content::Blocks(table),
        size,
        ..
    }) = &container.disk
        && let Ok(listing) = Listing::of(&**table, Extent::whole(size.value), 4096)
    {
        let mut at = Bytes::ZERO;
        for part in listing.parts() {
            assert_eq!(part.upper().start(), at, "{name}: out of order");
            let place = table.locate(at);
            let same = match (part, place.expect("streamed, so readable")) {
                (Listed::Piece(piece), Place::At { target, offset, .. }) => {
                    (piece.target, piece.lower) == (target, offset)
                }
                (Listed::Gap(_, gap), Place::Absent { .. }) => *gap == Gap::Absent,
                (Listed::Gap(_, gap), Place::Zero { .. }) => *gap == Gap::Zero,
                (Listed::Gap(_, gap), Place::Packed { .. }) => *gap == Gap::Packed,
                _ => false,
            };
            assert!(
                same,
                "{name}: {part:?} but {place:?}",
                place = table.locate(at)
            );
            at = part.upper().end();
        }
        assert!(
            listing.left_out() || at == size.value,
            "{name}: ends at {at}"
        );
    }
    Some(container)
}

#[test]
fn every_seed_of_a_container_is_walked_within_bounds() {
    for name in containers() {
        let mut usable = 0;
        for (path, bytes) in corpus(name) {
            let started = processor_time();
            let container = walked(name, bytes);
            assert!(
                processor_time() - started < MAX_LEN,
                "{}: too slow",
                path.display()
            );
            usable += usize::from(container.is_some());
        }
        assert!(usable > 0, "{name} recognises none of its seeds");
    }
}

#[test]
fn every_seed_of_a_volume_format_is_assembled_within_bounds() {
    for format in registry::VOLUMES {
        let mut layers = 0;
        for (path, bytes) in corpus(format.name) {
            let started = processor_time();
            let (_, assembly, spent) =
                straddle_testkit::volume::assembled(format, &bytes, Reader::DEFAULT_BUDGET);
            assert!(
                processor_time() - started < MAX_LEN,
                "{}: too slow",
                path.display()
            );
            assert!(spent <= MAX_BY_VOLUME, "{}: read {spent}", path.display());
            layers += assembly.map_or(0, |assembly| assembly.nodes.len());
        }
        assert!(layers > 0, "{}: no seed makes a layer", format.name);
    }
}

/// What is said of a seed: the anomalies of its headers, then why its table cannot be read to the end, or one of its
/// compressed parts not be unpacked.
fn said(bytes: &[u8]) -> Vec<String> {
    let bytes = &*straddle_testkit::sparse::unpacked(bytes);
    let file: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
    let (_, container) = match container::recognise(&Reader::new(&*file), &file) {
        Ok(found) => found.expect("recognised"),
        Err(error) => return vec![error.to_string()],
    };
    let anomalies = container.detected.anomalies.iter();
    let mut said: Vec<String> = anomalies.map(|anomaly| anomaly.detail.clone()).collect();
    let Some(Disk {
        content: Content::Blocks(table),
        size,
        ..
    }) = container.disk
    else {
        return said;
    };
    match Listing::of(&*table, Extent::whole(size.value), 4096) {
        Err(error) => said.push(error.to_string()),
        Ok(listing) => {
            for part in listing.parts() {
                let place = table.locate(part.upper().start()).expect("readable");
                if let Place::Packed { upper, lower, .. } = place {
                    let index = |at: Bytes| usize::try_from(at.get()).unwrap_or(usize::MAX);
                    let end = index(lower.end()).min(bytes.len());
                    let packed = bytes.get(index(lower.start())..end).unwrap_or(&[]);
                    let mut out = vec![0; index(upper.len())];
                    match table.unpack(packed, &mut out) {
                        Ok(()) => said.push(format!("unpacks to {} bytes", out.len())),
                        Err(error) => said.push(error.to_string()),
                    }
                }
            }
        }
    }
    said
}

#[test]
fn hostile_containers_end_in_a_statement() {
    let expected = [
        (
            "vhd",
            "fixed-size-max",
            "18,446,744,073,709,551,615 bytes; 4,096 bytes lie before it",
        ),
        ("vhd", "block-size-0", "block size 0;"),
        ("vhd", "block-size-odd", "block size 3073;"),
        (
            "vhd",
            "block-size-3072",
            "block size 3,072; expected a power of two",
        ),
        (
            "vhd",
            "block-size-2p31",
            "block 0 lies at bytes 8,192 to 2,148,016,128",
        ),
        (
            "vhd",
            "sizes-max",
            "a table of 4,294,967,295 entries for a disk of",
        ),
        (
            "vhd",
            "sizes-max",
            "entries lies at bytes 1,536 to 17,179,870,716",
        ),
        (
            "vhd",
            "table-offset-max",
            "lies at bytes 9,223,372,036,854,775,807",
        ),
        (
            "vhd",
            "table-over-the-copy",
            "lies over the copy of the footer",
        ),
        (
            "vhd",
            "block-beyond-the-file",
            "block 0 lies at bytes 2,199,023,254,528",
        ),
        (
            "vhd",
            "block-over-the-table",
            "block 0 at byte 1,536 lies over the table",
        ),
        (
            "vhd",
            "blocks-overlap",
            "block 1 at byte 9,216 lies over block 0 at byte 8,192",
        ),
        ("vhd", "blocks-share-a-bitmap", "lies over block"),
        ("vhd", "header-beyond-the-file", "no header with the text"),
        (
            "vhd",
            "locator-beyond-the-file",
            "beyond the end of the file; it is left out",
        ),
        (
            "vhd",
            "differencing-block-size-2p31",
            "block 0 lies at bytes 8,192 to 2,148,016,128",
        ),
        ("vhd", "type-6", "disk type 6;"),
        ("vhd", "version-2", "version 2.0 of the format"),
        ("vhd", "truncated", "no header with the text"),
        ("vhd", "truncated-in-table", "the table ends at byte 1,540"),
        ("vhdx", "block-size-0", "block size 0;"),
        ("vhdx", "block-size-2p31", "block size 2,147,483,648;"),
        ("vhdx", "block-size-3-mib", "block size 3,145,728;"),
        ("vhdx", "sectors-of-1024", "logical sectors of 1024 bytes;"),
        ("vhdx", "size-max", "and at most 64 TiB"),
        (
            "vhdx",
            "size-max",
            "entries; number 17,596,481,011,709 is beyond them",
        ),
        (
            "vhdx",
            "block-beyond-the-file",
            "block 0 lies at bytes 18,446,744,073,708,503,040",
        ),
        (
            "vhdx",
            "block-over-the-table",
            "block 0 at byte 3,145,728 lies over the table",
        ),
        (
            "vhdx",
            "blocks-overlap",
            "block 1 at byte 4,194,304 lies over block 0",
        ),
        ("vhdx", "state-4", "its state is 4, which is none"),
        (
            "vhdx",
            "partial-without-parent",
            "which only blocks of differencing disks can be",
        ),
        (
            "vhdx",
            "partial-without-bitmap",
            "there is no bitmap of its sectors",
        ),
        ("vhdx", "bitmap-beyond-the-file", "the table ends at byte"),
        ("vhdx", "locator-lengths-max", "points beyond its"),
        ("vhdx", "locator-offset-max", "the metadata item a8d35f2d"),
        ("vhdx", "locator-count-max", "points beyond its"),
        (
            "vhdx",
            "unknown-item",
            "is required to understand the file, and unknown here",
        ),
        (
            "vhdx",
            "unknown-region",
            "is required to understand the file, and unknown here",
        ),
        (
            "vhdx",
            "regions-overlap",
            "the metadata at byte 3,145,728 lies over the table",
        ),
        (
            "vhdx",
            "table-over-the-headers",
            "the table at byte 0 lies over the headers",
        ),
        (
            "vhdx",
            "table-beyond-the-file",
            "the table lies at bytes 1,099,511,627,776",
        ),
        ("vhdx", "table-offset-max", "lies beyond 2⁶⁴ bytes"),
        ("vhdx", "regions-max", "has 4294967295 entries;"),
        ("vhdx", "items-max", "65535 items;"),
        ("vhdx", "version-2", "version 2 of the format"),
        ("vhdx", "headers-damaged", "its bytes give 0x"),
        ("vhdx", "log-empty", "none of its entries is valid"),
        ("vhdx", "log-loops", "none of its entries is valid"),
        (
            "vhdx",
            "log-entries-overlap",
            "its entries lie over each other",
        ),
        (
            "vhdx",
            "log-beyond-the-file",
            "bytes at byte 281,474,976,710,656",
        ),
        ("vhdx", "log-length-max", "it has 4,294,967,295 bytes"),
        ("vhdx", "log-version-1", "its version 1 is unknown"),
        ("vhdx", "log-of-a-longer-file", "the file was cut off"),
        ("vhdx", "truncated", "is beyond the end of the file"),
        (
            "qcow2",
            "version-4",
            "qcow version 4, which is not followed",
        ),
        ("qcow2", "cluster-bits-8", "clusters of 2^8 bytes"),
        (
            "qcow2",
            "cluster-bits-max",
            "clusters of 2^4294967295 bytes",
        ),
        ("qcow2", "size-2p63", "281,474,976,710,656 would be needed"),
        ("qcow2", "size-2p63", "entry 4 is beyond them"),
        ("qcow2", "size-max", "562,949,953,421,312 would be needed"),
        ("qcow2", "l1-size-max", "at most 4,194,304"),
        (
            "qcow2",
            "l1-beyond-the-file",
            "the table ends at byte 1,048,576",
        ),
        (
            "qcow2",
            "l1-offset-max",
            "beyond the end of the file at byte 7,680",
        ),
        ("qcow2", "l1-names-itself", "over the L1 table"),
        (
            "qcow2",
            "l2-names-itself",
            "over the very table that names it",
        ),
        ("qcow2", "l2-used-64-times", "name the L2 table"),
        ("qcow2", "l2-beyond-the-file", "beyond the end of the file"),
        ("qcow2", "l2-misaligned", "not a multiple of 1,024"),
        ("qcow2", "cluster-over-l1", "a cluster over the L1 table"),
        ("qcow2", "v2-zero-cluster", "which version 2 does not know"),
        ("qcow2", "packed-bomb", "unpacks to 512 bytes"),
        ("qcow2", "packed-damaged", "a compressed cluster is damaged"),
        ("qcow2", "packed-cut-off", "is cut off after"),
        (
            "qcow2",
            "packed-beyond-the-file",
            "is cut off after 0 bytes",
        ),
        ("qcow2", "zstd-cut-off", "a compressed cluster is damaged"),
        ("qcow2", "compression-type-7", "compression type 7"),
        ("qcow2", "aes", "encrypted (AES-CBC"),
        ("qcow2", "luks", "encrypted (LUKS)"),
        ("qcow2", "encryption-max", "encrypted (method 4294967295)"),
        ("qcow2", "dirty-and-corrupt", "marked dirty"),
        ("qcow2", "dirty-and-corrupt", "marked corrupt"),
        ("qcow2", "feature-named", "external data file (bit 9)"),
        ("qcow2", "feature-unnamed", "bit 63, which it does not name"),
        ("qcow2", "header-length-0", "a header of 0 bytes"),
        ("qcow2", "extension-length-max", "where 392 are left"),
        (
            "qcow2",
            "extensions-without-end",
            "more than 64 header extensions",
        ),
        (
            "qcow2",
            "backing-name-70000",
            "a backing file name of 70000",
        ),
        ("qcow2", "backing-offset-max", "beyond the end of the file"),
        ("qcow2", "backing-nbd", "nbd is not followed"),
        ("qcow2", "backing-json", "json is not followed"),
        ("qcow2", "data-file-unnamed", "which it does not name"),
        (
            "qcow2",
            "data-file-packed",
            "whose data lies in another file",
        ),
        (
            "qcow2",
            "subclusters-zero-and-allocated",
            "and zero at once",
        ),
        ("qcow2", "subclusters-of-nothing", "the cluster is not"),
        ("qcow2", "extended-8k", "expected 16 KiB or more"),
        ("qcow2", "truncated-in-header", "beyond the end"),
        ("qcow2", "truncated-in-l1", "reaches beyond the end"),
        ("qcow2", "truncated-in-l2", "500 more bytes of it"),
        ("qed", "qemu-img", "convert -f qed -O qcow2"),
        ("parallels", "plain", "convert -f parallels -O qcow2"),
        ("parallels", "extended", "convert -f parallels -O qcow2"),
        (
            "vdi",
            "allocated-max",
            "4,294,967,295 blocks allocated of 3",
        ),
        ("vdi", "block-beyond-the-file", "beyond its end"),
        ("vdi", "block-size-0", "block size 0"),
        ("vdi", "blocks-overlap", "are both block 0 of the file"),
        ("vdi", "data-over-table", "are the same bytes"),
        ("vdi", "disk-size-max", "would be needed"),
        ("vdi", "extra-100", "100 extra bytes before each block"),
        ("vdi", "extra-max", "with 4,294,967,295 bytes before each"),
        (
            "vdi",
            "extra-overflows",
            "blocks of 1 MiB with 4,294,443,008 bytes",
        ),
        ("vdi", "header-length-0", "a header of 0 bytes"),
        ("vdi", "kind-9", "image type 9"),
        ("vdi", "sectors-4096", "sectors of 4096 bytes"),
        (
            "vdi",
            "table-beyond-the-file",
            "the table ends at byte 4,096",
        ),
        ("vdi", "table-in-header", "inside the header"),
        (
            "vdi",
            "table-offset-max",
            "a table that ends at byte 4,294,967,307",
        ),
        ("vdi", "version-0", "version 0.1"),
        ("vdi", "version-1.0", "version 1.0"),
        ("vmdk", "capacity-2p55", "ends beyond the end"),
        ("vmdk", "capacity-max", "beyond 2⁶⁴ bytes"),
        ("vmdk", "copies-differ", "differs from its copy"),
        ("vmdk", "cowd-directory-short", "2 would be needed"),
        ("vmdk", "cowd-grain-0", "a grain of 0 sectors"),
        (
            "vmdk",
            "cowd-table-in-directory",
            "lies in the grain directory",
        ),
        ("vmdk", "descriptor-bad-line", "is no part of a disk"),
        ("vmdk", "descriptor-beyond-the-file", "left unread"),
        ("vmdk", "descriptor-device", "check the device itself"),
        ("vmdk", "descriptor-length-max", "left unread"),
        ("vmdk", "descriptor-offset-max", "beyond 2⁶⁴ bytes"),
        ("vmdk", "descriptor-raw-device", "maps a LUN through"),
        ("vmdk", "descriptor-se-sparse", "seSparse"),
        ("vmdk", "descriptor-size-2p55", "beyond 2⁶⁴ bytes"),
        ("vmdk", "descriptor-size-2p64", "is no part of a disk"),
        ("vmdk", "descriptor-sum-overflows", "beyond 2⁶⁴ bytes"),
        ("vmdk", "descriptor-without-parts", "without a line"),
        (
            "vmdk",
            "directory-beyond-the-file",
            "without it no grain is found",
        ),
        (
            "vmdk",
            "directory-ends-beyond-the-file",
            "ends beyond the end",
        ),
        (
            "vmdk",
            "directory-offset-max",
            "without it no grain is found",
        ),
        ("vmdk", "first-directory-gone", "the second one is used"),
        ("vmdk", "grain-0", "a grain of 0 sectors"),
        ("vmdk", "grain-3", "a grain of 3 sectors"),
        (
            "vmdk",
            "grain-beyond-the-file",
            "beyond the end of the file",
        ),
        (
            "vmdk",
            "grain-max",
            "a grain of 18,446,744,073,709,551,615 sectors",
        ),
        (
            "vmdk",
            "grains-over-tables",
            "lies where the grain directory",
        ),
        ("vmdk", "per-table-0", "0 grains per table"),
        ("vmdk", "per-table-max", "4294967295 grains per table"),
        ("vmdk", "se-sparse", "seSparse"),
        ("vmdk", "sent-as-text", "transferred as text"),
        ("vmdk", "stream-algorithm-2", "algorithm 2"),
        ("vmdk", "stream-bomb", "unpacks to more than the 4 KiB"),
        ("vmdk", "stream-cut-off", "no footer"),
        (
            "vmdk",
            "stream-footer-names-itself",
            "without it no grain is found",
        ),
        ("vmdk", "stream-grain-too-short", "does not unpack"),
        (
            "vmdk",
            "stream-grains-in-table",
            "lies where the grain directory",
        ),
        ("vmdk", "stream-marker-length-0", "does not unpack"),
        ("vmdk", "stream-marker-length-max", "by its marker"),
        (
            "vmdk",
            "table-beyond-the-file",
            "beyond the end of the file",
        ),
        ("vmdk", "table-in-directory", "lies in the grain directory"),
        (
            "vmdk",
            "table-used-1024-times",
            "one of 1,023 lies over another",
        ),
        ("vmdk", "tables-shared", "lies over another grain table"),
        ("vmdk", "truncated-in-table", "the table ends at byte 2,055"),
        ("vmdk", "unclean", "not closed cleanly"),
        ("vmdk", "version-4", "version 4"),
    ];
    let mut silent = Vec::new();
    for (target, name, want) in expected {
        let path = fuzz().join("corpus").join(target).join(name);
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let said = said(&bytes);
        if !said.iter().any(|detail| detail.contains(want)) {
            silent.push(format!(
                "{target}/{name}: expected `{want}` among {said:#?}"
            ));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// The other direction: a target that outlived its prober would fuzz nothing.
#[test]
fn every_fuzz_target_has_a_prober() {
    for entry in fs::read_dir(fuzz().join("fuzz_targets")).expect("fuzz targets") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        // Those of captured text are compared with their own registry, in `crates/straddle/tests/captured.rs`.
        // Those of other tools' words and of runs are replayed in `crates/bench/tests/corpora.rs`, those of profiles and
        // studies in `crates/predict/tests/corpora.rs`, those of moves in `crates/realign/tests/corpora.rs`, those of
        // answers of Windows in `crates/sources/tests/windows/corpora.rs`, logs in `crates/evidence/tests/corpus.rs`,
        // traces and what was counted of them in `crates/trace/tests/damage.rs`, columns of tables in `crates/trace/tests/fuzzed.rs`,
        // archives of hosts in `crates/sources/tests/collected.rs`.
        let elsewhere = [
            "captured-",
            "collected",
            "compat-",
            "bench-",
            "predict-",
            "realign-",
            "windows-",
            "evidence",
            "trace",
            "statistics",
            "table",
        ];
        if name.is_some_and(|name| elsewhere.iter().any(|start| name.starts_with(start))) {
            continue;
        }
        assert!(
            name.is_some_and(|name| match name.strip_suffix("-files") {
                Some(format) => finders().any(|known| known == format),
                None => names().any(|known| known == name),
            }),
            "{} fuzzes no prober of the registry",
            path.display()
        );
    }
}

fn inspected(bytes: &[u8], sector: Option<SectorSize>) -> (Stack, Bytes) {
    let reader = Reader::new(&bytes);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "seed"));
    inspect(&mut stack, base, &reader, sector, Limits::default());
    (stack, reader.spent())
}

#[test]
fn every_seed_of_every_format_is_inspected_within_bounds() {
    for name in names() {
        for (path, bytes) in corpus(name) {
            for sector in [None, Some(SectorSize::B512), Some(SectorSize::B4096)] {
                let started = processor_time();
                let (_, spent) = inspected(&bytes, sector);
                assert!(
                    processor_time() - started < MAX_LEN,
                    "{}: too slow",
                    path.display()
                );
                assert!(
                    spent <= MAX_BY_INSPECTION,
                    "{}: read {spent}",
                    path.display()
                );
            }
        }
    }
}

/// The seeds named for a fault show that fault, so that a seed which stops to be what its name says is noticed.
#[test]
fn hostile_tables_end_in_a_statement() {
    let expected = [
        ("gpt", "entries-4294967295", "4294967295 entries of 128"),
        ("gpt", "entry-size-0", "entries of 0 bytes"),
        ("gpt", "entry-size-1", "entries of 1 bytes"),
        ("gpt", "entry-size-130", "entries of 130 bytes"),
        ("gpt", "entry-size-2p31", "entries of 2147483648 bytes"),
        ("gpt", "entry-lba-max", "at LBA 18446744073709551615"),
        ("gpt", "partition-end-max", "the primary copy is damaged"),
        ("gpt", "primary-gone", "there is no primary header"),
        ("gpt", "only-backup", "there is no primary header"),
        ("gpt", "copies-differ", "differs from the primary"),
        ("gpt", "hybrid", "same sectors as partition 1"),
        ("gpt", "truncated", "cut short"),
        ("gpt", "grown", "the disk has grown"),
        ("mbr", "unprotected", "no entry of the MBR protects it"),
        ("mbr", "ebr-loop", "returns to the one at byte"),
        ("mbr", "ebr-loop-on-itself", "returns to the one at byte"),
        ("mbr", "ebr-backwards", "runs backwards"),
        ("mbr", "ebr-past-end", "beyond the end"),
        ("mbr", "ebr-unsigned", "lacks its signature"),
        ("mbr", "overlap", "starts at byte"),
        ("mbr", "start-and-length-max", "beyond the end"),
        ("mbr", "two-extended", "more than one extended"),
        ("bsd", "partitions-65535", "65535 partitions"),
        ("vtoc", "version-2", "VTOC version 2"),
        ("vtoc", "bad-sum", "combine to"),
    ];
    for (target, name, want) in expected {
        let path = fuzz().join("corpus").join(target).join(name);
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (stack, _) = inspected(&bytes, None);
        let details: Vec<&str> = stack
            .layers()
            .iter()
            .flat_map(|layer| &layer.anomalies)
            .map(|anomaly| anomaly.detail.as_str())
            .collect();
        assert!(
            details.iter().any(|detail| detail.contains(want)),
            "{target}/{name}: expected `{want}` among {details:#?}"
        );
    }
}

#[test]
fn every_database_file_says_what_it_was_verified_against() {
    let names = registry::DATABASES_VERIFIED.iter().map(|(name, _)| *name);
    let probers = registry::DATABASE_FILES.iter().map(|prober| prober.name);
    assert!(names.eq(probers));
}

#[test]
fn names_are_unique_and_classes_match_their_lists() {
    let lists = [
        (registry::TABLES, Class::Table),
        (registry::NESTED_TABLES, Class::NestedTable),
        (registry::FILESYSTEMS, Class::Filesystem),
        (registry::DATABASE_FILES, Class::DatabaseFile),
    ];
    let count: usize = lists.iter().map(|(list, _)| list.len()).sum();
    assert_eq!(formats().len(), count);
    for (list, class) in lists {
        assert!(list.iter().all(|prober| prober.class == class));
    }
}
