//! The label in one of the first four sectors, and the header of the physical volume behind it: where its data, its metadata
//! and a boot loader's space lie.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::crc;
use crate::Window;
use crate::record::{Place, Recorder, place};

pub(super) const MAGIC: &[u8; 8] = b"LABELONE";
const TYPE: &[u8; 8] = b"LVM2 001";
/// The label is in one of this many sectors of 512 bytes.
pub(super) const SECTORS: u64 = 4;
pub(super) const SECTOR: u64 = 512;
/// The checksum covers the sector from here on.
const SUMMED_FROM: usize = 20;
/// Flag of the extension: the volume belongs to a group, which it cannot name when it has no metadata area.
const IN_USE: u32 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Label {
    magic: [u8; 8],
    sector: U64,
    checksum: U32,
    /// Of the header of the physical volume, from the start of the label.
    header: U32,
    kind: [u8; 8],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Clone, Copy)]
#[repr(C)]
struct Area {
    offset: U64,
    /// 0 for a data area: up to the end.
    size: U64,
}

const UUID: usize = 32;
const AREA: usize = size_of::<Area>();

/// What a list of areas says of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Where the entry stands in the window.
    pub(super) at: u64,
}

/// A label with its header.
pub(super) struct Header {
    /// Where the label stands in the window.
    pub(super) base: u64,
    /// The sector that the label is in.
    sector: [u8; 512],
    /// Of the physical volume, as LVM prints it.
    pub(super) id: String,
    id_at: usize,
    pub(super) device_size: u64,
    pub(super) data: Vec<Located>,
    pub(super) metadata: Vec<Located>,
    pub(super) boot: Vec<Located>,
    /// Version of the extension; 0 when there is none.
    pub(super) extension: u32,
    extension_at: usize,
    /// It says that it belongs to a group.
    pub(super) in_use: bool,
    /// A list of areas does not end within the sector.
    cut: Option<usize>,
}

/// The first label that names LVM2. One with a wrong checksum is used when no other is better.
pub(super) fn find(window: &Window<'_>) -> Result<Option<Header>, ReadError> {
    let mut spare = None;
    for number in 0..SECTORS {
        let base = number * SECTOR;
        if window.size().get() < base + SECTOR {
            break;
        }
        let mut sector = [0; 512];
        window.fill(base, &mut sector)?;
        let Some(header) = Header::read(base, sector) else {
            continue;
        };
        if header.sum_is_right() && header.number() == number {
            return Ok(Some(header));
        }
        if spare.is_none() {
            spare = Some(header);
        }
    }
    Ok(spare)
}

impl Header {
    fn read(base: u64, sector: [u8; 512]) -> Option<Header> {
        let (label, _) = Label::read_from_prefix(&sector).ok()?;
        if label.magic != *MAGIC || label.kind != *TYPE {
            return None;
        }
        let id_at = usize::try_from(label.header.get()).ok()?;
        let raw = sector.get(id_at..id_at.checked_add(UUID)?)?;
        let id = dashed(raw)?;
        let size_at = id_at + UUID;
        let device_size = number64(&sector, size_at)?;
        let mut header = Header {
            base,
            sector,
            id,
            id_at,
            device_size,
            data: Vec::new(),
            metadata: Vec::new(),
            boot: Vec::new(),
            extension: 0,
            extension_at: 0,
            in_use: false,
            cut: None,
        };
        let mut at = size_at + 8;
        header.data = header.areas(&mut at);
        header.metadata = header.areas(&mut at);
        if header.cut.is_none() {
            header.extension_at = at;
            if let Some((version, flags)) =
                number32(&header.sector, at).zip(number32(&header.sector, at + 4))
                && version > 0
            {
                header.extension = version;
                header.in_use = version > 1 && flags & IN_USE != 0;
                at += 8;
                header.boot = header.areas(&mut at);
            }
        }
        Some(header)
    }

