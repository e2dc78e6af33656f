//! Storage Spaces: a partition of a pool of Windows 8, Server 2012 and later, and the spaces that its database describes.
//!
//! ```text
//! 0          "SPACEDB ", layout version (2), 2 bytes, CRC-32 of the first 512 bytes (4), …, at 32 pool GUID, at 48 disk GUID
//! 4,096      the database of the pool; some disks have none
//! 512 MiB    slabs of 256 MiB
//! ```
//!
//! A space is columns, a column is slabs: of simple spaces, mirrors and single parity the layers are made from its extents.
//! Dual parity and tiers are described without a place.
//!
//! Source: the description of the format in the project ms-storage-spaces-linux (`docs/storage-spaces-format.md`), made
//! from pools of Windows 11 (pool versions 28 and 29) and compared there with what Windows says of them; Microsoft publishes
//! none. Older pools have another database, which is not read. Numbers are high byte first, GUIDs too.

mod assemble;
mod database;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Beside, Recognised, VolumeFormat};
use crate::record::{Recorder, place, uuid};
use crate::{Magic, Window};
use assemble::assemble;
use database::Database;

const MAGIC: [u8; 8] = *b"SPACEDB ";
/// Bytes that the checksum of a header covers.
const SEALED: usize = 512;
/// Where the checksum lies.
const CRC_AT: usize = 12;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "spaces",
    title: "Storage Spaces disk",
    reads: "pools of Windows 11 (versions 28 and 29): header, database, spaces with interleave and columns; slabs of simple spaces, mirrors and single parity",
    refuses: "databases of Windows 8 to Server 2012 R2; where dual parity and tiers lie; data that are only in a write-back cache",
    verified: "",
    min_size: 8192,
    magics: &[Magic {
        offset: 0,
        bytes: &MAGIC,
    }],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: U16,
    unknown: U16,
    crc: U32,
    unknown_too: [u8; 16],
    pool: [u8; 16],
    disk: [u8; 16],
}

/// The checksum that the 512 bytes at `at` should have, and the one that they have.
fn sums(window: &Window<'_>, at: u64) -> Result<(u32, u32), ReadError> {
    let mut raw = [0; SEALED];
    window.fill(at, &mut raw)?;
    let mut recorded = [0; 4];
    recorded.copy_from_slice(&raw[CRC_AT..CRC_AT + 4]);
    raw[CRC_AT..CRC_AT + 4].fill(0);
    Ok((crc32fast::hash(&raw), u32::from_be_bytes(recorded)))
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let read: Header = window.get(0)?;
    let mut say = Recorder::new(window, 0);
    say.count(
        Key::Version,
        u64::from(read.version.get()),
        place!(Header.version),
    );
    let (pool, disk) = (uuid(read.pool), uuid(read.disk));
    say.text(Key::SetUuid, pool.as_str(), place!(Header.pool));
    say.text(Key::Uuid, disk.as_str(), place!(Header.disk));
    let (expected, found) = sums(window, 0)?;
    if expected != found {
        let detail = format!(
            "the header's checksum is {found:08x}; expected {expected:08x}: it is read all the same"
        );
        say.odd(AnomalyKind::Damaged, detail, place!(Header.crc));
    }
    let mut detected = say.finish();
    let database = Database::read(window)?;
    let of = database.as_ref().map(|database| {
        detected
            .anomalies
            .extend(database.anomalies.iter().cloned());
        if let Some(name) = &database.pool {
            detected.attributes.push(straddle_stack::Attribute {
                key: Key::VolumeGroup,
                value: name.clone(),
            });
        }
        u64::try_from(database.disks.len()).unwrap_or(u64::MAX)
    });
    Ok(Some(Recognised {
        detected,
        set: pool,
        member: disk,
        of: of.filter(|of| *of > 0),
    }))
}

#[cfg(test)]
mod tests;
