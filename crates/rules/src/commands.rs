//! Which command prints a fact that captured text lacks.

use straddle_stack::{Key, Layer};

/// A fact about a machine's storage that a verdict needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lack {
    /// What a disk is that something lies on.
    Disk,
    /// On which disk, and where on it, a volume or a partition lies.
    Volume,
    /// Length of a disk, a volume or a partition.
    Size,
    /// Physical sector of a disk.
    PhysicalSector,
    /// Start of a partition, in bytes.
    Start,
    /// What lies in a volume group, whose first extent is known.
    LogicalVolumes,
    /// Stripe unit of a RAID volume.
    StripeUnit,
    /// Allocation unit of a filesystem.
    AllocationUnit,
}

impl Lack {
    /// All of them, what is lowest in a stack first.
    pub const ALL: [Lack; 8] = [
        Lack::Disk,
        Lack::Volume,
        Lack::Size,
        Lack::PhysicalSector,
        Lack::Start,
        Lack::LogicalVolumes,
        Lack::StripeUnit,
        Lack::AllocationUnit,
    ];

    /// The words for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Lack::Disk => "the disk itself",
            Lack::Volume => "where it lies",
            Lack::Size => "size",
            Lack::PhysicalSector => "physical sector",
            Lack::Start => "start",
            Lack::LogicalVolumes => "its logical volumes",
            Lack::StripeUnit => "stripe unit",
            Lack::AllocationUnit => "allocation unit",
        }
    }
}

/// A command that supplies a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// The fact.
    pub lack: Lack,
    /// Where it runs: `windows`, `linux`, `esxi`, or `raid` for the tool of a RAID controller on any of them.
    pub platform: &'static str,
    /// The command, as it is typed. `N`, `DEVICE`, `VOLUME` and drive letters are to be replaced.
    pub command: &'static str,
    /// Which systems have it.
    pub systems: &'static str,
}

impl Supply {
    /// True where it can tell of what has such a format. Where nothing says which, a pool would have said that it is one.
    pub(crate) fn tells_of(&self, format: Option<&str>) -> bool {
        let formats: &[&str] = match self.command {
            TUNE2FS => &["ext2", "ext3", "ext4"],
            XFS_INFO => &["xfs"],
            ZDB => return format == Some("zfs"),
            _ => return true,
        };
        format.is_none_or(|format| formats.contains(&format))
    }
}

const fn supply(
    lack: Lack,
    platform: &'static str,
    command: &'static str,
    systems: &'static str,
) -> Supply {
    Supply {
        lack,
        platform,
        command,
        systems,
    }
}

const TUNE2FS: &str = "tune2fs -l DEVICE";
const XFS_INFO: &str = "xfs_info MOUNTPOINT";
const ZDB: &str = "zdb -C";

const WMIC_DISKS: &str = "wmic diskdrive get Index,Model,Size,BytesPerSector,Signature";
const WMIC_PARTITIONS: &str = "wmic partition get Name,StartingOffset,Size";
const WMIC_SYSTEMS: &str = "Windows XP, Server 2003 and later, up to Server 2022";
const GET_DISK: &str = "Get-Disk | Format-List Number,FriendlyName,Size,LogicalSectorSize,PhysicalSectorSize,BusType,SerialNumber";
const GET_PARTITION: &str =
    "Get-Partition | Format-List DiskNumber,PartitionNumber,DriveLetter,Offset,Size";
const SINCE_2012: &str = "Windows 8, Server 2012 and later";
const LSBLK: &str = "lsblk -J -b -O";
const LSBLK_SYSTEMS: &str = "util-linux 2.27 and later";
const GEOM_DISKS: &str = "geom disk list";
const FREEBSD_SYSTEMS: &str = "FreeBSD 8 and later, TrueNAS CORE, pfSense";
const DISKUTIL: &str = "diskutil info -all";
const MACOS_SYSTEMS: &str = "macOS, Mac OS X 10.6 and later";
const DISKLABEL: &str = "disklabel DISK";
const OPENBSD_SYSTEMS: &str = "OpenBSD, NetBSD";
const PRTVTOC: &str = "prtvtoc /dev/rdsk/DISKs2";
const SOLARIS_SYSTEMS: &str = "Solaris, illumos";
const PARTED_UTIL: &str = "partedUtil getptbl /vmfs/devices/disks/DEVICE";
const ESXI_SYSTEMS: &str = "ESXi 5.0 and later";

