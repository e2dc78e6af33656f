//! What the exit status says.

/// Nothing at or above `--fail-on` was found.
pub(crate) const CLEAN: u8 = 0;
/// At least one finding at or above `--fail-on`.
pub(crate) const FOUND: u8 = 1;
/// `bench --quiet`: it finished, and something that was asked is not proven.
pub(crate) const UNPROVEN: u8 = 1;
/// Something could not be finished; what is known was printed all the same.
pub(crate) const FAILED: u8 = 2;
