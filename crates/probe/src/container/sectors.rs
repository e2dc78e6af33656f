//! Differencing disks whose blocks are present sector by sector: a bitmap says which sectors are here and which are in
//! the parent. VHD and VHDX share this.

use straddle_geometry::{Bytes, Extent, Gap, Segment, Sink, TableError, Unit, entry};

use super::table::{Even, TableFile};

/// Bytes of a bitmap that are held at once.
const CHUNK: u64 = 64 << 10;
/// How many sectors a single question is answered for at most.
const MAX: u64 = 4096;

/// Which bit of a byte stands for the first sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstBit {
    /// The most significant one: VHD.
    High,
    /// The least significant one: VHDX.
    Low,
}

/// The bitmap of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bitmap {
    /// Where it starts in the file; a multiple of 8, as is its length.
    pub(crate) start: u64,
    /// Number of sectors of the block.
    pub(crate) sectors: u64,
}

/// Reads bitmaps of sectors.
#[derive(Debug)]
pub(crate) struct Bitmaps {
    pub(crate) file: TableFile,
    pub(crate) first: FirstBit,
}

impl Bitmaps {
    /// Eight bytes as a word in which bit n stands for sector n.
    fn word(&self, raw: [u8; 8]) -> u64 {
        match self.first {
            FirstBit::High => u64::from_be_bytes(raw).reverse_bits(),
            FirstBit::Low => u64::from_le_bytes(raw),
        }
    }

    /// Whether `sector` of the block is here, and how many sectors from it on are as it is; more may follow.
    pub(crate) fn locate(&self, bitmap: Bitmap, sector: u64) -> Result<(bool, u64), TableError> {
        let word = |sector: u64| -> Result<u64, TableError> {
            let at = bitmap.start.checked_add(sector / 64 * 8);
            let at = at.ok_or("a bitmap beyond 2⁶⁴ bytes")?;
            Ok(self.word(self.file.get::<8>(at)?))
        };
        let left = bitmap.sectors.saturating_sub(sector).min(MAX);
        let first = word(sector)? >> (sector % 64);
        let here = first & 1 == 1;
        let same = |word: u64| {
            u64::from(if here {
                word.trailing_ones()
            } else {
                word.trailing_zeros()
            })
        };
        let mut run = same(first).min(64 - sector % 64);
        while run < left && (sector + run).is_multiple_of(64) {
            let more = same(word(sector + run)?);
            run += more;
            if more < 64 {
                break;
            }
        }
        Ok((here, run.min(left)))
    }

    /// Calls `each` with every run of sectors that are all here or all absent: first sector, number, whether they are here.
    fn runs(
        &self,
        bitmap: Bitmap,
        scratch: &mut Vec<u8>,
        mut each: impl FnMut(u64, u64, bool),
    ) -> Result<(), TableError> {
        let len = bitmap.sectors.div_ceil(64).saturating_mul(8);
        let mut run: Option<(u64, bool)> = None;
        let mut sector = 0;
        let mut at = 0;
        while at < len {
            scratch.resize(usize::try_from((len - at).min(CHUNK))?, 0);
            self.file.fill(bitmap.start.saturating_add(at), scratch)?;
            let (words, _) = scratch.as_chunks::<8>();
            for raw in words {
                let mut word = self.word(*raw);
                let end = (sector + 64).min(bitmap.sectors);
                while sector < end {
                    let here = word & 1 == 1;
                    let same = u64::from(if here {
                        word.trailing_ones()
                    } else {
                        word.trailing_zeros()
                    });
                    match run {
                        Some((_, was)) if was == here => {}
                        Some((start, was)) => {
                            each(start, sector - start, was);
                            run = Some((sector, here));
                        }
                        None => run = Some((sector, here)),
                    }
                    sector = sector.saturating_add(same).min(end);
                    word = word.checked_shr(u32::try_from(same)?).unwrap_or(0);
                }
            }
            at += CHUNK;
        }
        if let Some((start, here)) = run {
            each(start, bitmap.sectors - start, here);
        }
        Ok(())
    }
}

