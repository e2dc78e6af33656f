//! Prices through block tables, against a walk over every byte.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use straddle_geometry::{
    Access, BlockTable, Blocks, Bytes, Extent, Family, Gap, Grid, Lattice, Map, Place, Ratio, Row,
    Segment, Sink, TableError, Unit, entry,
};
use straddle_stack::{
    AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Stack, Value,
};

/// A table in memory.
#[derive(Debug)]
struct Listed {
    block: u64,
    size: u64,
    parent: Option<usize>,
    entries: Vec<u64>,
    sent: Sent,
}

/// How whole blocks are sent.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// At most so many at once, so that batches begin and end anywhere.
    Batches(usize),
    /// Those that follow each other evenly as one.
    Rows,
}

impl Listed {
    /// Sends some of the whole blocks `from` to `to`, at least one; how many.
    fn send(&self, from: usize, to: usize, sink: &mut dyn Sink) -> usize {
        let first = Bytes::new(from as u64 * self.block);
        let entries = &self.entries[from..to];
        let most = match self.sent {
            Sent::Batches(most) => most,
            Sent::Rows => 1,
        };
        if let (Sent::Rows, [lower, next, ..]) = (self.sent, entries)
            && *next < entry::FIRST_MARK
            && let Some(stride) = next.checked_sub(*lower).and_then(Unit::new)
        {
            let steps = entries.windows(2);
            let even = steps.take_while(|pair| {
                pair[1] < entry::FIRST_MARK && pair[0].checked_add(stride.get()) == Some(pair[1])
            });
            let count = even.count() + 1;
            sink.row(Row {
                first,
                block: unit(self.block),
                target: 0,
                lower: Bytes::new(*lower),
                stride,
                count: count as u64,
            });
            return count;
        }
        let count = most.min(entries.len());
        sink.blocks(first, 0, &entries[..count]);
        count
    }
}

impl BlockTable for Listed {
    fn block(&self) -> Unit {
        unit(self.block)
    }
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn parent(&self) -> Option<usize> {
        self.parent
    }
    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let (index, within) = (offset.get() / self.block, offset.get() % self.block);
        let run = Bytes::new(self.block - within);
        let place = self.entries[usize::try_from(index)?];
        Ok(match entry::gap(place) {
            Some(Gap::Absent) => Place::Absent { run },
            Some(_) => Place::Zero { run },
            None => Place::At {
                target: 0,
                offset: Bytes::new(place + within),
                run,
            },
        })
    }
    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let (mut at, end) = (range.start().get(), range.end().get().min(self.size));
        while at < end {
            let index = at / self.block;
            let block_end = (index + 1) * self.block;
            if at % self.block == 0 && block_end <= end {
                let (from, to) = (usize::try_from(index)?, usize::try_from(end / self.block)?);
                let count = self.send(from, to, sink);
                at += self.block * u64::try_from(count)?;
                continue;
            }
            let upper = extent(at, block_end.min(end) - at);
            match self.locate(Bytes::new(at))? {
                Place::At { target, offset, .. } => sink.piece(Segment {
                    upper,
                    target,
                    lower: offset,
                }),
                Place::Absent { .. } => sink.gap(upper, Gap::Absent),
                _ => sink.gap(upper, Gap::Zero),
            }
            at = upper.end().get();
        }
        Ok(())
    }
}

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("not zero")
}

fn extent(start: u64, len: u64) -> Extent {
    Extent::new(Bytes::new(start), Bytes::new(len)).expect("small")
}

fn layer(stack: &mut Stack, kind: LayerKind, below: &[LayerId], map: Map, size: u64) -> LayerId {
    let mut layer = Layer::new(kind, kind.name());
    layer.below = below.to_vec();
    layer.map = map;
    layer.size = Some(Fact::stated(Bytes::new(size), "--size", ""));
    stack.push(layer)
}

fn blocks(block: u64, size: u64, parent: Option<usize>, entries: Vec<u64>) -> Map {
    Map::Blocks(Blocks(Arc::new(Listed {
        block,
        size,
        parent,
        entries,
        sent: Sent::Batches(2),
    })))
}

