//! What boot sectors of FAT, NTFS and exFAT say of where their partition starts, and the copies of these sectors.
//!
//! ```text
//! FAT, NTFS   11 bytes per sector (2)   28 hidden sectors (4): where the partition starts
//! FAT32       50 sector of the copy (2)
//! NTFS        40 sectors of the volume (8); the copy is behind the last one
//! exFAT       64 where the partition starts, in sectors (8)   108 log2 of bytes per sector
//!             sectors 0 to 10, their checksum in sector 11, and the same again in sectors 12 to 23
//! ```
//!
//! A field that is zero says nothing, and stays zero. In a logical partition some systems count from its boot record; such a distance does
//! not change when both move. Sources: Microsoft's FAT and exFAT specifications; the layout of NTFS as ntfs-3g has it.

use straddle_geometry::Bytes;

use super::draft::{Draft, number};
use super::layout::Place;
use crate::Refusal;

const SECTOR: usize = 512;
const HIDDEN: u64 = 28;
const EXFAT_START: usize = 64;
/// Sectors of a boot region of exFAT, of which the last has the checksum.
const EXFAT_REGION: usize = 12;

/// Edits of the boot sectors of a partition that moves.
pub(super) fn edit(draft: &mut Draft<'_>, place: &Place) -> Result<(), Refusal> {
    if place.to.len() < Bytes::new(SECTOR as u64) {
        return Ok(());
    }
    let boot = draft.then(place.to.start(), SECTOR)?;
    match &boot[3..11] {
        b"EXFAT   " => exfat(draft, place, &boot),
        b"NTFS    " => ntfs(draft, place, &boot),
        _ if is_fat(&boot) => fat(draft, place, &boot),
        _ => Ok(()),
    }
}

/// FAT has no mark that all writers keep: a jump, the end mark, a plausible sector, and the words of 12, 16 or 32 in their places.
fn is_fat(boot: &[u8]) -> bool {
    let is_sector = sector_of(boot).is_some();
    let is_named = boot[54..57] == *b"FAT" || boot[82..85] == *b"FAT";
    is_sector && is_named && matches!(boot[0], 0xeb | 0xe9) && boot[510..512] == [0x55, 0xaa]
}

fn sector_of(boot: &[u8]) -> Option<u64> {
    let sector = number(boot, 11, 2);
    matches!(sector, 512 | 1024 | 2048 | 4096).then_some(sector)
}

/// The value of the field when the partition is where it will be; `None` when it stays as it is.
fn hidden(boot: &[u8], place: &Place) -> Option<u32> {
    let sector = sector_of(boot)?;
    let said = number(boot, 28, 4);
    let is_near = place.number > 4 && (said * sector == 63 * 512 || said * sector == 1 << 20);
    let is_start = said.checked_mul(sector) == Some(place.from.start().get());
    let stays = said == 0 || is_near && !is_start;
    let to = place.to.start().get();
    let value = u32::try_from(to / sector)
        .ok()
        .filter(|_| to.is_multiple_of(sector));
    value.filter(|_| !stays)
}

fn set_hidden(
    draft: &mut Draft<'_>,
    place: &Place,
    at: u64,
    value: u32,
    name: &str,
) -> Result<(), Refusal> {
    let Some(field) = inside(place, at + HIDDEN, 4) else {
        return Ok(());
    };
    let what = format!(
        "{name} of partition {}: hidden sectors {value}",
        place.number
    );
    draft.set(field, value.to_le_bytes().to_vec(), what)
}

/// The place of some bytes of a partition when it has moved; `None` where it is too short for them.
fn inside(place: &Place, at: u64, len: u64) -> Option<Bytes> {
    let end = at.checked_add(len)?;
    (end <= place.to.len().get()).then(|| place.to.start().checked_add(Bytes::new(at)))?
}

