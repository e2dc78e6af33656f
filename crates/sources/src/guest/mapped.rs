//! The bytes of a layer, read through its map.

use std::io;
use std::sync::Arc;
use straddle_geometry::{
    Blocks, Bytes, Extent, Map, Place, Raid, RaidLayout, Reach, Segment, Share,
};
use straddle_io::ReadAt;

/// A partition, a file in pieces, a volume, an array: what its map says of the layers below.
pub(super) struct Mapped {
    map: Map,
    size: Bytes,
    /// What can be read of the layers below, in their order; `None` for one that is missing.
    targets: Vec<Option<Arc<dyn ReadAt>>>,
}

impl Mapped {
    /// `size` bytes that lie where `map` says. What has no place reads as zeroes.
    pub(super) fn new(map: Map, size: Bytes, targets: Vec<Option<Arc<dyn ReadAt>>>) -> Mapped {
        Mapped { map, size, targets }
    }

    /// The bytes of `extent`.
    pub(super) fn linear(whole: &Arc<dyn ReadAt>, extent: Extent) -> Mapped {
        let map = Map::Linear {
            start: extent.start(),
        };
        Mapped::new(map, extent.len(), vec![Some(Arc::clone(whole))])
    }

    /// A file of `size` bytes that consists of `segments`; what lies between them reads as zeroes.
    pub(super) fn segments(whole: &Arc<dyn ReadAt>, segments: Vec<Segment>, size: Bytes) -> Mapped {
        let map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
        Mapped::new(map, size, vec![Some(Arc::clone(whole))])
    }

    fn target(&self, index: usize) -> io::Result<&Arc<dyn ReadAt>> {
        self.targets
            .get(index)
            .and_then(Option::as_ref)
            .ok_or_else(not_given)
    }

    /// Fills `buf` from one layer below; zeroes beyond its end.
    fn copy(&self, index: usize, offset: Bytes, buf: &mut [u8]) -> io::Result<()> {
        let target = self.target(index)?;
        let mut done = 0;
        while done < buf.len() {
            let skip = Bytes::new(u64::try_from(done).map_err(io::Error::other)?);
            let at = offset.checked_add(skip).unwrap_or(Bytes::MAX);
            match target.read_at(at, &mut buf[done..])? {
                0 => {
                    buf[done..].fill(0);
                    break;
                }
                n => done += n,
            }
        }
        Ok(())
    }

    /// Fills `buf`, which stays within one stripe unit: from the data, from a copy where their member is missing, or by the
    /// parity of their row.
    fn copy_from_array(&self, raid: &Raid, offset: Bytes, buf: &mut [u8]) -> io::Result<()> {
        let reaches = raid.reaches(offset);
        let data = reaches.iter().find(|reach| {
            matches!(reach.share, Share::Data | Share::Copy)
                && matches!(self.targets.get(reach.column), Some(Some(_)))
        });
        if let Some(reach) = data {
            return self.copy(reach.column, reach.offset, buf);
        }
        match reaches.as_slice() {
            [lost, others @ ..]
                if matches!(
                    raid.layout,
                    RaidLayout::Parity(_) | RaidLayout::DoubleParity(_)
                ) =>
            {
                self.rebuild(raid, *lost, others, buf)
            }
            _ => Err(not_given()),
        }
    }

    /// The exclusive or of everything else in the row but the syndrome.
    fn rebuild(
        &self,
        raid: &Raid,
        lost: Reach,
        others: &[Reach],
        buf: &mut [u8],
    ) -> io::Result<()> {
        let syndrome = others.iter().find(|reach| reach.share == Share::Syndrome);
        let start = |column: usize| raid.starts.get(column).copied().unwrap_or(Bytes::ZERO);
        let below = lost.offset.checked_sub(start(lost.column));
        let below = below.ok_or_else(|| io::Error::other("an address before the data"))?;
        let mut other = vec![0; buf.len()];
        buf.fill(0);
        for column in 0..raid.columns() {
            if column == lost.column || syndrome.is_some_and(|reach| reach.column == column) {
                continue;
            }
            let at = start(column).checked_add(below).unwrap_or(Bytes::MAX);
            self.copy(column, at, &mut other)?;
            buf.iter_mut().zip(&other).for_each(|(a, b)| *a ^= b);
        }
        Ok(())
    }
}

/// What the reader takes for bytes that nobody has, rather than for a failing disk.
fn not_given() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        "these bytes lie on a member that was not given",
    )
}

impl ReadAt for Mapped {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.size.checked_sub(offset).filter(|l| *l > Bytes::ZERO) else {
            return Ok(0);
        };
        let most = |run: Bytes| {
            let most = usize::try_from(run.min(left).get()).unwrap_or(usize::MAX);
            buf.len().min(most)
        };
        if let Map::Blocks(Blocks(table)) = &self.map {
            let place = table.locate(offset).map_err(io::Error::other)?;
            let n = most(place.run(offset));
            let buf = &mut buf[..n];
            match (place, table.parent()) {
                (Place::At { target, offset, .. }, _) => self.copy(target, offset, buf)?,
                (Place::Absent { .. }, Some(parent)) => self.copy(parent, offset, buf)?,
                (Place::Absent { .. } | Place::Zero { .. }, _) => buf.fill(0),
                (Place::Packed { .. }, _) => {
                    return Err(io::Error::other("compressed bytes are not unpacked here"));
                }
            }
            return Ok(n);
        }
        match self.map.locate(offset) {
            Some(location) => {
                let n = most(location.run);
                let buf = &mut buf[..n];
                match &self.map {
                    Map::Raid(raid) => self.copy_from_array(raid, offset, buf)?,
                    _ => self.copy(location.target, location.offset, buf)?,
                }
                Ok(n)
            }
            None => {
                // Up to the next piece.
                let next = match &self.map {
                    Map::Segments(all) => {
                        let next = all.partition_point(|piece| piece.upper.start() <= offset);
                        all.get(next).map(|piece| piece.upper.start())
                    }
                    _ => None,
                };
                let run = next
                    .and_then(|next| next.checked_sub(offset))
                    .unwrap_or(left);
                let n = most(run);
                buf[..n].fill(0);
                Ok(n)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Rotation, Unit};

    #[test]
    fn what_lay_on_a_lost_member_is_rebuilt_from_the_others() {
        let raid = Raid {
            layout: RaidLayout::Parity(Rotation::LeftSymmetric),
            unit: Unit::new(4).expect("not zero"),
            starts: vec![Bytes::new(8); 3],
        };
        // Rows of four bytes behind eight of metadata; in the first row parity is on the last column.
        let member = |row: [u8; 4]| -> Option<Arc<dyn ReadAt>> {
            let mut bytes = vec![0xee; 8];
            bytes.extend(row);
            Some(Arc::new(bytes))
        };
        let (a, b) = ([1, 2, 3, 4], [5, 6, 7, 9]);
        let parity = [1 ^ 5, 2 ^ 6, 3 ^ 7, 4 ^ 9];
        for lost in 0..3 {
            let mut targets = vec![member(a), member(b), member(parity)];
            targets[lost] = None;
            let array = Mapped::new(Map::Raid(raid.clone()), Bytes::new(8), targets);
            let mut read = [0; 8];
            assert_eq!(array.read_at(Bytes::ZERO, &mut read).expect("readable"), 4);
            let (_, rest) = read.split_at_mut(4);
            assert_eq!(array.read_at(Bytes::new(4), rest).expect("readable"), 4);
            assert_eq!(read, [1, 2, 3, 4, 5, 6, 7, 9]);
        }
    }
}