/// Where a byte of a layer lies: the lowest layer that it reaches, and the address there.
fn bottom(stack: &Stack, mut id: LayerId, mut at: u64) -> Option<(LayerId, u64)> {
    loop {
        let here = stack.layer(id);
        if here.below.is_empty() {
            return Some((id, at));
        }
        let location = here.map.locate(Bytes::new(at))?;
        id = here.below[location.target];
        at = location.offset.get();
        let size = stack
            .layer(id)
            .size
            .as_ref()
            .expect("all have one")
            .value
            .get();
        if at >= size {
            return None;
        }
    }
}

/// Operations for every request's worth of bytes, read off byte by byte.
fn walked(
    stack: &Stack,
    id: LayerId,
    grid_layer: LayerId,
    grid: Grid,
    io: u64,
    access: Access,
    family: Family,
) -> Option<Ratio> {
    let size = stack.layer(id).size.as_ref().expect("a size").value.get();
    let whole = if size >= io { size / io * io } else { size };
    // Parts: maximal runs of bytes of one request that are contiguous below.
    let (mut operations, mut bytes) = (0_u128, 0_u128);
    let mut part: Vec<u64> = Vec::new();
    let mut settle = |part: &mut Vec<u64>| {
        let mut granules: BTreeMap<u64, u64> = BTreeMap::new();
        for at in part.iter() {
            let u = grid.unit().get();
            *granules
                .entry((at + u - grid.phase().get()) / u)
                .or_default() += 1;
        }
        operations += granules.len() as u128;
        if family == Family::ReadModifyWrite && access == Access::Write {
            operations += granules
                .values()
                .filter(|n| **n < grid.unit().get())
                .count() as u128;
        }
        part.clear();
    };
    for x in 0..whole {
        let place = bottom(stack, id, x)
            .filter(|(layer, _)| *layer == grid_layer)
            .map(|(_, at)| at);
        let continues = match (part.last(), place) {
            (Some(last), Some(at)) => last + 1 == at && x % io != 0,
            _ => false,
        };
        if !continues {
            settle(&mut part);
        }
        if let Some(at) = place {
            part.push(at);
            bytes += 1;
        }
    }
    settle(&mut part);
    Ratio::reduced(operations * u128::from(io), bytes)
}

/// Compares every grid that `id` sees with the walk.
fn compare(stack: &Stack, id: LayerId, ios: &[u64]) -> Result<usize, TestCaseError> {
    let mut compared = 0;
    for grid in stack
        .grids_seen_from(id)
        .iter()
        .filter(|g| g.role == GridRole::PhysicalSector)
    {
        let Seen::Pieces(_) = grid.seen else { continue };
        for io in ios {
            for access in [Access::Read, Access::Write] {
                let family = grid.role.family();
                let requests = Lattice::back_to_back(Bytes::ZERO, unit(*io));
                let price = grid.seen.price(family, requests, access);
                let want = walked(stack, id, grid.layer, grid.fact.value, *io, access, family);
                prop_assert_eq!(
                    price.map(|p| p.now),
                    want,
                    "layer {} io {} {:?}",
                    stack.layer(id).name,
                    io,
                    access
                );
                compared += 1;
            }
        }
    }
    Ok(compared)
}

