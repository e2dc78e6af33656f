//! What the unit tests of container formats share.

use std::sync::Arc;
use straddle_geometry::{BlockTable, Bytes, Extent, Listed, Listing};
use straddle_io::{ReadAt, Reader};

use super::{Container, Content, Disk, Format, Opening};
use crate::Window;
use crate::fixture::Volume;

/// Opens an image that the format must recognise.
pub(super) fn open(format: &Format, image: &Volume) -> Container {
    let file: Arc<dyn ReadAt> = Arc::new(image.0.clone());
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

/// `len` bytes from `start`.
pub(super) fn extent(start: u64, len: u64) -> Extent {
    Extent::new(Bytes::new(start), Bytes::new(len)).expect("small")
}
