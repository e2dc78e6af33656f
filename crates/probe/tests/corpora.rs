//! Replays the fuzzers' corpora on a stable compiler: every file through its prober, and through the whole inspection.
//!
//! A prober without a corpus or without a fuzz target fails here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place, SectorSize};
use straddle_io::{ReadAt, Reader};
use straddle_probe::container::{self, Container, Content, Disk};
use straddle_probe::{Class, Limits, Window, inspect, registry};
use straddle_stack::{Layer, LayerKind, Stack};

/// What the table that costs most may read: 256 extended boot records of one page each, and what surrounds them.
const MOST_BY_PROBER: Bytes = Bytes::kib(1100);
/// What the inspection of one seed may read; none has more than a handful of partitions.
const MOST_BY_INSPECTION: Bytes = Bytes::kib(256);
/// For a debug build on a busy machine; the files take less than a millisecond.
const LONGEST: Duration = Duration::from_secs(2);

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
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

fn names() -> impl Iterator<Item = &'static str> {
    formats().into_iter().chain(containers()).chain(["inspect"])
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
            container if containers().any(|known| known == container) => {
                format!("container!(\"{container}\")")
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
            for sector in [None, Some(SectorSize::B512), Some(SectorSize::B4096)] {
                for prober in registry::by_name(name) {
                    let reader = Reader::new(&bytes);
                    let started = Instant::now();
                    let found = prober.run(&Window::whole(&reader, sector));
                    assert!(started.elapsed() < LONGEST, "{}: too slow", path.display());
                    assert!(
                        reader.spent() <= MOST_BY_PROBER,
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
    let file: Arc<dyn ReadAt> = Arc::new(bytes);
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
            let started = Instant::now();
            let container = walked(name, bytes);
            assert!(started.elapsed() < LONGEST, "{}: too slow", path.display());
            usable += usize::from(container.is_some());
        }
        assert!(usable > 0, "{name} recognises none of its seeds");
    }
}

/// The other direction: a target that outlived its prober would fuzz nothing.
#[test]
fn every_fuzz_target_has_a_prober() {
    for entry in fs::read_dir(fuzz().join("fuzz_targets")).expect("fuzz targets") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        assert!(
            name.is_some_and(|name| names().any(|known| known == name)),
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
                let started = Instant::now();
                let (_, spent) = inspected(&bytes, sector);
                assert!(started.elapsed() < LONGEST, "{}: too slow", path.display());
                assert!(
                    spent <= MOST_BY_INSPECTION,
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
            .flat_map(|layer| &layer.oddities)
            .map(|oddity| oddity.detail.as_str())
            .collect();
        assert!(
            details.iter().any(|detail| detail.contains(want)),
            "{target}/{name}: expected `{want}` among {details:#?}"
        );
    }
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
