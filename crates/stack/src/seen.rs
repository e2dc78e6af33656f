use std::collections::BTreeMap;
use straddle_geometry::{
    Access, Bytes, Extent, Family, Grid, Lattice, Map, Price, Ratio, Segment, Unit,
};

use crate::{Fact, GridRole, LayerId, Stack};

/// A grid of some layer below, in the addresses of the layer that looks down on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenGrid<'a> {
    /// What the boundaries are.
    pub role: GridRole,
    /// The layer that contributes them.
    pub layer: LayerId,
    /// The fact there, in that layer's addresses.
    pub fact: &'a Fact<Grid>,
    /// The boundaries as the upper layer sees them.
    pub seen: Seen,
}

/// How a grid below looks from above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// One grid over the whole layer.
    Uniform(Grid),
    /// Another phase in each piece of the layer: a fragmented file, a volume of several segments.
    Pieces(Vec<(Extent, Grid)>),
}

impl Seen {
    /// The same boundaries, one layer further up through a single piece.
    fn through_segment(&self, segment: &Segment, out: &mut Vec<(Extent, Grid)>) {
        // A boundary at b below is seen at b − lower + upper.start; project down to 0, then shift up.
        let lift = |grid: Grid| {
            let seen = grid.seen_from(segment.lower);
            // Both terms are reduced modulo the unit (at most 2⁶²) before they are added.
            let shift = segment.upper.start().div_rem(grid.unit()).1;
            Grid::with_phase(grid.unit(), Bytes::new(seen.phase().get() + shift.get()))
        };
        match self {
            Seen::Uniform(grid) => out.push((segment.upper, lift(*grid))),
            Seen::Pieces(pieces) => {
                let Some(reach) = Extent::new(segment.lower, segment.upper.len()) else {
                    return;
                };
                for (extent, grid) in pieces {
                    let (from, to) = (
                        extent.start().max(reach.start()),
                        extent.end().min(reach.end()),
                    );
                    let upper = from
                        .checked_sub(reach.start())
                        .and_then(|skip| segment.upper.start().checked_add(skip))
                        .zip(to.checked_sub(from).filter(|len| *len > Bytes::ZERO))
                        .and_then(|(start, len)| Extent::new(start, len));
                    if let Some(upper) = upper {
                        out.push((upper, lift(*grid)));
                    }
                }
            }
        }
    }

    /// What `requests` cost on these boundaries; over several pieces, the mean weighted by their lengths.
    ///
    /// `None` when there is no piece, or an exact figure does not fit in 64 bits.
    #[must_use]
    pub fn price(&self, family: Family, requests: Lattice, access: Access) -> Option<Price> {
        let pieces = match self {
            Seen::Uniform(grid) => return family.price(requests, *grid, access),
            Seen::Pieces(pieces) => pieces,
        };
        let aligned = family.price(requests, pieces.first()?.1, access)?.aligned;
        // All pieces share the unit, which is the denominator: only numerators and lengths vary.
        let (mut weighted, mut weights, mut denominator) = (0_u128, 0_u128, 1_u64);
        for (extent, grid) in pieces {
            let now = family.operations(requests, *grid, access)?;
            denominator = now.denominator();
            weighted = weighted
                .checked_add(u128::from(extent.len().get()) * u128::from(now.numerator()))?;
            weights = weights.checked_add(u128::from(extent.len().get()))?;
        }
        let now = Ratio::reduced(weighted, weights.checked_mul(u128::from(denominator))?)?;
        Some(Price {
            now,
            aligned,
            extra: now.saturating_sub(aligned)?.checked_div(aligned)?,
        })
    }

    /// The fraction of `requests` that straddle, weighted by length over several pieces.
    #[must_use]
    pub fn straddling(&self, requests: Lattice) -> Option<Ratio> {
        match self {
            Seen::Uniform(grid) => Some(requests.straddling(*grid)),
            Seen::Pieces(pieces) => {
                let (mut weighted, mut weights, mut denominator) = (0_u128, 0_u128, 1_u64);
                for (extent, grid) in pieces {
                    let mean = requests.mean_crossings(*grid);
                    denominator = mean.denominator();
                    let crossing = mean.numerator().min(denominator);
                    weighted = weighted
                        .checked_add(u128::from(extent.len().get()) * u128::from(crossing))?;
                    weights = weights.checked_add(u128::from(extent.len().get()))?;
                }
                Ratio::reduced(weighted, weights.checked_mul(u128::from(denominator))?)
            }
        }
    }

