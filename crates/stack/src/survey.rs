//! One pass over a block table, kept as counts.
//!
//! A table may have tens of millions of entries, so what is kept of it is not where each block lies but how many runs of
//! blocks lie how: at which place modulo all boundaries below, and at which place modulo all requests above. That is
//! enough to price any stream of those requests exactly, in memory that does not grow with the table.

use schemars::JsonSchema;
use std::collections::HashMap;
use std::sync::Arc;
use straddle_geometry::{
    BlockTable, Blocks, Bytes, Extent, Gap, Map, Segment, Sink, TableError, Unit, entry,
};

use crate::overlap::Overlap;
use crate::{GridRole, Layer, LayerId, Oddity, OddityKind, Stack, Trust};

/// What is known of the blocks of a virtual disk after one pass over its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Bytes that lie somewhere below, in the container's own files or in a parent.
    pub mapped: Bytes,
    /// Bytes that lie nowhere.
    pub absent: Bytes,
    /// Bytes recorded as zeroes.
    pub zero: Bytes,
    /// Bytes that are compressed.
    pub packed: Bytes,
    /// Bytes that lie in a parent.
    pub in_parent: Bytes,
    /// Runs: neighbours that continue each other below count as one.
    pub runs: u64,
    /// Positions in the disk are kept modulo this.
    pub period: Unit,
    /// For each layer that runs end in, what the places there are kept modulo of.
    pub bases: Vec<Base>,
    /// What lies in each part of the disk that some layer above consists of; the whole disk first.
    pub windows: Vec<Window>,
}

/// A layer in which runs end: its grids are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The layer.
    pub layer: LayerId,
    /// A multiple of the unit of every grid that is looked at there.
    pub modulus: Unit,
}

/// The runs in one part of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The part, in addresses of the disk.
    pub extent: Extent,
    /// Runs that are alike, counted.
    pub classes: Vec<Class>,
    /// Runs near either end of the part, one by one: a stream of requests may begin or end in them.
    pub edges: Vec<Run>,
    /// True when there are more kinds of runs than are kept; then nothing can be said about the part.
    pub incomplete: bool,
}

/// Runs that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Index into [`Survey::bases`].
    pub base: usize,
    /// Where they start, from the start of the window, modulo [`Survey::period`].
    pub offset: Bytes,
    /// Their length.
    pub len: Bytes,
    /// Where they start below, modulo [`Base::modulus`].
    pub lower: Bytes,
    /// How many there are.
    pub count: u64,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index into [`Survey::bases`].
    pub base: usize,
    /// Its addresses in the disk.
    pub upper: Extent,
    /// Where it starts below.
    pub lower: Bytes,
}

impl Survey {
    /// What lies in exactly this part of the disk.
    #[must_use]
    pub fn window(&self, extent: Extent) -> Option<&Window> {
        let found = self.windows.iter().find(|window| window.extent == extent);
        found.filter(|window| !window.incomplete)
    }
}

/// How a [`Survey`] looks in JSON. Long lists are cut; the counts beside them are not.
#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "Survey")]
pub(crate) struct SurveyDocument {
    /// Bytes that lie somewhere below.
    mapped: Bytes,
    /// Those of them that lie in a parent.
    in_parent: Bytes,
    /// Bytes that lie nowhere and read as zeroes.
    absent: Bytes,
    /// Bytes recorded as zeroes.
    zero: Bytes,
    /// Bytes that are compressed.
    packed: Bytes,
    /// Runs of bytes that lie in one piece below.
    runs: u64,
    window_count: usize,
    /// What lies in each part of the disk that some layer above consists of.
    first_windows: Vec<WindowDocument>,
}

#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "SurveyWindow")]
struct WindowDocument {
    /// The part, in addresses of the disk.
    upper: Extent,
    kind_count: usize,
    /// Runs of one length that start at one residue below.
    first_kinds: Vec<KindDocument>,
}

#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "SurveyKind")]
struct KindDocument {
    /// The layer that the runs lie in.
    layer: LayerId,
    /// Length of a run.
    len: Bytes,
    /// Where the runs start there, modulo `modulus`.
    residue: Bytes,
    modulus: Unit,
    count: u64,
}

impl SurveyDocument {
    const MOST_WINDOWS: usize = 16;
    const MOST_KINDS: usize = 64;

