//! What is known of a move before it begins, as bytes: parts, edits, what is overwritten, and whose journal it is.

use straddle_geometry::{Bytes, Extent};

use crate::job::{Edit, Job, Part};
use crate::sequence::{Sequence, Sizes};
use crate::shift::Shift;

use super::{Digest, JournalError};

/// Longest label.
pub const MAX_LABEL: usize = 4096;
/// Most parts of a job: to put them into order takes the cube of their number.
pub const MAX_PARTS: u64 = 256;
/// Most edits of a job: each is compared with each.
pub const MAX_EDITS: u64 = 4096;
/// Longest batch: two are in memory at once.
const MAX_BATCH: Bytes = Bytes::mib(32);
/// Longest contents: they are in memory while a move goes on.
pub(super) const MAX_CONTENTS: u64 = 8 << 20;
/// Most free space that is kept.
pub const MAX_FREE_SPACE: Bytes = Bytes::mib(64);
/// Free space is kept in pieces of this length, each with its digest.
const PIECE: u64 = 1 << 20;
/// Most places of the target that are looked at to know it again.
pub(crate) const MAX_SAMPLES: u64 = 64;

/// Free space that is overwritten, and is in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) place: Extent,
    pub(crate) digest: Digest,
}

/// What a journal is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// How long the target is.
    pub(crate) target: Bytes,
    pub(crate) job: Job,
    pub(crate) sequence: Sequence,
    /// Room for a batch in the data journal; zero when there is none.
    pub(crate) slot: Bytes,
    /// For whoever began the move.
    pub(crate) label: Vec<u8>,
    /// Whether all free space that is overwritten is in the journal.
    pub(crate) keeps_free_space: bool,
    pub(crate) saved: Vec<Saved>,
    /// Digests of the beginnings of some blocks, evenly apart.
    pub(crate) samples: Vec<Digest>,
}

impl Contents {
    /// Those of a move that begins; digests are still zero.
    pub(crate) fn new(
        job: &Job,
        sizes: &Sizes,
        label: &[u8],
        target: Bytes,
    ) -> Result<Contents, JournalError> {
        let sequence = Sequence::new(job, sizes).ok_or(JournalError::Sizes)?;
        let has_data = sizes.journaled_below > Bytes::ZERO;
        let is_small = label.len() <= MAX_LABEL
            && job.parts().len() as u64 <= MAX_PARTS
            && job.edits().len() as u64 <= MAX_EDITS;
        let is_small = is_small && sequence.largest_batch() <= MAX_BATCH;
        if !is_small || sequence.needs_journal() && !has_data {
            return Err(JournalError::Sizes);
        }
        let free = free_space(job);
        let sum = free.iter().map(|place| place.len().get());
        let keeps_free_space = sum.fold(0, u64::saturating_add) <= MAX_FREE_SPACE.get();
        let pieces = free.iter().flat_map(|place| pieces(*place));
        let saved = pieces.map(|place| Saved { place, digest: 0 });
        let contents = Contents {
            target,
            job: job.clone(),
            slot: if has_data {
                sequence.largest_batch()
            } else {
                Bytes::ZERO
            },
            label: label.to_vec(),
            keeps_free_space,
            saved: if keeps_free_space {
                saved.collect()
            } else {
                Vec::new()
            },
            samples: sampled(sequence.blocks()).map(|_| 0).collect(),
            sequence,
        };
        if contents.encode().len() as u64 > MAX_CONTENTS {
            return Err(JournalError::Sizes);
        }
        Ok(contents)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let put = |out: &mut Vec<u8>, figure: u64| out.extend_from_slice(&figure.to_le_bytes());
        put(&mut out, self.target.get());
        put(&mut out, self.slot.get());
        put(&mut out, self.keeps_free_space.into());
        let bytes = |out: &mut Vec<u8>, bytes: &[u8]| {
            put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        };
        bytes(&mut out, &self.label);
        let cuts: Vec<(Shift, u64)> = self.sequence.cuts().collect();
        put(&mut out, cuts.len() as u64);
        for (shift, each) in cuts {
            for figure in [shift.from(), shift.to(), shift.len(), shift.block_len()] {
                put(&mut out, figure.get());
            }
            put(&mut out, each);
        }
        put(&mut out, self.job.edits().len() as u64);
        for edit in self.job.edits() {
            put(&mut out, edit.at.get());
            bytes(&mut out, &edit.before);
            bytes(&mut out, &edit.after);
            bytes(&mut out, edit.what.as_bytes());
        }
        put(&mut out, self.saved.len() as u64);
        for saved in &self.saved {
            put(&mut out, saved.place.start().get());
            put(&mut out, saved.place.len().get());
            out.extend_from_slice(&saved.digest.to_le_bytes());
        }
        put(&mut out, self.samples.len() as u64);
        for sample in &self.samples {
            out.extend_from_slice(&sample.to_le_bytes());
        }
        out
    }

