//! Stripe units.

use super::divisor::Divisor;

/// What all families have in common.
#[derive(Debug)]
pub(super) struct Unit {
    /// Bytes on one member before the next takes over.
    pub(super) bytes: Divisor,
    /// Where a member's data begins.
    pub(super) data_offset: u64,
    /// Whether pieces that follow each other on a member are one operation.
    pub(super) is_merged: bool,
}
