use super::*;
use crate::{Fact, GridRole, Layer, LayerKind};
use proptest::prelude::*;
use std::collections::BTreeSet;
use straddle_geometry::{
    Bytes, Copies, DoubleRotation, FarCopies, FarSets, Grid, Map, Raid, RaidLayout, Rotation,
    Segment, Striping, Unit,
};

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("not zero")
}

fn extent(start: u64, len: u64) -> Extent {
    Extent::new(Bytes::new(start), Bytes::new(len)).expect("fits")
}

fn over(stack: &mut Stack, kind: LayerKind, below: &[LayerId], map: Map) -> LayerId {
    let mut layer = Layer::new(kind, "layer");
    layer.below = below.to_vec();
    layer.map = map;
    stack.push(layer)
}

/// Layer, byte, share.
type Marks = BTreeSet<(LayerId, u64, Share)>;

fn spread(written: &Written) -> Marks {
    let bytes = |run: &WrittenRun| {
        let (layer, share) = (run.layer, run.share);
        (run.extent.start().get()..run.extent.end().get()).map(move |at| (layer, at, share))
    };
    written.runs.iter().flat_map(bytes).collect()
}

/// One byte, followed by itself through every map.
fn follow(stack: &Stack, id: LayerId, at: u64, share: Share, marks: &mut Marks) {
    let layer = stack.layer(id);
    if layer
        .size
        .as_ref()
        .is_some_and(|size| at >= size.value.get())
    {
        return;
    }
    marks.insert((id, at, share));
    let sector = layer
        .grid(GridRole::EncryptionSector)
        .map_or(1, |grid| grid.value.unit().get());
    let size = layer
        .size
        .as_ref()
        .map_or(u64::MAX, |size| size.value.get());
    for at in (at / sector * sector..at / sector * sector + sector).filter(|at| *at < size) {
        match &layer.map {
            Map::Raid(raid) => {
                for reach in raid.reaches(Bytes::new(at)) {
                    let below = layer.below[reach.column];
                    follow(
                        stack,
                        below,
                        reach.offset.get(),
                        share.max(reach.share),
                        marks,
                    );
                }
            }
            map => {
                let place = map.locate(Bytes::new(at));
                if let Some((found, below)) =
                    place.and_then(|found| Some((found, layer.below.get(found.target)?)))
                {
                    follow(stack, *below, found.offset.get(), share, marks);
                }
            }
        }
    }
}

/// A layer to put on top, drawn from numbers.
#[derive(Clone, Debug)]
struct Draft {
    shape: usize,
    unit: u64,
    starts: Vec<u64>,
    below: Vec<usize>,
    size: Option<u64>,
}

fn draft() -> impl Strategy<Value = Draft> {
    (
        0_usize..9,
        1_u64..9,
        proptest::collection::vec(0_u64..20, 3..6),
        proptest::collection::vec(0_usize..100, 6),
        proptest::option::of(40_u64..300),
    )
        .prop_map(|(shape, unit, starts, below, size)| Draft {
            shape,
            unit,
            starts,
            below,
            size,
        })
}

fn map_of(draft: &Draft) -> Map {
    let starts: Vec<Bytes> = draft.starts.iter().copied().map(Bytes::new).collect();
    let raid = |layout| {
        Map::Raid(Raid {
            layout,
            unit: unit(draft.unit),
            starts: starts.clone(),
        })
    };
    let copies = |near, far, distance| {
        raid(RaidLayout::Copies(Copies {
            near,
            far,
            distance,
            sets: FarSets::All,
        }))
    };
    match draft.shape {
        0 => Map::Linear { start: starts[0] },
        1 => {
            let mut at = 0;
            let pieces = draft.starts.iter().enumerate().map(|(target, start)| {
                let upper = extent(at + start % 4, 5 + start);
                at = upper.end().get();
                Segment {
                    upper,
                    target,
                    lower: Bytes::new(start * 3 % 50),
                }
            });
            Map::segments(pieces.collect()).expect("in turn")
        }
        2 => Map::Striped(Striping {
            unit: unit(draft.unit),
            starts,
        }),
        3 => raid(RaidLayout::Mirror),
        4 => copies(2, 1, FarCopies::NextRow),
        5 => copies(1, 2, FarCopies::NextRow),
        6 => copies(1, 2, FarCopies::Stride(Bytes::new(1_000))),
        7 => raid(RaidLayout::Parity(Rotation::LeftSymmetric)),
        _ => raid(RaidLayout::DoubleParity(DoubleRotation::NContinue)),
    }
}

