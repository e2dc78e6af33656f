//! LUKS2: two copies of a binary header of 4,096 bytes, each with its metadata in JSON behind it.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};
use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::json::{self, Metadata};
use super::{Header, MAGIC, SECOND_MAGIC, uuid_text};
use crate::record::{Place, Recorder, place, printable};
use crate::{Detected, Window};

/// What a header and its JSON may take, and so where the second can stand.
pub(super) const SIZES: [u64; 9] = [
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];
const BINARY: u64 = 4096;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Binary {
    magic: [u8; 6],
    version: U16,
    /// With the JSON.
    hdr_size: U64,
    seqid: U64,
    label: [u8; 48],
    checksum_alg: [u8; 32],
    salt: [u8; 64],
    uuid: [u8; 40],
    subsystem: [u8; 48],
    hdr_offset: U64,
    padding: [u8; 184],
    csum: [u8; 64],
    padding_4096: [u8; 3584],
}

/// One of the two headers.
struct HeaderCopy {
    at: u64,
    binary: Binary,
    /// Its JSON.
    text: Vec<u8>,
    /// What is wrong with it.
    fault: Option<(String, Place)>,
}

/// The header at byte `at`; `None` when there is none.
fn copy(window: &Window<'_>, at: u64, magic: [u8; 6]) -> Result<Option<HeaderCopy>, ReadError> {
    if at
        .checked_add(BINARY)
        .is_none_or(|end| end > window.size().get())
    {
        return Ok(None);
    }
    let binary: Binary = window.get(at)?;
    if binary.magic != magic || binary.version.get() != 2 {
        return Ok(None);
    }
    let size = binary.hdr_size.get();
    let fits = at
        .checked_add(size)
        .is_some_and(|end| end <= window.size().get());
    let mut copy = HeaderCopy {
        at,
        binary,
        text: Vec::new(),
        fault: None,
    };
    if !SIZES.contains(&size) || !fits {
        let detail = format!(
            "a LUKS2 header says that it is {size} bytes long; it can be 16 KiB to 4 MiB, a power of two, within the device"
        );
        copy.fault = Some((detail, place!(Binary.hdr_size)));
        return Ok(Some(copy));
    }
    if copy.binary.hdr_offset.get() != at {
        let detail = format!(
            "a LUKS2 header at byte {at} says that it stands at byte {}",
            copy.binary.hdr_offset.get()
        );
        copy.fault = Some((detail, place!(Binary.hdr_offset)));
    }
    copy.text = text(window, at + BINARY, size - BINARY)?;
    let algorithm = printable(&copy.binary.checksum_alg);
    if copy.fault.is_none()
        && algorithm == "sha256"
        && copy.binary.csum.get(..32) != Some(&sha256_of(&copy.binary, &copy.text)[..])
    {
        let detail = format!("the SHA-256 checksum of the LUKS2 header at byte {at} is wrong");
        copy.fault = Some((detail, place!(Binary.csum)));
    }
    Ok(Some(copy))
}

/// The text in an area of `len` bytes at `at`, up to its first zero; what follows are zeroes, and is not read.
fn text(window: &Window<'_>, at: u64, len: u64) -> Result<Vec<u8>, ReadError> {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    // 1,023 pieces at most: the area is one of nine sizes.
    for skip in (0..len).step_by(piece.len()) {
        window.fill(at + skip, &mut piece)?;
        match piece.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend_from_slice(piece.get(..end).unwrap_or(&[]));
                break;
            }
            None => text.extend_from_slice(&piece),
        }
    }
    Ok(text)
}

/// The checksum of a header with `text`, its own field taken for zeroes.
fn sha256_of(binary: &Binary, text: &[u8]) -> [u8; 32] {
    let place = place!(Binary.csum);
    let head = binary.as_bytes();
    let mut hash = hmac_sha256::Hash::new();
    hash.update(head.get(..place.offset).unwrap_or(&[]));
    hash.update([0; 64]);
    hash.update(head.get(place.offset + place.len..).unwrap_or(&[]));
    hash.update(text);
    let area = binary.hdr_size.get().saturating_sub(BINARY);
    let mut zeroes = usize::try_from(area)
        .unwrap_or(0)
        .saturating_sub(text.len());
    while zeroes > 0 {
        let some = zeroes.min(4096);
        hash.update(&[0; 4096][..some]);
        zeroes -= some;
    }
    hash.finalize()
}

/// The checksum of a whole header, for tests that make one.
#[cfg(test)]
pub(super) fn checksum(header: &[u8]) -> [u8; 32] {
    let (head, area) = header.split_at(4096);
    let end = area.iter().position(|byte| *byte == 0).unwrap_or(0);
    sha256_of(
        &Binary::read_from_bytes(head).expect("as long"),
        &area[..end],
    )
}

