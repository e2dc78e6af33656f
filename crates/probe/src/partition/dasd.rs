//! Labels of IBM mainframe disks (DASD): CDL, LDL and CMS. Words are EBCDIC, numbers have their high byte first.
//!
//! ```text
//! block 2 (FBA: sector 1)
//!   CDL  byte 0  "VOL1" twice (8), volume serial (6)     15  VTOC: cylinder, head, record (2, 2, 1)
//!   LDL  byte 0  "LNX1" (4), volume serial (6)           79  version (1), formatted blocks (8)
//!   CMS  byte 0  "CMS1" (4), volume serial (6)
//! VTOC, a block each: first format 4, then others; byte 44 is the format
//!   format 4       64  heads (2)
//!   format 1 or 8  105 extent: kind, number (1, 1), first track, last track (cylinder, head: 2, 2 each)
//! ```
//!
//! A CDL disk has a partition for each label of format 1 or 8, an LDL disk one, from the block behind its label on. An image
//! does not say its geometry: it is taken for that of a 3390, and believed when the VTOC stands where it then must. The
//! place of the label gives the size of blocks. Partitions of CMS disks are not read.
//!
//! Source: Linux `block/partitions/ibm.c`, `arch/s390/include/uapi/asm/vtoc.h`.

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key, Value};
use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "dasd",
    class: Class::Table,
    min_size: 16 << 10,
    magics: &[
        magic(8192, CDL),
        magic(8192, LDL),
        magic(8192, CMS),
        magic(4096, CDL),
        magic(4096, LDL),
        magic(4096, CMS),
        magic(2048, CDL),
        magic(2048, LDL),
        magic(2048, CMS),
        magic(1024, CDL),
        magic(1024, LDL),
        magic(1024, CMS),
        magic(512, LDL),
        magic(512, CMS),
    ],
    probe,
    find: None,
};

const fn magic(offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { offset, bytes }
}

const CDL: &[u8] = &[0xe5, 0xd6, 0xd3, 0xf1, 0xe5, 0xd6, 0xd3, 0xf1];
const LDL: &[u8] = &[0xd3, 0xd5, 0xe7, 0xf1];
const CMS: &[u8] = &[0xc3, 0xd4, 0xe2, 0xf1];
/// Where labels stand, the size of blocks that this means, and how many of them a track of a 3390 has.
const PLACES: [(u64, u64, u64); 5] = [
    (8192, 4096, 12),
    (4096, 2048, 21),
    (2048, 1024, 33),
    (1024, 512, 49),
    (512, 512, 49),
];
/// Heads of a 3390.
const HEADS: u64 = 15;
const FORMAT_AT: u64 = 44;
const EXTENT_AT: u64 = 105;
/// The version of an LDL label from which on it has the number of formatted blocks.
const WITH_BLOCKS: u8 = 0xf2;

/// A track: the upper bits of a large cylinder are in the field of the head.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Track {
    cylinder: U16,
    head: U16,
}

impl Track {
    /// The track's number, counted from the beginning of the disk.
    fn number(self, heads: u64) -> u64 {
        let head = u64::from(self.head.get());
        let cylinder = u64::from(self.cylinder.get()) | (head >> 4) << 16;
        cylinder * heads + (head & 15)
    }
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for (at, block, per_track) in PLACES {
        let is = |magic| window.matches(at, magic);
        let (kind, serial_at) = if at != 512 && is(CDL)? {
            ("CDL", at + 8)
        } else if is(LDL)? {
            ("LDL", at + 4)
        } else if is(CMS)? {
            ("CMS", at + 4)
        } else {
            continue;
        };
        // What four letters leave in doubt: the serial number is of letters, too.
        let Some(serial) = ebcdic(window.get(serial_at)?) else {
            continue;
        };
        let mut out = Detected::default();
        out.record_text(window, Key::Version, kind, at, 4);
        if !serial.is_empty() {
            out.record_text(window, Key::TableId, serial, serial_at, 6);
        }
        out.record(
            window,
            Key::TableSectorSize,
            Value::Bytes(Bytes::new(block)),
            at,
            4,
        );
        match kind {
            "CDL" => read_vtoc(window, at, block, per_track, &mut out)?,
            "LDL" => read_single(window, at, block, &mut out)?,
            _ => {}
        }
        return Ok(Some(out));
    }
    Ok(None)
}

