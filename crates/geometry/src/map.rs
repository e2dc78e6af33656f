use std::sync::Arc;

use crate::{BlockTable, Bytes, Extent, Grid, Location, Place, Raid, Segment, Unit};

/// Round-robin distribution over columns: RAID 0, LVM and dm stripes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Striping {
    /// Stripe unit: bytes on one column before the next takes over.
    pub unit: Unit,
    /// For each column, the address at which its data starts in the layer below. Never empty.
    pub starts: Vec<Bytes>,
}

/// Block by block, as a table says that is too long to hold: dynamic VHD, VHDX, qcow2, VDI, sparse VMDK.
///
/// Two are equal when they are the same table, not when two tables say the same.
#[derive(Clone, Debug)]
pub struct Blocks(pub Arc<dyn BlockTable>);

impl PartialEq for Blocks {
    fn eq(&self, other: &Blocks) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Blocks {}

/// Takes addresses of a layer to addresses of the layers below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Map {
    /// One piece: a partition, a LUKS payload, a plain LVM volume. Address 0 lies at `start` of target 0.
    Linear {
        /// Where address 0 lies below.
        start: Bytes,
    },
    /// Several pieces in any order, with or without holes: file extents, concatenations, device-mapper tables.
    /// Sorted by upper address, not overlapping.
    Segments(Vec<Segment>),
    /// Round-robin over several targets.
    Striped(Striping),
    /// Over several targets, with copies or parity: addresses reach the data, the first copy of them.
    Raid(Raid),
    /// Block by block, by a table that is read when it is asked.
    Blocks(Blocks),
}

impl Map {
    /// Address 0 of this layer lies at address 0 of the one below.
    pub const IDENTITY: Map = Map::Linear { start: Bytes::ZERO };