fn stack_of(drafts: &[Draft]) -> Stack {
    let mut stack = Stack::new();
    for _ in 0..4 {
        stack.push(Layer::new(LayerKind::Device, "disk"));
    }
    for draft in drafts {
        let ids: Vec<LayerId> = stack.iter().map(|(id, _)| id).collect();
        let below: Vec<LayerId> = draft.below.iter().map(|n| ids[n % ids.len()]).collect();
        let map = map_of(draft);
        let targets = match &map {
            Map::Linear { .. } => 1,
            _ => draft.starts.len(),
        };
        let id = over(&mut stack, LayerKind::Array, &below[..targets.min(6)], map);
        let layer = stack.layer_mut(id);
        if let Some(size) = draft.size {
            layer.size = Some(Fact::assumed(Bytes::new(size), "drawn"));
        }
        if draft.shape == 0 {
            layer.kind = LayerKind::Encryption;
            let grid = Grid::new(unit(draft.unit));
            layer.add_grid(GridRole::EncryptionSector, Fact::assumed(grid, "drawn"));
        }
    }
    stack
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn runs_hold_the_bytes_that_are_reached_one_by_one(
        drafts in proptest::collection::vec(draft(), 1..4), start in 0_u64..120, len in 1_u64..40,
    ) {
        let stack = stack_of(&drafts);
        let (top, _) = stack.iter().next_back().expect("not empty");
        let written = stack.written(top, extent(start, len));
        let mut marks = Marks::new();
        for at in start..start + len {
            follow(&stack, top, at, Share::Data, &mut marks);
        }
        prop_assert_eq!(spread(&written), marks);
        // What has no place below is named.
        for run in &written.runs {
            let layer = stack.layer(run.layer);
            for at in run.extent.start().get()..run.extent.end().get() {
                let is_placed = layer.below.is_empty() || layer.map.locate(Bytes::new(at)).is_some();
                let is_named = written.gaps.iter().any(|gap| {
                    gap.layer == run.layer && gap.extent.contains(extent(at, 1))
                });
                prop_assert!(is_placed || is_named, "byte {} of {:?}", at, layer.map);
            }
        }
        // Joined: runs of one share on one layer neither touch nor overlap.
        for share in [Share::Data, Share::Copy, Share::Parity, Share::Syndrome] {
            let of: Vec<_> = written.runs.iter().filter(|run| run.share == share).collect();
            for pair in of.windows(2) {
                prop_assert!(pair[0].layer != pair[1].layer || pair[0].extent.end() < pair[1].extent.start());
            }
        }
    }
}

