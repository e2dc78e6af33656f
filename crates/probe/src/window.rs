use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::{ReadError, ReadErrorKind, Reader};
use straddle_stack::{Fact, ImageBytes, Source};
use zerocopy::{FromBytes, IntoBytes};

/// A part of a target: what a prober may look at. Offsets are relative to the window; facts that come out of it carry
/// the offset in the whole target.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    reader: &'a Reader<'a>,
    extent: Extent,
    sector: Option<SectorSize>,
}

impl<'a> Window<'a> {
    /// The whole target. `sector` is its logical sector size, where that is known.
    #[must_use]
    pub fn whole(reader: &'a Reader<'a>, sector: Option<SectorSize>) -> Window<'a> {
        Window {
            reader,
            extent: Extent::whole(reader.size()),
            sector,
        }
    }

    /// The part `extent` of this window, cut at its end; `None` when it starts beyond the end or is empty.
    #[must_use]
    pub fn part(&self, extent: Extent) -> Option<Window<'a>> {
        let left = self
            .size()
            .checked_sub(extent.start())
            .filter(|left| *left > Bytes::ZERO)?;
        let len = extent.len().min(left);
        let start = self.extent.start().checked_add(extent.start())?;
        let extent = Extent::new(start, len).filter(|e| !e.is_empty())?;
        Some(Window { extent, ..*self })
    }

    /// Number of bytes in the window.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.extent.len()
    }

    /// Logical sector size of the target; `None` for a plain file, which has none.
    #[must_use]
    pub fn sector(&self) -> Option<SectorSize> {
        self.sector
    }

    /// Where the window lies in the target.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Number of bytes of the whole target that the window is a part of.
    #[must_use]
    pub fn target_size(&self) -> Bytes {
        self.reader.size()
    }

    /// Fetches bytes that are about to be looked at, in one read.
    pub fn prefetch(&self, offset: u64, len: u64) {
        if let Some(left) = self.size().checked_sub(Bytes::new(offset)) {
            let at = self.extent.start().checked_add(Bytes::new(offset));
            if let Some(at) = at {
                self.reader.prefetch(at, left.min(Bytes::new(len)));
            }
        }
    }

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`ReadError`], its offset counted from the beginning of the target.
    pub fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        let len = Bytes::new(u64::try_from(buf.len()).unwrap_or(u64::MAX));
        let inside = Extent::new(Bytes::new(offset), len)
            .is_some_and(|e| Extent::whole(self.size()).contains(e));
        let at = self.extent.start().checked_add(Bytes::new(offset));
        match at.filter(|_| inside) {
            Some(at) => self.reader.fill(at, buf),
            None => Err(ReadError {
                kind: ReadErrorKind::PastEnd {
                    size: self.extent.end(),
                },
                offset: at.unwrap_or(Bytes::MAX),
                len,
                source: None,
            }),
        }
    }

    /// Reads an on-disk structure at `offset`.
    ///
    /// # Errors
    /// As [`Window::fill`].
    pub fn get<T: FromBytes + IntoBytes>(&self, offset: u64) -> Result<T, ReadError> {
        let mut value = T::new_zeroed();
        self.fill(offset, value.as_mut_bytes())?;
        Ok(value)
    }

    /// True when the bytes at `offset` are `want`; false also when they are beyond the end.
    ///
    /// # Errors
    /// As [`Window::fill`], except past the end.
    pub fn matches(&self, offset: u64, want: &[u8]) -> Result<bool, ReadError> {
        let mut have = [0; 32];
        let have = &mut have[..want.len().min(32)];
        match self.fill(offset, have) {
            Ok(()) => Ok(have == want),
            Err(ReadError {
                kind: ReadErrorKind::PastEnd { .. },
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a field as evidence. A field that cannot be read (it just was) has no bytes.
    #[must_use]
    pub fn source(&self, offset: u64, len: usize) -> Source {
        let at = self
            .extent
            .start()
            .checked_add(Bytes::new(offset))
            .unwrap_or(Bytes::MAX);
        // Rows are those of the target, so that the evidence looks like `hexdump -C` of it.
        let first_row = at.get() & !15;
        let want = (at.get() - first_row)
            .saturating_add(u64::try_from(len).unwrap_or(16))
            .div_ceil(16)
            * 16;
        let mut rows = [0; 32];
        let available = self
            .reader
            .size()
            .get()
            .saturating_sub(first_row)
            .min(want)
            .min(32);
        let rows = &mut rows[..usize::try_from(available).unwrap_or(0)];
        let kept = if self.reader.fill(Bytes::new(first_row), rows).is_ok() {
            &*rows
        } else {
            &[]
        };
        Source::Image(ImageBytes::new(at, len, kept))
    }

    /// `value`, with the field of `len` bytes at `offset` as its provenance.
    #[must_use]
    pub fn fact<T>(&self, value: T, offset: u64, len: usize) -> Fact<T> {
        Fact {
            value,
            source: self.source(offset, len),
            trust: straddle_stack::Trust::Recorded,
        }
    }
}
