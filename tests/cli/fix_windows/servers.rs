//! Captured text of small servers, each with one disk that is off, and what a disk of theirs is known by.

use std::fs;
use std::path::{Path, PathBuf};

/// A server as it was captured.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(&'static str, String)>,
}

impl Server {
    /// Writes the captures into a folder that is called as the server is.
    pub(crate) fn write(&self, under: &Path) -> PathBuf {
        let folder = under.join(format!("{}.server", self.name));
        fs::create_dir_all(&folder).expect("a folder can be made");
        for (name, text) in &self.files {
            fs::write(folder.join(name), text).expect("a file can be written");
        }
        folder
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Server> {
    vec![
        w2003("SQLDATA"),
        w2008(),
        gpt(),
        two(),
        folder("D:\\mnt\\sql data"),
        odd(),
        diskpar2000(),
        esx3("san 1"),
    ]
}

pub(crate) const MODEL_2003: &str = "HP LOGICAL VOLUME SCSI Disk Device";
pub(crate) const SIZE_2003: &str = "440397941760";

/// Windows Server 2003 SP1: sector 63, clusters of 64K.
pub(crate) fn w2003(label: &str) -> Server {
    Server {
        name: "w2003",
        files: vec![
            (
                "a-diskdrive.csv",
                format!(
                    "Node,BytesPerSector,Index,Model,Signature,Size\nSQL01,512,1,{MODEL_2003},{},{SIZE_2003}\n",
                    0x9D4A_E2F1_u32
                ),
            ),
            (
                "b-partition.csv",
                "Node,BlockSize,Name,Size,StartingOffset,Type\n\
                 SQL01,512,\"Disk #1, Partition #0\",440389685248,32256,Installable File System\n"
                    .replace('"', ""),
            ),
            (
                "c-diskpart.txt",
                session("5.2.3790.3959", 1, MODEL_2003, "9D4AE2F1"),
            ),
            ("d-letters.txt", letters(1, 0, "E:", 32256, 440_389_685_248)),
            (
                "e-volume.txt",
                volume("E:\\", "NTFS", 65536, label, 440_389_619_712),
            ),
        ],
    }
}

fn session(version: &str, disk: u32, model: &str, id: &str) -> String {
    format!(
        "Microsoft DiskPart version {version}\nCopyright (C) 1999-2001 Microsoft Corporation.\nOn computer: SQL01\n\n\
         DISKPART> select disk {disk}\n\nDisk {disk} is now the selected disk.\n\nDISKPART> detail disk\n\n{model}\n\
         Disk ID: {id}\nType   : SCSI\nBus    : 0\nTarget : 1\nLUN ID : 0\n\nDISKPART> exit\n"
    )
}

fn letters(disk: u32, partition: u32, letter: &str, start: u64, len: u64) -> String {
    format!(
        "\nAntecedent=\\\\SQL01\\root\\cimv2:Win32_DiskPartition.DeviceID=\"Disk #{disk}, Partition #{partition}\"\n\
         Dependent=\\\\SQL01\\root\\cimv2:Win32_LogicalDisk.DeviceID=\"{letter}\"\n\
         EndingAddress={}\nStartingAddress={start}\n\n",
        start + len - 1
    )
}

fn volume(name: &str, filesystem: &str, unit: u64, label: &str, capacity: u64) -> String {
    let letter = name.strip_suffix('\\').filter(|name| name.len() == 2);
    format!(
        "\nAutomount=TRUE\nBlockSize={unit}\nCapacity={capacity}\nCaption={name}\nCompressed=FALSE\n\
         DeviceID=\\\\?\\Volume{{98bad27e-0000-0000-0000-007e00000000}}\\\nDriveLetter={}\nDriveType=3\n\
         FileSystem={filesystem}\nFreeSpace=1704933213\nLabel={label}\nName={name}\nSystemName=SQL01\n\n",
        letter.unwrap_or_default()
    )
}

/// A disk as `Get-Disk | Format-List *` prints it.
fn disk(number: u32, style: &str, size: u64, signature: u32, guid: &str) -> String {
    format!(
        "### command: Get-Disk | Format-List *\n\nDiskNumber           : {number}\nPartitionStyle       : {style}\n\
         BusType              : SAS\nUniqueId             : 600508B1001C4D41000000000000000{number}\n\
         FriendlyName         : HP LOGICAL VOLUME\nGuid                 : {guid}\nIsBoot               : False\nIsSystem             : False\n\
         LogicalSectorSize    : 512\nManufacturer         : HP\nModel                : LOGICAL VOLUME\nNumber               : {number}\n\
         PhysicalSectorSize   : 512\nSerialNumber         : 50014380116B2D{number}\nSignature            : {}\nSize                 : {size}\n\n",
        if signature == 0 {
            String::new()
        } else {
            signature.to_string()
        }
    )
}

/// A partition as `Get-Partition | Format-List *` prints it.
fn partition(
    disk: u32,
    number: u32,
    letter: &str,
    paths: &str,
    kind: &str,
    start: u64,
    size: u64,
) -> String {
    let (gpt, mbr) = if kind.starts_with('{') {
        (kind, "")
    } else {
        ("", kind)
    };
    format!(
        "AccessPaths          : {paths}\nDiskNumber           : {disk}\nDriveLetter          : {letter}\nGptType              : {gpt}\n\
         MbrType              : {mbr}\nOffset               : {start}\nPartitionNumber      : {number}\nSize                 : {size}\n\n"
    )
}

fn ps_volume(letter: &str, path: &str, label: &str, unit: u64, size: u64) -> String {
    format!(
        "AllocationUnitSize   : {unit}\nDriveLetter          : {letter}\nDriveType            : Fixed\nFileSystem           : NTFS\n\
         FileSystemLabel      : {label}\nFileSystemType       : NTFS\nPath                 : {path}\nSize                 : {size}\n\n"
    )
}

const PARTITIONS: &str = "### command: Get-Partition | Format-List *\n\n";
const VOLUMES: &str = "### command: Get-Volume | Format-List *\n\n";
const RESERVED: &str = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}";
const BASIC: &str = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";

/// Windows Server 2012 with a disk that came from a 2003: 64K clusters, and a label with a percent sign and an ampersand.
fn w2008() -> Server {
    Server {
        name: "w2012-64k",
        files: vec![
            ("a.txt", disk(2, "MBR", 214_748_364_800, 0x7A31_C5D9, "")),
            (
                "b.txt",
                format!(
                    "{PARTITIONS}{}",
                    partition(2, 1, "F", "{F:\\}", "7", 32_256, 214_745_505_792)
                ),
            ),
            (
                "c.txt",
                format!(
                    "{VOLUMES}{}",
                    ps_volume("F", "", "100% R&D", 65_536, 214_745_440_256)
                ),
            ),
        ],
    }
}

/// A GPT data disk: its reserved partition, and data off a sector of 4 KiB.
fn gpt() -> Server {
    let guid = "{6f2e8c10-5b7d-4a39-9c41-2d6f0e8a7b53}";
    Server {
        name: "gpt",
        files: vec![
            ("a.txt", disk(1, "GPT", 2_199_023_255_552, 0, guid)),
            (
                "b.txt",
                format!(
                    "{PARTITIONS}{}{}",
                    partition(1, 1, "", "", RESERVED, 17_408, 134_217_728),
                    partition(1, 2, "G", "{G:\\}", BASIC, 134_235_136, 2_198_880_256_000)
                ),
            ),
            (
                "c.txt",
                format!(
                    "{VOLUMES}{}",
                    ps_volume("G", "", "DATA01", 8_192, 2_198_880_251_904)
                ),
            ),
        ],
    }
}

/// Two partitions on one disk, both off.
fn two() -> Server {
    Server {
        name: "two",
        files: vec![
            ("a.txt", disk(3, "MBR", 107_374_182_400, 0x0BAD_CAFE, "")),
            (
                "b.txt",
                format!(
                    "{PARTITIONS}{}{}",
                    partition(3, 1, "L", "{L:\\}", "7", 32_256, 21_476_174_336),
                    partition(3, 2, "M", "{M:\\}", "7", 21_476_206_592, 85_887_959_040)
                ),
            ),
            (
                "c.txt",
                format!(
                    "{VOLUMES}{}{}",
                    ps_volume("L", "", "LOGS", 4_096, 21_476_171_776),
                    ps_volume("M", "", "O'Brien `$(1)", 65_536, 85_887_909_888)
                ),
            ),
        ],
    }
}

/// A volume without a letter, in a folder.
pub(crate) fn folder(path: &str) -> Server {
    let volume_id = "\\\\?\\Volume{98bad27e-0000-0000-0000-007e00000000}\\";
    Server {
        name: "folder",
        files: vec![
            (
                "a.txt",
                disk(
                    4,
                    "GPT",
                    536_870_912_000,
                    0,
                    "{0b1f7a52-83a4-4a0c-8c53-1de3c5a96f01}",
                ),
            ),
            (
                "b.txt",
                format!(
                    "{PARTITIONS}{}",
                    partition(
                        4,
                        1,
                        "",
                        &format!("{{{path}\\, {volume_id}}}"),
                        BASIC,
                        32_256,
                        536_860_000_256
                    )
                ),
            ),
            (
                "d.txt",
                volume(&format!("{path}\\"), "NTFS", 65_536, "SQL", 536_859_901_952),
            ),
        ],
    }
}

/// A stripe of five data disks with 64K: 320K do not divide 1 MiB, so that the smallest common offset is 5 MiB.
fn odd() -> Server {
    Server {
        name: "odd-width",
        files: vec![
            ("a.txt", disk(5, "MBR", 1_000_000_000_000, 0x0101_0202, "")),
            (
                "b.txt",
                format!(
                    "{PARTITIONS}{}",
                    partition(5, 1, "R", "{R:\\}", "7", 1_048_576, 999_990_000_640)
                ),
            ),
            (
                "c.txt",
                format!(
                    "{VOLUMES}{}",
                    ps_volume("R", "", "RAID", 65_536, 999_989_968_896)
                ),
            ),
        ],
    }
}

/// Windows 2000, of which only diskpar knows anything.
pub(crate) fn diskpar2000() -> Server {
    Server {
        name: "w2000",
        files: vec![
            (
                "diskpar.txt",
                format!("C:\\reskit>diskpar -i 1\n{}", diskpar_i(true)),
            ),
            ("ntfsinfo-E.txt", NTFSINFO.to_owned()),
        ],
    }
}

/// What `diskpar -i 1` prints, with its partition or without.
pub(crate) fn diskpar_i(with: bool) -> String {
    let mut text = "---- Drive 1 Geometry Infomation ----\nCylinders = 53542\nTracksPerCylinder = 255\nSectorsPerTrack = 63\n\
                    BytesPerSector = 512\nDiskSize = 440397941760 (Bytes) = 419996 (MB)\n\n"
        .to_owned();
    if with {
        text += "---- Drive Partition 0 Infomation ----\nStatringOffset = 32256\nPartitionLength = 440389685248\n\
                 HiddenSectors = 63\nPartitionNumber = 1\nPartitionType = 7\n";
    }
    text
}

const NTFSINFO: &str = "NTFS Volume Serial Number :       0x18c8f0b2c8f08f4e\nVersion :                         3.0\n\
    Number Sectors :                  0x000000003344a2a7\nTotal Clusters :                  0x0000000000668944\n\
    Free Clusters  :                  0x00000000000a271b\nTotal Reserved :                  0x0000000000000000\n\
    Bytes Per Sector  :               512\nBytes Per Cluster :               65536\nBytes Per FileRecord Segment    : 1024\n\
    Clusters Per FileRecord Segment : 0\nMft Valid Data Length :           0x0000000000090000\n";

/// VMFS-3 of ESX 3 at sector 128, on an ESXi of today.
pub(crate) fn esx3(label: &str) -> Server {
    Server {
        name: "esx3",
        files: vec![
            (
                "capacity.txt",
                "[root@esx1:~] esxcli storage core device capacity list\n\
                 Device                                Physical Blocksize  Logical Blocksize  Logical Block Count      Size  Format Type\n\
                 ------------------------------------  ------------------  -----------------  -------------------  --------  -----------\n\
                 naa.600144f0e8cb470000005053b9b50001                 512                512             20971520  10240 MiB  512n\n"
                    .to_owned(),
            ),
            ("getptbl.txt", format!("~ # partedUtil getptbl /vmfs/devices/disks/{NAA}\n{}", getptbl(20_971_520, 128))),
            (
                "extents.csv",
                format!(
                    "DeviceName,ExtentNumber,Partition,VMFSUUID,VolumeName,\n{NAA},0,1,4c1e2a3b-4c5d6e7f-8091-001b21a0b1c2,{label},\n"
                ),
            ),
        ],
    }
}

pub(crate) const NAA: &str = "naa.600144f0e8cb470000005053b9b50001";

/// What `partedUtil getptbl` prints.
pub(crate) fn getptbl(sectors: u64, start: u64) -> String {
    format!("msdos\n1305 255 63 {sectors}\n1 {start} 20964824 251 0\n")
}
