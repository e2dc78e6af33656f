//! PostgreSQL relation files: tables and indexes, page by page.
//!
//! ```text
//! byte 10  flags, of which three are in use (2)     16  start of the special space (2)
//!      12  end of the line pointers (2)             18  page size + layout version 2, 3 or 4 (2)
//!      14  start of the tuples (2)
//! ```
//!
//! There is no magic, and the file says nothing about itself: only pages that agree with each other and with the file's
//! length tell a relation from anything else. Numbers are in the byte order of the machine; little-endian ones are read.
//!
//! Source: PostgreSQL documentation, "Database page layout".

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "postgresql",
    class: Class::DatabaseFile,
    min_size: 1024,
    magics: &[],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, PartialEq)]
#[repr(C)]
struct PageHeader {
    lsn: [u8; 8],
    checksum: U16,
    flags: U16,
    lower: U16,
    upper: U16,
    special: U16,
    size_and_version: U16,
    prune_xid: U32,
}

const HEADER_LEN: u64 = 24;
const FLAGS: u16 = 0x7;
/// Pages beyond the first that are looked at; they lie side by side and cost at most three reads.
const MORE_PAGES: u64 = 2;

impl PageHeader {
    fn version(&self) -> u8 {
        self.size_and_version.to_bytes()[0]
    }

    /// Page size; `None` when this is not the header of a page.
    fn page_size(&self) -> Option<u64> {
        let size = u64::from(self.size_and_version.get() & 0xff00);
        let (lower, upper, special) = (
            u64::from(self.lower.get()),
            u64::from(self.upper.get()),
            u64::from(self.special.get()),
        );
        let plausible = (2..=4).contains(&self.version())
            && size.is_power_of_two()
            && (1024..=32_768).contains(&size)
            && self.flags.get() & !FLAGS == 0
            && HEADER_LEN <= lower
            && lower <= upper
            && upper <= special
            && special <= size
            && special.is_multiple_of(8);
        plausible.then_some(size)
    }

    /// A page that the file was extended by and that is not in use yet.
    fn is_new(&self) -> bool {
        self.as_bytes().iter().all(|byte| *byte == 0)
    }
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let header: PageHeader = window.get(0)?;
    let Some(page) = header.page_size() else {
        return Ok(None);
    };
    let size = window.size().get();
    if !size.is_multiple_of(page) {
        return Ok(None);
    }
    for number in 1..=MORE_PAGES {
        let at = number * page;
        if at >= size {
            break;
        }
        let other: PageHeader = window.get(at)?;
        let agrees = other.page_size() == Some(page) && other.version() == header.version();
        if !agrees && !other.is_new() {
            return Ok(None);
        }
    }
    let mut rec = Recorder::new(window, 0);
    rec.text(
        Key::Version,
        format!("page layout {}", header.version()),
        place!(PageHeader.size_and_version),
    );
    rec.bytes(Key::PageSize, page, place!(PageHeader.size_and_version));
    rec.grid(
        GridRole::DatabasePage,
        page,
        0,
        place!(PageHeader.size_and_version),
    );
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn page(volume: Volume, at: usize, size: u16, version: u16) -> Volume {
        volume
            .with(at + 12, 40_u16.to_le_bytes())
            .with(at + 14, 800_u16.to_le_bytes())
            .with(at + 16, size.to_le_bytes())
            .with(at + 18, (size | version).to_le_bytes())
    }

    #[test]
    fn every_legal_page_size_is_found() {
        for size in [1024, 2048, 4096, 8192, 16_384, 32_768_u16] {
            let len = usize::from(size);
            let file = page(page(Volume::new(3 * len), 0, size, 4), len, size, 4);
            let found = file.probe(&PROBER).expect("relation");
            let size = u64::from(size);
            assert_eq!(found.bytes(Key::PageSize), Some(size));
            assert_eq!(found.text(Key::Version).as_deref(), Some("page layout 4"));
            assert_eq!(found.grid(GridRole::DatabasePage), Some((size, 0)));
        }
    }

    #[test]
    fn pages_must_agree() {
        let file = || page(Volume::new(3 * 8192), 0, 8192, 4);
        let evidence = file().probe(&PROBER).expect("relation");
        assert_eq!(evidence.evidence(Key::PageSize), Some((18, vec![4, 32])));
        assert!(page(file(), 8192, 8192, 3).probe(&PROBER).is_none());
        assert!(page(file(), 16_384, 4096, 4).probe(&PROBER).is_none());
        assert!(file().with(8192, b"text").probe(&PROBER).is_none());
    }

    #[test]
    fn a_header_out_of_order_is_not_one() {
        let file = || page(Volume::new(8192), 0, 8192, 4);
        assert!(file().probe(&PROBER).is_some());
        let refused: [(usize, u16); 7] = [
            (10, 8),      // an unknown flag
            (12, 23),     // the line pointers end inside the header
            (12, 900),    // and beyond the tuples
            (14, 8193),   // tuples beyond the page
            (16, 8190),   // special space not aligned
            (18, 0x2005), // a version that does not exist
            (18, 0x3004), // not a power of two
        ];
        for (at, value) in refused {
            let file = file().with(at, value.to_le_bytes());
            assert!(file.probe(&PROBER).is_none(), "byte {at}");
        }
        assert!(
            page(Volume::new(8192 + 512), 0, 8192, 4)
                .probe(&PROBER)
                .is_none()
        );
    }
}
