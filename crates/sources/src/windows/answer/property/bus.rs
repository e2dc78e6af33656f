/// What a device is attached by, `STORAGE_BUS_TYPE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// Not known.
    Unknown,
    /// SCSI: how the driver speaks, not what lies behind.
    Scsi,
    /// ATAPI.
    Atapi,
    /// ATA.
    Ata,
    /// FireWire.
    Ieee1394,
    /// Serial Storage Architecture.
    Ssa,
    /// Fibre Channel.
    FibreChannel,
    /// USB.
    Usb,
    /// A RAID controller.
    Raid,
    /// iSCSI.
    Iscsi,
    /// Serial attached SCSI.
    Sas,
    /// SATA.
    Sata,
    /// SD card.
    Sd,
    /// MMC.
    Mmc,
    /// A disk that a driver makes up.
    Virtual,
    /// A mounted VHD, VHDX or ISO.
    FileBackedVirtual,
    /// A virtual disk of Storage Spaces.
    Spaces,
    /// NVMe.
    Nvme,
    /// Persistent memory.
    StorageClassMemory,
    /// Universal Flash Storage.
    Ufs,
    /// NVMe over fabrics.
    NvmeOverFabrics,
    /// A number that is not in the list.
    Other(u32),
}

/// The buses by their numbers.
const BUSES: [Bus; 21] = [
    Bus::Unknown,
    Bus::Scsi,
    Bus::Atapi,
    Bus::Ata,
    Bus::Ieee1394,
    Bus::Ssa,
    Bus::FibreChannel,
    Bus::Usb,
    Bus::Raid,
    Bus::Iscsi,
    Bus::Sas,
    Bus::Sata,
    Bus::Sd,
    Bus::Mmc,
    Bus::Virtual,
    Bus::FileBackedVirtual,
    Bus::Spaces,
    Bus::Nvme,
    Bus::StorageClassMemory,
    Bus::Ufs,
    Bus::NvmeOverFabrics,
];

impl Bus {
    pub(super) fn new(number: u32) -> Bus {
        let listed = usize::try_from(number).ok().and_then(|at| BUSES.get(at));
        listed.copied().unwrap_or(Bus::Other(number))
    }

    /// The word for the transport, the same as a capture of `Get-Disk` and the live Linux host have; `None` where the bus does not
    /// say what lies behind.
    #[must_use]
    pub const fn transport(self) -> Option<&'static str> {
        Some(match self {
            Bus::Ata => "ata",
            Bus::FibreChannel => "fc",
            Bus::Usb => "usb",
            Bus::Raid => "raid",
            Bus::Iscsi => "iscsi",
            Bus::Sas => "sas",
            Bus::Sata => "sata",
            Bus::Sd | Bus::Mmc => "mmc",
            Bus::Nvme => "nvme",
            _ => return None,
        })
    }
}