/// The partitions of a CDL disk.
fn read_vtoc(
    window: &Window<'_>,
    label: u64,
    block: u64,
    per_track: u64,
    out: &mut Detected,
) -> Result<(), ReadError> {
    let place: Track = window.get(label + 15)?;
    let record: u8 = window.get(label + 19)?;
    let first = place.number(HEADS) * per_track + u64::from(record.saturating_sub(1));
    let vtoc = first * block;
    let heads_at = vtoc + 64;
    let is_vtoc = window.matches(vtoc + FORMAT_AT, &[0xf4])?
        && window.matches(heads_at, &15_u16.to_be_bytes())?;
    if !is_vtoc {
        let detail =
            "no VTOC where a disk with the tracks of a 3390 has it: its partitions are not read";
        out.odd(window, AnomalyKind::Missing, detail, label + 15, 5);
        return Ok(());
    }
    // The VTOC is within its track; the rest of that has at most 48 blocks.
    let rest = per_track - (first % per_track);
    for at in (1..rest).map(|index| vtoc + index * block) {
        let format: [u8; 1] = window.get(at + FORMAT_AT)?;
        match format {
            [0xf4 | 0xf5 | 0xf7 | 0xf9] => continue,
            [0xf1 | 0xf8] => {}
            _ => break,
        }
        let limits: [Track; 2] = window.get(at + EXTENT_AT + 2)?;
        let [start, last] = limits.map(|track| track.number(HEADS));
        // 28 bits of cylinders times heads and blocks fit in 64 bits of bytes.
        let track = per_track * block;
        let len = (last + 1).checked_sub(start).map(|count| count * track);
        let Some(len) = len.filter(|len| *len != 0) else {
            let detail = "a partition of the VTOC that ends before it begins";
            out.odd(window, AnomalyKind::Damaged, detail, at + EXTENT_AT, 10);
            continue;
        };
        let fields = [(at + EXTENT_AT + 2, 4), (at + EXTENT_AT + 6, 4)];
        add(window, start * track, len, block, at, fields, out);
    }
    Ok(())
}

/// The partition of an LDL disk.
fn read_single(
    window: &Window<'_>,
    label: u64,
    block: u64,
    out: &mut Detected,
) -> Result<(), ReadError> {
    let version: u8 = window.get(label + 79)?;
    let blocks: U64 = window.get(label + 80)?;
    let size = if version >= WITH_BLOCKS {
        blocks.get().saturating_mul(block)
    } else {
        window.size().get()
    };
    let start = label + block;
    if let Some(len) = size.checked_sub(start).filter(|len| *len != 0) {
        let fields = [(label, 4), (label + 79, 9)];
        add(window, start, len, block, label, fields, out);
    }
    Ok(())
}

fn add(
    window: &Window<'_>,
    start: u64,
    len: u64,
    block: u64,
    at: u64,
    [first_at, len_at]: [(u64, usize); 2],
    out: &mut Detected,
) {
    let Some(extent) = Extent::new(Bytes::new(start), Bytes::new(len)) else {
        return;
    };
    let number = u64::try_from(out.children.len()).map_or(u64::MAX, |count| count + 1);
    let slot = Slot {
        name: format!("partition {number}"),
        number,
        extent,
        kind: "dasd".into(),
        kind_at: first_at,
        first: start / block,
        first_at,
        len_at,
        at,
    };
    out.children.push(slot.child(window, Nesting::Plain));
}

