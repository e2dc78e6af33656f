//! One pass over one table.

mod many;
mod windows;

use std::collections::HashMap;
use straddle_geometry::{
    Blocks, Bytes, Extent, Gap, Map, Row, Segment, Sink, TableError, Unit, entry, lcm,
};

use crate::survey::descend::is_kept;
use crate::survey::overlap::Overlap;
use crate::survey::places::GRAIN;
use crate::survey::segments::clipped;
use crate::survey::{Base, Class, Run, Survey, Window};
use crate::{Anomaly, AnomalyKind, Key, LayerId, Stack};

/// Largest modulus of a base: grids with larger units are left out of a survey.
const LARGEST_MODULUS: u64 = 1 << 26;
/// Most periods of blocks: request sizes that would need more are left out, unless the period is short.
const MAX_PHASES: u64 = 1 << 10;
/// A period that is no longer is kept however many blocks it has.
const SHORT_PERIOD: u64 = 1 << 26;
/// Most blocks that are looked at one by one: 64 TiB in blocks of 64 KiB. A table of more is hostile, or has no use.
const MAX_BLOCKS: u64 = 1 << 30;
/// Most counters of whole blocks; beyond, they are counted like runs of any other shape.
const MAX_COUNTERS: u64 = 1 << 16;
/// Longest zone at either end of a window in which runs are kept one by one.
const LONGEST_ZONE: u64 = 16 << 20;

/// How a target of the table is reached.
#[derive(Clone, Copy)]
enum Way {
    /// Runs end in it.
    Base(usize),
    /// It lies in pieces, or is a virtual disk itself.
    Deep(LayerId),
}

/// Runs counted by their kind.
#[derive(Default)]
struct Counters {
    /// Whole blocks: one counter for each (block modulo the period, place modulo the modulus).
    blocks: Vec<u64>,
    /// Everything else.
    others: HashMap<Kind, u64>,
}

/// Base, position in the disk modulo the period, length, place below modulo the modulus.
type Kind = (usize, u64, u64, u64);

/// A pass over one table.
pub(super) struct Tally<'a> {
    stack: &'a Stack,
    ways: Vec<Way>,
    bases: Vec<Base>,
    parent: Option<usize>,
    block: u64,
    period: u64,
    /// The base whose whole blocks are counted in an array, and log2 of its modulus where that is a power of two.
    quick: Option<Quick>,
    windows: Vec<Building>,
    /// Windows that the current position lies in, and the position where that, or being near an end of one, changes.
    active: Vec<usize>,
    next_window: usize,
    zone: u64,
    calm: std::ops::Range<u64>,
    current: Counters,
    /// Kinds and edges that all windows together keep.
    kept: usize,
    pending: Pending,
    absent_run: Option<Extent>,
    mapped: u64,
    absent: u64,
    zero: u64,
    packed: u64,
    in_parent: u64,
    runs: u64,
    overlap: Overlap<'a>,
    failed: Option<TableError>,
}

#[derive(Clone, Copy)]
struct Quick {
    base: usize,
    mask: u64,
    slots: u64,
}

/// A run that may still grow.
#[derive(Clone, Copy, Default)]
struct Pending {
    base: usize,
    upper: u64,
    lower: u64,
    len: u64,
    /// Exactly one block, and all of it.
    whole: bool,
}

struct Building {
    extent: Extent,
    kinds: HashMap<Kind, u64>,
    edges: Vec<Run>,
    incomplete: bool,
}

impl<'a> Tally<'a> {
    pub(super) fn of(
        stack: &'a Stack,
        id: LayerId,
        steps: &[Unit],
    ) -> (Option<Survey>, Vec<Anomaly>) {
        let layer = stack.layer(id);
        let Map::Blocks(Blocks(table)) = &layer.map else {
            return (None, Vec::new());
        };
        let table = &**table;
        let size = table.size();
        let count = size.get() / table.block().get();
        if count > MAX_BLOCKS {
            let detail = format!(
                "a table of {} blocks; where they lie is looked at up to {} blocks",
                Bytes::new(count).grouped(),
                Bytes::new(MAX_BLOCKS).grouped()
            );
            return (None, vec![Anomaly::new(AnomalyKind::LimitReached, detail)]);
        }
        let mut bases: Vec<Base> = Vec::new();
        let mut ways = Vec::new();
        let mut wanted: Vec<Unit> = steps.to_vec();
        for below in &layer.below {
            ways.push(if stack.is_base(*below) {
                Way::Base(base_of(stack, *below, &mut bases, &mut wanted))
            } else {
                Way::Deep(*below)
            });
        }
        let block = table.block().get();
        let period = period_of(block, &wanted);
        let quick = ways.iter().find_map(|way| match way {
            Way::Base(base) => Some(*base),
            Way::Deep(_) => None,
        });
        let quick = quick.and_then(|base| {
            let modulus = bases[base].modulus.get();
            let slots = modulus / GRAIN;
            let fits = modulus.is_power_of_two()
                && modulus >= GRAIN
                && (period / block).saturating_mul(slots) <= MAX_COUNTERS;
            fits.then_some(Quick {
                base,
                mask: modulus - 1,
                slots,
            })
        });
        let zone = wanted.iter().map(|unit| unit.get()).max().unwrap_or(0);
        let file_end = layer
            .below
            .first()
            .and_then(|file| stack.layer(*file).size.as_ref());
        let mut tally = Tally {
            stack,
            ways,
            bases,
            parent: table.parent(),
            block,
            period,
            quick,
            windows: stack
                .windows_above(id, size)
                .into_iter()
                .map(|extent| Building {
                    extent,
                    kinds: HashMap::new(),
                    edges: Vec::new(),
                    incomplete: false,
                })
                .collect(),
            active: Vec::new(),
            next_window: 0,
            zone: zone.min(LONGEST_ZONE),
            calm: 0..0,
            current: Counters::default(),
            kept: 0,
            pending: Pending::default(),
            absent_run: None,
            mapped: 0,
            absent: 0,
            zero: 0,
            packed: 0,
            in_parent: 0,
            runs: 0,
            overlap: Overlap::new(
                table,
                file_end.map_or(Bytes::MAX, |size| size.value),
                layer.bytes(Key::BlockStride).map(|fact| fact.value),
            ),
            failed: None,
        };
        let streamed = table.stream(Extent::whole(size), &mut tally);
        let mut anomalies = Vec::new();
        if let Some(error) = streamed.err().or(tally.failed.take()) {
            let detail = format!("its block table cannot be read to the end: {error}");
            anomalies.push(Anomaly::new(AnomalyKind::Unreadable, detail));
        }
        anomalies.extend(tally.overlap.findings());
        (Some(tally.finish()), anomalies)
    }

