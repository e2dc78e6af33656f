//! Sequential streams of writes: what each has begun is not destaged while it goes on.
//!
//! A cache that destaged at once what a stream has just written would write each page in the parts in which it came. So the
//! pages of the piece that a stream is in are held back, until it has left the piece, or goes elsewhere, or there is no room.

use crate::model::Operation;

/// Writes in sequence after which a stream is one.
const SEQUENTIAL: u32 = 2;
/// A write belongs to a stream when it lies at most so many of its own lengths from the stream's end: several are under way
/// at once, and processors may swap them.
const NEAR: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The byte behind its last write.
    end: u64,
    /// From here on, its pages are held, if any are.
    held: u64,
    holds: bool,
    /// Where it began, and how much it wrote since.
    begin: u64,
    bytes: u64,
    writes: u32,
    seen: u64,
}

impl Stream {
    /// True when it leaves out less than half: strides are no sequence.
    fn is_sequential(&self) -> bool {
        self.writes >= SEQUENTIAL && self.bytes.saturating_mul(2) >= self.end - self.begin
    }
}

/// All streams that are known.
#[derive(Debug)]
pub(super) struct Gather {
    streams: Vec<Stream>,
    most: usize,
    /// Bytes of a piece.
    piece: u64,
    writes: u64,
    /// What is not held any longer, from its first byte to the one behind its last.
    released: Vec<(u64, u64)>,
}

impl Gather {
    pub(super) fn new(most: usize, piece: u64) -> Gather {
        Gather {
            streams: Vec::new(),
            most,
            piece,
            writes: 0,
            released: Vec::new(),
        }
    }

    /// A write comes: from which byte on pages are held back for it, if they are.
    pub(super) fn observe(&mut self, write: Operation) -> Option<u64> {
        self.writes += 1;
        let near = write.len.saturating_mul(NEAR);
        let known = |stream: &&mut Stream| write.start.abs_diff(stream.end) <= near;
        let Some(stream) = self.streams.iter_mut().find(known) else {
            self.begin(write);
            return None;
        };
        stream.end = stream.end.max(write.end());
        stream.begin = stream.begin.min(write.start);
        stream.bytes = stream.bytes.saturating_add(write.len);
        stream.seen = self.writes;
        stream.writes = stream.writes.saturating_add(1);
        if !stream.is_sequential() {
            return None;
        }
        stream.holds = true;
        let from = stream.end / self.piece * self.piece;
        if from > stream.held {
            self.released.push((stream.held, from));
            stream.held = from;
        }
        Some(stream.held)
    }

    fn begin(&mut self, write: Operation) {
        let stream = Stream {
            end: write.end(),
            held: write.start / self.piece * self.piece,
            holds: false,
            begin: write.start,
            bytes: write.len,
            writes: 1,
            seen: self.writes,
        };
        if self.streams.len() < self.most {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.seen) {
            let old = std::mem::replace(oldest, stream);
            if old.holds {
                self.released.push((old.held, old.end));
            }
        }
    }

    /// Nothing is held any longer: room is needed, or there is nothing else to do.
    pub(super) fn give_up(&mut self) {
        for stream in self.streams.drain(..) {
            if stream.holds {
                self.released.push((stream.held, stream.end));
            }
        }
    }

    /// What was held and is not any longer.
    pub(super) fn released(&mut self) -> Option<(u64, u64)> {
        self.released.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(n: u64) -> Operation {
        Operation::write(n * 4096, 4096)
    }

    #[test]
    fn a_piece_is_held_until_its_stream_has_left_it() {
        let mut gather = Gather::new(2, 65_536);
        assert_eq!(gather.observe(write(3)), None, "one write is no stream");
        for n in 4..15 {
            assert_eq!(gather.observe(write(n)), Some(0), "{n}");
        }
        assert_eq!(gather.released(), None);
        for n in 15..27 {
            assert_eq!(gather.observe(write(n)), Some(65_536), "{n}");
        }
        assert_eq!(gather.released(), Some((0, 65_536)));
        assert_eq!(gather.released(), None);
        gather.give_up();
        assert_eq!(gather.released(), Some((65_536, 27 * 4096)));
    }

    #[test]
    fn strides_are_not_held() {
        let mut gather = Gather::new(2, 65_536);
        for n in 0..50 {
            assert_eq!(gather.observe(write(4 * n)), None);
        }
    }

    #[test]
    fn random_writes_are_not_held_and_take_nobodys_place_for_long() {
        let mut gather = Gather::new(2, 65_536);
        for n in 0..50 {
            let held = gather.observe(write(n));
            assert_eq!(held.is_some(), n > 0);
            let elsewhere = gather.observe(write(100_000 + 1_000 * n));
            assert_eq!(elsewhere, None);
        }
    }
}
