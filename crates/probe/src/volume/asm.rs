//! Disks of Oracle ASM: which disk group a disk is in, and the units in which ASM places things.
//!
//! ```text
//! byte  0  1: low byte first, 0: high byte first (1)    byte 104  name of the disk group (32)
//!       2  1: header of a disk (1)                           136  name of the failure group (32)
//!      32  "ORCLDISK", and what ASMLib calls it (32)         216  sector size (2)
//!      68  number in the disk group (2)                      218  size of a metadata block (2)
//!      70  redundancy: 1 external, 2 normal, 3 high (1)      220  size of an allocation unit (4)
//!      72  name of the disk (32)                             228  allocation units on the disk (4)
//! ```
//!
//! A disk with ASMLib's label only has no header yet: its first 32 bytes are zero. Units count from the start of the disk. Where
//! a file's units lie is in ASM's own directories, which are not read.
//!
//! No disk of a real instance was at hand. Sources: `asmdisk.h` of Oracle's ASMLib and libblkid for the label; listings by kfed of
//! disks of several owners, with the place of each field, for the rest (oralife.cn, "kfed disk header": a disk of a group of
//! normal redundancy; topic.alibabacloud.com, "Description of ASM disk header definition using kfed"; hhutzler.de, "Using kfed/dd
//! to repair ASM disk header corruption").

use straddle_geometry::{Bytes, Grid, Map, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Fact, GridRole, Key, Layer, LayerKind};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::record::{Recorder, place, printable};
use crate::{Detected, Magic, Window};

const LABEL: [u8; 8] = *b"ORCLDISK";
const DISK_HEADER: u8 = 1;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "asm",
    title: "Oracle ASM disk",
    reads: "the header of a disk: disk group, sector size, metadata block, allocation unit; labels of ASMLib",
    refuses: "where the files of a disk group lie",
    verified: "its published layout only: no disk of a real instance was tried; blkid for the label",
    min_size: 4096,
    magics: &[Magic {
        offset: 32,
        bytes: &LABEL,
    }],
    beside: Beside::NoTable,
    recognise,
    assemble,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    low_first: u8,
    block: u8,
    kind: u8,
    unused_1: [u8; 29],
    label: [u8; 8],
    library_name: [u8; 24],
    compatible: [u8; 4],
    number: [u8; 2],
    redundancy: u8,
    state: u8,
    disk: [u8; 32],
    group: [u8; 32],
    failure_group: [u8; 32],
    unused_2: [u8; 48],
    sector_size: [u8; 2],
    block_size: [u8; 2],
    unit: [u8; 4],
    unused_3: [u8; 4],
    units: [u8; 4],
}

impl Header {
    fn half(&self, raw: [u8; 2]) -> u64 {
        let read = if self.low_first == 0 {
            u16::from_be_bytes
        } else {
            u16::from_le_bytes
        };
        read(raw).into()
    }

    fn word(&self, raw: [u8; 4]) -> u64 {
        let read = if self.low_first == 0 {
            u32::from_be_bytes
        } else {
            u32::from_le_bytes
        };
        read(raw).into()
    }

    /// False for a disk that only ASMLib has labelled.
    fn is_written(&self) -> bool {
        self.kind == DISK_HEADER && self.low_first <= 1
    }

    /// Size of an allocation unit: 1 to 64 MiB, in every version a power of two.
    fn unit(&self) -> Option<u64> {
        let unit = self.word(self.unit);
        let exists = unit.is_power_of_two() && (1 << 20..=64 << 20).contains(&unit);
        exists.then_some(unit)
    }
}

fn said(window: &Window<'_>, header: &Header) -> Detected {
    let mut say = Recorder::new(window, 0);
    say.name(
        Key::Label,
        &header.library_name,
        place!(Header.library_name),
    );
    if !header.is_written() {
        return say.finish();
    }
    say.name(Key::VolumeGroup, &header.group, place!(Header.group));
    say.name(Key::Role, &header.disk, place!(Header.disk));
    let redundancy = match header.redundancy {
        1 => Some("external"),
        2 => Some("normal"),
        3 => Some("high"),
        _ => None,
    };
    if let Some(redundancy) = redundancy {
        say.text(Key::Layout, redundancy, place!(Header.redundancy));
    }
    let sector = header.half(header.sector_size);
    say.bytes_if_set(Key::SectorSize, sector, place!(Header.sector_size));
    let block = header.half(header.block_size);
    say.bytes_if_set(Key::BlockSize, block, place!(Header.block_size));
    say.bytes_if_set(
        Key::ExtentSize,
        header.word(header.unit),
        place!(Header.unit),
    );
    say.finish()
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let header: Header = window.get(0)?;
    let (set, member) = if header.is_written() {
        (printable(&header.group), printable(&header.disk))
    } else {
        (String::new(), String::new())
    };
    Ok(Some(Recognised {
        detected: said(window, &header),
        set,
        member,
        of: None,
    }))
}

/// One layer over all disks of a group: what lies on which of them only ASM's directories say.
fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    for (number, part) in parts.iter().enumerate() {
        let header: Header = part.window.get(0)?;
        if !header.is_written() {
            continue;
        }
        let mut say = Recorder::new(&part.window, 0);
        let mut layer = Layer::new(
            LayerKind::Volume,
            format!(
                "{} of {}",
                printable(&header.disk),
                printable(&header.group)
            ),
        );
        layer.format = Some("asm".into());
        layer.map = Map::IDENTITY;
        match header.unit() {
            Some(unit) => {
                if let Some(grid) = Unit::new(unit) {
                    let fact = say.fact(Grid::new(grid), place!(Header.unit));
                    layer.add_grid(GridRole::AllocationUnit, fact);
                }
                let size = Bytes::new(unit).checked_mul(header.word(header.units));
                let fits = size.filter(|size| *size > Bytes::ZERO && *size <= part.window.size());
                layer.size = fits.map(|size| say.fact(size, place!(Header.units)));
            }
            None => {
                let detail = format!(
                    "allocation units of {} bytes; expected a power of two from 1 to 64 MiB",
                    header.word(header.unit)
                );
                say.odd(AnomalyKind::Damaged, detail, place!(Header.unit));
            }
        }
        if layer.size.is_none() {
            layer.size = Some(Fact::derived(part.window.size(), "the length of the disk"));
        }
        layer.anomalies = say.finish().anomalies;
        assembly.nodes.push(Node {
            layer,
            below: vec![Below::Part(number)],
            holds: Holds::Nothing,
        });
    }
    Ok(assembly)
}

#[cfg(test)]
mod tests;
