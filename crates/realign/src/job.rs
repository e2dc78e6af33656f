//! What is to be done to a target: ranges that move, and bytes that change once they have moved.

use straddle_geometry::{Bytes, Extent};

/// A range that moves within the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it starts before the move.
    pub from: Bytes,
    /// Where it starts afterwards.
    pub to: Bytes,
    /// How long it is.
    pub len: Bytes,
}

impl Part {
    /// Where it lies before the move; `None` beyond 2⁶⁴.
    #[must_use]
    pub fn source(&self) -> Option<Extent> {
        Extent::new(self.from, self.len)
    }

    /// Where it lies afterwards; `None` beyond 2⁶⁴.
    #[must_use]
    pub fn destination(&self) -> Option<Extent> {
        Extent::new(self.to, self.len)
    }
}

/// Bytes that change at one place, after all parts have moved: an entry of a table, a field of a boot sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where they lie, in addresses of the target.
    pub at: Bytes,
    /// What is there once all parts have moved, and before this edit.
    pub before: Vec<u8>,
    /// What is there afterwards; as long as `before`.
    pub after: Vec<u8>,
    /// What it is, for people: `MBR entry 1: first sector 63 → 2,048`.
    pub what: String,
}

/// Why a job is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JobError {
    /// A part is empty, or an end of it is beyond 2⁶⁴.
    #[error("a part of {len} bytes from byte {from} to byte {to} cannot be moved")]
    Part {
        /// Where it starts.
        from: u64,
        /// Where it should start.
        to: u64,
        /// How long it is.
        len: u64,
    },
    /// Two parts overlap, before or afterwards.
    #[error("parts that start at bytes {one} and {other} overlap")]
    Overlap {
        /// Where the first one starts.
        one: u64,
        /// Where the other one starts.
        other: u64,
    },
    /// Each would be written over another that was not moved yet.
    #[error(
        "the parts change places: the one at byte {at} has to go first, and cannot before another has"
    )]
    Circle {
        /// Where a part of the circle starts.
        at: u64,
    },
    /// An edit changes its length, or the place of another one.
    #[error("an edit at byte {at} overlaps another, or changes its length")]
    Edit {
        /// Where it is.
        at: u64,
    },
}

/// Parts in an order in which none is written over another that has not moved yet, and edits in the order in which they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    parts: Vec<Part>,
    edits: Vec<Edit>,
}

impl Job {
    /// Puts the parts into an order in which they can be moved one after the other. Parts that stay where they are are left out.
    ///
    /// # Errors
    /// When there is no such order, or parts or edits overlap.
    pub fn new(parts: Vec<Part>, edits: Vec<Edit>) -> Result<Job, JobError> {
        let mut left: Vec<(Part, Extent, Extent)> = Vec::new();
        for part in parts {
            let (Some(source), Some(destination)) = (part.source(), part.destination()) else {
                return Err(refused(part));
            };
            if part.len == Bytes::ZERO {
                return Err(refused(part));
            }
            for (other, others, moved) in &left {
                if source.overlaps(*others) || destination.overlaps(*moved) {
                    return Err(JobError::Overlap {
                        one: other.from.get(),
                        other: part.from.get(),
                    });
                }
            }
            left.push((part, source, destination));
        }
        // Whichever is written over no other one that is left can go next.
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_free = |n: &usize| {
                let (_, _, to) = left[*n];
                let mut others = left.iter().enumerate().filter(|(m, _)| m != n);
                !others.any(|(_, (_, source, _))| to.overlaps(*source))
            };
            let Some(next) = (0..left.len()).find(is_free) else {
                return Err(JobError::Circle {
                    at: left[0].0.from.get(),
                });
            };
            let (part, ..) = left.remove(next);
            if part.from != part.to {
                ordered.push(part);
            }
        }
        for (n, edit) in edits.iter().enumerate() {
            let others = edits.iter().take(n).filter_map(Edit::place);
            let is_sound = edit.before.len() == edit.after.len()
                && edit.place().is_some_and(|place| {
                    !place.is_empty() && !others.into_iter().any(|other| other.overlaps(place))
                });
            if !is_sound {
                return Err(JobError::Edit { at: edit.at.get() });
            }
        }
        Ok(Job {
            parts: ordered,
            edits,
        })
    }

    /// The parts that move, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The edits, in order.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Where what lies at `at` once all parts have moved lies before, and for how many bytes from there on that holds.
    #[must_use]
    pub fn origin(&self, at: Bytes) -> (Bytes, Bytes) {
        let mut until = Bytes::MAX;
        for to in &self.parts {
            let Some(place) = to.destination() else {
                continue;
            };
            if let Some(within) = at.checked_sub(to.to).filter(|within| *within < to.len) {
                let rest = to.len.checked_sub(within).unwrap_or_default();
                return (to.from.checked_add(within).unwrap_or(at), rest);
            }
            if place.start() > at {
                until = until.min(place.start());
            }
        }
        (at, until.checked_sub(at).unwrap_or_default())
    }
}

