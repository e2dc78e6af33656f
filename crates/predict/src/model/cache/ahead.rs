//! Sequential streams of reads, and how far each has been read ahead.

use crate::model::Operation;

/// Reads in sequence after which a stream is one.
const SEQUENTIAL: u32 = 2;
/// A read belongs to a stream when it lies at most so many of its own lengths from the stream's end: several are under way
/// at once, and processors may swap them.
const NEAR: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The byte behind its last read.
    end: u64,
    /// The byte behind what was read ahead.
    ahead: u64,
    reads: u32,
    seen: u64,
}

/// All streams that are known.
#[derive(Debug)]
pub(super) struct Ahead {
    streams: Vec<Stream>,
    most: usize,
    distance: u64,
    capacity: u64,
    reads: u64,
}

impl Ahead {
    pub(super) fn new(most: usize, distance: u64, capacity: u64) -> Ahead {
        Ahead {
            streams: Vec::new(),
            most,
            distance,
            capacity,
            reads: 0,
        }
    }

    /// A read comes: what should be read ahead now, in parts of half the distance or more.
    pub(super) fn observe(&mut self, read: Operation) -> Option<Operation> {
        if self.distance == 0 {
            return None;
        }
        self.reads += 1;
        let near = read.len.saturating_mul(NEAR);
        let known = |stream: &&mut Stream| read.start.abs_diff(stream.end) <= near;
        let Some(stream) = self.streams.iter_mut().find(known) else {
            let stream = Stream {
                end: read.end(),
                ahead: read.end(),
                reads: 1,
                seen: self.reads,
            };
            if self.streams.len() < self.most {
                self.streams.push(stream);
            } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.seen) {
                *oldest = stream;
            }
            return None;
        };
        stream.end = stream.end.max(read.end());
        stream.ahead = stream.ahead.max(stream.end);
        stream.seen = self.reads;
        stream.reads = stream.reads.saturating_add(1);
        let to = stream.end.saturating_add(self.distance).min(self.capacity);
        let from = stream.ahead;
        if stream.reads < SEQUENTIAL || to <= from || to - from < self.distance.div_ceil(2) {
            return None;
        }
        stream.ahead = to;
        Some(Operation::read(from, to - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_ahead_and_random_reads_are_not() {
        let mut ahead = Ahead::new(2, 1 << 20, 1 << 30);
        let read = |n: u64| Operation::read(n << 16, 1 << 16);
        assert_eq!(ahead.observe(read(0)), None);
        let first = Operation::read(2 << 16, 1 << 20);
        assert_eq!(ahead.observe(read(1)), Some(first));
        for n in 2..9 {
            assert_eq!(ahead.observe(read(n)), None);
        }
        assert_eq!(
            ahead.observe(read(9)),
            Some(Operation::read(first.end(), 8 << 16))
        );
        for n in [1000, 5000, 9000, 2000] {
            assert_eq!(ahead.observe(read(n)), None);
        }
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut ahead = Ahead::new(2, 1 << 20, 1 << 18);
        let read = |n: u64| Operation::read(n << 16, 1 << 16);
        for n in 0..4 {
            let read_ahead = ahead.observe(read(n));
            assert!(read_ahead.is_none_or(|read| read.end() <= 1 << 18));
        }
    }
}
