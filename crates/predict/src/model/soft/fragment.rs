//! What a host's request becomes on its way to the array.

use crate::model::Operation;

/// A part of a host's request on its way to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) operation: Operation,
    /// 0 starts at once.
    pub(crate) phase: u8,
    /// True when the host does not wait for it.
    pub(crate) is_background: bool,
    pub(crate) to: To,
}

/// Where a fragment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To addresses of the array.
    Array,
    /// To the same address of every member: metadata.
    EachMember,
}