    /// A map made of pieces, sorted by upper address. Pieces that continue each other are joined; an empty piece is
    /// dropped. `None` when two pieces claim the same upper address.
    #[must_use]
    pub fn segments(mut pieces: Vec<Segment>) -> Option<Map> {
        pieces.retain(|piece| !piece.upper.is_empty());
        pieces.sort_by_key(|piece| piece.upper.start());
        let mut joined: Vec<Segment> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if let Some(last) = joined.last_mut() {
                if last.upper.end() > piece.upper.start() {
                    return None;
                }
                let continues = last.upper.end() == piece.upper.start()
                    && last.target == piece.target
                    && last.lower.checked_add(last.upper.len()) == Some(piece.lower);
                if let Some(both) = last
                    .upper
                    .len()
                    .checked_add(piece.upper.len())
                    .filter(|_| continues)
                    .and_then(|len| Extent::new(last.upper.start(), len))
                {
                    last.upper = both;
                    continue;
                }
            }
            joined.push(piece);
        }
        Some(Map::Segments(joined))
    }

    /// Where `offset` lies below; `None` in a hole, past the end, or past 2⁶⁴ − 1. What is compressed, or whose entry
    /// cannot be read, has no place either: ask the table itself for the difference.
    #[must_use]
    pub fn locate(&self, offset: Bytes) -> Option<Location> {
        match self {
            Map::Linear { start } => {
                let there = start.checked_add(offset)?;
                Some(Location {
                    target: 0,
                    offset: there,
                    run: Bytes::MAX.checked_sub(there)?.max(Bytes::new(1)),
                })
            }
            Map::Segments(pieces) => {
                let after = pieces.partition_point(|piece| piece.upper.start() <= offset);
                let piece = pieces.get(after.checked_sub(1)?)?;
                let within = offset.checked_sub(piece.upper.start())?;
                let run = piece
                    .upper
                    .len()
                    .checked_sub(within)
                    .filter(|run| *run > Bytes::ZERO)?;
                Some(Location {
                    target: piece.target,
                    offset: piece.lower.checked_add(within)?,
                    run,
                })
            }
            Map::Striped(striping) => {
                let columns = u64::try_from(striping.starts.len())
                    .ok()
                    .filter(|n| *n > 0)?;
                let (stripe_unit, within) = offset.div_rem(striping.unit);
                let column = usize::try_from(stripe_unit % columns).ok()?;
                let row = striping.unit.bytes().checked_mul(stripe_unit / columns)?;
                Some(Location {
                    target: column,
                    offset: striping
                        .starts
                        .get(column)?
                        .checked_add(row)?
                        .checked_add(within)?,
                    run: striping.unit.bytes().checked_sub(within)?,
                })
            }
            Map::Raid(raid) => raid.locate(offset),
            Map::Blocks(Blocks(table)) => match table.locate(offset).ok()? {
                Place::At {
                    target,
                    offset,
                    run,
                } => Some(Location {
                    target,
                    offset,
                    run,
                }),
                Place::Absent { run } => Some(Location {
                    target: table.parent()?,
                    offset,
                    run,
                }),
                Place::Zero { .. } | Place::Packed { .. } => None,
            },
        }
    }

    /// This map followed by the map of its only target, as one map; `None` when that has no closed description
    /// (stripes or a block table are involved, several targets, or an address beyond 2⁶⁴ − 1).
    ///
    /// Linear maps compose to a linear map; segments compose to segments, cut wherever the lower map is cut.
    #[must_use]
    pub fn then(&self, lower: &Map) -> Option<Map> {
        match (self, lower) {
            (Map::Linear { start }, Map::Linear { start: below }) => Some(Map::Linear {
                start: start.checked_add(*below)?,
            }),
            (Map::Linear { start }, Map::Segments(pieces)) => {
                let shifted = pieces
                    .iter()
                    .filter(|piece| piece.upper.end() > *start)
                    .map(|piece| {
                        let cut = start
                            .checked_sub(piece.upper.start())
                            .unwrap_or(Bytes::ZERO);
                        let upper_start = piece
                            .upper
                            .start()
                            .checked_sub(*start)
                            .unwrap_or(Bytes::ZERO);
                        Some(Segment {
                            upper: Extent::new(upper_start, piece.upper.len().checked_sub(cut)?)?,
                            target: piece.target,
                            lower: piece.lower.checked_add(cut)?,
                        })
                    });
                Map::segments(shifted.collect::<Option<Vec<_>>>()?)
            }
            (Map::Segments(pieces), Map::Linear { .. } | Map::Segments(_)) => {
                let mut out = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    if piece.target != 0 {
                        return None;
                    }
                    through(piece, lower, &mut out)?;
                }
                Map::segments(out)
            }
            _ => None,
        }
    }

    /// The boundaries of `below`, a grid of target `target`, as this layer sees them, when they form one grid again.
    ///
    /// Linear maps shift the phase. A striped map keeps a grid whose unit divides the stripe unit, if all columns start
    /// at the same phase of it. Segments and blocks have no single answer: price each of them by itself.
    #[must_use]
    pub fn project_up(&self, below: Grid) -> Option<Grid> {
        match self {
            Map::Linear { start } => Some(below.seen_from(*start)),
            Map::Segments(pieces) => match pieces.as_slice() {
                [only] if only.upper.start() == Bytes::ZERO => Some(below.seen_from(only.lower)),
                _ => None,
            },
            Map::Striped(striping) => {
                let projected = below.seen_from(*striping.starts.first()?);
                let same = striping
                    .starts
                    .iter()
                    .all(|start| below.seen_from(*start) == projected);
                (same && striping.unit.bytes().is_multiple_of(below.unit())).then_some(projected)
            }
            Map::Raid(raid) => raid.project_up(below),
            Map::Blocks(_) => None,
        }
    }
}