    fn finish(mut self) -> Survey {
        self.flush_absent();
        self.flush();
        self.settle();
        let windows = self.windows.into_iter().map(|building| {
            let start = building.extent.start().get() % self.period;
            let class = |((base, at, len, lower), count)| Class {
                base,
                offset: Bytes::new((at + self.period - start) % self.period),
                len: Bytes::new(len),
                lower: Bytes::new(lower),
                count,
            };
            let mut classes: Vec<Class> = building.kinds.into_iter().map(class).collect();
            classes.sort_unstable();
            Window {
                extent: building.extent,
                classes,
                edges: building.edges,
                incomplete: building.incomplete,
            }
        });
        Survey {
            windows: windows.collect(),
            mapped: Bytes::new(self.mapped),
            absent: Bytes::new(self.absent),
            zero: Bytes::new(self.zero),
            packed: Bytes::new(self.packed),
            in_parent: Bytes::new(self.in_parent),
            runs: self.runs,
            period: Unit::new(self.period).unwrap_or(Unit::B4096),
            bases: self.bases,
        }
    }

    /// A run as it comes; joined with the one before where it continues it.
    #[inline]
    fn add(&mut self, base: usize, upper: u64, lower: u64, len: u64, whole: bool) {
        let pending = &mut self.pending;
        let continues = pending.base == base
            && pending.upper.wrapping_add(pending.len) == upper
            && pending.lower.wrapping_add(pending.len) == lower
            && pending.len > 0;
        if continues {
            pending.len += len;
            pending.whole = false;
            return;
        }
        self.flush();
        self.pending = Pending {
            base,
            upper,
            lower,
            len,
            whole,
        };
    }

    /// Counts the run that has ended.
    #[inline]
    fn flush(&mut self) {
        let run = self.pending;
        if run.len == 0 {
            return;
        }
        self.pending.len = 0;
        self.runs += 1;
        self.mapped = self.mapped.saturating_add(run.len);
        if self.calm.start < run.upper && run.upper + run.len < self.calm.end {
            self.count(run);
        } else {
            self.count_near_an_event(run);
        }
    }

    /// What is absent here is sought in the parent, in stretches as long as possible.
    fn flush_absent(&mut self) {
        let Some(extent) = self.absent_run.take() else {
            return;
        };
        let parent = self
            .parent
            .and_then(|target| self.ways.get(target).copied());
        let before = self.covered();
        if let Some(way) = parent {
            self.follow(way, extent, extent.start());
        }
        let found = self.covered() - before;
        self.in_parent = self.in_parent.saturating_add(found);
        self.absent = self
            .absent
            .saturating_add(extent.len().get().saturating_sub(found));
    }

    /// Bytes of all runs so far.
    fn covered(&self) -> u64 {
        self.mapped.saturating_add(self.pending.len)
    }

