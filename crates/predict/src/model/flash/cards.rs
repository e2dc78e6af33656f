//! Block-mapped devices, such as cards: a few erase blocks are open for writing in order; everything else is copied.

/// What a write costs besides programming it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `from` to `to` is copied from the old block to the new one.
    Copy(u64, u64),
    /// `from` to `to` is programmed.
    Program(u64, u64),
}

/// Blocks that are open, the least recent first: where each begins, and how far it has been written.
#[derive(Debug)]
pub(super) struct OpenBlocks {
    block: u64,
    most: usize,
    open: Vec<(u64, u64)>,
}

impl OpenBlocks {
    pub(super) fn new(block: u64, most: usize) -> OpenBlocks {
        OpenBlocks {
            block,
            most: most.max(1),
            open: Vec::new(),
        }
    }

    /// `start` to `end` is written.
    pub(super) fn write(&mut self, start: u64, end: u64, steps: &mut Vec<Step>) {
        let mut at = start;
        while at < end {
            let base = at / self.block * self.block;
            let stop = (base + self.block).min(end);
            self.write_in(base, at, stop, steps);
            at = stop;
        }
    }

    fn write_in(&mut self, base: u64, from: u64, to: u64, steps: &mut Vec<Step>) {
        let copy = |from: u64, to: u64, steps: &mut Vec<Step>| {
            if from < to {
                steps.push(Step::Copy(from, to));
            }
        };
        let mut written = base;
        if let Some(at) = self.open.iter().position(|(open, _)| *open == base) {
            written = self.open.remove(at).1;
            if from < written {
                // What has been programmed cannot be programmed again: the block is closed and begun again.
                copy(written, base + self.block, steps);
                written = base;
            }
        } else if self.open.len() == self.most {
            let (old, written) = self.open.remove(0);
            copy(written, old + self.block, steps);
        }
        copy(written, from, steps);
        steps.push(Step::Program(from, to));
        if to < base + self.block {
            self.open.push((base, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(blocks: &mut OpenBlocks, start: u64, end: u64) -> u64 {
        let mut steps = Vec::new();
        blocks.write(start, end, &mut steps);
        let lengths = steps.iter().map(|step| match step {
            Step::Copy(from, to) => to - from,
            Step::Program(..) => 0,
        });
        lengths.sum()
    }

    #[test]
    fn only_blocks_that_are_not_open_cost_copies() {
        let mut blocks = OpenBlocks::new(100, 2);
        for at in (0..100).step_by(10) {
            assert_eq!(copied(&mut blocks, at, at + 10), 0, "two in turn");
            assert_eq!(copied(&mut blocks, 500 + at, 510 + at), 0, "two in turn");
        }
        assert_eq!(copied(&mut blocks, 200, 400), 0, "whole blocks");
        let (mut third, mut n) = (0, 0);
        for at in (0..100).step_by(10) {
            for base in [0, 300, 600] {
                third += copied(&mut blocks, base + at, base + at + 10);
                n += 1;
            }
        }
        assert!(third > 50 * (n - 3), "three in turn: {third} for {n}");
        let mut blocks = OpenBlocks::new(100, 2);
        assert_eq!(copied(&mut blocks, 40, 50), 40, "what lies before");
        assert_eq!(copied(&mut blocks, 60, 70), 10, "a gap");
        assert_eq!(copied(&mut blocks, 40, 50), 30 + 40, "again");
    }
}
