//! Oracle data files, temporary files and redo logs: a block for the system, the file's header, and then data.
//!
//! ```text
//! block 0, byte  0  0 (1)               block 1, byte  0  type (1): 11 data file, 1 redo log
//!                1  format (1)                         1  format, again (1)
//!               20  block size (4)                     4  address, of which the low 22 bits are the block's number (4)
//!               24  blocks after this one (4)
//!               28  "}|{z", or "z{|}" where numbers have their high byte first (4)
//! ```
//!
//! The magic is at the end of what block 0 says, and block 1, found with the block size, has the same format and number 1.
//! Between them they leave nothing else that it could be. The low bits of the format are 2; the three above them are those of
//! the block size in newer versions, and 0 in those before 10g.
//!
//! No file of a real server was at hand. Sources, independent of each other: S. Howard, "Does a datafile know its blocksize?"
//! (comp.databases.oracle.server, 2006: bytes of a file of 10.2 on Windows); "Size of the datafile recorded in the Oracle database
//! datafile header" (topic.alibabacloud.com: dump of a file of 12.1 on Linux, with the length that it has); OpenLogReplicator,
//! `Reader.cpp` and its description of redo logs; listings of `kcvfh` by BBED for block 1.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const LOW_FIRST: [u8; 4] = *b"}|{z";
const HIGH_FIRST: [u8; 4] = *b"z{|}";
const FORMAT: u8 = 2;
const BLOCK_NUMBER: u32 = (1 << 22) - 1;

pub(crate) static PROBER: Prober = Prober {
    name: "oracle",
    class: Class::DatabaseFile,
    // Two blocks of the smallest size, that of redo logs.
    min_size: 1024,
    magics: &[
        Magic {
            offset: 28,
            bytes: &LOW_FIRST,
        },
        Magic {
            offset: 28,
            bytes: &HIGH_FIRST,
        },
    ],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SystemBlock {
    kind: u8,
    format: u8,
    unused: [u8; 18],
    block_size: [u8; 4],
    blocks: [u8; 4],
    magic: [u8; 4],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FileHeader {
    kind: u8,
    format: u8,
    unused: [u8; 2],
    address: [u8; 4],
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let first: SystemBlock = window.get(0)?;
    let number = if first.magic == LOW_FIRST {
        u32::from_le_bytes
    } else {
        u32::from_be_bytes
    };
    let size = u64::from(number(first.block_size));
    let is_first = first.kind == 0
        && first.format & 0x1f == FORMAT
        && size.is_power_of_two()
        && (512..=32_768).contains(&size);
    if !is_first || window.size().get() < 2 * size {
        return Ok(None);
    }
    let header: FileHeader = window.get(size)?;
    if header.format != first.format || number(header.address) & BLOCK_NUMBER != 1 {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, 0);
    rec.bytes(Key::PageSize, size, place!(SystemBlock.block_size));
    rec.grid(
        GridRole::DatabasePage,
        size,
        0,
        place!(SystemBlock.block_size),
    );
    let kind = match header.kind {
        1 => Some("redo log"),
        11 => Some("data file"),
        _ => None,
    };
    if let Some(kind) = kind {
        rec.at_base(size, |rec| {
            rec.text(Key::Subformat, kind, place!(FileHeader.kind));
        });
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    /// Bytes 16 to 31 of block 0, and the first eight of block 1, as the sources show them for a file of 8 KiB blocks.
    const OF_12_1: [u8; 16] = *b"\x67\x65\0\0\0\x20\0\0\0\x9f\x01\0}|{z";
    const HEADER: [u8; 8] = [11, 0xa2, 0, 0, 1, 0, 0x40, 0];

    fn data_file() -> Volume {
        Volume::new(65_536)
            .with(0, [0, 0xa2, 0, 0, 0, 0, 0xc0, 0xff])
            .with(16, OF_12_1)
            .with(8192, HEADER)
    }

    fn file_of(size: u32, format: u8, kind: u8) -> Volume {
        let at = usize::try_from(size).expect("small");
        data_file()
            .with(8192, [0; 8])
            .with(1, [format])
            .with(20, size.to_le_bytes())
            .with(at, [kind, format, 0, 0, 1, 0, 0, 0])
    }

    #[test]
    fn the_file_of_the_sources_has_blocks_of_8_kib() {
        let found = data_file().probe(&PROBER).expect("data file");
        assert_eq!(found.bytes(Key::PageSize), Some(8192));
        assert_eq!(
            found.evidence(Key::PageSize),
            Some((20, vec![0, 0x20, 0, 0]))
        );
        assert_eq!(found.grid(GridRole::DatabasePage), Some((8192, 0)));
        assert_eq!(found.text(Key::Subformat).as_deref(), Some("data file"));
        assert_eq!(found.evidence(Key::Subformat), Some((8192, vec![11])));
    }

    #[test]
    fn every_block_size_is_found() {
        for (size, format) in [
            (2048, 0x62),
            (4096, 0x82),
            (8192, 0x02),
            (16_384, 0xc2),
            (32_768, 0xe2),
        ] {
            let found = file_of(size, format, 11).probe(&PROBER).expect("data file");
            assert_eq!(found.bytes(Key::PageSize), Some(size.into()));
        }
        for (size, format) in [(512, 0x22), (1024, 0x22), (4096, 0x82)] {
            let found = file_of(size, format, 1).probe(&PROBER).expect("redo log");
            assert_eq!(found.grid(GridRole::DatabasePage), Some((size.into(), 0)));
            assert_eq!(found.text(Key::Subformat).as_deref(), Some("redo log"));
        }
        let other = file_of(16_384, 0xc2, 21).probe(&PROBER).expect("a file");
        assert_eq!(other.text(Key::Subformat), None);
    }

    #[test]
    fn numbers_may_have_their_high_byte_first() {
        let file = data_file()
            .with(20, 8192_u32.to_be_bytes())
            .with(28, HIGH_FIRST)
            .with(8196, [0, 0x40, 0, 1]);
        let found = file.probe(&PROBER).expect("data file");
        assert_eq!(found.bytes(Key::PageSize), Some(8192));
        assert!(data_file().with(28, HIGH_FIRST).probe(&PROBER).is_none());
    }

    #[test]
    fn block_1_must_agree() {
        assert!(data_file().with(8193, [0x82]).probe(&PROBER).is_none());
        assert!(data_file().with(8196, [2]).probe(&PROBER).is_none());
        assert!(data_file().with(0, [1]).probe(&PROBER).is_none());
        assert!(
            data_file()
                .with(1, [0xa3])
                .with(8193, [0xa3])
                .probe(&PROBER)
                .is_none()
        );
        assert!(data_file().with(20, [0, 0x30]).probe(&PROBER).is_none());
        assert!(data_file().with(20, [0; 4]).probe(&PROBER).is_none());
        let cut = Volume(data_file().0[..16_383].to_vec());
        assert!(cut.probe(&PROBER).is_none());
    }
}
