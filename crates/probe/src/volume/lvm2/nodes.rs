//! From a volume group to layers: each visible logical volume, and what hidden ones it lies on.

use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Bytes, Extent, Map, Segment as Run};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerKind, Source, Trust, Value};

use super::area::Location;
use super::group::{Group, Logical, Lower, SECTOR, Segment};
use super::piece::{Piece, nowhere};
use super::places::Claim;
use super::text::Node as Entry;
use crate::Window;
use crate::volume::{Assembly, Below, Holds, Node, Part};

/// Most layers of one volume group.
const MAX_NODES: usize = 4096;

/// How far a logical volume has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    /// What it lies on is being built.
    Open,
    /// Its layer; `None` when there is no room for more.
    Built(Option<usize>),
}

pub(super) struct Builder<'a> {
    pub(super) group: &'a Group,
    pub(super) parts: &'a [Part<'a>],
    /// For each physical volume of the group, which part it is.
    pub(super) given: Vec<Option<usize>>,
    /// Where the text lies.
    window: Window<'a>,
    location: &'a Location,
    pub(super) states: Vec<State>,
    pub(super) nodes: Vec<Node>,
    /// Logical volumes that hold what was copied for a snapshot.
    stores: BTreeSet<usize>,
    pub(super) claims: Vec<Claim>,
}

