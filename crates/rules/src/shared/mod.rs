//! What several rules share: no file here is a rule.

pub(crate) mod activity;
pub(crate) mod anomalies;
pub(crate) mod candidates;
pub(crate) mod cloud;
pub(crate) mod dealt;
pub(crate) mod fs_geometry;
pub(crate) mod guest;
pub(crate) mod member_start;
pub(crate) mod pieces;
pub(crate) mod plausible;
pub(crate) mod said;
pub(crate) mod smaller_than_sector;
pub(crate) mod start;
pub(crate) mod vdev_sector;
pub(crate) mod virtual_disk;
