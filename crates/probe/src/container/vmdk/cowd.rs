//! Sparse extents of ESX, "COWD": vmfsSparse, the delta disks of snapshots.
//!
//! ```text
//! 0x000  "COWD"                u32 version 1       u32 flags 3        u32 capacity
//! 0x010  u32 grain size        u32 directory       u32 its entries    u32 first free sector   (all in sectors)
//! 0x670  u32 not closed cleanly
//! ```
//!
//! Tables have 4,096 entries. The name of the parent in the header is not used: the descriptor has it.

use std::sync::Arc;

use straddle_geometry::{Bytes, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::grains::{GrainTable, Meaning, SECTOR};
use super::survey;
use crate::container::table::TableFile;
use crate::container::{Container, Content, Disk, Opening};
use crate::record::{Place, Recorder, place};

const PER_TABLE: u64 = 4096;
/// Where the header says that it was not closed cleanly.
const UNCLEAN: usize = 0x670;
/// 1 GiB; ESX uses 1 sector.
const LARGEST_GRAIN: u32 = 1 << 21;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U32,
    flags: U32,
    capacity: U32,
    grain: U32,
    directory: U32,
    directory_len: U32,
    free: U32,
}

pub(super) fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let header: Header = window.get(0)?;
    let mut record = Recorder::new(window, 0);
    record.text(Key::Subformat, "vmfsSparse", place!(Header.magic));
    record.text(
        Key::Version,
        header.version.get().to_string(),
        place!(Header.version),
    );
    if header.version.get() != 1 {
        let detail = format!("version {}; expected 1", header.version.get());
        record.odd(AnomalyKind::Damaged, detail, place!(Header.version));
        return Ok(Some(Container::unusable(record.finish())));
    }
    // An extent that holds nothing yet may end before this field.
    let unclean = Place::new(UNCLEAN, 4);
    if window.size() > Bytes::new(2048) && !window.matches(UNCLEAN as u64, &[0; 4])? {
        let detail = "marked as not closed cleanly: its tables may lack the last writes";
        record.odd(AnomalyKind::Damaged, detail, unclean);
    }
    let grain = header.grain.get();
    let unit = Unit::new(u64::from(grain) * SECTOR).filter(|_| grain <= LARGEST_GRAIN);
    let (Some(unit), Some(per_table)) = (unit, Unit::new(PER_TABLE)) else {
        let detail = format!("a grain of {grain} sectors; expected a power of two, usually 1");
        record.odd(AnomalyKind::Damaged, detail, place!(Header.grain));
        return Ok(Some(Container::unusable(record.finish())));
    };
    if !grain.is_power_of_two() {
        let detail = format!("a grain of {grain} sectors; expected a power of two, usually 1");
        record.odd(AnomalyKind::Damaged, detail, place!(Header.grain));
    }
    record.grid(
        GridRole::ContainerBlock,
        unit.get(),
        0,
        place!(Header.grain),
    );
    let size = Bytes::new(u64::from(header.capacity.get()) * SECTOR);
    let needed = size.get().div_ceil(unit.get()).div_ceil(PER_TABLE);
    let count = u64::from(header.directory_len.get());
    if count < needed {
        let detail = format!(
            "a grain directory of {} entries for a disk of {size}: {} would be needed",
            Bytes::new(count).grouped(),
            Bytes::new(needed).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.directory_len));
    }
    let layout = survey::Layout {
        count: count.min(needed),
        per_table: PER_TABLE,
        first: survey::Directory {
            sector: u64::from(header.directory.get()),
            field: place!(Header.directory),
        },
        second: None,
        zeroes: false,
    };
    let Some(start) = survey::directory(window, &mut record, &layout)? else {
        return Ok(Some(Container::unusable(record.finish())));
    };
    let table = GrainTable {
        directory: TableFile::new(&opening.file),
        tables: TableFile::new(&opening.file),
        markers: TableFile::new(&opening.file),
        start,
        count: count.min(needed),
        per_table,
        grain: unit,
        size,
        // The descriptor knows the parent: what is absent here is its affair.
        parent: None,
        meaning: Meaning {
            zeroes: false,
            packed: false,
            markers: false,
        },
    };
    let disk = Disk {
        size: record.fact(size, place!(Header.capacity)),
        content: Content::Blocks(Arc::new(table)),
        references: Vec::new(),
        identities: Vec::new(),
    };
    Ok(Some(Container {
        detected: record.finish(),
        disk: Some(disk),
    }))
}
