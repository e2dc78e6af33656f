//! VDI, the native format of VirtualBox.
//!
//! ```text
//! 0x000  text, e.g. "<<< Oracle VM VirtualBox Disk Image >>>\n"
//! 0x040  u32 signature 0xbeda107f        0x044  u32 version 0x0001_0001
//! 0x048  u32 header length               0x04c  u32 type: 1 dynamic, 2 fixed, 3 undo, 4 differencing
//! 0x154  u32 table offset                0x158  u32 data offset
//! 0x168  u32 sector size                 0x170  u64 disk size
//! 0x178  u32 block size                  0x17c  u32 extra bytes before each block
//! 0x180  u32 blocks of the disk          0x184  u32 blocks allocated
//! 0x188  UUID of the image               0x1b8  UUID of the parent
//! table: u32 per block: number of the block in the file; 0xffffffff free, 0xfffffffe zero
//! ```
//!
//! Block n of the file lies at `data offset + n × (extra + block size) + extra`, so the data offset decides the phase of
//! every block. qemu-img puts it right behind the table's last sector (1,024 for small disks), VirtualBox at a multiple
//! of 1 MiB since 2010.
//!
//! Sources: VirtualBox `src/VBox/Storage/VDICore.h`, QEMU `block/vdi.c` (facts only).

use straddle_geometry::{Bytes, SectorSize, Unit, entry};
use straddle_io::ReadError;
use straddle_stack::{GridRole, Key, OddityKind};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::names::guid;
use super::table::{Entries, Flat, TableFile};
use super::{Container, Content, Disk, Format, Opening, OpensAs, Reference, Role};
use crate::Magic;
use crate::record::{Recorder, place};

pub(crate) static FORMAT: Format = Format {
    name: "vdi",
    magics: &[Magic {
        offset: 0x40,
        bytes: &[0x7f, 0x10, 0xda, 0xbe],
    }],
    tail: &[],
    open,
};

const FREE: u32 = 0xffff_ffff;
const ZERO: u32 = 0xffff_fffe;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    text: [u8; 0x40],
    signature: U32,
    version: U32,
    header_len: U32,
    kind: U32,
    flags: U32,
    comment: [u8; 0x100],
    table_offset: U32,
    data_offset: U32,
    cylinders: U32,
    heads: U32,
    sectors: U32,
    sector_size: U32,
    unused: U32,
    disk_size: U64,
    block_size: U32,
    block_extra: U32,
    blocks: U32,
    allocated: U32,
    uuid: [u8; 16],
    last_snapshot: [u8; 16],
    link: [u8; 16],
    parent: [u8; 16],
}

/// What an entry of the table stands for.
#[derive(Debug)]
struct BlockNumbers {
    data_offset: u64,
    stride: u64,
    extra: u64,
}

impl Entries for BlockNumbers {
    const WIDTH: u64 = 4;

