//! Layouts of virtual disks: fields and figures that are needed to change a file in place and to write a new one alike.

pub(crate) mod bits;
pub(crate) mod qcow2;
pub(crate) mod vdi;
pub(crate) mod vhd;
pub(crate) mod vhdx;
pub(crate) mod vmdk;