    pub(crate) fn of(survey: &Survey) -> SurveyDocument {
        let window = |window: &Window| WindowDocument {
            upper: window.extent,
            kind_count: window.classes.len(),
            first_kinds: window
                .classes
                .iter()
                .take(Self::MOST_KINDS)
                .filter_map(|class| {
                    let base = survey.bases.get(class.base)?;
                    Some(KindDocument {
                        layer: base.layer,
                        len: class.len,
                        residue: class.lower,
                        modulus: base.modulus,
                        count: class.count,
                    })
                })
                .collect(),
        };
        SurveyDocument {
            mapped: survey.mapped,
            in_parent: survey.in_parent,
            absent: survey.absent,
            zero: survey.zero,
            packed: survey.packed,
            runs: survey.runs,
            window_count: survey.windows.len(),
            first_windows: survey
                .windows
                .iter()
                .take(Self::MOST_WINDOWS)
                .map(window)
                .collect(),
        }
    }
}

/// Largest modulus of a base: grids with larger units are left out of a survey.
const LARGEST_MODULUS: u64 = 1 << 26;
/// Most periods of blocks: request sizes that would need more are left out.
const MOST_PHASES: u64 = 64;
/// Most counters of whole blocks; beyond, they are counted like runs of any other shape.
const MOST_COUNTERS: u64 = 1 << 16;
/// Most kinds of runs in one window.
const MOST_CLASSES: usize = 1 << 18;
/// Most runs that are kept one by one.
const MOST_EDGES: usize = 1 << 16;
/// Longest zone at either end of a window in which runs are kept one by one.
const LONGEST_ZONE: u64 = 16 << 20;
/// Most windows of one disk.
const MOST_WINDOWS: usize = 1 << 12;
/// Deepest chain of maps that a run is followed through.
const DEEPEST: usize = 64;
/// Finest place of blocks that are counted in an array.
const GRAIN: u64 = 512;

impl Stack {
    /// Goes over every block table once and keeps what [`Stack::grids_seen_from`] needs of it. `steps` are the sizes of
    /// requests that will be priced.
    ///
    /// What is wrong with a table (entries beyond the end of the file, blocks that overlap, parts that cannot be read)
    /// becomes an oddity of its layer.
    pub fn survey(&mut self, steps: &[Unit]) {
        let containers: Vec<LayerId> = self
            .iter()
            .filter(|(_, layer)| matches!(layer.map, Map::Blocks(_)) && layer.survey.is_none())
            .map(|(id, _)| id)
            .collect();
        for id in containers {
            let (survey, oddities) = Tally::of(self, id, steps);
            let layer = self.layer_mut(id);
            layer.survey = survey.map(Arc::new);
            layer.oddities.extend(oddities);
        }
    }

    /// The parts of the virtual disk `container` that layers above it consist of, through linear maps and segments.
    fn windows_above(&self, container: LayerId, size: Bytes) -> Vec<Extent> {
        let whole = Extent::whole(size);
        // For each layer the parts of it that lie in the container: (addresses there, addresses in the container).
        let mut reach: HashMap<LayerId, Vec<(Extent, Bytes)>> = HashMap::new();
        reach.insert(container, vec![(whole, Bytes::ZERO)]);
        let mut windows = vec![whole];
        for (id, layer) in self.iter().filter(|(id, _)| *id > container) {
            let mut parts = Vec::new();
            for (target, below) in layer.below.iter().enumerate() {
                let Some(pieces) = reach.get(below) else {
                    continue;
                };
                for segment in segments_of(layer, target) {
                    for (extent, at) in pieces {
                        if let Some((upper, skip)) = cut(&segment, *extent)
                            && let Some(at) = at.checked_add(skip)
                        {
                            parts.push((upper, at));
                        }
                    }
                }
                if parts.len() + windows.len() > MOST_WINDOWS {
                    return windows;
                }
            }
            windows.extend(
                parts
                    .iter()
                    .filter_map(|(upper, at)| Extent::new(*at, upper.len())),
            );
            if !parts.is_empty() {
                reach.insert(id, parts);
            }
        }
        windows.retain(|window| !window.is_empty());
        // The whole disk stays first: the others lie in it.
        windows.sort_by_key(|window| (window.start(), std::cmp::Reverse(window.end())));
        windows.dedup();
        windows
    }

