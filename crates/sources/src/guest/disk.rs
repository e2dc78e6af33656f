//! The bytes that a guest sees, read through the maps below it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use straddle_geometry::{BlockTable, Bytes, Extent, Place};
use straddle_io::ReadAt;
use straddle_probe::container::{Content, Disk, ExtentOf};

/// Longest part that is unpacked as one; qcow2 allows clusters of 2 MiB.
const LONGEST_PACKED: u64 = 16 << 20;

/// A virtual disk.
pub(super) struct GuestDisk {
    size: Bytes,
    content: Reach,
    /// What can be read of the layers below, in their order; `None` for a file that is missing.
    targets: Vec<Option<Arc<dyn ReadAt>>>,
    /// The part that was unpacked last: probers ask for many fields near each other.
    unpacked: Mutex<Option<(Extent, Vec<u8>)>>,
}

enum Reach {
    Linear(Bytes),
    Blocks(Arc<dyn BlockTable>),
    Extents(Vec<(Extent, ExtentOf)>),
}

impl GuestDisk {
    pub(super) fn new(disk: Disk, targets: Vec<Option<Arc<dyn ReadAt>>>) -> GuestDisk {
        let content = match disk.content {
            Content::Linear(place) => Reach::Linear(place.value.start()),
            Content::Blocks(table) => Reach::Blocks(table),
            Content::Extents(extents) => {
                let mut at = Bytes::ZERO;
                let mut places = Vec::new();
                for extent in extents {
                    let Some(upper) = Extent::new(at, extent.len) else {
                        break;
                    };
                    places.push((upper, extent));
                    at = upper.end();
                }
                Reach::Extents(places)
            }
        };
        GuestDisk {
            size: disk.size.value,
            content,
            targets,
            unpacked: Mutex::new(None),
        }
    }

    fn place(&self, offset: Bytes) -> io::Result<(Place, Option<usize>)> {
        let nothing = |run| (Place::Absent { run }, None);
        match &self.content {
            Reach::Linear(start) => Ok(match start.checked_add(offset) {
                Some(there) => (
                    Place::At {
                        target: 0,
                        offset: there,
                        run: Bytes::MAX,
                    },
                    None,
                ),
                None => nothing(Bytes::new(1)),
            }),
            Reach::Blocks(table) => Ok((
                table.locate(offset).map_err(io::Error::other)?,
                table.parent(),
            )),
            Reach::Extents(places) => {
                let index = places.partition_point(|(upper, _)| upper.end() <= offset);
                let Some((upper, extent)) = places.get(index) else {
                    return Ok(nothing(Bytes::new(1)));
                };
                let skip = offset.checked_sub(upper.start()).unwrap_or(Bytes::ZERO);
                let run = upper.len().checked_sub(skip).unwrap_or(Bytes::new(1));
                let there = extent
                    .lies
                    .and_then(|(target, start)| Some((target, start.checked_add(skip)?)));
                Ok(match there {
                    Some((target, offset)) => (
                        Place::At {
                            target,
                            offset,
                            run,
                        },
                        None,
                    ),
                    None => nothing(run),
                })
            }
        }
    }

    fn unpack(
        &self,
        at: Bytes,
        buf: &mut [u8],
        upper: Extent,
        target: usize,
        lower: Extent,
    ) -> io::Result<()> {
        let Reach::Blocks(table) = &self.content else {
            return Err(io::Error::other("nothing compressed here"));
        };
        let mut kept = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(extent, _)| *extent != upper) {
            let longest = |extent: Extent| {
                let len = usize::try_from(extent.len().get().min(LONGEST_PACKED + 1));
                len.map_err(io::Error::other)
            };
            if upper.len().get() > LONGEST_PACKED || lower.len().get() > LONGEST_PACKED {
                return Err(io::Error::other(format!(
                    "a compressed part of {}; at most {} is unpacked",
                    upper.len().max(lower.len()),
                    Bytes::new(LONGEST_PACKED)
                )));
            }
            let mut packed = vec![0; longest(lower)?];
            let mut done = 0;
            let file = self.targets.get(target).and_then(Option::as_ref);
            let file = file.ok_or_else(|| io::Error::other("the file below is missing"))?;
            while done < packed.len() {
                let skip = Bytes::new(u64::try_from(done).map_err(io::Error::other)?);
                let at = lower.start().checked_add(skip).unwrap_or(Bytes::MAX);
                match file.read_at(at, &mut packed[done..])? {
                    0 => break,
                    n => done += n,
                }
            }
            packed.truncate(done);
            let mut out = vec![0; longest(upper)?];
            table.unpack(&packed, &mut out).map_err(io::Error::other)?;
            *kept = Some((upper, out));
        }
        let skip = at.checked_sub(upper.start()).map_or(0, Bytes::get);
        let from = usize::try_from(skip).map_err(io::Error::other)?;
        let bytes = kept
            .as_ref()
            .and_then(|(_, bytes)| bytes.get(from..from.checked_add(buf.len())?));
        match bytes {
            Some(bytes) => buf.copy_from_slice(bytes),
            None => return Err(io::Error::other("a compressed part is too short")),
        }
        Ok(())
    }
}

impl ReadAt for GuestDisk {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.size.checked_sub(offset) else {
            return Ok(0);
        };
        let (place, parent) = self.place(offset)?;
        let len = left.min(place.run(offset)).get();
        let n = buf.len().min(usize::try_from(len).unwrap_or(usize::MAX));
        let buf = &mut buf[..n];
        match place {
            Place::At { target, offset, .. } => self.copy(target, offset, buf)?,
            Place::Absent { .. } => match parent {
                Some(parent) => self.copy(parent, offset, buf)?,
                None => buf.fill(0),
            },
            Place::Zero { .. } => buf.fill(0),
            Place::Packed {
                upper,
                target,
                lower,
            } => self.unpack(offset, buf, upper, target, lower)?,
        }
        Ok(n)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        match self.place(offset) {
            Ok((Place::Absent { run }, None) | (Place::Zero { run }, _)) => {
                offset.checked_add(run).unwrap_or(Bytes::MAX)
            }
            Ok(_) | Err(_) => offset,
        }
    }
}

impl GuestDisk {
    /// Bytes of a file below; zeroes beyond its end, as a shorter parent reads.
    fn copy(&self, target: usize, offset: Bytes, buf: &mut [u8]) -> io::Result<()> {
        let file = self.targets.get(target).and_then(Option::as_ref);
        let file = file.ok_or_else(|| {
            io::Error::other("these bytes lie in a file that could not be opened")
        })?;
        let mut done = 0;
        while done < buf.len() {
            let skip = Bytes::new(u64::try_from(done).map_err(io::Error::other)?);
            let at = offset.checked_add(skip).unwrap_or(Bytes::MAX);
            match file.read_at(at, &mut buf[done..])? {
                0 => {
                    buf[done..].fill(0);
                    break;
                }
                n => done += n,
            }
        }
        Ok(())
    }
}