impl Edit {
    /// Where it is; `None` beyond 2⁶⁴.
    #[must_use]
    pub fn place(&self) -> Option<Extent> {
        let len = u64::try_from(self.after.len()).ok()?;
        Extent::new(self.at, Bytes::new(len))
    }
}

fn refused(part: Part) -> JobError {
    JobError::Part {
        from: part.from.get(),
        to: part.to.get(),
        len: part.len.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(from: u64, to: u64, len: u64) -> Part {
        let bytes = Bytes::new;
        Part {
            from: bytes(from),
            to: bytes(to),
            len: bytes(len),
        }
    }

    fn edit(at: u64, before: &[u8], after: &[u8]) -> Edit {
        Edit {
            at: Bytes::new(at),
            before: before.to_owned(),
            after: after.to_owned(),
            what: String::new(),
        }
    }

    #[test]
    fn the_farthest_goes_first() {
        let job = Job::new(vec![part(10, 15, 20), part(30, 35, 10)], Vec::new()).expect("sound");
        assert_eq!(job.parts(), [part(30, 35, 10), part(10, 15, 20)]);
        let job = Job::new(vec![part(30, 25, 10), part(10, 5, 20)], Vec::new()).expect("sound");
        assert_eq!(job.parts(), [part(10, 5, 20), part(30, 25, 10)]);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let circle = Job::new(vec![part(0, 10, 10), part(10, 0, 10)], Vec::new());
        assert_eq!(circle, Err(JobError::Circle { at: 0 }));
        let onto = Job::new(vec![part(0, 10, 10), part(12, 12, 5)], Vec::new());
        assert_eq!(onto, Err(JobError::Overlap { one: 0, other: 12 }));
        assert!(Job::new(vec![part(0, 10, 0)], Vec::new()).is_err());
        assert!(Job::new(vec![part(0, u64::MAX, 2)], Vec::new()).is_err());
        let edits = vec![edit(5, b"ab", b"cd"), edit(6, b"b", b"x")];
        assert_eq!(Job::new(Vec::new(), edits), Err(JobError::Edit { at: 6 }));
        let edits = vec![edit(5, b"ab", b"c")];
        assert_eq!(Job::new(Vec::new(), edits), Err(JobError::Edit { at: 5 }));
    }

    proptest! {
        #[test]
        fn parts_that_are_moved_in_order_arrive(
            places in proptest::collection::vec((0_u64..60, 0_u64..60, 1_u64..12), 0..5),
        ) {
            let parts: Vec<Part> = places.iter().map(|(from, to, len)| part(*from, *to, *len)).collect();
            let Ok(job) = Job::new(parts.clone(), Vec::new()) else {
                return Ok(());
            };
            let before: Vec<u64> = (0..72).collect();
            let mut after = before.clone();
            for part in job.parts() {
                let [from, to, len] = [part.from, part.to, part.len]
                    .map(|bytes| usize::try_from(bytes.get()).expect("small"));
                after.copy_within(from..from + len, to);
            }
            for part in &parts {
                let [from, to, len] = [part.from, part.to, part.len]
                    .map(|bytes| usize::try_from(bytes.get()).expect("small"));
                prop_assert_eq!(&after[to..to + len], &before[from..from + len]);
            }
            for at in 0..72_u64 {
                let (origin, rest) = job.origin(Bytes::new(at));
                prop_assert!(rest > Bytes::ZERO);
                for step in 0..rest.get().min(72 - at) {
                    let found = after[usize::try_from(at + step).expect("small")];
                    prop_assert_eq!(found, origin.get() + step);
                }
            }
        }
    }
}
