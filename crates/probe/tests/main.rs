//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod corpora;
#[path = "../../../fuzz/src/files.rs"]
mod files;
mod mutations;
mod mutations_volumes;
mod real_tools_containers;
#[path = "real_tools_files/main.rs"]
mod real_tools_files;
mod real_tools_filesystems;
mod real_tools_libvhdi;
mod real_tools_qcow2;
mod real_tools_tables;
mod real_tools_vhd;
mod real_tools_vhdx;
mod real_tools_vmdk_vdi;
mod real_tools_volumes_crypt;
mod real_tools_volumes_firmware;
mod real_tools_volumes_ldm;
mod real_tools_volumes_vmfs;
mod real_tools_volumes_zfs;
#[path = "../../../fuzz/src/sparse.rs"]
mod sparse;
mod support;
#[path = "../../../fuzz/src/volume.rs"]
mod volume;
