//! A VDI: blocks of 1 MiB from a multiple of 1 MiB on, so that each lies at one.

use std::path::Path;

use straddle_geometry::Bytes;

use super::error::ImageError;
use super::input::Input;
use super::output::{Output, Table};
use super::settings::Settings;
use crate::format::bits::{put, up};
use crate::format::vdi::{
    ALLOCATED, BLOCK_SIZE, BLOCKS, DATA_OFFSET, DISK_SIZE, FREE, KIND, LAST_CHANGE, TABLE_OFFSET,
};

const BLOCK: u64 = 1 << 20;
const TABLE: u64 = 512;
/// Fields that are written once.
const UUID: usize = 0x188;

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
    let blocks = size.div_ceil(BLOCK);
    // Number of the last block, and where the data begins, in 32 bits.
    let count = u32::try_from(blocks).ok().filter(|n| *n < 1 << 29);
    let count = count.ok_or_else(|| ImageError::Refused {
        format: "vdi",
        why: format!(
            "a disk of {}; a VDI with blocks of 1 MiB has at most 512 TiB",
            Bytes::new(size)
        ),
    })?;
    let data = up(TABLE + blocks * 4, BLOCK);
    let mut out = Output::create(path)?;
    let mut table = Table::new(TABLE);
    let mut allocated: u32 = 0;
    for block in 0..count {
        let place = data + u64::from(allocated) * BLOCK;
        let start = u64::from(block) * BLOCK;
        let has_data = input.copy(start, BLOCK, &mut out, || place)?;
        let entry = if has_data || is_fixed {
            allocated
        } else {
            FREE
        };
        allocated += u32::from(entry != FREE);
        table.push(&mut out, &entry.to_le_bytes())?;
    }
    table.flush(&mut out)?;
    out.extend(data + u64::from(allocated) * BLOCK)?;
    let mut header = [0; 512];
    put(&mut header, 0, b"<<< Oracle VM VirtualBox Disk Image >>>\n");
    put(&mut header, 0x40, &0xbeda_107f_u32.to_le_bytes());
    put(&mut header, 0x44, &0x0001_0001_u32.to_le_bytes());
    put(&mut header, 0x48, &0x190_u32.to_le_bytes());
    let kind = if is_fixed { 2_u32 } else { 1 };
    put(&mut header, KIND, &kind.to_le_bytes());
    put(&mut header, TABLE_OFFSET, &512_u32.to_le_bytes());
    let data = u32::try_from(data).unwrap_or(u32::MAX);
    put(&mut header, DATA_OFFSET, &data.to_le_bytes());
    put(&mut header, 0x168, &512_u32.to_le_bytes());
    put(&mut header, DISK_SIZE, &size.to_le_bytes());
    put(&mut header, BLOCK_SIZE, &(1_u32 << 20).to_le_bytes());
    put(&mut header, BLOCKS, &count.to_le_bytes());
    put(&mut header, ALLOCATED, &allocated.to_le_bytes());
    put(&mut header, UUID, &settings.ids.guid()?);
    put(&mut header, LAST_CHANGE, &settings.ids.guid()?);
    out.write(0, &header)?;
    out.finish()
}
