//! LUKS1: one header of 592 bytes, eight key slots, sectors of 512 bytes.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{BUSY_MAGIC, Header, MAGIC, Piece, uuid_text};
use crate::Window;
use crate::record::{Recorder, place, printable};

/// A key slot that opens the volume.
const IN_USE: u32 = 0x00ac_71f3;
/// A key slot that is free.
const FREE: u32 = 0x0000_dead;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Phdr {
    magic: [u8; 6],
    version: U16,
    cipher_name: [u8; 32],
    cipher_mode: [u8; 32],
    hash_spec: [u8; 32],
    /// In sectors of 512 bytes.
    payload_offset: U32,
    key_bytes: U32,
    digest: [u8; 20],
    digest_salt: [u8; 32],
    digest_iterations: U32,
    uuid: [u8; 40],
    slots: [Slot; 8],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Slot {
    active: U32,
    iterations: U32,
    salt: [u8; 32],
    /// In sectors of 512 bytes.
    key_material_offset: U32,
    stripes: U32,
}

/// The version of the header at the beginning, of whatever version that is.
pub(super) fn version(window: &Window<'_>) -> Result<Option<u16>, ReadError> {
    let head: [u8; 8] = window.get(0)?;
    let [m @ .., high, low] = head;
    Ok((m == MAGIC || m == BUSY_MAGIC).then(|| u16::from_be_bytes([high, low])))
}

pub(super) fn read(window: &Window<'_>) -> Result<Header, ReadError> {
    let read: Phdr = window.get(0)?;
    let mut say = Recorder::new(window, 0);
    say.text(Key::Version, "1", place!(Phdr.version));
    let uuid = uuid_text(&read.uuid);
    say.text(Key::Uuid, uuid.clone(), place!(Phdr.uuid));
    let cipher = format!(
        "{}-{}",
        printable(&read.cipher_name),
        printable(&read.cipher_mode)
    );
    say.text(Key::Encryption, cipher.clone(), place!(Phdr.cipher_name));
    let in_use = read.slots.iter().filter(|slot| slot.active.get() == IN_USE);
    let count = u64::try_from(in_use.count()).unwrap_or(0);
    say.count(Key::KeySlots, count, place!(Phdr.slots));
    if read
        .slots
        .iter()
        .any(|slot| !matches!(slot.active.get(), IN_USE | FREE))
    {
        say.odd(
            AnomalyKind::Damaged,
            "a key slot of its LUKS1 header is neither in use (0x00ac71f3) nor free (0x0000dead); \
             `cryptsetup repair` repairs it",
            place!(Phdr.slots),
        );
    }
    let offset = u64::from(read.payload_offset.get()) * 512;
    let unfinished =
        (read.magic == BUSY_MAGIC).then(|| say.fact("reencrypt".to_owned(), place!(Phdr.magic)));
    let piece = Piece {
        offset: say.fact(offset, place!(Phdr.payload_offset)),
        len: None,
        cipher: Some(say.fact(cipher, place!(Phdr.cipher_name))),
        // The version has no other.
        sector: Some(say.fact(512, place!(Phdr.version))),
        integrity: None,
        by_the_drive: false,
    };
    Ok(Header {
        version: 1,
        uuid,
        detected: say.finish(),
        pieces: vec![piece],
        unfinished,
    })
}
