//! `STORAGE_PROTOCOL_DATA_DESCRIPTOR` with what an NVMe device says in reply to Identify.
//!
//! Source: NVM Express base and NVM command set specifications. NPWG, NPWA, NPDG, NPDA and NOWS are counted from 0 and valid only with
//! bit 4 of NSFEAT; NAWUN, NAWUPF and NABSPF are counted from 0 and valid only with bit 1; NOIOB and NABO are plain numbers. All
//! count logical blocks.

use std::ops::Range;
use straddle_geometry::{Bytes, SectorSize};

use super::fields::{Field, Fields, ascii};
use super::{BadAnswer, Problem};

const HEAD: &str = "STORAGE_PROTOCOL_DATA_DESCRIPTOR";
const HEAD_SIZE: usize = 48;
/// `ProtocolDataOffset` counts from here.
const SPECIFIC: usize = 8;
const OFFSET: Field = ("ProtocolSpecificData.ProtocolDataOffset", 24);
const LENGTH: Field = ("ProtocolSpecificData.ProtocolDataLength", 28);
/// `ProtocolTypeNvme`, `NVMeDataTypeIdentify`.
const NVME: u32 = 3;
const IDENTIFY: u32 = 1;
/// What Identify is asked for.
const NAMESPACE: u32 = 0;
const CONTROLLER: u32 = 1;
const CONTROLLER_DATA: &str = "NVME_IDENTIFY_CONTROLLER_DATA";
const NAMESPACE_DATA: &str = "NVME_IDENTIFY_NAMESPACE_DATA";
const FIRST_FORMAT: usize = 128;
const MAX_FORMATS: usize = 64;
/// The bytes of the data that are read: model and firmware, MDTS, VER, cache and atomics.
const CONTROLLER_READ: [Range<usize>; 4] = [24..72, 77..78, 80..84, 525..530];
/// Lengths, features and formats, atomics and the boundary, preferences, the list of formats.
const NAMESPACE_READ: [Range<usize>; 5] = [0..16, 24..27, 36..48, 64..74, 128..384];

/// What an NVMe controller says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeController {
    /// Model.
    pub model: Option<String>,
    /// Revision of the firmware.
    pub firmware: Option<String>,
    /// Serial number, if it was asked for.
    pub serial: Option<String>,
    /// Longest transfer, as a power of two of the smallest page of memory that it takes, which is 4 KiB on nearly all; `None` when
    /// there is no limit.
    pub max_transfer_shift: Option<u8>,
    /// Version of the specification: major, minor, tertiary. `None` before 1.2.
    pub version: Option<(u16, u8, u8)>,
    /// It has a volatile write cache.
    pub has_volatile_cache: bool,
    /// Logical blocks that it writes atomically.
    pub atomic_blocks: u32,
    /// Logical blocks that it writes atomically when power fails.
    pub atomic_blocks_power_fail: u32,
}

/// What an NVMe controller says of a namespace. `None` where it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeNamespace {
    /// Its length in logical blocks.
    pub blocks: u64,
    /// Logical blocks that it can hold at the same time.
    pub capacity: u64,
    /// Logical block of the format in use.
    pub block: SectorSize,
    /// Number of the format in use.
    pub format: u8,
    /// The formats that it can be given, by their numbers.
    pub formats: Vec<LbaFormat>,
    /// Length to which writes are best a multiple, NPWG.
    pub write_granularity: Option<Bytes>,
    /// Address to which writes are best aligned, NPWA.
    pub write_alignment: Option<Bytes>,
    /// Length to which deallocations are best a multiple, NPDG.
    pub discard_granularity: Option<Bytes>,
    /// Address to which deallocations are best aligned, NPDA.
    pub discard_alignment: Option<Bytes>,
    /// Best length of a write, NOWS.
    pub optimal_write: Option<Bytes>,
    /// Boundary that a request best does not cross, NOIOB.
    pub boundary: Option<Bytes>,
    /// Bytes that it writes atomically when power fails, NAWUPF. `None` where the controller's number holds.
    pub atomic_power_fail: Option<Bytes>,
    /// Boundary inside of which they are, NABSPF.
    pub atomic_boundary_power_fail: Option<Bytes>,
    /// Where the first boundary of atomic writes lies, NABO.
    pub atomic_boundary_offset: Bytes,
}

