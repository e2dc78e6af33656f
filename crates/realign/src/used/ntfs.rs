//! NTFS: `$Bitmap`, one bit a cluster, set where it is used.

use std::io;

use straddle_io::Reader;
use straddle_probe::{Window, find_file};

use super::part::{Free, Part};

pub(super) fn free(part: &Part<'_>, free: &mut Free) -> io::Result<bool> {
    let boot = part.read(0, 512)?;
    let sectors = match boot[13] {
        small @ 0..=0x80 => u64::from(small),
        large => 1 << (0_u8.wrapping_sub(large)).min(16),
    };
    let sector = u64::from(u16::from_le_bytes([boot[11], boot[12]]));
    let cluster = sector * sectors;
    let mut raw = [0; 8];
    raw.copy_from_slice(&boot[40..48]);
    let clusters = u64::from_le_bytes(raw).checked_div(sectors).unwrap_or(0);
    let reader = Reader::new(part.disk);
    let Some(window) = Window::whole(&reader, None).part(part.place) else {
        return Ok(false);
    };
    let Ok(file) = find_file(&window, "ntfs", "/$Bitmap") else {
        return Ok(false);
    };
    // In order, and without a gap: what is missing is used.
    for segment in &file.segments {
        let (first, len) = (segment.upper.start().get(), segment.upper.len().get());
        let map = part.read(segment.lower.get(), len)?;
        let before = first.saturating_mul(8);
        let rest = clusters.saturating_sub(before);
        free.add_map(&map, rest, before.saturating_mul(cluster), cluster);
    }
    Ok(true)
}
