//! One segment of a logical volume, and what it lies on.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Grid, Map, Raid, RaidLayout, Striping, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Attribute, Fact, GridFact, GridRole, Key, LayerKind, Source, Value,
};

use super::group::{SECTOR, Segment};
use super::nodes::Builder;
use super::places::Area;
use super::shape::{self, Dealt};
use super::text::Node;
use crate::volume::Below;

/// Most columns or copies of one segment.
const MAX_COLUMNS: usize = 1 << 10;

/// One segment as a layer would have it.
pub(super) struct Piece {
    pub(super) kind: LayerKind,
    /// As device-mapper calls it.
    pub(super) format: &'static str,
    pub(super) map: Map,
    pub(super) below: Vec<Below>,
    pub(super) size: Option<Bytes>,
    pub(super) grids: Vec<GridFact>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) anomalies: Vec<Anomaly>,
    /// What is there can be read through the map.
    pub(super) is_readable: bool,
    /// Where it says where a linear piece starts below.
    pub(super) evidence: Source,
}

impl Piece {
    fn odd(&mut self, kind: AnomalyKind, detail: impl Into<String>) {
        let source = self.evidence.clone();
        self.anomalies.push(Anomaly::at(kind, detail, source));
    }

    fn grid(&mut self, role: GridRole, grid: Fact<Grid>) {
        self.grids.push(GridFact { role, grid });
    }

    fn set(&mut self, key: Key, value: Fact<Value>) {
        self.attributes.push(Attribute { key, value });
    }

    /// Address 0 is address 0 of the first of `below`.
    fn is_identity(&mut self, below: Vec<Option<Below>>) {
        let first = below.first().is_some_and(Option::is_some);
        self.below = below.into_iter().flatten().collect();
        if first {
            self.map = Map::IDENTITY;
            self.is_readable = true;
        }
    }
}

/// The map of what has no place below.
pub(super) fn nowhere() -> Map {
    Map::Segments(Vec::new())
}