fn fat(draft: &mut Draft<'_>, place: &Place, boot: &[u8]) -> Result<(), Refusal> {
    let (Some(value), Some(sector)) = (hidden(boot, place), sector_of(boot)) else {
        return Ok(());
    };
    set_hidden(draft, place, 0, value, "FAT boot sector")?;
    let copy = number(boot, 50, 2);
    let is_fat32 = boot[82..85] == *b"FAT";
    copy_of(
        draft,
        place,
        boot,
        copy.checked_mul(sector).filter(|at| is_fat32 && *at > 0),
        value,
    )
}

fn ntfs(draft: &mut Draft<'_>, place: &Place, boot: &[u8]) -> Result<(), Refusal> {
    let (Some(value), Some(sector)) = (hidden(boot, place), sector_of(boot)) else {
        return Ok(());
    };
    set_hidden(draft, place, 0, value, "NTFS boot sector")?;
    copy_of(
        draft,
        place,
        boot,
        number(boot, 40, 8).checked_mul(sector),
        value,
    )
}

/// The copy of a boot sector, where it is one.
fn copy_of(
    draft: &mut Draft<'_>,
    place: &Place,
    boot: &[u8],
    at: Option<u64>,
    value: u32,
) -> Result<(), Refusal> {
    let Some((at, byte)) = at.and_then(|at| Some((at, inside(place, at, SECTOR as u64)?))) else {
        return Ok(());
    };
    let copy = draft.then(byte, SECTOR)?;
    if copy[3..11] == boot[3..11] && copy[11..13] == boot[11..13] && copy[28..32] == boot[28..32] {
        set_hidden(draft, place, at, value, "copy of the boot sector")?;
    }
    Ok(())
}

fn exfat(draft: &mut Draft<'_>, place: &Place, boot: &[u8]) -> Result<(), Refusal> {
    let shift = boot[108];
    if !(9..=12).contains(&shift) {
        return Err(damaged(place, "its sector is none that exFAT has"));
    }
    let sector = 1_usize << shift;
    let said = number(boot, EXFAT_START, 8);
    let to = place.to.start().get();
    if said == 0 || !to.is_multiple_of(sector as u64) {
        return Ok(());
    }
    for (first, name) in [
        (0, "exFAT boot region"),
        (EXFAT_REGION, "copy of the exFAT boot region"),
    ] {
        let Some(at) = inside(
            place,
            (first * sector) as u64,
            (EXFAT_REGION * sector) as u64,
        ) else {
            return Err(damaged(place, "it is too short for its boot regions"));
        };
        let mut region = draft.then(at, EXFAT_REGION * sector)?;
        let (sectors, sum) = region.split_at_mut((EXFAT_REGION - 1) * sector);
        if !is_sum(sum, checksum(sectors)) {
            return Err(damaged(place, "the checksum of a boot region is wrong"));
        }
        let field = (to / sector as u64).to_le_bytes();
        sectors[EXFAT_START..EXFAT_START + 8].copy_from_slice(&field);
        let sum = checksum(sectors).to_le_bytes().repeat(sector / 4);
        let place_of = |offset: usize| at.checked_add(Bytes::new(offset as u64)).unwrap_or(at);
        let what = format!("{name} of partition {}", place.number);
        draft.set(
            place_of(EXFAT_START),
            field.to_vec(),
            format!("{what}: its start"),
        )?;
        draft.set(
            place_of((EXFAT_REGION - 1) * sector),
            sum,
            format!("{what}: its checksum"),
        )?;
    }
    Ok(())
}

/// The checksum of a boot region: over all bytes but the volume flags and the share in use.
fn checksum(sectors: &[u8]) -> u32 {
    let counted = sectors
        .iter()
        .enumerate()
        .filter(|(at, _)| !matches!(at, 106 | 107 | 112));
    counted.fold(0, |sum: u32, (_, byte)| {
        sum.rotate_right(1).wrapping_add(u32::from(*byte))
    })
}

fn is_sum(sector: &[u8], sum: u32) -> bool {
    sector.chunks_exact(4).all(|said| said == sum.to_le_bytes())
}

fn damaged(place: &Place, what: &str) -> Refusal {
    Refusal::new(
        format_args!("the exFAT of partition {} is damaged: {what}", place.number),
        "repair it first (chkdsk or fsck.exfat)",
    )
}
