use std::borrow::Cow;

/// One of the names of a thing. Two things of one machine that share a name are the same thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Who gives names of this kind.
    pub space: Space,
    /// The name, in the one spelling that [`Name::new`] chooses.
    pub text: Cow<'static, str>,
}

/// Who gives a name. Names in different spaces have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Windows' number of a disk: `0` for `\\.\PHYSICALDRIVE0` and `Disk 0`.
    WindowsDisk,
    /// Windows' numbers of a disk and a partition, from 1, as DiskPart and PowerShell give them: `0/1`.
    WindowsPartition,
    /// WMI's numbers of a disk and a partition, from 0: `0/0` for `Disk #0, Partition #0`.
    WmiPartition,
    /// A drive letter, a mount folder or a volume's GUID path: `C:`, `D:\data`, `\\?\volume{…}`.
    WindowsVolume,
    /// The disk below a volume of that name, when a tool is asked about a volume and answers about its disk. It is a name of
    /// the disk, so that what is said by way of several volumes comes together; which disk it is, the volume's partition
    /// tells.
    WindowsVolumeDisk,
    /// DiskPart's number of a volume.
    WindowsVolumeNumber,
    /// A block device of Linux, without `/dev/`: `sda1`, `mapper/vg-data`, `md0`.
    Device,
    /// Where Linux has something mounted.
    MountPoint,
    /// An LVM volume group.
    VolumeGroup,
    /// An LVM logical volume: `vg/lv`.
    LogicalVolume,
    /// A ZFS pool, or a vdev in it: `tank`, `tank/raidz1-0`.
    Pool,
    /// A volume of a RAID controller: `c0/v1` for MegaRAID, `c0/ld1` for others.
    RaidVolume,
    /// A disk behind a RAID controller: `c0/e32/s1`.
    RaidDisk,
    /// A device of ESXi: `naa.600…`, `mpx.vmhba0:C0:T0:L0`.
    EsxiDevice,
    /// A VMFS volume by its label or UUID.
    Vmfs,
    /// A Storage Spaces virtual disk by its friendly name.
    VirtualDisk,
    /// What Windows calls the interface of a device: `\\?\scsi#disk&ven_…#{53f56307-…}`.
    DevicePath,
    /// A file by its path, such as a VHD.
    Path,
    /// Serial number of a device. An identity: it goes with the hardware.
    Serial,
    /// World-wide name, NAA or EUI of a device: an identity.
    Wwn,
    /// Signature or GUID of a partition table: an identity, unless a disk was cloned.
    TableId,
    /// UUID that a partition, a filesystem, a member or a volume carries in itself: an identity, unless it was cloned.
    Uuid,
}

/// What stands between a machine and the name of its thing.
const MACHINE: &str = " › ";

impl Space {
    /// True for names that a thing carries in itself. The others say where it is plugged in, so that another thing can
    /// come to bear them.
    #[must_use]
    pub const fn is_identity(self) -> bool {
        matches!(
            self,
            Space::Serial | Space::Wwn | Space::TableId | Space::Uuid
        )
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Space::WindowsDisk => "disk number",
            Space::WindowsPartition | Space::WmiPartition => "partition number",
            Space::WindowsVolume => "volume",
            Space::WindowsVolumeDisk => "disk of volume",
            Space::WindowsVolumeNumber => "volume number",
            Space::Device | Space::EsxiDevice => "device",
            Space::MountPoint => "mount point",
            Space::VolumeGroup => "volume group",
            Space::LogicalVolume => "logical volume",
            Space::Pool => "pool",
            Space::RaidVolume => "volume of a RAID controller",
            Space::RaidDisk => "disk of a RAID controller",
            Space::Vmfs => "VMFS volume",
            Space::VirtualDisk => "virtual disk",
            Space::DevicePath => "device path",
            Space::Path => "file",
            Space::Serial => "serial number",
            Space::Wwn => "world-wide name",
            Space::TableId => "table identifier",
            Space::Uuid => "UUID",
        }
    }
}

impl Name {
    /// The name `text` in `space`, spelt in one way: identities and what Windows calls things in lower case and without
    /// blanks at the ends, Linux devices without `/dev/`, volumes without a closing backslash.
    #[must_use]
    pub fn new(space: Space, text: impl Into<Cow<'static, str>>) -> Name {
        let text = text.into();
        let trimmed = text.trim();
        let spelt = match space {
            Space::Device => trimmed.strip_prefix("/dev/").unwrap_or(trimmed).to_owned(),
            Space::WindowsVolume | Space::WindowsVolumeDisk => {
                let short = trimmed.trim_end_matches('\\').to_lowercase();
                if short.len() == 1 && short.bytes().all(|b| b.is_ascii_alphabetic()) {
                    short + ":"
                } else {
                    short
                }
            }
            Space::Wwn => {
                let lower = trimmed.to_ascii_lowercase();
                let bare = ["naa.", "eui.", "0x", "wwn-"]
                    .into_iter()
                    .fold(lower.as_str(), |text, prefix| {
                        text.strip_prefix(prefix).unwrap_or(text)
                    });
                bare.to_owned()
            }
            Space::TableId | Space::Uuid => {
                let lower = trimmed.to_ascii_lowercase();
                let bare = lower.trim_start_matches("0x");
                bare.trim_matches(['{', '}']).to_owned()
            }
            // It has no blanks; where a console broke it, there may be some.
            Space::DevicePath => trimmed.to_lowercase().split_whitespace().collect(),
            Space::EsxiDevice | Space::VirtualDisk | Space::Path => trimmed.to_lowercase(),
            _ => trimmed.to_owned(),
        };
        Name {
            space,
            text: Cow::Owned(spelt),
        }
    }

    /// The same name of a thing of another machine. Identities tell no machine.
    #[must_use]
    pub fn of_machine(self, machine: &str) -> Name {
        if self.space.is_identity() {
            return self;
        }
        Name {
            text: Cow::Owned(format!("{machine}{MACHINE}{}", self.text)),
            ..self
        }
    }

    /// The name without its machine, and the machine.
    #[must_use]
    pub fn and_machine(&self) -> (&str, Option<&str>) {
        match self.text.split_once(MACHINE) {
            Some((machine, text)) => (text, Some(machine)),
            None => (&self.text, None),
        }
    }

    /// A Windows disk by its number.
    #[must_use]
    pub fn windows_disk(number: u64) -> Name {
        Name::new(Space::WindowsDisk, number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_one_spelling() {
        let same = |space, a: &'static str, b: &'static str| {
            assert_eq!(Name::new(space, a), Name::new(space, b));
        };
        same(Space::Device, "/dev/sda1", "sda1");
        same(Space::WindowsVolume, "C", "c:\\");
        same(Space::WindowsVolume, "D:\\Data\\", "d:\\data");
        same(Space::Wwn, "0x5000C500A1B2C3D4", "naa.5000c500a1b2c3d4");
        same(Space::TableId, "{8A2B-X}", "8a2b-x");
        same(Space::TableId, "0x1C2D3E4F", "1c2d3e4f");
        assert_ne!(Name::new(Space::Serial, "a"), Name::new(Space::Serial, "A"));
    }
}
