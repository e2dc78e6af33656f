use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use straddle_geometry::Bytes;

use crate::{ReadError, ReadErrorKind};

/// Something that can be read at any position: a file, a device, a virtual disk, bytes in memory.
pub trait ReadAt: Send + Sync {
    /// Number of bytes that can be read.
    fn size(&self) -> Bytes;

    /// Reads up to `buf.len()` bytes at `offset`; 0 at the end.
    ///
    /// # Errors
    /// Those of the operating system.
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize>;

    /// Appends up to `len` bytes at `offset` to `buf`, and gives their number; 0 at the end.
    ///
    /// # Errors
    /// Those of the operating system.
    fn append_at(&self, offset: Bytes, len: usize, buf: &mut Vec<u8>) -> io::Result<usize> {
        let had = buf.len();
        buf.resize(had + len, 0);
        let read = self.read_at(offset, &mut buf[had..]);
        buf.truncate(had + read.as_ref().map_or(0, |read| *read));
        read
    }

    /// The first byte from `offset` on that need not be 0x00: where a file that has holes goes on. What knows nothing of
    /// holes answers with `offset`.
    fn data_from(&self, offset: Bytes) -> Bytes {
        offset
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> Bytes {
        Bytes::new(u64::try_from(self.len()).unwrap_or(u64::MAX))
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset.get())
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// A slice has no size of its own, so it cannot be a `dyn ReadAt`; a reference to one can.
impl ReadAt for &[u8] {
    fn size(&self) -> Bytes {
        (**self).size()
    }
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> Bytes {
        self.as_slice().size()
    }
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buf)
    }
}

/// Bytes are fetched in blocks of this size at addresses that are multiples of it: one page-cache page.
const BLOCK: u64 = 4096;

/// A bounded, remembering reader over one target.
///
/// Probers ask for many small fields near each other; each 4 KiB block is fetched once. The sum of all fetches is capped,
/// so a hostile image cannot make one check read without end, and no length read from an image sizes an allocation:
/// the caller brings the buffer.
pub struct Reader<'a> {
    inner: &'a dyn ReadAt,
    size: Bytes,
    budget: Bytes,
    spent: Cell<u64>,
    runs: RefCell<Vec<Run>>,
}

/// Consecutive blocks fetched by one read.
struct Run {
    start: u64,
    data: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// What one target may cost unless said otherwise: enough for a hundred partitions.
    pub const DEFAULT_BUDGET: Bytes = Bytes::mib(8);

    /// A reader over `inner` that fetches at most [`Reader::DEFAULT_BUDGET`].
    #[must_use]
    pub fn new(inner: &'a dyn ReadAt) -> Reader<'a> {
        Reader::with_budget(inner, Reader::DEFAULT_BUDGET)
    }

    /// A reader over `inner` that fetches at most `budget` bytes.
    #[must_use]
    pub fn with_budget(inner: &'a dyn ReadAt, budget: Bytes) -> Reader<'a> {
        Reader {
            inner,
            size: inner.size(),
            budget,
            spent: Cell::new(0),
            runs: RefCell::new(Vec::with_capacity(16)),
        }
    }

    /// Size of the target.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// How many bytes have been fetched so far.
    #[must_use]
    pub fn spent(&self) -> Bytes {
        Bytes::new(self.spent.get())
    }

    /// Fetches `len` bytes at `offset` in one read, if they are not there yet: what follows is then served from memory.
    ///
    /// Cut short at the end of the target. Failures are reported by the reads that need the bytes.
    pub fn prefetch(&self, offset: Bytes, len: Bytes) {
        let end = offset.get().saturating_add(len.get()).min(self.size.get());
        if offset.get() < end {
            let _ = self.with_run(offset.get(), end, |_| ());
        }
    }

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// A [`ReadError`] when any of the bytes cannot be had; `buf` is then unspecified.
    pub fn fill(&self, offset: Bytes, buf: &mut [u8]) -> Result<(), ReadError> {
        let len = Bytes::new(u64::try_from(buf.len()).unwrap_or(u64::MAX));
        let fail = |kind| ReadError {
            kind,
            offset,
            len,
            source: None,
        };
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= self.size)
            .ok_or_else(|| fail(ReadErrorKind::PastEnd { size: self.size }))?;
        if buf.is_empty() {
            return Ok(());
        }
        self.with_run(offset.get(), end.get(), |bytes| buf.copy_from_slice(bytes))
            .map_err(|error| match error {
                Failure::Budget => fail(ReadErrorKind::BudgetSpent {
                    budget: self.budget,
                }),
                Failure::Short => fail(ReadErrorKind::Device),
                Failure::Os(source) => ReadError {
                    kind: match source.kind() {
                        io::ErrorKind::NotFound => ReadErrorKind::NotGiven,
                        _ => ReadErrorKind::Device,
                    },
                    offset,
                    len,
                    source: Some(Arc::new(source)),
                },
            })
    }

    /// Calls `use_bytes` with the bytes of `start..end`, which lie inside the target and are not empty.
    fn with_run<T>(
        &self,
        start: u64,
        end: u64,
        use_bytes: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Failure> {
        let within = |run: &Run| {
            let from = usize::try_from(start.checked_sub(run.start)?).ok()?;
            let to = usize::try_from(end.checked_sub(run.start)?).ok()?;
            (to <= run.data.len()).then_some((from, to))
        };
        // The newest run is the likeliest.
        if let Some((run, (from, to))) = self
            .runs
            .borrow()
            .iter()
            .rev()
            .find_map(|run| Some((run, within(run)?)))
        {
            return Ok(use_bytes(&run.data[from..to]));
        }
        let first = start / BLOCK * BLOCK;
        let last = end
            .div_ceil(BLOCK)
            .saturating_mul(BLOCK)
            .min(self.size.get());
        let spent = self
            .spent
            .get()
            .checked_add(last - first)
            .filter(|spent| *spent <= self.budget.get());
        let spent = spent.ok_or(Failure::Budget)?;
        self.spent.set(spent);
        // Bounded by the budget, which is memory the caller allowed.
        let len = usize::try_from(last - first).map_err(|_| Failure::Budget)?;
        let mut data = Vec::with_capacity(len);
        while data.len() < len {
            let at = Bytes::new(first + u64::try_from(data.len()).unwrap_or(0));
            match self.inner.append_at(at, len - data.len(), &mut data) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Os(error)),
            }
        }
        let run = Run { start: first, data };
        let (from, to) = within(&run).ok_or(Failure::Short)?;
        let out = use_bytes(&run.data[from..to]);
        self.runs.borrow_mut().push(run);
        Ok(out)
    }
}

