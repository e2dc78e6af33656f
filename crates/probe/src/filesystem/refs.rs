//! ReFS: the boot sector.
//!
//! ```text
//! byte  3  "ReFS" and four zeroes     32  bytes per sector (4)
//!      16  "FSRS", its length (2)     36  sectors per cluster (4)
//!      24  sectors in the volume (8)  40  major and minor version (1, 1)
//! ```
//!
//! Source: the layout is published in Prade, Gross, Dewald, "Forensic Analysis of the Resilient File System (ReFS)
//! Version 3.4", Digital Investigation 32, 2020.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "refs",
    class: Class::Filesystem,
    min_size: 512,
    magics: &[Magic {
        offset: 3,
        bytes: b"ReFS\0\0\0\0",
    }],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    jump: [u8; 3],
    name: [u8; 8],
    unused: [u8; 5],
    identifier: [u8; 4],
    len: U16,
    checksum: U16,
    sectors: U64,
    bytes_per_sector: U32,
    sectors_per_cluster: U32,
    major: u8,
    minor: u8,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let header: Header = window.get(0)?;
    let sector = u64::from(header.bytes_per_sector.get());
    let per_cluster = u64::from(header.sectors_per_cluster.get());
    let cluster = sector.saturating_mul(per_cluster);
    let size = header.sectors.get().checked_mul(sector);
    let plausible = header.identifier == *b"FSRS"
        && sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && per_cluster.is_power_of_two()
        && (4096..=1 << 20).contains(&cluster);
    let Some(size) = size.filter(|size| plausible && *size != 0) else {
        return Ok(None);
    };
    let mut rec = Recorder::new(window, 0);
    rec.bytes(Key::SectorSize, sector, place!(Header.bytes_per_sector));
    rec.bytes(Key::BlockSize, cluster, place!(Header.sectors_per_cluster));
    rec.grid(
        GridRole::AllocationUnit,
        cluster,
        0,
        place!(Header.sectors_per_cluster),
    );
    rec.text(
        Key::Version,
        format!("{}.{}", header.major, header.minor),
        Place::new(core::mem::offset_of!(Header, major), 2),
    );
    rec.claimed_size(size, place!(Header.sectors));
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn refs(per_cluster: u32) -> Volume {
        Volume::new(1 << 20)
            .with(3, b"ReFS")
            .with(16, b"FSRS")
            .with(20, 512_u16.to_le_bytes())
            .with(24, 2048_u64.to_le_bytes())
            .with(32, 512_u32.to_le_bytes())
            .with(36, per_cluster.to_le_bytes())
            .with(40, [3, 14])
    }

    #[test]
    fn the_header_is_read() {
        let found = refs(128).probe(&PROBER).expect("refs");
        assert_eq!(found.bytes(Key::SectorSize), Some(512));
        assert_eq!(found.bytes(Key::BlockSize), Some(65_536));
        assert_eq!(
            found.evidence(Key::BlockSize),
            Some((36, vec![128, 0, 0, 0]))
        );
        assert_eq!(found.text(Key::Version).as_deref(), Some("3.14"));
        assert_eq!(found.evidence(Key::Version), Some((40, vec![3, 14])));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((65_536, 0)));
    }

    #[test]
    fn the_name_alone_is_not_enough() {
        assert!(refs(128).with(16, b"XXXX").probe(&PROBER).is_none());
        assert!(refs(3).probe(&PROBER).is_none());
        assert!(refs(0x8000_0000).probe(&PROBER).is_none());
        let huge = refs(8).with(24, u64::MAX.to_le_bytes());
        assert!(huge.probe(&PROBER).is_none());
    }
}