    /// True when runs need not be followed further down than `layer`.
    fn is_base(&self, id: LayerId) -> bool {
        let layer = self.layer(id);
        match layer.map {
            Map::Blocks(_) => false,
            Map::Striped(_) => true,
            Map::Linear { .. } | Map::Segments(_) => {
                layer.below.is_empty()
                    || (!self.rests_on_blocks(id)
                        && self
                            .grids_seen_from(id)
                            .iter()
                            .filter(|grid| is_kept(grid.role, grid.fact.trust))
                            .all(|grid| matches!(grid.seen, crate::Seen::Uniform(_))))
            }
        }
    }

    fn rests_on_blocks(&self, id: LayerId) -> bool {
        self.foundations(id)
            .iter()
            .any(|below| matches!(self.layer(*below).map, Map::Blocks(_)))
    }

    /// Follows the addresses `at` of `layer` down to the layers in which runs end, and calls `out` with each part: its
    /// addresses in the disk (`upper` belongs to the start of `at`), the layer, and the place there.
    fn descend(
        &self,
        layer: LayerId,
        at: Extent,
        upper: Bytes,
        depth: usize,
        out: &mut dyn FnMut(Extent, LayerId, Bytes),
    ) -> Result<(), TableError> {
        if depth > DEEPEST {
            return Err("layers nested too deep".into());
        }
        let here = self.layer(layer);
        if let Map::Blocks(Blocks(table)) = &here.map {
            let mut sink = Shifted {
                stack: self,
                layer: here,
                table: &**table,
                from: at.start(),
                upper,
                depth,
                out,
                failed: None,
            };
            table.stream(at, &mut sink)?;
            return sink.failed.map_or(Ok(()), Err);
        }
        if self.is_base(layer) {
            if let Some(extent) = Extent::new(upper, at.len()) {
                out(extent, layer, at.start());
            }
            return Ok(());
        }
        let one;
        let segments = match &here.map {
            // Sorted, so the first that reaches into `at` is found without looking at those before it.
            Map::Segments(all) => {
                let first = all.partition_point(|s| s.upper.end() <= at.start());
                all.get(first..).unwrap_or(&[])
            }
            _ => {
                one = segments_of(here, 0).collect::<Vec<_>>();
                one.as_slice()
            }
        };
        for segment in segments {
            if segment.upper.start() >= at.end() {
                break;
            }
            let Some(below) = here.below.get(segment.target) else {
                continue;
            };
            let from = at.start().max(segment.upper.start());
            let to = at.end().min(segment.upper.end());
            let place = to
                .checked_sub(from)
                .filter(|len| *len > Bytes::ZERO)
                .zip(from.checked_sub(segment.upper.start()))
                .and_then(|(len, skip)| Extent::new(segment.lower.checked_add(skip)?, len));
            let up = from
                .checked_sub(at.start())
                .and_then(|skip| upper.checked_add(skip));
            if let (Some(place), Some(up)) = (place, up) {
                self.descend(*below, place, up, depth + 1, out)?;
            }
        }
        Ok(())
    }
}

/// True for grids that runs are placed against. `optimal_io_size` is left out: values that are no multiple of anything
/// are common, and would multiply what has to be kept.
fn is_kept(role: GridRole, trust: Trust) -> bool {
    trust != Trust::Doubtful && !matches!(role, GridRole::OptimalIo | GridRole::DatabasePage)
}

/// The pieces of `layer` that lie in its `target`-th layer below; a linear map as one piece.
pub(crate) fn segments_of(layer: &Layer, target: usize) -> impl Iterator<Item = Segment> + '_ {
    let linear = match layer.map {
        Map::Linear { start } if target == 0 => {
            let rest = Bytes::MAX.checked_sub(start).unwrap_or(Bytes::ZERO);
            let len = layer
                .size
                .as_ref()
                .map_or(rest, |size| size.value.min(rest));
            Some(Segment {
                upper: Extent::whole(len),
                target: 0,
                lower: start,
            })
        }
        _ => None,
    };
    let segments = match &layer.map {
        Map::Segments(segments) => segments.as_slice(),
        _ => &[],
    };
    linear
        .into_iter()
        .chain(segments.iter().filter(move |s| s.target == target).copied())
}

/// What of `below`, a part of the layer that `segment` leads to, is seen through the segment: its addresses above, and
/// how far into `below` it begins.
pub(crate) fn cut(segment: &Segment, below: Extent) -> Option<(Extent, Bytes)> {
    let reach = Extent::new(segment.lower, segment.upper.len())?;
    let from = below.start().max(reach.start());
    let to = below.end().min(reach.end());
    let len = to.checked_sub(from).filter(|len| *len > Bytes::ZERO)?;
    let upper = segment
        .upper
        .start()
        .checked_add(from.checked_sub(reach.start())?)?;
    Some((Extent::new(upper, len)?, from.checked_sub(below.start())?))
}

