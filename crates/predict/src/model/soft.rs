//! What software above the array does to requests: block maps, bitmaps, journals, limits on their length.
//!
//! Each layer turns one operation into fragments. Fragments of a later phase start when all of the earlier one have ended;
//! those in the background hold nothing up.

use super::device::Operation;
use crate::profile::{Profile, Refusal};

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

/// The software layers of a system, highest first.
#[derive(Debug)]
pub(crate) struct Soft {}

impl Soft {
    pub(crate) fn build(_profile: &Profile) -> Result<Soft, Refusal> {
        Ok(Soft {})
    }

    /// True when requests pass unchanged.
    pub(crate) fn is_absent(&self) -> bool {
        true
    }

    /// What becomes of a host's operation, in phases that ascend.
    pub(crate) fn translate(&mut self, operation: Operation, out: &mut Vec<Fragment>) {
        out.push(Fragment {
            operation,
            phase: 0,
            is_background: false,
            to: To::Array,
        });
    }
}