    /// A list of areas, which an empty one ends. The sector bounds it.
    fn areas(&mut self, at: &mut usize) -> Vec<Located> {
        let mut out = Vec::new();
        while let Some(raw) = self.sector.get(*at..*at + AREA) {
            let Ok(area) = Area::read_from_bytes(raw) else {
                break;
            };
            let place = *at;
            *at += AREA;
            if area.offset.get() == 0 {
                return out;
            }
            out.push(Located {
                offset: area.offset.get(),
                size: area.size.get(),
                at: self.base + u64::try_from(place).unwrap_or(0),
            });
        }
        self.cut.get_or_insert(*at);
        out
    }

    fn label(&self) -> Option<Label> {
        Label::read_from_prefix(&self.sector)
            .ok()
            .map(|(label, _)| label)
    }

    fn number(&self) -> u64 {
        self.label().map_or(u64::MAX, |label| label.sector.get())
    }

    fn sum_is_right(&self) -> bool {
        let sum = self.sector.get(SUMMED_FROM..).map(crc::of);
        self.label().map(|label| label.checksum.get()) == sum
    }

    /// Where the identifier of the physical volume stands, counted from the label.
    pub(super) fn id_place(&self) -> Place {
        Place::new(self.id_at, UUID)
    }

    /// Where the version of the extension stands, counted from the label.
    pub(super) fn extension_place(&self) -> Place {
        Place::new(self.extension_at, 4)
    }

    /// Where the size of the device stands, counted from the label.
    pub(super) fn device_size_place(&self) -> Place {
        Place::new(self.id_at + UUID, 8)
    }

    /// What is odd about the label.
    pub(super) fn remark(&self, window: &Window<'_>, say: &mut Recorder<'_>) {
        if let Some(label) = self.label() {
            if !self.sum_is_right() {
                let sum = self.sector.get(SUMMED_FROM..).map_or(0, crc::of);
                let detail = format!(
                    "the checksum of the LVM2 label is {:#010x}, computed {sum:#010x}; it is read all the same",
                    label.checksum.get()
                );
                say.odd(AnomalyKind::Damaged, detail, place!(Label.checksum));
            }
            if label.sector.get() != self.base / SECTOR {
                let detail = format!(
                    "the LVM2 label calls itself that of sector {}, and stands in sector {}",
                    label.sector.get(),
                    self.base / SECTOR
                );
                say.odd(AnomalyKind::Damaged, detail, place!(Label.sector));
            }
        }
        if let Some(at) = self.cut {
            say.odd(
                AnomalyKind::Damaged,
                "a list of areas in the header of the LVM2 physical volume does not end in its sector",
                Place::new(at.saturating_sub(AREA), AREA),
            );
        }
        let (claimed, have) = (Bytes::new(self.device_size), window.size());
        if claimed > have {
            let detail = format!(
                "the LVM2 physical volume was made on a device of {} bytes; this one has {}",
                claimed.grouped(),
                have.grouped()
            );
            say.odd(AnomalyKind::SizeDiffers, detail, self.device_size_place());
        }
    }
}

fn number64(sector: &[u8], at: usize) -> Option<u64> {
    let raw = sector.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(raw.try_into().ok()?))
}

fn number32(sector: &[u8], at: usize) -> Option<u32> {
    let raw = sector.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(raw.try_into().ok()?))
}

/// An identifier of 32 letters as LVM prints it: 6, 4, 4, 4, 4, 4 and 6 of them. `None` when there is anything but what LVM
/// puts into identifiers.
pub(super) fn dashed(raw: &[u8]) -> Option<String> {
    if raw.len() != UUID
        || !raw
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'!' | b'#'))
    {
        return None;
    }
    let mut out = String::with_capacity(UUID + 6);
    for (index, letter) in raw.iter().enumerate() {
        if matches!(index, 6 | 10 | 14 | 18 | 22 | 26) {
            out.push('-');
        }
        out.push(char::from(*letter));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_cut_as_the_tools_cut_them() {
        let raw = b"Ll7yJmDIer4v69sIACgut12MiH1cSQvj";
        assert_eq!(
            dashed(raw).as_deref(),
            Some("Ll7yJm-DIer-4v69-sIAC-gut1-2MiH-1cSQvj")
        );
        assert_eq!(dashed(b"too short"), None);
        assert_eq!(dashed(&[b'\n'; 32]), None);
    }
}
