//! `StorageDeviceWriteCacheProperty`: the write cache of a device.

use crate::windows::answer::BadAnswer;
use crate::windows::answer::fields::{Field, Fields};

/// Up to the last flag; the structure is padded to 28.
const MIN_SIZE: usize = 27;

/// The write cache of a device. `None` where the device does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// What kind of cache it has.
    pub kind: Option<CacheKind>,
    /// It is on.
    pub is_enabled: Option<bool>,
    /// It can be turned on and off.
    pub is_changeable: Option<bool>,
    /// A write can ask to go through it.
    pub takes_write_through: Option<bool>,
    /// It takes a command that empties it.
    pub takes_flush: bool,
    /// An administrator said that it has its own power.
    pub is_power_protected: bool,
    /// It has a cache that keeps its contents without power.
    pub has_nonvolatile: bool,
}

/// What kind of cache a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// None.
    None,
    /// A write ends when it is in the cache.
    WriteBack,
    /// A write ends when it is on the medium.
    WriteThrough,
}

impl WriteCache {
    /// Decodes a `STORAGE_WRITE_CACHE_PROPERTY`.
    ///
    /// # Errors
    /// When it is not whole, or one of its enumerations has a number that is not in the list.
    pub fn decode(bytes: &[u8]) -> Result<WriteCache, BadAnswer> {
        let name = "STORAGE_WRITE_CACHE_PROPERTY";
        let all = Fields::sized(name, bytes, MIN_SIZE, "at least 27")?;
        let kind = ("WriteCacheType", 8);
        Ok(WriteCache {
            kind: match all.u32(kind)? {
                0 => None,
                1 => Some(CacheKind::None),
                2 => Some(CacheKind::WriteBack),
                3 => Some(CacheKind::WriteThrough),
                other => return Err(all.unexpected(kind, other.into(), "0 to 3")),
            },
            is_enabled: either(all, ("WriteCacheEnabled", 12))?,
            is_changeable: either(all, ("WriteCacheChangeable", 16))?,
            takes_write_through: either(all, ("WriteThroughSupported", 20))?,
            takes_flush: all.flag(("FlushCacheSupported", 24))?,
            is_power_protected: all.flag(("UserDefinedPowerProtection", 25))?,
            has_nonvolatile: all.flag(("NVCacheEnabled", 26))?,
        })
    }
}

/// 0 for unknown, 1 for no, 2 for yes.
fn either(all: Fields<'_>, field: Field) -> Result<Option<bool>, BadAnswer> {
    match all.u32(field)? {
        0 => Ok(None),
        1 => Ok(Some(false)),
        2 => Ok(Some(true)),
        other => Err(all.unexpected(field, other.into(), "0 (unknown), 1 (no) or 2 (yes)")),
    }
}
