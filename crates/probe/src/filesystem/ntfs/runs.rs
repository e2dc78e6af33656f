//! NTFS data runs: which clusters a stream lies in.
//!
//! A run is a byte whose low half is the width of a length and whose high half is the width of a distance, then the
//! length in clusters, then the distance from the beginning of the previous run, signed. Without a distance it is a
//! hole. A zero byte ends the list.
//!
//! A compressed stream is divided into units of (nearly always) 16 clusters. A unit with all its clusters is stored as
//! it is; one with fewer, and a hole behind them, is compressed; one that is all hole reads as zeroes.
//!
//! Source: Linux-NTFS documentation, "Data runs", "Compression".

use super::super::content::Content;
use crate::FindError;
use crate::find::Flaw;

/// A flaw of the runs, or a limit of what is followed.
pub(super) enum Trouble {
    Flaw(Flaw),
    Error(FindError),
}

impl From<Flaw> for Trouble {
    fn from(flaw: Flaw) -> Trouble {
        Trouble::Flaw(flaw)
    }
}

impl From<FindError> for Trouble {
    fn from(error: FindError) -> Trouble {
        Trouble::Error(error)
    }
}

/// Clusters of a stream that lie in one piece, or are a hole together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// First cluster in the stream.
    first: u64,
    clusters: u64,
    /// First cluster in the volume.
    there: Option<u64>,
    /// Where its bytes are in the MFT, and how many.
    recorded: (u64, usize),
}

/// Lays the runs of a stream one after another.
pub(super) struct Placer {
    cluster: u64,
    /// Bytes of the volume that are there.
    volume: u64,
    /// Bytes of the stream that count.
    size: u64,
    /// Clusters of a compression unit.
    unit: Option<u64>,
    /// The cluster of the stream that comes next.
    next: u64,
    /// The runs of a compression unit that is not complete.
    pending: Vec<Run>,
    /// Where the stream lies.
    pub(super) content: Content,
    /// Bytes that are compressed.
    pub(super) compressed: u64,
    /// Bytes that are holes.
    pub(super) holes: u64,
    /// Where the first run that is not a hole is recorded, counted from the beginning of the MFT, and its length.
    pub(super) first: Option<(u64, usize)>,
}

impl Placer {
    /// For a stream of `size` bytes. `unit` is the number of clusters of a compression unit.
    pub(super) fn new(cluster: u64, volume: u64, size: u64, unit: Option<u64>) -> Placer {
        Placer {
            cluster,
            volume,
            size,
            unit,
            next: 0,
            pending: Vec::new(),
            content: Content::default(),
            compressed: 0,
            holes: 0,
            first: None,
        }
    }

    /// Bytes of the stream that have been accounted for.
    pub(super) fn covered(&self) -> u64 {
        self.next.saturating_mul(self.cluster)
    }