/// Sends what a table below says on, in the addresses of the disk above.
struct Shifted<'a> {
    stack: &'a Stack,
    layer: &'a Layer,
    table: &'a dyn BlockTable,
    /// Address of this table's disk that belongs to `upper`.
    from: Bytes,
    upper: Bytes,
    depth: usize,
    out: &'a mut dyn FnMut(Extent, LayerId, Bytes),
    failed: Option<TableError>,
}

impl Shifted<'_> {
    fn send(&mut self, upper: Extent, target: usize, lower: Bytes) {
        let up = upper
            .start()
            .checked_sub(self.from)
            .and_then(|skip| self.upper.checked_add(skip));
        let below = self.layer.below.get(target);
        let (Some(up), Some(below), Some(at)) = (up, below, Extent::new(lower, upper.len())) else {
            return;
        };
        let at = match &self.stack.layer(*below).size {
            Some(size) => clipped(at, size.value),
            None => Some(at),
        };
        if let Some(at) = at {
            let sent = self.stack.descend(*below, at, up, self.depth + 1, self.out);
            self.failed = self.failed.take().or(sent.err());
        }
    }
}

impl Sink for Shifted<'_> {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        let block = self.table.block().bytes();
        let mut at = first;
        for place in lower {
            let Some(upper) = Extent::new(at, block) else {
                return;
            };
            match entry::gap(*place) {
                Some(gap) => self.gap(upper, gap),
                None => self.send(upper, target, Bytes::new(*place)),
            }
            at = upper.end();
        }
    }

    fn piece(&mut self, piece: Segment) {
        self.send(piece.upper, piece.target, piece.lower);
    }

    fn gap(&mut self, upper: Extent, gap: Gap) {
        if let (Gap::Absent, Some(parent)) = (gap, self.table.parent()) {
            self.send(upper, parent, upper.start());
        }
    }
}

/// `extent` up to `end`; `None` when nothing is left.
fn clipped(extent: Extent, end: Bytes) -> Option<Extent> {
    let len = extent.end().min(end).checked_sub(extent.start())?;
    Extent::new(extent.start(), len).filter(|extent| !extent.is_empty())
}

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
    /// Everything else: (base, offset from the start of the disk modulo the period, length, place) → number.
    others: HashMap<(usize, u64, u64, u64), u64>,
}

/// A pass over one table.
struct Tally<'a> {
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
    pending: Pending,
    absent_run: Option<Extent>,
    mapped: u64,
    absent: u64,
    zero: u64,
    packed: u64,
    in_parent: u64,
    runs: u64,
    overlap: Overlap,
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
    counters: Counters,
    edges: Vec<Run>,
    incomplete: bool,
}

