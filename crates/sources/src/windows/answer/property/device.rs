//! `StorageDeviceProperty`: who made a device, and what it is attached by.

use super::Bus;
use crate::windows::answer::fields::{Field, Fields, ascii};
use crate::windows::answer::{BadAnswer, Problem};

const NAME: &str = "STORAGE_DEVICE_DESCRIPTOR";
const VENDOR: Field = ("VendorIdOffset", 12);
const PRODUCT: Field = ("ProductIdOffset", 16);
const REVISION: Field = ("ProductRevisionOffset", 20);
const SERIAL: Field = ("SerialNumberOffset", 24);
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
        let all = Fields::sized(NAME, bytes, MIN_SIZE, "at least 32")?;
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
            vendor: text(VENDOR),
            product: text(PRODUCT),
            revision: text(REVISION),
            serial: if with_serial { text(SERIAL) } else { None },
            unread,
        })
    }
}

/// Leaves of a `STORAGE_DEVICE_DESCRIPTOR` what [`StorageDevice::decode`] reads without the serial number, and zeroes in the place
/// of the rest, so that it can be kept: the reply to INQUIRY in it may have the number once more.
pub fn without_serial(answer: &mut [u8]) {
    let texts = match Fields::sized(NAME, answer, MIN_SIZE, "at least 32") {
        Ok(all) => [VENDOR, PRODUCT, REVISION].map(|field| {
            let at = all.u32(field).ok().and_then(|at| usize::try_from(at).ok());
            let at = at.filter(|at| *at >= MIN_SIZE)?;
            let text = all.bytes().get(at..)?;
            let len = text.iter().position(|byte| *byte == 0);
            Some(at..at + len.unwrap_or(text.len()))
        }),
        Err(_) => [const { None }; 3],
    };
    let number = SERIAL.1..SERIAL.1 + 4;
    for (at, byte) in answer.iter_mut().enumerate() {
        let is_field = at < MIN_SIZE && !number.contains(&at);
        if !is_field && !texts.iter().flatten().any(|text| text.contains(&at)) {
            *byte = 0;
        }
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
