//! VHD, the format of Virtual PC, Hyper-V and Azure.
//!
//! ```text
//! fixed          data | footer
//! dynamic        copy of the footer | header | table | blocks … | footer
//! differencing   the same, with locators of the parent behind the header
//!
//! footer, 512 bytes (511 before 2004), big-endian
//! 0x00  "conectix"            0x08  u32 features: 1 temporary, 2 reserved, always set
//! 0x0c  u32 version 1.0       0x10  u64 header offset, all ones when fixed
//! 0x18  u32 seconds since 2000            0x1c  creator: "vpc ", "win ", "qem2" …
//! 0x28  u64 original size     0x30  u64 current size
//! 0x38  u16 cylinders, u8 heads, u8 sectors
//! 0x3c  u32 type: 2 fixed, 3 dynamic, 4 differencing
//! 0x40  u32 checksum          0x44  UUID             0x54  u8 saved state
//!
//! header, 1,024 bytes
//! 0x000  "cxsparse"           0x010  u64 table offset
//! 0x01c  u32 table entries    0x020  u32 block size   0x024  u32 checksum
//! 0x028  UUID of the parent   0x038  u32 seconds since 2000: the parent's last change
//! 0x040  name of the parent, UTF-16BE, 512 bytes      0x240  8 locators of 24 bytes
//! table: u32 per block: its sector in the file; 0xffffffff free
//! block: bitmap of its sectors, filled up to 512 bytes, then the data
//! ```
//!
//! The data of a block starts behind its bitmap, so blocks of 2 MiB lie 2 MiB + 512 bytes apart: each is 512 bytes
//! further off any larger grid than the one before.
//!
//! In a differencing disk a set bit means that the sector is here and not in the parent. In a dynamic disk the bitmap
//! says nothing: a sector of an allocated block is in the file whether its bit is set or not; the specification lets a
//! clear bit mean zeroes, and nobody writes anything else there, so readers such as QEMU's do not look at it.
//!
//! Sources: Microsoft, Virtual Hard Disk Image Format Specification 1.0 (2006); J. Metz, the libvhdi documentation; QEMU
//! `block/vpc.c` for the creators (facts only).

