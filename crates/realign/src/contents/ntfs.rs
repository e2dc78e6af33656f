//! NTFS: the dirty flag of `$Volume`, a log that was not closed, and a Windows that sleeps in hiberfil.sys.
//!
//! ```text
//! boot sector   11 bytes per sector (2)  13 sectors per cluster  48 first cluster of the MFT (8)  64 clusters per record (signed; −n: 2ⁿ bytes)
//! record        "FILE"  4 place of the update sequence (2)  6 its length (2)  20 first attribute (2)
//! attribute      0 type (4)  4 length (4)  8 0: resident  20 place of its value (2)
//! 0x70           $VOLUME_INFORMATION: 10 flags (2), 0x1 dirty
//! restart page  "RSTR"  24 place of the restart area (2); there: 12 first client in use (2), ffff: none  14 flags (2), 0x2 clean
//! ```
//!
//! Source: the layout as ntfs-3g and Linux fs/ntfs3 read it.

use straddle_io::{ReadError, ReadErrorKind};
use straddle_probe::{Window, find_file};

/// Number of the record of `$Volume`.
const VOLUME: u64 = 3;
const VOLUME_INFORMATION: u32 = 0x70;
const MAX_RECORD: usize = 4096;
const UPDATED: usize = 512;

pub(super) fn unclean(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    if volume_flags(window)?.is_some_and(|flags| flags & 1 != 0) {
        return Ok(Some("is marked dirty".to_owned()));
    }
    if is_asleep(window)? {
        return Ok(Some(
            "holds a Windows that hibernated, or was shut down by fast startup (hiberfil.sys)"
                .to_owned(),
        ));
    }
    if is_log_open(window)? {
        return Ok(Some(
            "has a log that was not closed: it was not unmounted".to_owned(),
        ));
    }
    Ok(None)
}

/// The flags of `$Volume`; `None` where its record is not what it should be, which is for a checker to say.
fn volume_flags(window: &Window<'_>) -> Result<Option<u16>, ReadError> {
    let boot: [u8; 72] = window.get(0)?;
    let number = |at: usize, len: usize| {
        let mut raw = [0; 8];
        raw[..len].copy_from_slice(&boot[at..at + len]);
        u64::from_le_bytes(raw)
    };
    // Above 0x80 it is a power of two.
    let sectors = match boot[13] {
        small @ 0..=0x80 => u64::from(small),
        large => 1 << (0_u8.wrapping_sub(large)).min(16),
    };
    let cluster = number(11, 2) * sectors;
    let record = match boot[64] {
        small @ 0..=0x7f => u64::from(small).saturating_mul(cluster),
        large => 1 << (0_u8.wrapping_sub(large)).min(16),
    };
    let Some(at) = number(48, 8)
        .checked_mul(cluster)
        .and_then(|at| at.checked_add(VOLUME * record))
    else {
        return Ok(None);
    };
    let len = usize::try_from(record).unwrap_or(0);
    if !(UPDATED..=MAX_RECORD).contains(&len) {
        return Ok(None);
    }
    let mut bytes = vec![0; len];
    window.fill(at, &mut bytes)?;
    Ok(restored(bytes).and_then(|bytes| flags_of(&bytes)))
}

/// A record with the last two bytes of each 512 put back.
fn restored(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    if bytes[..4] != *b"FILE" {
        return None;
    }
    let word =
        |bytes: &[u8], at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (place, count) = (usize::from(word(&bytes, 4)?), usize::from(word(&bytes, 6)?));
    for n in 1..count {
        let kept = word(&bytes, place + 2 * n)?;
        bytes
            .get_mut(n * UPDATED - 2..n * UPDATED)?
            .copy_from_slice(&kept.to_le_bytes());
    }
    Some(bytes)
}

fn flags_of(record: &[u8]) -> Option<u16> {
    let word = |at: usize| Some(u16::from_le_bytes(record.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let mut at = usize::from(word(20)?);
    loop {
        match (long(at)?, usize::try_from(long(at + 4)?).ok()?) {
            (VOLUME_INFORMATION, _) if record.get(at + 8) == Some(&0) => {
                return word(at + usize::from(word(at + 20)?) + 10);
            }
            (u32::MAX, _) | (_, 0..16) => return None,
            (_, len) => at += len,
        }
    }
}

/// The first bytes of a file, when it is there.
fn head<const N: usize>(window: &Window<'_>, path: &str) -> Result<Option<[u8; N]>, ReadError> {
    let Ok(file) = find_file(window, "ntfs", path) else {
        return Ok(None);
    };
    match file.placement {
        Some(place) if place.value.len().get() >= N as u64 => {
            window.get(place.value.start().get()).map(Some)
        }
        _ => Ok(None),
    }
}

/// A file of hibernation that is in use begins with a word; after a full shutdown it begins with zeros.
fn is_asleep(window: &Window<'_>) -> Result<bool, ReadError> {
    let head: Option<[u8; 4]> = head(window, "/hiberfil.sys")?;
    Ok(head.is_some_and(|head| {
        let head = head.map(|byte| byte.to_ascii_lowercase());
        [*b"hibr", *b"wake", *b"rstr", *b"hiba"].contains(&head)
    }))
}

fn is_log_open(window: &Window<'_>) -> Result<bool, ReadError> {
    let Some(page) = head::<4096>(window, "/$LogFile")? else {
        return Ok(false);
    };
    if page[..4] != *b"RSTR" {
        // All ones: a log that was made empty.
        return Ok(false);
    }
    let area = usize::from(u16::from_le_bytes([page[24], page[25]]));
    let word = |at: usize| {
        page.get(at..at + 2)
            .map(|raw| u16::from_le_bytes([raw[0], raw[1]]))
    };
    let (Some(client), Some(flags)) = (word(area + 12), word(area + 14)) else {
        return Err(ReadError {
            kind: ReadErrorKind::PastEnd {
                size: window.size(),
            },
            offset: window.extent().start(),
            len: straddle_geometry::Bytes::new(4096),
            source: None,
        });
    };
    Ok(client != u16::MAX && flags & 2 == 0)
}