enum Failure {
    Budget,
    Short,
    Os(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts reads; fails or ends early where told to.
    struct Flaky {
        data: Vec<u8>,
        promised: u64,
        bad: Option<u64>,
    }

    impl ReadAt for Flaky {
        fn size(&self) -> Bytes {
            Bytes::new(self.promised)
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
            if self
                .bad
                .is_some_and(|bad| offset.get() <= bad && bad < offset.get() + buf.len() as u64)
            {
                return Err(io::Error::other("medium error"));
            }
            // Short reads are legal: give at most 1,000 bytes at a time.
            let n = buf.len().min(1_000);
            self.data.read_at(offset, &mut buf[..n])
        }
    }

    proptest! {
        #[test]
        fn reads_equal_slices_and_blocks_are_fetched_once(
            len in 0_usize..20_000,
            reads in proptest::collection::vec((0_usize..20_000, 0_usize..9_000), 1..12),
        ) {
            let data: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).expect("below 251")).collect();
            let reader = Reader::new(&data);
            for (start, n) in reads {
                let mut buf = vec![0xee; n];
                let got = reader.fill(Bytes::new(start as u64), &mut buf);
                match data.get(start..start + n) {
                    Some(want) => { prop_assert!(got.is_ok()); prop_assert_eq!(&buf, want); }
                    None => {
                        let kind = got.expect_err("past the end").kind;
                        prop_assert_eq!(kind, ReadErrorKind::PastEnd { size: Bytes::new(len as u64) });
                    }
                }
            }
        }
    }

    #[test]
    fn a_second_read_of_the_same_block_costs_nothing() {
        let data = vec![7; 10_000];
        let reader = Reader::new(&data);
        reader.prefetch(Bytes::ZERO, Bytes::new(5_000));
        assert_eq!(reader.spent(), Bytes::new(8_192));
        reader
            .fill(Bytes::new(4_500), &mut [0; 600])
            .expect("inside");
        assert_eq!(reader.spent(), Bytes::new(8_192));
    }

    #[test]
    fn the_budget_is_a_limit() {
        let data = vec![0; 100_000];
        let reader = Reader::with_budget(&data, Bytes::new(10_000));
        reader
            .fill(Bytes::ZERO, &mut [0; 8_000])
            .expect("within budget");
        let error = reader
            .fill(Bytes::new(50_000), &mut [0; 4_000])
            .expect_err("over budget");
        assert_eq!(
            error.kind,
            ReadErrorKind::BudgetSpent {
                budget: Bytes::new(10_000)
            }
        );
        assert_eq!(
            error.to_string(),
            "reading 4,000 bytes at 0xc350 would exceed the limit of 10,000 B for one target"
        );
    }

    #[test]
    fn a_medium_error_names_the_byte() {
        let disk = Flaky {
            data: vec![0; 20_000],
            promised: 20_000,
            bad: Some(9_000),
        };
        let reader = Reader::new(&disk);
        reader
            .fill(Bytes::new(100), &mut [0; 50])
            .expect("before the bad block");
        let error = reader
            .fill(Bytes::new(8_200), &mut [0; 8])
            .expect_err("bad block");
        assert_eq!(
            error.to_string(),
            "reading 8 bytes at 0x2008 failed: medium error"
        );
    }

    #[test]
    fn a_device_that_shrinks_is_an_error_and_not_zeroes() {
        let disk = Flaky {
            data: vec![0; 5_000],
            promised: 20_000,
            bad: None,
        };
        let error = Reader::new(&disk)
            .fill(Bytes::new(6_000), &mut [0; 8])
            .expect_err("vanished");
        assert_eq!(error.kind, ReadErrorKind::Device);
    }
}
