//! dm-verity: a tree of hashes of a device that is only read.
//!
//! Source: cryptsetup wiki "DMVerity: dm-verity on-disk superblock", version 1. All numbers are low byte first.
//!
//! The superblock stands on the device with the hashes. Which device they are for it does not say.

use straddle_geometry::{Grid, Map, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, GridRole, Key, Layer, LayerKind, Value};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::record::{Recorder, place, printable, uuid};
use crate::{Magic, Window};

const MAGIC: [u8; 8] = *b"verity\0\0";

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "verity",
    title: "dm-verity hash device",
    reads: "version 1: block sizes, size of the data, algorithm",
    refuses: "the data device, which the superblock does not name; hashes without a superblock",
    verified: "veritysetup dump and blkid",
    min_size: 512,
    magics: &[Magic {
        offset: 0,
        bytes: &MAGIC,
    }],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Superblock {
    magic: [u8; 8],
    version: U32,
    hash_type: U32,
    uuid: [u8; 16],
    algorithm: [u8; 32],
    data_block_size: U32,
    hash_block_size: U32,
    data_blocks: U64,
    salt_size: U16,
    pad: [u8; 6],
    salt: [u8; 256],
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let read: Superblock = window.get(0)?;
    let mut say = Recorder::new(window, 0);
    say.count(
        Key::Version,
        read.version.get().into(),
        place!(Superblock.version),
    );
    say.text(Key::Uuid, uuid(read.uuid), place!(Superblock.uuid));
    say.name(
        Key::Integrity,
        &read.algorithm,
        place!(Superblock.algorithm),
    );
    say.bytes_if_set(
        Key::BlockSize,
        read.hash_block_size.get().into(),
        place!(Superblock.hash_block_size),
    );
    Ok(Some(Recognised {
        detected: say.finish(),
        set: String::new(),
        member: "hashes".to_owned(),
        of: Some(1),
    }))
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let Some(part) = parts.first() else {
        return Ok(assembly);
    };
    let read: Superblock = part.window.get(0)?;
    let say = Recorder::new(&part.window, 0);
    let mut layer = Layer::new(LayerKind::Encryption, "verity");
    layer.format = Some("verity".into());
    layer.map = Map::IDENTITY;
    let algorithm = Value::Text(printable(&read.algorithm).into());
    layer.set(
        Key::Integrity,
        say.fact(algorithm, place!(Superblock.algorithm)),
    );
    let block = Unit::new(read.data_block_size.get().into());
    let block = block
        .filter(|unit| unit.get().is_power_of_two() && (512..=512 << 10).contains(&unit.get()));
    let size = block.and_then(|block| block.bytes().checked_mul(read.data_blocks.get()));
    match (block, size) {
        (Some(block), Some(size)) => {
            let fact = say.fact(Grid::new(block), place!(Superblock.data_block_size));
            layer.add_grid(GridRole::EncryptionSector, fact);
            layer.size = Some(say.fact(size, place!(Superblock.data_blocks)));
        }
        _ => layer.anomalies.push(Anomaly::at(
            AnomalyKind::Damaged,
            format!(
                "{} blocks of {} bytes of data: a block is a power of two from 512 bytes to 512 KiB, and all fit in 64 bits",
                read.data_blocks.get(),
                read.data_block_size.get()
            ),
            say.source(place!(Superblock.data_block_size)),
        )),
    }
    let data = format!("data device of verity {}", uuid(read.uuid));

    assembly.nodes.push(Node {
        layer,
        below: vec![Below::Missing(data), Below::Part(0)],
        holds: Holds::Nothing,
    });
    Ok(assembly)
}

#[cfg(test)]
mod tests;
