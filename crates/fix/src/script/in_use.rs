//! Shell that refuses what is in use, under whatever name: decided by the numbers of devices and the inodes of images.

/// Functions around `not_in_use`. An exclusive open finds whatever the kernel holds of a block device, in every namespace; what is
/// asked before it says who that is, and is all there is for an image, and for a device whose holder the script takes apart.
pub(super) const IN_USE: &str = include_str!("fragments/in_use.sh");
