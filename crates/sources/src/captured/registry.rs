use super::tool::Tool;
use super::{esxi, linux, raid, windows};

/// All tools whose output is read. Where two recognise the same text, the first has it.
pub static TOOLS: &[&Tool] = &[
    &windows::diskpar::TOOL,
    &windows::diskpart::TOOL,
    &windows::get_partition::TOOL,
    &windows::wmi_script::TOOL,
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
    &linux::hdparm::TOOL,
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
