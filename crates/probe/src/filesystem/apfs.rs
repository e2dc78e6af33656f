//! APFS: the superblock of the container, in the first block.
//!
//! ```text
//! byte  0  checksum (8), object identifier (8), transaction (8), type 1 with flags (4), subtype (4)
//!      32  "NXSB" (4), block size (4), blocks (8)
//! ```
//!
//! Numbers have their low byte first. What is allocated is blocks of the container, counted from its start, for all volumes in it.
//!
//! Source: "Apple File System Reference", `nx_superblock_t`.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "apfs",
    class: Class::Filesystem,
    min_size: 4096,
    magics: &[Magic {
        offset: 32,
        bytes: b"NXSB",
    }],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Superblock {
    checksum: U64,
    object: U64,
    transaction: U64,
    kind: U32,
    subtype: U32,
    magic: [u8; 4],
    block_size: U32,
    blocks: U64,
}

/// Type of the object that a container superblock is, in the low half of its field.
const CONTAINER: u32 = 1;

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let sb: Superblock = window.get(0)?;
    let block = u64::from(sb.block_size.get());
    let is_size = block.is_power_of_two() && (4096..=65_536).contains(&block);
    if sb.kind.get() & 0xffff != CONTAINER || !is_size {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, 0);
    rec.bytes(Key::BlockSize, block, place!(Superblock.block_size));
    rec.grid(
        GridRole::AllocationUnit,
        block,
        0,
        place!(Superblock.block_size),
    );
    if let Some(size) = sb.blocks.get().checked_mul(block) {
        rec.claimed_size(size, place!(Superblock.blocks));
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn container(kind: u32, block: u32, blocks: u64) -> Volume {
        Volume::new(1 << 20)
            .with(24, kind.to_le_bytes())
            .with(32, b"NXSB")
            .with(36, block.to_le_bytes())
            .with(40, blocks.to_le_bytes())
    }

    #[test]
    fn blocks_are_the_allocation_unit() {
        let found = container(0x8000_0001, 4096, 200)
            .probe(&PROBER)
            .expect("APFS");
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(200 * 4096));
    }

    #[test]
    fn what_cannot_be_is_none() {
        for (kind, block) in [(2, 4096), (1, 512), (1, 5000), (1, 131_072)] {
            assert!(
                container(kind, block, 1).probe(&PROBER).is_none(),
                "{kind}, {block}"
            );
        }
        let found = container(1, 4096, u64::MAX).probe(&PROBER).expect("APFS");
        assert_eq!(found.bytes(Key::ClaimedSize), None);
    }
}