mod parent;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use straddle_geometry::{BlockTable, Bytes, Extent, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::head::{Head, LOOKED_AT, Lying};
use super::sectors::{Bitmaps, FirstBit};
use super::table::{Flat, TableFile};
use super::{Container, Content, Disk, Format, Opening};
use crate::record::{Place, Recorder, place, uuid};
use crate::{Magic, Window};
use table::{Differencing, SectorNumbers};

const COOKIE: &[u8; 8] = b"conectix";

pub(crate) static FORMAT: Format = Format {
    name: "vhd",
    reads: "fixed, dynamic, differencing with its sector bitmaps; footers of 512 and 511 bytes",
    refuses: "parents that only a Windows drive letter names and that lie elsewhere",
    magics: &[Magic {
        offset: 0,
        bytes: COOKIE,
    }],
    tail: &[
        Magic {
            offset: FOOTER,
            bytes: COOKIE,
        },
        Magic {
            offset: SHORT_FOOTER,
            bytes: COOKIE,
        },
    ],
    open,
};

const FOOTER: u64 = 512;
/// Versions before Virtual PC 2004 wrote a byte less.
const SHORT_FOOTER: u64 = 511;
const SECTOR: u64 = 512;
const FREE: u32 = 0xffff_ffff;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Footer {
    cookie: [u8; 8],
    features: U32,
    version: U32,
    header_offset: U64,
    created: U32,
    creator: [u8; 4],
    creator_version: U32,
    creator_host: [u8; 4],
    original_size: U64,
    current_size: U64,
    cylinders: U16,
    heads: u8,
    sectors: u8,
    kind: U32,
    checksum: U32,
    uuid: [u8; 16],
    saved_state: u8,
    reserved: [u8; 427],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    cookie: [u8; 8],
    next: U64,
    table_offset: U64,
    version: U32,
    entries: U32,
    block_size: U32,
    checksum: U32,
    parent_uuid: [u8; 16],
    parent_changed: U32,
    reserved: U32,
    parent_name: [u8; 512],
    locators: [parent::Locator; 8],
    reserved_end: [u8; 256],
}

/// The complement of the sum of all bytes, those of the checksum itself, at `at`, left out.
fn checksum(bytes: &[u8], at: usize) -> u32 {
    let own = bytes.get(at..at + 4).unwrap_or(&[]);
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
    !(sum(bytes) - sum(own))
}

/// A footer and where it stands.
struct Found {
    at: u64,
    footer: Footer,
    good: bool,
}

impl Found {
    fn read(window: &Window<'_>, at: u64) -> Result<Option<Found>, ReadError> {
        if !window.matches(at, COOKIE)? {
            return Ok(None);
        }
        let mut footer = Footer::new_zeroed();
        let left = usize::try_from(window.size().get().saturating_sub(at)).unwrap_or(512);
        let Some(bytes) = footer.as_mut_bytes().get_mut(..left.min(512)) else {
            return Ok(None);
        };
        if bytes.len() < 511 {
            return Ok(None);
        }
        window.fill(at, bytes)?;
        let sum = checksum(footer.as_bytes(), core::mem::offset_of!(Footer, checksum));
        Ok(Some(Found {
            at,
            good: sum == footer.checksum.get(),
            footer,
        }))
    }
}

/// The footer that counts: the one at the end, or when that is gone or damaged, its copy.
fn footer(window: &Window<'_>) -> Result<Option<(Found, Option<Found>)>, ReadError> {
    let size = window.size().get();
    let mut end = None;
    for len in [FOOTER, SHORT_FOOTER] {
        if let Some(at) = size.checked_sub(len).filter(|at| *at > 0)
            && end.is_none()
        {
            end = Found::read(window, at)?;
        }
    }
    let copy = Found::read(window, 0)?;
    Ok(match (end, copy) {
        (Some(end), Some(copy)) if copy.good && !end.good => Some((copy, Some(end))),
        (Some(end), copy) => Some((end, copy)),
        (None, Some(copy)) => Some((copy, None)),
        (None, None) => None,
    })
}

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let Some((found, other)) = footer(window)? else {
        return Ok(None);
    };
    let footer = &found.footer;
    let mut record = Recorder::new(window, found.at);
    describe(&mut record, &found);
    if footer.version.get() >> 16 != 1 {
        let version = footer.version.get();
        let detail = format!(
            "version {}.{} of the format, of which nothing is known; expected 1.0",
            version >> 16,
            version & 0xffff
        );
        record.odd(AnomalyKind::Unreadable, detail, place!(Footer.version));
        return Ok(Some(Container::unusable(record.finish())));
    }
    match footer.kind.get() {
        2 => Ok(Some(fixed(record, &found))),
        kind @ (3 | 4) => {
            copies(&mut record, &found, other.as_ref(), window);
            sparse(opening, record, &found, kind == 4).map(Some)
        }
        kind => {
            let detail =
                format!("disk type {kind}; expected 2 (fixed), 3 (dynamic) or 4 (differencing)");
            record.odd(AnomalyKind::Unreadable, detail, place!(Footer.kind));
            Ok(Some(Container::unusable(record.finish())))
        }
    }
}

/// What the footer says of all kinds of disk.
fn describe(record: &mut Recorder<'_>, found: &Found) {
    let footer = &found.footer;
    let version = footer.version.get();
    let text = format!("{}.{}", version >> 16, version & 0xffff);
    record.text(Key::Version, text, place!(Footer.version));
    record.name(Key::CreatedBy, &footer.creator, place!(Footer.creator));
    record.bytes(Key::FooterOffset, found.at, place!(Footer.cookie));
    let original = footer.original_size.get();
    record.bytes(Key::OriginalSize, original, place!(Footer.original_size));
    // At most 2¹⁶ × 2⁸ × 2⁸ × 2⁹.
    let sectors =
        u64::from(footer.cylinders.get()) * u64::from(footer.heads) * u64::from(footer.sectors);
    let geometry = core::mem::offset_of!(Footer, cylinders);
    record.bytes(Key::GeometrySize, sectors * SECTOR, Place::new(geometry, 4));
    record.text(Key::DiskId, uuid(footer.uuid), place!(Footer.uuid));
    if footer.saved_state != 0 {
        record.flag(Key::SavedState, true, place!(Footer.saved_state));
    }
    if !found.good {
        let sum = checksum(footer.as_bytes(), core::mem::offset_of!(Footer, checksum));
        let detail = format!(
            "the footer's checksum is {:#010x}, its bytes give {sum:#010x}",
            footer.checksum.get()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Footer.checksum));
    }
    let features = footer.features.get();
    if features & !1 != 2 {
        let detail = format!("features {features:#010x}; expected 2, or 3 for a temporary disk");
        record.odd(AnomalyKind::Damaged, detail, place!(Footer.features));
    }
}

