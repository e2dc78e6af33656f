//! What of a VHD's structures is written: the layout is at the head of `probe`'s file on VHD.

use straddle_geometry::Bytes;

use crate::format::bits::{be32, put};

pub(crate) const SECTOR: u64 = 512;
/// An entry of the table without a block.
pub(crate) const FREE: u32 = 0xffff_ffff;

/// Fields of the footer.
pub(crate) const SIZE: usize = 0x30;
pub(crate) const GEOMETRY: usize = 0x38;
pub(crate) const KIND: usize = 0x3c;
pub(crate) const CHECKSUM: usize = 0x40;
/// Fields of the header.
pub(crate) const TABLE_OFFSET: usize = 0x10;
pub(crate) const TABLE_ENTRIES: usize = 0x1c;
pub(crate) const HEADER_CHECKSUM: usize = 0x24;

/// Bytes of the bitmap in front of a block of `block` bytes.
pub(crate) const fn bitmap_len(block: u64) -> u64 {
    (block / SECTOR).div_ceil(8).next_multiple_of(SECTOR)
}

/// The complement of the sum of all bytes, those of the checksum itself left out.
fn checksum(bytes: &[u8], at: usize) -> u32 {
    let own = bytes.get(at..at + 4).unwrap_or(&[]);
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    !(sum(bytes) - sum(own))
}

/// True when it is a footer that was not damaged.
pub(crate) fn is_footer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"conectix") && be32(bytes, CHECKSUM) == checksum(bytes, CHECKSUM)
}

pub(crate) fn seal_footer(footer: &mut [u8]) {
    let sum = checksum(footer, CHECKSUM);
    put(footer, CHECKSUM, &sum.to_be_bytes());
}

pub(crate) fn seal_header(header: &mut [u8]) {
    let sum = checksum(header, HEADER_CHECKSUM);
    put(header, HEADER_CHECKSUM, &sum.to_be_bytes());
}

/// Gives a footer its disk's size and the geometry that belongs to it, and its checksum.
pub(crate) fn set_size(footer: &mut [u8], size: Bytes) {
    put(footer, SIZE, &size.get().to_be_bytes());
    let (cylinders, heads, sectors) = geometry(size.get() / SECTOR);
    let [high, low] = cylinders.to_be_bytes();
    put(footer, GEOMETRY, &[high, low, heads, sectors]);
    seal_footer(footer);
}

/// Cylinders, heads and sectors of a disk of so many sectors, as the appendix of the specification derives them.
pub(crate) fn geometry(sectors: u64) -> (u16, u8, u8) {
    const MAX: u64 = 65_535 * 16 * 255;
    let total = sectors.min(MAX);
    let (heads, per_track) = if total >= 65_535 * 16 * 63 {
        (16, 255)
    } else {
        let tracks = total / 17;
        let heads = tracks.div_ceil(1024).max(4);
        if heads <= 16 && tracks < heads * 1024 {
            (heads, 17)
        } else if total / 31 < 16 * 1024 {
            (16, 31)
        } else {
            (16, 63)
        }
    };
    let cylinders = total / per_track / heads;
    (
        u16::try_from(cylinders).unwrap_or(u16::MAX),
        u8::try_from(heads).unwrap_or(16),
        u8::try_from(per_track).unwrap_or(255),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_is_that_of_the_specification() {
        // As qemu-img writes it for disks of these sizes.
        assert_eq!(geometry(8 << 11), (240, 4, 17));
        assert_eq!(geometry(10 << 21), (20_805, 16, 63));
        assert_eq!(geometry(u64::MAX), (65_535, 16, 255));
        assert_eq!(geometry(0).1, 4);
    }

    #[test]
    fn a_footer_with_its_checksum_is_one() {
        let mut footer = [0; 512];
        put(&mut footer, 0, b"conectix");
        assert!(!is_footer(&footer));
        set_size(&mut footer, Bytes::mib(8));
        assert!(is_footer(&footer));
        footer[SIZE + 7] ^= 1;
        assert!(!is_footer(&footer));
    }

    #[test]
    fn bitmaps_fill_sectors() {
        assert_eq!(bitmap_len(2 << 20), 512);
        assert_eq!(bitmap_len(4 << 20), 1024);
        assert_eq!(bitmap_len(512 << 10), 512);
    }
}
