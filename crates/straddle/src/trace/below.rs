//! Where recorded requests lie in a stack: in partitions of a disk, in what a volume or a virtual disk consists of.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use straddle_trace::{Question, STEP, Statistics, Translate};

use super::{Asked, Error, Titled, other};
use crate::check::{Known, stacks};
use crate::geometry::{Blocks, Bytes, Map, Place};
use crate::report::trace::{Boundary, Failure};
use crate::stack::{LayerId, LayerKind, Seen, Stack};

/// Somewhere in the stack that requests lie in, and from which all grids below look the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// As requests are named that lie there.
    pub(super) name: String,
    layer: LayerId,
    /// Where it begins in the addresses of that layer, or the partition does that carries it.
    start: Bytes,
    /// The addresses of it, where it is a part of its layer only.
    part: Option<(u64, u64)>,
}

/// The stack below what was recorded.
pub(super) struct Below {
    stack: Stack,
    /// The layer that all devices are, where it was named.
    layer: Option<LayerId>,
    /// Layers by name: every request asks.
    names: HashMap<String, LayerId>,
    pub(super) places: Vec<Spot>,
    /// Places by layer.
    of: BTreeMap<LayerId, Vec<usize>>,
}

impl Below {
    pub(super) fn new(target: &Path, asked: &Asked) -> Result<Below, Error> {
        let found = stacks(&[target.to_path_buf()], asked.overrides.clone(), true);
        let found = found.map_err(|(_, error)| error)?;
        let Some(Known { stack, .. }) = found.into_iter().next() else {
            let target = target.display();
            return Err(Error::Layer(format!(
                "{target}: no storage stack was recognised in it; `straddle check {target}` says what is read"
            )));
        };
        let mut names = HashMap::new();
        for (id, layer) in stack.iter() {
            names.entry(short(&layer.name).to_owned()).or_insert(id);
        }
        let mut below = Below {
            stack,
            layer: None,
            names,
            places: Vec::new(),
            of: BTreeMap::new(),
        };
        if let Some(name) = &asked.layer {
            let layer = below.named(name);
            if layer.is_none() {
                let names: Vec<&str> = below
                    .stack
                    .iter()
                    .map(|(_, layer)| layer.name.as_str())
                    .collect();
                return Err(Error::Layer(format!(
                    "no layer is called `{name}`; there are {}",
                    names.join(", ")
                )));
            }
            below.layer = layer;
        }
        let ids: Vec<LayerId> = below.stack.iter().map(|(id, _)| id).collect();
        for id in ids {
            below.enter(id);
        }
        Ok(below)
    }

    fn named(&self, name: &str) -> Option<LayerId> {
        self.names.get(short(name)).copied()
    }

    /// Enters the places that requests of a layer lie in: its partitions and what is outside of them, or itself.
    fn enter(&mut self, id: LayerId) {
        if self.is_torn(id) {
            return;
        }
        let layer = self.stack.layer(id);
        let mut places = Vec::new();
        for above in self.stack.above(id) {
            let upper = self.stack.layer(above);
            if upper.kind == LayerKind::Partition
                && let Some(placement) = &upper.placement
            {
                let (start, end) = (placement.value.start(), placement.value.end());
                places.push(Spot {
                    name: format!("{} of {}", upper.name, layer.name),
                    layer: id,
                    start,
                    part: Some((start.get(), end.get())),
                });
            }
        }
        // The partition that carries a layer is what can be moved.
        let start = self.carrier(id).unwrap_or_default();
        places.push(Spot {
            name: layer.name.clone(),
            layer: id,
            start,
            part: None,
        });
        for place in places {
            self.of.entry(id).or_default().push(self.places.len());
            self.places.push(place);
        }
    }

    /// Where the nearest partition at or below a layer begins.
    fn carrier(&self, id: LayerId) -> Option<Bytes> {
        let layer = self.stack.layer(id);
        if layer.kind == LayerKind::Partition {
            return layer
                .placement
                .as_ref()
                .map(|placement| placement.value.start());
        }
        match layer.below.as_slice() {
            [only] if matches!(layer.map, Map::Linear { .. }) => self.carrier(*only),
            _ => None,
        }
    }

    /// Whether grids below look different from place to place.
    fn is_torn(&self, id: LayerId) -> bool {
        let seen = self.stack.grids_seen_from(id);
        let layer = self.stack.layer(id);
        seen.iter().any(|grid| matches!(grid.seen, Seen::Pieces(_)))
            || matches!(layer.map, Map::Segments(_) | Map::Blocks(_))
    }

    /// Recorded devices that are none of its layers.
    pub(super) fn strangers(&self, statistics: &Statistics) -> Option<Failure> {
        let is_place = |name: &str| self.places.iter().any(|place| place.name == name);
        let names = statistics
            .devices()
            .iter()
            .map(|device| device.name.as_str());
        let mut names: Vec<&str> = names.filter(|name| !is_place(name)).collect();
        names.dedup();
        let layers: Vec<&str> = self
            .stack
            .iter()
            .map(|(_, layer)| layer.name.as_str())
            .collect();
        (!names.is_empty()).then(|| Failure {
            error: format!(
                "no layer of the stack is called {}; say with --layer which one was recorded: {}",
                names.join(", "),
                layers.join(", ")
            ),
        })
    }

