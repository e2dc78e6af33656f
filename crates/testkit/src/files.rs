//! Images in which files are looked for: by the fuzz targets of the file finders, and by the replay of their corpora.
//!
//! A seed is the sectors of an image that are not empty: the number of sectors of the image (4 bytes, low byte first),
//! then for each its number (4) and its 512 bytes.

use std::collections::BTreeMap;
use std::io;

use straddle_geometry::{Bytes, Extent};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{FoundFile, Window, find_file};
use straddle_stack::Source;

const SECTOR: usize = 512;
const SECTOR_BYTES: u64 = 512;

/// The files that are looked for in every image; the seeds have some of them.
const PATHS: [&str; 6] = [
    "/data/db.mdf",
    "/DATA/DB.MDF",
    "/small",
    "/frag",
    "/many/17 the name of a file that is long enough to fill blocks, whatever their size is, in no time.txt",
    "/many/no such file",
];

/// An image given by some of its sectors; the others are zero.
struct Sectors<'d> {
    size: u64,
    there: BTreeMap<u64, &'d [u8]>,
}

impl<'d> Sectors<'d> {
    /// Takes a seed apart; a last sector that is cut short is zero.
    fn new(seed: &'d [u8]) -> Sectors<'d> {
        let number = |bytes: &[u8]| -> u64 {
            bytes
                .iter()
                .rev()
                .fold(0, |n, byte| n << 8 | u64::from(*byte))
        };
        let (size, rest) = seed.split_at(seed.len().min(4));
        let entries = rest.chunks_exact(4 + SECTOR);
        Sectors {
            size: number(size) * SECTOR_BYTES,
            there: entries.map(|e| (number(&e[..4]), &e[4..])).collect(),
        }
    }
}

impl ReadAt for Sectors<'_> {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset.get());
        let n = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        buf[..n].fill(0);
        let mut at = 0;
        while at < n {
            let position = offset.get() + at as u64;
            let within = (position % SECTOR_BYTES) as usize;
            let len = (SECTOR - within).min(n - at);
            if let Some(sector) = self.there.get(&(position / SECTOR_BYTES)) {
                buf[at..at + len].copy_from_slice(&sector[within..within + len]);
            }
            at += len;
        }
        Ok(n)
    }
}

/// Looks for every path; returns how many were found, and the most that one search has read.
///
/// # Panics
/// When what was found is not in the image.
pub fn find_all(format: &str, seed: &[u8], budget: Bytes) -> (usize, Bytes) {
    let image = Sectors::new(seed);
    let (mut count, mut most) = (0, Bytes::ZERO);
    for path in PATHS {
        let reader = Reader::with_budget(&image, budget);
        match find_file(&Window::whole(&reader, None), format, path) {
            Ok(found) => {
                check(&found, image.size());
                count += 1;
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        most = most.max(reader.spent());
    }
    (count, most)
}

/// What holds for every file that is found, whatever the image is.
fn check(found: &FoundFile, size: Bytes) {
    let end = found.size.value;
    let mut before = Bytes::ZERO;
    for segment in &found.segments {
        assert!(segment.upper.start() >= before && segment.upper.end() <= end);
        assert!(!segment.upper.is_empty() && segment.target == 0);
        before = segment.upper.end();
        let lower = Extent::new(segment.lower, segment.upper.len());
        assert!(lower.is_some_and(|lower| Extent::whole(size).contains(lower)));
    }
    before = Bytes::ZERO;
    for part in &found.unwritten {
        assert!(!part.is_empty() && part.start() >= before && part.end() <= end);
        before = part.end();
    }
    assert!(found.segments.is_empty() || found.placement.is_some());
    let facts = [Some(&found.size.source), Some(&found.allocated.source)];
    let placed = found.placement.as_ref().map(|placement| &placement.source);
    for source in facts.into_iter().chain([placed]).flatten() {
        match source {
            Source::Image(bytes) => assert!(!bytes.field().is_empty()),
            Source::Derived { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}
