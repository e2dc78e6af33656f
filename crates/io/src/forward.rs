//! Bytes that only come one after the other, read at any place all the same.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use straddle_geometry::Bytes;

use crate::{ReadAt, fill};

/// Begins to read from the first byte, as often as it is called.
pub type Opener = Box<dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// What is kept is kept in pieces of this size. Of those that hold nothing but zeros, which most of an image is, only that is kept.
const PIECE: usize = 64 << 10;
/// The first pieces are never given up: tables are there, and they are asked for again and again.
const FIRST: u64 = 256;
/// Most pieces that hold something: 48 MiB.
const MOST: usize = 768;
/// How often the stream may be begun again for what was given up.
const AGAIN: u32 = 8;

/// The bytes of a stream, such as a packed image, as something that can be read anywhere: read on as far as is asked for, and kept.
///
/// Memory and time are bounded: at most 48 MiB are kept, nothing beyond [`Forward::FARTHEST`] is read, and what was given up is read
/// again from the beginning, a few times. What lies beyond is an error that says so.
pub struct Forward {
    open: Opener,
    size: OnceLock<Bytes>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    stream: Option<Box<dyn Read + Send>>,
    /// Bytes that came out of the stream since it was begun.
    had: u64,
    /// Bytes that came out of it at most, before it was begun again.
    reached: u64,
    pieces: BTreeMap<u64, Box<[u8]>>,
    /// Pieces in the order in which they came, without the first ones.
    order: VecDeque<u64>,
    given_up: std::collections::BTreeSet<u64>,
    begun: u32,
    /// Among how many the memory is shared; 0 where it is alone.
    shares: usize,
    has_ended: bool,
    is_damaged: bool,
    /// Why bytes could not be had, the first time.
    failure: Option<String>,
}

impl Forward {
    /// Nothing behind this is read: what lies there takes too long for whoever waits for an answer.
    pub const FARTHEST: Bytes = Bytes::mib(1024);

    /// The bytes that `open` gives, of which there are `size`, where that is known.
    #[must_use]
    pub fn new(open: Opener, size: Option<Bytes>) -> Forward {
        Forward {
            open,
            size: size.map_or_else(OnceLock::new, OnceLock::from),
            kept: Mutex::default(),
        }
    }

    /// The same, where so many are open at once: together they keep as much as one would.
    #[must_use]
    pub fn one_of(self, count: usize) -> Forward {
        self.kept().shares = count;
        self
    }

    /// The bytes of `stream`, which can be read once only, as far as is looked at.
    pub fn filled(stream: &mut dyn Read, size: Bytes) -> Forward {
        Forward::filled_as_one_of(stream, size, 1)
    }

    /// The same, where so many are open at once.
    pub fn filled_as_one_of(stream: &mut dyn Read, size: Bytes, count: usize) -> Forward {
        let gone = || Err(io::Error::other("it can be read once only"));
        let forward = Forward::new(Box::new(gone), Some(size)).one_of(count);
        {
            let mut kept = forward.kept();
            let mut failed = None;
            while !kept.has_ended && kept.had < Forward::FARTHEST.get() {
                if let Err(error) = kept.take_piece(stream) {
                    failed = Some(error.to_string());
                    break;
                }
            }
            kept.failure = failed;
            // It cannot be begun again.
            kept.begun = AGAIN + 1;
        }
        forward
    }

    /// Says how many bytes there are, where that is not known.
    pub fn set_size(&self, size: Bytes) {
        let _ = self.size.set(size);
    }

