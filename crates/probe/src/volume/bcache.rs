//! bcache: a backing device, its data shifted by the superblock before them, and a cache device of buckets.
//!
//! Source: Linux `drivers/md/bcache/bcache_ondisk.h` (`struct cache_sb_disk`), all numbers low byte first.

use straddle_geometry::{Bytes, Extent, Map};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerKind, Value};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::crc64;
use crate::filesystem::bcachefs;
use crate::record::{Recorder, place, printable, uuid};
use crate::{Magic, Window};

const SUPERBLOCK: u64 = 4096;
/// Data of a backing device that does not record where its data start.
const DEFAULT_DATA: u64 = 16 * 512;
/// Numbers that may follow the fields.
const MAX_KEYS: usize = 256;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "bcache",
    title: "bcache device",
    reads: "superblocks of backing and cache devices, joined by the UUID of their set; what lies on a backing device, its data \
            offset recorded or not",
    refuses: "what a cache device holds",
    verified: "make-bcache, bcache-super-show and the kernel's bcache in the lab",
    min_size: SUPERBLOCK + 4096,
    magics: &[Magic {
        offset: SUPERBLOCK + 24,
        bytes: &bcachefs::OLD_MAGIC,
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
    in_set: U16,
    this_device: U16,
    last_mount: U32,
    first_bucket: U16,
    /// How many of the numbers that follow count for the checksum.
    keys: U16,
    numbers: [U64; MAX_KEYS],
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

    /// How a backing device stands to its cache, as `bcache-super-show` calls it.
    fn state(&self) -> &'static str {
        match self.flags.get() >> 61 & 3 {
            0 => "detached",
            1 => "clean",
            2 => "dirty",
            _ => "inconsistent",
        }
    }

    fn cache_mode(&self) -> &'static str {
        match self.flags.get() & 15 {
            0 => "write-through",
            1 => "write-back",
            2 => "write-around",
            _ => "none",
        }
    }

    /// True when it was given a cache, or is one.
    fn is_of_a_set(&self) -> bool {
        self.set_uuid != [0; 16] && !(self.is_backing() && self.state() == "detached")
    }

    /// The checksum of the fields behind it and of the numbers that count.
    fn computed(&self) -> Option<u64> {
        let keys = usize::from(self.keys.get());
        let end = size_of::<Superblock>().checked_sub(MAX_KEYS.checked_sub(keys)? * 8)?;
        self.as_bytes().get(8..end).map(crc64::of)
    }
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    // The magic stands at the end of a device that is too short for the numbers, too.
    if window.size().get() < SUPERBLOCK + 4096 || bcachefs::is_one(window)? {
        return Ok(None);
    }
    let read: Superblock = window.get(SUPERBLOCK)?;
    let mut say = Recorder::new(window, SUPERBLOCK);
    say.count(Key::Version, read.version.get(), place!(Superblock.version));
    say.text(Key::Uuid, uuid(read.uuid), place!(Superblock.uuid));
    if read.set_uuid != [0; 16] {
        say.text(
            Key::SetUuid,
            uuid(read.set_uuid),
            place!(Superblock.set_uuid),
        );
    }
    say.label(&read.label, place!(Superblock.label));
    let sector = |n: U16| u64::from(n.get()) * 512;
    say.bytes_if_set(
        Key::BlockSize,
        sector(read.block_size),
        place!(Superblock.block_size),
    );
    if read.is_backing() {
        if let Some(start) = read.data_start() {
            let place = place!(Superblock.data_offset);
            say.bytes(Key::DataOffset, start.get(), place);
        }
        say.text(Key::State, read.state(), place!(Superblock.flags));
        say.text(Key::WriteCache, read.cache_mode(), place!(Superblock.flags));
    } else {
        say.bytes_if_set(
            Key::BucketSize,
            sector(read.bucket_size),
            place!(Superblock.bucket_size),
        );
    }
    if read.computed() != Some(read.checksum.get()) {
        let detail = format!(
            "the checksum of its bcache superblock is {:#018x}; it should be {}",
            read.checksum.get(),
            read.computed().map_or_else(
                || format!("over {MAX_KEYS} numbers at most, not {}", read.keys.get()),
                |sum| format!("{sum:#018x}")
            )
        );
        say.odd(AnomalyKind::Damaged, detail, place!(Superblock.checksum));
    }
    let is_of_a_set = read.is_of_a_set();
    Ok(Some(Recognised {
        detected: say.finish(),
        set: uuid(if is_of_a_set {
            read.set_uuid
        } else {
            read.uuid
        }),
        member: uuid(read.uuid),
        // How many backing devices a set has, none of them says.
        of: (!is_of_a_set).then_some(1),
    }))
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let mut members = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let read: Superblock = part.window.get(SUPERBLOCK)?;
        members.push((index, part, read));
    }
    let caches = || members.iter().filter(|(.., read)| !read.is_backing());
    for (index, part, read) in members.iter().filter(|(.., read)| read.is_backing()) {
        let mut node = backing(part, *index, read);
        if read.is_of_a_set() {
            node.below
                .extend(caches().map(|(cache, ..)| Below::Part(*cache)));
            for (_, cache, found) in caches() {
                let say = Recorder::new(&cache.window, SUPERBLOCK);
                let bucket = Bytes::new(u64::from(found.bucket_size.get()) * 512);
                let fact = say.fact(Value::Bytes(bucket), place!(Superblock.bucket_size));
                node.layer.set(Key::BucketSize, fact);
            }
            if caches().next().is_none() {
                let name = format!("cache of bcache set {}", uuid(read.set_uuid));
                node.below.push(Below::Missing(name));
            }
        }
        assembly.nodes.push(node);
    }
    Ok(assembly)
}

/// What a backing device holds.
fn backing(part: &Part<'_>, index: usize, read: &Superblock) -> Node {
    let say = Recorder::new(&part.window, SUPERBLOCK);
    let label = printable(&read.label);
    let name = if label.is_empty() { "bcache" } else { &label };
    let mut layer = Layer::new(LayerKind::Volume, name);
    layer.format = Some("bcache".into());
    let start = read.data_start();
    let size = start.and_then(|start| part.window.size().checked_sub(start));
    let extent = start
        .zip(size)
        .and_then(|(start, size)| Extent::new(start, size));
    let mut holds = Holds::Nothing;
    match extent {
        Some(extent) => {
            let start = extent.start();
            layer.map = Map::Linear { start };
            let place = place!(Superblock.data_offset);
            layer.placement = Some(say.fact(extent, place));
            layer.set(Key::DataOffset, say.fact(Value::Bytes(start), place));
            layer.size = Some(Fact::derived(
                extent.len(),
                "size of the device − data offset",
            ));
            holds = Holds::Volume;
        }
        None => {
            layer.map = Map::Segments(Vec::new());
            let detail = format!(
                "data start at sector {}, beyond the device's end at {}",
                read.data_offset.get(),
                part.window.size().grouped()
            );
            let source = say.source(place!(Superblock.data_offset));
            let anomaly = Anomaly::at(AnomalyKind::Damaged, detail, source);
            layer.anomalies.push(anomaly);
        }
    }
    if read.state() == "dirty" {
        layer.anomalies.push(Anomaly::at(
            AnomalyKind::Missing,
            "what was written and lies only in the cache is not looked at: what is found here may be older",
            say.source(place!(Superblock.flags)),
        ));
    }
    Node {
        layer,
        below: vec![Below::Part(index)],
        holds,
    }
}

#[cfg(test)]
mod tests;
