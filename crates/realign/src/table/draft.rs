use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use crate::Refusal;
use crate::job::{Edit, Job};
use crate::store::read_exact;
use crate::view::View;

/// Edits that are being collected, over a disk whose parts have moved.
pub(super) struct Draft<'a> {
    disk: &'a dyn ReadAt,
    moved: View<'a, dyn ReadAt + 'a>,
    job: &'a Job,
    edits: Vec<Edit>,
}

impl<'a> Draft<'a> {
    /// Of a disk, the parts that move, and how long it will be.
    pub(super) fn new(disk: &'a dyn ReadAt, job: &'a Job, size: Bytes) -> Draft<'a> {
        Draft {
            disk,
            moved: View::new(disk, job, size),
            job,
            edits: Vec::new(),
        }
    }

    /// What is there now, before anything moves.
    pub(super) fn now(&self, at: Bytes, len: usize) -> Result<Vec<u8>, Refusal> {
        read(self.disk, at, len)
    }

    /// What will be there once all parts have moved.
    pub(super) fn then(&self, at: Bytes, len: usize) -> Result<Vec<u8>, Refusal> {
        read(&self.moved, at, len)
    }

    /// How long the disk is now.
    pub(super) fn size(&self) -> Bytes {
        self.disk.size()
    }

    /// How long it will be.
    pub(super) fn size_then(&self) -> Bytes {
        self.moved.size()
    }

    /// True when a part will be where this is.
    pub(super) fn is_moved_over(&self, at: Bytes) -> bool {
        let mut places = self
            .job
            .parts()
            .iter()
            .filter_map(|part| part.destination());
        places.any(|place| place.start() <= at && at < place.end())
    }

    /// Writes `after` there once all parts have moved, unless that is what will be there anyway.
    pub(super) fn set(&mut self, at: Bytes, after: Vec<u8>, what: String) -> Result<(), Refusal> {
        let before = self.then(at, after.len())?;
        if before != after {
            self.edits.push(Edit {
                at,
                before,
                after,
                what,
            });
        }
        Ok(())
    }

    pub(super) fn into_edits(self) -> Vec<Edit> {
        self.edits
    }
}

fn read(from: &(impl ReadAt + ?Sized), at: Bytes, len: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; len];
    read_exact(from, at, &mut bytes).map_err(|error| {
        Refusal::new(
            format_args!(
                "{len} bytes at byte {} cannot be read: {error}",
                at.grouped()
            ),
            "a disk that cannot be read is rescued first (ddrescue), and its copy moved",
        )
    })?;
    Ok(bytes)
}

/// A little-endian number of up to eight bytes; 0 where they are not all there.
pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let mut raw = [0; 8];
    let end = at.saturating_add(len);
    match (bytes.get(at..end), raw.get_mut(..len)) {
        (Some(from), Some(into)) => into.copy_from_slice(from),
        _ => return 0,
    }
    u64::from_le_bytes(raw)
}
