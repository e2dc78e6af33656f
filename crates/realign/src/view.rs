use std::io;

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use crate::job::Job;

/// A target as it will be once a [`Job`] is done, read from the target as it is.
#[derive(Debug)]
pub struct View<'a, T: ReadAt + ?Sized> {
    target: &'a T,
    job: &'a Job,
    size: Bytes,
}

impl<'a, T: ReadAt + ?Sized> View<'a, T> {
    /// The target with this job done, `size` bytes long: what is beyond the end of the target as it is reads as zeroes.
    pub fn new(target: &'a T, job: &'a Job, size: Bytes) -> View<'a, T> {
        View { target, job, size }
    }

    /// Lays what the edits make over bytes that were read at `offset`.
    fn edit(&self, offset: Bytes, bytes: &mut [u8]) {
        for edit in self.job.edits() {
            let (start, first) = (offset.get(), edit.at.get());
            let ahead = usize::try_from(first.saturating_sub(start)).unwrap_or(usize::MAX);
            let skipped = usize::try_from(start.saturating_sub(first)).unwrap_or(usize::MAX);
            let (Some(into), Some(from)) = (bytes.get_mut(ahead..), edit.after.get(skipped..))
            else {
                continue;
            };
            let len = into.len().min(from.len());
            into[..len].copy_from_slice(&from[..len]);
        }
    }
}

impl<T: ReadAt + ?Sized> ReadAt for View<'_, T> {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let (origin, rest) = self.job.origin(offset);
        let left = self.size.checked_sub(offset).unwrap_or_default();
        let most = usize::try_from(rest.min(left).get()).unwrap_or(usize::MAX);
        let len = most.min(buf.len());
        let read = match self.target.read_at(origin, &mut buf[..len])? {
            // Behind the end of the target as it is.
            0 if origin >= self.target.size() => {
                buf[..len].fill(0);
                len
            }
            read => read,
        };
        self.edit(offset, &mut buf[..read]);
        Ok(read)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        let next = |at: Bytes| {
            let edits = self.job.edits().iter().filter_map(|edit| edit.place());
            let edits = edits.filter(move |place| place.end() > at);
            edits.map(|place| place.start().max(at)).min()
        };
        let mut at = offset;
        while at < self.size {
            let (origin, rest) = self.job.origin(at);
            let data = self.target.data_from(origin).max(origin);
            let skipped = data.checked_sub(origin).unwrap_or_default().min(rest);
            let found = at.checked_add(skipped).unwrap_or(Bytes::MAX);
            if let Some(edited) = next(at).filter(|edited| *edited <= found) {
                return edited.min(self.size);
            }
            let is_data = skipped < rest && data < self.target.size();
            if is_data || found >= self.size {
                return found.min(self.size);
            }
            // A hole up to the end of the target, or of what lies here in one piece.
            at = at.checked_add(rest).unwrap_or(self.size).max(found);
        }
        offset.max(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Edit, Part};
    use proptest::prelude::*;

    /// Bytes of which those that are 0 are holes.
    #[derive(Debug)]
    struct Holes(Vec<u8>);

    impl ReadAt for Holes {
        fn size(&self) -> Bytes {
            self.0.size()
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(offset, buf)
        }
        fn data_from(&self, offset: Bytes) -> Bytes {
            let start = usize::try_from(offset.get()).expect("small");
            let rest = self.0.get(start..).unwrap_or_default();
            let ahead = rest.iter().take_while(|byte| **byte == 0).count();
            Bytes::new(offset.get() + ahead as u64)
        }
    }

    proptest! {
        #[test]
        fn it_reads_as_the_target_afterwards(
            before in proptest::collection::vec(0_u8..3, 64),
            places in proptest::collection::vec((0_u64..60, 0_u64..60, 1_u64..20), 0..3),
            edit in (0_u64..60, proptest::collection::vec(0_u8..9, 1..5)),
            grown in 0_u64..8,
        ) {
            let bytes = Bytes::new;
            let parts = places.iter().map(|(from, to, len)| Part { from: bytes(*from), to: bytes(*to), len: bytes(*len) });
            let parts: Vec<Part> = parts
                .filter(|part| part.from.get() + part.len.get() <= 64 && part.to.get() + part.len.get() <= 64 + grown)
                .collect();
            let (at, after) = edit;
            let edits = vec![Edit { at: bytes(at), before: after.clone(), after, what: String::new() }];
            let Ok(job) = Job::new(parts, edits) else {
                return Ok(());
            };
            let mut wanted = before.clone();
            wanted.resize(64 + usize::try_from(grown).expect("small"), 0);
            for part in job.parts() {
                let [from, to, len] = [part.from, part.to, part.len].map(|b| usize::try_from(b.get()).expect("small"));
                wanted.copy_within(from..from + len, to);
            }
            for edit in job.edits() {
                let at = usize::try_from(edit.at.get()).expect("small");
                let len = edit.after.len().min(wanted.len() - at);
                wanted[at..at + len].copy_from_slice(&edit.after[..len]);
            }
            let target = Holes(before);
            let view = View::new(&target, &job, bytes(64 + grown));
            let mut found = Vec::new();
            while found.len() < wanted.len() {
                let mut buf = [0xee; 7];
                let read = view.read_at(bytes(found.len() as u64), &mut buf).expect("reads");
                prop_assert!(read > 0);
                found.extend_from_slice(&buf[..read]);
            }
            prop_assert_eq!(&found, &wanted);
            let end = wanted.len() as u64;
            for at in 0..end {
                let data = view.data_from(bytes(at)).get();
                prop_assert!((at..=end).contains(&data), "{} {}", at, data);
                let skipped = &wanted[usize::try_from(at).expect("small")..usize::try_from(data).expect("small")];
                prop_assert!(skipped.iter().all(|byte| *byte == 0));
            }
        }
    }
}