/// A format of the logical blocks of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbaFormat {
    /// Logical block; `None` for a number that stands for no format.
    pub block: Option<SectorSize>,
    /// Bytes of metadata with each.
    pub metadata: Bytes,
    /// Relative performance: 0 is best, 3 degraded.
    pub performance: u8,
}

impl NvmeController {
    /// Decodes the answer to Identify Controller, with the serial number if `with_serial` says so.
    ///
    /// # Errors
    /// When it is not whole, or the answer to something else.
    pub fn decode(bytes: &[u8], with_serial: bool) -> Result<NvmeController, BadAnswer> {
        let data = identify(bytes, CONTROLLER_DATA, CONTROLLER)?;
        let serial: [u8; 20] = data.array(("SN", 4))?;
        let model: [u8; 40] = data.array(("MN", 24))?;
        let firmware: [u8; 8] = data.array(("FR", 64))?;
        let shift = data.u8(("MDTS", 77))?;
        let [tertiary, minor, low, high] = data.array(("VER", 80))?;
        let major = u16::from_le_bytes([low, high]);
        Ok(NvmeController {
            model: ascii(&model),
            firmware: ascii(&firmware),
            serial: ascii(&serial).filter(|_| with_serial),
            max_transfer_shift: (shift != 0).then_some(shift),
            version: (major != 0).then_some((major, minor, tertiary)),
            has_volatile_cache: data.u8(("VWC", 525))? & 1 != 0,
            atomic_blocks: u32::from(data.u16(("AWUN", 526))?) + 1,
            atomic_blocks_power_fail: u32::from(data.u16(("AWUPF", 528))?) + 1,
        })
    }
}

impl NvmeNamespace {
    /// Decodes the answer to Identify Namespace.
    ///
    /// # Errors
    /// When it is not whole, the answer to something else, or the format in use is not one that it lists or has no block.
    pub fn decode(bytes: &[u8]) -> Result<NvmeNamespace, BadAnswer> {
        let data = identify(bytes, NAMESPACE_DATA, NAMESPACE)?;
        let features = data.u8(("NSFEAT", 24))?;
        let (own_atomics, preferred) = (features & 2 != 0, features & 0x10 != 0);
        let listed = usize::from(data.u8(("NLBAF", 25))?) + 1;
        if listed > MAX_FORMATS {
            let found = u64::try_from(listed - 1).unwrap_or(u64::MAX);
            return Err(data.unexpected(("NLBAF", 25), found, "at most 63"));
        }
        let formats = (0..listed).map(|n| format(data, FIRST_FORMAT + 4 * n));
        let formats = formats.collect::<Result<Vec<_>, _>>()?;
        let in_use = data.u8(("FLBAS", 26))?;
        // Version 2.0 put two more bits of it where those before it had zeroes, for lists of more than sixteen.
        let high = if listed > 16 { in_use >> 5 & 3 } else { 0 };
        let number = in_use & 15 | high << 4;
        let block = formats
            .get(usize::from(number))
            .and_then(|format| format.block)
            .ok_or_else(|| {
                data.unexpected(
                    ("FLBAS", 26),
                    in_use.into(),
                    "a format that NLBAF and LBAF list",
                )
            })?;
        let bytes = |blocks: u32| Bytes::new(u64::from(blocks) * u64::from(block.get()));
        let from_zero = |field: Field, is_valid: bool| {
            let blocks = u32::from(data.u16(field)?) + 1;
            Ok(is_valid.then(|| bytes(blocks)))
        };
        let some = |field: Field| Ok(data.u16(field)? != 0);
        Ok(NvmeNamespace {
            blocks: data.u64(("NSZE", 0))?,
            capacity: data.u64(("NCAP", 8))?,
            block,
            format: number,
            write_granularity: from_zero(("NPWG", 64), preferred)?,
            write_alignment: from_zero(("NPWA", 66), preferred)?,
            discard_granularity: from_zero(("NPDG", 68), preferred)?,
            discard_alignment: from_zero(("NPDA", 70), preferred)?,
            optimal_write: from_zero(("NOWS", 72), preferred)?,
            boundary: Some(bytes(data.u16(("NOIOB", 46))?.into())).filter(|b| *b != Bytes::ZERO),
            // Zero stands for the number of the controller, and for no boundary.
            atomic_power_fail: from_zero(("NAWUPF", 36), own_atomics && some(("NAWUPF", 36))?)?,
            atomic_boundary_power_fail: from_zero(
                ("NABSPF", 44),
                own_atomics && some(("NABSPF", 44))?,
            )?,
            atomic_boundary_offset: if own_atomics {
                bytes(data.u16(("NABO", 42))?.into())
            } else {
                Bytes::ZERO
            },
            formats,
        })
    }
}