    fn decode(&self, raw: &[u8], out: &mut Vec<u64>) {
        let (entries, _) = raw.as_chunks::<4>();
        out.extend(entries.iter().map(|raw| match u32::from_le_bytes(*raw) {
            FREE => entry::ABSENT,
            ZERO => entry::ZERO,
            // Below 2³² × (2³² + 2³²): no overflow.
            n => self.data_offset + self.extra + u64::from(n) * self.stride,
        }));
    }
}

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let header: Header = window.get(0)?;
    if header.version.get() >> 16 != 1 {
        return Ok(None);
    }
    let mut record = Recorder::new(window, 0);
    let (kind, differencing) = match header.kind.get() {
        1 => ("dynamic", false),
        2 => ("fixed", false),
        3 | 4 => ("differencing", true),
        other => {
            let detail = format!("image type {other}; expected 1 to 4");
            record.odd(OddityKind::Damaged, detail, place!(Header.kind));
            return Ok(Some(Container::unusable(record.finish())));
        }
    };
    record.text(Key::Subformat, kind, place!(Header.kind));
    record.bytes(
        Key::DataOffset,
        u64::from(header.data_offset.get()),
        place!(Header.data_offset),
    );
    record.grid(
        GridRole::ContainerBlock,
        u64::from(header.block_size.get()),
        0,
        place!(Header.block_size),
    );
    if SectorSize::new(header.sector_size.get()).is_some() {
        let sector = u64::from(header.sector_size.get());
        record.grid(
            GridRole::LogicalSector,
            sector,
            0,
            place!(Header.sector_size),
        );
    }
    let Some(block) = Unit::new(u64::from(header.block_size.get())) else {
        let detail = "block size 0; expected a power of two, usually 1 MiB";
        record.odd(OddityKind::Damaged, detail, place!(Header.block_size));
        return Ok(Some(Container::unusable(record.finish())));
    };
    let size = Bytes::new(header.disk_size.get());
    let blocks = u64::from(header.blocks.get());
    if size.get().div_ceil(block.get()) > blocks {
        let detail = format!(
            "a table of {} blocks of {block} for a disk of {size}: {} would be needed",
            Bytes::new(blocks).grouped(),
            Bytes::new(size.get().div_ceil(block.get())).grouped()
        );
        record.odd(OddityKind::Damaged, detail, place!(Header.blocks));
    }
    let mut references = Vec::new();
    if differencing {
        // The file does not say where its parent lies: VirtualBox keeps a register of UUIDs.
        references.push(Reference {
            role: Role::Parent,
            names: Vec::new(),
            opens_as: OpensAs::Format("vdi"),
            expects: Some(guid(&header.parent)),
            source: record.source(place!(Header.parent)),
        });
    }
    let extra = u64::from(header.block_extra.get());
    let table = Flat {
        file: TableFile::new(&opening.file),
        start: u64::from(header.table_offset.get()),
        entries: blocks,
        block,
        size,
        parent: differencing.then_some(1),
        format: BlockNumbers {
            data_offset: u64::from(header.data_offset.get()),
            stride: extra + block.get(),
            extra,
        },
    };
    let disk = Disk {
        size: record.fact(size, place!(Header.disk_size)),
        content: Content::Blocks(std::sync::Arc::new(table)),
        references,
        identities: vec![guid(&header.uuid)],
    };
    Ok(Some(Container {
        detected: record.finish(),
        disk: Some(disk),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::testing::{extent, listed, open};
    use crate::fixture::{Asked, Volume};
    use straddle_geometry::{Gap, Listed, Segment};

    /// A disk of three and a half 4 KiB blocks: the first free, then block 1 and 0 of the file, then zeroes.
    fn image(kind: u32) -> Volume {
        let table: Vec<u8> = [FREE, 1, 0, ZERO]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        Volume::new(1536 + 2 * 4096)
            .with(0x40, 0xbeda_107f_u32.to_le_bytes())
            .with(0x44, 0x0001_0001_u32.to_le_bytes())
            .with(0x4c, kind.to_le_bytes())
            .with(0x154, 512_u32.to_le_bytes())
            .with(0x158, 1536_u32.to_le_bytes())
            .with(0x168, 512_u32.to_le_bytes())
            .with(0x170, 14_336_u64.to_le_bytes())
            .with(0x178, 4096_u32.to_le_bytes())
            .with(0x180, 4_u32.to_le_bytes())
            .with(
                0x188,
                [
                    0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 8, 9, 10, 11, 12, 13, 14, 15,
                ],
            )
            .with(512, table)
    }

    #[test]
    fn blocks_lie_where_the_data_offset_puts_them() {
        let container = open(&FORMAT, &image(1));
        assert_eq!(container.detected.bytes(Key::DataOffset), Some(1536));
        assert_eq!(
            container.detected.grid(GridRole::ContainerBlock),
            Some((4096, 0))
        );
        let disk = container.disk.expect("a disk");
        assert_eq!(disk.identities, ["00112233-4455-6677-0809-0a0b0c0d0e0f"]);
        assert_eq!(
            listed(&disk),
            [
                Listed::Gap(extent(0, 4096), Gap::Absent),
                Listed::Piece(Segment {
                    upper: extent(4096, 4096),
                    target: 0,
                    lower: Bytes::new(1536 + 4096)
                }),
                Listed::Piece(Segment {
                    upper: extent(8192, 4096),
                    target: 0,
                    lower: Bytes::new(1536)
                }),
                Listed::Gap(extent(12_288, 2048), Gap::Zero),
            ]
        );
    }

    #[test]
    fn a_differencing_image_names_its_parent_by_uuid_only() {
        let image = image(4).with(0x1b8, [7; 16]);
        let disk = open(&FORMAT, &image).disk.expect("a disk");
        let [parent] = disk.references.as_slice() else {
            panic!("{:?}", disk.references)
        };
        assert_eq!(
            parent.expects.as_deref(),
            Some("07070707-0707-0707-0707-070707070707")
        );
        assert!(parent.names.is_empty());
    }

    #[test]
    fn a_table_that_is_too_short_for_its_disk_is_damage() {
        let container = open(&FORMAT, &image(1).with(0x180, 3_u32.to_le_bytes()));
        assert_eq!(container.detected.oddities(), [OddityKind::Damaged]);
        let container = open(&FORMAT, &image(1).with(0x178, 0_u32.to_le_bytes()));
        assert!(container.disk.is_none());
    }
}
