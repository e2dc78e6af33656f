//! Where the bytes of a file or of a filesystem's own stream lie, and reading them from there.

use straddle_geometry::{Bytes, Extent, Segment};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact};

use crate::{FindError, FoundFile, Window};

/// Runs of one file that are followed; a file in more pieces than this is not worth a plan but a copy.
const MAX_RUNS: usize = 1 << 20;

/// The runs of a stream, in the order of its addresses, with holes between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    segments: Vec<Segment>,
}

impl Content {
    /// Adds `len` bytes at `upper`, which lie at `lower` of the window. Runs must come in order.
    pub(crate) fn push(&mut self, upper: u64, lower: u64, len: u64) -> Result<(), FindError> {
        let upper = Extent::new(Bytes::new(upper), Bytes::new(len));
        // Callers keep both ends below 2⁶³: a volume, and what a file on it can be.
        let Some(upper) = upper.filter(|extent| !extent.is_empty()) else {
            return Ok(());
        };
        if let Some(last) = self.segments.last_mut() {
            let joined = last.upper.end() == upper.start()
                && last.lower.checked_add(last.upper.len()) == Some(Bytes::new(lower));
            let both = last.upper.len().checked_add(upper.len());
            let both = both.and_then(|len| Extent::new(last.upper.start(), len));
            if let Some(both) = both.filter(|_| joined) {
                last.upper = both;
                return Ok(());
            }
        }
        if self.segments.len() >= MAX_RUNS {
            return Err(FindError::Limit {
                what: "pieces of one file".to_owned(),
                limit: MAX_RUNS as u64,
            });
        }
        self.segments.push(Segment {
            upper,
            target: 0,
            lower: Bytes::new(lower),
        });
        Ok(())
    }

    /// First byte behind the last run.
    pub(crate) fn end(&self) -> u64 {
        self.segments
            .last()
            .map_or(0, |last| last.upper.end().get())
    }

    /// Where `offset` of the stream lies in the window, and how many bytes follow there; `None` in a hole.
    pub(crate) fn locate(&self, offset: u64) -> Option<(u64, u64)> {
        let offset = Bytes::new(offset);
        let after = self
            .segments
            .partition_point(|run| run.upper.start() <= offset);
        let run = self.segments.get(after.checked_sub(1)?)?;
        let within = offset.checked_sub(run.upper.start())?;
        let left = run.upper.len().checked_sub(within)?.get();
        let lower = run.lower.checked_add(within)?;
        (left > 0).then_some((lower.get(), left))
    }

    /// Fills `buf` with the bytes of the stream at `offset`; holes give zeroes.
    pub(crate) fn fill(
        &self,
        window: &Window<'_>,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), ReadError> {
        buf.fill(0);
        let end = offset.saturating_add(u64::try_from(buf.len()).unwrap_or(u64::MAX));
        let first = self
            .segments
            .partition_point(|run| run.upper.end().get() <= offset);
        let runs = self.segments.iter().skip(first);
        for run in runs.take_while(|run| run.upper.start().get() < end) {
            let from = run.upper.start().get().max(offset);
            let to = run.upper.end().get().min(end);
            // Both lie inside `offset..end`, which is as long as the buffer.
            let place = usize::try_from(from - offset).unwrap_or(usize::MAX)
                ..usize::try_from(to - offset).unwrap_or(usize::MAX);
            let lower = run
                .lower
                .get()
                .saturating_add(from - run.upper.start().get());
            if let Some(part) = buf.get_mut(place) {
                window.fill(lower, part)?;
            }
        }
        Ok(())
    }

    /// The runs, cut at `size` bytes of the stream.
    pub(crate) fn into_segments(mut self, size: u64) -> Vec<Segment> {
        let size = Bytes::new(size);
        self.segments.retain(|run| run.upper.start() < size);
        if let Some(last) = self.segments.last_mut() {
            let left = size.checked_sub(last.upper.start()).unwrap_or(Bytes::ZERO);
            let len = last.upper.len().min(left);
            last.upper = Extent::new(last.upper.start(), len).unwrap_or(last.upper);
        }
        self.segments
    }
}