/// Compares the footer with its copy; a fixed disk has none.
fn copies(record: &mut Recorder<'_>, found: &Found, other: Option<&Found>, window: &Window<'_>) {
    let cookie = place!(Footer.cookie);
    let name = |at: u64| {
        if at == 0 {
            "its copy at byte 0"
        } else {
            "the footer at the end"
        }
    };
    let Some(other) = other else {
        let missing = if found.at == 0 {
            window.size().get()
        } else {
            0
        };
        let detail = format!("{} is missing; {} is used", name(missing), name(found.at));
        return record.odd(AnomalyKind::CopiesDiffer, detail, cookie);
    };
    if !other.good {
        let detail = format!("{} is damaged; {} is used", name(other.at), name(found.at));
        return record.odd(AnomalyKind::CopiesDiffer, detail, cookie);
    }
    let (a, b) = (found.footer.as_bytes(), other.footer.as_bytes());
    // The last byte is missing in the short footer.
    if let Some(at) = (0..511).find(|at| a.get(*at) != b.get(*at)) {
        let detail = format!(
            "the footer and its copy at byte 0 differ from byte {at} on; {} is used",
            name(found.at)
        );
        record.odd(AnomalyKind::CopiesDiffer, detail, Place::new(at, 1));
    }
}

fn fixed(mut record: Recorder<'_>, found: &Found) -> Container {
    let here = place!(Footer.current_size);
    record.text(Key::Subformat, "fixed", place!(Footer.kind));
    if found.at == 0 {
        let detail = "the only footer stands at byte 0, but a fixed disk has one at its end only: the file was cut short, \
                      or something else was written over it";
        record.odd(AnomalyKind::Unreadable, detail, place!(Footer.cookie));
        return Container::unusable(record.finish());
    }
    let recorded = found.footer.current_size.get();
    let available = found.at;
    if recorded != available {
        let detail = format!(
            "the footer records a disk of {} bytes; {} bytes lie before it",
            Bytes::new(recorded).grouped(),
            Bytes::new(available).grouped()
        );
        record.odd(AnomalyKind::SizeDiffers, detail, here);
    }
    let size = Bytes::new(recorded.min(available));
    record.bytes(Key::DataOffset, 0, place!(Footer.header_offset));
    let content = record.fact(Extent::whole(size), place!(Footer.header_offset));
    let disk = Disk {
        size: record.fact(size, here),
        content: Content::Linear(content),
        references: Vec::new(),
        identities: vec![uuid(found.footer.uuid)],
    };
    Container {
        detected: record.finish(),
        disk: Some(disk),
    }
}

fn sparse(
    opening: &Opening<'_>,
    mut record: Recorder<'_>,
    found: &Found,
    differencing: bool,
) -> Result<Container, ReadError> {
    let window = &opening.window;
    let footer = &found.footer;
    let subformat = if differencing {
        "differencing"
    } else {
        "dynamic"
    };
    record.text(Key::Subformat, subformat, place!(Footer.kind));
    let at = footer.header_offset.get();
    let inside = at
        .checked_add(size_of::<Header>() as u64)
        .is_some_and(|end| end <= window.size().get());
    if !inside || !window.matches(at, b"cxsparse")? {
        let detail = format!(
            "no header with the text \"cxsparse\" at byte {}, where the footer says it is",
            Bytes::new(at).grouped()
        );
        record.odd(
            AnomalyKind::Unreadable,
            detail,
            place!(Footer.header_offset),
        );
        return Ok(Container::unusable(record.finish()));
    }
    let header: Header = window.get(at)?;
    let id = uuid(footer.uuid);
    let size = record.fact(
        Bytes::new(footer.current_size.get()),
        place!(Footer.current_size),
    );
    let mut record = record.rebased(at);
    let sum = checksum(header.as_bytes(), core::mem::offset_of!(Header, checksum));
    if sum != header.checksum.get() {
        let detail = format!(
            "the header's checksum is {:#010x}, its bytes give {sum:#010x}",
            header.checksum.get()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.checksum));
    }
    if header.version.get() >> 16 != 1 {
        let detail = format!(
            "header version {:#010x}; expected 0x00010000",
            header.version.get()
        );
        record.odd(AnomalyKind::Unreadable, detail, place!(Header.version));
        return Ok(Container::unusable(record.finish()));
    }
    let bytes = u64::from(header.block_size.get());
    let Some(block) = Unit::new(bytes).filter(|_| bytes.is_multiple_of(SECTOR)) else {
        let detail =
            format!("block size {bytes}; expected a power of two from 512 on, usually 2 MiB");
        record.odd(AnomalyKind::Unreadable, detail, place!(Header.block_size));
        return Ok(Container::unusable(record.finish()));
    };
    if !bytes.is_power_of_two() {
        let detail = format!(
            "block size {}; expected a power of two",
            Bytes::new(bytes).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.block_size));
    }
    record.grid(
        GridRole::ContainerBlock,
        bytes,
        0,
        place!(Header.block_size),
    );
    let bitmap = bitmap_len(bytes);
    record.derived(
        Key::BlockStride,
        bytes + bitmap,
        format!("block of {bytes} + bitmap of {bitmap} bytes: one bit for each sector, rounded up to 512"),
    );
    let shape = Shape {
        start: header.table_offset.get(),
        entries: u64::from(header.entries.get()),
        block,
        bitmap,
        size: size.value,
    };
    shape.check(window, &mut record, found.at)?;
    let references = if differencing {
        vec![parent::reference(window, &mut record, &header)?]
    } else {
        Vec::new()
    };
    let disk = Disk {
        size,
        content: Content::Blocks(shape.table(opening, differencing)),
        references,
        identities: vec![id],
    };
    Ok(Container {
        detected: record.finish(),
        disk: Some(disk),
    })
}

