//! Hosted sparse extents, "KDMV": monolithicSparse, twoGbMaxExtentSparse, streamOptimized.
//!
//! ```text
//! 0x000  "KDMV"                           0x004  u32 version 1 to 3
//! 0x008  u32 flags: 1 line ends test, 2 second directory, 4 zeroed grains, 0x1_0000 compressed, 0x2_0000 markers
//! 0x00c  u64 capacity                     0x014  u64 grain size               (these and all below in sectors)
//! 0x01c  u64 descriptor                   0x024  u64 its length
//! 0x02c  u32 grains per table, 512        0x030  u64 second grain directory
//! 0x038  u64 grain directory, -1: at the end of the file, by a copy of this header there
//! 0x040  u64 overhead: what comes before the first grain
//! 0x048  u8  not closed cleanly           0x049  0a 20 0d 0a: shows a transfer as text
//! 0x04d  u16 compression: 0 none, 1 deflate
//! end - 1,536  marker of the footer       end - 1,024  the copy      end - 512  end of the stream
//! ```

use std::sync::Arc;

use straddle_geometry::{Bytes, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::grains::{GrainTable, Meaning, SECTOR};
use super::{HOSTED, disk, moved, survey};
use crate::container::table::TableFile;
use crate::container::{Container, Content, Disk, Opening};
use crate::record::{Place, Recorder, place};

const LINE_ENDS: u32 = 1;
const SECOND_DIRECTORY: u32 = 2;
const ZEROED_GRAINS: u32 = 4;
const COMPRESSED: u32 = 0x1_0000;
const MARKERS: u32 = 0x2_0000;
/// The directory lies at the end of the file.
const AT_END: u64 = u64::MAX;
/// All writers use 512; more would only make a hostile table cost more.
const MAX_PER_TABLE: u32 = 512;
/// 1 GiB; all writers use 128 sectors.
const LARGEST_GRAIN: u64 = 1 << 21;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U32,
    flags: U32,
    capacity: U64,
    grain: U64,
    descriptor: U64,
    descriptor_len: U64,
    per_table: U32,
    second_directory: U64,
    directory: U64,
    overhead: U64,
    unclean: u8,
    line_ends: [u8; 4],
    compression: U16,
}

