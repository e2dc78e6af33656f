//! Verification: every sector written says what it is, every sector read is compared with what it should be.
//!
//! A sector of 512 bytes is the unit, whatever the request sizes are, so that runs at different offsets, whose blocks lie
//! across each other, still know each other's data. Its first bytes are a stamp, little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 8 | `STRADDLE` |
//! | 8 to 16 | the sector's first byte in the target |
//! | 16 to 24 | the session: a number that each [`super::Storage`] draws for itself |
//! | 24 to 32 | the generation: how often this session has written this sector, this time included |
//! | 32 to 36 | CRC-32 of the other 508 bytes |
//!
//! The rest is random. A table in memory has the generation that was last acknowledged, 4 bytes for each sector in the
//! parts of the target that were touched (0.8% of them). A sector that is read must
//!
//! - carry a stamp, if this session wrote it;
//! - have the checksum that it says: a flipped bit shows here;
//! - have the address that it says: a block in the wrong place shows here;
//! - be of this session and the generation last acknowledged, if this session wrote it: a write that was acknowledged and
//!   lost shows here, and one that came late.
//!
//! A sector that this session has not written may be without a stamp, or of another session; it is counted as such. A
//! stamp of an earlier session has to have the right address and checksum all the same.
//!
//! What is read while a write to the same sector is under way may rightly be the old or the new, and two writes may end in
//! either order. So no request is started that touches a sector of one that is under way, in any worker: the workers claim
//! sectors in the table, and where one is claimed already, another place is drawn. Runs with verification therefore do not
//! follow the sequence of places exactly, and their latencies include the checksums; they are no measurements.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;
use straddle_geometry::Bytes;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
const SECTOR_LEN: usize = 512;
const MAGIC: [u8; 8] = *b"STRADDLE";
/// Sectors in one piece of the table.
const PIECE: usize = 4096;
/// A request is under way there.
const CLAIMED: u32 = 1 << 31;

/// What verification has seen so far, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Written with a stamp.
    pub written: u64,
    /// Read, and what was last written there.
    pub right: u64,
    /// Read, not written by this session, with a sound stamp of an earlier one.
    pub earlier: u64,
    /// Read, not written by this session, without a stamp.
    pub strange: u64,
}

/// A sector that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) at: Bytes,
    pub(super) found: String,
    pub(super) expected: String,
}

/// What was written where.
#[derive(Debug)]
pub(super) struct Verifier {
    session: u64,
    pieces: Vec<OnceLock<Box<[AtomicU32]>>>,
    written: AtomicU64,
    right: AtomicU64,
    earlier: AtomicU64,
    strange: AtomicU64,
}

