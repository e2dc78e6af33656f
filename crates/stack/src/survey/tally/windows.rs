//! Runs counted by their kind, for every window that they lie in.

use straddle_geometry::{Bytes, Extent};

use super::{Building, Counters, Kind, Pending, Tally, counters};
use crate::survey::Run;
use crate::survey::places::GRAIN;

/// Most kinds of runs that are counted before windows get them.
const MAX_KINDS: usize = 1 << 18;
/// Most kinds, and runs that are kept one by one, in all windows together. A window that would need more is incomplete.
const MAX_KEPT: usize = 1 << 20;
/// Most windows that one place may lie in. Partitions in volumes in files are a handful deep; thousands that overlap are
/// not meant to be priced.
const MAX_ACTIVE: usize = 64;

impl Building {
    fn add(&mut self, kind: Kind, count: u64, kept: &mut usize) {
        if let Some(sum) = self.kinds.get_mut(&kind) {
            *sum += count;
        } else if *kept < MAX_KEPT {
            *kept += 1;
            self.kinds.insert(kind, count);
        } else {
            self.incomplete = true;
        }
    }
}

impl Tally<'_> {
    /// Counts a run that lies well inside of all windows that it lies in.
    #[inline]
    pub(super) fn count(&mut self, run: Pending) {
        if let Some(quick) = self.quick
            && run.whole
            && run.base == quick.base
            && run.lower.is_multiple_of(GRAIN)
        {
            // Nearly always the period is the block, and a division costs more than all the rest.
            let phase = if self.period == self.block {
                0
            } else {
                run.upper % self.period / self.block
            };
            let slot = phase * quick.slots + (run.lower & quick.mask) / GRAIN;
            let slot = usize::try_from(slot).unwrap_or(usize::MAX);
            if self.current.blocks.is_empty() {
                self.current.blocks = vec![0; counters(self.period, self.block, quick)];
            }
            if let Some(counter) = self.current.blocks.get_mut(slot) {
                *counter += 1;
                return;
            }
        }
        let key = self.key(run);
        *self.current.others.entry(key).or_default() += 1;
        if self.current.others.len() > MAX_KINDS {
            self.settle();
        }
    }

    pub(super) fn key(&self, run: Pending) -> (usize, u64, u64, u64) {
        let modulus = self.bases[run.base].modulus.get();
        (
            run.base,
            run.upper % self.period,
            run.len,
            run.lower % modulus,
        )
    }

    /// Gives what was counted to all windows that it lies in.
    pub(super) fn settle(&mut self) {
        let Counters { blocks, others } = std::mem::take(&mut self.current);
        let mut counted: Vec<(Kind, u64)> = others.into_iter().collect();
        if let Some(quick) = self.quick {
            let slots = blocks.iter().enumerate().filter(|(_, count)| **count > 0);
            counted.extend(slots.map(|(slot, count)| {
                let slot = u64::try_from(slot).unwrap_or(0);
                let at = slot / quick.slots * self.block;
                let lower = slot % quick.slots * GRAIN;
                ((quick.base, at, self.block, lower), *count)
            }));
        }
        for index in &self.active {
            for (kind, count) in &counted {
                self.windows[*index].add(*kind, *count, &mut self.kept);
            }
        }
    }

    /// Counts a run at which windows begin or end, or that lies near an end of one; then finds the next calm stretch.
    #[cold]
    pub(super) fn count_near_an_event(&mut self, run: Pending) {
        self.settle();
        let end = run.upper + run.len;
        while self
            .windows
            .get(self.next_window)
            .is_some_and(|window| window.extent.start().get() < end)
        {
            self.active.push(self.next_window);
            self.next_window += 1;
        }
        let windows = &self.windows;
        self.active
            .retain(|index| windows[*index].extent.end().get() > run.upper);
        for index in self.active.clone() {
            let extent = self.windows[index].extent;
            let (from, to) = (
                run.upper.max(extent.start().get()),
                end.min(extent.end().get()),
            );
            if from >= to {
                continue;
            }
            let part = Pending {
                upper: from,
                lower: run.lower + (from - run.upper),
                len: to - from,
                whole: false,
                ..run
            };
            let inner = self.inner(extent);
            let near = !(inner.start < part.upper && to < inner.end);
            let key = self.key(part);
            let window = &mut self.windows[index];
            if near && self.kept < MAX_KEPT {
                self.kept += 1;
                window.edges.extend(
                    Extent::new(Bytes::new(part.upper), Bytes::new(part.len)).map(|upper| Run {
                        base: part.base,
                        upper,
                        lower: Bytes::new(part.lower),
                    }),
                );
            } else if near {
                window.incomplete = true;
            } else {
                window.add(key, 1, &mut self.kept);
            }
        }
        self.find_calm(end);
    }

    /// Where runs of a window are no longer near one of its ends.
    pub(super) fn inner(&self, window: Extent) -> std::ops::Range<u64> {
        window.start().get().saturating_add(self.zone)..window.end().get().saturating_sub(self.zone)
    }

    /// The stretch from `at` on in which no window begins, ends, or is near an end; empty when there is none.
    pub(super) fn find_calm(&mut self, at: u64) {
        let mut calm = at.saturating_sub(1)..u64::MAX;
        if let Some(next) = self.windows.get(self.next_window) {
            calm.end = next.extent.start().get();
        }
        let windows = &self.windows;
        self.active
            .retain(|index| windows[*index].extent.end().get() > at);
        for index in self.active.drain(MAX_ACTIVE.min(self.active.len())..) {
            self.windows[index].incomplete = true;
        }
        for index in &self.active {
            let inner = self.inner(self.windows[*index].extent);
            calm.start = calm.start.max(inner.start);
            calm.end = calm.end.min(inner.end);
        }
        self.calm = if calm.start < calm.end { calm } else { 0..0 };
    }
}