pub(super) fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let first: Header = window.get(0)?;
    let mut record = Recorder::new(window, 0);
    // What the footer says counts: the header of a stream was written before its disk was known.
    let (base, header): (u64, Header) = if first.directory.get() == AT_END {
        let size = window.size().get() / SECTOR * SECTOR;
        let at = size.checked_sub(2 * SECTOR).filter(|at| *at >= SECTOR);
        match at {
            Some(at) if window.matches(at, HOSTED)? => (at, window.get(at)?),
            _ => {
                let detail = "the grain directory is at the end of the file by this field, but no footer (KDMV) is \
                              1,024 bytes before the end; the file was probably cut short: fetch it again";
                return refused(record, detail, place!(Header.directory));
            }
        }
    } else {
        (0, window.get(0)?)
    };
    let at = |field: Place| moved(field, base);
    let flags = header.flags.get();
    if !(1..=3).contains(&header.version.get()) {
        let detail = format!("version {}; expected 1 to 3", header.version.get());
        return refused(record, detail, at(place!(Header.version)));
    }
    let ends = header.line_ends;
    if flags & LINE_ENDS != 0 && ends != *b"\n \r\n" {
        let detail = "the bytes that test line ends are not 0a 20 0d 0a: the file was transferred as text, which \
                      changes bytes everywhere; fetch it again as binary";
        return refused(record, detail, at(place!(Header.line_ends)));
    }
    if header.unclean != 0 {
        let detail = "marked as not closed cleanly: its tables may lack the last writes. VMware repairs it when it \
                      opens the disk, as does `vmware-vdiskmanager -R`";
        record.odd(AnomalyKind::Damaged, detail, at(place!(Header.unclean)));
    }
    let mut text = None;
    // A footer may leave it to the header.
    let described = if header.descriptor.get() == 0 {
        (0, &first)
    } else {
        (base, &header)
    };
    let text_at = described.1.descriptor.get().saturating_mul(SECTOR);
    if text_at != 0 {
        text = disk::embedded(
            window,
            &mut record,
            text_at,
            described.1.descriptor_len.get().saturating_mul(SECTOR),
            moved(place!(Header.descriptor), described.0),
        )?;
    }
    if header.capacity.get() == 0
        && let Some(text) = &text
        && !text.lines.is_empty()
    {
        // Nothing of the disk is here but its description.
        return Ok(Some(disk::parts(record, text, text_at)));
    }
    if text
        .as_ref()
        .and_then(|text| text.get("createtype"))
        .is_none()
    {
        record.text(Key::Subformat, "sparse extent", place!(Header.magic));
        record.text(
            Key::Version,
            header.version.get().to_string(),
            at(place!(Header.version)),
        );
    }
    let compressed = flags & COMPRESSED != 0;
    match (compressed, header.compression.get()) {
        (false, _) => {}
        (true, 1) => record.text(Key::Compression, "deflate", at(place!(Header.compression))),
        (true, other) => {
            let detail = format!("grains are compressed by algorithm {other}; expected 1, deflate");
            return refused(record, detail, at(place!(Header.compression)));
        }
    }
    let grain = header.grain.get();
    let unit = grain
        .checked_mul(SECTOR)
        .filter(|_| grain <= LARGEST_GRAIN)
        .and_then(Unit::new);
    let Some(unit) = unit else {
        let detail = format!(
            "a grain of {} sectors; expected a power of two, usually 128",
            Bytes::new(grain).grouped()
        );
        return refused(record, detail, at(place!(Header.grain)));
    };
    if !grain.is_power_of_two() {
        let detail = format!("a grain of {grain} sectors; expected a power of two, usually 128");
        record.odd(AnomalyKind::Damaged, detail, at(place!(Header.grain)));
    }
    let size = Bytes::new(SECTOR).checked_mul(header.capacity.get());
    let Some(size) = size else {
        let detail = format!(
            "a capacity of {} sectors, beyond 2⁶⁴ bytes",
            Bytes::new(header.capacity.get()).grouped()
        );
        return refused(record, detail, at(place!(Header.capacity)));
    };
    let entries = header.per_table.get();
    let Some(per_table) = Unit::new(u64::from(entries)).filter(|_| entries <= MAX_PER_TABLE) else {
        let detail = format!("{entries} grains per table; expected 512");
        return refused(record, detail, at(place!(Header.per_table)));
    };
    record.grid(
        GridRole::ContainerBlock,
        unit.get(),
        0,
        at(place!(Header.grain)),
    );
    if let Some(overhead) = header.overhead.get().checked_mul(SECTOR) {
        record.bytes_if_set(Key::DataOffset, overhead, at(place!(Header.overhead)));
    }
    // Not more than 2⁶⁴ bytes of disk, so no overflow: 512 bytes of disk for each entry of 4 bytes.
    let grains = size.get().div_ceil(unit.get());
    let count = grains.div_ceil(per_table.get());
    let second = (flags & SECOND_DIRECTORY != 0).then(|| survey::Directory {
        sector: header.second_directory.get(),
        field: at(place!(Header.second_directory)),
    });
    let layout = survey::Layout {
        count,
        per_table: u64::from(entries),
        first: survey::Directory {
            sector: header.directory.get(),
            field: at(place!(Header.directory)),
        },
        second,
        zeroes: flags & ZEROED_GRAINS != 0,
    };
    let Some(start) = survey::directory(window, &mut record, &layout)? else {
        return Ok(Some(Container::unusable(record.finish())));
    };
    let mut references = Vec::new();
    let mut identities = Vec::new();
    if let Some(text) = &text {
        references.extend(disk::parent(&record, text, text_at));
        identities = disk::identities(text);
    }
    let table = GrainTable {
        directory: TableFile::new(&opening.file),
        tables: TableFile::new(&opening.file),
        markers: TableFile::new(&opening.file),
        start,
        count,
        per_table,
        grain: unit,
        size,
        parent: (!references.is_empty()).then_some(1),
        meaning: Meaning {
            zeroes: flags & ZEROED_GRAINS != 0,
            packed: compressed,
            markers: flags & MARKERS != 0,
        },
    };
    let disk = Disk {
        size: record.fact(size, at(place!(Header.capacity))),
        content: Content::Blocks(Arc::new(table)),
        references,
        identities,
    };
    Ok(Some(Container {
        detected: record.finish(),
        disk: Some(disk),
    }))
}

fn refused(
    mut record: Recorder<'_>,
    detail: impl Into<String>,
    place: Place,
) -> Result<Option<Container>, ReadError> {
    record.odd(AnomalyKind::Damaged, detail, place);
    Ok(Some(Container::unusable(record.finish())))
}
