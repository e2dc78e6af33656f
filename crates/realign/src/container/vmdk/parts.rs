//! A VMDK whose descriptor names the files that hold its parts, in place.
//!
//! Flat parts need no place. A sparse part is changed as its own file says. The content identifier in the descriptor is changed first, in
//! one sector. A disk becomes longer at its last part: first that, flush; then its number of sectors in the descriptor, in one sector,
//! flush.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadAt;
use straddle_probe::container::{Content, OpensAs};

use super::super::blocks::Image;
use super::super::error::ContainerError;
use super::super::flat::{grown, inside, len_of};
use super::super::guest::{Files, Guest};
use super::super::recognised::{Found, recognised};
use super::descriptor::{MAX_BYTES, Patch, with_content_id, with_last_extent};
use super::{FORMAT, sparse, untracked};
use crate::Store;
use crate::format::bits::{fill, le32};
use crate::format::vmdk::SECTOR;
use crate::ids::Ids;

/// Most files that are opened at once: 2 TB in parts of 2 GB are 1,024.
const MAX_PARTS: usize = 4096;

/// The whole disk.
pub(super) struct Parts {
    descriptor: Arc<dyn Store>,
    parts: Vec<Part>,
    ids: Ids,
}

struct Part {
    upper: Extent,
    lies: Lies,
}

enum Lies {
    /// In a file of its own, or a part of one, from there on.
    Flat(Arc<dyn Store>, Bytes),
    Sparse(Box<Image>),
    /// Nowhere.
    Zeroes,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vmdk of {} in {} parts", self.size(), self.parts.len())
    }
}