impl Builder<'_> {
    /// Describes a segment of the logical volume `of`.
    pub(super) fn piece(&mut self, of: usize, segment: &Segment) -> Piece {
        let mut piece = Piece {
            kind: LayerKind::Volume,
            format: "",
            map: nowhere(),
            below: Vec::new(),
            size: self.group.length(segment.count),
            grids: Vec::new(),
            attributes: Vec::new(),
            anomalies: Vec::new(),
            is_readable: false,
            evidence: self.evidence(segment.section),
        };
        match segment.kind.as_str() {
            "striped" | "linear" => self.striped(&mut piece, of, segment),
            "mirror" => self.mirror(&mut piece, of, segment),
            "thin-pool" => {
                piece.format = "thin-pool";
                self.chunk(&mut piece, segment);
                let names = ["pool", "metadata"];
                piece.is_identity(names.map(|key| self.under(segment, key)).to_vec());
                piece.is_readable = false;
            }
            "thin" => {
                piece.format = "thin";
                let pool = self.group.named(segment, "thin_pool");
                let pool_segment = pool.and_then(|pool| self.group.only(pool, "thin-pool"));
                if let Some(pool) = pool_segment {
                    self.chunk(&mut piece, pool);
                }
                piece.below = self.under(segment, "thin_pool").into_iter().collect();
            }
            "cache" => self.cache(&mut piece, segment),
            "cache-pool" => {
                piece.format = "cache-pool";
                self.chunk(&mut piece, segment);
                let names = ["data", "metadata"];
                piece.is_identity(names.map(|key| self.under(segment, key)).to_vec());
                piece.is_readable = false;
            }
            "writecache" => {
                piece.format = "writecache";
                let tree = &self.group.tree;
                if let Some(node) = tree.get(segment.section, "writecache_block_size")
                    && let Some(size) = tree.value(node)
                {
                    let value = Value::Bytes(Bytes::new(size));
                    piece.set(Key::BlockSize, self.said(value, node));
                }
                let names = ["origin", "writecache"];
                piece.is_identity(names.map(|key| self.under(segment, key)).to_vec());
                piece.odd(
                    AnomalyKind::Pending,
                    "what the write cache holds has not reached the volume",
                );
            }
            "integrity" => {
                piece.format = "integrity";
                piece.kind = LayerKind::Encryption;
                let tree = &self.group.tree;
                if let Some(node) = tree.get(segment.section, "block_size")
                    && let Some(unit) = tree.value(node).and_then(Unit::new)
                {
                    let grid = self.said(Grid::new(unit), node);
                    piece.grid(GridRole::EncryptionSector, grid);
                }
                // Tags lie on a volume of their own, so that data lie as they would without.
                let names = ["origin", "meta_dev"];
                piece.is_identity(names.map(|key| self.under(segment, key)).to_vec());
            }
            "error" => piece.format = "error",
            "zero" => piece.format = "zero",
            "vdo" | "vdo-pool" => {
                let is_pool = segment.kind == "vdo-pool";
                let (format, key) = if is_pool {
                    ("vdo-pool", "data")
                } else {
                    ("vdo", "vdo_pool")
                };
                piece.format = format;
                piece.below = self.under(segment, key).into_iter().collect();
                piece.odd(
                    AnomalyKind::Missing,
                    "VDO compresses and deduplicates: its addresses have no regular place below",
                );
            }
            other => match shape::of(
                other,
                self.group.tree.number(segment.section, "data_copies"),
            ) {
                Some((dealt, name)) => self.raid(&mut piece, of, segment, dealt, name),
                None => {
                    piece.format = "unknown";
                    let detail = format!(
                        "how a segment of type `{other}` reaches the volumes below is not known here"
                    );
                    piece.odd(AnomalyKind::Missing, detail);
                }
            },
        }
        piece
    }

    /// The chunk size that a segment records.
    fn chunk(&self, piece: &mut Piece, segment: &Segment) -> bool {
        let tree = &self.group.tree;
        let Some(node) = tree.get(segment.section, "chunk_size") else {
            return false;
        };
        let unit = tree
            .value(node)
            .and_then(|sectors| Unit::new(sectors.checked_mul(SECTOR)?));
        if let Some(unit) = unit {
            piece.grid(GridRole::ThinChunk, self.said(Grid::new(unit), node));
        }
        unit.is_some()
    }

    fn cache(&self, piece: &mut Piece, segment: &Segment) {
        piece.format = "cache";
        let pool = self.group.named(segment, "cache_pool");
        let pool_segment = pool.and_then(|pool| self.group.only(pool, "cache-pool"));
        let mut below = vec![self.under(segment, "origin")];
        let settings = match pool_segment {
            Some(pool) => {
                below.extend(["data", "metadata"].map(|key| self.under(pool, key)));
                pool
            }
            None => {
                below.push(self.under(segment, "cache_pool"));
                segment
            }
        };
        if !self.chunk(piece, segment) {
            self.chunk(piece, settings);
        }
        piece.is_identity(below);
        let mode = self.group.tree.text(settings.section, "cache_mode");
        if mode.as_deref() == Some("writeback") {
            piece.odd(
                AnomalyKind::Pending,
                "what the write-back cache holds may not have reached the volume",
            );
        }
    }

    /// The areas that a list names: name and first extent in turn.
    fn areas(&self, piece: &mut Piece, segment: &Segment, key: &str) -> Vec<(Area, Node)> {
        let tree = &self.group.tree;
        let Some(list) = tree.get(segment.section, key) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut elements = tree.children(list);
        while let Some(name) = elements.next() {
            let Some(first) = elements.next() else { break };
            if out.len() >= MAX_COLUMNS {
                piece.odd(
                    AnomalyKind::LimitReached,
                    format!("more than {MAX_COLUMNS} columns"),
                );
                return Vec::new();
            }
            let text = tree.string(name).unwrap_or_default();
            out.push((
                Area {
                    lower: self.group.find(&text),
                    name: text,
                    first: tree.value(first).unwrap_or(u64::MAX),
                },
                first,
            ));
        }
        out
    }

    fn striped(&mut self, piece: &mut Piece, of: usize, segment: &Segment) {
        let tree = &self.group.tree;
        let areas = self.areas(piece, segment, "stripes");
        let columns = u64::try_from(areas.len()).unwrap_or(u64::MAX);
        piece.format = if columns > 1 { "striped" } else { "linear" };
        let claimed = tree.number(segment.section, "stripe_count").unwrap_or(1);
        if columns == 0 || claimed != columns {
            piece.odd(
                AnomalyKind::Damaged,
                format!(
                    "a segment of {claimed} stripes lists {columns}: where it lies is not known"
                ),
            );
            return;
        }
        if !segment.count.is_multiple_of(columns) {
            piece.odd(
                AnomalyKind::Damaged,
                format!(
                    "{} extents do not divide into {columns} stripes",
                    segment.count
                ),
            );
        }
        let mut starts = Vec::new();
        for (area, node) in &areas {
            let place = self.place(piece, of, area, segment.count.div_ceil(columns));
            let Some((below, start)) = place else { return };
            piece.below.push(below);
            starts.push(start);
            if columns == 1 {
                piece.evidence = self.evidence(*node);
                piece.map = Map::Linear { start };
                piece.is_readable = true;
                return;
            }
        }
        piece.kind = LayerKind::Array;
        let Some((unit, node)) = self.stripe(piece, segment) else {
            return;
        };
        piece.grid(GridRole::StripeUnit, self.said(Grid::new(unit), node));
        if let Some(node) = tree.get(segment.section, "stripe_count") {
            piece.set(Key::DataMembers, self.said(Value::Count(columns), node));
        }
        piece.map = Map::Striped(Striping { unit, starts });
        piece.is_readable = true;
    }

    /// The stripe unit of a segment, and where it says so.
    fn stripe(&self, piece: &mut Piece, segment: &Segment) -> Option<(Unit, Node)> {
        let tree = &self.group.tree;
        let node = tree.get(segment.section, "stripe_size");
        let unit = node.and_then(|node| Unit::new(tree.value(node)?.checked_mul(SECTOR)?));
        if unit.is_none() {
            piece.odd(
                AnomalyKind::Damaged,
                "a striped segment without the size of its stripes",
            );
        }
        unit.zip(node)
    }

    fn mirror(&mut self, piece: &mut Piece, of: usize, segment: &Segment) {
        piece.format = "mirror";
        let areas = self.areas(piece, segment, "mirrors");
        let mut starts = Vec::new();
        for (area, _) in &areas {
            let place = self.place(piece, of, area, segment.count);
            let Some((below, start)) = place else { return };
            piece.below.push(below);
            starts.push(start);
        }
        let Some(unit) = self.group.extent.filter(|_| !starts.is_empty()) else {
            return;
        };
        let layout = RaidLayout::Mirror;
        piece.map = Map::Raid(Raid {
            layout,
            unit,
            starts,
        });
        piece.is_readable = true;
    }

    fn raid(
        &mut self,
        piece: &mut Piece,
        of: usize,
        segment: &Segment,
        dealt: Dealt,
        name: &'static str,
    ) {
        piece.format = "raid";
        piece.kind = LayerKind::Array;
        let images = self.images(piece, segment);
        let count = u64::try_from(images.len()).unwrap_or(u64::MAX);
        if let Some(node) = self.group.tree.get(segment.section, "type") {
            piece.set(
                Key::Level,
                self.said(Value::Text(Cow::Borrowed(name)), node),
            );
        }
        if let Some(node) = ["device_count", "stripe_count"]
            .iter()
            .find_map(|key| self.group.tree.get(segment.section, key))
        {
            piece.set(Key::Members, self.said(Value::Count(count), node));
        }
        if images.is_empty() {
            piece.odd(AnomalyKind::Damaged, "an array without images");
            return;
        }
        let unit = match dealt {
            // A mirror has no stripes: any unit will do.
            Dealt::Redundant(RaidLayout::Mirror) => {
                self.group.extent.map(|unit| (unit, segment.section))
            }
            _ => self.stripe(piece, segment),
        };
        let Some((unit, node)) = unit else { return };
        let mut array = Raid {
            layout: RaidLayout::Mirror,
            unit,
            starts: vec![Bytes::ZERO; images.len()],
        };
        let data = match dealt {
            Dealt::Striped => Some(count),
            Dealt::Redundant(layout) => {
                array.layout = layout;
                array
                    .data_columns()
                    .and_then(|data| u64::try_from(data).ok())
            }
        };
        if !matches!(dealt, Dealt::Redundant(RaidLayout::Mirror)) {
            self.stripes(piece, &array, dealt, (unit, node), data);
        }
        // Copies that share no row are spread evenly all the same.
        let per_image = match (data, dealt) {
            (Some(data), _) => segment.count.checked_div(data),
            (None, Dealt::Redundant(RaidLayout::Copies(copies))) => {
                let near = u64::try_from(copies.near).unwrap_or(1);
                segment
                    .count
                    .checked_mul(near)
                    .map(|all| all.div_ceil(count))
            }
            _ => None,
        };
        let Some(per_image) = per_image else {
            piece.odd(AnomalyKind::Damaged, format!("{name} of {count} images"));
            return;
        };
        let spare = self
            .group
            .tree
            .number(segment.section, "reshape_count")
            .unwrap_or(0);
        if spare > 0 {
            let data = data.unwrap_or(1);
            let used = spare
                .checked_mul(data)
                .and_then(|spare| segment.count.checked_sub(spare));
            piece.size = used.and_then(|used| self.group.length(used));
        }
        for (index, (image, _)) in images.iter().enumerate() {
            let place = self.place(piece, of, image, per_image);
            let Some((below, start)) = place else { return };
            piece.below.push(below);
            if let Some(slot) = array.starts.get_mut(index) {
                *slot = start;
            }
        }
        if spare > 0 && !self.room_for_reshaping(piece, segment, &images, &mut array) {
            return;
        }
        piece.map = match dealt {
            Dealt::Striped => Map::Striped(Striping {
                unit,
                starts: array.starts,
            }),
            Dealt::Redundant(_) => Map::Raid(array),
        };
        piece.is_readable = true;
    }

    fn stripes(
        &self,
        piece: &mut Piece,
        array: &Raid,
        dealt: Dealt,
        (unit, node): (Unit, Node),
        data: Option<u64>,
    ) {
        piece.grid(GridRole::StripeUnit, self.said(Grid::new(unit), node));
        if let Dealt::Redundant(layout) = dealt {
            let name = Value::Text(layout.name());
            piece.set(Key::Layout, Fact::derived(name, "the type of the segment"));
        }
        let Some(data) = data else { return };
        let count = array.columns();
        let from = format!("{data} of {count} images");
        piece.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
        let parity = matches!(
            dealt,
            Dealt::Redundant(RaidLayout::Parity(_) | RaidLayout::DoubleParity(_))
        );
        if let Some(full) = unit.checked_mul(data).filter(|_| parity) {
            let from = format!("{data} data members × {} B", unit.bytes().grouped());
            piece.grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
        }
    }

    /// The images of an array, each with its metadata image where it has one.
    fn images(&self, piece: &mut Piece, segment: &Segment) -> Vec<(Area, Option<usize>)> {
        let tree = &self.group.tree;
        let plain = tree.get(segment.section, "raid0_lvs");
        let Some(list) = plain.or_else(|| tree.get(segment.section, "raids")) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut elements = tree.children(list);
        while let Some(first) = elements.next() {
            if out.len() >= MAX_COLUMNS {
                piece.odd(
                    AnomalyKind::LimitReached,
                    format!("more than {MAX_COLUMNS} images"),
                );
                return Vec::new();
            }
            let (meta, data) = match plain {
                Some(_) => (None, Some(first)),
                None => (Some(first), elements.next()),
            };
            let meta = meta.and_then(|node| self.group.find_logical(&tree.string(node)?));
            let name = data.and_then(|node| tree.string(node)).unwrap_or_default();
            let lower = self.group.find(&name);
            out.push((
                Area {
                    lower,
                    name,
                    first: 0,
                },
                meta,
            ));
        }
        out
    }

    /// Adds to the starts what images leave free for reshaping, which only the superblocks on the metadata images tell.
    /// False when the array has no one geometry now.
    fn room_for_reshaping(
        &self,
        piece: &mut Piece,
        segment: &Segment,
        images: &[(Area, Option<usize>)],
        array: &mut Raid,
    ) -> bool {
        let known = images
            .iter()
            .find_map(|(_, meta)| self.superblock((*meta)?));
        let Some(known) = known else {
            piece.odd(
                AnomalyKind::Missing,
                "its images have room for reshaping, and whether data start before or behind it is said only by metadata images that were not given or cannot be read",
            );
            return false;
        };
        if let Some(reshaped) = known.reshaped {
            let detail = format!(
                "it is being reshaped, and has come to byte {}: until that is done, part of it has another geometry",
                reshaped.value.grouped()
            );
            piece.anomalies.push(Anomaly::at(
                AnomalyKind::Reshaping,
                detail,
                reshaped.source.clone(),
            ));
            let position = reshaped.map(Value::Bytes);
            piece.set(Key::ReshapePosition, position);
            return false;
        }
        let Some(offset) = known.start else {
            return false;
        };
        let room = self.group.tree.number(segment.section, "reshape_count");
        let room = room.and_then(|extents| self.group.length(extents));
        if room.is_none_or(|room| offset.value > room) {
            piece.anomalies.push(Anomaly::at(
                AnomalyKind::Damaged,
                format!(
                    "data at byte {} of images that leave less room",
                    offset.value.grouped()
                ),
                offset.source.clone(),
            ));
            return false;
        }
        for start in &mut array.starts {
            *start = start.checked_add(offset.value).unwrap_or(Bytes::MAX);
        }
        piece.set(Key::DataOffset, offset.map(Value::Bytes));
        true
    }
}
