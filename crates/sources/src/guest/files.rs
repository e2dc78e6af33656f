//! Files inside the filesystems of a guest.

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Map, Segment};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{FoundFile, Window, find_file};
use straddle_stack::{Key, Layer, LayerId, LayerKind, Value};

use super::mapped::Mapped;
use super::{Contents, Guests};
use crate::SourceError;

/// A file that was asked for by its path inside a guest.
pub(super) struct Wanted {
    path: String,
    pub(super) found: bool,
    /// What each filesystem answered.
    answers: Vec<String>,
}

impl Wanted {
    pub(super) fn new(path: &str) -> Wanted {
        Wanted {
            path: path.to_owned(),
            found: false,
            answers: Vec::new(),
        }
    }

    pub(super) fn error(&self, target: String) -> SourceError {
        SourceError::GuestFile {
            path: self.path.clone(),
            target,
            detail: if self.answers.is_empty() {
                "no filesystem was found to look for it in".to_owned()
            } else {
                self.answers.join("; ")
            },
        }
    }
}

impl Guests<'_> {
    /// Looks for the files that were asked for in the filesystems from layer `from` on, which lie in `contents`, and puts
    /// them and what is in them on the stack.
    pub(super) fn follow_files(
        &mut self,
        contents: &Contents,
        reader: &Reader<'_>,
        from: usize,
        depth: usize,
    ) {
        if self.wanted.iter().all(|wanted| wanted.found) {
            return;
        }
        let stack = self.stack();
        let filesystems: Vec<(LayerId, String, Extent)> = stack
            .iter()
            .filter(|(id, layer)| id.index() >= from && layer.kind == LayerKind::Filesystem)
            .filter_map(|(id, layer)| {
                let start = stack.start_in(id, contents.layer)?;
                let format = layer.format.as_deref()?.to_owned();
                // The volume it lies in, not what it claims to fill: copies of its structures may lie at the very end.
                let volume = layer.below.first().map_or(layer, |id| stack.layer(*id));
                Some((id, format, Extent::new(start, volume.size.as_ref()?.value)?))
            })
            .collect();
        for (id, format, extent) in filesystems {
            let Some(window) = Window::whole(reader, None).part(extent) else {
                continue;
            };
            for index in 0..self.wanted.len() {
                if self.wanted[index].found {
                    continue;
                }
                match find_file(&window, &format, &self.wanted[index].path) {
                    Ok(found) => {
                        self.wanted[index].found = true;
                        self.add_file(contents, id, extent, found, depth);
                    }
                    Err(error) => self.wanted[index]
                        .answers
                        .push(format!("{format}: {error}")),
                }
            }
        }
    }

    fn add_file(
        &mut self,
        contents: &Contents,
        filesystem: LayerId,
        extent: Extent,
        found: FoundFile,
        depth: usize,
    ) {
        let map = found.map();
        let mut layer = Layer::new(LayerKind::File, found.path);
        layer.below = vec![filesystem];
        layer.size = Some(found.size.clone());
        layer.placement = found.placement;
        layer.anomalies = found.anomalies;
        let count = match &map {
            Map::Segments(segments) => segments.len(),
            _ => 1,
        };
        let count = Value::Count(u64::try_from(count).unwrap_or(u64::MAX));
        layer.set(Key::Extents, found.size.clone().map(|_| count));
        layer.map = map;
        let segments = written(found.segments, &found.unwritten);
        let layer = self.stack().push(layer);
        let volume: Arc<dyn ReadAt> = Arc::new(Mapped::linear(&contents.bytes, extent));
        let bytes = Arc::new(Mapped::segments(&volume, segments, found.size.value));
        let file = Contents {
            layer,
            bytes,
            file: None,
        };
        self.inspect(&file, depth + 1);
    }
}

/// The parts of `segments` that were written: the others have a place, but read as zeroes. Both are sorted.
fn written(segments: Vec<Segment>, unwritten: &[Extent]) -> Vec<Segment> {
    let mut out = Vec::with_capacity(segments.len());
    for segment in segments {
        let mut at = segment.upper.start();
        let end = segment.upper.end();
        let first = unwritten.partition_point(|gap| gap.end() <= at);
        let gaps = unwritten.get(first..).unwrap_or(&[]);
        for gap in gaps.iter().take_while(|gap| gap.start() < end) {
            out.extend(part_of(segment, at, gap.start()));
            at = gap.end().min(end).max(at);
        }
        out.extend(part_of(segment, at, end));
    }
    out
}

/// The part of `segment` from `from` to `to`, addresses above.
fn part_of(segment: Segment, from: Bytes, to: Bytes) -> Option<Segment> {
    let len = to.checked_sub(from).filter(|len| *len > Bytes::ZERO)?;
    let skip = from.checked_sub(segment.upper.start())?;
    Some(Segment {
        upper: Extent::new(from, len)?,
        lower: segment.lower.checked_add(skip)?,
        ..segment
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten_parts_are_cut_out() {
        let extent = |start, len| Extent::new(Bytes::new(start), Bytes::new(len)).expect("small");
        let segment = |start, len, lower| Segment {
            upper: extent(start, len),
            target: 0,
            lower: Bytes::new(lower),
        };
        let cut = written(
            vec![segment(0, 10, 100), segment(20, 10, 200)],
            &[extent(3, 2), extent(8, 14), extent(29, 5)],
        );
        assert_eq!(
            cut,
            [segment(0, 3, 100), segment(5, 3, 105), segment(22, 7, 202)]
        );
    }
}
