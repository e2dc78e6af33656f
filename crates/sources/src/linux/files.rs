//! Files on mounted filesystems, through their extents.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Extent, Grid, Map, Segment, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerId, LayerKind, Stack, Value};

use super::Root;
use super::answer::{NoAnswer, Question};
use super::extents::extent;
use super::host::{Host, nowhere};
use super::words::{device_number, word};
use crate::contents::MAX_LAYERS;
use crate::part::part_of;
use crate::{Settings, SourceError};

/// Most lines of extents that a captured answer may have.
const MAX_EXTENTS: usize = 1 << 20;

/// `FIEMAP_EXTENT_*` flags, Linux `include/uapi/linux/fiemap.h`.
mod flag {
    pub(super) const UNKNOWN: u32 = 0x2;
    pub(super) const DELALLOC: u32 = 0x4;
    pub(super) const ENCODED: u32 = 0x8;
    pub(super) const DATA_ENCRYPTED: u32 = 0x80;
    pub(super) const NOT_ALIGNED: u32 = 0x100;
    pub(super) const DATA_INLINE: u32 = 0x200;
    pub(super) const DATA_TAIL: u32 = 0x400;
}

/// See [`super::file`].
pub(super) fn file(root: &Root, path: &str, settings: &Settings) -> Result<Stack, SourceError> {
    let overrides = &settings.overrides;
    let question = Question::Stat(path.to_owned());
    let stat = root.answer(&question).map_err(|error| SourceError::File {
        path: path.to_owned(),
        detail: error.why().to_owned(),
    })?;
    let mut host = Host::read(root, overrides)?;
    host.build_all();
    if let Some(number) = word(&stat, "rdev").and_then(device_number) {
        let layer = host
            .name_of(number)
            .map(str::to_owned)
            .and_then(|name| host.device(&name));
        let Some(id) = layer else {
            return Err(SourceError::File {
                path: path.to_owned(),
                detail: "it is a block device that sysfs does not list".into(),
            });
        };
        let mut stack = part_of(&host.into_stack(), id);
        stack.survey(&settings.io);
        return Ok(stack);
    }
    let id = host.file_layer(path);
    let layer = host.stack.layer(id);
    if settings.only_when_followed && layer.map == nowhere() {
        return Err(SourceError::NotFollowed {
            path: path.to_owned(),
        });
    }
    if layer.below.is_empty() {
        crate::sectors::assume_sectors(&mut host.stack, id);
        overrides.apply(host.stack.layer_mut(id));
    }
    host.add_file_contents(id, path, settings)?;
    let mut stack = part_of(&host.into_stack(), id);
    stack.survey(&settings.io);
    Ok(stack)
}

impl Host<'_> {
    /// The layer of a file, on the filesystem it lies on; on nothing, with an anomaly, where that is not known.
    pub(super) fn file_layer(&mut self, path: &str) -> LayerId {
        let mut layer = Layer::new(LayerKind::File, path);
        layer.map = nowhere();
        let stat = Question::Stat(path.to_owned());
        match self.root.answer(&stat) {
            Ok(text) if self.stack.layers().len() < MAX_LAYERS => {
                self.describe_file(&mut layer, path, &stat, &text);
            }
            Ok(_) => {}
            Err(error) => missing(&mut layer, "its place", &error),
        }
        self.push(layer)
    }

    fn describe_file(&mut self, layer: &mut Layer, path: &str, stat: &Question, text: &str) {
        let number = |key| word(text, key).and_then(|n| n.parse().ok()).map(Bytes::new);
        let answered = |value| Fact::answered(value, stat.call(), text);
        if let Some(size) = number("size") {
            layer.size = Some(Fact::answered(size, stat.call(), text));
        }
        for (key, name) in [
            (Key::DioMemoryAlignment, "dio_mem_align"),
            (Key::DioOffsetAlignment, "dio_offset_align"),
        ] {
            if let Some(bytes) = number(name) {
                layer.set(key, answered(Value::Bytes(bytes)));
            }
        }
        let real = text.split_once(" path=").map_or(path, |(_, real)| real);
        let device = word(text, "dev").and_then(device_number);
        let Some(filesystem) = device.and_then(|device| self.filesystem_of(device, real)) else {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                "it lies on no block device that is known here (a memory, network or layered filesystem), so nothing below it can be checked",
            ));
            return;
        };
        layer.below = vec![filesystem.layer];
        if !filesystem.addresses_are_physical {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                format!(
                    "extents on {} are addresses inside its own pool of devices; where they lie on a disk takes its chunk tree, which is not read",
                    filesystem.format
                ),
            ));
            return;
        }
        let extents = Question::Extents(path.to_owned());
        match self.root.answer(&extents) {
            Ok(text) => add_extents(layer, &extents, &text),
            Err(error) => missing(layer, "where its extents lie", &error),
        }
    }
}

fn missing(layer: &mut Layer, what: &str, error: &NoAnswer) {
    let detail = format!("{what} is not known: {}", error.why());
    layer
        .anomalies
        .push(Anomaly::new(AnomalyKind::Missing, detail));
}

