//! The private header of a dynamic disk (PRIVHEAD): where its data area and its copy of the database lie.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Anomaly, AnomalyKind, Key};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Window;
use crate::partition::{gpt, mbr};
use crate::record::{Recorder, place, printable};

/// Type of the entries of an MBR that stand for a dynamic disk.
const MBR_TYPE: u8 = 0x42;
/// Type of the GPT partition that holds the database, as it is stored.
const METADATA: [u8; 16] = [
    0xaa, 0xc8, 0x08, 0x58, 0x8f, 0x7e, 0xe0, 0x42, 0x85, 0xd2, 0xe1, 0xe9, 0x04, 0x34, 0xcf, 0xb3,
];
const MAGIC: [u8; 8] = *b"PRIVHEAD";
/// Sector of the header on a disk with an MBR.
const PRIMARY: u64 = 6;
/// Sectors of the copies in a database of the usual size.
const COPIES: [u64; 2] = [1856, 2047];
/// Sectors of a database, as Windows makes it.
const USUAL_DATABASE: u64 = 2048;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Raw {
    magic: [u8; 8],
    sum: U32,
    major: U16,
    minor: U16,
    written: U64,
    unknown: [U64; 3],
    disk: [u8; 64],
    host: [u8; 64],
    group: [u8; 64],
    group_name: [u8; 32],
    unknown_too: [u8; 11],
    data_start: U64,
    data_size: U64,
    config_start: U64,
    config_size: U64,
}

/// A header that was found.
pub(super) struct Head {
    pub(super) raw: Raw,
    /// Where it lies in the window.
    pub(super) at: u64,
    /// Sector that it counts in.
    pub(super) sector: SectorSize,
    /// What is odd about it and its copies.
    pub(super) anomalies: Vec<Anomaly>,
}

impl Head {
    /// Looks for the header of the disk that `window` is.
    pub(super) fn find(window: &Window<'_>) -> Result<Option<Head>, ReadError> {
        let types = mbr::types(window)?;
        if types.contains(&MBR_TYPE) {
            on_mbr(window)
        } else if types.contains(&mbr::PROTECTIVE) {
            on_gpt(window)
        } else {
            Ok(None)
        }
    }

