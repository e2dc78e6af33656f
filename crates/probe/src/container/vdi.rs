//! VDI, the native format of VirtualBox.
//!
//! ```text
//! 0x000  text, e.g. "<<< Oracle VM VirtualBox Disk Image >>>\n"
//! 0x040  u32 signature 0xbeda107f        0x044  u32 version 0x0001_0001
//! 0x048  u32 header length               0x04c  u32 type: 1 dynamic, 2 fixed, 3 undo, 4 differencing
//! 0x154  u32 table offset                0x158  u32 data offset
//! 0x15c  u32 cylinders, heads, sectors   0x168  u32 sector size
//! 0x170  u64 disk size                   0x178  u32 block size
//! 0x17c  u32 extra bytes before each block
//! 0x180  u32 blocks of the disk          0x184  u32 blocks allocated
//! 0x188  UUID of the image               0x198  UUID of its last change
//! 0x1a8  UUID of the parent              0x1b8  UUID of the parent's last change
//! table: u32 per block: number of the block in the file; 0xffffffff free, 0xfffffffe zero
//! ```
//!
//! Block n of the file lies at `data offset + n × (extra + block size) + extra`, so the data offset decides the phase of
//! every block. qemu-img and VirtualBox before 4.0 put it right behind the table's last sector (1,024 for small disks),
//! newer ones at a multiple of 1 MiB.
//!
//! Sources: VirtualBox `src/VBox/Storage/VDICore.h`, QEMU `block/vdi.c` (facts only).

use straddle_geometry::{Bytes, SectorSize, Unit, entry};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::table::{Entries, Flat, TableFile};
use super::{Container, Content, Disk, Format, Opening, OpensAs, Reference, Role};
use crate::record::{Recorder, guid, place};
use crate::{Magic, Window};

pub(crate) static FORMAT: Format = Format {
    name: "vdi",
    reads: "dynamic, fixed, differencing, undo; the parent is sought by its UUID beside the file and in the folder above",
    refuses: "version 1.0 and older",
    magics: &[Magic {
        offset: 0x40,
        bytes: &[0x7f, 0x10, 0xda, 0xbe],
    }],
    tail: &[],
    open,
};

const FREE: u32 = 0xffff_ffff;
const ZERO: u32 = 0xffff_fffe;
/// Entries of the table that are looked at when an image is opened: 64 GiB of disk.
const MAX_ENTRIES: u64 = 1 << 16;
/// 4 GiB from block to block, so that no address of 64 bits overflows.
const LARGEST_STRIDE: u64 = 1 << 32;
/// From the field of the header's length to its last UUID.
const SHORTEST_HEADER: u32 = 0x180;

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
    last_change: [u8; 16],
    parent: [u8; 16],
    parent_change: [u8; 16],
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
            // At most (2³² - 3) × 2³² + 2 × 2³²: no overflow.
            n => self.data_offset + self.extra + u64::from(n) * self.stride,
        }));
    }
}

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let header: Header = window.get(0)?;
    let mut record = Recorder::new(window, 0);
    let version = header.version.get();
    let version = (version >> 16, version & 0xffff);
    if version.0 != 1 || version.1 == 0 {
        // Four bytes are a weak sign where the rest is not as expected.
        if !header.text.starts_with(b"<<< ") {
            return Ok(None);
        }
        let detail = format!(
            "version {}.{}; expected 1.1. Older headers are those of VirtualBox before 1.4: `VBoxManage clonemedium disk \
             OLD NEW --format VDI` writes a new one",
            version.0, version.1
        );
        record.odd(AnomalyKind::Unreadable, detail, place!(Header.version));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let (kind, differencing) = match header.kind.get() {
        1 => ("dynamic", false),
        2 => ("fixed", false),
        3 => ("undo", true),
        4 => ("differencing", true),
        other => {
            let detail = format!("image type {other}; expected 1 to 4");
            record.odd(AnomalyKind::Damaged, detail, place!(Header.kind));
            return Ok(Some(Container::unusable(record.finish())));
        }
    };
    record.text(Key::Subformat, kind, place!(Header.kind));
    facts(&mut record, &header, differencing);
    let Some(block) = Unit::new(u64::from(header.block_size.get())) else {
        let detail = "block size 0; expected a power of two, usually 1 MiB";
        record.odd(AnomalyKind::Damaged, detail, place!(Header.block_size));
        return Ok(Some(Container::unusable(record.finish())));
    };
    checks(&mut record, &header, window.size().get());
    let extra = u64::from(header.block_extra.get());
    let stride = extra + block.get();
    if stride > LARGEST_STRIDE {
        let detail = format!(
            "blocks of {block} with {} bytes before each; expected 1 MiB with none",
            Bytes::new(extra).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.block_extra));
        return Ok(Some(Container::unusable(record.finish())));
    }
    survey(window, &mut record, &header)?;
    let size = Bytes::new(header.disk_size.get());
    let mut references = Vec::new();
    if differencing {
        // The file does not say where its parent lies: VirtualBox keeps a register of UUIDs.
        references.push(Reference {
            role: Role::Parent,
            names: Vec::new(),
            opens_as: OpensAs::Format("vdi"),
            expects: Some(guid(header.parent)),
            source: record.source(place!(Header.parent)),
        });
    }
    let table = Flat {
        file: TableFile::new(&opening.file),
        start: u64::from(header.table_offset.get()),
        entries: u64::from(header.blocks.get()),
        block,
        size,
        parent: differencing.then_some(1),
        format: BlockNumbers {
            data_offset: u64::from(header.data_offset.get()),
            stride,
            extra,
        },
    };
    let disk = Disk {
        size: record.fact(size, place!(Header.disk_size)),
        content: Content::Blocks(std::sync::Arc::new(table)),
        references,
        identities: vec![guid(header.uuid)],
    };
    Ok(Some(Container {
        detected: record.finish(),
        disk: Some(disk),
    }))
}

