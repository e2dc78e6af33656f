//! SQL Server data files (`.mdf`, `.ndf`): pages of 8 KiB; page 0 is the file header, page 1 the first map of free space.
//!
//! ```text
//! byte  0  header version, 1 (1)     32  page number (4)
//!       1  page type (1)             36  file number (2)
//! ```
//!
//! A log file begins with a file header as well, but has no pages behind it; so page 1 decides.
//!
//! Source: Microsoft, "Pages and extents architecture guide"; field offsets as shown by `DBCC PAGE`.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const PAGE: u64 = 8192;
const EXTENT_PAGES: u64 = 8;
const FILE_HEADER: u8 = 15;
const FREE_SPACE_MAP: u8 = 11;

pub(crate) static PROBER: Prober = Prober {
    name: "sqlserver",
    class: Class::DatabaseFile,
    min_size: 2 * PAGE,
    magics: &[Magic {
        offset: 0,
        bytes: &[1, FILE_HEADER],
    }],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct PageHeader {
    version: u8,
    kind: u8,
    unused_1: [u8; 30],
    page: U32,
    file: U16,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let header: PageHeader = window.get(0)?;
    let is_header = header.version == 1 && header.kind == FILE_HEADER && header.page.get() == 0;
    if !is_header {
        return Ok(None);
    }
    let map: PageHeader = window.get(PAGE)?;
    let is_map = map.version == 1
        && map.kind == FREE_SPACE_MAP
        && map.page.get() == 1
        && map.file.get() == header.file.get();
    if !is_map {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, 0);
    rec.bytes(Key::PageSize, PAGE, place!(PageHeader.kind));
    rec.grid(GridRole::DatabasePage, PAGE, 0, place!(PageHeader.kind));
    rec.derived(
        Key::DatabaseExtent,
        EXTENT_PAGES * PAGE,
        "an extent is 8 pages of 8 KiB in every version",
    );
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn data_file() -> Volume {
        Volume::new(65_536)
            .with(0, [1, FILE_HEADER])
            .with(36, [1, 0])
            .with(8192, [1, FREE_SPACE_MAP])
            .with(8192 + 32, [1, 0, 0, 0, 1, 0])
    }

    #[test]
    fn a_data_file_has_pages_of_8_kib() {
        let found = data_file().probe(&PROBER).expect("data file");
        assert_eq!(found.bytes(Key::PageSize), Some(8192));
        assert_eq!(found.evidence(Key::PageSize), Some((1, vec![15])));
        assert_eq!(found.bytes(Key::DatabaseExtent), Some(65_536));
        assert_eq!(found.grid(GridRole::DatabasePage), Some((8192, 0)));
    }

    #[test]
    fn a_log_file_and_a_misplaced_page_are_not_data_files() {
        let log = data_file().with(8192, [0xab, 0]);
        assert!(log.probe(&PROBER).is_none());
        assert!(data_file().with(32, [8]).probe(&PROBER).is_none());
        assert!(data_file().with(8192 + 36, [3]).probe(&PROBER).is_none());
    }
}