    /// The bytes whose piece starts off the grid (0 for a uniform grid that is on it), and all bytes looked at.
    #[must_use]
    pub fn off_grid(&self, start: Bytes) -> Option<(Bytes, Bytes)> {
        match self {
            Seen::Uniform(_) => None,
            Seen::Pieces(pieces) => {
                pieces
                    .iter()
                    .try_fold((Bytes::ZERO, Bytes::ZERO), |(off, all), (extent, grid)| {
                        let all = all.checked_add(extent.len())?;
                        Some((
                            if grid.contains(start) {
                                off
                            } else {
                                off.checked_add(extent.len())?
                            },
                            all,
                        ))
                    })
            }
        }
    }
}

impl Stack {
    /// Every grid at or below `layer`, in the addresses of `layer`; its own first, then downwards.
    ///
    /// A grid that has no regular image up here (for instance the sectors of the members of a striped array whose
    /// columns start at different phases) is left out: what it costs is a question about the members.
    #[must_use]
    pub fn grids_seen_from(&self, layer: LayerId) -> Vec<SeenGrid<'_>> {
        let mut views: BTreeMap<LayerId, Vec<SeenGrid<'_>>> = BTreeMap::new();
        // Lowest first, so that everything below a layer is known when it is its turn.
        for below in self.foundations(layer).into_iter().rev() {
            let view = self.view(below, |id| views.get(&id).map_or(&[], Vec::as_slice));
            views.insert(below, view);
        }
        self.view(layer, |id| views.get(&id).map_or(&[], Vec::as_slice))
    }

    /// [`Stack::grids_seen_from`] for every layer, by index: what is below is worked out once for all above it.
    #[must_use]
    pub fn all_grids_seen(&self) -> Vec<Vec<SeenGrid<'_>>> {
        let mut views: Vec<Vec<SeenGrid<'_>>> = Vec::with_capacity(self.layers().len());
        for (id, _) in self.iter() {
            let view = self.view(id, |below| {
                views.get(below.index()).map_or(&[], Vec::as_slice)
            });
            views.push(view);
        }
        views
    }

    /// What `layer` sees, given what each layer directly below it sees.
    fn view<'a, 'v>(
        &'a self,
        layer: LayerId,
        below: impl Fn(LayerId) -> &'v [SeenGrid<'a>],
    ) -> Vec<SeenGrid<'a>>
    where
        'a: 'v,
    {
        let here = self.layer(layer);
        let mut out: Vec<SeenGrid<'a>> = here
            .grids
            .iter()
            .map(|g| SeenGrid {
                role: g.role,
                layer,
                fact: &g.grid,
                seen: Seen::Uniform(g.grid.value),
            })
            .collect();
        let first = here.below.first().map_or(&[][..], |id| below(*id));
        match &here.map {
            Map::Linear { start } => {
                let rest = Bytes::MAX.checked_sub(*start).unwrap_or(Bytes::ZERO);
                let len = here.size.as_ref().map_or(rest, |size| size.value.min(rest));
                let whole = Segment {
                    upper: Extent::whole(len),
                    target: 0,
                    lower: *start,
                };
                out.extend(first.iter().map(|grid| {
                    let seen = match &grid.seen {
                        Seen::Uniform(g) => Seen::Uniform(g.seen_from(*start)),
                        pieces @ Seen::Pieces(_) => {
                            let mut lifted = Vec::new();
                            pieces.through_segment(&whole, &mut lifted);
                            Seen::Pieces(lifted)
                        }
                    };
                    SeenGrid {
                        seen,
                        ..grid.clone()
                    }
                }));
            }
            Map::Segments(segments) => {
                let mut pieces = Lifted::default();
                for (target, id) in here.below.iter().enumerate() {
                    for grid in below(*id) {
                        let lifted = pieces.of(grid);
                        for segment in segments.iter().filter(|s| s.target == target) {
                            if lifted.len() < MOST_PIECES {
                                grid.seen.through_segment(segment, lifted);
                            }
                        }
                    }
                }
                out.extend(pieces.into_grids());
            }
            Map::Blocks(_) => {}
            // The members are alike; the first stands for all where its grids have a regular image.
            map @ Map::Striped(_) => out.extend(first.iter().filter_map(|grid| {
                let Seen::Uniform(g) = grid.seen else {
                    return None;
                };
                Some(SeenGrid {
                    seen: Seen::Uniform(map.project_up(g)?),
                    ..grid.clone()
                })
            })),
        }
        out
    }
}