    /// Adds the runs in `list`, which start at byte `at` of the record whose first byte is byte `record` of the MFT.
    /// They are those of the clusters `first` to `last`.
    pub(super) fn add(
        &mut self,
        list: &[u8],
        (record, at): (u64, usize),
        (first, last): (u64, u64),
    ) -> Result<(), Trouble> {
        if first != self.next {
            let found = format!("runs from cluster {first} of the stream on");
            return Err(Flaw::new(at, found, format!("those from {} on", self.next)).into());
        }
        let mut there = 0_i64;
        let mut pos = 0;
        while let Some(header) = list.get(pos).copied().filter(|header| *header != 0) {
            let place = at.saturating_add(pos);
            let (length, distance) = (usize::from(header & 15), usize::from(header >> 4));
            let bytes = list.get(pos..pos + 1 + length + distance);
            let Some(bytes) = bytes.filter(|_| (1..=8).contains(&length) && distance <= 8) else {
                let found = format!("a run that begins with {header:#04x}");
                let expected = "widths of 1 to 8 and 0 to 8 bytes inside the attribute";
                return Err(Flaw::new(place, found, expected).into());
            };
            let clusters = signed(bytes.get(1..=length).unwrap_or(&[]));
            let clusters = u64::try_from(clusters).ok().filter(|n| *n > 0);
            let end = clusters.and_then(|n| self.next.checked_add(n));
            // Addresses in the stream stay below 2⁶³, so that all sums do not overflow.
            let in_bytes = end.and_then(|end| end.checked_mul(self.cluster));
            let (Some(clusters), Some(end), Some(0..=0x7fff_ffff_ffff_ffff)) =
                (clusters, end, in_bytes)
            else {
                let found = "a run whose length is not positive or goes beyond 2^63 bytes";
                return Err(Flaw::new(place, found, "a length in clusters").into());
            };
            let lies = if distance == 0 {
                None
            } else {
                let delta = signed(bytes.get(1 + length..).unwrap_or(&[]));
                there = there.checked_add(delta).unwrap_or(-1);
                let lies = u64::try_from(there).ok();
                let behind = lies
                    .and_then(|lcn| lcn.checked_add(clusters))
                    .and_then(|end| end.checked_mul(self.cluster));
                if behind.is_none_or(|behind| behind > self.volume) {
                    let found = format!("a run of {clusters} clusters at cluster {there}");
                    let expected = format!("inside the volume of {} bytes", self.volume);
                    return Err(Flaw::new(place, found, expected).into());
                }
                lies
            };
            let offset = u64::try_from(place).unwrap_or(u64::MAX);
            self.run(Run {
                first: self.next,
                clusters,
                there: lies,
                recorded: (record.saturating_add(offset), bytes.len()),
            })?;
            self.next = end;
            pos += bytes.len();
        }
        // An empty stream has −1 as its last cluster.
        if last.wrapping_add(1) != self.next {
            let found = format!("runs up to cluster {} of the stream", self.next);
            let expected = format!("up to {}, as the attribute says", last.wrapping_add(1));
            return Err(Flaw::new(at, found, expected).into());
        }
        Ok(())
    }

    /// To be called when the last run is there.
    pub(super) fn finish(&mut self) -> Result<(), FindError> {
        self.settle()
    }

    /// Cuts a run at the borders of compression units. Whole units in one run, and there may be very many, are taken
    /// together: three rounds at most.
    fn run(&mut self, mut run: Run) -> Result<(), FindError> {
        let Some(unit) = self.unit else {
            return self.place(run);
        };
        while run.clusters > 0 {
            let within = run.first % unit;
            let whole = run.clusters - run.clusters % unit;
            let take = match (within, whole) {
                (0, 0) => run.clusters,
                (0, whole) => whole,
                _ => run.clusters.min(unit - within),
            };
            let part = Run {
                clusters: take,
                ..run
            };
            run.first += take;
            run.clusters -= take;
            run.there = run.there.map(|lcn| lcn + take);
            if within == 0 && whole > 0 {
                self.place(part)?;
                continue;
            }
            self.pending.push(part);
            if run.first.is_multiple_of(unit) {
                self.settle()?;
            }
        }
        Ok(())
    }

    /// Decides what a complete compression unit is.
    fn settle(&mut self) -> Result<(), FindError> {
        let unit = std::mem::take(&mut self.pending);
        let holes = unit.iter().filter(|run| run.there.is_none()).count();
        if holes != 0 && holes != unit.len() {
            for run in unit {
                self.compressed += self.counted(run);
            }
            return Ok(());
        }
        unit.into_iter().try_for_each(|run| self.place(run))
    }

    fn place(&mut self, run: Run) -> Result<(), FindError> {
        let Some(lcn) = run.there else {
            self.holes += self.counted(run);
            return Ok(());
        };
        self.first.get_or_insert(run.recorded);
        // None of these can overflow: checked when the run was read.
        self.content.push(
            run.first.saturating_mul(self.cluster),
            lcn.saturating_mul(self.cluster),
            run.clusters.saturating_mul(self.cluster),
        )
    }

    /// Bytes of the run that belong to the stream.
    fn counted(&self, run: Run) -> u64 {
        let start = run.first.saturating_mul(self.cluster);
        let end = start.saturating_add(run.clusters.saturating_mul(self.cluster));
        end.min(self.size).saturating_sub(start)
    }
}