/// A volume serial number; `None` when it has what none has.
fn ebcdic(raw: [u8; 6]) -> Option<String> {
    let letter = |byte: u8| {
        let ascii = match byte {
            0xc1..=0xc9 => b'A' + (byte - 0xc1),
            0xd1..=0xd9 => b'J' + (byte - 0xd1),
            0xe2..=0xe9 => b'S' + (byte - 0xe2),
            0xf0..=0xf9 => b'0' + (byte - 0xf0),
            0x40 => b' ',
            0x5b => b'$',
            0x60 => b'-',
            0x7b => b'#',
            0x7c => b'@',
            _ => return None,
        };
        Some(char::from(ascii))
    };
    let text: String = raw.into_iter().map(letter).collect::<Option<_>>()?;
    Some(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Asked;
    use crate::partition::testing::{children, found, kinds, put};

    /// "0X0150" in EBCDIC.
    const SERIAL: [u8; 6] = [0xf0, 0xe7, 0xf0, 0xf1, 0xf5, 0xf0];

    /// As fdasd leaves a 3390 with two partitions: label in block 2, VTOC in track 1, tracks 2 to 16 and 17 to 19.
    fn cdl() -> Vec<u8> {
        let mut disk = vec![0; 4 << 20];
        put(&mut disk, 8192, CDL);
        put(&mut disk, 8200, &SERIAL);
        put(&mut disk, 8192 + 15, &[0, 0, 0, 1, 1]);
        let vtoc = 12 * 4096;
        for (index, format) in [0xf4, 0xf5, 0xf7, 0xf1, 0xf8].into_iter().enumerate() {
            disk[vtoc + index * 4096 + 44] = format;
        }
        put(&mut disk, vtoc + 64, &[0, 15]);
        // Cylinder 0, head 2 to cylinder 1, head 1; cylinder 1, head 2 to 4.
        put(
            &mut disk,
            vtoc + 3 * 4096 + 105,
            &[1, 0, 0, 0, 0, 2, 0, 1, 0, 1],
        );
        put(
            &mut disk,
            vtoc + 4 * 4096 + 105,
            &[1, 0, 0, 1, 0, 2, 0, 1, 0, 4],
        );
        disk
    }

    #[test]
    fn a_cdl_disk_has_the_partitions_of_its_vtoc() {
        let detected = found(&PROBER, &cdl()).expect("a DASD label");
        assert_eq!(detected.text(Key::Version).as_deref(), Some("CDL"));
        assert_eq!(detected.text(Key::TableId).as_deref(), Some("0X0150"));
        assert_eq!(detected.bytes(Key::TableSectorSize), Some(4096));
        let track = 12 * 4096;
        let want = [
            (1, 2 * track, 15 * track, "dasd".into()),
            (2, 17 * track, 3 * track, "dasd".into()),
        ];
        assert_eq!(children(&detected), want);
        assert_eq!(kinds(&detected), []);
    }

    #[test]
    fn a_vtoc_that_is_elsewhere_and_extents_that_run_backwards_are_named() {
        let mut disk = cdl();
        disk[12 * 4096 + 3 * 4096 + 105 + 5] = 40;
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
        assert_eq!(children(&detected).len(), 1);
        disk[12 * 4096 + 65] = 14;
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(kinds(&detected), [AnomalyKind::Missing]);
        assert_eq!(children(&detected), []);
        // A place beyond the end is no error.
        put(&mut disk, 8192 + 15, &[0xff; 5]);
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(kinds(&detected), [AnomalyKind::Missing]);
    }

    #[test]
    fn an_ldl_disk_has_one_partition() {
        let mut disk = vec![0; 1 << 20];
        put(&mut disk, 8192, LDL);
        put(&mut disk, 8196, &SERIAL);
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(detected.text(Key::Version).as_deref(), Some("LDL"));
        let rest = (1 << 20) - 12_288;
        assert_eq!(children(&detected), [(1, 12_288, rest, "dasd".into())]);
        disk[8192 + 79] = 0xf2;
        put(&mut disk, 8192 + 80, &200_u64.to_be_bytes());
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(children(&detected)[0].2, 197 * 4096);
    }

    #[test]
    fn cms_is_named_and_letters_alone_are_no_label() {
        let mut disk = vec![0; 64 << 10];
        put(&mut disk, 512, CMS);
        assert!(found(&PROBER, &disk).is_none());
        put(&mut disk, 516, &[0x40; 6]);
        let detected = found(&PROBER, &disk).expect("a DASD label");
        assert_eq!(detected.text(Key::Version).as_deref(), Some("CMS"));
        assert_eq!(detected.text(Key::TableId), None);
        assert_eq!(children(&detected), []);
    }
}
