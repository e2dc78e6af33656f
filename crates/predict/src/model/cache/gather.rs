//! Sequential streams of writes: what each has begun is not destaged while it goes on.
//!
//! A cache that destaged at once what a stream has just written would write each page in the parts in which it came. So the
//! pages of the piece that a stream is in are held back, until it has left the piece, or goes elsewhere, or there is no room.

use slab::Slab;
use std::collections::VecDeque;

use crate::model::Operation;

/// Writes in sequence after which a stream is one.
const SEQUENTIAL: u32 = 2;
/// A write belongs to a stream when it lies at most so many of its own lengths from the stream's end: several are under way
/// at once, and processors may swap them.
const NEAR: u64 = 8;

/// Binary logarithm of a cell's bytes.
const CELL: u32 = 16;
/// Cells: those that lie so many apart are the same one.
const CELLS: usize = 1 << 12;
/// No stream.
const NONE: u32 = u32::MAX;

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
    /// Another one that ends in the same cell.
    beside: u32,
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
    streams: Slab<Stream>,
    /// Of each cell, a stream that ends there; the others are beside it. Random writes are near no stream most of the time, which this
    /// tells at once.
    cells: Vec<u32>,
    /// When which stream was seen; of each stream, only its last entry counts.
    seen: VecDeque<(u64, usize)>,
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
            streams: Slab::new(),
            cells: vec![NONE; CELLS],
            seen: VecDeque::new(),
            most,
            piece,
            writes: 0,
            released: Vec::new(),
        }
    }

    /// A write comes: from which byte on pages are held back for it, if they are.
    pub(super) fn observe(&mut self, write: Operation) -> Option<u64> {
        self.writes += 1;
        let Some(mut stream) = self.nearest(write).map(|key| self.take(key)) else {
            self.begin(write);
            return None;
        };
        stream.end = stream.end.max(write.end());
        stream.begin = stream.begin.min(write.start);
        stream.bytes = stream.bytes.saturating_add(write.len);
        stream.seen = self.writes;
        stream.writes = stream.writes.saturating_add(1);
        let is_sequential = stream.is_sequential();
        if is_sequential {
            stream.holds = true;
            let from = stream.end / self.piece * self.piece;
            if from > stream.held {
                self.released.push((stream.held, from));
                stream.held = from;
            }
        }
        self.put(stream);
        is_sequential.then_some(stream.held)
    }

    /// The stream that a write belongs to; of two that end as near, the one that ends before it.
    fn nearest(&self, write: Operation) -> Option<usize> {
        let near = write.len.saturating_mul(NEAR);
        let from = write.start.saturating_sub(near);
        let nearest = self
            .ending(from, write.start.saturating_add(near))
            .min_by_key(|(_, end)| (end.abs_diff(write.start), *end));
        nearest.map(|(key, _)| key)
    }

    /// Streams that end between two bytes, both included, and where.
    fn ending(&self, from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
        let cells = (from >> CELL..=to >> CELL).take(CELLS);
        let streams = cells.flat_map(|number| self.of_cell(number << CELL));
        streams.filter(move |(_, end)| (from..=to).contains(end))
    }

    /// Streams that end in the cell of a byte, and where.
    fn of_cell(&self, at: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut next = self.cells[cell(at)];
        std::iter::from_fn(move || {
            let key = next as usize;
            let stream = self.streams.get(key)?;
            next = stream.beside;
            Some((key, stream.end))
        })
    }

    fn take(&mut self, key: usize) -> Stream {
        let stream = self.streams.remove(key);
        let first = &mut self.cells[cell(stream.end)];
        if *first as usize == key {
            *first = stream.beside;
            return stream;
        }
        let mut before = *first as usize;
        while self.streams[before].beside as usize != key {
            before = self.streams[before].beside as usize;
        }
        self.streams[before].beside = stream.beside;
        stream
    }

    fn put(&mut self, mut stream: Stream) {
        // Two that have come to the same place go on as one.
        self.forget(stream.end);
        let of_cell = &mut self.cells[cell(stream.end)];
        stream.beside = *of_cell;
        let key = self.streams.insert(stream);
        *of_cell = u32::try_from(key).unwrap_or(NONE);
        if self.seen.len() >= 2 * self.most {
            let streams = &self.streams;
            self.seen
                .retain(|(seen, key)| is_last(streams, *seen, *key));
        }
        self.seen.push_back((stream.seen, key));
    }

    /// The stream that ends there, if one does, is none any longer.
    fn forget(&mut self, end: u64) {
        let found = self.ending(end, end).next();
        if let Some((key, _)) = found {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: usize) {
        let old = self.take(key);
        if old.holds {
            self.released.push((old.held, old.end));
        }
    }

    fn begin(&mut self, write: Operation) {
        while self.streams.len() >= self.most
            && let Some((seen, key)) = self.seen.pop_front()
        {
            if is_last(&self.streams, seen, key) {
                self.remove(key);
            }
        }
        self.put(Stream {
            end: write.end(),
            held: write.start / self.piece * self.piece,
            holds: false,
            begin: write.start,
            bytes: write.len,
            writes: 1,
            seen: self.writes,
            beside: NONE,
        });
    }

    /// Nothing is held any longer: room is needed, or there is nothing else to do.
    pub(super) fn give_up(&mut self) {
        self.cells.fill(NONE);
        self.seen.clear();
        for stream in self.streams.drain() {
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

/// The cell that a byte is in.
fn cell(at: u64) -> usize {
    ((at >> CELL) % CELLS as u64) as usize
}

/// True where a stream has not been seen since.
fn is_last(streams: &Slab<Stream>, seen: u64, key: usize) -> bool {
    streams.get(key).is_some_and(|stream| stream.seen == seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn the_nearest_end_is_found_among_all(
            ends in vec(0_u64..1 << 22, 1..100),
            start in 0_u64..1 << 22,
            len in 1_u64..1 << 18,
        ) {
            let mut gather = Gather::new(256, 65_536);
            for (n, end) in ends.iter().enumerate() {
                let (held, begin, bytes, writes) = (0, 0, 0, 1);
                let stream = Stream { end: *end, held, holds: false, begin, bytes, writes, seen: n as u64, beside: NONE };
                gather.put(stream);
            }
            let away = |end: &u64| (end.abs_diff(start), *end);
            let known = ends.iter().copied().filter(|end| away(end).0 <= NEAR * len);
            let found = gather.nearest(Operation::write(start, len));
            prop_assert_eq!(found.map(|key| gather.streams[key].end), known.min_by_key(away));
            let mut different = ends.clone();
            different.sort_unstable();
            different.dedup();
            prop_assert_eq!(gather.streams.len(), different.len());
        }
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

    #[test]
    fn the_stream_that_was_seen_longest_ago_makes_room_whatever_was_seen_often() {
        let mut gather = Gather::new(3, 65_536);
        // Two streams that go on, more often than there is room for what was seen, and a third that goes on last.
        for n in 0..20 {
            gather.observe(write(n));
            gather.observe(write(10_000 + n));
        }
        gather.observe(write(20_000));
        gather.observe(write(20_001));
        gather.observe(write(20));
        // The one at 10,000 has waited longest: what it holds is given back.
        assert_eq!(gather.observe(write(30_000)), None);
        let released = std::iter::from_fn(|| gather.released()).collect::<Vec<_>>();
        let last = (10_016 * 4096, 10_020 * 4096);
        assert!(released.contains(&last), "{released:?}");
        assert_eq!(gather.observe(write(21)), Some(16 * 4096), "it goes on");
        assert_eq!(gather.observe(write(10_020)), None, "it starts over");
    }

    #[test]
    fn streams_that_meet_go_on_as_one_and_nothing_stays_held() {
        let mut gather = Gather::new(4, 65_536);
        // Far from each other as requests of 512 bytes are long, and then one of them reaches to the end of the other.
        let small = |start: u64| Operation::write(start, 512);
        for n in 0..3 {
            gather.observe(small(n * 512));
            gather.observe(small(32_768 + n * 512));
        }
        let long = Operation::write(1536, 32_768);
        assert_eq!(gather.observe(long), Some(0));
        let released = std::iter::from_fn(|| gather.released()).collect::<Vec<_>>();
        assert_eq!(released, [(0, 32_768 + 1536)], "what the other held");
        gather.give_up();
        let released = std::iter::from_fn(|| gather.released()).collect::<Vec<_>>();
        assert_eq!(released, [(0, 32_768 + 1536)], "and one is left");
    }
}