/// Appends what `piece` becomes after passing `lower`, a map without stripes.
fn through(piece: &Segment, lower: &Map, out: &mut Vec<Segment>) -> Option<()> {
    match lower {
        Map::Linear { start } => out.push(Segment {
            lower: piece.lower.checked_add(*start)?,
            target: 0,
            ..*piece
        }),
        Map::Segments(below) => {
            let reach = Extent::new(piece.lower, piece.upper.len())?;
            let first = below.partition_point(|b| b.upper.end() <= reach.start());
            for b in below
                .iter()
                .skip(first)
                .take_while(|b| b.upper.start() < reach.end())
            {
                let from = b.upper.start().max(reach.start());
                let to = b.upper.end().min(reach.end());
                let upper = piece
                    .upper
                    .start()
                    .checked_add(from.checked_sub(reach.start())?)?;
                out.push(Segment {
                    upper: Extent::new(upper, to.checked_sub(from)?)?,
                    target: b.target,
                    lower: b.lower.checked_add(from.checked_sub(b.upper.start())?)?,
                });
            }
        }
        Map::Striped(_) | Map::Raid(_) | Map::Blocks(_) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    /// Pieces from (gap, length, lower address) triples.
    fn pieces(spec: &[(u64, u64, u64)]) -> Map {
        let mut at = 0;
        let mut out = Vec::new();
        for (gap, len, lower) in spec {
            at += gap;
            let upper = Extent::new(Bytes::new(at), Bytes::new(*len)).expect("small");
            out.push(Segment {
                upper,
                target: 0,
                lower: Bytes::new(*lower),
            });
            at += len;
        }
        Map::segments(out).expect("not overlapping")
    }

    fn flat() -> impl Strategy<Value = Map> {
        prop_oneof![
            (0_u64..50).prop_map(|start| Map::Linear {
                start: Bytes::new(start)
            }),
            proptest::collection::vec((0_u64..6, 0_u64..9, 0_u64..90), 0..6)
                .prop_map(|spec| pieces(&spec)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn composition_is_one_map_after_the_other(upper in flat(), lower in flat()) {
            let both = upper.then(&lower).expect("neither is striped");
            for x in (0..150).map(Bytes::new) {
                let stepwise = upper.locate(x).and_then(|mid| lower.locate(mid.offset)).map(|l| (l.target, l.offset));
                prop_assert_eq!(both.locate(x).map(|l| (l.target, l.offset)), stepwise);
            }
        }

        #[test]
        fn a_run_is_contiguous_and_no_longer(map in flat(), x in 0_u64..100) {
            if let Some(at) = map.locate(Bytes::new(x)) {
                for d in 0..at.run.get().min(50) {
                    let there = map.locate(Bytes::new(x + d)).map(|l| l.offset.get());
                    prop_assert_eq!(there, Some(at.offset.get() + d));
                }
                if at.run.get() < 1_000 {
                    let next = map.locate(Bytes::new(x + at.run.get())).map(|l| l.offset.get());
                    prop_assert_ne!(next, Some(at.offset.get() + at.run.get()));
                }
            }
        }

        #[test]
        fn striping_matches_dealing_cards(u in 1_u64..8, starts in proptest::collection::vec(0_u64..50, 1..6), len in 1_u64..200) {
            let map = Map::Striped(Striping { unit: unit(u), starts: starts.iter().copied().map(Bytes::new).collect() });
            let mut next: Vec<u64> = starts.clone();
            for x in 0..len {
                let column = usize::try_from(x / u).expect("small") % starts.len();
                let at = map.locate(Bytes::new(x)).expect("no holes");
                prop_assert_eq!((at.target, at.offset.get()), (column, next[column]));
                prop_assert_eq!(at.run.get(), u - x % u);
                next[column] += 1;
            }
        }

        #[test]
        fn a_projected_grid_holds_exactly_the_boundaries_below(
            u in 1_u64..8, rows in 1_u64..4, start in 0_u64..20, columns in 1_usize..4, g in 1_u64..8, phase in 0_u64..8,
        ) {
            let below = Grid::with_phase(unit(g), Bytes::new(phase));
            let striped = Map::Striped(Striping { unit: unit(u), starts: vec![Bytes::new(start); columns] });
            for map in [striped, Map::Linear { start: Bytes::new(start) }] {
                if let Some(seen) = map.project_up(below) {
                    for x in (0..u * rows * 6).map(Bytes::new) {
                        let there = map.locate(x).expect("no holes").offset;
                        prop_assert_eq!(seen.contains(x), below.contains(there));
                    }
                }
            }
        }
    }

    #[test]
    fn neighbouring_pieces_are_joined_and_overlaps_refused() {
        assert_eq!(
            pieces(&[(0, 4, 100), (0, 4, 104), (0, 4, 200)]),
            pieces(&[(0, 8, 100), (0, 4, 200)])
        );
        let overlapping = [(0, 10, 0), (5, 10, 50)].map(|(start, len, lower)| Segment {
            upper: Extent::new(Bytes::new(start), Bytes::new(len)).expect("small"),
            target: 0,
            lower: Bytes::new(lower),
        });
        assert_eq!(Map::segments(overlapping.to_vec()), None);
    }

    #[test]
    fn a_partition_in_a_partition_adds_up() {
        let outer = Map::Linear {
            start: Bytes::new(32_256),
        };
        let inner = Map::Linear {
            start: Bytes::new(1 << 20),
        };
        assert_eq!(
            inner.then(&outer),
            Some(Map::Linear {
                start: Bytes::new(1_080_832)
            })
        );
        assert_eq!(inner.then(&Map::Linear { start: Bytes::MAX }), None);
    }
}
