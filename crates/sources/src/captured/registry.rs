use super::tool::Tool;
use super::{linux, windows};

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
];