    /// `None` for what [`Contents::encode`] does not make.
    pub(super) fn decode(raw: &[u8]) -> Option<Contents> {
        let mut raw = Fields(raw);
        let target = Bytes::new(raw.figure()?);
        let slot = Bytes::new(raw.figure()?);
        let keeps_free_space = raw.figure()? == 1;
        let label = raw.bytes()?.to_vec();
        let mut cuts = Vec::new();
        for _ in 0..raw.count(MAX_PARTS)? {
            let mut figure = || raw.figure().map(Bytes::new);
            let shift = Shift::new(figure()?, figure()?, figure()?, figure()?)?;
            cuts.push((shift, raw.figure()?));
        }
        let mut edits = Vec::new();
        for _ in 0..raw.count(MAX_EDITS)? {
            edits.push(Edit {
                at: Bytes::new(raw.figure()?),
                before: raw.bytes()?.to_vec(),
                after: raw.bytes()?.to_vec(),
                what: String::from_utf8(raw.bytes()?.to_vec()).ok()?,
            });
        }
        let mut saved = Vec::new();
        for _ in 0..raw.figure()? {
            let place = Extent::new(Bytes::new(raw.figure()?), Bytes::new(raw.figure()?))?;
            let digest = raw.digest()?;
            saved.push(Saved { place, digest });
        }
        let mut samples = Vec::new();
        for _ in 0..raw.figure()? {
            samples.push(raw.digest()?);
        }
        let parts = cuts.iter().map(|(shift, _)| Part {
            from: shift.from(),
            to: shift.to(),
            len: shift.len(),
        });
        let parts: Vec<Part> = parts.collect();
        let job = Job::new(parts.clone(), edits).ok()?;
        // What is in the journal is in order already.
        let is_sound = raw.0.is_empty() && job.parts() == parts;
        is_sound.then_some(Contents {
            target,
            sequence: Sequence::of(&cuts)?,
            job,
            slot,
            label,
            keeps_free_space,
            saved,
            samples,
        })
    }

    /// Whether every place is within the target, and the figures agree.
    pub(super) fn is_sound(&self) -> bool {
        let fits = |place: Option<Extent>| place.is_some_and(|place| place.end() <= self.target);
        let mut parts = self.job.parts().iter();
        let mut edits = self.job.edits().iter();
        // What is on a disk decides of no more memory than a move takes.
        if self.sequence.largest_batch() > MAX_BATCH {
            return false;
        }
        let has_room = self.slot == Bytes::ZERO && !self.sequence.needs_journal()
            || self.slot == self.sequence.largest_batch();
        let is_piece = |saved: &Saved| (1..=PIECE).contains(&saved.place.len().get());
        parts.all(|part| fits(part.source()) && fits(part.destination()))
            && edits.all(|edit| fits(edit.place()))
            && self
                .saved
                .iter()
                .all(|one| is_piece(one) && fits(Some(one.place)))
            && sampled(self.sequence.blocks()).count() == self.samples.len()
            && has_room
    }
}

/// The blocks of which samples are taken.
pub(crate) fn sampled(blocks: u64) -> impl Iterator<Item = u64> {
    let count = blocks.min(MAX_SAMPLES);
    let place = move |n: u64| u128::from(n) * u128::from(blocks) / u128::from(count.max(1));
    (0..count).filter_map(move |n| u64::try_from(place(n)).ok())
}

/// What is written over and is of no part: all destinations without all sources, in order.
fn free_space(job: &Job) -> Vec<Extent> {
    let sorted = |places: Vec<Extent>| {
        let mut places = places;
        places.sort_by_key(|place| place.start());
        places
    };
    let sources = sorted(job.parts().iter().filter_map(Part::source).collect());
    let mut free = Vec::new();
    for place in sorted(job.parts().iter().filter_map(Part::destination).collect()) {
        let mut at = place.start();
        for source in sources.iter().filter(|source| source.overlaps(place)) {
            free.extend(between(at, source.start()));
            at = at.max(source.end());
        }
        free.extend(between(at, place.end()));
    }
    free
}

fn between(start: Bytes, end: Bytes) -> Option<Extent> {
    let len = end.checked_sub(start).filter(|len| *len > Bytes::ZERO)?;
    Extent::new(start, len)
}

fn pieces(place: Extent) -> impl Iterator<Item = Extent> {
    let len = place.len().get();
    (0..len.div_ceil(PIECE)).filter_map(move |n| {
        let within = n.checked_mul(PIECE)?;
        let start = place.start().checked_add(Bytes::new(within))?;
        Extent::new(start, Bytes::new(PIECE.min(len - within)))
    })
}

