//! Tools of Linux.

pub(super) mod sfdisk;