/// The layers of a group, whose text lies at `location` of part `text`; `ids` says which physical volume each part is.
pub(super) fn build(
    parts: &[Part<'_>],
    ids: &[String],
    text: usize,
    location: &Location,
    group: &Group,
) -> Assembly {
    let Some(part) = parts.get(text) else {
        return Assembly::default();
    };
    let by_id: BTreeMap<&str, usize> = ids
        .iter()
        .enumerate()
        .map(|(index, id)| (id.as_str(), index))
        .collect();
    let given = |id: &str| by_id.get(id).copied();
    let mut builder = Builder {
        group,
        parts,
        given: group.physical.iter().map(|pv| given(&pv.id)).collect(),
        window: part.window,
        location,
        states: vec![State::Waiting; group.logical.len()],
        nodes: Vec::new(),
        stores: BTreeSet::new(),
        claims: Vec::new(),
    };
    let mut snapshots = Vec::new();
    for (index, volume) in group.logical.iter().enumerate() {
        if let Some(segment) = group.only(index, "snapshot") {
            let store = ["cow_store", "merging_store"]
                .iter()
                .find_map(|key| group.named(segment, key));
            builder.stores.extend(store);
            snapshots.push((volume, segment, store));
        }
    }
    for (index, volume) in group.logical.iter().enumerate() {
        let is_root = volume.is_visible
            && group.only(index, "snapshot").is_none()
            && !builder.stores.contains(&index);
        if is_root {
            builder.build(index);
        }
    }
    for (volume, segment, store) in snapshots {
        builder.snapshot(volume, segment, store);
    }
    builder.overlaps();
    builder.limit();
    Assembly {
        nodes: builder.nodes,
    }
}

impl<'a> Builder<'a> {
    /// An entry of the text as evidence.
    pub(super) fn evidence(&self, entry: Entry) -> Source {
        let range = self.group.tree.place(entry);
        self.location.source(&self.window, range.start, range.len())
    }

    /// `value`, as an entry of the text says.
    pub(super) fn said<T>(&self, value: T, entry: Entry) -> Fact<T> {
        Fact {
            value,
            source: self.evidence(entry),
            trust: Trust::Recorded,
        }
    }

    pub(super) fn built(&self, logical: usize) -> Option<usize> {
        match self.states.get(logical) {
            Some(State::Built(node)) => *node,
            _ => None,
        }
    }

    /// The layer of the logical volume that an entry of a segment names.
    pub(super) fn under(&self, segment: &Segment, key: &str) -> Option<Below> {
        self.built(self.group.named(segment, key)?).map(Below::Node)
    }

    /// The logical volumes that must be there before this one.
    fn needs(&self, logical: &Logical) -> Vec<usize> {
        let tree = &self.group.tree;
        let mut out = BTreeSet::new();
        for segment in &logical.segments {
            let keys = [
                "pool",
                "metadata",
                "thin_pool",
                "data",
                "origin",
                "cache_pool",
                "writecache",
                "meta_dev",
                "vdo_pool",
            ];
            let named = |segment: &Segment, key: &&str| self.group.named(segment, key);
            // Where a thin snapshot came from is no part of it.
            let keys = keys
                .iter()
                .filter(|key| segment.kind != "thin" || **key == "thin_pool");
            out.extend(keys.clone().filter_map(|key| named(segment, key)));
            if segment.kind == "cache"
                && let Some(pool) = named(segment, &"cache_pool")
                && let Some(inner) = self.group.only(pool, "cache-pool")
            {
                // A cache uses the parts of its pool; the pool itself is nothing that has addresses.
                out.remove(&pool);
                out.extend(keys.filter_map(|key| named(inner, key)));
            }
            for key in ["stripes", "mirrors", "raids", "raid0_lvs"] {
                let Some(list) = tree.get(segment.section, key) else {
                    continue;
                };
                // Of pairs of images, the second holds data.
                let skip = usize::from(key == "raids");
                let elements = tree.children(list).skip(skip).step_by(skip + 1);
                out.extend(elements.filter_map(
                    |node| match self.group.find(&tree.string(node)?)? {
                        Lower::Logical(index) => Some(index),
                        Lower::Physical(_) => None,
                    },
                ));
            }
        }
        out.into_iter().collect()
    }

    /// Builds a logical volume and everything that it lies on, lowest first.
    fn build(&mut self, root: usize) {
        let mut open: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(index) = next.take()
                && self.states.get(index) == Some(&State::Waiting)
                && let Some(logical) = self.group.logical.get(index)
            {
                let needs = self.needs(logical);
                self.state(index, State::Open);
                open.push((index, needs.into_iter()));
            }
            let Some((index, needs)) = open.last_mut() else {
                return;
            };
            match needs.next() {
                Some(lower) => next = Some(lower),
                None => {
                    let index = *index;
                    open.pop();
                    let node = self.logical(index);
                    self.state(index, State::Built(node));
                }
            }
        }
    }

    fn state(&mut self, index: usize, state: State) {
        if let Some(slot) = self.states.get_mut(index) {
            *slot = state;
        }
    }

    fn push(&mut self, node: Node) -> Option<usize> {
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        self.nodes.push(node);
        Some(self.nodes.len() - 1)
    }

    /// Builds the layer of a logical volume; what it lies on is there.
    fn logical(&mut self, index: usize) -> Option<usize> {
        let logical = self.group.logical.get(index)?;
        let mut pieces: Vec<(&Segment, Piece)> = Vec::new();
        for segment in &logical.segments {
            let piece = self.piece(index, segment);
            pieces.push((segment, piece));
        }
        let is_store = self.stores.contains(&index);
        let suffix = if is_store { "-cow" } else { "" };
        let name = format!("{}/{}{suffix}", self.group.name, logical.name);
        let is_shown = logical.is_visible && !is_store;
        let mut node = match pieces.pop() {
            Some((segment, piece)) if pieces.is_empty() && segment.start == 0 => {
                self.single(&name, segment, piece)
            }
            Some(last) => {
                pieces.push(last);
                self.several(&name, pieces)
            }
            None => {
                let mut layer = Layer::new(LayerKind::Volume, name.clone());
                layer.map = nowhere();
                layer.anomalies.push(Anomaly::at(
                    AnomalyKind::Damaged,
                    "a logical volume without segments",
                    self.evidence(logical.section),
                ));
                Node {
                    layer,
                    below: Vec::new(),
                    holds: Holds::Nothing,
                }
            }
        };
        if !is_shown {
            node.holds = Holds::Nothing;
        }
        self.label(&mut node.layer, &logical.name, suffix);
        self.push(node)
    }

    /// What every logical volume is called.
    fn label(&self, layer: &mut Layer, name: &str, suffix: &str) {
        let mapped = format!("{}-{}{suffix}", doubled(&self.group.name), doubled(name));
        let derived =
            |text: String| Fact::derived(Value::Text(text.into()), "volume group and name");
        layer.set(Key::Label, derived(mapped));
        let group = Value::Text(self.group.name.clone().into());
        layer.set(Key::VolumeGroup, self.said(group, self.group.section));
    }

    /// A volume of one segment.
    fn single(&self, name: &str, segment: &Segment, piece: Piece) -> Node {
        let mut layer = Layer::new(piece.kind, name);
        layer.format = Some(piece.format.into());
        layer.set(
            Key::Target,
            Fact::derived(Value::Text(piece.format.into()), "the type of the segment"),
        );
        layer.size = piece.size.map(|size| self.length(size, segment));
        if let (Map::Linear { start }, Some(size)) = (&piece.map, piece.size) {
            layer.placement = Extent::new(*start, size).map(|extent| Fact {
                value: extent,
                source: piece.evidence.clone(),
                trust: Trust::Recorded,
            });
        }
        layer.map = piece.map;
        layer.grids = piece.grids;
        layer.attributes.extend(piece.attributes);
        layer.anomalies = piece.anomalies;
        let holds = if piece.is_readable {
            Holds::Volume
        } else {
            Holds::Nothing
        };
        if matches!(layer.map, Map::Linear { .. }) && piece.below.is_empty() {
            layer.map = nowhere();
        }
        Node {
            layer,
            below: piece.below,
            holds,
        }
    }

    /// The length of a segment, as the text says.
    fn length(&self, size: Bytes, segment: &Segment) -> Fact<Bytes> {
        match self.group.tree.get(segment.section, "extent_count") {
            Some(entry) => self.said(size, entry),
            None => Fact::derived(size, "its extents"),
        }
    }

    /// A volume of several segments: linear ones lie below directly, others are layers of their own.
    fn several(&mut self, name: &str, pieces: Vec<(&Segment, Piece)>) -> Node {
        let mut layer = Layer::new(LayerKind::Volume, name);
        let mut formats: Vec<&str> = Vec::new();
        let mut below: Vec<Below> = Vec::new();
        let mut index_of: BTreeMap<(u8, usize, String), usize> = BTreeMap::new();
        let mut runs = Vec::new();
        let (mut end, mut gap, mut is_readable) = (0, false, true);
        let mut evidence = None;
        for (number, (segment, mut piece)) in pieces.into_iter().enumerate() {
            if formats.last() != Some(&piece.format) {
                formats.push(piece.format);
            }
            is_readable &= piece.is_readable;
            gap |= segment.start != end;
            end = segment.start.saturating_add(segment.count);
            let upper = self.group.length(segment.start);
            let upper = upper
                .zip(piece.size)
                .and_then(|(start, size)| Extent::new(start, size));
            let Some(upper) = upper else {
                layer.anomalies.push(Anomaly::at(
                    AnomalyKind::Damaged,
                    format!("extents {} to {end} lie beyond any volume", segment.start),
                    piece.evidence,
                ));
                continue;
            };
            layer.anomalies.append(&mut piece.anomalies);
            let (target, lower, source) = match (&piece.map, piece.below.first()) {
                (Map::Linear { start }, Some(first)) => {
                    (Some(first.clone()), *start, piece.evidence.clone())
                }
                _ if piece.below.is_empty() => continue,
                _ => {
                    let source = piece.evidence.clone();
                    let inner =
                        self.single(&format!("{name} segment {}", number + 1), segment, piece);
                    let inner = Node {
                        holds: Holds::Nothing,
                        ..inner
                    };
                    (self.push(inner).map(Below::Node), Bytes::ZERO, source)
                }
            };
            let Some(target) = target else { continue };
            evidence.get_or_insert(source);
            let key = match &target {
                Below::Part(part) => (0, *part, String::new()),
                Below::Node(node) => (1, *node, String::new()),
                Below::Missing(id) => (2, 0, id.clone()),
            };
            let target = *index_of.entry(key).or_insert_with(|| {
                below.push(target);
                below.len() - 1
            });
            runs.push(Run {
                upper,
                target,
                lower,
            });
        }
        let format = formats.join("+");
        layer.set(
            Key::Target,
            Fact::derived(
                Value::Text(format.clone().into()),
                "the types of its segments",
            ),
        );
        layer.format = Some(format.into());
        layer.size = self
            .group
            .length(end)
            .map(|size| Fact::derived(size, "the sum of its segments"));
        match Map::segments(runs) {
            Some(Map::Segments(runs)) => layer.map = self.joined(runs, &mut layer, gap, evidence),
            _ => {
                layer.map = nowhere();
                is_readable = false;
                layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Damaged,
                    "two of its segments claim the same extents: where it lies is not known",
                ));
            }
        }
        if gap {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Damaged,
                "its segments do not follow each other: some of its extents lie nowhere",
            ));
        }
        Node {
            layer,
            below,
            holds: if is_readable {
                Holds::Volume
            } else {
                Holds::Nothing
            },
        }
    }

    /// Pieces that continue each other are one piece.
    fn joined(
        &self,
        runs: Vec<Run>,
        layer: &mut Layer,
        gap: bool,
        evidence: Option<Source>,
    ) -> Map {
        match (runs.as_slice(), evidence) {
            ([only], Some(source))
                if only.upper.start() == Bytes::ZERO && only.target == 0 && !gap =>
            {
                layer.placement = Extent::new(only.lower, only.upper.len()).map(|extent| Fact {
                    value: extent,
                    source,
                    trust: Trust::Recorded,
                });
                Map::Linear { start: only.lower }
            }
            _ => Map::Segments(runs),
        }
    }

    /// A snapshot: its addresses are those of its origin, but for what was copied.
    fn snapshot(&mut self, volume: &Logical, segment: &Segment, store: Option<usize>) {
        let Some(store) = store else { return };
        for lower in self
            .group
            .named(segment, "origin")
            .into_iter()
            .chain([store])
        {
            self.build(lower);
        }
        let Some(name) = self
            .group
            .logical
            .get(store)
            .map(|store| store.name.clone())
        else {
            return;
        };
        let mut layer = Layer::new(LayerKind::Volume, format!("{}/{name}", self.group.name));
        layer.format = Some("snapshot".into());
        layer.set(
            Key::Target,
            Fact::derived(Value::Text("snapshot".into()), "the type of the segment"),
        );
        let origin = self.under(segment, "origin");
        layer.map = if origin.is_some() {
            Map::IDENTITY
        } else {
            nowhere()
        };
        let size = self.group.length(segment.count);
        layer.size = size.map(|size| self.length(size, segment));
        if let Some(size) = size.filter(|_| origin.is_some()) {
            let extent = Extent::new(Bytes::ZERO, size);
            layer.placement =
                extent.map(|extent| Fact::derived(extent, "its addresses are those of its origin"));
        }
        let tree = &self.group.tree;
        if let Some(entry) = tree.get(segment.section, "chunk_size")
            && let Some(unit) = tree
                .value(entry)
                .and_then(|sectors| straddle_geometry::Unit::new(sectors.checked_mul(SECTOR)?))
        {
            let grid = self.said(straddle_geometry::Grid::new(unit), entry);
            layer.add_grid(straddle_stack::GridRole::ThinChunk, grid);
        }
        if origin.is_none() {
            layer.anomalies.push(Anomaly::at(
                AnomalyKind::Damaged,
                "a snapshot without its origin",
                self.evidence(volume.section),
            ));
        }
        self.label(&mut layer, &name, "");
        let below = origin
            .into_iter()
            .chain(self.built(store).map(Below::Node))
            .collect();
        self.push(Node {
            layer,
            below,
            holds: Holds::Nothing,
        });
    }

    /// Says so when there was no room for all.
    fn limit(&mut self) {
        if self.nodes.len() < MAX_NODES {
            return;
        }
        if let Some(first) = self.nodes.first_mut() {
            let detail = format!(
                "volume group {} makes more than {MAX_NODES} layers; the rest is not looked at",
                self.group.name
            );
            first
                .layer
                .anomalies
                .push(Anomaly::new(AnomalyKind::LimitReached, detail));
        }
    }
}

/// device-mapper doubles the hyphens of names.
fn doubled(name: &str) -> String {
    name.replace('-', "--")
}
