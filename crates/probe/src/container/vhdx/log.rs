//! The log of a VHDX, replayed in memory.
//!
//! ```text
//! ring of 4 KiB sectors; entries of whole sectors
//! 0x00  "loge"   0x04  u32 CRC-32C of the entry   0x08  u32 length   0x0c  u32 tail: the oldest entry still needed
//! 0x10  u64 sequence number   0x18  u32 descriptors   0x20  GUID of the log
//! 0x30  u64 size that the file had   0x38  u64 size that it is to have
//! 0x40  descriptors of 32 bytes, going on in the next sector:
//!       "zero", u32, u64 length, u64 offset, u64 sequence number
//!       "desc", u32 trailing bytes, u64 leading bytes, u64 offset, u64 sequence number
//! then a sector for each "desc": "data", u32 high half of the number, 4,084 bytes, u32 low half
//! ```
//!
//! Valid entries whose numbers follow each other are a sequence; it is complete when it contains the tail of its newest
//! entry. The complete sequence with the greatest number counts, from that tail on.

use std::io;
use std::sync::Arc;
use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::header::Header;
use crate::crc32c;

const SECTOR: usize = 4096;
/// Longest log that is replayed; Hyper-V and QEMU make them 1 MiB long.
const MAX_LEN: u64 = 16 << 20;
/// How often all bytes of the log may be summed: entries that lie over each other cost more.
const SUMS: usize = 8;
/// Most changes that are replayed: each read looks at all of them.
const MAX: usize = 1 << 14;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Start {
    signature: [u8; 4],
    checksum: U32,
    len: U32,
    tail: U32,
    sequence: U64,
    descriptors: U32,
    reserved: U32,
    log: [u8; 16],
    flushed: U64,
    last: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Descriptor {
    signature: [u8; 4],
    trailing: [u8; 4],
    leading: [u8; 8],
    offset: U64,
    sequence: U64,
}

/// Part of the file that the log replaces.
struct Change {
    at: u64,
    len: u64,
    /// `None`: zeroes.
    data: Option<Box<[u8]>>,
}

/// A file as it is after its log was replayed.
pub(super) struct Replayed {
    file: Arc<dyn ReadAt>,
    size: Bytes,
    changes: Vec<Change>,
}

impl ReadAt for Replayed {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let start = offset.get();
        let left = self.size.get().saturating_sub(start);
        let n = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let buf = &mut buf[..n];
        let mut done = 0;
        while done < n {
            let at = start.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
            match self.file.read_at(Bytes::new(at), &mut buf[done..])? {
                0 => break,
                more => done += more,
            }
        }
        // What the log adds behind the end of the file.
        buf[done..].fill(0);
        let end = start.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        for change in &self.changes {
            let (from, to) = (change.at.max(start), (change.at + change.len).min(end));
            if from >= to {
                continue;
            }
            let index = |at: u64, base: u64| usize::try_from(at - base).unwrap_or(usize::MAX);
            let part = &mut buf[index(from, start)..index(to, start)];
            match &change.data {
                Some(data) => {
                    part.copy_from_slice(&data[index(from, change.at)..index(to, change.at)]);
                }
                None => part.fill(0),
            }
        }
        Ok(n)
    }
}

/// An entry that is valid.
struct Entry {
    start: Start,
    bytes: Vec<u8>,
}

/// The file with its log replayed, and what was done, in words.
///
/// # Errors
/// Why it cannot be replayed, as the second half of a sentence.
pub(super) fn replayed(
    file: &Arc<dyn ReadAt>,
    header: &Header,
) -> Result<(Replayed, String), String> {
    let (at, len) = (header.log_offset.get(), u64::from(header.log_len.get()));
    let grouped = |n: u64| Bytes::new(n).grouped();
    if header.log_version.get() != 0 {
        return Err(format!("its version {} is unknown", header.log_version));
    }
    let inside = at
        .checked_add(len)
        .is_some_and(|end| end <= file.size().get());
    if !inside || len == 0 || len > MAX_LEN || !len.is_multiple_of(SECTOR as u64) {
        return Err(format!(
            "it has {} bytes at byte {}; expected a multiple of 4,096 up to {}, inside the file of {}",
            grouped(len),
            grouped(at),
            grouped(MAX_LEN),
            file.size().grouped()
        ));
    }
    let mut ring = vec![0; usize::try_from(len).map_err(|_| "it is too long")?];
    let mut done = 0;
    while done < ring.len() {
        let from = Bytes::new(at + u64::try_from(done).unwrap_or(0));
        match file.read_at(from, &mut ring[done..]) {
            Ok(0) => return Err("it ends early".to_owned()),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("it cannot be read: {error}")),
        }
    }
    let sequence = active(&ring, &header.log)?;
    let (Some(oldest), Some(newest)) = (sequence.first(), sequence.last()) else {
        return Err("none of its entries is valid: the file is damaged".to_owned());
    };
    if newest.start.flushed.get() > file.size().get() {
        return Err(format!(
            "the file was cut off: it has {} bytes, its log was written when it had {}",
            file.size().grouped(),
            grouped(newest.start.flushed.get())
        ));
    }
    let mut changes = Vec::new();
    let mut size = file.size().get().max(newest.start.last.get());
    for entry in &sequence {
        for change in changes_of(entry).unwrap_or_default() {
            size = size.max(change.at + change.len);
            changes.push(change);
        }
    }
    if changes.len() > MAX {
        return Err(format!(
            "it has {} changes; at most {MAX} are replayed",
            changes.len()
        ));
    }
    let words = format!(
        "replayed in memory: {} changes by entries {} to {}",
        changes.len(),
        oldest.start.sequence,
        newest.start.sequence
    );
    let file = Replayed {
        file: Arc::clone(file),
        size: Bytes::new(size),
        changes,
    };
    Ok((file, words))
}