/// Records what the header says.
fn facts(record: &mut Recorder<'_>, header: &Header, differencing: bool) {
    let version = header.version.get();
    let version = format!("{}.{}", version >> 16, version & 0xffff);
    record.text(Key::Version, version, place!(Header.version));
    record.text(Key::DiskId, guid(header.uuid), place!(Header.uuid));
    if differencing {
        record.text(Key::Parent, guid(header.parent), place!(Header.parent));
    }
    let data_offset = u64::from(header.data_offset.get());
    record.bytes(Key::DataOffset, data_offset, place!(Header.data_offset));
    let block = u64::from(header.block_size.get());
    record.grid(
        GridRole::ContainerBlock,
        block,
        0,
        place!(Header.block_size),
    );
    if header.cylinders.get() != 0 {
        let geometry = format!(
            "{}/{}/{}",
            header.cylinders.get(),
            header.heads.get(),
            header.sectors.get()
        );
        record.text(Key::DiskGeometry, geometry, place!(Header.cylinders));
    }
    let sector = header.sector_size.get();
    if SectorSize::new(sector).is_some() {
        let unit = u64::from(sector);
        record.grid(GridRole::LogicalSector, unit, 0, place!(Header.sector_size));
    }
    if sector != 512 {
        let detail = format!("sectors of {sector} bytes; expected 512, all that VirtualBox knows");
        record.odd(AnomalyKind::Damaged, detail, place!(Header.sector_size));
    }
}