    /// Why bytes that were asked for could not be had, the first time that this was so.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.kept().failure.clone()
    }

    /// How many bytes there are: what was said, or found out by reaching the end.
    #[must_use]
    pub fn known_size(&self) -> Option<Bytes> {
        self.size.get().copied()
    }

    /// True when the stream itself could not be read on: it is damaged, or cut short.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.kept().is_damaged
    }

    /// How far it was read.
    #[must_use]
    pub fn reached(&self) -> Bytes {
        let kept = self.kept();
        Bytes::new(kept.reached.max(kept.had))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Reads on until the piece with this number is there, or the end.
    fn read_until(&mut self, number: u64, open: &Opener) -> io::Result<()> {
        let first = self.had / piece();
        if self.given_up.contains(&number) && number < first {
            if self.begun > AGAIN {
                return Err(io::Error::other(
                    "it lies too far apart from the rest to be kept while it is unpacked",
                ));
            }
            self.reached = self.reached.max(self.had);
            (self.stream, self.had, self.has_ended) = (None, 0, false);
        }
        while self.had / piece() <= number && !self.has_ended {
            if let Some(failure) = self.failure.as_ref().filter(|_| self.is_damaged) {
                return Err(io::Error::other(failure.clone()));
            }
            let mut stream = match self.stream.take() {
                Some(stream) => stream,
                None => {
                    self.begun += 1;
                    open()?
                }
            };
            self.take_piece(&mut stream)?;
            self.stream = Some(stream);
        }
        Ok(())
    }

    fn take_piece(&mut self, stream: &mut dyn Read) -> io::Result<()> {
        let mut bytes = vec![0; PIECE];
        let (had, done) = fill(stream, &mut bytes);
        done.inspect_err(|error| {
            self.is_damaged = true;
            self.failure.get_or_insert_with(|| error.to_string());
        })?;
        let at = self.had / piece();
        self.had += u64::try_from(had).unwrap_or(u64::MAX);
        self.has_ended = had < PIECE;
        bytes.truncate(had);
        self.keep(at, bytes);
        Ok(())
    }

    fn keep(&mut self, number: u64, bytes: Vec<u8>) {
        self.given_up.remove(&number);
        if bytes.iter().all(|byte| *byte == 0) || self.pieces.contains_key(&number) {
            return;
        }
        let shares = self.shares.max(1);
        let first = FIRST / u64::try_from(shares).unwrap_or(u64::MAX);
        if number >= first {
            self.order.push_back(number);
        }
        self.pieces.insert(number, bytes.into_boxed_slice());
        while self.pieces.len() > MOST / shares {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.pieces.remove(&oldest);
            self.given_up.insert(oldest);
        }
    }
}

fn piece() -> u64 {
    u64::try_from(PIECE).unwrap_or(u64::MAX)
}

