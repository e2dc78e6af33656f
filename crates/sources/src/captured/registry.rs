use super::tool::Tool;
use super::{bsd, esxi, linux, powershell, raid, windows};

/// All tools whose output is read. Where two recognise the same text, the first has it.
pub static TOOLS: &[&Tool] = &[
    &windows::diskext::TOOL,
    &windows::diskpar::TOOL,
    &windows::diskpart::TOOL,
    &windows::fsutil::TOOL,
    &windows::wmi_script::TOOL,
    &powershell::get_partition::TOOL,
    &powershell::get_vhd::TOOL,
    // Storage spaces have sector sizes and a kind of media too.
    &powershell::get_virtual_disk::TOOL,
    &powershell::get_disk::TOOL,
    &powershell::get_physical_disk::TOOL,
    &powershell::get_volume::TOOL,
    &windows::wmic::TOOL,
    &linux::sfdisk::TOOL,
    &linux::cryptsetup::TOOL,
    &linux::lvm::TOOL,
    &linux::mdadm::TOOL,
    &linux::mdstat::TOOL,
    &linux::zfs::TOOL,
    &linux::nvme::TOOL,
    &linux::smartctl::TOOL,
    &linux::sg3_utils::TOOL,
    &linux::lsscsi::TOOL,
    &linux::hdparm::TOOL,
    &linux::sgdisk::TOOL,
    &linux::parted::TOOL,
    &linux::fdisk::TOOL,
    &linux::partx::TOOL,
    &linux::kpartx::TOOL,
    &linux::multipath::TOOL,
    &linux::losetup::TOOL,
    &linux::file_magic::TOOL,
    &linux::libguestfs::TOOL,
    &linux::mmls::TOOL,
    &linux::testdisk::TOOL,
    &linux::unraid::TOOL,
    &linux::blkid::TOOL,
    &linux::blockdev::TOOL,
    &linux::dmsetup::TOOL,
    &linux::lsblk::TOOL,
    &linux::ext::TOOL,
    &linux::xfs_info::TOOL,
    &linux::sysfs::TOOL,
    &linux::udevadm::TOOL,
    &linux::kernel_log::TOOL,
    &linux::ansible::TOOL,
    &bsd::gpart::TOOL,
    &bsd::gpt::TOOL,
    &bsd::fdisk::TOOL,
    &bsd::disklabel::TOOL,
    &bsd::prtvtoc::TOOL,
    &bsd::diskutil::TOOL,
    &bsd::diskinfo::TOOL,
    &raid::megacli::TOOL,
    &raid::storcli::TOOL,
    &raid::ssacli::TOOL,
    &raid::arcconf::TOOL,
    &raid::omreport::TOOL,
    &esxi::parted_util::TOOL,
    &esxi::device_list::TOOL,
    &esxi::device_capacity::TOOL,
    &esxi::device_partition::TOOL,
    &esxi::vmfs_extent::TOOL,
    &esxi::vmkfstools::TOOL,
];

#[cfg(test)]
mod tests {
    use super::TOOLS;

    #[test]
    fn every_tool_is_there_once() {
        let mut names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