/// States which fields contradict each other.
fn checks(record: &mut Recorder<'_>, header: &Header, file: u64) {
    let grouped = |n: u64| Bytes::new(n).grouped();
    let mut damaged = |detail: String, place| record.odd(AnomalyKind::Damaged, detail, place);
    let (size, block) = (header.disk_size.get(), header.block_size.get());
    let (blocks, allocated) = (header.blocks.get(), header.allocated.get());
    if header.header_len.get() < SHORTEST_HEADER {
        let detail = format!(
            "a header of {} bytes; expected at least {SHORTEST_HEADER}",
            header.header_len.get()
        );
        damaged(detail, place!(Header.header_len));
    }
    if !block.is_power_of_two() || block < 512 {
        let detail = format!("blocks of {block} bytes; expected a power of two, usually 1,048,576");
        damaged(detail, place!(Header.block_size));
    }
    if !header.block_extra.get().is_multiple_of(512) {
        let detail = format!(
            "{} extra bytes before each block; expected a multiple of 512, usually 0",
            header.block_extra.get()
        );
        damaged(detail, place!(Header.block_extra));
    }
    let needed = size.div_ceil(u64::from(block.max(1)));
    if needed > u64::from(blocks) {
        let detail = format!(
            "a table of {} blocks of {} for a disk of {}: {} would be needed",
            grouped(blocks.into()),
            Bytes::new(block.into()),
            Bytes::new(size),
            grouped(needed)
        );
        damaged(detail, place!(Header.blocks));
    }
    if allocated > blocks {
        let detail = format!(
            "{} blocks allocated of {}",
            grouped(allocated.into()),
            grouped(blocks.into())
        );
        damaged(detail, place!(Header.allocated));
    }
    let table = u64::from(header.table_offset.get());
    let end = table.saturating_add(u64::from(blocks) * 4);
    let data = u64::from(header.data_offset.get());
    let header_end = std::mem::size_of::<Header>() as u64;
    if table < header_end {
        let detail = format!(
            "a table at byte {}, inside the header, which ends at {header_end}",
            grouped(table)
        );
        damaged(detail, place!(Header.table_offset));
    }
    if end > file {
        let detail = format!(
            "a table that ends at byte {} of a file of {}",
            grouped(end),
            grouped(file)
        );
        damaged(detail, place!(Header.table_offset));
    }
    if data < end {
        let detail = format!(
            "data from byte {} on, where the table lies until {}: a block's data and the table's entries are the same \
             bytes",
            grouped(data),
            grouped(end)
        );
        record.odd(AnomalyKind::Overlap, detail, place!(Header.data_offset));
    }
}