/// All commands; those for one fact on one platform with the oldest systems first.
pub static COMMANDS: &[Supply] = &[
    supply(Lack::Disk, "windows", WMIC_DISKS, WMIC_SYSTEMS),
    supply(Lack::Disk, "windows", GET_DISK, SINCE_2012),
    supply(Lack::Disk, "linux", LSBLK, LSBLK_SYSTEMS),
    supply(Lack::Disk, "freebsd", GEOM_DISKS, FREEBSD_SYSTEMS),
    supply(Lack::Disk, "macos", DISKUTIL, MACOS_SYSTEMS),
    supply(Lack::Disk, "openbsd", DISKLABEL, OPENBSD_SYSTEMS),
    supply(Lack::Disk, "solaris", PRTVTOC, SOLARIS_SYSTEMS),
    supply(
        Lack::Disk,
        "esxi",
        "esxcli storage core device list",
        ESXI_SYSTEMS,
    ),
    supply(
        Lack::Volume,
        "windows",
        "wmic path Win32_LogicalDiskToPartition get Antecedent,Dependent",
        WMIC_SYSTEMS,
    ),
    supply(Lack::Volume, "windows", GET_PARTITION, SINCE_2012),
    supply(Lack::Volume, "linux", LSBLK, LSBLK_SYSTEMS),
    supply(Lack::Volume, "freebsd", "glabel status", FREEBSD_SYSTEMS),
    supply(Lack::Volume, "macos", DISKUTIL, MACOS_SYSTEMS),
    supply(Lack::Volume, "openbsd", DISKLABEL, OPENBSD_SYSTEMS),
    supply(Lack::Volume, "solaris", PRTVTOC, SOLARIS_SYSTEMS),
    supply(
        Lack::Volume,
        "esxi",
        "esxcli storage vmfs extent list",
        ESXI_SYSTEMS,
    ),
    supply(
        Lack::Size,
        "windows",
        "diskpar -i N",
        "Windows 2000, with its Resource Kit",
    ),
    supply(Lack::Size, "windows", WMIC_PARTITIONS, WMIC_SYSTEMS),
    supply(Lack::Size, "windows", GET_PARTITION, SINCE_2012),
    supply(Lack::Size, "linux", LSBLK, LSBLK_SYSTEMS),
    supply(Lack::Size, "freebsd", GEOM_DISKS, FREEBSD_SYSTEMS),
    supply(Lack::Size, "macos", DISKUTIL, MACOS_SYSTEMS),
    supply(Lack::Size, "openbsd", DISKLABEL, OPENBSD_SYSTEMS),
    supply(Lack::Size, "solaris", PRTVTOC, SOLARIS_SYSTEMS),
    supply(Lack::Size, "esxi", PARTED_UTIL, ESXI_SYSTEMS),
    supply(
        Lack::PhysicalSector,
        "windows",
        "fsutil fsinfo ntfsinfo C:",
        "Windows 7 and Server 2008 R2 with Service Pack 1; earlier ones print no physical sector",
    ),
    supply(
        Lack::PhysicalSector,
        "windows",
        "fsutil fsinfo sectorinfo C:",
        SINCE_2012,
    ),
    supply(Lack::PhysicalSector, "windows", GET_DISK, SINCE_2012),
    supply(Lack::PhysicalSector, "linux", LSBLK, LSBLK_SYSTEMS),
    supply(Lack::PhysicalSector, "freebsd", GEOM_DISKS, FREEBSD_SYSTEMS),
    supply(
        Lack::PhysicalSector,
        "macos",
        "smartctl -i /dev/diskN",
        "smartmontools",
    ),
    supply(
        Lack::PhysicalSector,
        "openbsd",
        "smartctl -i /dev/rDISKc",
        "smartmontools",
    ),
    supply(
        Lack::PhysicalSector,
        "solaris",
        "smartctl -i /dev/rdsk/DISKs0",
        "smartmontools",
    ),
    supply(
        Lack::PhysicalSector,
        "esxi",
        "esxcli storage core device capacity list",
        "ESXi 6.5 and later",
    ),
    supply(
        Lack::PhysicalSector,
        "raid",
        "storcli /cALL/eALL/sALL show all",
        "controllers of Broadcom, Lenovo and Cisco",
    ),
    supply(
        Lack::PhysicalSector,
        "raid",
        "perccli /cALL/eALL/sALL show all",
        "controllers of Dell",
    ),
    supply(
        Lack::PhysicalSector,
        "raid",
        "ssacli ctrl all show config detail",
        "controllers of HPE",
    ),
    supply(
        Lack::Start,
        "windows",
        "diskpar -i N",
        "Windows 2000, with its Resource Kit",
    ),
    supply(Lack::Start, "windows", WMIC_PARTITIONS, WMIC_SYSTEMS),
    supply(Lack::Start, "windows", GET_PARTITION, SINCE_2012),
    supply(
        Lack::Start,
        "linux",
        "sfdisk -d DEVICE",
        "every version of util-linux",
    ),
    supply(
        Lack::Start,
        "linux",
        "sfdisk -J DEVICE",
        "util-linux 2.27 and later",
    ),
    supply(
        Lack::Start,
        "linux",
        "lsblk -b -o NAME,START",
        "util-linux 2.38 and later",
    ),
    supply(Lack::Start, "freebsd", "gpart show", FREEBSD_SYSTEMS),
    supply(Lack::Start, "macos", DISKUTIL, MACOS_SYSTEMS),
    supply(
        Lack::Start,
        "openbsd",
        "fdisk DISK",
        "OpenBSD, NetBSD: partitions of the table",
    ),
    supply(Lack::Start, "openbsd", DISKLABEL, OPENBSD_SYSTEMS),
    supply(Lack::Start, "solaris", PRTVTOC, SOLARIS_SYSTEMS),
    supply(Lack::Start, "esxi", PARTED_UTIL, ESXI_SYSTEMS),
    supply(
        Lack::LogicalVolumes,
        "linux",
        "lvm fullreport --reportformat json",
        "LVM 2.02.158 and later",
    ),
    supply(
        Lack::LogicalVolumes,
        "linux",
        "vgcfgbackup -f FILE GROUP",
        "every version of LVM",
    ),
    supply(
        Lack::StripeUnit,
        "raid",
        "MegaCli -LDInfo -Lall -aAll",
        "controllers of LSI, older ones of Dell, IBM and Fujitsu",
    ),
    supply(
        Lack::StripeUnit,
        "raid",
        "storcli /cALL/vALL show all",
        "controllers of Broadcom, Lenovo and Cisco",
    ),
    supply(
        Lack::StripeUnit,
        "raid",
        "perccli /cALL/vALL show all",
        "controllers of Dell",
    ),
    supply(
        Lack::StripeUnit,
        "raid",
        "ssacli ctrl all show config detail",
        "controllers of HPE",
    ),
    supply(
        Lack::StripeUnit,
        "raid",
        "arcconf getconfig N ld",
        "controllers of Adaptec and Microchip",
    ),
    supply(
        Lack::StripeUnit,
        "windows",
        "Get-VirtualDisk | Format-List FriendlyName,ResiliencySettingName,Interleave,NumberOfColumns,Size",
        "Storage Spaces: Windows 8, Server 2012 and later",
    ),
    supply(
        Lack::StripeUnit,
        "linux",
        "mdadm --detail DEVICE",
        "software RAID",
    ),
    supply(
        Lack::AllocationUnit,
        "windows",
        "fsutil fsinfo ntfsinfo C:",
        "Windows XP, Server 2003 and later",
    ),
    supply(
        Lack::AllocationUnit,
        "windows",
        "wmic volume get Name,BlockSize,FileSystem,Capacity",
        "Windows Server 2003 and later, up to Server 2022",
    ),
    supply(
        Lack::AllocationUnit,
        "windows",
        "Get-Volume | Format-List DriveLetter,FileSystem,AllocationUnitSize,Size",
        "Windows 10, Server 2016 and later",
    ),
    supply(Lack::AllocationUnit, "freebsd", ZDB, "ZFS"),
    supply(Lack::AllocationUnit, "openbsd", DISKLABEL, OPENBSD_SYSTEMS),
    supply(Lack::AllocationUnit, "solaris", ZDB, "ZFS"),
    supply(
        Lack::AllocationUnit,
        "macos",
        "diskutil info DISK",
        MACOS_SYSTEMS,
    ),
    supply(Lack::AllocationUnit, "linux", TUNE2FS, "ext4"),
    supply(Lack::AllocationUnit, "linux", XFS_INFO, "XFS"),
    supply(Lack::AllocationUnit, "linux", ZDB, "ZFS"),
    supply(
        Lack::AllocationUnit,
        "esxi",
        "vmkfstools -P -v 10 /vmfs/volumes/VOLUME",
        ESXI_SYSTEMS,
    ),
];

