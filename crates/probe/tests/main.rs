//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod corpora;
mod mutations;
mod mutations_volumes;
mod real_tools_containers;
mod real_tools_databases;
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
mod support;
