//! VHDX in place.
//!
//! The log has to be empty, so that nothing that is written here can be replayed over. In this order:
//!
//! 1. A header with new GUIDs of this writing and of this content, first over the header that does not count, flush, then over the
//!    other, flush. Children know by it that their parent was changed.
//! 2. The file is made longer by the new blocks, which lie at multiples of 1 MiB behind its end. Flush.
//! 3. The entries of the table. Flush. Each is 8 bytes in one sector, so that it needs no log to be whole.
//!
//! A disk becomes longer in this order: the header as above; empty entries behind those in use, as far as the region of the table has
//! room, flush; the 8 bytes of its size among the metadata, flush; and the blocks of a fixed disk as above.

use std::ops::Range;
use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::ReadAt;

use super::append;
use super::blocks::{Layout, Opened};
use super::claims::{self, Rules};
use super::error::ContainerError;
use super::recognised::{Found, recognised};
use crate::Store;
use crate::format::bits::{fill, le16, le32, le64, put, read, up};
use crate::format::vhdx::{
    DISK_SIZE, HEADERS, LOGICAL, MAX_DISK, METADATA, MIB, PARAMETERS, PRESENT, REGIONS,
    REGIONS_LEN, TABLE, entry_of, ratio, seal,
};
use crate::ids::Ids;

const FORMAT: &str = "vhdx";

struct Vhdx {
    /// The header that counts, and which of the two it is.
    header: Box<[u8; 4096]>,
    current: usize,
    table: Range<u64>,
    /// Where the size of the disk stands.
    size_at: u64,
    size: u64,
    block: u64,
    ratio: u64,
    is_fixed: bool,
    /// End of all that is in use.
    end: u64,
}

