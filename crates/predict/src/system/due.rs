//! When requests are due.

use std::cmp::Ordering;

use crate::kernel::Time;
use crate::model::Operation;

/// A request and when it is due. Ordered by that, then by its stream, so that a run is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: Time,
    pub(super) stream: u32,
    pub(super) operation: Operation,
}

impl Ord for Due {
    #[inline]
    fn cmp(&self, other: &Due) -> Ordering {
        (self.at, self.stream).cmp(&(other.at, other.stream))
    }
}

impl PartialOrd for Due {
    #[inline]
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
