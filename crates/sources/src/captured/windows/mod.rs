//! Tools of Windows.

pub(super) mod diskpar;
pub(super) mod get_partition;
