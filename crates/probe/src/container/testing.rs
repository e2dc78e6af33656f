//! What the unit tests of container formats share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use straddle_geometry::{BlockTable, Bytes, Extent, Gap, Listed, Listing, Segment, Sink};
use straddle_io::{ReadAt, Reader};

use super::{Container, Content, Disk, Format, Opening};
use crate::Window;
use crate::fixture::Volume;

/// Opens an image that the format must recognise.
pub(super) fn open(format: &Format, image: &Volume) -> Container {
    open_file(format, Arc::new(image.0.clone()))
}

/// The same for any file.
fn open_file(format: &Format, file: Arc<dyn ReadAt>) -> Container {
    let reader = Reader::new(&*file);
    let opening = Opening {
        window: Window::whole(&reader, None),
        file: Arc::clone(&file),
    };
    assert!(
        format.has_magic(&opening.window).expect("readable"),
        "no magic"
    );
    let container = (format.open)(&opening).expect("readable");
    container.expect("recognised")
}

/// The table of a disk that has one.
pub(super) fn table(disk: &Disk) -> &dyn BlockTable {
    match &disk.content {
        Content::Blocks(table) => &**table,
        other => panic!("no table: {other:?}"),
    }
}

/// What the table of a disk says, neighbours joined; and the same when it is asked address by address.
pub(super) fn listed(disk: &Disk) -> Vec<Listed> {
    let table = table(disk);
    let whole = Extent::whole(disk.size.value);
    let listing = Listing::of(table, whole, 1 << 16).expect("a readable table");
    assert!(!listing.left_out());
    let ends: Vec<u64> = listing
        .parts()
        .iter()
        .map(|part| part.upper().end().get())
        .collect();
    assert_eq!(ends.last(), Some(&disk.size.value.get()), "covers the disk");
    for part in listing.parts() {
        // Any part of a range says what the whole says.
        let inner = extent(
            part.upper().start().get() + part.upper().len().get() / 3,
            part.upper().len().get().div_ceil(2),
        );
        let again = Listing::of(table, inner, 16).expect("a readable table");
        for got in again.parts() {
            let same = match (part, got) {
                (Listed::Gap(_, a), Listed::Gap(_, b)) => a == b,
                (Listed::Piece(a), Listed::Piece(b)) => {
                    let skip = b.upper.start().checked_sub(a.upper.start());
                    a.target == b.target
                        && skip.and_then(|s| a.lower.checked_add(s)) == Some(b.lower)
                }
                _ => false,
            };
            assert!(same, "{part:?} but {got:?} for {inner:?}");
        }
    }
    listing.parts().to_vec()
}

/// How much work a table is: why its disk could not be gone through to the end, blocks that were told before that, and bytes
/// read from the file from its opening on.
pub(super) fn work(format: &Format, image: &Volume) -> (Option<String>, u64, u64) {
    let file = Arc::new(Counted {
        bytes: image.0.clone(),
        read: AtomicU64::new(0),
    });
    let disk = open_file(format, Arc::<Counted>::clone(&file)).disk;
    let disk = disk.expect("a disk");
    let mut told = Told(0);
    let result = table(&disk).stream(Extent::whole(disk.size.value), &mut told);
    let error = result.err().map(|error| error.to_string());
    (error, told.0, file.read.load(Ordering::Relaxed))
}

/// A file that counts what is read of it.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadAt for Counted {
    fn size(&self) -> Bytes {
        self.bytes.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read_at(offset, buf)?;
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// Counts blocks.
struct Told(u64);

impl Sink for Told {
    fn blocks(&mut self, _: Bytes, _: usize, lower: &[u64]) {
        self.0 += lower.len() as u64;
    }
    fn piece(&mut self, _: Segment) {
        self.0 += 1;
    }
    fn gap(&mut self, _: Extent, _: Gap) {}
}

/// `len` bytes from `start`.
pub(super) fn extent(start: u64, len: u64) -> Extent {
    Extent::new(Bytes::new(start), Bytes::new(len)).expect("small")
}