/// Leaves of an answer to Identify what [`NvmeController::decode`] and [`NvmeNamespace::decode`] read without the serial number, and
/// zeroes in the place of the rest, so that it can be kept: the name of the subsystem has the number once more, and a
/// vendor's own bytes may have anything.
pub fn identify_without_serial(answer: &mut [u8]) {
    let controller = identify(answer, CONTROLLER_DATA, CONTROLLER).map(|data| data.start());
    let namespace = identify(answer, NAMESPACE_DATA, NAMESPACE).map(|data| data.start());
    let (start, read) = match (controller, namespace) {
        (Ok(start), _) => (start, &CONTROLLER_READ[..]),
        (_, Ok(start)) => (start, &NAMESPACE_READ[..]),
        _ => (HEAD_SIZE, &[][..]),
    };
    for (at, byte) in answer.iter_mut().enumerate().skip(HEAD_SIZE) {
        let is_read = at
            .checked_sub(start)
            .is_some_and(|at| read.iter().any(|range| range.contains(&at)));
        if !is_read {
            *byte = 0;
        }
    }
}

fn format(data: Fields<'_>, at: usize) -> Result<LbaFormat, BadAnswer> {
    let [low, high, shift, performance] = data.array(("LBAF", at))?;
    // Blocks of less than 512 bytes do not exist; 0 is a format that was taken away.
    let size = match shift {
        9.. => 1_u32.checked_shl(shift.into()),
        _ => None,
    };
    Ok(LbaFormat {
        block: size.and_then(SectorSize::new),
        metadata: Bytes::new(u16::from_le_bytes([low, high]).into()),
        performance: performance & 3,
    })
}

/// The data of an answer to Identify, which asked for `what`.
fn identify<'a>(
    bytes: &'a [u8],
    structure: &'static str,
    what: u32,
) -> Result<Fields<'a>, BadAnswer> {
    // `Size` is that of the head: the data lies past it.
    let head = Fields::sized(HEAD, bytes, HEAD_SIZE, "at least 48")?;
    let is = |field: Field, number: u32, expected: &'static str| match head.u32(field)? {
        found if found == number => Ok(()),
        found => Err(head.unexpected(field, found.into(), expected)),
    };
    is(("ProtocolSpecificData.ProtocolType", 8), NVME, "3 (NVMe)")?;
    is(
        ("ProtocolSpecificData.DataType", 12),
        IDENTIFY,
        "1 (Identify)",
    )?;
    let asked = ("ProtocolSpecificData.ProtocolDataRequestValue", 16);
    let expected = match what {
        CONTROLLER => "1 (controller)",
        _ => "0 (namespace)",
    };
    is(asked, what, expected)?;
    let (offset, length) = (head.u32(OFFSET)?, head.u32(LENGTH)?);
    let start = usize::try_from(offset).ok();
    let start = start.and_then(|offset| offset.checked_add(SPECIFIC));
    let start = start.filter(|start| (HEAD_SIZE..bytes.len()).contains(start));
    let start = start.ok_or_else(|| {
        let target = u64::from(offset) + 8;
        let len = bytes.len();
        head.bad(OFFSET, Problem::Outside { target, len })
    })?;
    // What is missing of it is found missing by its fields.
    let end = usize::try_from(length).map_or(bytes.len(), |len| start.saturating_add(len));
    let data = bytes.get(..end).unwrap_or(bytes);
    Ok(Fields::new(HEAD, data).part(structure, start))
}