impl Verifier {
    /// For a target of this length.
    pub(super) fn new(size: Bytes) -> Verifier {
        let pieces = size.get().div_ceil(SECTOR * PIECE as u64);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_nanos());
        let process = u64::from(std::process::id());
        // Two sessions that start in the same nanosecond are two processes.
        let session = u64::try_from(since & u128::from(u64::MAX)).unwrap_or(0) ^ (process << 44);
        Verifier {
            session,
            pieces: (0..pieces).map(|_| OnceLock::new()).collect(),
            written: AtomicU64::new(0),
            right: AtomicU64::new(0),
            earlier: AtomicU64::new(0),
            strange: AtomicU64::new(0),
        }
    }

    pub(super) fn verified(&self) -> Verified {
        Verified {
            written: self.written.load(Ordering::Relaxed),
            right: self.right.load(Ordering::Relaxed),
            earlier: self.earlier.load(Ordering::Relaxed),
            strange: self.strange.load(Ordering::Relaxed),
        }
    }

    /// Gives up the claims of a run that ended with requests under way: what they have left behind is not known.
    pub(super) fn release_all(&self) {
        for piece in self.pieces.iter().filter_map(OnceLock::get) {
            for entry in piece {
                if entry.load(Ordering::Relaxed) & CLAIMED != 0 {
                    entry.store(0, Ordering::Relaxed);
                }
            }
        }
    }

    fn entry(&self, sector: u64) -> Option<&AtomicU32> {
        let sector = usize::try_from(sector).ok()?;
        let piece = self.pieces.get(sector / PIECE)?;
        let piece = piece.get_or_init(|| (0..PIECE).map(|_| AtomicU32::new(0)).collect());
        piece.get(sector % PIECE)
    }

    fn entries(&self, offset: u64, len: u64) -> impl Iterator<Item = &AtomicU32> {
        let sectors = offset / SECTOR..(offset + len).div_ceil(SECTOR);
        sectors.filter_map(|sector| self.entry(sector))
    }

    /// Claims the sectors of a request; false when one of them is claimed already.
    pub(super) fn claim(&self, offset: u64, len: u64) -> bool {
        for (done, entry) in self.entries(offset, len).enumerate() {
            if entry.fetch_or(CLAIMED, Ordering::Acquire) & CLAIMED != 0 {
                for entry in self.entries(offset, len).take(done) {
                    entry.fetch_and(!CLAIMED, Ordering::Release);
                }
                return false;
            }
        }
        true
    }

    /// Stamps what is about to be written to sectors that are claimed.
    pub(super) fn stamp(&self, offset: u64, bytes: &mut [u8]) {
        let (sectors, _) = bytes.as_chunks_mut::<SECTOR_LEN>();
        for (at, sector) in (offset..).step_by(SECTOR_LEN).zip(sectors) {
            let generation = self.acknowledged(at) + 1;
            let stamp = Stamp {
                address: at,
                session: self.session,
                generation: u64::from(generation),
            };
            stamp.write(sector);
        }
    }

    /// A write has ended: the sectors are free again, and hold what was stamped if it did so well.
    pub(super) fn wrote(&self, offset: u64, len: u64, well: bool) {
        for entry in self.entries(offset, len) {
            let before = entry.load(Ordering::Relaxed) & !CLAIMED;
            // Nothing is known of what a failed write has left there.
            let now = if well { (before + 1) & !CLAIMED } else { 0 };
            entry.store(now, Ordering::Release);
        }
        if well {
            self.written.fetch_add(len / SECTOR, Ordering::Relaxed);
        }
    }

    /// A read has ended without its bytes: the sectors are free again.
    pub(super) fn release(&self, offset: u64, len: u64) {
        for entry in self.entries(offset, len) {
            entry.fetch_and(!CLAIMED, Ordering::Release);
        }
    }

    /// Holds what was read from claimed sectors against what was written there.
    pub(super) fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Mismatch> {
        let (sectors, _) = bytes.as_chunks::<SECTOR_LEN>();
        let mut seen = Verified::default();
        for (at, sector) in (offset..).step_by(SECTOR_LEN).zip(sectors) {
            self.check_sector(at, sector, &mut seen)?;
        }
        self.right.fetch_add(seen.right, Ordering::Relaxed);
        self.earlier.fetch_add(seen.earlier, Ordering::Relaxed);
        self.strange.fetch_add(seen.strange, Ordering::Relaxed);
        Ok(())
    }

    fn acknowledged(&self, at: u64) -> u32 {
        let entry = self.entry(at / SECTOR);
        entry.map_or(0, |entry| entry.load(Ordering::Relaxed) & !CLAIMED)
    }

    fn check_sector(
        &self,
        at: u64,
        sector: &[u8; SECTOR_LEN],
        seen: &mut Verified,
    ) -> Result<(), Mismatch> {
        let generation = self.acknowledged(at);
        let mismatch = |found: String| {
            let expected = if generation == 0 {
                format!(
                    "a stamp of byte {} with a right checksum",
                    Bytes::new(at).grouped()
                )
            } else {
                format!(
                    "generation {generation} of byte {}, written and acknowledged in this session",
                    Bytes::new(at).grouped()
                )
            };
            Mismatch {
                at: Bytes::new(at),
                found,
                expected,
            }
        };
        let Some((stamp, sound)) = Stamp::read(sector) else {
            if generation == 0 {
                seen.strange += 1;
                return Ok(());
            }
            let [a, b, c, d, e, f, g, h, ..] = *sector;
            return Err(mismatch(format!(
                "no stamp; it begins with {a:02x} {b:02x} {c:02x} {d:02x} {e:02x} {f:02x} {g:02x} {h:02x}"
            )));
        };
        if !sound {
            return Err(mismatch(format!(
                "a stamp of byte {}, generation {}, whose checksum does not fit its content: bits have changed",
                Bytes::new(stamp.address).grouped(),
                stamp.generation
            )));
        }
        if stamp.address != at {
            return Err(mismatch(format!(
                "what was written to byte {} (generation {}, checksum right)",
                Bytes::new(stamp.address).grouped(),
                stamp.generation
            )));
        }
        if generation == 0 {
            seen.earlier += 1;
            return Ok(());
        }
        if stamp.session != self.session {
            return Err(mismatch(format!(
                "generation {} of another session (checksum right): an acknowledged write is lost, or another program wrote there",
                stamp.generation
            )));
        }
        if stamp.generation != u64::from(generation) {
            return Err(mismatch(format!(
                "generation {} (checksum right): an acknowledged write is lost",
                stamp.generation
            )));
        }
        seen.right += 1;
        Ok(())
    }
}

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    address: u64,
    session: u64,
    generation: u64,
}

impl Stamp {
    const LEN: usize = 32;