/// The entries that are to be replayed, the oldest first.
fn active(ring: &[u8], log: &[u8; 16]) -> Result<Vec<Entry>, String> {
    let count = ring.len() / SECTOR;
    let mut allowed = ring.len().saturating_mul(SUMS);
    let mut entries = Vec::with_capacity(count);
    for index in 0..count {
        entries.push(entry(ring, index * SECTOR, log, &mut allowed)?);
    }
    // Where the entry behind that at `index` starts.
    let after = |index: usize, entry: &Start| {
        let len = usize::try_from(entry.len.get()).unwrap_or(SECTOR) / SECTOR;
        (index + len) % count
    };
    let mut best: Option<(u64, Vec<usize>)> = None;
    for first in 0..count {
        // The walk from `first` on; its entries together are no longer than the ring.
        let mut walk: Vec<usize> = Vec::new();
        let mut left = ring.len();
        let mut at = first;
        let mut number = None;
        while let Some(start) = &entries[at] {
            let len = usize::try_from(start.len.get()).unwrap_or(usize::MAX);
            let sequence = start.sequence.get();
            let follows = number.is_none_or(|number: u64| number.checked_add(1) == Some(sequence));
            let Some(rest) = left.checked_sub(len).filter(|_| follows) else {
                break;
            };
            (left, number) = (rest, Some(sequence));
            walk.push(at);
            at = after(at, start);
        }
        let Some((number, start)) = number.zip(walk.last().and_then(|at| entries[*at].as_ref()))
        else {
            continue;
        };
        let tail = usize::try_from(start.tail.get()).unwrap_or(usize::MAX) / SECTOR;
        if let Some(from) = walk.iter().position(|at| *at == tail)
            && best.as_ref().is_none_or(|(best, _)| number > *best)
        {
            best = Some((number, walk.split_off(from)));
        }
    }
    let walk = best.map(|(_, walk)| walk).unwrap_or_default();
    Ok(walk
        .into_iter()
        .filter_map(|at| {
            let start = entries[at].clone()?;
            let bytes = bytes_of(ring, at * SECTOR, &start);
            Some(Entry { start, bytes })
        })
        .collect())
}

/// The bytes of the entry at `at`, which may go on at the beginning of the ring.
fn bytes_of(ring: &[u8], at: usize, start: &Start) -> Vec<u8> {
    let len = usize::try_from(start.len.get())
        .unwrap_or(0)
        .min(ring.len());
    let (before, behind) = ring.split_at(at);
    behind.iter().chain(before).take(len).copied().collect()
}

/// The head of the entry at `at`; `None` when there is none, or it is not valid.
fn entry(
    ring: &[u8],
    at: usize,
    log: &[u8; 16],
    allowed: &mut usize,
) -> Result<Option<Start>, String> {
    let Some((start, _)) = ring
        .get(at..)
        .and_then(|raw| Start::read_from_prefix(raw).ok())
    else {
        return Ok(None);
    };
    let len = usize::try_from(start.len.get()).unwrap_or(usize::MAX);
    let tail = usize::try_from(start.tail.get()).unwrap_or(usize::MAX);
    let plausible = start.signature == *b"loge"
        && start.log == *log
        && len > 0
        && len <= ring.len()
        && len.is_multiple_of(SECTOR)
        && tail < ring.len()
        && tail.is_multiple_of(SECTOR)
        && start.sequence.get() > 0;
    if !plausible {
        return Ok(None);
    }
    *allowed = allowed
        .checked_sub(len)
        .ok_or("its entries lie over each other")?;
    let bytes = bytes_of(ring, at, &start);
    let sum = crc32c::sealed(&bytes, core::mem::offset_of!(Start, checksum));
    let entry = Entry { start, bytes };
    let valid = sum == entry.start.checksum.get() && changes_of(&entry).is_some();
    Ok(valid.then_some(entry.start))
}

/// What an entry changes; `None` when it contradicts itself.
fn changes_of(entry: &Entry) -> Option<Vec<Change>> {
    let count = usize::try_from(entry.start.descriptors.get()).ok()?;
    let from = size_of::<Start>();
    let to = count
        .checked_mul(size_of::<Descriptor>())?
        .checked_add(from)?;
    let described = entry.bytes.get(from..to)?;
    let mut data = entry.bytes.get(to.next_multiple_of(SECTOR)..)?;
    let sequence = entry.start.sequence.get();
    let [low @ .., _, _, _, _] = sequence.to_le_bytes();
    let [_, _, _, _, high @ ..] = sequence.to_le_bytes();
    let mut changes = Vec::new();
    for raw in described.as_chunks::<32>().0 {
        let descriptor = Descriptor::read_from_bytes(raw).ok()?;
        let at = descriptor.offset.get();
        if descriptor.sequence.get() != sequence || !at.is_multiple_of(SECTOR as u64) {
            return None;
        }
        let (len, data) = match &descriptor.signature {
            b"zero" => {
                let len = u64::from_le_bytes(descriptor.leading);
                (len.is_multiple_of(SECTOR as u64).then_some(len)?, None)
            }
            b"desc" => {
                let (sector, rest) = data.split_at_checked(SECTOR)?;
                data = rest;
                let good =
                    sector.starts_with(b"data") && sector[4..8] == high && sector.ends_with(&low);
                let mut bytes: Box<[u8]> = good.then(|| sector.into())?;
                bytes[..8].copy_from_slice(&descriptor.leading);
                bytes[SECTOR - 4..].copy_from_slice(&descriptor.trailing);
                (SECTOR as u64, Some(bytes))
            }
            _ => return None,
        };
        at.checked_add(len)?;
        changes.push(Change { at, len, data });
    }
    Some(changes)
}
