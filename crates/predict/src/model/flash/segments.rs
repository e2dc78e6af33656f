//! Pages of the map that are in memory.

/// The most recent pages of the map, the latest last.
#[derive(Debug)]
pub(super) struct Segments {
    segment: u64,
    most: usize,
    cached: Vec<u64>,
}

impl Segments {
    pub(super) fn new(segment: u64, most: usize) -> Segments {
        Segments {
            segment,
            most: most.max(1),
            cached: Vec::new(),
        }
    }

    /// How many pages of the map have to be read for `start` to `end`, which is not empty.
    pub(super) fn misses(&mut self, start: u64, end: u64) -> u64 {
        let mut misses = 0;
        for segment in start / self.segment..=(end - 1) / self.segment {
            match self.cached.iter().rposition(|cached| *cached == segment) {
                Some(at) => {
                    self.cached.remove(at);
                }
                None => {
                    misses += 1;
                    if self.cached.len() == self.most {
                        self.cached.remove(0);
                    }
                }
            }
            self.cached.push(segment);
        }
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recent_page_goes() {
        let mut segments = Segments::new(100, 2);
        assert_eq!(segments.misses(0, 100), 1);
        assert_eq!(segments.misses(50, 60), 0);
        assert_eq!(segments.misses(99, 101), 1, "across");
        assert_eq!(segments.misses(0, 1), 0);
        assert_eq!(segments.misses(200, 201), 1);
        assert_eq!(segments.misses(100, 101), 1, "it was the least recent");
    }
}