/// What people call the system that a capture is of.
#[must_use]
pub fn system(platform: &str) -> &str {
    match platform {
        "windows" => "Windows",
        "linux" => "Linux",
        "freebsd" => "FreeBSD",
        "macos" => "macOS",
        "openbsd" => "OpenBSD or NetBSD",
        "solaris" => "Solaris",
        "esxi" => "ESXi",
        other => other,
    }
}

/// The commands that supply a fact on a platform. A stripe unit that the system does not know is asked of the tool of the
/// RAID controller, which is not the system's own.
pub(crate) fn for_fact(lack: Lack, platform: &str) -> impl Iterator<Item = &'static Supply> {
    let platform = platform.to_owned();
    COMMANDS.iter().filter(move |supply| {
        let raid = lack == Lack::StripeUnit && supply.platform == "raid";
        supply.lack == lack && (supply.platform == platform || raid)
    })
}

/// Words in the model of a device that is a volume of an array.
const ARRAYS: [&str; 22] = [
    "PERC",
    "MEGARAID",
    "MR9",
    "SERVERAID",
    "AVAGO",
    "LSI",
    "LOGICAL VOLUME",
    "SMART ARRAY",
    "RAID",
    "ADAPTEC",
    "STORAGE SPACE",
    "LUN",
    "SYMMETRIX",
    "HSV",
    "DGC",
    "VRAID",
    "OPEN-V",
    "2145",
    "COMPELLENT",
    "COMPELNT",
    "EQLOGIC",
    "MD3",
];

