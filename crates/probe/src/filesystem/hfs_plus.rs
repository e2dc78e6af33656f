//! HFS Plus and HFSX: the volume header, 1 KiB into the volume.
//!
//! ```text
//! byte 1024  "H+" or "HX" (2), version 4 or 5 (2)
//!      1064  block size (4), blocks (4)
//! ```
//!
//! Numbers have their high byte first. Files begin on blocks, counted from the start of the volume.
//!
//! Source: Apple Technical Note TN1150, "HFS Plus Volume Format".

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const HEADER_AT: u64 = 1024;

pub(crate) static PROBER: Prober = Prober {
    name: "hfsplus",
    class: Class::Filesystem,
    min_size: HEADER_AT + 512,
    magics: &[
        Magic {
            offset: HEADER_AT,
            bytes: b"H+",
        },
        Magic {
            offset: HEADER_AT,
            bytes: b"HX",
        },
    ],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    signature: [u8; 2],
    version: U16,
    unused: [u8; 36],
    block_size: U32,
    blocks: U32,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let header: Header = window.get(HEADER_AT)?;
    let block = u64::from(header.block_size.get());
    let is_version = match &header.signature {
        b"H+" => header.version.get() == 4,
        _ => header.version.get() == 5,
    };
    // A magic of two bytes alone is too weak.
    if !is_version || !block.is_power_of_two() || block < 512 {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, HEADER_AT);
    rec.count(
        Key::Version,
        u64::from(header.version.get()),
        place!(Header.version),
    );
    rec.bytes(Key::BlockSize, block, place!(Header.block_size));
    rec.grid(
        GridRole::AllocationUnit,
        block,
        0,
        place!(Header.block_size),
    );
    // 32 bits of blocks of 32 bits fit in 64.
    rec.claimed_size(
        u64::from(header.blocks.get()) * block,
        place!(Header.blocks),
    );
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn volume(magic: &[u8; 2], version: u16, block: u32) -> Volume {
        Volume::new(1 << 20)
            .with(1024, magic)
            .with(1026, version.to_be_bytes())
            .with(1064, block.to_be_bytes())
            .with(1068, 256_u32.to_be_bytes())
    }

    #[test]
    fn blocks_are_the_allocation_unit() {
        for (magic, version) in [(b"H+", 4), (b"HX", 5)] {
            let found = volume(magic, version, 4096)
                .probe(&PROBER)
                .expect("HFS Plus");
            assert_eq!(found.bytes(Key::BlockSize), Some(4096));
            assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
            assert_eq!(found.bytes(Key::ClaimedSize), Some(256 * 4096));
            assert_eq!(found.anomalies(), []);
        }
    }

    #[test]
    fn two_letters_alone_are_no_volume() {
        for (version, block) in [(5, 4096), (4, 0), (4, 4095), (4, 256)] {
            assert!(volume(b"H+", version, block).probe(&PROBER).is_none());
        }
    }
}
