//! Numbers in structures on disk, for formats that are written as well as read.

use std::io;

use crc::{CRC_32_ISCSI, Crc, Table};
use straddle_geometry::Bytes;
use straddle_io::ReadAt;

static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// CRC-32C of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes)
}

/// The `N` bytes at `at`; zeroes where there are none, so that a structure is asked for its fields without a check for each.
pub(crate) fn bytes<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(found) = at.checked_add(N).and_then(|end| from.get(at..end)) {
        out.copy_from_slice(found);
    }
    out
}

/// Puts `value` at `at`, where there is room for it.
pub(crate) fn put(into: &mut [u8], at: usize, value: &[u8]) {
    let end = at.saturating_add(value.len());
    if let Some(place) = into.get_mut(at..end) {
        place.copy_from_slice(value);
    }
}

pub(crate) fn be32(from: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes(from, at))
}

pub(crate) fn be64(from: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes(from, at))
}

pub(crate) fn le16(from: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes(from, at))
}

pub(crate) fn le32(from: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes(from, at))
}

pub(crate) fn le64(from: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes(from, at))
}

/// The next multiple of `unit`, at or after `n`; the last address where there is none.
pub(crate) fn up(n: u64, unit: u64) -> u64 {
    n.checked_next_multiple_of(unit.max(1)).unwrap_or(u64::MAX)
}

/// Fills `buf`, with zeroes behind the end.
pub(crate) fn fill(from: &(impl ReadAt + ?Sized), at: u64, buf: &mut [u8]) -> io::Result<()> {
    let mut had = 0;
    while had < buf.len() {
        let skip = u64::try_from(had).map_err(io::Error::other)?;
        let place = at.checked_add(skip).ok_or(io::ErrorKind::InvalidInput)?;
        match from.read_at(Bytes::new(place), &mut buf[had..]) {
            Ok(0) => {
                buf[had..].fill(0);
                break;
            }
            Ok(n) => had += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The `N` bytes at `at`.
pub(crate) fn read<const N: usize>(from: &(impl ReadAt + ?Sized), at: u64) -> io::Result<[u8; N]> {
    let mut out = [0; N];
    fill(from, at, &mut out)?;
    Ok(out)
}

/// Calls `each` with `len` bytes from `at` on, in pieces that are multiples of 4 KiB but for the last, and with the address of each.
pub(crate) fn pieces<E: From<io::Error>>(
    from: &(impl ReadAt + ?Sized),
    at: u64,
    len: u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    const PIECE: u64 = 256 << 10;
    let mut buf = vec![0; usize::try_from(len.min(PIECE)).unwrap_or(0)];
    let mut done = 0;
    while done < len {
        let part = usize::try_from((len - done).min(PIECE)).unwrap_or(0);
        let Some(part) = buf.get_mut(..part) else {
            break;
        };
        fill(from, at.saturating_add(done), part)?;
        each(at.saturating_add(done), part)?;
        done += PIECE;
    }
    Ok(())
}

/// True when all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // Each byte is the one before it: memcmp is many times faster than a loop over bytes, without optimisation above all.
    match bytes {
        [] => true,
        [first, ..] => *first == 0 && bytes[1..] == bytes[..bytes.len() - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_the_value_of_rfc_3720() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn fields_beyond_the_end_are_zero_and_are_not_written() {
        let mut raw = [1, 2, 3];
        assert_eq!((le32(&raw, 0), be32(&raw, usize::MAX)), (0, 0));
        put(&mut raw, 2, &[9, 9]);
        assert_eq!(raw, [1, 2, 3]);
        put(&mut raw, 1, &[9, 9]);
        assert_eq!((raw, le16(&raw, 0)), ([1, 9, 9], 0x0901));
    }

    #[test]
    fn zeroes_are_told_from_others() {
        assert!(is_zero(&[]) && is_zero(&[0]) && is_zero(&[0; 99]));
        for at in [0, 50, 98] {
            let mut raw = [0; 99];
            raw[at] = 1;
            assert!(!is_zero(&raw), "{at}");
        }
        assert!(!is_zero(&[7; 9]));
    }
}
