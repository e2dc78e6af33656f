//! Tools of hardware RAID controllers.

mod level;
mod volume;

pub(super) mod arcconf;
pub(super) mod megacli;
pub(super) mod omreport;
pub(super) mod ssacli;
pub(super) mod storcli;