    fn follow(&mut self, way: Way, upper: Extent, lower: Bytes) {
        match way {
            Way::Base(base) => {
                let limit = self.stack.layer(self.bases[base].layer).size.as_ref();
                let at = Extent::new(lower, upper.len());
                let at = at.and_then(|at| clipped(at, limit.map_or(Bytes::MAX, |size| size.value)));
                if let Some(at) = at {
                    self.add(
                        base,
                        upper.start().get(),
                        lower.get(),
                        at.len().get(),
                        false,
                    );
                }
            }
            Way::Deep(layer) => {
                let limit = self.stack.layer(layer).size.as_ref();
                let at = Extent::new(lower, upper.len());
                let at = at.and_then(|at| clipped(at, limit.map_or(Bytes::MAX, |size| size.value)));
                let Some(at) = at else {
                    return;
                };
                let stack = self.stack;
                let mut unused = Vec::new();
                let sent =
                    stack.descend(layer, at, upper.start(), 0, &mut |extent, layer, lower| {
                        let base = base_of(stack, layer, &mut self.bases, &mut unused);
                        self.add(
                            base,
                            extent.start().get(),
                            lower.get(),
                            extent.len().get(),
                            false,
                        );
                    });
                self.failed = self.failed.take().or(sent.err());
            }
        }
    }
}

/// The index of `layer` among the bases, where it is put when it is new; the units of its grids go to `wanted`.
fn base_of(stack: &Stack, layer: LayerId, bases: &mut Vec<Base>, wanted: &mut Vec<Unit>) -> usize {
    if let Some(known) = bases.iter().position(|base| base.layer == layer) {
        return known;
    }
    let seen = stack.grids_seen_from(layer);
    let mut units: Vec<Unit> = seen
        .iter()
        .filter(|grid| is_kept(grid.role, grid.fact.trust))
        .map(|grid| grid.fact.value.unit())
        .collect();
    units.sort_unstable();
    let mut modulus = GRAIN;
    for unit in units {
        if let Some(both) = lcm(modulus, unit.get()).filter(|both| *both <= LARGEST_MODULUS) {
            modulus = both;
            wanted.push(unit);
        }
    }
    bases.push(Base {
        layer,
        modulus: Unit::new(modulus).unwrap_or(Unit::B4096),
    });
    bases.len() - 1
}

/// A multiple of the block and of as many of `wanted` as fit.
fn period_of(block: u64, wanted: &[Unit]) -> u64 {
    let mut period = block;
    for unit in wanted {
        let fits = |both: &u64| both / block <= MAX_PHASES || *both <= SHORT_PERIOD;
        if let Some(both) = lcm(period, unit.get()).filter(fits) {
            period = both;
        }
    }
    period
}

fn counters(period: u64, block: u64, quick: Quick) -> usize {
    usize::try_from(period / block * quick.slots).unwrap_or(0)
}

impl Sink for Tally<'_> {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        let mut upper = first.get();
        for batch in lower.chunks(many::BATCH) {
            if !self.many(upper, target, batch) {
                self.one_by_one(upper, target, batch);
            }
            let len = u64::try_from(batch.len()).unwrap_or(0);
            upper = upper.saturating_add(len.saturating_mul(self.block));
        }
    }

    fn row(&mut self, row: Row) {
        self.evenly(row);
    }

    fn piece(&mut self, piece: Segment) {
        self.flush_absent();
        if let Some(way) = self.ways.get(piece.target).copied() {
            self.follow(way, piece.upper, piece.lower);
        }
    }

    fn gap(&mut self, upper: Extent, gap: Gap) {
        let len = upper.len().get();
        match gap {
            Gap::Absent => {
                let joined = self.absent_run.and_then(|run| {
                    let len = run.len().checked_add(upper.len())?;
                    Extent::new(run.start(), len).filter(|_| run.end() == upper.start())
                });
                if joined.is_none() {
                    self.flush_absent();
                }
                self.absent_run = joined.or(Some(upper));
                return;
            }
            Gap::Zero => self.zero = self.zero.saturating_add(len),
            Gap::Packed => self.packed = self.packed.saturating_add(len),
        }
        self.flush_absent();
    }
}

impl Tally<'_> {
    /// Whole blocks and marks, each by itself.
    fn one_by_one(&mut self, first: u64, target: usize, lower: &[u64]) {
        let way = self.ways.get(target).copied();
        let block = self.block;
        // Marks are larger than any address, so one comparison finds both them and what lies too far.
        let limit = self.overlap.last_start();
        let mut upper = first;
        for place in lower {
            let place = *place;
            if place > limit {
                self.unusual(upper, target, place);
            } else {
                if self.absent_run.is_some() {
                    self.flush_absent();
                }
                if target == 0 {
                    self.overlap.block(upper, place);
                }
                match way {
                    Some(Way::Base(base)) => self.add(base, upper, place, block, true),
                    Some(way) => {
                        if let Some(extent) = Extent::new(Bytes::new(upper), Bytes::new(block)) {
                            self.follow(way, extent, Bytes::new(place));
                        }
                    }
                    None => {}
                }
            }
            upper = upper.saturating_add(block);
        }
    }

    /// An entry that is a mark, or a place beyond the end of the file.
    #[cold]
    fn unusual(&mut self, upper: u64, target: usize, place: u64) {
        let Some(extent) = Extent::new(Bytes::new(upper), Bytes::new(self.block)) else {
            return;
        };
        match entry::gap(place) {
            Some(gap) => self.gap(extent, gap),
            None if target == 0 => {
                self.flush_absent();
                self.overlap.beyond(upper, place);
            }
            None => self.piece(Segment {
                upper: extent,
                target,
                lower: Bytes::new(place),
            }),
        }
    }
}