pub(super) fn open(file: &Arc<dyn Store>) -> Result<Opened, String> {
    // One of the two headers may be torn by a call that was stopped.
    let permitted = Found {
        copies: true,
        ..Found::default()
    };
    let found = recognised(file, FORMAT, &permitted)?;
    let table = found.table.ok_or("it has no table of blocks")?;
    let failed = |error: std::io::Error| error.to_string();
    let mut valid = Vec::new();
    for (index, at) in HEADERS.into_iter().enumerate() {
        let header: [u8; 4096] = read(&**file, at).map_err(failed)?;
        let mut sealed = header;
        seal(&mut sealed);
        if header.starts_with(b"head") && sealed == header {
            valid.push((le64(&header, 8), index, header));
        }
    }
    // Of equal ones the first, as the prober decides.
    valid.reverse();
    let (_, current, header) = valid
        .into_iter()
        .max_by_key(|(sequence, ..)| *sequence)
        .ok_or("neither of its headers is valid")?;
    let regions = regions(&**file).map_err(failed)?;
    let [Some(entries), Some(metadata)] = [TABLE, METADATA].map(|id| regions.get(&id)) else {
        return Err("its regions lack the table or the metadata".to_owned());
    };
    let items = items(&**file, metadata.start).map_err(failed)?;
    let [Some(parameters), Some(size_at), Some(logical)] =
        [PARAMETERS, DISK_SIZE, LOGICAL].map(|id| items.get(&id))
    else {
        return Err("its metadata lack the size of the disk, its blocks or its sectors".to_owned());
    };
    let parameters: [u8; 8] = read(&**file, parameters).map_err(failed)?;
    let sector = le32(&read::<4>(&**file, logical).map_err(failed)?, 0);
    let sector = SectorSize::new(sector).ok_or("its sectors have no usual size")?;
    let block = u64::from(le32(&parameters, 0));
    let mut layout = Vhdx {
        header: Box::new(header),
        current,
        table: entries,
        size_at,
        size: le64(&read::<8>(&**file, size_at).map_err(failed)?, 0),
        block,
        ratio: ratio(u64::from(sector.get()), block),
        is_fixed: parameters[4] & 1 != 0,
        end: 0,
    };
    if !layout.table.start.is_multiple_of(8) || !size_at.is_multiple_of(8) {
        return Err("its table or its metadata do not begin at a multiple of 8 bytes".to_owned());
    }
    let mut taken: Vec<(&'static str, Range<u64>)> = regions
        .0
        .iter()
        .map(|(_, place)| ("a region", place.clone()))
        .collect();
    let log = le64(&header, 0x48);
    taken.push(("the headers", 0..MIB));
    taken.push((
        "the log",
        log..log.saturating_add(u64::from(le32(&header, 0x44))),
    ));
    taken.retain(|(_, place)| place.start < place.end);
    taken.sort_by_key(|(_, place)| place.start);
    let rules = Rules {
        front: 0,
        file: file.size().get(),
        taken: &taken,
    };
    let end = claims::check(&*table, &rules).map_err(|error| error.to_string())?;
    layout.end = layout.table.end.max(end);
    Ok(Opened {
        table,
        layout: Box::new(layout),
        sector,
        permitted,
    })
}

/// Places by GUIDs.
struct Places(Vec<([u8; 16], Range<u64>)>);

impl Places {
    fn get(&self, id: &[u8; 16]) -> Option<Range<u64>> {
        let found = self.0.iter().find(|(known, _)| known == id)?;
        Some(found.1.clone())
    }
}

struct Items(Vec<([u8; 16], u64)>);

impl Items {
    fn get(&self, id: &[u8; 16]) -> Option<u64> {
        let found = self.0.iter().find(|(known, _)| known == id)?;
        Some(found.1)
    }
}

/// The regions by the first copy that is valid; the prober has said that one is, and what is wrong with them.
fn regions(file: &dyn ReadAt) -> std::io::Result<Places> {
    let mut raw = vec![0; REGIONS_LEN];
    for at in REGIONS {
        fill(file, at, &mut raw)?;
        let mut sealed = raw.clone();
        seal(&mut sealed);
        if raw.starts_with(b"regi") && sealed == raw {
            break;
        }
    }
    let count = usize::try_from(le32(&raw, 8)).unwrap_or(0);
    let rows = raw.get(16..).unwrap_or(&[]).as_chunks::<32>().0;
    let places = rows.iter().take(count).map(|row| {
        let start = le64(row, 16);
        let len = u64::from(le32(row, 24));
        (
            crate::format::bits::bytes(row, 0),
            start..start.saturating_add(len),
        )
    });
    Ok(Places(places.collect()))
}

/// Where the items of the metadata stand.
fn items(file: &dyn ReadAt, start: u64) -> std::io::Result<Items> {
    let mut raw = vec![0; REGIONS_LEN];
    fill(file, start, &mut raw)?;
    let count = usize::from(le16(&raw, 10));
    let rows = raw.get(32..).unwrap_or(&[]).as_chunks::<32>().0;
    let items = rows.iter().take(count);
    // What users add is theirs, whatever its name.
    let known = items.filter(|row| le32(*row, 24) & 1 == 0);
    let places = known.map(|row| {
        let at = start.saturating_add(u64::from(le32(row, 16)));
        (crate::format::bits::bytes(row, 0), at)
    });
    Ok(Items(places.collect()))
}

impl Vhdx {
    fn refused(why: String) -> ContainerError {
        ContainerError::Refused {
            format: FORMAT,
            why,
        }
    }

    /// Entries that a disk of `size` bytes has.
    fn entries(&self, size: u64) -> u64 {
        let last = size.div_ceil(self.block).checked_sub(1);
        last.map_or(0, |last| entry_of(last, self.ratio).saturating_add(1))
    }
}

impl Layout for Vhdx {
    fn touch(&mut self, file: &dyn Store, ids: &mut Ids) -> Result<(), ContainerError> {
        put(&mut *self.header, 0x10, &ids.guid()?);
        put(&mut *self.header, 0x20, &ids.guid()?);
        for _ in HEADERS {
            let sequence = le64(&*self.header, 8).wrapping_add(1);
            put(&mut *self.header, 8, &sequence.to_le_bytes());
            seal(&mut *self.header);
            self.current ^= 1;
            let at = HEADERS.get(self.current).copied().unwrap_or(HEADERS[0]);
            file.write_at(Bytes::new(at), &*self.header)
                .map_err(ContainerError::io("writing a header"))?;
            file.flush()?;
        }
        Ok(())
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let start = up(self.end.max(file.size().get()), MIB);
        let mut at = start;
        let mut placed = Vec::with_capacity(blocks.len());
        for block in blocks {
            placed.push((entry_of(*block, self.ratio), (at | PRESENT).to_le_bytes()));
            at = at.saturating_add(self.block);
        }
        append::zeroes(file, start, at)?;
        file.flush()?;
        append::entries(file, self.table.start, placed.into_iter())?;
        file.flush()?;
        self.end = at;
        Ok(())
    }

    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let (had, needed) = (self.entries(self.size), self.entries(size.get()));
        let room = self.table.end.saturating_sub(self.table.start) / 8;
        if needed > room || size.get() > MAX_DISK {
            return Err(Vhdx::refused(format!(
                "a disk of {size} needs {} entries in its table, which has room for {} (a VHDX has at most 64 TiB): write a longer one \
                 with -o",
                Bytes::new(needed).grouped(),
                Bytes::new(room).grouped()
            )));
        }
        let added = (had..needed).map(|index| (index, [0; 8]));
        append::entries(file, self.table.start, added)?;
        file.flush()?;
        file.write_at(Bytes::new(self.size_at), &size.get().to_le_bytes())?;
        file.flush()?;
        self.size = size.get();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_fixed
    }
}
