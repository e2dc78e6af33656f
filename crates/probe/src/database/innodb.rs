//! InnoDB tablespaces of MySQL and MariaDB: `ibdata1`, `.ibd`, undo tablespaces.
//!
//! ```text
//! byte  0  checksum; key version where flag 4 is set (4)     38  number of the tablespace, again (4)
//!       4  page number (4)                                   46  pages of the tablespace (4)
//!      24  page type (2)                                     54  flags (4)
//!      34  number of the tablespace (4)
//! ```
//!
//! Numbers have their high byte first. There is no magic. Page 0 is of type 8, names its tablespace twice, and either its
//! checksum is right or page 1, found with the page size of the flags, says that it is page 1 of the same tablespace.
//!
//! The flags have one of two forms:
//!
//! ```text
//! bit 4 clear: 0  made since 5.1   1-4  n: compressed to 512 << n bytes   5  long columns apart   6-9  page is 512 << n, 0: 16 KiB
//!              10 directory   11 shared   12 temporary   13 encrypted   14 dictionary inside   16 pages with holes (MariaDB)
//! bit 4 set:   0-3  page is 512 << n   5-7  algorithm by which pages are compressed
//! ```
//!
//! Bit 4 of the first form would be a compressed page of 128 KiB, which does not exist; so MariaDB 10.4 took it for the second, in
//! which a checksum covers the whole page and stands at its end.
//!
//! A page of ROW_FORMAT=COMPRESSED is read and written in its compressed size. Pages with holes are not: each keeps its place.
//!
//! Sources: MySQL source documentation, "InnoDB Tablespace Flag Constants" and `fil0types.h`; MariaDB, `fsp0fsp.h` and
//! `fsp0types.h`; Jeremy Cole, "The basics of InnoDB space file layout".

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window, crc32c};

const SPACE_HEADER: u16 = 8;
const DEFAULT_PAGE: u64 = 16_384;
const FULL_CRC32: u32 = 1 << 4;

pub(crate) static PROBER: Prober = Prober {
    name: "innodb",
    class: Class::DatabaseFile,
    // Four pages of the smallest compressed size.
    min_size: 4096,
    magics: &[Magic {
        offset: 24,
        bytes: &SPACE_HEADER.to_be_bytes(),
    }],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FirstPage {
    checksum: U32,
    page: U32,
    neighbours: [u8; 8],
    lsn: [u8; 8],
    kind: U16,
    flushed: [u8; 8],
    space: U32,
    space_again: U32,
    unused: [u8; 4],
    pages: U32,
    free_limit: [u8; 4],
    flags: U32,
}

/// Over which bytes the checksum of a page goes. It is a CRC-32C since MySQL 5.7 and MariaDB 10.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    /// All, up to the checksum at the end.
    Whole,
    /// What the header says of the page, and what the page holds.
    Parts,
    /// Likewise, up to the end: compressed pages have no trailer.
    Compressed,
}

/// What the flags say of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pages {
    /// As they are in memory.
    logical: u64,
    /// As they are in the file.
    physical: u64,
    sum: Sum,
}

impl Pages {
    /// `None` when no server writes such flags.
    fn of(flags: u32) -> Option<Pages> {
        let (page, compressed, known, sum) = if flags & FULL_CRC32 != 0 {
            (flags & 0xf, 0, 0xff, Sum::Whole)
        } else {
            match flags >> 1 & 0xf {
                0 => (flags >> 6 & 0xf, 0, 0x1_ffff, Sum::Parts),
                block => (flags >> 6 & 0xf, block, 0x1_ffff, Sum::Compressed),
            }
        };
        let logical = match page {
            0 if sum != Sum::Whole => DEFAULT_PAGE,
            3..=7 => 512 << page,
            _ => return None,
        };
        let physical = match compressed {
            0 => logical,
            1..=5 => 512 << compressed,
            _ => return None,
        };
        // A compressed table has its long columns apart, and was made since 5.1.
        let whole = sum != Sum::Compressed || (flags & 0x21 == 0x21 && logical <= DEFAULT_PAGE);
        let exists = flags & !known == 0 && physical <= logical && whole;
        exists.then_some(Pages {
            logical,
            physical,
            sum,
        })
    }

    /// Bytes that the server adds to a tablespace at once: 1 MiB of pages, and 64 of the larger ones.
    fn extent(self) -> u64 {
        let pages = (1 << 20) / self.logical;
        pages.max(64) * self.physical
    }

    /// True when `page` has the checksum that its bytes give. One of an older server is not known here.
    fn is_sealed(self, page: &[u8]) -> bool {
        let end = page.len();
        let part = |from: usize, to: usize| crc32c::of(page.get(from..to).unwrap_or(&[]));
        let (at, sum) = match self.sum {
            Sum::Whole => (end.saturating_sub(4), part(0, end.saturating_sub(4))),
            Sum::Parts => (0, part(4, 26) ^ part(38, end.saturating_sub(8))),
            Sum::Compressed => (0, part(4, 16) ^ part(24, 26) ^ part(34, end)),
        };
        let recorded = page.get(at..).and_then(|rest| rest.first_chunk::<4>());
        recorded.is_some_and(|bytes| u32::from_be_bytes(*bytes) == sum)
    }
}

/// True when page 1 says that it is page 1 of the same tablespace.
fn has_a_second(window: &Window<'_>, first: &FirstPage, page: u64) -> Result<bool, ReadError> {
    if window.size().get() < 2 * page {
        return Ok(false);
    }
    let second: FirstPage = window.get(page)?;
    Ok(second.page.get() == 1 && second.space == first.space)
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let first: FirstPage = window.get(0)?;
    let is_first = first.page.get() == 0
        && first.kind.get() == SPACE_HEADER
        && first.space == first.space_again
        && first.pages.get() > 0;
    let Some(pages) = Pages::of(first.flags.get()).filter(|_| is_first) else {
        return Ok(None);
    };
    let Ok(len) = usize::try_from(pages.physical) else {
        return Ok(None);
    };
    if window.size().get() < pages.physical {
        return Ok(None);
    }
    let mut page = vec![0; len];
    window.fill(0, &mut page)?;
    let sealed = pages.is_sealed(&page);
    if !sealed && !has_a_second(window, &first, pages.physical)? {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, 0);
    let flags = place!(FirstPage.flags);
    rec.bytes(Key::PageSize, pages.physical, flags);
    rec.grid(GridRole::DatabasePage, pages.physical, 0, flags);
    if pages.physical < pages.logical {
        rec.text(
            Key::Compression,
            format!("from pages of {}", Bytes::new(pages.logical)),
            flags,
        );
    }
    rec.derived(
        Key::DatabaseExtent,
        pages.extent(),
        "an extent is 1 MiB of pages, and 64 pages where they are larger than 16 KiB",
    );
    // Elsewhere it may be one of an older server.
    if pages.sum == Sum::Whole && !sealed {
        let detail = "the checksum at the end of page 0 is wrong: it is read all the same, because page 1 follows where it says";
        rec.odd(AnomalyKind::Damaged, detail, place!(FirstPage.flags));
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests;
