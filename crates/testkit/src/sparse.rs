//! Seeds that are mostly zeroes. The structures of a VHDX lie MiB apart, so a seed holds only what is not zero, and
//! checksums are put in when it is unpacked: a fuzzer that changes a field would otherwise get no further than its
//! checksum.
//!
//! ```text
//! "sparse+ ", or "sparse- " when the checksums stay as they are
//! u64 size, then pieces: u32 offset, u16 length, bytes
//! ```
//!
//! A seed of a set of images holds several: `members `, then for each its length (`u32`) and its bytes, which may be sparse.

/// Larger than any seed unpacks to.
const LARGEST: u64 = 16 << 20;

/// More members than any seed needs.
const MAX: usize = 16;

/// The members that a seed holds; anything that does not begin as a set is one member.
pub fn members(seed: &[u8]) -> Vec<Vec<u8>> {
    let Some(mut rest) = seed.strip_prefix(b"members ") else {
        return vec![unpacked(seed)];
    };
    let mut members = Vec::new();
    while let Some((len, after)) = rest.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let (member, after) = after.split_at(len.min(after.len()));
        members.push(unpacked(member));
        rest = after;
        if members.len() == MAX {
            break;
        }
    }
    members
}

/// The bytes that a seed stands for; those of the seed itself when it is not sparse.
pub fn unpacked(seed: &[u8]) -> Vec<u8> {
    let (seal, Some((head, mut rest))) = (
        seed.starts_with(b"sparse+ "),
        seed.split_at_checked(16)
            .filter(|_| seed.starts_with(b"sparse+ ") || seed.starts_with(b"sparse- ")),
    ) else {
        return seed.to_vec();
    };
    let mut bytes = vec![0; usize::try_from(number(head, 8, 8).min(LARGEST)).unwrap_or(0)];
    while rest.len() >= 6 {
        let at = usize::try_from(number(rest, 0, 4)).unwrap_or(usize::MAX);
        let len = usize::try_from(number(rest, 4, 2)).unwrap_or(0);
        let piece = &rest[6..rest.len().min(6 + len)];
        if let Some(place) = bytes.get_mut(at..at.saturating_add(piece.len())) {
            place.copy_from_slice(piece);
        }
        rest = &rest[6 + piece.len()..];
    }
    if seal && bytes.starts_with(b"vhdxfile") {
        seal_vhdx(&mut bytes);
    }
    bytes
}

fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let bytes = bytes.get(at..at + len).unwrap_or(&[]);
    bytes
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn seal_vhdx(bytes: &mut [u8]) {
    let table = table();
    for (at, len) in [
        (0x1_0000, 0x1000),
        (0x2_0000, 0x1000),
        (0x3_0000, 0x1_0000),
        (0x4_0000, 0x1_0000),
    ] {
        seal(&table, bytes, at, len);
    }
    // The log, where it usually lies. Entries that overlap are sealed in the order in which they begin.
    let mut left = 4 << 20;
    for at in (1 << 20..2 << 20).step_by(4096) {
        let len = usize::try_from(number(bytes, at + 8, 4)).unwrap_or(0);
        if bytes.get(at..at + 4) == Some(b"loge") && len <= left {
            left -= len;
            seal(&table, bytes, at, len);
        }
    }
}

/// Puts the CRC-32C of `len` bytes at `at` into their second four bytes.
fn seal(table: &[u32; 256], bytes: &mut [u8], at: usize, len: usize) {
    let Some(part) = bytes
        .get_mut(at..at.saturating_add(len))
        .filter(|part| part.len() >= 8)
    else {
        return;
    };
    part[4..8].fill(0);
    let crc = part.iter().fold(!0_u32, |crc, byte| {
        (crc >> 8) ^ table[usize::from(crc.to_le_bytes()[0] ^ byte)]
    });
    part[4..8].copy_from_slice(&(!crc).to_le_bytes());
}

fn table() -> [u32; 256] {
    let mut table = [0; 256];
    for (byte, crc) in (0_u32..).zip(&mut table) {
        *crc = (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1)));
    }
    table
}