/// Looks at the first entries of the table: no two blocks may share a place, and all must lie in the file.
fn survey(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
) -> Result<(), ReadError> {
    let start = u64::from(header.table_offset.get());
    let blocks = u64::from(header.blocks.get());
    let left = window.size().get().saturating_sub(start) / 4;
    let count = blocks.min(left).min(MAX_ENTRIES);
    let mut raw = vec![0; usize::try_from(count * 4).unwrap_or(0)];
    if count > 0 {
        window.fill(start, &mut raw)?;
    }
    let (entries, _) = raw.as_chunks::<4>();
    let mut used: Vec<(u32, usize)> = entries
        .iter()
        .map(|raw| u32::from_le_bytes(*raw))
        .enumerate()
        .filter(|(_, number)| *number < ZERO)
        .map(|(index, number)| (number, index))
        .collect();
    used.sort_unstable();
    let place = place!(Header.table_offset);
    if let Some([(number, a), (_, b)]) = used
        .windows(2)
        .find_map(|pair| <[_; 2]>::try_from(pair).ok().filter(|[a, b]| a.0 == b.0))
    {
        let detail = format!("blocks {a} and {b} of the disk are both block {number} of the file");
        record.odd(AnomalyKind::Overlap, detail, place);
    }
    let stride = u64::from(header.block_extra.get()) + u64::from(header.block_size.get());
    let last = window
        .size()
        .get()
        .checked_sub(u64::from(header.data_offset.get()))
        .map_or(0, |data| data.div_ceil(stride.max(1)));
    let beyond = used.partition_point(|(number, _)| u64::from(*number) < last);
    if let Some((number, index)) = used.get(beyond) {
        let detail = format!(
            "block {index} of the disk is block {number} of the file, beyond its end, as are {} in all",
            Bytes::new(u64::try_from(used.len() - beyond).unwrap_or(u64::MAX)).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place);
    }
    let allocated = u64::from(header.allocated.get());
    let counted = u64::try_from(used.len()).unwrap_or(u64::MAX);
    if count == blocks && counted != allocated {
        let detail = format!(
            "{} blocks allocated by the header, {} by the table, which is used",
            Bytes::new(allocated).grouped(),
            Bytes::new(counted).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.allocated));
    }
    Ok(())
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
            .with(0x48, 0x190_u32.to_le_bytes())
            .with(0x4c, kind.to_le_bytes())
            .with(0x154, 512_u32.to_le_bytes())
            .with(0x158, 1536_u32.to_le_bytes())
            .with(0x168, 512_u32.to_le_bytes())
            .with(0x170, 14_336_u64.to_le_bytes())
            .with(0x178, 4096_u32.to_le_bytes())
            .with(0x180, 4_u32.to_le_bytes())
            .with(0x184, 2_u32.to_le_bytes())
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
        let image = image(4).with(0x1a8, [7; 16]);
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

    fn details(image: &Volume) -> String {
        let container = open(&FORMAT, image);
        let details: Vec<&str> = container
            .detected
            .anomalies
            .iter()
            .map(|anomaly| anomaly.detail.as_str())
            .collect();
        details.join("; ")
    }

    #[test]
    fn a_sound_image_is_not_odd() {
        for kind in [1, 2, 3, 4] {
            assert_eq!(details(&image(kind)), "");
        }
        let undo = open(&FORMAT, &image(3)).detected;
        assert_eq!(undo.text(Key::Subformat).as_deref(), Some("undo"));
        assert_eq!(undo.text(Key::Version).as_deref(), Some("1.1"));
    }

    #[test]
    fn data_offsets_of_virtualbox_shift_every_block() {
        // As before 4.0: right behind the table's last sector; and since: at 1 MiB.
        for data in [1024_u32, 1 << 20] {
            let mut image = image(1).with(0x158, data.to_le_bytes());
            image.0.resize(data as usize + 2 * 4096, 0);
            assert_eq!(details(&image), "");
            let disk = open(&FORMAT, &image).disk.expect("a disk");
            let Listed::Piece(piece) = listed(&disk)[2] else {
                panic!("a piece")
            };
            assert_eq!(piece.lower, Bytes::new(data.into()));
        }
    }

    #[test]
    fn extra_bytes_come_before_each_block() {
        let mut image = image(1).with(0x17c, 512_u32.to_le_bytes());
        image.0.resize(1536 + 2 * 4608, 0);
        assert_eq!(details(&image), "");
        let disk = open(&FORMAT, &image).disk.expect("a disk");
        assert_eq!(
            listed(&disk)[1..3],
            [(4096, 1536 + 4608 + 512), (8192, 1536 + 512)].map(|(upper, lower)| {
                Listed::Piece(Segment {
                    upper: extent(upper, 4096),
                    target: 0,
                    lower: Bytes::new(lower),
                })
            })
        );
    }

    #[test]
    fn what_contradicts_itself_is_stated() {
        for (at, value, want) in [
            (0x48, 100, "a header of 100 bytes"),
            (0x154, 0x100, "inside the header"),
            (0x154, 13_824, "ends at byte 13,840 of a file of 9,728"),
            (0x158, 516, "the same bytes"),
            (0x168, 520, "sectors of 520 bytes"),
            (0x17c, 100, "100 extra bytes"),
            (
                0x17c,
                u32::MAX,
                "blocks of 4 KiB with 4,294,967,295 bytes before each",
            ),
            (0x178, 3000, "blocks of 3000 bytes"),
            (0x180, 3, "a table of 3 blocks"),
            (0x184, 5, "5 blocks allocated of 4"),
            (0x184, 3, "3 blocks allocated by the header, 2 by the table"),
            (
                512,
                1,
                "blocks 0 and 1 of the disk are both block 1 of the file",
            ),
            (
                512,
                2,
                "block 0 of the disk is block 2 of the file, beyond its end",
            ),
        ] {
            let got = details(&image(1).with(at, u32::to_le_bytes(value)));
            assert!(got.contains(want), "{at:#x}: {got}");
        }
    }

    #[test]
    fn other_versions_are_named_where_the_text_names_them() {
        for version in [1_u32, 0x1_0000, 0x2_0000] {
            let image = image(1)
                .with(0, "<<< innotek VirtualBox Disk Image >>>\n")
                .with(0x44, version.to_le_bytes());
            let container = open(&FORMAT, &image);
            assert!(container.disk.is_none());
            assert!(
                details(&image).contains("expected 1.1"),
                "{}",
                details(&image)
            );
        }
        // Without the text it may be anything.
        let image = image(1).with(0x46, [2]).0;
        let file: std::sync::Arc<dyn straddle_io::ReadAt> = std::sync::Arc::new(image);
        let reader = straddle_io::Reader::new(&*file);
        let found = crate::container::recognise(&reader, &file).expect("readable");
        assert!(found.is_none());
    }

    #[test]
    fn a_table_that_is_too_short_for_its_disk_is_damage() {
        let container = open(&FORMAT, &image(1).with(0x180, 3_u32.to_le_bytes()));
        assert_eq!(container.detected.anomalies(), [AnomalyKind::Damaged]);
        let container = open(&FORMAT, &image(1).with(0x178, 0_u32.to_le_bytes()));
        assert!(container.disk.is_none());
    }
}