#[test]
fn a_page_on_a_raid_5_is_its_bytes_and_their_parity() {
    let mut stack = Stack::new();
    let disks: Vec<LayerId> = (0..3)
        .map(|_| stack.push(Layer::new(LayerKind::Device, "disk")))
        .collect();
    let raid = Map::Raid(Raid {
        layout: RaidLayout::Parity(Rotation::LeftSymmetric),
        unit: unit(65_536),
        starts: vec![Bytes::new(1 << 20); 3],
    });
    let md = over(&mut stack, LayerKind::Array, &disks, raid);
    let start = Map::Linear {
        start: Bytes::new(32_256),
    };
    let partition = over(&mut stack, LayerKind::Partition, &[md], start);
    // Across the end of the first stripe unit.
    let written = stack.written(partition, extent(32_768, 8_192));
    let told: Vec<_> = written
        .at_the_bottom(&stack)
        .map(|run| {
            let (start, len) = (run.extent.start().get(), run.extent.len().get());
            (run.layer.index(), start - (1 << 20), len, run.share)
        })
        .collect();
    assert_eq!(
        told,
        [
            (2, 0, 7_680, Share::Parity),
            (2, 65_024, 512, Share::Parity),
            (1, 0, 7_680, Share::Data),
            (0, 65_024, 512, Share::Data),
        ]
    );
    assert_eq!(written.gaps, []);
}

#[test]
fn what_is_not_known_is_named() {
    let mut stack = Stack::new();
    let a = stack.push(Layer::new(LayerKind::Device, "a"));
    let b = stack.push(Layer::new(LayerKind::Device, "b"));
    let mut gaps = |kind, format: Option<&'static str>, below: &[LayerId], map| {
        let id = over(&mut stack, kind, below, map);
        stack.layer_mut(id).format = format.map(Into::into);
        stack.layer_mut(id).size = Some(Fact::assumed(Bytes::new(100), "drawn"));
        let written = stack.written(id, extent(90, 20));
        let gaps = written.gaps.iter();
        gaps.map(|gap| (gap.why, gap.extent.start().get(), gap.extent.len().get()))
            .collect::<Vec<_>>()
    };
    let nowhere = Map::Segments(Vec::new());
    let beyond = (Unplaced::Beyond, 100, 10);
    assert_eq!(
        gaps(LayerKind::Array, None, &[a, b], nowhere),
        [(Unplaced::Nowhere, 90, 10), beyond]
    );
    // An array that is known by one of its members.
    assert_eq!(
        gaps(LayerKind::Array, None, &[a, b], Map::IDENTITY),
        [beyond, (Unplaced::Beside(b), 90, 10)]
    );
    assert_eq!(
        gaps(LayerKind::Volume, Some("multipath"), &[a, b], Map::IDENTITY),
        [beyond]
    );
    assert_eq!(
        gaps(LayerKind::Volume, Some("snapshot"), &[a, b], Map::IDENTITY),
        [beyond, (Unplaced::Elsewhere, 90, 10)]
    );
    assert_eq!(
        gaps(
            LayerKind::Encryption,
            Some("integrity"),
            &[a],
            Map::IDENTITY
        ),
        [beyond, (Unplaced::Checksums, 90, 10)]
    );
    let pieces = Map::segments(vec![Segment {
        upper: extent(0, 95),
        target: 0,
        lower: Bytes::ZERO,
    }]);
    let pieces = pieces.expect("one piece");
    assert_eq!(
        gaps(LayerKind::File, None, &[a], pieces),
        [beyond, (Unplaced::Hole, 95, 5)]
    );
}

#[test]
fn huge_writes_end_in_a_gap_and_not_in_memory() {
    let mut stack = Stack::new();
    let disks: Vec<LayerId> = (0..4)
        .map(|_| stack.push(Layer::new(LayerKind::Device, "disk")))
        .collect();
    let raid = Map::Raid(Raid {
        layout: RaidLayout::DoubleParity(DoubleRotation::Both(Rotation::LeftSymmetric)),
        unit: unit(512),
        starts: vec![Bytes::new(0); 4],
    });
    let md = over(&mut stack, LayerKind::Array, &disks, raid);
    let written = stack.written(md, Extent::whole(Bytes::MAX));
    assert!(
        written.runs.len() <= 5 * MAX_RUNS,
        "{} runs",
        written.runs.len()
    );
    let rest = written.gaps.first().expect("a gap");
    assert_eq!((rest.layer, rest.why), (md, Unplaced::TooMany));
    assert_eq!(rest.extent.end(), Bytes::MAX);
}