/// What is left of encoded contents.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn figure(&mut self) -> Option<u64> {
        let (raw, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*raw))
    }

    fn count(&mut self, limit: u64) -> Option<u64> {
        self.figure().filter(|count| *count <= limit)
    }

    fn digest(&mut self) -> Option<Digest> {
        let (raw, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u128::from_le_bytes(*raw))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.figure()?).ok()?;
        let (raw, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(parts: &[(u64, u64, u64)]) -> Option<Job> {
        let bytes = Bytes::new;
        let parts = parts.iter().map(|(from, to, len)| Part {
            from: bytes(*from),
            to: bytes(*to),
            len: bytes(*len),
        });
        let edit = Edit {
            at: bytes(3),
            before: vec![1, 2],
            after: vec![3, 4],
            what: "first sector".to_owned(),
        };
        Job::new(parts.collect(), vec![edit]).ok()
    }

    proptest! {
        #[test]
        fn free_space_is_what_is_written_over_and_of_no_part(
            parts in proptest::collection::vec((0_u64..60, 0_u64..60, 1_u64..12), 0..5),
        ) {
            let Some(job) = job(&parts) else { return Ok(()) };
            let mut wanted = [false; 80];
            for part in job.parts() {
                (part.to.get()..part.to.get() + part.len.get()).for_each(|at| wanted[usize::try_from(at).expect("small")] = true);
            }
            for part in job.parts() {
                (part.from.get()..part.from.get() + part.len.get()).for_each(|at| wanted[usize::try_from(at).expect("small")] = false);
            }
            let mut found = [false; 80];
            for place in free_space(&job) {
                (place.start().get()..place.end().get()).for_each(|at| found[usize::try_from(at).expect("small")] = true);
            }
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn what_was_encoded_is_decoded_and_nothing_shorter(
            parts in proptest::collection::vec((0_u64..60, 0_u64..60, 1_u64..12), 0..5),
            label in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let Some(job) = job(&parts) else { return Ok(()) };
            let sizes = Sizes { block: Bytes::new(4), batch: Bytes::kib(8), journaled_below: Bytes::new(2) };
            let contents = Contents::new(&job, &sizes, &label, Bytes::new(80)).expect("sound");
            let raw = contents.encode();
            let found = Contents::decode(&raw);
            prop_assert!(found.as_ref().is_some_and(Contents::is_sound));
            prop_assert_eq!(found, Some(contents));
            for len in 0..raw.len() {
                prop_assert_eq!(Contents::decode(&raw[..len]), None);
            }
        }
    }

    #[test]
    fn more_free_space_than_the_limit_is_not_kept() {
        let limit = MAX_FREE_SPACE.get();
        let keeps = |distance: u64| {
            let job = job(&[(4096, 4096 + distance, 1 << 30)]).expect("a job");
            let contents = Contents::new(&job, &Sizes::default(), b"", Bytes::new(1 << 40));
            contents.map(|it| (it.keeps_free_space, it.saved.len()))
        };
        assert!(matches!(keeps(limit), Ok((true, 64))));
        assert!(matches!(keeps(limit + 512), Ok((false, 0))));
    }

    #[test]
    fn what_no_move_makes_is_not_sound() {
        let job = job(&[(8, 16, 40)]).expect("a job");
        let sizes = Sizes {
            block: Bytes::new(4),
            batch: Bytes::kib(8),
            journaled_below: Bytes::new(2),
        };
        let sound = Contents::new(&job, &sizes, b"", Bytes::new(80)).expect("sound");
        assert!(sound.is_sound());
        let with = |change: &dyn Fn(&mut Contents)| {
            let mut contents = sound.clone();
            change(&mut contents);
            contents.is_sound()
        };
        // The part ends at byte 56.
        assert!(with(&|it| it.target = Bytes::new(56)));
        assert!(!with(&|it| it.target = Bytes::new(55)));
        assert!(!with(&|it| {
            it.target = Bytes::new(55);
            it.saved.clear();
        }));
        assert!(!with(&|it| it.slot = Bytes::kib(4)));
        assert!(!with(&|it| it.samples.clear()));
        let beyond = Extent::new(Bytes::new(79), Bytes::new(2));
        assert!(!with(&|it| it.saved[0].place = beyond.expect("short")));
        let long = Extent::new(Bytes::ZERO, Bytes::new(PIECE + 1)).expect("short");
        assert!(!with(&|it| {
            it.target = Bytes::mib(2);
            it.saved[0].place = long;
        }));
        // A batch of more memory than any move takes.
        let bytes = Bytes::mib;
        let shift = Shift::new(bytes(0), bytes(64), bytes(64), bytes(33)).expect("a move");
        let part = Part {
            from: bytes(0),
            to: bytes(64),
            len: bytes(64),
        };
        assert!(!with(&|it| {
            it.target = bytes(128);
            it.sequence = Sequence::of(&[(shift, 1)]).expect("sound");
            it.slot = it.sequence.largest_batch();
            it.job = Job::new(vec![part], Vec::new()).expect("a job");
            it.samples.truncate(2);
        }));
        let large = Sizes {
            block: bytes(33),
            batch: bytes(66),
            ..Sizes::default()
        };
        let job = Job::new(vec![part], Vec::new()).expect("a job");
        assert!(Contents::new(&job, &large, b"", bytes(128)).is_err());
        assert!(Contents::new(&job, &sizes, &[0; MAX_LABEL + 1], bytes(128)).is_err());
    }
}
