//! bcache: a backing device, its data shifted by the superblock before them, and a cache device of buckets.
//!
//! Source: Linux `drivers/md/bcache/bcache_ondisk.h` (`struct cache_sb_disk`), all numbers low byte first.

use straddle_geometry::{Bytes, Extent, Map};
use straddle_io::ReadError;
use straddle_stack::{Fact, Key, Layer, LayerKind, OddityKind};
use zerocopy::byteorder::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::record::{Recorder, place};
use crate::{Magic, Window};

const SUPERBLOCK: u64 = 4096;
const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
/// Data of a backing device that does not record where its data start.
const DEFAULT_DATA: u64 = 16 * 512;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "bcache",
    title: "bcache device",
    reads: "superblocks of backing and cache devices; the data of a backing device, of which the data offset is recorded or not",
    refuses: "what a cache device holds",
    verified: "its published structure",
    min_size: SUPERBLOCK + 4096,
    magics: &[Magic {
        offset: SUPERBLOCK + 24,
        bytes: &MAGIC,
    }],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Superblock {
    checksum: U64,
    offset: U64,
    version: U64,
    magic: [u8; 16],
    uuid: [u8; 16],
    set_uuid: [u8; 16],
    label: [u8; 32],
    flags: U64,
    seq: U64,
    feature_compat: U64,
    feature_incompat: U64,
    feature_ro_compat: U64,
    pad: [U64; 5],
    /// Of a cache: number of buckets. Of a backing device: where data start, in sectors.
    data_offset: U64,
    block_size: U16,
    bucket_size: U16,
}

impl Superblock {
    fn is_backing(&self) -> bool {
        // 1 and 4 (6 with features); a cache has 0, 3 or 5.
        matches!(self.version.get(), 1 | 4 | 6)
    }

    /// Where data start; before version 4 it was not recorded.
    fn data_start(&self) -> Option<Bytes> {
        let recorded = matches!(self.version.get(), 4 | 6);
        let sectors = if recorded {
            self.data_offset.get()
        } else {
            DEFAULT_DATA / 512
        };
        Bytes::new(512).checked_mul(sectors)
    }
}

fn hex(raw: &[u8]) -> String {
    raw.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let read: Superblock = window.get(SUPERBLOCK)?;
    let mut say = Recorder::new(window, SUPERBLOCK);
    say.count(Key::Version, read.version.get(), place!(Superblock.version));
    say.label(&read.label, place!(Superblock.label));
    let sector = |n: U16| u64::from(n.get()) * 512;
    say.bytes_if_set(
        Key::BlockSize,
        sector(read.block_size),
        place!(Superblock.block_size),
    );
    if !read.is_backing() {
        say.bytes_if_set(
            Key::BucketSize,
            sector(read.bucket_size),
            place!(Superblock.bucket_size),
        );
    }
    Ok(Some(Recognised {
        detected: say.finish(),
        // A backing device and the caches of its set are told apart: what lies on the device is known without a cache.
        set: hex(&read.uuid),
        member: hex(&read.uuid),
        of: Some(1),
    }))
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let Some(part) = parts.first() else {
        return Ok(assembly);
    };
    let read: Superblock = part.window.get(SUPERBLOCK)?;
    if !read.is_backing() {
        return Ok(assembly);
    }
    let say = Recorder::new(&part.window, SUPERBLOCK);
    let mut layer = Layer::new(LayerKind::Volume, "bcache");
    layer.format = Some("bcache".into());
    let start = read.data_start();
    let size = start.and_then(|start| part.window.size().checked_sub(start));
    let extent = start
        .zip(size)
        .and_then(|(start, size)| Extent::new(start, size));
    let holds = match extent {
        Some(extent) => {
            layer.map = Map::Linear {
                start: extent.start(),
            };
            layer.placement = Some(say.fact(extent, place!(Superblock.data_offset)));
            layer.size = Some(Fact::derived(
                extent.len(),
                "size of the device − data offset",
            ));
            Holds::Volume
        }
        None => {
            layer.map = Map::Segments(Vec::new());
            let detail = format!(
                "data start at sector {}, beyond the device's end at {}",
                read.data_offset.get(),
                part.window.size().grouped()
            );
            let source = say.source(place!(Superblock.data_offset));
            layer.oddities.push(straddle_stack::Oddity::at(
                OddityKind::Damaged,
                detail,
                source,
            ));
            Holds::Nothing
        }
    };
    assembly.nodes.push(Node {
        layer,
        below: vec![Below::Part(0)],
        holds,
    });
    Ok(assembly)
}
