//! A VMDK: one sparse file with its descriptor inside, or a descriptor beside a flat file.
//!
//! ```text
//! sparse, in sectors: 0 header   1 descriptor   21 second directory and its tables   first directory and its tables
//!                     from a multiple of 1 MiB on: grains of 64 KiB
//! ```

use std::path::{Path, PathBuf};

use straddle_geometry::Bytes;

use super::error::ImageError;
use super::input::Input;
use super::output::Output;
use super::raw;
use super::settings::Settings;
use crate::format::bits::{is_zero, le32, put, up};
use crate::format::vmdk::{
    CAPACITY, DESCRIPTOR, DESCRIPTOR_LEN, DIRECTORY, FLAGS, GRAIN, HAS_SECOND_DIRECTORY, LINE_ENDS,
    LINE_ENDS_TEST, OVERHEAD, PER_TABLE, SECOND_DIRECTORY, SECTOR, VERSION,
};

const GRAIN_LEN: u64 = 64 << 10;
const ENTRIES: u64 = 512;
/// Of a grain table.
const TABLE_LEN: u64 = ENTRIES * 4;
/// Sectors of the descriptor and before it.
const TEXT: u64 = 1;
const TEXT_LEN: u64 = 20;

fn refused(why: String) -> ImageError {
    ImageError::Refused {
        format: "vmdk",
        why,
    }
}

/// The name of a file as a descriptor can say it.
fn name_of(path: &Path) -> Result<&str, ImageError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_plain = |name: &&str| !name.chars().any(|c| c == '"' || c.is_control());
    name.filter(is_plain).ok_or_else(|| {
        refused(format!(
            "the name {} cannot stand in a descriptor: expected UTF-8 without quotes and control characters",
            path.display()
        ))
    })
}

/// The descriptor of a disk in one extent.
fn descriptor(size: u64, kind: &str, extent: &str, id: u32) -> String {
    let sectors = size / SECTOR;
    let cylinders = sectors / (255 * 63);
    let id = id.min(u32::MAX - 1);
    format!(
        "# Disk DescriptorFile\nversion=1\nCID={id:08x}\nparentCID=ffffffff\ncreateType=\"{kind}\"\n\n# Extent description\n\
         RW {sectors} {extent}\n\n# The Disk Data Base\n#DDB\n\nddb.virtualHWVersion = \"4\"\nddb.geometry.cylinders = \"{cylinders}\"\n\
         ddb.geometry.heads = \"255\"\nddb.geometry.sectors = \"63\"\nddb.adapterType = \"lsilogic\"\n"
    )
}

/// Beside the descriptor, as VMware names it.
fn flat_path(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-flat.vmdk");
    path.with_file_name(name)
}

pub(super) fn flat(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    let data_path = flat_path(path);
    let extent = format!("FLAT \"{}\" 0", name_of(&data_path)?);
    let id = le32(&settings.ids.bits()?, 0);
    let text = descriptor(input.size(), "monolithicFlat", &extent, id);
    let mut out = Output::create(path)?;
    let mut data = Output::create(&data_path)?;
    raw::data(input, &mut data)?;
    data.sync()?;
    out.write(0, text.as_bytes())?;
    out.sync()?;
    data.keep();
    out.keep();
    Ok(())
}

pub(super) fn sparse(
    input: &mut Input<'_>,
    path: &Path,
    settings: &mut Settings,
) -> Result<(), ImageError> {
    let size = input.size();
    let tables = size.div_ceil(GRAIN_LEN).div_ceil(ENTRIES);
    let directory_len = up(tables * 4, SECTOR);
    let both = directory_len + tables * TABLE_LEN;
    let second = (TEXT + TEXT_LEN) * SECTOR;
    let first = second + both;
    let data = up(first + both, 1 << 20);
    let extent = format!("SPARSE \"{}\"", name_of(path)?);
    let text = descriptor(
        size,
        "monolithicSparse",
        &extent,
        le32(&settings.ids.bits()?, 0),
    );
    let sector_of = |at: u64| {
        u32::try_from(at / SECTOR).map_err(|_| {
            refused(format!(
                "a disk of {} with more than 2 TiB of data, which a sparse extent cannot address: take vmdk-flat",
                Bytes::new(size)
            ))
        })
    };
    sector_of(data)?;
    let mut out = Output::create(path)?;
    for start in [second, first] {
        let mut entries = Vec::new();
        for table in 0..tables {
            let at = start + directory_len + table * TABLE_LEN;
            entries.extend_from_slice(&sector_of(at)?.to_le_bytes());
        }
        out.write(start, &entries)?;
    }
    let mut next = data;
    for table in 0..tables {
        let mut entries = Vec::new();
        for n in 0..ENTRIES {
            let at = (table * ENTRIES + n) * GRAIN_LEN;
            let place = next;
            if at >= size || !input.copy(at, GRAIN_LEN, &mut out, || place)? {
                entries.extend_from_slice(&[0; 4]);
                continue;
            }
            entries.extend_from_slice(&sector_of(place)?.to_le_bytes());
            next += GRAIN_LEN;
        }
        if !is_zero(&entries) {
            for start in [second, first] {
                out.write(start + directory_len + table * TABLE_LEN, &entries)?;
            }
        }
    }
    out.extend(next)?;
    let mut header = [0; 512];
    put(&mut header, 0, b"KDMV");
    put(&mut header, VERSION, &1_u32.to_le_bytes());
    put(
        &mut header,
        FLAGS,
        &(LINE_ENDS_TEST | HAS_SECOND_DIRECTORY).to_le_bytes(),
    );
    put(&mut header, CAPACITY, &(size / SECTOR).to_le_bytes());
    put(&mut header, GRAIN, &(GRAIN_LEN / SECTOR).to_le_bytes());
    put(&mut header, DESCRIPTOR, &TEXT.to_le_bytes());
    put(&mut header, DESCRIPTOR_LEN, &TEXT_LEN.to_le_bytes());
    put(&mut header, PER_TABLE, &512_u32.to_le_bytes());
    put(
        &mut header,
        SECOND_DIRECTORY,
        &(second / SECTOR).to_le_bytes(),
    );
    put(&mut header, DIRECTORY, &(first / SECTOR).to_le_bytes());
    put(&mut header, OVERHEAD, &(data / SECTOR).to_le_bytes());
    put(&mut header, LINE_ENDS, b"\n \r\n");
    out.write(TEXT * SECTOR, text.as_bytes())?;
    out.write(0, &header)?;
    out.finish()
}