/// Opens the disk that the descriptor in `file` describes.
///
/// # Errors
/// Why it is not changed in place.
pub(super) fn open(
    path: &Path,
    file: &Arc<dyn Store>,
    files: &dyn Files,
    ids: Ids,
) -> Result<Parts, String> {
    let permitted = Found {
        parts: true,
        ..Found::default()
    };
    let disk = recognised(file, FORMAT, &permitted)?.disk;
    let Content::Extents(extents) = &disk.content else {
        return Err("it has no extents".to_owned());
    };
    if extents.len() > MAX_PARTS {
        return Err(format!(
            "{} parts; at most {MAX_PARTS} are opened",
            extents.len()
        ));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut at = Bytes::ZERO;
    let mut parts = Vec::new();
    let mut flat: Vec<(String, Extent)> = Vec::new();
    for extent in extents {
        let upper = Extent::new(at, extent.len).ok_or("parts of more than 2⁶⁴ bytes")?;
        at = upper.end();
        let lies = match extent.lies {
            None => Lies::Zeroes,
            Some((target, start)) => {
                let reference = target.checked_sub(1).and_then(|n| disk.references.get(n));
                let reference = reference.ok_or("a part without a file")?;
                let name = reference.names.first().map_or("", String::as_str);
                // Something elsewhere is not written because a text names it.
                if name.is_empty() || name.contains('/') || name == ".." {
                    return Err(format!(
                        "its part {name} does not lie beside it: only files in the folder of the descriptor are written"
                    ));
                }
                let store = files
                    .open(&folder.join(name))
                    .map_err(|error| format!("its part {name} cannot be opened: {error}"))?;
                match reference.opens_as {
                    OpensAs::Raw => {
                        let place =
                            Extent::new(start, extent.len).ok_or("a part beyond 2⁶⁴ bytes")?;
                        if place.end() > store.size() {
                            return Err(format!(
                                "its part {name} ends at byte {}; the descriptor says {}",
                                store.size().grouped(),
                                place.end().grouped()
                            ));
                        }
                        let shares = |(other, extent): &(String, Extent)| {
                            other == name && extent.overlaps(place)
                        };
                        if flat.iter().any(shares) {
                            return Err(format!("two of its parts are the same bytes of {name}"));
                        }
                        flat.push((name.to_owned(), place));
                        Lies::Flat(store, start)
                    }
                    _ => {
                        if flat.iter().any(|(other, _)| other == name) {
                            return Err(format!("two of its parts are the file {name}"));
                        }
                        let opened =
                            sparse::open(&store).map_err(|why| format!("{name}: {why}"))?;
                        flat.push((name.to_owned(), Extent::whole(Bytes::MAX)));
                        let image = Image::new(store, FORMAT, opened, ids.clone());
                        // A call that was stopped may have made the last part longer, and not the descriptor.
                        let is_last = parts.len() + 1 == extents.len();
                        if image.size() < extent.len || (image.size() > extent.len && !is_last) {
                            return Err(format!(
                                "its part {name} holds {} bytes; the descriptor says {}",
                                image.size().grouped(),
                                extent.len.grouped()
                            ));
                        }
                        Lies::Sparse(Box::new(image))
                    }
                }
            }
        };
        parts.push(Part { upper, lies });
    }
    let disk = Parts {
        descriptor: Arc::clone(file),
        parts,
        ids,
    };
    untracked(&disk.text().map_err(|error| error.to_string())?)?;
    Ok(disk)
}

impl Parts {
    fn refused(why: impl Into<String>) -> ContainerError {
        ContainerError::Refused {
            format: FORMAT,
            why: why.into(),
        }
    }

    /// The part that has `offset`, and where that is in it.
    fn part(&self, offset: Bytes) -> io::Result<(&Part, Bytes)> {
        let index = self
            .parts
            .partition_point(|part| part.upper.end() <= offset);
        let part = self.parts.get(index).ok_or(io::ErrorKind::InvalidInput)?;
        let within = offset.checked_sub(part.upper.start());
        Ok((part, within.ok_or(io::ErrorKind::InvalidInput)?))
    }

    /// Calls `each` with the part of a range that lies in each of the parts.
    fn each(
        &self,
        at: Bytes,
        len: Bytes,
        mut each: impl FnMut(&Part, Bytes, std::ops::Range<u64>) -> io::Result<()>,
    ) -> io::Result<()> {
        inside(self.size(), at, len)?;
        let mut done = 0;
        while done < len.get() {
            let from = at.checked_add(Bytes::new(done));
            let (part, within) = self.part(from.ok_or(io::ErrorKind::InvalidInput)?)?;
            let rest = part.upper.len().checked_sub(within).unwrap_or_default();
            let run = rest.get().min(len.get() - done);
            each(part, within, done..done + run)?;
            done += run.max(1);
        }
        Ok(())
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let len = self.descriptor.size().get().min(MAX_BYTES);
        let mut raw = vec![0; usize::try_from(len).unwrap_or(0)];
        fill(&*self.descriptor, 0, &mut raw)?;
        Ok(raw)
    }

    fn write(&self, patch: &Patch) -> Result<(), ContainerError> {
        let at = Bytes::new(u64::try_from(patch.at).unwrap_or(u64::MAX));
        self.descriptor
            .write_at(at, &patch.bytes)
            .map_err(ContainerError::io("writing the descriptor"))?;
        self.descriptor.flush()?;
        Ok(())
    }
}

/// Where `within` bytes into a flat part lie.
fn there(start: Bytes, within: Bytes) -> io::Result<Bytes> {
    Ok(start
        .checked_add(within)
        .ok_or(io::ErrorKind::InvalidInput)?)
}

impl ReadAt for Parts {
    fn size(&self) -> Bytes {
        self.parts
            .last()
            .map_or(Bytes::ZERO, |last| last.upper.end())
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size() || buf.is_empty() {
            return Ok(0);
        }
        let (part, within) = self.part(offset)?;
        let rest = part.upper.len().checked_sub(within).unwrap_or_default();
        let len = usize::try_from(rest.min(len_of(buf)).get()).unwrap_or(usize::MAX);
        let Some(buf) = buf.get_mut(..len) else {
            return Ok(0);
        };
        match &part.lies {
            Lies::Flat(file, start) => file.read_at(there(*start, within)?, buf),
            // No longer than the part, whose file may be longer.
            Lies::Sparse(image) => image.read_at(within, buf),
            Lies::Zeroes => {
                buf.fill(0);
                Ok(len)
            }
        }
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        let mut at = offset;
        while let Ok((part, within)) = self.part(at) {
            let data = match &part.lies {
                Lies::Flat(file, start) => there(*start, within).map_or(within, |from| {
                    file.data_from(from).checked_sub(*start).unwrap_or(within)
                }),
                Lies::Sparse(image) => image.data_from(within),
                Lies::Zeroes => part.upper.len(),
            };
            if data < part.upper.len() {
                return part
                    .upper
                    .start()
                    .checked_add(data.max(within))
                    .unwrap_or(at);
            }
            at = part.upper.end();
        }
        self.size().max(offset)
    }
}

impl Store for Parts {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        self.each(offset, len_of(bytes), |part, within, range| {
            let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let some = bytes
                .get(index(range.start)..index(range.end))
                .unwrap_or(&[]);
            match &part.lies {
                Lies::Flat(file, start) => file.write_at(there(*start, within)?, some),
                Lies::Sparse(image) => image.write_at(within, some),
                Lies::Zeroes if crate::format::bits::is_zero(some) => Ok(()),
                Lies::Zeroes => Err(io::Error::other("bytes for a part that has no file")),
            }
        })
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        self.each(at, len, |part, within, range| {
            let len = Bytes::new(range.end - range.start);
            match &part.lies {
                Lies::Flat(file, start) => file.zero(there(*start, within)?, len),
                Lies::Sparse(image) => image.zero(within, len),
                Lies::Zeroes => Ok(()),
            }
        })
    }

    fn flush(&self) -> io::Result<()> {
        for part in &self.parts {
            match &part.lies {
                Lies::Flat(file, _) => file.flush()?,
                Lies::Sparse(image) => image.flush()?,
                Lies::Zeroes => {}
            }
        }
        Ok(())
    }
}