impl<'a> Tally<'a> {
    fn of(stack: &'a Stack, id: LayerId, steps: &[Unit]) -> (Option<Survey>, Vec<Oddity>) {
        let layer = stack.layer(id);
        let Map::Blocks(Blocks(table)) = &layer.map else {
            return (None, Vec::new());
        };
        let table = &**table;
        let size = table.size();
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
                && (period / block).saturating_mul(slots) <= MOST_COUNTERS;
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
                    counters: Counters::default(),
                    edges: Vec::new(),
                    incomplete: false,
                })
                .collect(),
            active: Vec::new(),
            next_window: 0,
            zone: zone.min(LONGEST_ZONE),
            calm: 0..0,
            current: Counters::default(),
            pending: Pending::default(),
            absent_run: None,
            mapped: 0,
            absent: 0,
            zero: 0,
            packed: 0,
            in_parent: 0,
            runs: 0,
            overlap: Overlap::new(block, file_end.map_or(Bytes::MAX, |size| size.value)),
            failed: None,
        };
        let streamed = table.stream(Extent::whole(size), &mut tally);
        let mut oddities = Vec::new();
        if let Some(error) = streamed.err().or(tally.failed.take()) {
            let detail = format!("its block table cannot be read to the end: {error}");
            oddities.push(Oddity::new(OddityKind::Unreadable, detail));
        }
        oddities.extend(tally.overlap.findings(table, size));
        (Some(tally.finish()), oddities)
    }

    fn finish(mut self) -> Survey {
        self.flush_absent();
        self.flush();
        self.settle();
        let windows = self.windows.into_iter().map(|building| {
            let mut classes = Vec::new();
            let start = building.extent.start().get() % self.period;
            let offset = |at: u64| Bytes::new((at + self.period - start) % self.period);
            if let Some(quick) = self.quick {
                let counted = building.counters.blocks.iter().enumerate();
                for (index, count) in counted.filter(|(_, count)| **count > 0) {
                    let index = u64::try_from(index).unwrap_or(0);
                    classes.push(Class {
                        base: quick.base,
                        offset: offset(index / quick.slots * self.block),
                        len: Bytes::new(self.block),
                        lower: Bytes::new(index % quick.slots * GRAIN),
                        count: *count,
                    });
                }
            }
            for ((base, at, len, lower), count) in building.counters.others {
                classes.push(Class {
                    base,
                    offset: offset(at),
                    len: Bytes::new(len),
                    lower: Bytes::new(lower),
                    count,
                });
            }
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

    /// Counts a run that lies well inside of all windows that it lies in.
    #[inline]
    fn count(&mut self, run: Pending) {
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
        if self.current.others.len() > MOST_CLASSES {
            self.settle();
        }
    }

    fn key(&self, run: Pending) -> (usize, u64, u64, u64) {
        let modulus = self.bases[run.base].modulus.get();
        (
            run.base,
            run.upper % self.period,
            run.len,
            run.lower % modulus,
        )
    }

    /// Gives what was counted to all windows that it lies in.
    fn settle(&mut self) {
        let current = std::mem::take(&mut self.current);
        for index in &self.active {
            let window = &mut self.windows[*index];
            if window.counters.blocks.is_empty() {
                window.counters.blocks.clone_from(&current.blocks);
            } else {
                for (sum, more) in window.counters.blocks.iter_mut().zip(&current.blocks) {
                    *sum += more;
                }
            }
            for (key, count) in &current.others {
                if window.counters.others.len() < MOST_CLASSES
                    || window.counters.others.contains_key(key)
                {
                    *window.counters.others.entry(*key).or_default() += count;
                } else {
                    window.incomplete = true;
                }
            }
        }
    }

    /// Counts a run at which windows begin or end, or that lies near an end of one; then finds the next calm stretch.
    #[cold]
    fn count_near_an_event(&mut self, run: Pending) {
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
            if near && window.edges.len() < MOST_EDGES {
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
                *window.counters.others.entry(key).or_default() += 1;
            }
        }
        self.find_calm(end);
    }

    /// Where runs of a window are no longer near one of its ends.
    fn inner(&self, window: Extent) -> std::ops::Range<u64> {
        window.start().get().saturating_add(self.zone)..window.end().get().saturating_sub(self.zone)
    }

    /// The stretch from `at` on in which no window begins, ends, or is near an end; empty when there is none.
    fn find_calm(&mut self, at: u64) {
        let mut calm = at.saturating_sub(1)..u64::MAX;
        if let Some(next) = self.windows.get(self.next_window) {
            calm.end = next.extent.start().get();
        }
        let windows = &self.windows;
        self.active
            .retain(|index| windows[*index].extent.end().get() > at);
        for index in &self.active {
            let inner = self.inner(self.windows[*index].extent);
            calm.start = calm.start.max(inner.start);
            calm.end = calm.end.min(inner.end);
        }
        self.calm = if calm.start < calm.end { calm } else { 0..0 };
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
        if let Some(both) = lcm(period, unit.get()).filter(|both| both / block <= MOST_PHASES) {
            period = both;
        }
    }
    period
}

fn counters(period: u64, block: u64, quick: Quick) -> usize {
    usize::try_from(period / block * quick.slots).unwrap_or(0)
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

impl Sink for Tally<'_> {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        if self.absent_run.is_some() && lower.first() != Some(&entry::ABSENT) {
            self.flush_absent();
        }
        let way = self.ways.get(target).copied();
        let block = self.block;
        // Marks are larger than any address, so one comparison finds both them and what lies too far.
        let limit = self.overlap.last_start();
        let mut upper = first.get();
        for place in lower {
            let place = *place;
            if place > limit {
                self.unusual(upper, target, place);
            } else {
                if self.absent_run.is_some() {
                    self.flush_absent();
                }
                self.overlap.block(place);
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