/// Where the bytes of a file lie, as the records of its runs say: ext's and XFS's extents.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) content: Content,
    /// Parts of the file that were never written.
    unwritten: Vec<Extent>,
    /// Where the first run is recorded in the window, and the length of the record.
    first: Option<(u64, usize)>,
}

impl Layout {
    /// Adds a run of a file of `size` bytes; `recorded` says where its record is in the window.
    pub(crate) fn add(
        &mut self,
        (upper, lower, len): (u64, u64, u64),
        recorded: (u64, usize),
        written: bool,
        size: u64,
    ) -> Result<(), FindError> {
        self.first.get_or_insert(recorded);
        self.content.push(upper, lower, len)?;
        let len = size.saturating_sub(upper).min(len);
        let part = Extent::new(Bytes::new(upper), Bytes::new(len));
        let Some(part) = part.filter(|part| !written && !part.is_empty()) else {
            return Ok(());
        };
        match self.unwritten.last_mut() {
            Some(last) if last.end() == part.start() => {
                let both = last.len().checked_add(part.len());
                let both = both.and_then(|len| Extent::new(last.start(), len));
                *last = both.unwrap_or(*last);
            }
            // At most as many as records were read.
            _ => self.unwritten.push(part),
        }
        Ok(())
    }

    /// The file that lies so.
    pub(crate) fn found(
        self,
        window: &Window<'_>,
        path: String,
        size: Fact<Bytes>,
        allocated: Fact<Bytes>,
        mut anomalies: Vec<Anomaly>,
    ) -> FoundFile {
        let total = size.value;
        let segments = self.content.into_segments(total.get());
        let located: u64 = segments.iter().map(|s| s.upper.len().get()).sum();
        let holes = Bytes::new(total.get().saturating_sub(located));
        if holes > Bytes::ZERO {
            let detail = format!("{} of {} bytes are holes", holes.grouped(), total.grouped());
            let source = size.source.clone();
            anomalies.push(Anomaly::at(AnomalyKind::Sparse, detail, source));
        }
        let mut placement = None;
        if let (Some(first), Some((at, len))) = (segments.first(), self.first) {
            let place = Extent::new(first.lower, first.upper.len());
            placement = place.map(|place| window.fact(place, at, len));
        }
        if let Some(part) = self.unwritten.first() {
            let never = self.unwritten.iter().map(|p| p.len().get()).sum();
            let detail = format!(
                "{} of {} bytes, the first at byte {}, have a place but were never written",
                Bytes::new(never).grouped(),
                total.grouped(),
                part.start().grouped()
            );
            let source = size.source.clone();
            anomalies.push(Anomaly::at(AnomalyKind::Unwritten, detail, source));
        }
        FoundFile {
            path,
            size,
            allocated,
            segments,
            placement,
            unwritten: self.unwritten,
            anomalies,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_cut_and_read_with_their_holes() {
        let mut content = Content::default();
        for (upper, lower, len) in [(0, 100, 10), (10, 110, 10), (30, 50, 10), (40, 0, 10)] {
            content.push(upper, lower, len).expect("few");
        }
        assert_eq!(content.end(), 50);
        assert_eq!(content.locate(15), Some((115, 5)));
        assert_eq!(content.locate(25), None);
        assert_eq!(content.locate(50), None);
        let bytes: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let reader = straddle_io::Reader::new(&bytes);
        let mut buf = [0xee; 30];
        let window = Window::whole(&reader, None);
        content.fill(&window, 15, &mut buf).expect("inside");
        let want: Vec<u8> = [
            (115..120).collect(),
            vec![0; 10],
            (50..60).collect(),
            (0..5).collect(),
        ]
        .concat();
        assert_eq!(buf, *want);
        let cut = content.into_segments(32);
        assert_eq!(cut.len(), 2);
        assert_eq!(cut[0].upper.len(), Bytes::new(20));
        assert_eq!(cut[1].upper.end(), Bytes::new(32));
    }
}