impl ReadAt for Forward {
    /// What is known; else more than there can be.
    fn size(&self) -> Bytes {
        self.known_size()
            .unwrap_or(Bytes::new(i64::MAX.unsigned_abs() & !0xfff))
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() || offset >= self.size() {
            return Ok(0);
        }
        let (number, within) = (offset.get() / piece(), offset.get() % piece());
        let mut kept = self.kept();
        let had = match offset >= Forward::FARTHEST {
            true => Err(io::Error::other(format!(
                "only the first {} bytes are unpacked to look at them",
                Forward::FARTHEST.grouped()
            ))),
            false => kept.read_until(number, &self.open),
        };
        if let Err(error) = had {
            kept.failure.get_or_insert_with(|| error.to_string());
            return Err(error);
        }
        let reached = kept.reached.max(kept.had);
        if kept.has_ended {
            let _ = self.size.set(Bytes::new(kept.had));
        }
        let rest = reached.saturating_sub(offset.get()).min(piece() - within);
        let wanted = usize::try_from(rest).unwrap_or(PIECE).min(buf.len());
        if wanted == 0 {
            return Ok(0);
        }
        let within = usize::try_from(within).unwrap_or(PIECE);
        let buf = &mut buf[..wanted];
        match kept.pieces.get(&number) {
            Some(bytes) => buf.copy_from_slice(&bytes[within..within + wanted]),
            None => buf.fill(0),
        }
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Bytes of which some pieces are empty, and a count of how often they were begun.
    fn bytes(len: usize) -> (Vec<u8>, Arc<AtomicUsize>, Opener) {
        let byte = |at: usize| match (at / PIECE) % 3 {
            0 => 0,
            n => u8::try_from((at * n + at / PIECE) % 251).expect("small"),
        };
        let all: Vec<u8> = (0..len).map(byte).collect();
        let begun = Arc::new(AtomicUsize::new(0));
        let (copy, count) = (all.clone(), Arc::clone(&begun));
        let open: Opener = Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(io::Cursor::new(copy.clone())))
        });
        (all, begun, open)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_byte_is_that_of_the_stream(
            len in 0..6 * PIECE,
            reads in prop::collection::vec((0..6 * PIECE, 1..2 * PIECE), 1..12),
        ) {
            let (all, begun, open) = bytes(len);
            let forward = Forward::new(open, None);
            for (at, wanted) in reads {
                let mut got = vec![0xee; wanted];
                let read = forward.read_at(Bytes::new(at as u64), &mut got).expect("reads");
                let expected = all.get(at..).unwrap_or(&[]);
                prop_assert!(read <= expected.len().min(wanted));
                prop_assert_eq!(read == 0, expected.is_empty());
                prop_assert_eq!(&got[..read], &expected[..read]);
            }
            prop_assert!(begun.load(Ordering::Relaxed) <= 1);
            if let Some(size) = forward.known_size() {
                prop_assert_eq!(size.get(), len as u64);
            }
        }
    }

    #[test]
    fn what_was_given_up_is_read_again_a_few_times() {
        let pieces = MOST * 2 + usize::try_from(FIRST).expect("small");
        let (all, begun, open) = bytes(pieces * PIECE);
        let forward = Forward::new(open, None);
        let at = |piece: usize| Bytes::new((piece * PIECE) as u64);
        let mut got = [0; 64];
        let last = pieces - 1;
        let early = usize::try_from(FIRST).expect("small") + 1;
        assert_eq!(forward.read_at(at(last), &mut got).expect("reads"), 64);
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        assert_eq!(forward.read_at(at(early), &mut got).expect("reads"), 64);
        assert_eq!(got, all[early * PIECE..][..64]);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
        // The first are still there.
        assert_eq!(forward.read_at(at(1), &mut got).expect("reads"), 64);
        assert_eq!(got, all[PIECE..][..64]);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
        assert!(forward.kept().pieces.len() <= MOST);
        let mut refused = None;
        for _ in 0..20 {
            if let Err(error) = forward.read_at(at(last), &mut got) {
                refused = Some(error.to_string());
            }
            if let Err(error) = forward.read_at(at(early), &mut got) {
                refused = Some(error.to_string());
            }
        }
        assert!(refused.expect("bounded").contains("too far apart"));
        assert!(begun.load(Ordering::Relaxed) <= AGAIN as usize + 1);
    }

    #[test]
    fn a_stream_that_breaks_off_is_damaged_from_there_on() {
        let open: Opener = Box::new(move || {
            let whole = io::Cursor::new(vec![7; PIECE]);
            Ok(Box::new(whole.chain(Broken)))
        });
        let forward = Forward::new(open, None);
        let mut got = [0; 8];
        for _ in 0..3 {
            let error = forward.read_at(Bytes::new(PIECE as u64), &mut got);
            assert_eq!(error.expect_err("broken").to_string(), "bad block");
            let read = forward.read_at(Bytes::new(16), &mut got);
            assert_eq!((read.expect("was kept"), got), (8, [7; 8]));
        }
        assert!(forward.is_damaged());
        assert_eq!(forward.failure().as_deref(), Some("bad block"));
        assert_eq!(forward.reached().get(), PIECE as u64);
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("bad block"))
        }
    }

    #[test]
    fn what_lies_too_far_is_refused_without_reading_there() {
        let open: Opener = Box::new(|| Ok(Box::new(io::repeat(7))));
        let forward = Forward::new(open, Some(Bytes::mib(4096)));
        let error = forward.read_at(Forward::FARTHEST, &mut [0; 8]);
        assert!(
            error
                .expect_err("too far")
                .to_string()
                .contains("1,073,741,824")
        );
        assert_eq!(forward.reached(), Bytes::ZERO);
        assert_eq!(forward.size(), Bytes::mib(4096));
    }
}
