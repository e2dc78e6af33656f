//! Apple partition map: entries of one block each, from the second block on.
//!
//! ```text
//! block 0, high byte first
//!   byte 0   "ER" (2), block size (2)
//! blocks 1 to n
//!   byte 0   "PM" (2)     byte 8   first block (4), blocks (4)
//!        4   entries (4)       16  name (32), type (32)
//! ```
//!
//! The map itself, drivers and free space are left out: they hold no data.
//!
//! Source: Linux `block/partitions/mac.h`, "Inside Macintosh: Devices", SCSI Manager.

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key, Value};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "apple",
    class: Class::Table,
    min_size: 1024,
    magics: &[Magic {
        offset: 0,
        bytes: b"ER",
    }],
    probe,
    find: None,
};

/// Most entries that are read; a map has a dozen.
const MAX: u32 = 256;
const BLOCK_SIZE_AT: u64 = 2;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Entry {
    signature: [u8; 2],
    unused: [u8; 2],
    entries: U32,
    first: U32,
    blocks: U32,
    name: [u8; 32],
    kind: [u8; 32],
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let block: U16 = window.get(BLOCK_SIZE_AT)?;
    let block = u64::from(block.get());
    if !matches!(block, 512 | 1024 | 2048 | 4096) || !window.matches(block, b"PM")? {
        return Ok(None);
    }
    let mut out = Detected::default();
    let size = window.fact(Value::Bytes(Bytes::new(block)), BLOCK_SIZE_AT, 2);
    out.attributes.push(straddle_stack::Attribute {
        key: Key::TableSectorSize,
        value: size,
    });
    let first: Entry = window.get(block)?;
    let count = first.entries.get();
    if count > MAX {
        let detail = format!("the Apple partition map records {count} entries; {MAX} are read");
        out.odd(window, AnomalyKind::LimitReached, detail, block + 4, 4);
    }
    for number in 1..=count.min(MAX) {
        let at = block * u64::from(number);
        let entry: Entry = match window.get(at) {
            Ok(entry) => entry,
            Err(_) if at >= window.size().get() => break,
            Err(error) => return Err(error),
        };
        if entry.signature != *b"PM" {
            let detail =
                format!("entry {number} of the Apple partition map does not begin with PM");
            out.odd(window, AnomalyKind::Damaged, detail, at, 2);
            break;
        }
        let kind = text(&entry.kind);
        let is_none = entry.blocks.get() == 0;
        if is_none
            || kind.contains("partition_map")
            || kind.contains("Driver")
            || kind == "Apple_Free"
        {
            continue;
        }
        // 32 bits of blocks of at most 4 KiB fit in 64 bits of bytes.
        let start = Bytes::new(u64::from(entry.first.get()) * block);
        let len = Bytes::new(u64::from(entry.blocks.get()) * block);
        let Some(extent) = Extent::new(start, len) else {
            continue;
        };
        let slot = Slot {
            name: format!("partition {number}"),
            number: u64::from(number),
            extent,
            kind,
            kind_at: (at + 48, 32),
            first: u64::from(entry.first.get()),
            first_at: (at + 8, 4),
            len_at: (at + 12, 4),
            at,
        };
        out.children.push(slot.child(window, Nesting::Plain));
    }
    Ok(Some(out))
}

/// A name up to its first zero, what cannot be printed replaced.
fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let printable = |byte: &u8| match byte {
        0x20..=0x7e => char::from(*byte),
        _ => '?',
    };
    bytes[..end].iter().map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::testing::{children, found, kinds, put};

    fn map(block: u16, entries: &[(u32, u32, &str)]) -> Vec<u8> {
        let mut disk = vec![0; 64 << 10];
        put(&mut disk, 0, b"ER");
        put(&mut disk, 2, &block.to_be_bytes());
        let count = u32::try_from(entries.len()).expect("few");
        for (i, (first, blocks, kind)) in entries.iter().enumerate() {
            let at = usize::from(block) * (i + 1);
            put(&mut disk, at, b"PM");
            put(&mut disk, at + 4, &count.to_be_bytes());
            put(&mut disk, at + 8, &first.to_be_bytes());
            put(&mut disk, at + 12, &blocks.to_be_bytes());
            put(&mut disk, at + 48, kind.as_bytes());
        }
        disk
    }

    #[test]
    fn blocks_are_those_of_the_map() {
        for block in [512_u16, 2048] {
            let disk = map(
                block,
                &[
                    (1, 63, "Apple_partition_map"),
                    (64, 10, "Apple_HFS"),
                    (74, 9, "Apple_Free"),
                ],
            );
            let detected = found(&PROBER, &disk).expect("a map");
            let unit = u64::from(block);
            assert_eq!(
                children(&detected),
                [(2, 64 * unit, 10 * unit, "Apple_HFS".into())]
            );
            assert_eq!(kinds(&detected), []);
        }
    }

    #[test]
    fn maps_that_are_cut_forged_or_none_are_told_apart() {
        let mut disk = map(512, &[(64, 10, "Apple_HFS"), (80, 1, "Apple_HFS")]);
        put(&mut disk, 1024, b"XX");
        let detected = found(&PROBER, &disk).expect("a map");
        assert_eq!(
            (detected.children.len(), kinds(&detected)),
            (1, vec![AnomalyKind::Damaged])
        );
        put(&mut disk, 516, &u32::MAX.to_be_bytes());
        let detected = found(&PROBER, &disk).expect("a map");
        assert_eq!(
            kinds(&detected),
            [AnomalyKind::LimitReached, AnomalyKind::Damaged]
        );
        put(&mut disk, 2, &[0, 3]);
        assert!(found(&PROBER, &disk).is_none());
    }
}
