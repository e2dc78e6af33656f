//! `FileFsSizeInformation` and `FileFsAttributeInformation`, which every filesystem answers: how long its allocation units are, and what it
//! calls itself.

use straddle_geometry::{SectorSize, Unit};

use super::BadAnswer;
use super::fields::Fields;
use super::name::units_text;

/// Longest name of a filesystem, in bytes.
const MAX_NAME: usize = 64;

/// Allocation unit and sector of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesystemSize {
    /// Its allocation unit.
    pub cluster: Unit,
    /// Its sector.
    pub sector: SectorSize,
}

impl FilesystemSize {
    /// Decodes a `FILE_FS_SIZE_INFORMATION`.
    ///
    /// # Errors
    /// When it is not whole, the sector cannot be one, or an allocation unit has no sector.
    pub fn decode(bytes: &[u8]) -> Result<FilesystemSize, BadAnswer> {
        let all = Fields::new("FILE_FS_SIZE_INFORMATION", bytes);
        let field = ("SectorsPerAllocationUnit", 16);
        let count = all.u32(field)?;
        let sector = all.sector(("BytesPerSector", 20))?;
        let cluster =
            Unit::new(count.into()).and_then(|count| sector.unit().checked_mul(count.get()));
        let cluster = cluster
            .ok_or_else(|| all.unexpected(field, count.into(), "a number of sectors above zero"))?;
        Ok(FilesystemSize { cluster, sector })
    }
}

/// What a filesystem calls itself: `NTFS`, `FAT32`, `exFAT`. Decodes a `FILE_FS_ATTRIBUTE_INFORMATION`.
///
/// # Errors
/// When it is not whole.
pub fn filesystem_name(bytes: &[u8]) -> Result<String, BadAnswer> {
    let all = Fields::new("FILE_FS_ATTRIBUTE_INFORMATION", bytes);
    let field = ("FileSystemNameLength", 8);
    let len = all.u32(field)?;
    let at = 12;
    let wanted = usize::try_from(len).unwrap_or(usize::MAX);
    let name = (wanted <= MAX_NAME)
        .then(|| bytes.get(at..at + wanted))
        .flatten();
    let name =
        name.ok_or_else(|| all.unexpected(field, len.into(), "the length of the name behind it"))?;
    Ok(units_text(name))
}
