//! Files inside the filesystems of a guest.

use std::sync::Arc;
use straddle_geometry::{Extent, Map};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{FoundFile, Window, find_file};
use straddle_stack::{Key, Layer, LayerId, LayerKind, Value};

use super::disk::Part;
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
        layer.oddities = found.oddities;
        let count = match &map {
            Map::Segments(segments) => segments.len(),
            _ => 1,
        };
        let count = Value::Count(u64::try_from(count).unwrap_or(u64::MAX));
        layer.set(Key::Extents, found.size.clone().map(|_| count));
        layer.map = map;
        let segments = found.segments;
        let layer = self.stack().push(layer);
        let volume: Arc<dyn ReadAt> = Arc::new(Part::linear(&contents.bytes, extent));
        let bytes = Arc::new(Part::segments(&volume, segments, found.size.value));
        let file = Contents {
            layer,
            bytes,
            path: None,
        };
        self.inspect(&file, depth + 1);
    }
}