    /// Units of all grids that are judged.
    pub(super) fn units(&self) -> impl Iterator<Item = u64> {
        let layers = self.of.keys();
        layers
            .flat_map(|id| boundaries(&self.stack, *id))
            .map(|boundary| boundary.grid.unit().get())
    }

    pub(super) fn question(&self, place: &Spot, asked: &Asked) -> Titled {
        let boundaries = boundaries(&self.stack, place.layer);
        Titled {
            title: Some(place.name.clone()),
            asked: Question {
                grids: boundaries
                    .iter()
                    .map(|boundary| (boundary.grid, boundary.family))
                    .collect(),
                today: place.start,
                is_absolute: true,
                starts: other(&asked.starts, place.start),
                only: vec![place.name.clone()],
                devices: 0,
            },
            boundaries,
        }
    }

    /// Pieces of an extent of a layer: the spot that each lies in, where it begins there, and its length.
    fn pieces(&self, id: LayerId, start: u64, len: u64, piece: &mut dyn FnMut(usize, u64, u64)) {
        let (mut at, end) = (start, start + len);
        if let Some(spots) = self.of.get(&id) {
            while at < end {
                let (spot, next) = self.part(spots, at, end);
                piece(spot, at, next - at);
                at = next;
            }
            return;
        }
        let layer = self.stack.layer(id);
        while at < end {
            let Some(location) = layer.map.locate(Bytes::new(at)) else {
                at = behind_gap(&layer.map, at, end);
                continue;
            };
            let run = location.run.get().min(end - at);
            if let Some(below) = layer.below.get(location.target) {
                self.pieces(*below, location.offset.get(), run, piece);
            }
            at += run;
        }
    }

    /// The spot of an address, and where the next one begins, or `end`. The last spot of a layer is all of it.
    fn part(&self, spots: &[usize], at: u64, end: u64) -> (usize, u64) {
        let (mut next, mut whole) = (end, 0);
        for spot in spots.iter().copied() {
            match self.places.get(spot).and_then(|place| place.part) {
                Some((from, to)) if (from..to).contains(&at) => return (spot, to.min(end)),
                Some((from, _)) if from > at => next = next.min(from),
                Some(_) => {}
                None => whole = spot,
            }
        }
        (whole, next)
    }
}

/// A name as the kernel has it.
fn short(name: &str) -> &str {
    name.strip_prefix("/dev/").unwrap_or(name)
}

/// Where addresses of a map that lie nowhere from `at` on may lie somewhere again, or `end`.
fn behind_gap(map: &Map, at: u64, end: u64) -> u64 {
    let next = match map {
        Map::Segments(segments) => {
            let after = segments.partition_point(|piece| piece.upper.start().get() <= at);
            segments.get(after).map(|piece| piece.upper.start().get())
        }
        Map::Blocks(Blocks(table)) => match table.locate(Bytes::new(at)) {
            Ok(Place::Absent { run } | Place::Zero { run }) => at.checked_add(run.get()),
            Ok(Place::Packed { upper, .. }) => Some(upper.end().get()),
            Ok(Place::At { .. }) | Err(_) => {
                // A block whose entry cannot be read.
                let block = table.block().get();
                (at / block + 1).checked_mul(block)
            }
        },
        _ => None,
    };
    next.filter(|next| *next > at)
        .map_or(end, |next| next.min(end))
}

impl Translate for Below {
    fn translate(
        &self,
        device: &[u8],
        start: u64,
        len: u64,
        piece: &mut dyn FnMut(&[u8], u64, u64),
    ) -> bool {
        let layer = self
            .layer
            .or_else(|| self.named(std::str::from_utf8(device).ok()?));
        let Some(layer) = layer else {
            return false;
        };
        // Blocks that are neighbours below as well are one piece: nobody splits a request there.
        let mut open: Option<(usize, u64, u64)> = None;
        let mut give = |(spot, start, len): (usize, u64, u64)| {
            if let Some(place) = self.places.get(spot) {
                piece(place.name.as_bytes(), start, len);
            }
        };
        self.pieces(layer, start, len, &mut |spot, start, len| match &mut open {
            Some((before, from, so_far)) if *before == spot && *from + *so_far == start => {
                *so_far += len;
            }
            open => {
                if let Some(before) = open.replace((spot, start, len)) {
                    give(before);
                }
            }
        });
        if let Some(last) = open {
            give(last);
        }
        true
    }
}

/// Grids that a layer sees, each once: those that can be counted, and that are not one sector.
fn boundaries(stack: &Stack, id: LayerId) -> Vec<Boundary> {
    let mut boundaries: Vec<Boundary> = Vec::new();
    for seen in stack.grids_seen_from(id) {
        let Seen::Uniform(grid) = seen.seen else {
            continue;
        };
        let unit = grid.unit().get();
        let is_counted = unit > STEP && unit.is_multiple_of(STEP) && unit <= MAX_UNIT;
        let is_new = boundaries
            .iter()
            .all(|known| (known.grid, known.family) != (grid, seen.role.family()));
        if is_counted && is_new {
            boundaries.push(Boundary {
                role: Some(seen.role),
                layer: Some(stack.layer(seen.layer).name.clone()),
                grid,
                family: seen.role.family(),
            });
        }
    }
    boundaries.sort_by_key(|boundary| boundary.grid.unit());
    boundaries
}

/// Larger units have a distribution that is none: hardly two requests begin at the same place.
const MAX_UNIT: u64 = 64 << 20;
