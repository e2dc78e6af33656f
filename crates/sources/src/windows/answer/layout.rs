//! `IOCTL_DISK_GET_DRIVE_LAYOUT_EX`: the partition table as the system sees it.

use straddle_geometry::{Bytes, Extent};
use uuid::Uuid;

use super::BadAnswer;
use super::fields::Fields;
use super::name::{text, units_text};

const HEAD: &str = "DRIVE_LAYOUT_INFORMATION_EX";
const ENTRY: &str = "PARTITION_INFORMATION_EX";
const FIRST_ENTRY: usize = 48;
const ENTRY_SIZE: usize = 144;
/// Since Windows 10 an MBR partition has an identifier, made of the disk's signature and the partition's start.
const MBR_ID: (&str, usize) = ("Mbr.PartitionId", 40);
const STYLES: &str = "0 (MBR), 1 (GPT) or 2 (RAW)";

/// A partition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveLayout {
    /// The table.
    pub table: Table,
    /// The partitions in use, in the order of the answer.
    pub partitions: Vec<PartitionSeen>,
    /// How many entries it counts that are not in the answer.
    pub missing: u32,
}

/// The kind of a partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A master boot record.
    Mbr {
        /// Signature of the disk.
        signature: u32,
    },
    /// A GUID partition table.
    Gpt {
        /// Identifier of the disk.
        disk: Uuid,
        /// Where partitions may lie.
        usable: Extent,
        /// How many entries the table has.
        max_partitions: u32,
    },
    /// None that the system knows.
    Raw,
}

/// A partition as the system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSeen {
    /// The system's number, from 1; 0 for what is not a device of its own, such as an extended partition.
    pub number: u32,
    /// Where it lies on the disk.
    pub extent: Extent,
    /// What its table says of it.
    pub kind: PartitionKind,
}

/// What a partition table says of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKind {
    /// An entry of a master boot record.
    Mbr {
        /// Its type.
        code: u8,
        /// Marked as the one to boot.
        is_active: bool,
        /// Of a type that the system knows.
        is_recognised: bool,
        /// Number of sectors before it, as its entry has it.
        hidden_sectors: u32,
        /// Identifier; `None` before Windows 10, which leaves zeroes.
        id: Option<Uuid>,
    },
    /// An entry of a GUID partition table.
    Gpt {
        /// Its type.
        code: Uuid,
        /// Identifier.
        id: Uuid,
        /// Attributes.
        attributes: u64,
        /// Name.
        name: String,
    },
    /// Of a disk without a table.
    Raw,
}

impl DriveLayout {
    /// Decodes a `DRIVE_LAYOUT_INFORMATION_EX`. Entries that are not in use are left out.
    ///
    /// # Errors
    /// When the head is not whole, or a field of it or of an entry has a value that it cannot have.
    pub fn decode(bytes: &[u8]) -> Result<DriveLayout, BadAnswer> {
        let head = Fields::new(HEAD, bytes);
        let style = head.u32(("PartitionStyle", 0))?;
        let count = head.u32(("PartitionCount", 4))?;
        let table = match style {
            0 => Table::Mbr {
                signature: head.u32(("Mbr.Signature", 8))?,
            },
            1 => Table::Gpt {
                disk: head.guid(("Gpt.DiskId", 8))?,
                usable: extent(
                    head,
                    ("Gpt.StartingUsableOffset", 24),
                    ("Gpt.UsableLength", 32),
                )?,
                max_partitions: head.u32(("Gpt.MaxPartitionCount", 40))?,
            },
            2 => Table::Raw,
            other => return Err(head.unexpected(("PartitionStyle", 0), other.into(), STYLES)),
        };
        let (entries, missing) = head.list(ENTRY, FIRST_ENTRY, ENTRY_SIZE, count);
        let partitions = entries.filter_map(|entry| partition(entry).transpose());
        Ok(DriveLayout {
            table,
            partitions: partitions.collect::<Result<_, _>>()?,
            missing,
        })
    }
}

/// `None` for an entry that is not in use.
fn partition(entry: Fields<'_>) -> Result<Option<PartitionSeen>, BadAnswer> {
    let kind = match entry.u32(("PartitionStyle", 0))? {
        0 => {
            let code = entry.u8(("Mbr.PartitionType", 32))?;
            // The system lists four entries for each boot record, whatever is in them.
            if code == 0 {
                return Ok(None);
            }
            let id = entry.guid(MBR_ID)?;
            PartitionKind::Mbr {
                code,
                is_active: entry.flag(("Mbr.BootIndicator", 33))?,
                is_recognised: entry.flag(("Mbr.RecognizedPartition", 34))?,
                hidden_sectors: entry.u32(("Mbr.HiddenSectors", 36))?,
                id: (!id.is_nil()).then_some(id),
            }
        }
        1 => {
            let code = entry.guid(("Gpt.PartitionType", 32))?;
            if code.is_nil() {
                return Ok(None);
            }
            let name: [u8; 72] = entry.array(("Gpt.Name", 72))?;
            PartitionKind::Gpt {
                code,
                id: entry.guid(("Gpt.PartitionId", 48))?,
                attributes: entry.u64(("Gpt.Attributes", 64))?,
                // A name of 36 letters has no zero.
                name: text(&name).map_or_else(|| units_text(&name), |(name, _)| name),
            }
        }
        2 => PartitionKind::Raw,
        other => return Err(entry.unexpected(("PartitionStyle", 0), other.into(), STYLES)),
    };
    let extent = extent(entry, ("StartingOffset", 8), ("PartitionLength", 16))?;
    if kind == PartitionKind::Raw && extent.is_empty() {
        return Ok(None);
    }
    Ok(Some(PartitionSeen {
        number: entry.u32(("PartitionNumber", 24))?,
        extent,
        kind,
    }))
}

/// The bytes from one field on, as many as the other says.
pub(super) fn extent(
    fields: Fields<'_>,
    start: (&'static str, usize),
    length: (&'static str, usize),
) -> Result<Extent, BadAnswer> {
    let len: Bytes = fields.length(length)?;
    // Two positive 63-bit numbers have a sum of 64 bits.
    Extent::new(fields.length(start)?, len)
        .ok_or_else(|| fields.unexpected(length, len.get(), "an end below 2^64"))
}
