//! Placement beside a walk over every request, byte by byte, down to the disk.

use proptest::prelude::*;
use std::collections::BTreeMap;
use straddle_bench::place::{Ground, PlaceError, Placement, Spacing, Wanted, place};
use straddle_bench::target::Limits;
use straddle_bench::validity::WarningKind;
use straddle_geometry::{Bytes, Extent, Family, Grid, Map, Price, Ratio, Segment, Unit};
use straddle_stack::{Fact, GridRole, Layer, LayerId, LayerKind, Stack};
use straddle_workload::offset::Offset;

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("not zero")
}

/// A grid of the disk.
#[derive(Clone, Copy, Debug)]
struct DiskGrid {
    role: GridRole,
    unit: u64,
    phase: u64,
}

impl DiskGrid {
    fn granule(self, at: u64) -> u64 {
        (at + self.unit - self.phase % self.unit) / self.unit
    }

    fn has(self, at: u64) -> bool {
        at % self.unit == self.phase % self.unit
    }
}

fn grids() -> impl Strategy<Value = Vec<DiskGrid>> {
    // Units that share factors, as real ones do, and odd ones.
    let size = prop_oneof![
        (0_u32..5, 1_u64..4).prop_map(|(shift, odd)| odd << shift),
        2_u64..30
    ];
    let grid = |role| {
        (size.clone(), 0_u64..40).prop_map(move |(unit, phase)| DiskGrid { role, unit, phase })
    };
    // One of each family, and one more.
    (
        grid(GridRole::PhysicalSector),
        grid(GridRole::StripeUnit),
        proptest::option::of(grid(GridRole::FullStripe)),
    )
        .prop_map(|(a, b, c)| {
            let some = [Some(a), Some(b), c].into_iter().flatten();
            some.filter(|grid| grid.unit > 1).collect::<Vec<_>>()
        })
        .prop_filter("a stack without grids is unknown", |grids| {
            !grids.is_empty()
        })
}

/// Linear maps one above the other on a disk.
fn stack_of(grids: &[DiskGrid], starts: &[u64]) -> (Stack, LayerId) {
    let mut stack = Stack::new();
    let mut disk = Layer::new(LayerKind::Device, "sda");
    for grid in grids {
        let value = Grid::with_phase(unit(grid.unit), Bytes::new(grid.phase));
        disk.add_grid(grid.role, Fact::stated(value, "--test", ""));
    }
    let mut top = stack.push(disk);
    for start in starts {
        let mut layer = Layer::new(LayerKind::Partition, "p");
        layer.below = vec![top];
        layer.map = Map::Linear {
            start: Bytes::new(*start),
        };
        top = stack.push(layer);
    }
    (stack, top)
}

fn wanted<'a>(
    offsets: &'a [Offset],
    requests: &'a [Spacing],
    span: u64,
    size: u64,
    permitted: u64,
) -> Wanted<'a> {
    Wanted {
        offsets,
        requests,
        span: Some(Bytes::new(span)),
        size: Bytes::new(size),
        limits: Limits {
            memory: unit(1),
            offset: unit(permitted),
        },
    }
}

fn offsets_of(bytes: &[u64]) -> Vec<Offset> {
    let offset = |n: &u64| Offset {
        name: n.to_string(),
        bytes: Bytes::new(*n),
    };
    bytes.iter().map(offset).collect()
}

/// Operations of the parts of a request, each a list of disk addresses, for reads and for writes.
fn operations(parts: &[Vec<u64>], grid: DiskGrid) -> (u64, u64) {
    let (mut touched, mut partial) = (0, 0);
    for part in parts {
        let mut covered: BTreeMap<u64, u64> = BTreeMap::new();
        for at in part {
            *covered.entry(grid.granule(*at)).or_default() += 1;
        }
        touched += covered.len() as u64;
        partial += covered.values().filter(|n| **n < grid.unit).count() as u64;
    }
    match grid.role.family() {
        Family::Splitting => (touched, touched),
        Family::ReadModifyWrite => (touched, touched + partial),
    }
}