/// Bytes of the bitmap in front of a block of `block` bytes.
const fn bitmap_len(block: u64) -> u64 {
    (block / SECTOR).div_ceil(8).next_multiple_of(SECTOR)
}

/// The table of a disk in blocks.
struct Shape {
    start: u64,
    entries: u64,
    block: Unit,
    bitmap: u64,
    size: Bytes,
}

impl Shape {
    /// Looks at the table's place and at its beginning.
    fn check(
        &self,
        window: &Window<'_>,
        record: &mut Recorder<'_>,
        footer: u64,
    ) -> Result<(), ReadError> {
        let grouped = |n: u64| Bytes::new(n).grouped();
        let file = window.size().get();
        let needed = self.size.get().div_ceil(self.block.get());
        if needed > self.entries {
            let detail = format!(
                "a table of {} entries for a disk of {} blocks",
                grouped(self.entries),
                grouped(needed)
            );
            record.odd(AnomalyKind::Damaged, detail, place!(Header.entries));
        }
        let used = needed.min(self.entries);
        let end = self.start.saturating_add(used.saturating_mul(4));
        if end > file {
            let detail = format!(
                "the table of {} entries lies at bytes {} to {}, the file ends at {}",
                grouped(used),
                grouped(self.start),
                grouped(end),
                grouped(file)
            );
            record.odd(AnomalyKind::Damaged, detail, place!(Header.table_offset));
        }
        let own = record.base();
        let over = |start: u64, len: u64| self.start < start.saturating_add(len) && start < end;
        let header = size_of::<Header>() as u64;
        let struck = [
            ("the header", over(own, header)),
            ("the footer", footer != 0 && over(footer, FOOTER)),
            ("the copy of the footer", over(0, FOOTER)),
        ];
        for (what, _) in struck.iter().filter(|(_, hit)| *hit) {
            let detail = format!("the table at byte {} lies over {what}", grouped(self.start));
            record.odd(AnomalyKind::Damaged, detail, place!(Header.table_offset));
        }
        let head = used.saturating_mul(4).min(LOOKED_AT);
        let readable = file.saturating_sub(self.start).min(head) / 4 * 4;
        let mut raw = vec![0; usize::try_from(readable).unwrap_or(0)];
        window.fill(self.start.min(file), &mut raw)?;
        let blocks = raw.as_chunks::<4>().0.iter().enumerate();
        let blocks = blocks.filter_map(|(index, raw)| match u32::from_be_bytes(*raw) {
            FREE => None,
            sector => Some(Lying {
                at: u64::from(sector) * SECTOR,
                block: u64::try_from(index).ok()?,
                field: index * 4,
            }),
        });
        let head = Head {
            start: self.start,
            width: 4,
            blocks: blocks.collect(),
            front: self.bitmap,
            len: self.bitmap + self.block.get(),
            file,
            taken: &[
                ("the copy of the footer", 0, FOOTER),
                ("the header", own, own + header),
                ("the table", self.start, end),
            ],
        };
        head.record(record);
        Ok(())
    }

    fn table(&self, opening: &Opening<'_>, differencing: bool) -> Arc<dyn BlockTable> {
        let flat = Flat {
            file: TableFile::new(&opening.file),
            start: self.start,
            entries: self.entries,
            block: self.block,
            size: self.size,
            parent: differencing.then_some(1),
            format: SectorNumbers {
                bitmap: self.bitmap,
            },
        };
        if !differencing {
            return Arc::new(flat);
        }
        Arc::new(Differencing {
            flat,
            bitmaps: Bitmaps {
                file: TableFile::new(&opening.file),
                first: FirstBit::High,
            },
            file: opening.window.size(),
        })
    }
}