/// Entries of a table of `count` blocks: somewhere in the file, absent, or zero.
fn entries(block: u64, count: usize) -> impl Strategy<Value = Vec<u64>> {
    // Places that do not overlap: a permutation of slots with a drift.
    let slots: Vec<u64> = (0..count as u64).collect();
    (
        Just(slots).prop_shuffle(),
        0_u64..4,
        0_u64..3,
        proptest::collection::vec(0_u8..10, count),
    )
        .prop_map(move |(slots, start, drift, kinds)| {
            slots
                .into_iter()
                .zip(kinds)
                .map(|(slot, kind)| match kind {
                    0 | 1 => entry::ABSENT,
                    2 => entry::ZERO,
                    _ => start * 512 + slot * (block + drift * 512),
                })
                .collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn a_partition_in_a_virtual_disk_on_a_fragmented_file_is_priced_exactly(
        table in entries(2048, 12),
        start in 0_u64..6,
        cut in 1_u64..20,
        shift in 0_u64..6,
        disk_phase in 0_u64..4,
        physical in prop_oneof![Just(1024_u64), Just(2048), Just(3072), Just(4096)],
        io in prop_oneof![Just(512_u64), Just(1024), Just(1536), Just(4096), Just(8192)],
    ) {
        let mut stack = Stack::new();
        let grid = Grid::with_phase(unit(physical), Bytes::new(disk_phase * 512));
        let disk = layer(&mut stack, LayerKind::Device, &[], Map::IDENTITY, 1 << 20);
        stack.layer_mut(disk).add_grid(GridRole::PhysicalSector, Fact::stated(grid, "--p", ""));
        let file_size = 64 * 1024;
        // Two extents of the file, the second before the first on the disk.
        let pieces = vec![
            Segment { upper: extent(0, cut * 1024), target: 0, lower: Bytes::new(200 * 1024 + shift * 512) },
            Segment { upper: extent(cut * 1024, file_size - cut * 1024), target: 0, lower: Bytes::new(1024) },
        ];
        let file = layer(&mut stack, LayerKind::File, &[disk], Map::segments(pieces).expect("apart"), file_size);
        let size = 12 * 2048 - 512;
        let container = layer(&mut stack, LayerKind::Container, &[file], blocks(2048, size, None, table), size);
        let partition = Map::Linear { start: Bytes::new(start * 512) };
        let partition = layer(&mut stack, LayerKind::Partition, &[container], partition, size - start * 512 - 1024);
        let filesystem = layer(&mut stack, LayerKind::Filesystem, &[partition], Map::IDENTITY, size - start * 512 - 2048);
        stack.survey(&[unit(io)]);
        for id in [container, partition, filesystem] {
            compare(&stack, id, &[io])?;
        }
    }

    #[test]
    fn what_a_child_lacks_is_priced_in_its_parent(
        child in entries(2048, 10),
        parent in entries(1024, 16),
        physical in prop_oneof![Just(1024_u64), Just(4096)],
        io in prop_oneof![Just(512_u64), Just(1024), Just(4096)],
    ) {
        let mut stack = Stack::new();
        let grid = Grid::new(unit(physical));
        let file = |stack: &mut Stack| {
            let file = layer(stack, LayerKind::File, &[], Map::IDENTITY, 64 * 1024);
            stack.layer_mut(file).add_grid(GridRole::PhysicalSector, Fact::stated(grid, "--p", ""));
            file
        };
        let (below, above) = (file(&mut stack), file(&mut stack));
        let base = layer(&mut stack, LayerKind::Container, &[below], blocks(1024, 16 * 1024, None, parent), 16 * 1024);
        let map = blocks(2048, 20 * 1024, Some(1), child);
        let disk = layer(&mut stack, LayerKind::Container, &[above, base], map, 20 * 1024);
        stack.survey(&[unit(io)]);
        compare(&stack, disk, &[io])?;
        compare(&stack, base, &[io])?;
        let survey = stack.layer(disk).survey.clone().expect("surveyed");
        let everything = [survey.mapped, survey.absent, survey.zero, survey.packed];
        prop_assert_eq!(everything.iter().map(|b| b.get()).sum::<u64>(), 20 * 1024);
    }
}

#[test]
fn a_dynamic_vhd_of_many_blocks_drifts_through_eight_phases() {
    let mut stack = Stack::new();
    let stride = (2 << 20) + 512;
    let count = 4096_u64;
    let file = layer(
        &mut stack,
        LayerKind::File,
        &[],
        Map::IDENTITY,
        2560 + count * stride,
    );
    let grid = Grid::new(Unit::B4096);
    stack
        .layer_mut(file)
        .add_grid(GridRole::PhysicalSector, Fact::stated(grid, "--p", ""));
    let table: Vec<u64> = (0..count).map(|i| 2560 + i * stride).collect();
    let disk = layer(
        &mut stack,
        LayerKind::Container,
        &[file],
        blocks(2 << 20, count << 21, None, table),
        count << 21,
    );
    stack.survey(&[unit(4096), unit(8192), unit(65_536)]);
    let seen = stack.grids_seen_from(disk);
    let remainders = seen[0].seen.remainders().expect("pieces");
    // Eight phases, each as often as any other.
    let shares: Vec<(u64, u64)> = remainders
        .iter()
        .map(|(behind, len)| (behind.get(), len.get() >> 21))
        .collect();
    assert_eq!(shares, (0..8).map(|k| (k * 512, 512)).collect::<Vec<_>>());
    let requests = Lattice::back_to_back(Bytes::ZERO, Unit::B4096);
    let price = seen[0]
        .seen
        .price(Family::ReadModifyWrite, requests, Access::Write)
        .expect("exact");
    // Seven blocks of eight pay four operations instead of one.
    assert_eq!(price.now, Ratio::new(7 * 4 + 1, 8).expect("not zero"));
    assert!(stack.layer(disk).anomalies.is_empty());
}

#[test]
fn what_a_table_says_wrongly_is_counted_and_named() {
    let mut stack = Stack::new();
    let file = layer(&mut stack, LayerKind::File, &[], Map::IDENTITY, 10_000);
    let table = vec![4096, 0, 4608, 20_000, entry::ABSENT];
    let disk = layer(
        &mut stack,
        LayerKind::Container,
        &[file],
        blocks(2048, 10_240, None, table),
        10_240,
    );
    stack.survey(&[Unit::B4096]);
    let found: Vec<(AnomalyKind, &str)> = stack
        .layer(disk)
        .anomalies
        .iter()
        .map(|o| (o.kind, o.detail.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                AnomalyKind::Damaged,
                "1 of its blocks start beyond the end of the file at byte 10,000; the first, at byte 6,144 of the disk, is said to start at byte 20,000"
            ),
            (
                AnomalyKind::Damaged,
                "1 of its blocks share bytes of the file with another block; the first found, at byte 4,096 of the disk, starts at byte 4,608"
            ),
        ]
    );
}

/// One stretch of a table.
#[derive(Clone, Debug)]
enum Stretch {
    /// Blocks at even distances: the first, in sectors; the distance in sectors from a block's length; how many.
    Even(u64, i64, usize),
    /// Anywhere, in sectors.
    Anywhere(Vec<u64>),
    /// At multiples of the block and a sector.
    Lattice(Vec<u64>),
    /// Right behind the block before.
    On(usize),
    /// Marks.
    Marks(u64, usize),
}

const BLOCK: u64 = 2048;
/// Sectors of the file.
const SECTORS: u64 = 16_384;

fn stretches() -> impl Strategy<Value = Vec<u64>> {
    let stretch = prop_oneof![
        3 => (0..SECTORS, prop_oneof![2 => -3_i64..9, 1 => Just(0), 1 => 60_i64..70], 1_usize..200)
            .prop_map(|(first, step, count)| Stretch::Even(first, step, count)),
        1 => proptest::collection::vec(0..SECTORS + 9, 1..40).prop_map(Stretch::Anywhere),
        2 => proptest::collection::vec(0..SECTORS / 5, 1..80).prop_map(Stretch::Lattice),
        2 => (1_usize..4).prop_map(Stretch::On),
        1 => (0_u64..3, 1_usize..20).prop_map(|(mark, count)| Stretch::Marks(mark, count)),
    ];
    proptest::collection::vec(stretch, 1..12).prop_map(|stretches| {
        let mut entries = Vec::new();
        for stretch in stretches {
            match stretch {
                Stretch::Even(first, step, count) => {
                    let stride = BLOCK.saturating_add_signed(step * 512);
                    entries.extend((0..count as u64).map(|n| first * 512 + n * stride));
                }
                Stretch::Anywhere(all) => entries.extend(all.iter().map(|n| n * 512)),
                Stretch::Lattice(all) => entries.extend(all.iter().map(|n| n * (BLOCK + 512))),
                Stretch::On(count) => {
                    let last = entries
                        .last()
                        .copied()
                        .filter(|last| *last < entry::FIRST_MARK);
                    let after = last.map_or(0, |last: u64| last + BLOCK);
                    entries.extend((0..count as u64).map(|n| after + n * BLOCK));
                }
                Stretch::Marks(mark, count) => {
                    entries.extend(std::iter::repeat_n(entry::ABSENT - mark, count));
                }
            }
        }
        entries
    })
}

/// A disk with partitions in it, surveyed.
fn surveyed(
    entries: &[u64],
    sent: Sent,
    stride: Option<u64>,
    grids: &[u64],
    steps: &[u64],
    parts: &[(u64, u64)],
) -> Layer {
    let mut stack = Stack::new();
    let file = layer(
        &mut stack,
        LayerKind::File,
        &[],
        Map::IDENTITY,
        SECTORS * 512,
    );
    for (role, grid) in [GridRole::PhysicalSector, GridRole::StripeUnit]
        .into_iter()
        .zip(grids)
    {
        let grid = Grid::new(unit(*grid));
        stack
            .layer_mut(file)
            .add_grid(role, Fact::stated(grid, "--p", ""));
    }
    let size = entries.len() as u64 * BLOCK;
    let table = Listed {
        block: BLOCK,
        size,
        parent: None,
        entries: entries.to_vec(),
        sent,
    };
    let map = Map::Blocks(Blocks(Arc::new(table)));
    let disk = layer(&mut stack, LayerKind::Container, &[file], map, size);
    if let Some(stride) = stride {
        let stride = Value::Bytes(Bytes::new(stride));
        stack
            .layer_mut(disk)
            .set(Key::BlockStride, Fact::stated(stride, "--s", ""));
    }
    for (start, len) in parts {
        let map = Map::Linear {
            start: Bytes::new(start * 512),
        };
        layer(&mut stack, LayerKind::Partition, &[disk], map, len * 512);
    }
    stack.survey(&steps.iter().map(|step| unit(*step)).collect::<Vec<_>>());
    stack.layer(disk).clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn blocks_are_counted_alike_however_they_are_sent(
        entries in stretches(),
        physical in prop_oneof![Just(512_u64), Just(4096), Just(3072)],
        stripe in prop_oneof![Just(8192_u64), Just(65_536), Just(512)],
        step in prop_oneof![Just(512_u64), Just(4096), Just(8192), Just(6144)],
        parts in proptest::collection::vec((0_u64..2000, 1_u64..2000), 0..4),
        stride in prop_oneof![Just(None), Just(Some(BLOCK)), Just(Some(BLOCK + 512)), Just(Some(100))],
    ) {
        let grids = [physical, stripe];
        let survey = |sent| surveyed(&entries, sent, stride, &grids, &[step], &parts);
        // Batches of three are too short for anything but a look at each.
        let one_by_one = survey(Sent::Batches(3));
        for sent in [Sent::Batches(7), Sent::Batches(2000), Sent::Rows] {
            let layer = survey(sent);
            prop_assert_eq!(&layer.survey, &one_by_one.survey, "{:?}", sent);
            prop_assert_eq!(&layer.anomalies, &one_by_one.anomalies, "{:?}", sent);
        }
        let without = surveyed(&entries, Sent::Batches(3), None, &grids, &[step], &parts);
        prop_assert_eq!(&without.anomalies, &one_by_one.anomalies);
        // Every pair of blocks that begin in the file.
        let mut starts: Vec<u64> = entries.iter().copied().filter(|e| *e < SECTORS * 512).collect();
        starts.sort_unstable();
        let overlap = starts.windows(2).any(|pair| pair[1] - pair[0] < BLOCK);
        let said = one_by_one.anomalies.iter().any(|odd| odd.detail.contains("share bytes"));
        prop_assert_eq!(said, overlap);
    }
}

#[test]
fn thousands_of_layers_over_each_other_are_not_priced_and_not_kept() {
    let mut stack = Stack::new();
    let count = 4096_u64;
    let file = layer(
        &mut stack,
        LayerKind::File,
        &[],
        Map::IDENTITY,
        count * 8192,
    );
    stack.layer_mut(file).add_grid(
        GridRole::PhysicalSector,
        Fact::stated(Grid::new(Unit::B4096), "--p", ""),
    );
    // No two runs are alike in place and none continues another.
    let table: Vec<u64> = (0..count)
        .map(|i| (i * 4093 % count) * 8192 + 512)
        .collect();
    let map = blocks(4096, count * 4096, None, table);
    let disk = layer(&mut stack, LayerKind::Container, &[file], map, count * 4096);
    let mut over = |start: u64| {
        let start = Bytes::new(start * 512);
        let size = count * 4096 - start.get();
        layer(
            &mut stack,
            LayerKind::Partition,
            &[disk],
            Map::Linear { start },
            size,
        )
    };
    let layers: Vec<LayerId> = (1..3000).map(&mut over).collect();
    stack.survey(&[Unit::B4096]);
    let survey = stack.layer(disk).survey.clone().expect("surveyed");
    let incomplete = survey.windows.iter().filter(|w| w.incomplete).count();
    assert!(incomplete > 2900, "{incomplete}");
    let requests = Lattice::back_to_back(Bytes::ZERO, Unit::B4096);
    let price = |id: LayerId| {
        stack.grids_seen_from(id)[0]
            .seen
            .price(Family::ReadModifyWrite, requests, Access::Write)
    };
    // The disk itself comes first, and is priced all the same.
    assert!(price(disk).is_some());
    assert!(price(*layers.last().expect("many")).is_none());
}
