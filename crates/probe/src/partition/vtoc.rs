//! Solaris x86 VTOC: up to sixteen slices inside an MBR partition of type 82 or bf.
//!
//! ```text
//! sector 1 of the partition
//!   byte 12   sanity 600ddeee (4), version 1 (4)
//!   byte 28   sector size (2), number of slices (2)
//!   byte 72   sixteen slices of 12 bytes: tag (2), flags (2), start (4), sectors (4)
//!   byte 508  label magic dabe (2), exclusive-or of all 256 words (2)
//! ```
//!
//! Slices count sectors of 512 bytes from the start of the partition. Slices without sectors are unused. The slice with
//! tag 5 (`backup`) is the whole partition again and is left out, as libblkid does.
//!
//! Source: illumos `sys/vtoc.h` and `sys/dklabel.h` for the layout, Linux `block/partitions/msdos.c` for the meaning.

use straddle_geometry::{Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "vtoc",
    class: Class::NestedTable,
    min_size: 1024,
    magics: &[Magic {
        offset: LABEL_AT + 12,
        bytes: &0x600d_deee_u32.to_le_bytes(),
    }],
    probe,
    find: None,
};

const LABEL_AT: u64 = 512;
const VERSION_AT: u64 = LABEL_AT + 16;
const COUNT_AT: u64 = LABEL_AT + 30;
const SLICES_AT: u64 = LABEL_AT + 72;
const MAGIC_AT: usize = 508;
const SLICE_LEN: u64 = 12;
/// Tag of the slice that covers the whole partition.
const WHOLE: u16 = 5;
/// Sectors are 512 bytes whatever the medium: that is what the format and its readers count in.
const SECTOR: SectorSize = SectorSize::B512;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Slice {
    tag: U16,
    flags: U16,
    start: U32,
    sectors: U32,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let mut out = Detected::default();
    let version: U32 = window.get(VERSION_AT)?;
    if version.get() != 1 {
        let detail = format!("VTOC version {version}; expected 1: its slices are not read");
        out.odd(window, AnomalyKind::Damaged, detail, VERSION_AT, 4);
        return Ok(Some(out));
    }
    check_sum(window, &mut out)?;
    let slices: [Slice; 16] = window.get(SLICES_AT)?;
    let count: U16 = window.get(COUNT_AT)?;
    if count.get() > 16 {
        let detail = format!("the VTOC records {count} slices; it has room for 16");
        out.odd(window, AnomalyKind::Damaged, detail, COUNT_AT, 2);
    }
    for (index, slice) in (0_u64..u64::from(count.get())).zip(&slices) {
        let (start, sectors) = (slice.start.get(), slice.sectors.get());
        if sectors == 0 || slice.tag.get() == WHOLE {
            continue;
        }
        // 32 bits of sectors fit in 64 bits of bytes.
        let extent = SECTOR
            .sectors(u64::from(start))
            .bytes()
            .zip(SECTOR.sectors(u64::from(sectors)).bytes())
            .and_then(|(start, len)| Extent::new(start, len));
        let Some(extent) = extent else { continue };
        let at = SLICES_AT + index * SLICE_LEN;
        let slot = Slot {
            name: format!("slice {index}"),
            number: index,
            extent,
            kind: format!("{:02x}", slice.tag.get()),
            kind_at: (at, 2),
            first: u64::from(start),
            first_at: (at + 4, 4),
            len_at: (at + 8, 4),
            at,
        };
        out.children.push(slot.child(window, Nesting::Plain));
    }
    Ok(Some(out))
}

/// Compares the label's checksum, where it has the magic that goes with one.
fn check_sum(window: &Window<'_>, out: &mut Detected) -> Result<(), ReadError> {
    let label: [u8; 512] = window.get(LABEL_AT)?;
    if label[MAGIC_AT..MAGIC_AT + 2] != [0xbe, 0xda] {
        return Ok(());
    }
    let sum = super::exclusive_or(&label);
    if sum != 0 {
        let detail = format!("the words of the VTOC label combine to {sum:04x}; expected 0000");
        let at = LABEL_AT + 510;
        out.odd(window, AnomalyKind::Damaged, detail, at, 2);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::testing::{children, found, kinds, put};

    fn label(slices: &[(u16, u32, u32)]) -> Vec<u8> {
        let mut disk = vec![0; 64 << 10];
        put(&mut disk, 524, &0x600d_deee_u32.to_le_bytes());
        put(&mut disk, 528, &1_u32.to_le_bytes());
        put(&mut disk, 540, &512_u16.to_le_bytes());
        put(&mut disk, 542, &16_u16.to_le_bytes());
        for (i, (tag, start, sectors)) in slices.iter().enumerate() {
            let at = 584 + 12 * i;
            put(&mut disk, at, &tag.to_le_bytes());
            put(&mut disk, at + 4, &start.to_le_bytes());
            put(&mut disk, at + 8, &sectors.to_le_bytes());
        }
        put(&mut disk, 512 + 508, &[0xbe, 0xda]);
        let sum = crate::partition::exclusive_or(&disk[512..1024]);
        put(&mut disk, 512 + 510, &sum.to_le_bytes());
        disk
    }

    #[test]
    fn slices_are_relative_and_the_backup_slice_is_left_out() {
        let disk = label(&[(2, 63, 20), (0, 0, 0), (5, 0, 128), (4, 83, 7)]);
        let detected = found(&PROBER, &disk).expect("a VTOC");
        assert_eq!(
            children(&detected),
            [
                (0, 32_256, 10_240, "02".into()),
                (3, 42_496, 3_584, "04".into())
            ]
        );
        assert_eq!(kinds(&detected), []);
    }

    #[test]
    fn wrong_versions_sums_and_counts_are_named() {
        let mut disk = label(&[(2, 63, 20)]);
        put(&mut disk, 542, &999_u16.to_le_bytes());
        let detected = found(&PROBER, &disk).expect("a VTOC");
        assert_eq!(detected.children.len(), 1);
        let details: Vec<_> = detected
            .anomalies
            .iter()
            .map(|o| o.detail.as_str())
            .collect();
        assert_eq!(
            details,
            [
                "the words of the VTOC label combine to 03f7; expected 0000",
                "the VTOC records 999 slices; it has room for 16"
            ]
        );
        put(&mut disk, 528, &2_u32.to_le_bytes());
        let detected = found(&PROBER, &disk).expect("a VTOC");
        assert_eq!(
            detected.anomalies[0].detail,
            "VTOC version 2; expected 1: its slices are not read"
        );
        assert_eq!(detected.children.len(), 0);
    }
}