/// The header that counts: the first, unless it is damaged.
fn chosen(window: &Window<'_>, say: &mut Recorder<'_>) -> Result<Option<HeaderCopy>, ReadError> {
    let (fault, first) = match copy(window, 0, MAGIC)? {
        Some(first) if first.fault.is_none() => {
            compare(window, &first, say)?;
            return Ok(Some(first));
        }
        Some(first) => (first.fault.clone(), Some(first)),
        None => (None, None),
    };
    for at in SIZES {
        let second = copy(window, at, SECOND_MAGIC)?;
        let Some(second) = second.filter(|second| second.fault.is_none()) else {
            continue;
        };
        // What was formatted over an old volume often leaves its second header alone.
        if first.is_none() && crate::inspect::holds_anything(window) {
            return Ok(None);
        }
        match fault {
            Some((detail, place)) => {
                let detail = format!("{detail}; the second, at byte {at}, is used");
                say.odd(AnomalyKind::Damaged, detail, place);
            }
            None => {
                let detail =
                    format!("the first LUKS2 header is gone; the second, at byte {at}, is used");
                say.odd(AnomalyKind::UnusualPlace, detail, place!(Binary.magic));
            }
        }
        return Ok(Some(second));
    }
    // Better a damaged header than none: its magic is there.
    if let Some((detail, place)) = fault {
        let detail = format!("{detail}; no second one is sound either");
        say.odd(AnomalyKind::Damaged, detail, place);
    }
    Ok(first)
}

/// Says where the second header is not what the first, which is sound, makes one expect.
fn compare(
    window: &Window<'_>,
    first: &HeaderCopy,
    say: &mut Recorder<'_>,
) -> Result<(), ReadError> {
    let at = first.binary.hdr_size.get();
    if !window.matches(at, &SECOND_MAGIC)? || at.saturating_add(BINARY) > window.size().get() {
        let detail = format!(
            "the second LUKS2 header, expected at byte {at}, is not there; `cryptsetup repair` restores it"
        );
        say.odd(AnomalyKind::CopiesDiffer, detail, place!(Binary.hdr_size));
        return Ok(());
    }
    let second: Binary = window.get(at)?;
    if second.seqid.get() != first.binary.seqid.get() || second.uuid != first.binary.uuid {
        let detail = format!(
            "the two LUKS2 headers are of different versions, {} and {}; the first is used",
            first.binary.seqid.get(),
            second.seqid.get()
        );
        say.odd(AnomalyKind::CopiesDiffer, detail, place!(Binary.seqid));
    }
    Ok(())
}

pub(super) fn read(window: &Window<'_>) -> Result<Option<Header>, ReadError> {
    let mut say = Recorder::new(window, 0);
    let Some(copy) = chosen(window, &mut say)? else {
        return Ok(None);
    };
    let mut say = say.rebased(copy.at);
    let binary = &copy.binary;
    say.text(Key::Version, "2", place!(Binary.version));
    let uuid = uuid_text(&binary.uuid);
    say.text(Key::Uuid, uuid.clone(), place!(Binary.uuid));
    say.label(&binary.label, place!(Binary.label));
    let mut header = Header {
        version: 2,
        uuid,
        detected: Detected::default(),
        pieces: Vec::new(),
        unfinished: None,
    };
    let mut say = say.rebased(copy.at.saturating_add(BINARY));
    match json::read(&copy.text) {
        Ok(metadata) => {
            header.unfinished = metadata.unfinished(&say);
            header.pieces = metadata.pieces(&mut say);
            say_facts(&metadata, binary, &mut say);
        }
        Err(detail) => {
            let detail = format!("the metadata of a LUKS2 header cannot be read: {detail}");
            say.odd(AnomalyKind::Damaged, detail, Place::new(0, 16));
        }
    }
    header.detected = say.finish();
    Ok(Some(header))
}

fn say_facts(metadata: &Metadata<'_>, binary: &Binary, say: &mut Recorder<'_>) {
    if let Some((cipher, place)) = metadata.first_cipher() {
        say.text(Key::Encryption, cipher, place);
    }
    let (count, place) = metadata.key_slots();
    say.count(Key::KeySlots, count, place);
    if let Some((area, place)) = metadata.key_area() {
        let both = binary.hdr_size.get().saturating_mul(2).saturating_add(area);
        say.bytes(Key::HeaderSize, both, place);
    }
    if let Some((what, place)) = metadata.first_integrity() {
        say.text(Key::Integrity, what, place);
    }
}
