//! An array between two geometries.
//!
//! Source: Linux `drivers/md/raid5.c` and `raid10.c`: addresses before the recorded position have the new geometry, or the
//! old one when it goes from the end to the start; `new_offset` of a superblock belongs to the new geometry.

use straddle_geometry::{Bytes, Extent, Map, Segment};
use straddle_stack::{AnomalyKind, Fact, Key, Layer, LayerKind, Value};

use super::assemble::{Builder, Geometry};
use super::superblock::{MAX_MEMBERS, Superblock};
use crate::volume::{Assembly, Below, Holds, Node};

impl Builder<'_, '_> {
    /// Up to where it has come the one geometry holds, from there on the other.
    pub(super) fn reshaping(mut self, here: &Geometry) -> Assembly {
        let places = self.sb().places;
        let Some(reshape) = self.sb().reshape else {
            return self.done(Vec::new());
        };
        self.say(
            Key::ReshapePosition,
            Value::Bytes(reshape.position),
            places.reshape,
        );
        let before = i64::try_from(here.disks)
            .ok()
            .and_then(|disks| disks.checked_sub(i64::from(reshape.delta)))
            .and_then(|disks| usize::try_from(disks).ok())
            .filter(|disks| {
                *disks > 0 && u32::try_from(*disks).is_ok_and(|disks| disks <= MAX_MEMBERS)
            });
        let Some(before) = before else {
            let detail = format!(
                "{} members, {:+} by the reshape: there were none before",
                here.disks, reshape.delta
            );
            self.odd(AnomalyKind::Damaged, detail, places.disks);
            self.layer.map = Map::Segments(Vec::new());
            return self.done(Vec::new());
        };
        let old = Geometry {
            disks: before,
            ..*here
        };
        let new = Geometry {
            level: reshape.level,
            layout: reshape.layout,
            chunk: reshape.chunk,
            disks: here.disks,
        };
        let detail = format!(
            "reshaping: {} over {} members with chunks of {} B becomes {} over {} members with chunks of {} B; it has come to byte {}",
            Superblock::level_name(old.level),
            old.disks,
            old.chunk.grouped(),
            Superblock::level_name(new.level),
            new.disks,
            new.chunk.grouped(),
            reshape.position.grouped(),
        );
        self.odd(AnomalyKind::Reshaping, detail, places.reshape);
        self.say_offsets();
        self.layer.map = Map::Segments(Vec::new());
        let old_columns = self.columns(old.disks, |sb| sb.data_offset);
        let new_columns = self.columns(new.disks, |sb| {
            let reshape = sb.reshape.and_then(|reshape| reshape.data_offset);
            reshape.unwrap_or(sb.data_offset)
        });
        let all = new_columns.0.clone();
        let old_dealt = self.dealt(&old, old_columns.1);
        let new_dealt = self.dealt(&new, new_columns.1);
        let (Some((old_map, old_size)), Some((new_map, new_size))) = (old_dealt, new_dealt) else {
            return self.done(all);
        };
        let size = old_size.min(new_size);
        let to = reshape.position.min(size);
        let head = Extent::new(Bytes::ZERO, to);
        let tail = size.checked_sub(to).and_then(|len| Extent::new(to, len));
        let (Some(head), Some(tail)) = (head, tail) else {
            return self.done(all);
        };
        let name = self.layer.name.clone();
        let node = |when: &str, map: Map, size: Bytes, below: Vec<Below>| {
            let mut layer = Layer::new(LayerKind::Array, format!("{name}, {when} its reshape"));
            layer.map = map;
            layer.size = Some(Fact::derived(size, "of each member × members with data"));
            Node {
                layer,
                below,
                holds: Holds::Nothing,
            }
        };
        self.nodes
            .push(node("before", old_map, old_size, old_columns.0));
        self.nodes
            .push(node("after", new_map, new_size, new_columns.0));
        let (of_head, of_tail) = if reshape.backwards { (0, 1) } else { (1, 0) };
        let segment = |upper: Extent, target: usize| Segment {
            upper,
            target,
            lower: upper.start(),
        };
        let segments = vec![segment(head, of_head), segment(tail, of_tail)];
        self.layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
        self.layer.size = Some(Fact::derived(size, "the smaller of the two geometries"));
        self.done(vec![Below::Node(0), Below::Node(1)])
    }
}