    fn write(self, sector: &mut [u8; SECTOR_LEN]) {
        let parts = [self.address, self.session, self.generation];
        let (stamp, _) = sector.as_chunks_mut::<8>();
        if let [magic, address, session, generation, ..] = stamp {
            *magic = MAGIC;
            for (place, part) in [address, session, generation].into_iter().zip(parts) {
                *place = part.to_le_bytes();
            }
        }
        let checksum = checksum(sector);
        if let Some(place) = sector
            .get_mut(Stamp::LEN..)
            .and_then(|rest| rest.first_chunk_mut())
        {
            *place = checksum.to_le_bytes();
        }
    }

    /// The stamp, and whether the checksum is right; `None` without one.
    fn read(sector: &[u8; SECTOR_LEN]) -> Option<(Stamp, bool)> {
        let (parts, _) = sector.as_chunks::<8>();
        let [magic, address, session, generation, rest, ..] = parts else {
            return None;
        };
        if *magic != MAGIC {
            return None;
        }
        let stamp = Stamp {
            address: u64::from_le_bytes(*address),
            session: u64::from_le_bytes(*session),
            generation: u64::from_le_bytes(*generation),
        };
        let [a, b, c, d, ..] = *rest;
        let said = u32::from_le_bytes([a, b, c, d]);
        Some((stamp, said == checksum(sector)))
    }
}

/// CRC-32 of all bytes but those where it is kept.
fn checksum(sector: &[u8; SECTOR_LEN]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    let (before, rest) = sector.split_at(Stamp::LEN);
    crc.update(before);
    crc.update(rest.split_at(4).1);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(verifier: &Verifier, at: u64, sectors: usize) -> Vec<u8> {
        let mut bytes = vec![0xa5; sectors * SECTOR_LEN];
        let len = bytes.len() as u64;
        assert!(verifier.claim(at, len));
        verifier.stamp(at, &mut bytes);
        verifier.wrote(at, len, true);
        bytes
    }

    #[test]
    fn what_was_written_is_right_and_any_flipped_bit_is_not() {
        let verifier = Verifier::new(Bytes::mib(64));
        let bytes = written(&verifier, 63 * 512, 3);
        assert_eq!(verifier.check(63 * 512, &bytes), Ok(()));
        assert_eq!(verifier.verified().right, 3);
        for bit in 0..bytes.len() * 8 {
            let mut spoilt = bytes.clone();
            *spoilt.get_mut(bit / 8).expect("inside") ^= 1 << (bit % 8);
            let mismatch = verifier
                .check(63 * 512, &spoilt)
                .expect_err("a flipped bit");
            let sector = 63 + bit as u64 / 8 / 512;
            assert_eq!(mismatch.at, Bytes::new(sector * 512));
        }
    }

    #[test]
    fn misplaced_stale_and_missing_blocks_are_told_apart() {
        let verifier = Verifier::new(Bytes::mib(64));
        let old = written(&verifier, 4096, 1);
        let elsewhere = written(&verifier, 8192, 1);
        let new = written(&verifier, 4096, 1);
        assert_eq!(verifier.check(4096, &new), Ok(()));
        let stale = verifier.check(4096, &old).expect_err("stale");
        assert!(stale.found.starts_with("generation 1"), "{stale:?}");
        assert!(stale.expected.starts_with("generation 2"), "{stale:?}");
        let misplaced = verifier.check(4096, &elsewhere).expect_err("misplaced");
        assert!(misplaced.found.contains("byte 8,192"), "{misplaced:?}");
        let missing = verifier.check(4096, &[0; 512]).expect_err("missing");
        assert!(missing.found.starts_with("no stamp"), "{missing:?}");
        let other = Verifier::new(Bytes::mib(64));
        let other = written(
            &Verifier {
                session: other.session ^ 1,
                ..other
            },
            4096,
            1,
        );
        let foreign = verifier
            .check(4096, &other)
            .expect_err("of another session");
        assert!(foreign.found.contains("another session"), "{foreign:?}");
    }

    #[test]
    fn what_this_session_did_not_write_is_counted() {
        let first = Verifier::new(Bytes::mib(64));
        let bytes = written(&first, 512, 2);
        let second = Verifier::new(Bytes::mib(64));
        assert_eq!(second.check(512, &bytes), Ok(()));
        assert_eq!(second.check(4096, &[7; 1024]), Ok(()));
        let seen = second.verified();
        assert_eq!((seen.earlier, seen.strange), (2, 2));
        // An earlier session's block in the wrong place is found all the same.
        assert!(second.check(0, &bytes).is_err());
    }

    #[test]
    fn claims_exclude_each_other_and_are_given_back() {
        let verifier = Verifier::new(Bytes::mib(64));
        assert!(verifier.claim(0, 8192));
        assert!(!verifier.claim(7680, 1024));
        // The second half of what could not be claimed is free.
        assert!(verifier.claim(8192, 512));
        assert!(!verifier.claim(4096, 8192));
        verifier.release(0, 8192);
        verifier.wrote(8192, 512, false);
        assert!(verifier.claim(4096, 8192));
    }
}