/// Whole blocks on their way to a sink: kept together as long as none is divided.
pub(crate) struct Batch<'a> {
    sink: &'a mut dyn Sink,
    block: u64,
    sector: u64,
    /// Number of the first block in `lower`.
    first: u64,
    lower: Vec<u64>,
    scratch: Vec<u8>,
    /// Bytes of bitmaps that may still be read.
    allowed: u64,
}

impl<'a> Batch<'a> {
    /// For blocks from number `first` on, of `block` bytes in sectors of `sector`, in a file of `file` bytes.
    pub(crate) fn new(
        sink: &'a mut dyn Sink,
        first: u64,
        block: u64,
        sector: u64,
        file: Bytes,
    ) -> Batch<'a> {
        Batch {
            sink,
            block,
            sector,
            first,
            lower: Vec::new(),
            scratch: Vec::new(),
            // Every block has a bitmap of its own, so all of them together are no longer than the file. Without this, a
            // table whose entries share one bitmap would be read for hours.
            allowed: file.get(),
        }
    }

    /// The next block, in one piece or with a mark.
    pub(crate) fn push(&mut self, lower: u64) {
        self.lower.push(lower);
    }

    /// The next blocks, decoded by `fill`, which appends one value for each.
    pub(crate) fn extend(&mut self, fill: impl FnOnce(&mut Vec<u64>)) {
        fill(&mut self.lower);
    }

    /// The next blocks, of `block` bytes each.
    pub(crate) fn even(&mut self, even: Even, block: Unit) -> Result<(), TableError> {
        self.flush();
        let at = Bytes::new(self.first.saturating_mul(self.block));
        even.send(at, block, self.sink)?;
        self.first = self.first.saturating_add(u64::try_from(even.count)?);
        Ok(())
    }

    /// The next block, which starts at `data` and of which `bitmap` says what is here.
    pub(crate) fn divided(
        &mut self,
        bitmaps: &Bitmaps,
        bitmap: Bitmap,
        data: u64,
    ) -> Result<(), TableError> {
        let cost = bitmap.sectors.div_ceil(8);
        self.allowed = self.allowed.checked_sub(cost).ok_or_else(|| {
            format!(
                "the bitmaps of the blocks are longer than the file: blocks share the bitmap at byte {}",
                Bytes::new(bitmap.start).grouped()
            )
        })?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut flushed = false;
        let done = bitmaps.runs(bitmap, &mut scratch, |start, sectors, here| {
            if sectors == bitmap.sectors {
                self.lower.push(if here { data } else { entry::ABSENT });
                return;
            }
            if !flushed {
                self.flush();
                flushed = true;
            }
            self.part(start, sectors, here.then_some(data));
        });
        self.scratch = scratch;
        done?;
        if flushed {
            self.first = self.first.saturating_add(1);
        }
        Ok(())
    }

    /// Some sectors of the block that comes next.
    fn part(&mut self, start: u64, sectors: u64, data: Option<u64>) {
        let within = start * self.sector;
        let at = self.first.saturating_mul(self.block).saturating_add(within);
        let Some(upper) = Extent::new(Bytes::new(at), Bytes::new(sectors * self.sector)) else {
            return;
        };
        match data {
            Some(data) => self.sink.piece(Segment {
                upper,
                target: 0,
                lower: Bytes::new(data.saturating_add(within)),
            }),
            None => self.sink.gap(upper, Gap::Absent),
        }
    }

    /// Sends what is kept.
    pub(crate) fn flush(&mut self) {
        if self.lower.is_empty() {
            return;
        }
        let at = Bytes::new(self.first.saturating_mul(self.block));
        self.sink.blocks(at, 0, &self.lower);
        let count = u64::try_from(self.lower.len()).unwrap_or(u64::MAX);
        self.first = self.first.saturating_add(count);
        self.lower.clear();
    }
}
