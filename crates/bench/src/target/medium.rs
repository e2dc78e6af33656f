//! What kind of thing a target is.

use schemars::JsonSchema;
use serde::Serialize;

/// What requests go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// A file, past the page cache.
    FileDirect,
    /// A file through the page cache: memory is measured, not storage.
    FileBuffered,
    /// A block device, past the page cache.
    DeviceDirect,
    /// A block device through the page cache.
    DeviceBuffered,
    /// Nothing at all.
    Null,
}