/// A number of up to eight bytes, low byte first, with the sign in its highest bit.
fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.last().is_some_and(|high| high & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    for (to, from) in wide.iter_mut().zip(bytes) {
        *to = *from;
    }
    i64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &[u8], last: u64, unit: Option<u64>) -> Result<Placer, String> {
        let mut placer = Placer::new(4096, 1 << 30, last * 4096 + 1000, unit);
        let added = placer.add(list, (1 << 20, 72), (0, last));
        added.map_err(|trouble| match trouble {
            Trouble::Flaw(flaw) => format!("{}: {}; {}", flaw.at, flaw.found, flaw.expected),
            Trouble::Error(error) => error.to_string(),
        })?;
        placer.finish().expect("few");
        Ok(placer)
    }

    /// (upper, lower, length) in clusters.
    fn clusters(placer: &Placer) -> Vec<(u64, u64, u64)> {
        let segments = placer.content.clone().into_segments(u64::MAX);
        let in_clusters = segments.iter().map(|s| {
            (
                s.upper.start().get() / 4096,
                s.lower.get() / 4096,
                s.upper.len().get() / 4096,
            )
        });
        in_clusters.collect()
    }

    #[test]
    fn lengths_and_signed_distances_are_read() {
        // 0x18 clusters at 0x0156, 4 at 0x0156 + 0x10, a hole of 3, 2 at 0x0166 − 0x66.
        let list = [
            0x21, 0x18, 0x56, 0x01, 0x11, 4, 0x10, 0x01, 3, 0x11, 2, 0x9a, 0,
        ];
        let placer = placed(&list, 0x18 + 4 + 3 + 2 - 1, None).expect("good runs");
        assert_eq!(
            clusters(&placer),
            [(0, 0x156, 0x18), (0x18, 0x166, 4), (0x1f, 0x100, 2)]
        );
        assert_eq!(placer.first, Some(((1 << 20) + 72, 4)));
        assert_eq!(placer.holes, 3 * 4096);
        assert_eq!(signed(&[0xff]), -1);
        assert_eq!(signed(&[0x80, 0]), 128);
        assert_eq!(signed(&[]), 0);
    }

    #[test]
    fn compression_units_with_fewer_clusters_lie_nowhere() {
        // Unit 0: 5 clusters and a hole of 11. Units 1 and 2: whole, in one run that goes 3 clusters into unit 3, where a
        // run that continues elsewhere completes it. Unit 4: a hole. Unit 5: two pieces, whole.
        let list = [
            0x11, 5, 100, 0x01, 11, 0x11, 35, 10, 0x21, 13, 0, 1, 0x01, 16, 0x11, 8, 20, 0x11, 8,
            20, 0,
        ];
        let placer = placed(&list, 6 * 16 - 1, Some(16)).expect("good runs");
        assert_eq!(
            clusters(&placer),
            [(16, 110, 35), (51, 366, 13), (80, 386, 8), (88, 406, 8)]
        );
        assert_eq!(placer.compressed, 16 * 4096);
        assert_eq!(placer.holes, 16 * 4096);
        assert_eq!(placer.first, Some(((1 << 20) + 72 + 5, 3)));
    }

    #[test]
    fn very_long_runs_cost_no_more_than_short_ones() {
        let list = [0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03, 0];
        let placer = placed(&list, 0x3ff_ffff_fffe, Some(16)).expect("a hole");
        assert_eq!(clusters(&placer), []);
    }

    #[test]
    fn impossible_runs_name_their_byte() {
        for (list, want) in [
            (&[0x11, 4][..], "72: a run that begins with 0x11"),
            (&[0x19, 4], "72: a run that begins with 0x19"),
            (&[0x10, 4], "72: a run that begins with 0x10"),
            (&[0x11, 0, 5], "72: a run whose length"),
            (&[0x11, 0x80, 5], "72: a run whose length"),
            (&[0x11, 4, 0x9a], "72: a run of 4 clusters at cluster -102"),
            (
                &[0x11, 4, 5, 0x41, 4, 0, 0, 0, 1],
                "75: a run of 4 clusters at cluster 16777221",
            ),
            (
                &[0x11, 3, 5, 0],
                "72: runs up to cluster 3 of the stream; up to 4,",
            ),
            (&[0x08, 0, 0, 0, 0, 0, 0, 0, 0x7f], "72: a run whose length"),
        ] {
            let error = placed(list, 3, None).err().expect("refused");
            assert!(error.starts_with(want), "{error}");
        }
    }
}
