//! A VHD: fixed, or dynamic with blocks of 2 MiB whose data lie at multiples of 4 KiB, behind their bitmaps.

use std::path::Path;

use straddle_geometry::Bytes;

use super::error::ImageError;
use super::input::Input;
use super::output::{Output, Table};
use super::raw;
use super::settings::Settings;
use crate::format::bits::{put, up};
use crate::format::vhd::{
    FREE, KIND, SECTOR, TABLE_ENTRIES, TABLE_OFFSET, bitmap_len, seal_header, set_size,
};

const BLOCK: u64 = 2 << 20;
/// Of which the data of a block is a multiple.
const GRID: u64 = 4096;
const HEADER: u64 = 512;
const TABLE: u64 = 1536;
/// What Hyper-V and Virtual PC allow.
const MAX: u64 = 2040 << 30;
/// Seconds from 1970 to 2000, from which a VHD counts.
const EPOCH: u64 = 946_684_800;

/// A footer. Of a dynamic disk, with where its header lies.
fn footer(
    size: u64,
    header: Option<u64>,
    settings: &mut Settings,
) -> Result<[u8; 512], ImageError> {
    if size > MAX {
        return Err(ImageError::Refused {
            format: "vhd",
            why: format!(
                "a disk of {}; a VHD has at most 2,040 GiB: take vhdx",
                Bytes::new(size)
            ),
        });
    }
    let mut footer = [0; 512];
    put(&mut footer, 0, b"conectix");
    put(&mut footer, 0x08, &2_u32.to_be_bytes());
    put(&mut footer, 0x0c, &0x0001_0000_u32.to_be_bytes());
    put(&mut footer, 0x10, &header.unwrap_or(u64::MAX).to_be_bytes());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs().saturating_sub(EPOCH));
    put(
        &mut footer,
        0x18,
        &u32::try_from(seconds).unwrap_or(0).to_be_bytes(),
    );
    // The creator by which readers know that the size counts, and not the geometry.
    put(&mut footer, 0x1c, b"win \x00\x06\x00\x01Wi2k");
    put(&mut footer, 0x28, &size.to_be_bytes());
    let kind = if header.is_some() { 3_u32 } else { 2 };
    put(&mut footer, KIND, &kind.to_be_bytes());
    put(&mut footer, 0x44, &settings.ids.uuid()?);
    set_size(&mut footer, Bytes::new(size));
    Ok(footer)
}

pub(super) fn fixed(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    let footer = footer(input.size(), None, settings)?;
    let mut out = Output::create(path)?;
    raw::data(input, &mut out)?;
    out.write(input.size(), &footer)?;
    out.finish()
}

pub(super) fn dynamic(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    let size = input.size();
    let footer = footer(size, Some(HEADER), settings)?;
    let blocks = size.div_ceil(BLOCK);
    let bitmap = bitmap_len(BLOCK);
    let ones = vec![0xff; usize::try_from(bitmap).unwrap_or(0)];
    let mut out = Output::create(path)?;
    let mut table = Table::new(TABLE);
    let table_end = up(TABLE + blocks * 4, SECTOR);
    // The first block where all are at multiples of 1 MiB; those behind it have room for a bitmap before them, and no more.
    let mut data = up(table_end + bitmap, 1 << 20);
    let mut end = table_end;
    for block in 0..blocks {
        let has_data = input.copy(block * BLOCK, BLOCK, &mut out, || data)?;
        let sector = match has_data {
            true => {
                let start = data - bitmap;
                out.write(start, &ones)?;
                end = data + BLOCK;
                data = up(end + bitmap, GRID);
                u32::try_from(start / SECTOR).unwrap_or(FREE)
            }
            false => FREE,
        };
        table.push(&mut out, &sector.to_be_bytes())?;
    }
    // To the end of its last sector.
    for _ in blocks..(table_end - TABLE) / 4 {
        table.push(&mut out, &FREE.to_be_bytes())?;
    }
    table.flush(&mut out)?;
    let mut header = [0; 1024];
    put(&mut header, 0, b"cxsparse");
    put(&mut header, 0x08, &u64::MAX.to_be_bytes());
    put(&mut header, TABLE_OFFSET, &TABLE.to_be_bytes());
    put(&mut header, 0x18, &0x0001_0000_u32.to_be_bytes());
    let entries = u32::try_from(blocks).unwrap_or(FREE);
    put(&mut header, TABLE_ENTRIES, &entries.to_be_bytes());
    put(&mut header, 0x20, &(2_u32 << 20).to_be_bytes());
    seal_header(&mut header);
    out.write(0, &footer)?;
    out.write(HEADER, &header)?;
    out.write(end, &footer)?;
    out.finish()
}
