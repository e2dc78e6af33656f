//! `StorageDeviceProperty`: who made a device, and what it is attached by.

use super::Bus;
use crate::windows::answer::fields::{Field, Fields, ascii};
use crate::windows::answer::{BadAnswer, Problem};

/// Up to `RawPropertiesLength`, which nothing here needs.
const MIN_SIZE: usize = 32;
/// What old drivers have for a text that is not there, beside zero.
const NO_TEXT: u32 = u32::MAX;

/// A storage device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageDevice {
    /// Its SCSI type: 0 for a disk, 5 for a CD-ROM.
    pub device_type: u8,
    /// The medium can be taken out.
    pub is_removable: bool,
    /// It takes several commands at a time.
    pub queues_commands: bool,
    /// What it is attached by.
    pub bus: Bus,
    /// Vendor.
    pub vendor: Option<String>,
    /// Product.
    pub product: Option<String>,
    /// Revision of the product.
    pub revision: Option<String>,
    /// Serial number, if it was asked for.
    pub serial: Option<String>,
    /// Texts that lie outside of the answer, or that its end cuts. The rest is as good as without them.
    pub unread: Vec<BadAnswer>,
}

impl StorageDevice {
    /// Decodes a `STORAGE_DEVICE_DESCRIPTOR`, with the serial number if `with_serial` says so.
    ///
    /// # Errors
    /// When what comes before the texts is not whole.
    pub fn decode(bytes: &[u8], with_serial: bool) -> Result<StorageDevice, BadAnswer> {
        let all = Fields::sized("STORAGE_DEVICE_DESCRIPTOR", bytes, MIN_SIZE, "at least 32")?;
        let claimed = all.u32(("Size", 4))?;
        let is_whole = usize::try_from(claimed).is_ok_and(|size| size <= all.len());
        let mut unread = Vec::new();
        let mut text = |field: Field| {
            text(all, field, is_whole).unwrap_or_else(|error| {
                unread.push(error);
                None
            })
        };
        Ok(StorageDevice {
            device_type: all.u8(("DeviceType", 8))?,
            is_removable: all.flag(("RemovableMedia", 10))?,
            queues_commands: all.flag(("CommandQueueing", 11))?,
            bus: Bus::new(all.u32(("BusType", 28))?),
            vendor: text(("VendorIdOffset", 12)),
            product: text(("ProductIdOffset", 16)),
            revision: text(("ProductRevisionOffset", 20)),
            serial: if with_serial {
                text(("SerialNumberOffset", 24))
            } else {
                None
            },
            unread,
        })
    }
}

/// Takes the serial number out of a `STORAGE_DEVICE_DESCRIPTOR`, so that the rest can be kept. What it cannot find it cannot decode either.
pub fn without_serial(bytes: &mut [u8]) {
    let offset = Fields::new("STORAGE_DEVICE_DESCRIPTOR", bytes).u32(("SerialNumberOffset", 24));
    let at = offset.ok().and_then(|offset| usize::try_from(offset).ok());
    let text = at
        .filter(|at| *at >= MIN_SIZE)
        .and_then(|at| bytes.get_mut(at..));
    for byte in text.unwrap_or_default() {
        if *byte == 0 {
            break;
        }
        *byte = b' ';
    }
}

/// The text to which the offset in `field` leads.
fn text(all: Fields<'_>, field: Field, is_whole: bool) -> Result<Option<String>, BadAnswer> {
    let offset = all.u32(field)?;
    if matches!(offset, 0 | NO_TEXT) {
        return Ok(None);
    }
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let text = all.bytes().get(at..).filter(|text| !text.is_empty());
    // A text does not lie among the fields.
    let text = text.filter(|_| at >= MIN_SIZE).ok_or_else(|| {
        let (target, len) = (offset.into(), all.len());
        all.bad(field, Problem::Outside { target, len })
    })?;
    // Drivers leave out the zero of the last text; but where the end of the buffer cuts it, it may go on.
    if !is_whole && !text.contains(&0) {
        return Err(all.bad(field, Problem::Unterminated));
    }
    Ok(ascii(text))
}
