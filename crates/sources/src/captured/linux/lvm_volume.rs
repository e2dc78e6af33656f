//! Logical volumes: rows of a report, a row for each segment, as things.

use std::collections::HashMap;
use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};

use super::lvm::{Units, extent_size, grid, named_group};
use crate::captured::number;
use crate::captured::records::Record;
use crate::captured::tool::Notes;
use crate::inventory::{Extents, Name, Piece, Placing, Raid, RaidMember, Space, Thing};
use crate::raid::{Shape, add_stripes};

/// Most columns of one segment.
const MAX_COLUMNS: usize = 1 << 10;

/// Notes the volumes in `rows`; `segments` are those of a full report, which know their volume by its UUID.
pub(super) fn volumes(
    rows: &[Record<'_>],
    segments: &[Record<'_>],
    group: Option<&str>,
    units: Units,
    notes: &mut Notes<'_>,
) {
    let mut by_uuid: HashMap<&str, Vec<&Record<'_>>> = HashMap::new();
    for segment in segments {
        if let Some(uuid) = segment.filled("lv_uuid") {
            by_uuid.entry(&uuid.value).or_default().push(segment);
        }
    }
    let mut at = 0;
    while at < rows.len() {
        // Segments of one volume follow each other.
        let same = |row: &&Record<'_>| {
            let value = |row: &Record<'_>, key| row.filled(key).map(|f| f.value.to_string());
            ["lv_name", "vg_name", "lv_uuid"]
                .iter()
                .all(|key| value(row, key) == value(&rows[at], key))
        };
        let many = rows[at..].iter().take_while(same).count().max(1);
        let own: Vec<&Record<'_>> = rows[at..at + many].iter().collect();
        let uuid = rows[at].filled("lv_uuid").map(|field| &*field.value);
        let theirs = uuid.and_then(|uuid| by_uuid.remove(uuid));
        let segments = theirs.unwrap_or(own);
        volume(&rows[at], &segments, group, units, notes);
        at += many;
    }
}

/// `vg-data` and `lv` make the device-mapper name `vg--data-lv`.
pub(super) fn mapper_name(group: &str, volume: &str) -> String {
    format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--"))
}

fn volume(
    row: &Record<'_>,
    segments: &[&Record<'_>],
    group: Option<&str>,
    units: Units,
    notes: &mut Notes<'_>,
) {
    let Some(field) = row.filled("lv_name") else {
        return;
    };
    // Internal volumes stand in brackets.
    let name = field.value.trim_matches(['[', ']']).to_owned();
    let full = row.filled("lv_full_name").or(row.filled("lv_path"));
    let from_path = full.and_then(|f| {
        let path = f.value.trim_start_matches("/dev/");
        path.split_once('/').map(|(group, _)| group.to_owned())
    });
    let group = named_group(
        row.filled("vg_name"),
        group.or(from_path.as_deref()),
        &field.line,
    );
    let Some((group, group_line)) = group else {
        return;
    };
    let title = format!("{group}/{name}");
    let mapped = mapper_name(&group, &name);
    let mut thing = Thing::new(
        LayerKind::Volume,
        title.clone(),
        Name::new(Space::LogicalVolume, title.clone()),
    )
    .named(Name::new(Space::Device, format!("mapper/{mapped}")))
    .named(Name::new(Space::Device, title));
    if let Some(uuid) = row.filled("lv_uuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.value.to_string()));
    }
    if let Some((minor, _)) = row.number("lv_kernel_minor") {
        thing = thing.named(Name::new(Space::Device, format!("dm-{minor}")));
    }
    thing.set_text(Key::Label, notes.said(&field.line, mapped));
    thing.set_text(Key::VolumeGroup, notes.said(&group_line, group.clone()));
    thing.size = units.size(row, "lv_size", notes);
    if let Some(size) = extent_size(row, units, notes) {
        thing.set(Key::ExtentSize, size.map(Value::Bytes));
    }
    let context = Volume {
        row,
        group: &group,
        units,
    };
    context.place(&mut thing, segments, notes);
    notes.add(thing);
}

/// A column of a segment: what it lies on, from which extent, and how many.
struct Column {
    on: Name,
    first: u64,
    len: Option<u64>,
}

struct Volume<'r, 't> {
    row: &'r Record<'t>,
    group: &'r str,
    units: Units,
}

impl Volume<'_, '_> {
    /// What a report calls `/dev/sda2` or, inside the group, `pool_tdata`.
    fn below(&self, text: &str) -> Name {
        let text = text.trim_matches(['[', ']']);
        if text.starts_with("/dev/") || text == "unknown" || text == "unknown device" {
            Name::new(Space::Device, text.to_owned())
        } else {
            Name::new(Space::LogicalVolume, format!("{}/{text}", self.group))
        }
    }

    /// `/dev/md0:0-5 /dev/md10:0-5`, or `/dev/md0(0),/dev/md10(0)`.
    fn columns(&self, segment: &Record<'_>) -> Vec<Column> {
        let range = |text: &str| {
            let (device, range) = text.rsplit_once(':')?;
            let (first, last) = range.split_once('-')?;
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            Some(Column {
                on: self.below(device),
                first,
                len: last.checked_sub(first)?.checked_add(1),
            })
        };
        let device = |text: &str| {
            let (device, first) = text.strip_suffix(')')?.rsplit_once('(')?;
            Some(Column {
                on: self.below(device),
                first: first.parse().ok()?,
                len: None,
            })
        };
        let words = |key: &str| -> Vec<String> {
            let text = segment.filled(key).map(|field| field.value.to_string());
            let text = text.unwrap_or_default();
            let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
            parts.take(MAX_COLUMNS).map(str::to_owned).collect()
        };
        let ranges: Option<Vec<Column>> = words("seg_pe_ranges").iter().map(|t| range(t)).collect();
        match ranges {
            Some(ranges) if !ranges.is_empty() => ranges,
            _ => words("devices").iter().filter_map(|t| device(t)).collect(),
        }
    }

    /// The kind of a segment; where it was not asked for, what the attributes and the number of devices tell.
    fn kind(&self, segment: &Record<'_>, columns: &[Column]) -> String {
        if let Some(kind) = segment.filled("segtype") {
            return kind.value.to_string();
        }
        let attributes = self.row.filled("lv_attr").map(|f| f.value.as_ref());
        let kind = match attributes.and_then(|text| text.chars().next()) {
            Some('t') => "thin-pool",
            Some('V') => "thin",
            Some('r' | 'R') => "raid",
            Some('m' | 'M') => "mirror",
            Some('s' | 'S') => "snapshot",
            Some('C') => "cache",
            _ if columns.len() > 1 => "striped",
            _ if columns
                .first()
                .is_some_and(|c| c.on.text.ends_with("_tdata")) =>
            {
                "thin-pool"
            }
            _ if columns.is_empty() => "",
            _ => "linear",
        };
        kind.to_owned()
    }

    fn place(&self, thing: &mut Thing, segments: &[&Record<'_>], notes: &mut Notes<'_>) {
        let columns: Vec<Vec<Column>> = segments.iter().map(|row| self.columns(row)).collect();
        let (Some(first), Some(first_columns)) = (segments.first(), columns.first()) else {
            return;
        };
        let kind = self.kind(first, first_columns);
        let line = first
            .filled("segtype")
            .or(first.filled("seg_pe_ranges"))
            .or(first.filled("devices"))
            .or(self.row.filled("lv_name"))
            .map(|field| field.line);
        let Some(line) = line else { return };
        let level = kind.split('_').next().unwrap_or("").to_owned();
        let is_raid = level.starts_with("raid") && level.len() > 4;
        let target = if level.starts_with("raid") {
            "raid"
        } else {
            &kind
        };
        if !target.is_empty() {
            thing.format = Some(notes.said(&line, target.to_owned().into()));
            thing.set_text(Key::Target, notes.said(&line, target.to_owned()));
        }
        thing.on = columns.iter().flatten().map(|c| c.on.clone()).collect();
        thing.on.dedup();
        thing.placing = Placing::Unknown;
        let stripe = self.units.unit(first, "stripe_size", notes);
        let chunk = self.units.unit(first, "chunk_size", notes);
        let single = segments.len() == 1;
        let striped = kind == "striped" && first_columns.len() > 1;
        match kind.as_str() {
            _ if is_raid => {
                thing.kind = LayerKind::Array;
                let count = u64::try_from(first_columns.len()).unwrap_or(u64::MAX);
                let raid = Raid {
                    layout: (level == "raid10").then_some(0x102),
                    level,
                    count,
                    chunk: stripe,
                    moving: false,
                    members: first_columns.iter().enumerate().map(image).collect(),
                };
                set_raid(thing, raid, &line, notes);
            }
            "striped" if striped && single => {
                thing.kind = LayerKind::Array;
                grid(thing, GridRole::StripeUnit, stripe.as_ref());
                let count = u64::try_from(first_columns.len()).unwrap_or(u64::MAX);
                thing.set(Key::DataMembers, notes.said(&line, Value::Count(count)));
                if let Some(unit) = stripe {
                    let pieces = pieces(&columns);
                    set_extents(thing, Some(unit.value), pieces, notes.source(&line));
                }
            }
            "linear" | "striped" if columns.iter().all(|columns| columns.len() == 1) => {
                let mut pieces = pieces(&columns);
                for (piece, row) in pieces.iter_mut().zip(segments) {
                    let number = |key| row.filled(key).and_then(|f| number::whole(&f.value));
                    piece.at = number("seg_start_pe").unwrap_or(piece.at);
                    piece.len = piece.len.or(number("seg_size_pe"));
                }
                set_extents(thing, None, pieces, notes.source(&line));
            }
            "linear" | "striped" => thing.remarks.push(Anomaly::at(
                AnomalyKind::Missing,
                "where its striped parts lie below is not known",
                notes.source(&line),
            )),
            "thin" => {
                if let Some(pool) = self.row.filled("pool_lv").or(first.filled("pool_lv")) {
                    thing.on = vec![self.below(&pool.value)];
                }
                thing.placing = Placing::Chunks;
            }
            "thin-pool" | "cache" | "snapshot" | "writecache" | "mirror" => {
                if let Some(metadata) = self.row.filled("metadata_lv") {
                    thing.on.push(self.below(&metadata.value));
                }
                grid(
                    thing,
                    GridRole::ThinChunk,
                    chunk.as_ref().filter(|_| kind != "mirror"),
                );
                if kind == "snapshot"
                    && let Some(origin) = self.row.filled("origin")
                {
                    thing.on = vec![self.below(&origin.value)];
                }
                thing.placing = Placing::Linear;
            }
            _ => {}
        }
    }
}

/// Data of an image starts where the image starts.
fn image((slot, column): (usize, &Column)) -> RaidMember {
    RaidMember {
        name: column.on.clone(),
        slot: Some(slot),
        start: Some(Fact::derived(
            Bytes::ZERO,
            "images of LVM keep their metadata elsewhere",
        )),
        size: None,
    }
}

fn set_raid(
    thing: &mut Thing,
    raid: Raid,
    line: &crate::captured::text::Line<'_>,
    notes: &Notes<'_>,
) {
    let level = Value::Text(raid.level.clone().into());
    thing.set(Key::Level, notes.said(line, level));
    thing.set(Key::Members, notes.said(line, Value::Count(raid.count)));
    if let Some(chunk) = &raid.chunk {
        let shape = Shape::of(&raid.level, raid.layout, raid.count);
        let mut layer = Layer::new(LayerKind::Array, "");
        add_stripes(&mut layer, shape, chunk, raid.count);
        thing.grids.append(&mut layer.grids);
        thing.attributes.append(&mut layer.attributes);
    }
    thing.placing = Placing::Raid(Box::new(raid));
}

/// Segments one after the other; a striped one is a piece for each column.
fn pieces(columns: &[Vec<Column>]) -> Vec<Piece> {
    let mut at = 0_u64;
    let mut out = Vec::new();
    for column in columns.iter().flatten() {
        out.push(Piece {
            at,
            len: column.len,
            on: column.on.clone(),
            first: column.first,
        });
        at = at.saturating_add(column.len.unwrap_or(0));
    }
    out
}

fn set_extents(
    thing: &mut Thing,
    unit: Option<Unit>,
    pieces: Vec<Piece>,
    source: straddle_stack::Source,
) {
    thing.on = pieces.iter().map(|piece| piece.on.clone()).collect();
    thing.placing = Placing::Extents(Box::new(Extents {
        unit,
        pieces,
        source,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_are_doubled_in_the_names_of_device_mapper() {
        assert_eq!(mapper_name("vg-data", "lin-ear"), "vg--data-lin--ear");
        assert_eq!(mapper_name("vg", "pool_tdata"), "vg-pool_tdata");
    }
}