/// Most pieces in which a grid is followed. A real file has fewer; a forged stack in which every layer maps the one below
/// twice would double them with each layer.
const MOST_PIECES: usize = 1 << 20;

/// Pieces of grids on their way up through segments. A grid that is reached over several targets is one grid still:
/// otherwise a stack that branches and joins again and again would show it as often as there are ways.
#[derive(Default)]
struct Lifted<'a> {
    grids: Vec<(SeenGrid<'a>, Vec<(Extent, Grid)>)>,
    places: BTreeMap<(LayerId, GridRole, Unit), usize>,
}

impl<'a> Lifted<'a> {
    /// The pieces of `grid` so far.
    fn of(&mut self, grid: &SeenGrid<'a>) -> &mut Vec<(Extent, Grid)> {
        let key = (grid.layer, grid.role, grid.fact.value.unit());
        let place = *self.places.entry(key).or_insert_with(|| {
            self.grids.push((grid.clone(), Vec::new()));
            self.grids.len() - 1
        });
        &mut self.grids[place].1
    }

    fn into_grids(self) -> impl Iterator<Item = SeenGrid<'a>> {
        self.grids.into_iter().filter_map(|(mut grid, mut pieces)| {
            pieces.sort_unstable_by_key(|(extent, _)| extent.start());
            grid.seen = match pieces.as_slice() {
                [] => return None,
                // Equal phases everywhere (a file on a filesystem whose blocks are multiples of the unit): one grid.
                [(_, first), rest @ ..] if rest.iter().all(|(_, g)| g == first) => {
                    Seen::Uniform(*first)
                }
                _ => Seen::Pieces(pieces),
            };
            Some(grid)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, LayerKind};
    use straddle_geometry::{Striping, Unit};

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    fn disk_with(stack: &mut Stack, role: GridRole, grid: Grid) -> LayerId {
        let mut disk = Layer::new(LayerKind::Device, "sda");
        disk.add_grid(role, Fact::stated(grid, "--test", ""));
        stack.push(disk)
    }

    fn on(stack: &mut Stack, below: LayerId, map: Map) -> LayerId {
        let mut layer = Layer::new(LayerKind::File, "f");
        layer.below = vec![below];
        layer.map = map;
        stack.push(layer)
    }

    fn segments(spec: &[(u64, u64, u64)]) -> Map {
        let piece = |&(upper, len, lower): &(u64, u64, u64)| Segment {
            upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
            target: 0,
            lower: Bytes::new(lower),
        };
        Map::segments(spec.iter().map(piece).collect()).expect("no overlap")
    }

    #[test]
    fn a_partition_sees_the_sectors_of_its_disk_shifted() {
        let mut stack = Stack::new();
        let disk = disk_with(&mut stack, GridRole::PhysicalSector, Grid::new(Unit::B4096));
        let partition = on(
            &mut stack,
            disk,
            Map::Linear {
                start: Bytes::new(32_256),
            },
        );
        let seen = stack.grids_seen_from(partition);
        assert_eq!(seen.len(), 1);
        // 32,256 + 512 = 8 × 4,096: the first boundary is 512 bytes into the partition.
        assert_eq!(
            seen[0].seen,
            Seen::Uniform(Grid::with_phase(Unit::B4096, Bytes::new(512)))
        );
    }

    #[test]
    fn every_byte_of_a_fragmented_file_sees_the_boundaries_it_lies_between() {
        let mut stack = Stack::new();
        let disk = disk_with(
            &mut stack,
            GridRole::StripeUnit,
            Grid::with_phase(unit(24), Bytes::new(5)),
        );
        let volume = on(&mut stack, disk, segments(&[(0, 40, 100), (40, 40, 11)]));
        let file = on(
            &mut stack,
            volume,
            segments(&[(0, 10, 30), (10, 25, 33), (50, 7, 3)]),
        );
        let partition_in_file = on(
            &mut stack,
            file,
            Map::Linear {
                start: Bytes::new(4),
            },
        );
        for (layer, shift) in [(file, 0), (partition_in_file, 4)] {
            let seen = stack.grids_seen_from(layer);
            let Seen::Pieces(pieces) = &seen[0].seen else {
                panic!("not uniform: {seen:?}")
            };
            let mut covered = 0;
            for (extent, grid) in pieces {
                for x in extent.start().get()..extent.end().get() {
                    let at = Bytes::new(x + shift);
                    let in_volume = stack.layer(file).map.locate(at).expect("mapped").offset;
                    let in_disk = stack
                        .layer(volume)
                        .map
                        .locate(in_volume)
                        .expect("mapped")
                        .offset;
                    assert_eq!(
                        grid.contains(Bytes::new(x)),
                        in_disk.get() % 24 == 5,
                        "byte {x}"
                    );
                    covered += 1;
                }
            }
            assert_eq!(covered, 42 - shift);
        }
    }

    #[test]
    fn pieces_are_priced_by_their_length() {
        // 3/4 of the file on the grid, 1/4 off it by half: 64 KiB requests straddle in that quarter only.
        let stripe = Grid::new(unit(65_536));
        let off = Grid::with_phase(unit(65_536), Bytes::new(32_768));
        let extent = |start, len| Extent::new(Bytes::kib(start), Bytes::kib(len)).expect("small");
        let seen = Seen::Pieces(vec![(extent(0, 192), stripe), (extent(192, 64), off)]);
        let requests = Lattice::back_to_back(Bytes::ZERO, unit(65_536));
        let price = seen
            .price(Family::Splitting, requests, Access::Read)
            .expect("small");
        assert_eq!(price.extra.to_string(), "25%");
        assert_eq!(seen.straddling(requests).expect("small").to_string(), "25%");
        assert_eq!(
            seen.off_grid(Bytes::ZERO),
            Some((Bytes::kib(64), Bytes::kib(256)))
        );
    }

    #[test]
    fn a_striped_volume_keeps_the_sectors_of_members_that_start_alike() {
        let mut stack = Stack::new();
        let a = disk_with(&mut stack, GridRole::PhysicalSector, Grid::new(Unit::B4096));
        let b = disk_with(&mut stack, GridRole::PhysicalSector, Grid::new(Unit::B4096));
        let mut array = |starts: [u64; 2]| {
            let mut layer = Layer::new(LayerKind::Array, "md0");
            layer.below = vec![a, b];
            layer.map = Map::Striped(Striping {
                unit: unit(65_536),
                starts: starts.map(Bytes::new).to_vec(),
            });
            stack.push(layer)
        };
        let (alike, unlike) = (array([1 << 20; 2]), array([1 << 20, 32_256]));
        assert_eq!(stack.grids_seen_from(alike).len(), 1);
        assert_eq!(stack.grids_seen_from(unlike).len(), 0);
    }

    #[test]
    fn a_stack_that_branches_and_joins_again_and_again_shows_a_grid_once() {
        let mut stack = Stack::new();
        let mut below = disk_with(&mut stack, GridRole::PhysicalSector, Grid::new(Unit::B4096));
        for _ in 0..60 {
            let (left, right) = (
                on(&mut stack, below, Map::IDENTITY),
                on(&mut stack, below, Map::IDENTITY),
            );
            let mut joined = Layer::new(LayerKind::Volume, "j");
            joined.below = vec![left, right];
            let segment = |target: u64| Segment {
                upper: Extent::new(Bytes::kib(64 * target), Bytes::kib(64)).expect("small"),
                target: usize::try_from(target).expect("small"),
                lower: Bytes::kib(64 * target),
            };
            joined.map = Map::segments(vec![segment(0), segment(1)]).expect("no overlap");
            below = stack.push(joined);
        }
        let seen = stack.grids_seen_from(below);
        assert_eq!(seen.len(), 1);
        assert_eq!(stack.all_grids_seen().last(), Some(&seen));
        assert!(stack.rests_on(below, stack.roots().next().expect("a disk")));
    }
}
