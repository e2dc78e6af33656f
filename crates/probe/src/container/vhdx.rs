//! VHDX, the format of Hyper-V since 2012.
//!
//! ```text
//! 0x00000  "vhdxfile", name of the creator in UTF-16LE
//! 0x10000  header      0x20000  header again; the valid one with the greater sequence number counts
//! 0x30000  regions     0x40000  regions again: where table and metadata lie
//! from 1 MiB on, at multiples of 1 MiB: log, metadata, table, blocks
//!
//! header, 4 KiB, little-endian
//! 0x00  "head"                0x04  u32 CRC-32C       0x08  u64 sequence number
//! 0x10  GUID of this writing  0x20  GUID of this content: a child's parent_linkage
//! 0x30  GUID of the log, zeroes when it is empty
//! 0x40  u16 log version       0x42  u16 version 1
//! 0x44  u32 log length        0x48  u64 log offset
//! ```
//!
//! Payload blocks lie at multiples of 1 MiB and are at least as large, so they keep every grid that the host's filesystem
//! and partition keep.
//!
//! A log that is not empty must be replayed before anything else is read: it holds new contents of table, metadata and
//! bitmaps, never of payload. Here that happens in memory; the file stays as it is.
//!
//! Sources: Microsoft, \[MS-VHDX\]; QEMU `block/vhdx.c` for state 5 of version 0.95 (facts only).

mod header;
mod log;
mod metadata;
mod regions;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use straddle_geometry::Bytes;
use straddle_io::{ReadAt, ReadError, Reader};
use straddle_stack::{AnomalyKind, Key};
use zerocopy::IntoBytes;

use header::Header;

use super::names::utf16_le;
use super::{Container, Content, Disk, Format, Opening};
use crate::crc32c;
use crate::record::{Place, Recorder, guid, place};
use crate::{Detected, Magic, Window};

pub(crate) static FORMAT: Format = Format {
    name: "vhdx",
    reads: "fixed, dynamic, differencing with its sector bitmaps; sectors of 512 and 4,096 bytes; a pending log is replayed in memory",
    refuses: "logs that cannot be replayed; unknown required regions and metadata",
    magics: &[Magic {
        offset: 0,
        bytes: b"vhdxfile",
    }],
    tail: &[],
    open,
};

/// The header that counts, and where it stands.
struct Current {
    at: u64,
    header: Header,
}

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let mut record = Recorder::new(window, 0);
    let size = window.size();
    let mut creator = [0; 512];
    if size.get() >= 520 {
        window.fill(8, &mut creator)?;
        let name = utf16_le(&creator);
        record.name(Key::CreatedBy, name.as_bytes(), Place::new(8, 16));
    }
    let Some(current) = header(window, &mut record)? else {
        return Ok(Some(Container::unusable(record.finish())));
    };
    let header = &current.header;
    let mut record = record.rebased(current.at);
    let version = header.version.get();
    record.text(Key::Version, version.to_string(), place!(Header.version));
    if version != 1 {
        let detail =
            format!("version {version} of the format, of which nothing is known; expected 1");
        record.odd(AnomalyKind::Unreadable, detail, place!(Header.version));
        return Ok(Some(Container::unusable(record.finish())));
    }
    if header.log == [0; 16] {
        return follow(window, &opening.file, size, record.finish(), &current).map(Some);
    }
    match log::replayed(&opening.file, header) {
        Ok((file, done)) => {
            record.text(Key::PendingLog, done, place!(Header.log));
            let file: Arc<dyn ReadAt> = Arc::new(file);
            let reader = Reader::new(&*file);
            let window = Window::whole(&reader, window.sector());
            follow(&window, &file, size, record.finish(), &current).map(Some)
        }
        Err(reason) => {
            let detail = format!(
                "the log holds changes that were not carried out, and {reason}; attach the disk once with the program that \
                 wrote it, or run `qemu-img check -r all` on a copy"
            );
            record.odd(AnomalyKind::Unreadable, detail, place!(Header.log));
            Ok(Some(Container::unusable(record.finish())))
        }
    }
}

/// The valid header with the greater sequence number.
fn header(window: &Window<'_>, record: &mut Recorder<'_>) -> Result<Option<Current>, ReadError> {
    let mut valid = Vec::new();
    let mut wrong = Vec::new();
    for at in [0x1_0000, 0x2_0000] {
        if window.size().get() < at + size_of::<Header>() as u64 {
            wrong.push((at, "is beyond the end of the file".to_owned()));
            continue;
        }
        let header: Header = window.get(at)?;
        let sum = crc32c::sealed(header.as_bytes(), core::mem::offset_of!(Header, checksum));
        if header.signature != *b"head" {
            wrong.push((at, "lacks its signature \"head\"".to_owned()));
        } else if sum != header.checksum.get() {
            let recorded = header.checksum.get();
            let what = format!("records the checksum {recorded:#010x}, its bytes give {sum:#010x}");
            wrong.push((at, what));
        } else {
            valid.push(Current { at, header });
        }
    }
    let grouped = |at: u64| Bytes::new(at).grouped();
    let kind = if valid.is_empty() {
        AnomalyKind::Unreadable
    } else {
        AnomalyKind::CopiesDiffer
    };
    let used = match valid.first() {
        Some(valid) => format!("; the one at byte {} is used", grouped(valid.at)),
        None => String::new(),
    };
    for (at, what) in wrong {
        let detail = format!("the header at byte {} {what}{used}", grouped(at));
        let place = Place::new(usize::try_from(at).unwrap_or(0), 8);
        record.odd(kind, detail, place);
    }
    if let [one, two] = valid.as_slice()
        && one.header.sequence == two.header.sequence
        && one.header.as_bytes() != two.header.as_bytes()
    {
        let detail = format!(
            "two headers with the same sequence number {} differ; the first is used",
            one.header.sequence
        );
        record.odd(AnomalyKind::CopiesDiffer, detail, Place::new(0x1_0008, 8));
    }
    // Of equal ones the first.
    valid.reverse();
    Ok(valid
        .into_iter()
        .max_by_key(|current| current.header.sequence.get()))
}

/// Reads what comes behind the headers, in a file whose log is empty or was replayed; `size` is that of the file on disk.
fn follow(
    window: &Window<'_>,
    file: &Arc<dyn ReadAt>,
    size: Bytes,
    found: Detected,
    current: &Current,
) -> Result<Container, ReadError> {
    let mut record = Recorder::resumed(window, current.at, found);
    let header = &current.header;
    let Some(regions) = regions::read(window, &mut record, header)? else {
        return Ok(Container::unusable(record.finish()));
    };
    let Some(metadata) = metadata::read(window, &mut record, regions.metadata)? else {
        return Ok(Container::unusable(record.finish()));
    };
    let shape = table::Shape::new(regions.table, &metadata);
    shape.check(window, &mut record, &regions)?;
    let disk = Disk {
        size: metadata.size,
        content: Content::Blocks(shape.table(file, size)),
        references: metadata.parent.into_iter().collect(),
        identities: vec![guid(header.data_write)],
    };
    Ok(Container {
        detected: record.finish(),
        disk: Some(disk),
    })
}
