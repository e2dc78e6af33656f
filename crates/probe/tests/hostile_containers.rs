//! Seeds of containers that are named for a fault show that fault, so that a seed which stops to be what its name says
//! is noticed. A statement is an oddity, or the error of whoever streams the table or unpacks what it points to.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place};
use straddle_io::ReadAt;
use straddle_probe::container::{self, Container, Content};

/// For a debug build on a busy machine.
const LONGEST: Duration = Duration::from_secs(2);

const EXPECTED: &[(&str, &str, &str)] = &[
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
    ("vdi", "extra-max", "4294967295 extra bytes"),
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

/// What is said about a container: its oddities, and the errors of its table.
fn statements(container: &Container, bytes: &[u8]) -> Vec<String> {
    let oddities = container.detected.oddities.iter();
    let mut said: Vec<String> = oddities.map(|oddity| oddity.detail.clone()).collect();
    let Some(disk) = &container.disk else {
        return said;
    };
    let Content::Blocks(table) = &disk.content else {
        return said;
    };
    let listing = match Listing::of(&**table, Extent::whole(disk.size.value), 4096) {
        Ok(listing) => listing,
        Err(error) => {
            said.push(error.to_string());
            return said;
        }
    };
    for part in listing.parts() {
        let Listed::Gap(upper, Gap::Packed) = part else {
            continue;
        };
        let place = table.locate(upper.start()).expect("streamed, so readable");
        let Place::Packed { upper, lower, .. } = place else {
            panic!("{part:?} but {place:?}")
        };
        let index = |at: Bytes| usize::try_from(at.get()).expect("small").min(bytes.len());
        let packed = &bytes[index(lower.start())..index(lower.end())];
        let mut out = vec![0; usize::try_from(upper.len().get()).expect("small")];
        if let Err(error) = table.unpack(packed, &mut out) {
            said.push(error.to_string());
        }
    }
    said
}

#[test]
fn hostile_containers_end_in_a_statement() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (format, name, want) in EXPECTED {
        let path = corpus.join(format).join(name);
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let started = Instant::now();
        let file: Arc<dyn ReadAt> = Arc::new(bytes.clone());
        let (found, container) = container::recognise(&file)
            .unwrap_or_else(|e| panic!("{format}/{name}: {e}"))
            .unwrap_or_else(|| panic!("{format}/{name}: not recognised"));
        assert_eq!(found.name, *format, "{name}");
        let said = statements(&container, &bytes);
        assert!(
            said.iter().any(|detail| detail.contains(want)),
            "{format}/{name}: expected `{want}` among {said:#?}"
        );
        assert!(started.elapsed() < LONGEST, "{format}/{name}: too slow");
    }
}
