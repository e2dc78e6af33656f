//! A disk without what nothing on it uses: the free clusters of its filesystems read as zeroes, as holes, so that a new file has no place for
//! them.
//!
//! Only what a filesystem's own map calls free is left out, in pieces of at least 64 KiB; a filesystem whose map is not read here is kept
//! whole. It must have been left in order, which [`contents::check`](crate::contents::check) sees to: a journal that waits may use more.

mod exfat;
mod ext;
mod fat;
mod ntfs;
mod part;

use std::io;

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadAt;

use part::{Free, Part};

/// Shorter pieces are kept: no format allocates less, as a rule, and the list of them would be long.
const MIN_PIECE: u64 = 64 << 10;

/// A disk, and what is free on it.
#[derive(Debug)]
pub struct Used<'a, T: ReadAt + ?Sized> {
    disk: &'a T,
    /// Sorted, not overlapping, in addresses of the disk.
    free: Vec<Extent>,
}

impl<'a, T: ReadAt + ?Sized> Used<'a, T> {
    /// All of the disk.
    pub fn new(disk: &'a T) -> Used<'a, T> {
        Used {
            disk,
            free: Vec::new(),
        }
    }

    /// Leaves out what is free in a filesystem of this format. `false` where its map is not read here, so that all of it is kept.
    ///
    /// # Errors
    /// When its map cannot be read.
    pub fn leave_out(&mut self, place: Extent, format: &str) -> io::Result<bool> {
        let part = Part {
            disk: &Whole(self.disk),
            place,
        };
        let mut free = Free {
            found: Vec::new(),
            place,
        };
        let is_known = match format {
            "ntfs" => ntfs::free(&part, &mut free)?,
            "exfat" => exfat::free(&part, &mut free)?,
            _ if format.starts_with("fat") => fat::free(&part, &mut free)?,
            _ if format.starts_with("ext") => ext::free(&part, &mut free)?,
            _ => false,
        };
        let long = free
            .found
            .into_iter()
            .filter(|piece| piece.len().get() >= MIN_PIECE);
        self.free.extend(long);
        self.free.sort_by_key(|piece| piece.start());
        Ok(is_known)
    }

    /// Bytes that are left out.
    #[must_use]
    pub fn left_out(&self) -> Bytes {
        let sum = self
            .free
            .iter()
            .fold(0_u64, |sum, piece| sum.saturating_add(piece.len().get()));
        Bytes::new(sum)
    }

    /// The free piece that ends behind `at` first.
    fn piece(&self, at: Bytes) -> Option<Extent> {
        let n = self.free.partition_point(|piece| piece.end() <= at);
        self.free.get(n).copied()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Used<'_, T> {
    fn size(&self) -> Bytes {
        self.disk.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let piece = self.piece(offset);
        let until = |end: Bytes, len: usize| {
            let rest = end.checked_sub(offset).unwrap_or_default().get();
            usize::try_from(rest).unwrap_or(usize::MAX).min(len)
        };
        let len = buf.len();
        match piece {
            Some(piece) if piece.start() <= offset => {
                let len = until(piece.end().min(self.size()), len);
                buf[..len].fill(0);
                Ok(len)
            }
            Some(piece) => self
                .disk
                .read_at(offset, &mut buf[..until(piece.start(), len)]),
            None => self.disk.read_at(offset, buf),
        }
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        let mut at = offset;
        loop {
            let data = self.disk.data_from(at).max(at);
            match self.piece(data) {
                Some(piece) if piece.start() <= data => at = piece.end(),
                _ => return data,
            }
        }
    }
}

/// A disk whose type has no size.
struct Whole<'a, T: ReadAt + ?Sized>(&'a T);

impl<T: ReadAt + ?Sized> ReadAt for Whole<'_, T> {
    fn size(&self) -> Bytes {
        self.0.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_free_reads_as_zeroes_and_all_else_as_it_is(
            pieces in proptest::collection::vec((0_u64..20, 1_u64..6), 0..4), from in 0_u64..110, len in 1_usize..120,
        ) {
            let bytes: Vec<u8> = (1..=100).collect();
            let mut at = 0;
            let mut free = Vec::new();
            let mut wanted = bytes.clone();
            for (gap, len) in pieces {
                at += gap;
                let end = (at + len).min(100);
                if at < end {
                    free.extend(Extent::new(Bytes::new(at), Bytes::new(end - at)));
                    wanted[usize::try_from(at).expect("small")..usize::try_from(end).expect("small")].fill(0);
                }
                at = end;
            }
            let used = Used { disk: &bytes, free };
            let mut found = Vec::new();
            let mut here = from;
            while found.len() < len {
                let mut buf = vec![0xee; len - found.len()];
                let read = used.read_at(Bytes::new(here), &mut buf).expect("memory");
                if read == 0 {
                    break;
                }
                found.extend_from_slice(&buf[..read]);
                here += read as u64;
            }
            let start = usize::try_from(from.min(100)).expect("small");
            let end = (start + len).min(100);
            prop_assert_eq!(&found, &wanted[start..end]);
            let data = usize::try_from(used.data_from(Bytes::new(from)).get()).expect("small");
            prop_assert!(data >= usize::try_from(from).expect("small"));
            prop_assert!(wanted.get(start..data.min(100)).is_none_or(|skipped| skipped.iter().all(|byte| *byte == 0)));
            prop_assert!(data >= 100 || wanted[data] != 0);
        }
    }
}