/// What the flags of the extents that have no place say.
#[derive(Default)]
struct Left {
    waiting: u64,
    encoded: u64,
    packed: u64,
}

fn add_extents(layer: &mut Layer, question: &Question, text: &str) {
    let mut segments = Vec::new();
    let mut left = Left::default();
    let mut count = 0_u64;
    let mut mapped = Bytes::ZERO;
    for line in text.lines().take(MAX_EXTENTS) {
        if line == "incomplete" {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::LimitReached,
                "it has more extents than are read",
            ));
            break;
        }
        let Some((upper, lower, flags)) = extent(line) else {
            continue;
        };
        count += 1;
        let len = upper.len().get();
        if flags & (flag::DATA_INLINE | flag::DATA_TAIL | flag::NOT_ALIGNED) != 0 {
            left.packed = left.packed.saturating_add(len);
        } else if flags & (flag::DELALLOC | flag::UNKNOWN) != 0 {
            left.waiting = left.waiting.saturating_add(len);
        } else if flags & (flag::ENCODED | flag::DATA_ENCRYPTED) != 0 {
            left.encoded = left.encoded.saturating_add(len);
        } else {
            mapped = mapped.checked_add(upper.len()).unwrap_or(Bytes::MAX);
            segments.push(Segment {
                upper,
                target: 0,
                lower,
            });
        }
    }
    let first = text.lines().next().unwrap_or("");
    let summary = if count > 1 {
        format!("{first}; and {} more", count - 1)
    } else {
        first.to_owned()
    };
    let fact = |value| Fact::answered(value, question.call(), summary.clone());
    layer.set(Key::Extents, fact(Value::Count(count)));
    layer.set(Key::MappedBytes, fact(Value::Bytes(mapped)));
    for (bytes, what) in [
        (
            left.waiting,
            "are still in memory and have no place yet; `sync` gives them one",
        ),
        (
            left.encoded,
            "are compressed or encrypted by the filesystem, so their place says nothing about requests",
        ),
        (left.packed, "are packed into metadata"),
    ] {
        if bytes > 0 {
            let bytes = Bytes::new(bytes).grouped();
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                format!("{bytes} bytes {what}"),
            ));
        }
    }
    if left.encoded > 0 {
        layer.set(
            Key::Compression,
            fact(Value::Text(Cow::Borrowed("by the filesystem"))),
        );
    }
    layer.placement = match segments.as_slice() {
        [only] if only.upper.start() == Bytes::ZERO => {
            Extent::new(only.lower, only.upper.len()).map(|extent| fact_of(extent, &fact))
        }
        _ => None,
    };
    match Map::segments(segments) {
        Some(map) => layer.map = map,
        None => layer.anomalies.push(Anomaly::new(
            AnomalyKind::Damaged,
            "two of its extents claim the same bytes of the file",
        )),
    }
}

/// The provenance of `fact` for an extent.
fn fact_of(extent: Extent, fact: &impl Fn(Value) -> Fact<Value>) -> Fact<Extent> {
    fact(Value::Flag(true)).map(|_| extent)
}

/// The grid of a fact about the allocation unit, for the filesystems' code.
pub(super) fn unit_grid(fact: Fact<Bytes>) -> Option<Fact<Grid>> {
    let unit = Unit::try_from(fact.value).ok()?;
    Some(fact.map(|_| Grid::new(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(text: &str) -> Layer {
        let mut layer = Layer::new(LayerKind::File, "f");
        add_extents(&mut layer, &Question::Extents("f".into()), text);
        layer
    }

    #[test]
    fn extents_become_segments_and_odd_ones_are_named() {
        let layer = file_with(
            "0 1048576 8192 0x0\n8192 1056768 4096 0x0\n16384 0 4096 0x7\n20480 77 100 0x209\n24576 4096 4096 0x8\nrubbish\n",
        );
        let Map::Segments(segments) = &layer.map else {
            panic!("segments expected")
        };
        assert_eq!(segments.len(), 1, "neighbours are joined");
        assert_eq!(segments[0].lower, Bytes::mib(1));
        assert_eq!(
            layer.bytes(Key::MappedBytes).map(|f| f.value),
            Some(Bytes::kib(12))
        );
        let details: Vec<&str> = layer.anomalies.iter().map(|o| o.detail.as_str()).collect();
        assert_eq!(
            details,
            [
                "4,096 bytes are still in memory and have no place yet; `sync` gives them one",
                "4,096 bytes are compressed or encrypted by the filesystem, so their place says nothing about requests",
                "100 bytes are packed into metadata",
            ]
        );
    }

    #[test]
    fn extents_that_lie_are_not_believed() {
        assert_eq!(extent("18446744073709551615 0 4096 0x0"), None);
        assert_eq!(extent("0 18446744073709551615 4096 0x0"), None);
        let layer = file_with("0 4096 8192 0x0\n4096 65536 8192 0x1\n");
        assert_eq!(layer.anomalies[0].kind, AnomalyKind::Damaged);
        assert_eq!(file_with("").map, nowhere());
    }
}
