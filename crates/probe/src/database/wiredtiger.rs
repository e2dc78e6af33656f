//! WiredTiger files (`.wt`), in which MongoDB keeps collections and indexes.
//!
//! ```text
//! byte 0  magic, 120897 (4)     6  minor version (2)
//!      4  major version, 1 (2)  8  CRC-32C of the first block, taken with zeroes here (4)
//! ```
//!
//! Numbers have their low byte first. Everything in the file is a whole number of allocation units, and at one; the file does
//! not say how large they are. But the first block is one, zero behind its header, and its checksum is right for one length
//! only. MongoDB takes the default of 4 KiB. Pages are larger, each as long as it must be.
//!
//! Sources: WiredTiger reference guide, "Block Manager" and "Data File Format"; `src/include/block.h` and
//! `src/block/block_open.c` of WiredTiger 3.0 and 11.1.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window, crc32c};

const MAGIC: [u8; 4] = 120_897_u32.to_le_bytes();
const SMALLEST: usize = 512;
/// Allocation units may be up to 128 MiB long; nobody has them larger than a page.
const LARGEST: usize = 64 << 10;

pub(crate) static PROBER: Prober = Prober {
    name: "wiredtiger",
    class: Class::DatabaseFile,
    min_size: 512,
    magics: &[Magic {
        offset: 0,
        bytes: &MAGIC,
    }],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Descriptor {
    magic: [u8; 4],
    major: U16,
    minor: U16,
    checksum: U32,
    unused: [u8; 4],
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let descriptor: Descriptor = window.get(0)?;
    let available = usize::try_from(window.size().get()).unwrap_or(usize::MAX);
    let mut head = vec![0; available.min(LARGEST)];
    window.fill(0, &mut head)?;
    let mut unit = SMALLEST;
    let unit = loop {
        let Some(block) = head.get(..unit) else {
            return Ok(None);
        };
        let is_blank = block
            .get(16..)
            .is_some_and(|rest| rest.iter().all(|b| *b == 0));
        if !is_blank {
            return Ok(None);
        }
        if crc32c::sealed(block, core::mem::offset_of!(Descriptor, checksum))
            == descriptor.checksum.get()
        {
            break unit;
        }
        unit *= 2;
    };
    let unit = u64::try_from(unit).unwrap_or(u64::MAX);
    let mut rec = Recorder::new(window, 0);
    rec.text(
        Key::Version,
        format!("{}.{}", descriptor.major.get(), descriptor.minor.get()),
        place!(Descriptor.major),
    );
    rec.bytes(Key::PageSize, unit, place!(Descriptor.checksum));
    rec.grid(GridRole::DatabasePage, unit, 0, place!(Descriptor.checksum));
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn file(unit: usize) -> Volume {
        let empty = Volume::new(4 * LARGEST).with(0, MAGIC).with(4, [1]);
        let sum = crc32c::sealed(&empty.0[..unit], 8);
        empty.with(8, sum.to_le_bytes()).with(unit, b"page")
    }

    #[test]
    fn the_checksum_tells_the_allocation_unit() {
        for unit in [512, 4096, 16_384, 65_536] {
            let found = file(unit).probe(&PROBER).expect("a file");
            let unit = u64::try_from(unit).expect("small");
            assert_eq!(found.bytes(Key::PageSize), Some(unit));
            assert_eq!(found.grid(GridRole::DatabasePage), Some((unit, 0)));
            assert_eq!(found.text(Key::Version).as_deref(), Some("1.0"));
        }
        // As wt of WiredTiger 3.2.1 writes it.
        let found = Volume::new(4096)
            .with(0, MAGIC)
            .with(4, [1])
            .with(8, [0xd8, 0x08, 0x23, 0xb7])
            .probe(&PROBER)
            .expect("a file");
        assert_eq!(found.bytes(Key::PageSize), Some(4096));
        let evidence = found.evidence(Key::PageSize);
        assert_eq!(evidence, Some((8, vec![0xd8, 0x08, 0x23, 0xb7])));
    }

    #[test]
    fn a_wrong_checksum_and_a_cut_file_are_not_files() {
        assert!(file(4096).with(8, [0; 4]).probe(&PROBER).is_none());
        assert!(file(4096).with(100, [1]).probe(&PROBER).is_none());
        let cut = Volume(file(4096).0[..4095].to_vec());
        assert!(cut.probe(&PROBER).is_none());
        assert!(file(2 * LARGEST).probe(&PROBER).is_none());
    }
}