    fn read(window: &Window<'_>, at: u64, sector: SectorSize) -> Result<Option<Head>, ReadError> {
        let raw: Raw = match window.get(at) {
            Ok(raw) => raw,
            Err(error) if matches!(error.kind, ReadErrorKind::PastEnd { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok((raw.magic == MAGIC).then(|| Head {
            raw,
            at,
            sector,
            anomalies: Vec::new(),
        }))
    }

    /// Bytes of so many sectors.
    pub(super) fn bytes(&self, sectors: u64) -> Option<Bytes> {
        self.sector.sectors(sectors).bytes()
    }

    /// The GUID of the group, as text.
    pub(super) fn group(&self) -> String {
        printable(&self.raw.group).to_lowercase()
    }

    /// The GUID of the disk, as text.
    pub(super) fn disk(&self) -> String {
        printable(&self.raw.disk).to_lowercase()
    }

    /// Where the volumes' partitions count from, and how far they may go.
    pub(super) fn data(&self) -> Option<Extent> {
        let start = self.bytes(self.raw.data_start.get())?;
        Extent::new(start, self.bytes(self.raw.data_size.get())?)
    }

    /// Where the database lies.
    pub(super) fn database(&self) -> Option<Extent> {
        let start = self.bytes(self.raw.config_start.get())?;
        Extent::new(start, self.bytes(self.raw.config_size.get())?)
    }

    /// First sector of the database, and how many it has.
    pub(super) fn raw_config(&self) -> (u64, u64) {
        (self.raw.config_start.get(), self.raw.config_size.get())
    }

    /// Something wrong with what the header leads to.
    pub(super) fn odd(&self, window: &Window<'_>, detail: String) -> Anomaly {
        let place = place!(Raw.config_start);
        let at = u64::try_from(place.offset).unwrap_or(0);
        let source = window.source(self.at.saturating_add(at), place.len);
        Anomaly::at(AnomalyKind::Damaged, detail, source)
    }

    /// Says on the disk's layer what the header says.
    pub(super) fn say<'a>(&self, window: &'a Window<'a>) -> Recorder<'a> {
        let mut say = Recorder::new(window, self.at);
        let version = format!("{}.{}", self.raw.major.get(), self.raw.minor.get());
        say.text(Key::Version, version, place!(Raw.minor));
        say.name(Key::Uuid, &self.raw.disk, place!(Raw.disk));
        say.name(Key::SetUuid, &self.raw.group, place!(Raw.group));
        say.name(
            Key::VolumeGroup,
            &self.raw.group_name,
            place!(Raw.group_name),
        );
        let sector = u64::from(self.sector.get());
        let start = self.raw.data_start.get().checked_mul(sector);
        if let Some(start) = start {
            say.bytes(Key::DataOffset, start, place!(Raw.data_start));
        }
        if let Some(size) = self.raw.data_size.get().checked_mul(sector) {
            say.bytes(Key::DataSize, size, place!(Raw.data_size));
        }
        let mut damaged = |detail: String, place| say.odd(AnomalyKind::Damaged, detail, place);
        if !(self.raw.major.get() == 2 && matches!(self.raw.minor.get(), 11 | 12)) {
            let detail = format!(
                "the private header has version {}.{}; expected 2.11 or 2.12: it is read as these are",
                self.raw.major.get(),
                self.raw.minor.get()
            );
            damaged(detail, place!(Raw.minor));
        }
        let whole = Extent::whole(window.size());
        match self.data() {
            Some(data) if whole.contains(data) && !data.is_empty() => {
                if let Some(database) = self.database()
                    && database.overlaps(data)
                {
                    let detail = format!(
                        "the data area, bytes {} to {}, and the database at byte {} overlap; expected one after another",
                        data.start().grouped(),
                        data.end().grouped(),
                        database.start().grouped()
                    );
                    damaged(detail, place!(Raw.config_start));
                }
            }
            _ => {
                let detail = format!(
                    "the data area is recorded as {} sectors from sector {}; expected an area within the disk of {} bytes",
                    self.raw.data_size.get(),
                    self.raw.data_start.get(),
                    window.size().grouped()
                );
                damaged(detail, place!(Raw.data_start));
            }
        }
        say
    }

    /// True when another copy says the same about what counts.
    fn agrees(&self, other: &Raw) -> bool {
        let own = &self.raw;
        own.disk == other.disk
            && own.group == other.group
            && own.data_start == other.data_start
            && own.data_size == other.data_size
            && own.config_start == other.config_start
            && own.config_size == other.config_size
    }

    /// Compares the copies in the database, where it has the usual size.
    fn compare(&mut self, window: &Window<'_>) -> Result<(), ReadError> {
        let start = self.raw.config_start.get();
        if self.raw.config_size.get() != USUAL_DATABASE {
            return Ok(());
        }
        for (number, sector) in (2..).zip(COPIES) {
            let at = start
                .checked_add(sector)
                .and_then(|sector| self.bytes(sector));
            let Some(at) = at.filter(|at| at.get() != self.at) else {
                continue;
            };
            let source = |len| window.source(at.get(), len);
            match Head::read(window, at.get(), self.sector)? {
                Some(copy) if self.agrees(&copy.raw) => {}
                Some(_) => {
                    let detail = format!(
                        "copy {number} of the private header, at byte {}, says something else than the one at byte {}, which is used",
                        at.grouped(),
                        Bytes::new(self.at).grouped()
                    );
                    let anomaly = Anomaly::at(AnomalyKind::CopiesDiffer, detail, source(8));
                    self.anomalies.push(anomaly);
                }
                // The last may be missing on disks of odd sizes.
                None if sector == COPIES[0] => {
                    let detail = format!(
                        "there is no copy of the private header at byte {}; expected PRIVHEAD",
                        at.grouped()
                    );
                    let anomaly = Anomaly::at(AnomalyKind::CopiesDiffer, detail, source(8));
                    self.anomalies.push(anomaly);
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// The header in sector 6, or one of the copies in the database, which is the last MiB of the disk.
fn on_mbr(window: &Window<'_>) -> Result<Option<Head>, ReadError> {
    for sector in sectors(window) {
        let unit = u64::from(sector.get());
        if let Some(mut head) = Head::read(window, PRIMARY * unit, sector)? {
            head.compare(window)?;
            return Ok(Some(head));
        }
    }
    for sector in sectors(window) {
        let unit = u64::from(sector.get());
        let end = window.size().get() / unit;
        for from_end in [1, USUAL_DATABASE - COPIES[0]] {
            let Some(last) = end.checked_sub(from_end) else {
                continue;
            };
            let found = Head::read(window, last.saturating_mul(unit), sector)?;
            if let Some(mut head) = found {
                let detail = format!(
                    "there is no private header in sector {PRIMARY}; the copy at byte {} is used",
                    Bytes::new(head.at).grouped()
                );
                let source = window.source(head.at, 8);
                head.anomalies
                    .push(Anomaly::at(AnomalyKind::UnusualPlace, detail, source));
                return Ok(Some(head));
            }
        }
    }
    Ok(None)
}

/// The header at the end of the partition that holds the database, or the copy before it.
fn on_gpt(window: &Window<'_>) -> Result<Option<Head>, ReadError> {
    let Some((sector, found)) = gpt::first_of_type(window, &METADATA)? else {
        return Ok(None);
    };
    let unit = u64::from(sector.get());
    let at = |lba: u64| lba.checked_mul(unit);
    if let Some(last) = at(*found.end())
        && let Some(mut head) = Head::read(window, last, sector)?
    {
        head.compare(window)?;
        return Ok(Some(head));
    }
    let copy = found.start().checked_add(COPIES[0]).and_then(at);
    let Some(copy) = copy else { return Ok(None) };
    let mut head = Head::read(window, copy, sector)?;
    if let Some(head) = &mut head {
        let detail = format!(
            "there is no private header in the last sector of the partition of the database; the copy at byte {} is used",
            Bytes::new(copy).grouped()
        );
        let source = window.source(copy, 8);
        head.anomalies
            .push(Anomaly::at(AnomalyKind::UnusualPlace, detail, source));
    }
    Ok(head)
}

/// Sector sizes to try: the device's own, then the usual ones.
fn sectors(window: &Window<'_>) -> impl Iterator<Item = SectorSize> {
    let own = window.sector();
    let usual = [SectorSize::B512, SectorSize::B4096];
    own.into_iter()
        .chain(usual.into_iter().filter(move |size| Some(*size) != own))
}
