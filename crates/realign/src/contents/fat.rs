//! FAT and exFAT: flags that a driver sets while it has the volume mounted.
//!
//! FAT16 and FAT32 have them at the top of the second entry of the table (bit clear: not unmounted; the bit below: errors), FAT12 has none;
//! Linux sets bit 0 of a byte of the boot sector besides. exFAT: volume flags, bit 1. Sources: Microsoft's specifications; Linux
//! Documentation/filesystems/vfat.rst.

use straddle_io::ReadError;
use straddle_probe::Window;

const NOT_UNMOUNTED: &str = "was not unmounted (its dirty flag is set)";
const ERRORS: &str = "has recorded errors";

pub(super) fn exfat(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    let flags = u16::from_le_bytes(window.get(106)?);
    Ok(if flags & 2 != 0 {
        Some(NOT_UNMOUNTED.to_owned())
    } else if flags & 4 != 0 {
        Some(ERRORS.to_owned())
    } else {
        None
    })
}

pub(super) fn fat(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    let boot: [u8; 90] = window.get(0)?;
    let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
    let table = word(14) * word(11);
    // Which of the three it is, its own words tell where the number of clusters does not have to be worked out.
    let is_32 = word(22) == 0;
    let is_16 = !is_32 && boot[54..59] == *b"FAT16";
    let of_linux = if is_32 { boot[65] } else { boot[37] };
    if of_linux & 1 != 0 {
        return Ok(Some(NOT_UNMOUNTED.to_owned()));
    }
    let (unmounted, sound) = if is_32 {
        let entry = u32::from_le_bytes(window.get(table + 4)?);
        (entry & 1 << 27 != 0, entry & 1 << 26 != 0)
    } else if is_16 {
        let entry = u16::from_le_bytes(window.get(table + 2)?);
        (entry & 1 << 15 != 0, entry & 1 << 14 != 0)
    } else {
        (true, true)
    };
    Ok(if !unmounted {
        Some(NOT_UNMOUNTED.to_owned())
    } else if !sound {
        Some(ERRORS.to_owned())
    } else {
        None
    })
}