/// True for a disk that is a volume of an array, by its transport or by its model.
#[must_use]
pub fn is_array(device: &Layer) -> bool {
    let raid = device.text(Key::Transport) == Some("raid");
    let model = device.text(Key::Model).unwrap_or_default().to_uppercase();
    raid || ARRAYS.iter().any(|word| model.contains(word))
}

/// The words by which a controller's model names its maker, and the maker's tools.
const MAKERS: [(&[&str], &[&str]); 4] = [
    (&["PERC"], &["perccli", "MegaCli"]),
    (&["LOGICAL VOLUME", "SMART ARRAY"], &["ssacli"]),
    (&["ADAPTEC", "ASR", "MSCC"], &["arcconf"]),
    (
        &["MEGARAID", "MR9", "SERVERAID", "AVAGO", "LSI"],
        &["storcli", "MegaCli"],
    ),
];

/// The commands for a fact; of those for RAID controllers only the ones of the maker, where the model tells.
#[must_use]
pub fn suitable(lack: Lack, platform: &str, model: &str) -> Vec<&'static Supply> {
    let model = model.to_uppercase();
    let maker = MAKERS
        .iter()
        .find(|(words, _)| words.iter().any(|word| model.contains(word)));
    let fits = |supply: &&Supply| match maker {
        Some((_, tools)) if supply.lack == Lack::StripeUnit || supply.platform == "raid" => {
            tools.iter().any(|tool| supply.command.starts_with(tool))
        }
        _ => true,
    };
    for_fact(lack, platform).filter(fits).collect()
}

/// One line for each command: the command, then which systems have it.
pub(crate) fn advice(lack: Lack, platform: &str) -> Vec<String> {
    let line = |supply: &Supply| format!("{} ({})", supply.command, supply.systems);
    for_fact(lack, platform).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_can_be_asked_for_every_fact() {
        for platform in [
            "windows", "linux", "freebsd", "macos", "openbsd", "solaris", "esxi",
        ] {
            for lack in Lack::ALL {
                // Others have no LVM.
                if lack == Lack::LogicalVolumes && platform != "linux" {
                    continue;
                }
                assert!(
                    for_fact(lack, platform).next().is_some(),
                    "{} on {platform}",
                    lack.name()
                );
            }
        }
    }

    #[test]
    fn older_systems_come_first() {
        let starts = advice(Lack::Start, "windows");
        assert!(starts[0].starts_with("diskpar"), "{starts:?}");
        assert!(starts[2].starts_with("Get-Partition"), "{starts:?}");
        assert!(advice(Lack::Start, "plan9").is_empty());
    }

    #[test]
    fn no_command_is_there_twice() {
        for (at, supply) in COMMANDS.iter().enumerate() {
            let again = COMMANDS[at + 1..].iter().any(|other| {
                (other.lack, other.platform, other.command)
                    == (supply.lack, supply.platform, supply.command)
            });
            assert!(!again, "{supply:?}");
        }
    }
}
