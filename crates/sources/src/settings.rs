use straddle_geometry::Unit;

use crate::{Outside, Overrides};

/// What to look for in a target, and what is known better than it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What the user says about the devices at the bottom.
    pub overrides: Overrides,
    /// Sizes of requests that will be priced: the blocks of a virtual disk are counted for them.
    pub io: Vec<Unit>,
    /// Paths of files inside the guest's filesystems that are to be followed too.
    pub guest_files: Vec<String>,
    /// For a file on a host: to fail when where it lies on a disk is not known, rather than to look at what is in it.
    pub only_when_followed: bool,
    /// What a virtual disk may lead to besides the files of its folder and those that its owner may read.
    pub outside: Outside,
}