fn price_of(placement: &Placement, offset: usize, role: GridRole, of: Spacing) -> (Price, Price) {
    let standings = &placement.places[offset].standings;
    let standing = standings.iter().find(|s| s.role == role).expect("known");
    let price = standing
        .prices
        .iter()
        .find(|p| p.size == of.size && p.stride == of.stride);
    let price = price.expect("asked for");
    (price.read.expect("small"), price.write.expect("small"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn linear_stacks_match_enumeration(
        grids in grids(),
        starts in proptest::collection::vec(0_u64..200, 0..4),
        offsets in proptest::collection::btree_set(0_u64..60, 1..5),
        sizes in proptest::collection::btree_map(1_u64..20, 0_u64..20, 1..3),
        gaps: bool,
        permitted in 1_u64..3,
    ) {
        let (stack, layer) = stack_of(&grids, &starts);
        let shift: u64 = starts.iter().sum();
        let offsets = offsets_of(&offsets.into_iter().collect::<Vec<_>>());
        let spacing = |(size, gap): (u64, u64)| Spacing {
            size: unit(size),
            stride: (gaps && gap > 0).then(|| unit(size + gap)),
        };
        let requests: Vec<Spacing> = sizes.into_iter().map(spacing).collect();
        let (span, size) = (1600, 100_000);
        let placement = place(Some(Ground { stack: &stack, layer }), &wanted(&offsets, &requests, span, size, permitted))
            .expect("room");
        let base = placement.region.base.get();

        // The first byte that is permitted and on all grids; what is on none is warned of, or costs nothing.
        let on_all = |b: &u64| b.is_multiple_of(permitted) && grids.iter().all(|grid| grid.has(b + shift));
        let brute = (0..size).find(on_all);
        match brute {
            Some(brute) => {
                prop_assert_eq!(base, brute);
                prop_assert_eq!(&placement.warnings, &vec![]);
            }
            None => {
                prop_assert_eq!(base % permitted, 0);
                let off = grids.iter().any(|grid| requests.iter().any(|request| {
                    let step = request.step().get();
                    let mut legal = (0..grid.unit * step).map(|k| base + shift + k * step);
                    !legal.any(|at| grid.has(at))
                }));
                let warned = placement.warnings.iter().any(|w| w.kind == WarningKind::Misplaced);
                // With gaps, requests may be off a grid and still meet no more of it.
                prop_assert!(off || !warned, "{:?}", placement.warnings);
                prop_assert!(gaps || warned || !off, "{:?}", placement.warnings);
            }
        }
        for request in &requests {
            prop_assert!(placement.region.len.is_multiple_of(request.step()));
        }
        prop_assert!(placement.region.len.get() <= span);

        for (index, offset) in offsets.iter().enumerate() {
            let start = base + offset.bytes.get() + shift;
            prop_assert_eq!(&placement.places[index].device, &Some(("sda".to_owned(), Bytes::new(start))));
            for grid in &grids {
                let standing = placement.places[index].standings.iter().find(|s| s.role == grid.role).expect("known");
                let behind = (0..grid.unit).find(|n| grid.has(start + grid.unit - n));
                prop_assert_eq!(standing.phase.map(Bytes::get), behind);
                for request in &requests {
                    // As many requests as the unit has bytes are whole periods.
                    let mut sums = (0, 0);
                    for k in 0..grid.unit {
                        let first = start + k * request.step().get();
                        let part: Vec<u64> = (first..first + request.size.get()).collect();
                        let (read, write) = operations(&[part], *grid);
                        sums = (sums.0 + read, sums.1 + write);
                    }
                    let (read, write) = price_of(&placement, index, grid.role, *request);
                    prop_assert_eq!(Some(read.now), Ratio::new(sums.0, grid.unit));
                    prop_assert_eq!(Some(write.now), Ratio::new(sums.1, grid.unit));
                }
            }
        }

        // Offsets of one class meet every grid alike: the places of their requests are the same, modulo the unit. Those of
        // two classes differ somewhere.
        let residues = |offset: &Offset| -> Vec<Vec<u64>> {
            grids.iter().flat_map(|grid| requests.iter().map(move |request| {
                let place = |k| offset.bytes.get() + k * request.step().get();
                let mut all: Vec<u64> = (0..grid.unit).map(|k| place(k) % grid.unit).collect();
                all.sort_unstable();
                all
            })).collect()
        };
        for (a, left) in offsets.iter().zip(&placement.places) {
            for (b, right) in offsets.iter().zip(&placement.places) {
                let alike = if grids.is_empty() { a == b } else { residues(a) == residues(b) };
                prop_assert_eq!(left.class == right.class, alike, "{} and {}", a, b);
            }
        }
    }

    #[test]
    fn fragmented_files_match_enumeration(
        grids in grids(),
        start in 0_u64..60,
        pieces in proptest::collection::vec((1_u64..90, 0_u64..30), 1..9),
        offsets in proptest::collection::btree_set(0_u64..40, 1..4),
        io in 1_u64..12,
        span in 12_u64..200,
    ) {
        let (mut stack, below) = stack_of(&grids, &[start]);
        let mut file = Layer::new(LayerKind::File, "/f");
        file.below = vec![below];
        let (mut upper, mut lower) = (0, 0);
        let mut segments = Vec::new();
        for (len, gap) in pieces {
            lower += gap;
            segments.push(Segment {
                upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
                target: 0,
                lower: Bytes::new(lower),
            });
            (upper, lower) = (upper + len, lower + len);
        }
        file.map = Map::segments(segments).expect("no overlap");
        let Map::Segments(segments) = file.map.clone() else { unreachable!("made of segments") };
        let layer = stack.push(file);
        let offsets = offsets_of(&offsets.into_iter().collect::<Vec<_>>());
        let requests = [Spacing::from(unit(io))];
        let wanted = wanted(&offsets, &requests, span, upper, 1);
        let placement = match place(Some(Ground { stack: &stack, layer }), &wanted) {
            Ok(placement) => placement,
            Err(PlaceError::TooSmall { least, .. }) => {
                prop_assert!(least.get() > upper);
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let largest = offsets.last().expect("not empty").bytes.get();
        let (base, len) = (placement.region.base.get(), placement.region.len.get());
        prop_assert!(base + largest + len <= upper);
        let on_disk = |at: u64| stack.path_of(layer, Bytes::new(at)).last().expect("itself").1.get();

        // A base on all grids with the whole window in one piece is taken where there is one.
        let good = |b: &u64| {
            let piece = segments.iter().find(|s| s.upper.start().get() <= *b && *b < s.upper.end().get()).expect("mapped");
            b + largest + len <= piece.upper.end().get() && grids.iter().all(|grid| grid.has(on_disk(*b)))
        };
        if let Some(first) = (0..upper - largest - len + 1).find(good) {
            prop_assert!(base <= first);
            prop_assert!(grids.iter().all(|grid| grid.has(on_disk(base))));
            prop_assert!(!placement.warnings.iter().any(|w| w.kind == WarningKind::Misplaced));
        }

        for (index, offset) in offsets.iter().enumerate() {
            let start = base + offset.bytes.get();
            prop_assert_eq!(&placement.places[index].device, &Some(("sda".to_owned(), Bytes::new(on_disk(start)))));
            for grid in &grids {
                let standing = placement.places[index].standings.iter().find(|s| s.role == grid.role).expect("known");
                // The piece of each byte.
                let piece_of = |at: u64| segments.partition_point(|s| s.upper.end().get() <= at);
                if let Some(phase) = standing.phase {
                    let at = on_disk(start);
                    prop_assert!(grid.has(at + grid.unit - phase.get()));
                }
                let is_whole = piece_of(start) == piece_of(start + len - 1);
                if is_whole {
                    prop_assert!(standing.phase.is_some());
                    continue;
                }
                let uniform = segments.iter().all(|s| {
                    let shift = |s: &Segment| (s.lower.get() + 10_000 * grid.unit - s.upper.start().get()) % grid.unit;
                    shift(s) == shift(&segments[0])
                });
                if uniform {
                    continue;
                }
                let (mut read, mut write) = (0, 0);
                for request in 0..len / io {
                    let first = start + request * io;
                    let mut parts: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
                    for at in first..first + io {
                        parts.entry(piece_of(at)).or_default().push(on_disk(at));
                    }
                    let parts: Vec<Vec<u64>> = parts.into_values().collect();
                    let (r, w) = operations(&parts, *grid);
                    (read, write) = (read + r, write + w);
                }
                let (now_read, now_write) = price_of(&placement, index, grid.role, requests[0]);
                // Where pieces that stand alike are one for the grid, the figure is the mean of the endless lattice.
                let here: Vec<usize> = (start..start + len).map(piece_of).collect();
                let is_joined = standing.phase.is_some() && (start + 1..start + len).all(|at| {
                    piece_of(at) == piece_of(at - 1) || grid.has(on_disk(at))
                });
                if !is_joined {
                    prop_assert_eq!(Some(now_read.now), Ratio::new(read, len / io), "reads, pieces {:?}", here);
                    prop_assert_eq!(Some(now_write.now), Ratio::new(write, len / io), "writes, pieces {:?}", here);
                }
            }
        }
    }

    #[test]
    fn anything_is_placed_or_refused(
        units in proptest::collection::vec((1_u64..=1 << 62, any::<u64>()), 0..4),
        start: u64,
        pieces in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..5),
        offsets in proptest::collection::vec(any::<u64>(), 0..3),
        sizes in proptest::collection::vec(1_u64..=1 << 62, 0..3),
        stride in 1_u64..5,
        span in proptest::option::of(any::<u64>()),
        size: u64,
        permitted in 1_u64..=1 << 62,
        shift in 0_u32..60,
    ) {
        let roles = [GridRole::PhysicalSector, GridRole::StripeUnit, GridRole::Zone, GridRole::FullStripe];
        let grids: Vec<DiskGrid> = units
            .iter()
            .zip(roles)
            .map(|((unit, phase), role)| DiskGrid { role, unit: (unit >> shift).max(1), phase: *phase })
            .collect();
        let (mut stack, below) = stack_of(&grids, &[start]);
        let mut file = Layer::new(LayerKind::File, "/f");
        file.below = vec![below];
        let segments = pieces.iter().filter_map(|(upper, len, lower)| {
            Some(Segment {
                upper: Extent::new(Bytes::new(upper >> shift), Bytes::new(len >> shift))?,
                target: 0,
                lower: Bytes::new(*lower),
            })
        });
        if let Some(map) = Map::segments(segments.collect()) {
            file.map = map;
        }
        let layer = stack.push(file);
        let offsets: Vec<u64> = offsets.into_iter().map(|n| n >> shift).collect();
        let offsets = offsets_of(&offsets);
        let sizes = sizes.into_iter().map(|n| unit((n >> shift).max(1)));
        let requests: Vec<Spacing> = sizes
            .map(|size| Spacing { size, stride: size.checked_mul(stride).filter(|_| stride > 1) })
            .collect();
        let mut wanted = wanted(&offsets, &requests, 0, size, (permitted >> shift).max(1));
        wanted.span = span.map(|span| Bytes::new(span >> shift));
        if let Ok(placement) = place(Some(Ground { stack: &stack, layer }), &wanted) {
            for offset in &offsets {
                let extent = placement.region.at(offset.bytes).expect("checked");
                prop_assert!(extent.end().get() <= size);
            }
        }
    }
}
