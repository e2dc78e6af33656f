//! `StorageAdapterProperty`: what the adapter in front of a device can take.

use straddle_geometry::{Bytes, Unit};

use super::Bus;
use crate::windows::answer::BadAnswer;
use crate::windows::answer::fields::Fields;

/// Up to `BusMinorVersion`; Windows 8 added what follows.
const MIN_SIZE: usize = 30;
const MASK: (&str, usize) = ("AlignmentMask", 16);

/// A storage adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Longest request; `None` when there is no limit.
    pub max_transfer: Option<Bytes>,
    /// Most pages of memory that one request may touch.
    pub max_pages: u32,
    /// What the address of a buffer in memory must be a multiple of.
    pub memory_alignment: Unit,
    /// It takes several commands at a time.
    pub queues_commands: bool,
    /// What it speaks.
    pub bus: Bus,
}

impl Adapter {
    /// Decodes a `STORAGE_ADAPTER_DESCRIPTOR`.
    ///
    /// # Errors
    /// When it is not whole, or its mask is not one less than a power of two.
    pub fn decode(bytes: &[u8]) -> Result<Adapter, BadAnswer> {
        let all = Fields::sized("STORAGE_ADAPTER_DESCRIPTOR", bytes, MIN_SIZE, "at least 30")?;
        let mask = all.u32(MASK)?;
        let alignment = u64::from(mask) + 1;
        let memory_alignment = Unit::new(alignment).filter(|_| alignment.is_power_of_two());
        let max_transfer = match all.u32(("MaximumTransferLength", 8))? {
            0 | u32::MAX => None,
            length => Some(Bytes::new(length.into())),
        };
        // Last, so that an answer without it is not taken for one with zeroes.
        all.u16(("BusMinorVersion", 28))?;
        Ok(Adapter {
            max_transfer,
            max_pages: all.u32(("MaximumPhysicalPages", 12))?,
            memory_alignment: memory_alignment
                .ok_or_else(|| all.unexpected(MASK, mask.into(), "a power of two less one"))?,
            queues_commands: all.flag(("CommandQueueing", 22))?,
            bus: Bus::new(all.u8(("BusType", 24))?.into()),
        })
    }
}
