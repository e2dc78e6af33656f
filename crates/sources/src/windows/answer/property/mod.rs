//! `IOCTL_STORAGE_QUERY_PROPERTY`: descriptors that begin with `Version` and `Size`.

mod adapter;
mod alignment;
mod bus;
mod cache;
mod device;

pub use adapter::Adapter;
pub use alignment::AccessAlignment;
pub use bus::Bus;
pub use cache::{CacheKind, WriteCache};
pub use device::{StorageDevice, without_serial};

use super::BadAnswer;
use super::fields::Fields;

/// Decodes a `DEVICE_SEEK_PENALTY_DESCRIPTOR`: true for a disk that has to move to an address, false for flash.
///
/// # Errors
/// When it is not whole.
pub fn seek_penalty(bytes: &[u8]) -> Result<bool, BadAnswer> {
    let all = Fields::sized("DEVICE_SEEK_PENALTY_DESCRIPTOR", bytes, 9, "at least 9")?;
    all.flag(("IncursSeekPenalty", 8))
}

/// Decodes a `DEVICE_TRIM_DESCRIPTOR`: whether the device takes TRIM or UNMAP.
///
/// # Errors
/// When it is not whole.
pub fn trim(bytes: &[u8]) -> Result<bool, BadAnswer> {
    let all = Fields::sized("DEVICE_TRIM_DESCRIPTOR", bytes, 9, "at least 9")?;
    all.flag(("TrimEnabled", 8))
}
