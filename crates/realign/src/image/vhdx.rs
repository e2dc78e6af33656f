//! A VHDX: everything behind its headers lies at multiples of 1 MiB.
//!
//! ```text
//! 0       headers and regions      1 MiB   log, empty
//! 2 MiB   metadata                 3 MiB   table of blocks, then the blocks
//! ```

use std::path::Path;

use straddle_geometry::Bytes;

use super::error::ImageError;
use super::input::Input;
use super::output::{Output, Table};
use super::settings::Settings;
use crate::format::bits::{put, up};
use crate::format::vhdx::{
    DISK_ID, DISK_SIZE, HEADERS, LOGICAL, MAX_DISK, METADATA, MIB, PARAMETERS, PHYSICAL, PRESENT,
    REGIONS, REGIONS_LEN, TABLE, entry_of, ratio, seal,
};

const LOG: u64 = MIB;
const METADATA_AT: u64 = 2 * MIB;
const TABLE_AT: u64 = 3 * MIB;
/// As Hyper-V writes it.
const BLOCK: u64 = 32 * MIB;
/// Where the values of the metadata begin in their region.
const VALUES: u32 = 64 << 10;

pub(super) fn dynamic(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    write(input, path, settings, false)
}

pub(super) fn fixed(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    write(input, path, settings, true)
}

fn write(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
    is_fixed: bool,
) -> Result<(), ImageError> {
    let size = input.size();
    if size > MAX_DISK {
        return Err(ImageError::Refused {
            format: "vhdx",
            why: format!("a disk of {}; a VHDX has at most 64 TiB", Bytes::new(size)),
        });
    }
    let sector = u64::from(settings.sector.get());
    let ratio = ratio(sector, BLOCK);
    let blocks = size.div_ceil(BLOCK);
    let entries = entry_of(blocks.saturating_sub(1), ratio) + 1;
    let table_len = up(entries * 8, MIB);
    let mut out = Output::create(path)?;
    let mut table = Table::new(TABLE_AT);
    let mut next = TABLE_AT + table_len;
    for block in 0..blocks {
        let place = next;
        let has_data = input.copy(block * BLOCK, BLOCK, &mut out, || place)?;
        let entry = match has_data || is_fixed {
            true => {
                next += BLOCK;
                place | PRESENT
            }
            false => 0,
        };
        table.push(&mut out, &entry.to_le_bytes())?;
        if (block + 1) % ratio == 0 {
            // The entry of a bitmap, which only a disk with a parent has.
            table.push(&mut out, &[0; 8])?;
        }
    }
    table.flush(&mut out)?;
    out.extend(next)?;
    metadata(&mut out, size, settings, is_fixed)?;
    regions(&mut out, table_len)?;
    let mut name = Vec::from(*b"vhdxfile");
    name.extend("straddle".encode_utf16().flat_map(u16::to_le_bytes));
    out.write(0, &name)?;
    let (file, data) = (settings.ids.guid()?, settings.ids.guid()?);
    for (at, sequence) in HEADERS.into_iter().zip(1_u64..) {
        let mut header = vec![0; 4096];
        put(&mut header, 0, b"head");
        put(&mut header, 0x08, &sequence.to_le_bytes());
        put(&mut header, 0x10, &file);
        put(&mut header, 0x20, &data);
        put(&mut header, 0x42, &1_u16.to_le_bytes());
        put(&mut header, 0x44, &(1_u32 << 20).to_le_bytes());
        put(&mut header, 0x48, &LOG.to_le_bytes());
        seal(&mut header);
        out.write(at, &header)?;
    }
    out.finish()
}

fn regions(out: &mut Output, table_len: u64) -> Result<(), ImageError> {
    let mut regions = vec![0; REGIONS_LEN];
    put(&mut regions, 0, b"regi");
    put(&mut regions, 8, &2_u32.to_le_bytes());
    let table_len = u32::try_from(table_len).unwrap_or(u32::MAX);
    let rows = [
        (TABLE, TABLE_AT, table_len),
        (METADATA, METADATA_AT, 1 << 20),
    ];
    for (n, (id, at, len)) in rows.into_iter().enumerate() {
        let row = 16 + n * 32;
        put(&mut regions, row, &id);
        put(&mut regions, row + 16, &at.to_le_bytes());
        put(&mut regions, row + 24, &len.to_le_bytes());
        put(&mut regions, row + 28, &1_u32.to_le_bytes());
    }
    seal(&mut regions);
    for at in REGIONS {
        out.write(at, &regions)?;
    }
    Ok(())
}

fn metadata(
    out: &mut Output,
    size: u64,
    settings: &mut Settings,
    is_fixed: bool,
) -> Result<(), ImageError> {
    let block = u32::try_from(BLOCK).unwrap_or(u32::MAX);
    let sector = settings.sector.get();
    let parameters = [block.to_le_bytes(), u32::from(is_fixed).to_le_bytes()].concat();
    // What is about the disk and not about the file has the flag 2; all have to be understood, which is 4.
    let items: [([u8; 16], Vec<u8>, u32); 5] = [
        (PARAMETERS, parameters, 4),
        (DISK_SIZE, size.to_le_bytes().to_vec(), 6),
        (DISK_ID, settings.ids.guid()?.to_vec(), 6),
        (LOGICAL, sector.to_le_bytes().to_vec(), 6),
        (PHYSICAL, 4096_u32.to_le_bytes().to_vec(), 6),
    ];
    let mut table = vec![0; 32 + items.len() * 32];
    put(&mut table, 0, b"metadata");
    put(
        &mut table,
        10,
        &u16::try_from(items.len()).unwrap_or(0).to_le_bytes(),
    );
    let mut values = Vec::new();
    for (n, (id, value, flags)) in items.iter().enumerate() {
        let row = 32 + n * 32;
        let at = VALUES + u32::try_from(values.len()).unwrap_or(0);
        put(&mut table, row, id);
        put(&mut table, row + 16, &at.to_le_bytes());
        put(
            &mut table,
            row + 20,
            &u32::try_from(value.len()).unwrap_or(0).to_le_bytes(),
        );
        put(&mut table, row + 24, &flags.to_le_bytes());
        values.extend_from_slice(value);
        // At multiples of 8, so that each is in one sector.
        values.resize(values.len().next_multiple_of(16), 0);
    }
    out.write(METADATA_AT, &table)?;
    out.write(METADATA_AT + u64::from(VALUES), &values)?;
    Ok(())
}
