//! CRC-32C (Castagnoli), the checksum of VHDX, ext4, XFS and btrfs; RFC 3720 B.4 has test values. CRC-32 of `crc32fast` is
//! another polynomial.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// For eight bytes at once: `TABLES[n]` is what a byte does that has n more bytes behind it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0_u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

fn look(table: usize, byte: u8) -> u32 {
    TABLES[table][usize::from(byte)]
}

/// Of `bytes`.
pub(crate) fn of(bytes: &[u8]) -> u32 {
    !add(!0, bytes)
}

/// Of `bytes`, those of the checksum itself, four at `at`, taken as zero.
pub(crate) fn sealed(bytes: &[u8], at: usize) -> u32 {
    let (before, rest) = bytes.split_at(at.min(bytes.len()));
    let after = rest.get(4..).unwrap_or(&[]);
    !add(add(add(!0, before), &[0; 4]), after)
}

fn add(mut crc: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    for [a, b, c, d, e, f, g, h] in words {
        let [w, x, y, z] = crc.to_le_bytes();
        crc = look(7, a ^ w)
            ^ look(6, b ^ x)
            ^ look(5, c ^ y)
            ^ look(4, d ^ z)
            ^ look(3, *e)
            ^ look(2, *f)
            ^ look(1, *g)
            ^ look(0, *h);
    }
    for byte in rest {
        let [low, ..] = crc.to_le_bytes();
        crc = (crc >> 8) ^ look(0, byte ^ low);
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_rfc_3720() {
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
        assert_eq!(of(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(of(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(of(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn the_checksum_itself_counts_as_zero() {
        let mut bytes: Vec<u8> = (0..100).collect();
        let before = sealed(&bytes, 4);
        bytes[4..8].copy_from_slice(&before.to_le_bytes());
        assert_eq!(sealed(&bytes, 4), before);
        bytes[8] ^= 1;
        assert_ne!(sealed(&bytes, 4), before);
    }
}
