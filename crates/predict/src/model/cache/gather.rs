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
    streams: Slab<Stream>,
    /// Ends of streams, in order, and which each is of. A vector, as there are few, and random writes come and go all the time.
    ends: Vec<(u64, usize)>,
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
            ends: Vec::new(),
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
        let Some(mut stream) = self.nearest(write).map(|place| self.take(place)) else {
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

    /// The stream that a write belongs to, by its place among the ends.
    fn nearest(&self, write: Operation) -> Option<usize> {
        let near = write.len.saturating_mul(NEAR);
        let behind = self.ends.partition_point(|(end, _)| *end < write.start);
        let away = |place: usize| {
            self.ends
                .get(place)
                .map(|(end, _)| end.abs_diff(write.start))
        };
        let places = [behind.checked_sub(1), Some(behind)].into_iter().flatten();
        let places = places.filter_map(|place| Some((away(place)?, place)));
        let nearest = places.min().filter(|(away, _)| *away <= near);
        nearest.map(|(_, place)| place)
    }

    fn take(&mut self, place: usize) -> Stream {
        let (_, key) = self.ends.remove(place);
        self.streams.remove(key)
    }

    fn put(&mut self, stream: Stream) {
        // Two that have come to the same place go on as one.
        let place = self.forget(stream.end);
        let key = self.streams.insert(stream);
        self.ends.insert(place, (stream.end, key));
        if self.seen.len() >= 2 * self.most {
            let streams = &self.streams;
            self.seen
                .retain(|(seen, key)| is_last(streams, *seen, *key));
        }
        self.seen.push_back((stream.seen, key));
    }

    /// The stream that ends there, if one does, is none any longer; its place among the ends.
    fn forget(&mut self, end: u64) -> usize {
        let found = self.ends.binary_search_by_key(&end, |(end, _)| *end);
        if let Ok(place) = found {
            let old = self.take(place);
            if old.holds {
                self.released.push((old.held, old.end));
            }
        }
        found.unwrap_or_else(|place| place)
    }

    fn begin(&mut self, write: Operation) {
        while self.streams.len() >= self.most
            && let Some((seen, key)) = self.seen.pop_front()
        {
            if is_last(&self.streams, seen, key) {
                self.forget(self.streams[key].end);
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
        });
    }

    /// Nothing is held any longer: room is needed, or there is nothing else to do.
    pub(super) fn give_up(&mut self) {
        self.ends.clear();
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

/// True where a stream has not been seen since.
fn is_last(streams: &Slab<Stream>, seen: u64, key: usize) -> bool {
    streams.get(key).is_some_and(|stream| stream.seen == seen)
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
        assert_eq!(gather.observe(write(10_020)), None, "it begins anew");
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
