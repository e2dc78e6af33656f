//! The table of a dynamic or differencing VHD.

use straddle_geometry::{BlockTable, Bytes, Extent, Place as Lies, Sink, TableError, Unit, entry};

use super::{FREE, SECTOR};
use crate::container::sectors::{Batch, Bitmap, Bitmaps};
use crate::container::table::{BATCH, Cut, Entries, Even, Flat, evenly, send_part};

/// What an entry of the table stands for.
#[derive(Debug)]
pub(super) struct SectorNumbers {
    pub(super) bitmap: u64,
}

impl Entries for SectorNumbers {
    const WIDTH: u64 = 4;

    fn decode(&self, raw: &[u8], out: &mut Vec<u64>) {
        let (entries, _) = raw.as_chunks::<4>();
        for entries in entries.chunks(BATCH) {
            let numbers = || entries.iter().map(|raw| u32::from_be_bytes(*raw));
            // Below 2³² × 2⁹ + 2²⁰: no overflow.
            let place = |n: u32| u64::from(n) * SECTOR + self.bitmap;
            // Tables are mostly full or mostly empty: where none is free, there is nothing to decide.
            if numbers().fold(false, |free, n| free | (n == FREE)) {
                out.extend(numbers().map(|n| if n == FREE { entry::ABSENT } else { place(n) }));
            } else {
                out.extend(numbers().map(place));
            }
        }
    }

    fn even(&self, raw: &[u8]) -> Option<Even> {
        let entries = raw.as_chunks::<4>().0;
        let (first, step, count) = evenly!(entries, |raw: &[u8; 4]| u32::from_be_bytes(*raw))?;
        if first == FREE && step == 0 {
            return Some(Even {
                lower: entry::ABSENT,
                stride: 0,
                count,
            });
        }
        // The sums were made modulo 2³².
        let last = u64::from(step) * u64::try_from(count - 1).ok()? + u64::from(first);
        (step > 0 && last < u64::from(FREE)).then(|| Even {
            lower: u64::from(first) * SECTOR + self.bitmap,
            stride: u64::from(step) * SECTOR,
            count,
        })
    }
}

/// The table of a differencing disk: of an allocated block only those sectors are here that its bitmap says.
#[derive(Debug)]
pub(super) struct Differencing {
    pub(super) flat: Flat<SectorNumbers>,
    pub(super) bitmaps: Bitmaps,
    pub(super) file: Bytes,
}

impl Differencing {
    /// The bitmap of the block whose data is at `data`.
    fn bitmap(&self, data: u64) -> Bitmap {
        Bitmap {
            start: data - self.flat.format.bitmap,
            sectors: self.flat.block.get() / SECTOR,
        }
    }
}

impl BlockTable for Differencing {
    fn block(&self) -> Unit {
        self.flat.block
    }

    fn size(&self) -> Bytes {
        self.flat.size
    }

    fn parent(&self) -> Option<usize> {
        self.flat.parent
    }

    fn locate(&self, offset: Bytes) -> Result<Lies, TableError> {
        let place = self.flat.locate(offset)?;
        let Lies::At { offset: below, .. } = place else {
            return Ok(place);
        };
        let (_, within) = offset.div_rem(self.flat.block);
        let data = below.checked_sub(within).ok_or("a block before its file")?;
        let (sector, into) = (within.get() / SECTOR, within.get() % SECTOR);
        let (here, sectors) = self.bitmaps.locate(self.bitmap(data.get()), sector)?;
        let run = Bytes::new(sectors * SECTOR - into);
        Ok(if here {
            Lies::At {
                target: 0,
                offset: below,
                run,
            }
        } else {
            Lies::Absent { run }
        })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let flat = &self.flat;
        let cut = Cut::new(range, flat.block, flat.size);
        if let Some(head) = cut.head {
            send_part(self, head, sink)?;
        }
        if !cut.whole.is_empty() {
            let mut batch = Batch::new(sink, cut.whole.start, flat.block.get(), SECTOR, self.file);
            let mut lower = Vec::new();
            let done = flat.chunks(cut.whole.clone(), |raw| {
                lower.clear();
                flat.format.decode(raw, &mut lower);
                for place in &lower {
                    match *place {
                        entry::ABSENT => batch.push(entry::ABSENT),
                        data => batch.divided(&self.bitmaps, self.bitmap(data), data)?,
                    }
                }
                batch.flush();
                Ok(())
            });
            batch.flush();
            done?;
        }
        match cut.tail {
            Some(tail) => send_part(self, tail, sink),
            None => Ok(()),
        }
    }
}