impl Guest for Parts {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn guest_sector(&self) -> SectorSize {
        SectorSize::B512
    }

    fn prepare(&mut self, ranges: &[Extent]) -> Result<(), ContainerError> {
        let has_no_file = |part: &&Part| matches!(part.lies, Lies::Zeroes);
        for part in self.parts.iter().filter(has_no_file) {
            if ranges.iter().any(|range| range.overlaps(part.upper)) {
                let at = part.upper.start().grouped();
                return Err(Parts::refused(format!(
                    "the part of type ZERO at byte {at} has no file that could be written: write a new file with -o"
                )));
            }
        }
        let id = le32(&self.ids.bits()?, 0);
        if let Some(patch) = with_content_id(&self.text()?, id) {
            self.write(&patch)?;
        }
        for part in &mut self.parts {
            let Lies::Sparse(image) = &mut part.lies else {
                continue;
            };
            let own: Vec<Extent> = ranges
                .iter()
                .filter_map(|range| {
                    let start = range.start().max(part.upper.start());
                    let end = range.end().min(part.upper.end());
                    let len = end.checked_sub(start).filter(|len| *len > Bytes::ZERO)?;
                    Extent::new(start.checked_sub(part.upper.start())?, len)
                })
                .collect();
            if !own.is_empty() {
                image.prepare(&own)?;
            }
        }
        Ok(())
    }

    fn grow(&mut self, by: Bytes) -> Result<(), ContainerError> {
        let size = grown(FORMAT, self.size(), by, self.guest_sector())?;
        let text = self.text()?;
        let is_last_of_file = |last: &Part| match &last.lies {
            Lies::Flat(file, start) => {
                there(*start, last.upper.len()).is_ok_and(|end| end == file.size())
            }
            Lies::Sparse(_) => true,
            Lies::Zeroes => false,
        };
        let Some(last) = self.parts.last().filter(|last| is_last_of_file(last)) else {
            return Err(Parts::refused(
                "its last part does not end with its file: write a longer one with -o",
            ));
        };
        if by == Bytes::ZERO {
            return Ok(());
        }
        let len = last.upper.len().checked_add(by).unwrap_or(Bytes::MAX);
        // 2 GiB less 1 MiB, by VMware's own parts.
        let is_divided = self.parts.len() > 1;
        if is_divided && len.get() > 2 << 30 {
            return Err(Parts::refused(format!(
                "its last part would have {len}, and parts have at most 2 GiB: write a new disk with -o"
            )));
        }
        let patch = with_last_extent(&text, len.get() / SECTOR, 0).map_err(Parts::refused)?;
        let patch = patch.ok_or_else(|| Parts::refused("its descriptor has no extent"))?;
        let start = last.upper.start();
        if let Some(last) = self.parts.last_mut() {
            match &mut last.lies {
                Lies::Flat(file, start) => {
                    let end = there(*start, len)?;
                    let final_byte = end.checked_sub(Bytes::new(1)).unwrap_or_default();
                    file.write_at(final_byte, &[0])?;
                    file.flush()?;
                }
                Lies::Sparse(image) => {
                    let more = len.checked_sub(image.size()).unwrap_or_default();
                    image.grow(more)?;
                }
                Lies::Zeroes => {}
            }
        }
        self.write(&patch)?;
        if let (Some(last), Some(upper)) = (self.parts.last_mut(), Extent::new(start, len)) {
            last.upper = upper;
        }
        debug_assert_eq!(self.size(), size);
        Ok(())
    }
}
