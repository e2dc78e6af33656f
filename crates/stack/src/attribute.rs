use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use straddle_geometry::Bytes;

use crate::{Fact, Interval};

/// A fact about a layer that is not a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attribute {
    /// What it says.
    pub key: Key,
    /// What the answer is.
    pub value: Fact<Value>,
}

/// The value of an [`Attribute`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A position or a length in bytes.
    Bytes(Bytes),
    /// A signed number of bytes, where the source can say −1.
    SignedBytes(i64),
    /// A number of things.
    Count(u64),
    /// A name, a version, a level.
    Text(Cow<'static, str>),
    /// Yes or no.
    Flag(bool),
    /// A number of bytes that was rounded: what it can have been.
    Between(Interval),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(bytes) => bytes.fmt(f),
            Value::SignedBytes(n) => n.fmt(f),
            Value::Count(n) => n.fmt(f),
            Value::Text(text) => f.pad(text),
            Value::Flag(flag) => f.pad(if *flag { "yes" } else { "no" }),
            Value::Between(interval) => interval.fmt(f),
        }
    }
}

macro_rules! keys {
    ($( $(#[doc = $doc:literal])+ $name:ident = $text:literal ),+ $(,)?) => {
        /// What an [`Attribute`] says. Names are those of the format or of the kernel's interface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Key {
            $( $(#[doc = $doc])+ $name ),+
        }

        impl Key {
            /// How it is called on screen.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Key::$name => $text ),+ }
            }
        }
    };
}

keys! {
    /// Nothing lies on it: every byte is the one named, or its partition table is whole and has no entry.
    Blank = "blank",
    /// Kind of partition table on a device: `mbr`, `gpt`.
    PartitionTable = "partition table",
    /// Identifier of a partition table: the disk signature of an MBR in hexadecimal, the disk GUID of a GPT.
    TableId = "table identifier",
    /// Number of the partition in its table, from 1 (Solaris slices from 0).
    PartitionNumber = "partition number",
    /// Partition type: an MBR type byte in hexadecimal, or a GPT type GUID.
    PartitionType = "partition type",
    /// Partition name, as GPT records it.
    PartitionName = "partition name",
    /// An extended partition: it holds other partitions and no filesystem of its own.
    HoldsPartitions = "holds partitions",
    /// Position of the start as the table records it, in the table's own sectors.
    StartSector = "start sector",
    /// Sector size that a table was written for.
    TableSectorSize = "table sector size",
    /// Version of a format.
    Version = "version",
    /// Volume label.
    Label = "label",
    /// `hidden sectors` of a boot sector, in bytes: where the volume believes its partition starts.
    HiddenSectors = "hidden sectors",
    /// exFAT `PartitionOffset`, in bytes.
    PartitionOffset = "partition offset",
    /// Bytes per sector as the boot sector or superblock says.
    SectorSize = "sector size",
    /// Where the first cluster lies in the volume.
    ClusterHeapOffset = "cluster heap offset",
    /// exFAT boundary unit: where the clusters are meant to be aligned.
    BoundaryUnit = "boundary unit",
    /// Size of an NTFS MFT record.
    MftRecordSize = "MFT record size",
    /// Size of an NTFS index record.
    IndexRecordSize = "index record size",
    /// Where the NTFS MFT starts.
    MftOffset = "MFT offset",
    /// Size of a filesystem block or cluster.
    BlockSize = "block size",
    /// Size of an ext4 bigalloc cluster.
    ClusterSize = "cluster size",
    /// Number of blocks before the first data block (ext: 1 with 1 KiB blocks).
    FirstDataBlock = "first data block",
    /// ext `stride`, XFS `sunit`: the stripe unit that the filesystem was made for.
    FsStripeUnit = "stripe unit of the filesystem",
    /// ext `stripe_width`, XFS `swidth`: the full stripe that the filesystem was made for.
    FsFullStripe = "full stripe of the filesystem",
    /// XFS log stripe unit.
    LogStripeUnit = "log stripe unit",
    /// Sector size of the XFS log.
    LogSectorSize = "log sector size",
    /// Size of an XFS allocation group.
    AllocationGroupSize = "allocation group size",
    /// btrfs node size.
    NodeSize = "node size",
    /// btrfs leaf size; by now always the node size.
    LeafSize = "leaf size",
    /// `stripesize` of a btrfs superblock; not the length of its stripes.
    StripeSizeField = "stripesize field",
    /// btrfs stripe length.
    StripeLength = "stripe length",
    /// Number of devices of a btrfs filesystem.
    DeviceCount = "number of devices",
    /// Length of the volume that the format claims to fill.
    ClaimedSize = "size by its superblock",
    /// Length of all devices of a filesystem together.
    TotalSize = "size over all devices",
    /// What a database allocates at once: several pages.
    DatabaseExtent = "database extent",
    /// Page size of swap or of a database file.
    PageSize = "page size",
    /// Kernel's `alignment_offset`: distance from the start to the first aligned address; −1 when misaligned.
    AlignmentOffset = "alignment offset",
    /// Kernel's `discard_alignment`.
    DiscardAlignment = "discard alignment",
    /// Whether what is deleted is told to the device (trim, unmap).
    Trim = "trim",
    /// Spinning disk or not.
    Rotational = "rotational",
    /// Zoned model: `none`, `host-aware`, `host-managed`.
    Zoned = "zoned",
    /// Pages must not change while they are written out.
    StableWrites = "stable writes",
    /// Largest request the kernel sends.
    MaxRequest = "largest request",
    /// Smallest atomic write.
    AtomicWriteMin = "smallest atomic write",
    /// Largest atomic write.
    AtomicWriteMax = "largest atomic write",
    /// Boundary that an atomic write must not cross.
    AtomicWriteBoundary = "atomic-write boundary",
    /// Transport of a device: `sata`, `nvme`, `usb`, `virtio`.
    Transport = "transport",
    /// Model name.
    Model = "model",
    /// Serial number; only when asked for.
    Serial = "serial number",
    /// Array level: `raid0`, `raid10`, `raid5`.
    Level = "level",
    /// Array layout: `near=2`, `left-symmetric`.
    Layout = "layout",
    /// Number of members.
    Members = "members",
    /// Number of members that hold data, not parity or copies.
    DataMembers = "data members",
    /// device-mapper target: `linear`, `striped`, `crypt`.
    Target = "target",
    /// Path selector of a multipath device.
    PathSelector = "path selector",
    /// Where a member's or payload's data starts.
    DataOffset = "data offset",
    /// Where a device is mounted.
    MountPoint = "mounted at",
    /// Mount options that concern alignment.
    MountOptions = "mount options",
    /// File behind a loop device, or the file itself.
    Path = "path",
    /// Loop device uses direct I/O.
    DirectIo = "direct I/O",
    /// Memory alignment that direct I/O needs.
    DioMemoryAlignment = "direct I/O memory alignment",
    /// Offset alignment that direct I/O needs.
    DioOffsetAlignment = "direct I/O offset alignment",
    /// Number of extents of a file.
    Extents = "extents",
    /// Bytes of a file whose place is known.
    MappedBytes = "mapped bytes",
    /// Compression algorithm, where a device or file is compressed.
    Compression = "compression",
    /// What was read, where a flag of the user replaces it.
    Overridden = "overridden by a flag",
    /// How a virtual disk container lays out its disk: `dynamic`, `fixed`, `differencing`, `monolithicSparse`.
    Subformat = "subformat",
    /// Physical sector that a virtual disk shows to its guest.
    GuestPhysicalSector = "physical sector shown to the guest",
    /// How a virtual disk encrypts what its guest writes, where it does.
    Encryption = "encryption",
    /// How a virtual disk compresses those of its blocks that are compressed, whether or not there are any.
    ClusterCompression = "compression of blocks",
    /// qcow2 with extended L2 entries: part of a cluster that is allocated for itself.
    SubclusterSize = "subcluster size",
    /// qcow2 writes its reference counts later.
    LazyRefcounts = "lazy reference counts",
    /// Number of snapshots inside a virtual disk's file.
    Snapshots = "internal snapshots",
    /// A virtual disk's file holds bitmaps of what was written since a backup.
    DirtyBitmaps = "dirty bitmaps",
    /// File that holds the blocks of a virtual disk whose own file has only the tables, as recorded.
    DataFile = "data file",
    /// The data file is at the same time a raw image of the disk.
    RawDataFile = "data file is a raw image",
    /// Format of the parent, as recorded.
    ParentFormat = "format of the parent",
    /// Program that made a virtual disk container, as it records itself.
    CreatedBy = "created by",
    /// Identifier of a virtual disk, which a child records to know its parent again.
    DiskId = "disk identifier",
    /// Size that a virtual disk had when it was made.
    OriginalSize = "original size",
    /// Size of a virtual disk by its cylinders, heads and sectors.
    GeometrySize = "size by its geometry",
    /// Where the footer of a virtual disk container stands.
    FooterOffset = "footer offset",
    /// Distance of neighbouring blocks in a container that puts something in front of each.
    BlockStride = "distance between blocks",
    /// What the blocks of a virtual disk container lie on in its file: 512 bytes or 4 KiB (`Get-VHD`: Alignment).
    BlockAlignment = "blocks lie on",
    /// The virtual machine was suspended: its memory belongs to the disk as it is.
    SavedState = "saved state",
    /// What a log of changes that were not yet carried out held, and what was done about it.
    PendingLog = "pending log",
    /// When the parent of a differencing virtual disk was changed last, in seconds since 2000-01-01 UTC.
    ParentChanged = "parent changed",
    /// File that holds what is absent in a differencing virtual disk, as recorded.
    Parent = "parent",
    /// UUID that a virtual disk has besides.
    DiskUuid = "UUID of the disk",
    /// Controller that a virtual disk was made for: `ide`, `lsilogic`.
    AdapterType = "adapter type",
    /// Cylinders, heads and sectors that a virtual disk shows to its guest.
    DiskGeometry = "geometry",
    /// Version of the virtual hardware that a disk was made for.
    HardwareVersion = "virtual hardware version",
    /// Version of the tools in the guest.
    ToolsVersion = "tools version",
    /// Space is taken from the storage below only when it is written.
    ThinProvisioned = "thin provisioned",
    /// Start of a partition, where it is known only from a rounded figure.
    StartShown = "start",
    /// Size, where it is known only from a rounded figure.
    SizeShown = "size",
    /// System whose tools printed what is known: `windows`, `linux`, `esxi`.
    Platform = "platform",
    /// Generation of the system whose tools printed what is known, where that tells the age of its disks: `Windows before Vista`.
    SystemGeneration = "system generation",
    /// What a RAID controller does with writes: `write-back`, `write-through`.
    WriteCache = "write cache",
    /// What a RAID controller reads in advance.
    ReadAhead = "read-ahead",
    /// Protection information on every sector.
    ProtectionInformation = "protection information",
    /// State of an array: `optimal`, `degraded`.
    State = "state",
    /// Whose firmware wrote the metadata of an array on its disks: `Intel Matrix RAID (IMSM)`.
    FirmwareRaid = "firmware RAID",
    /// LVM physical extent.
    ExtentSize = "extent size",
    /// Where the first extent of an LVM physical volume lies in it.
    FirstExtent = "first extent",
    /// Size of the first metadata area of an LVM physical volume.
    MetadataArea = "metadata area",
    /// Size of what an LVM physical volume leaves for a boot loader.
    BootLoaderArea = "boot loader area",
    /// LVM volume group.
    VolumeGroup = "volume group",
    /// What a device is a member or the payload of: `LVM2 physical volume`.
    Holds = "holds",
    /// Replacement unit of a cache: what is written to the cache device as a whole.
    BucketSize = "bucket size",
    /// Identifier of a filesystem as its system prints it: a UUID, or a serial number (`1234-ABCD` of FAT and exFAT).
    VolumeId = "volume identifier",
    /// Identifier of a member or of an encrypted volume, as text.
    Uuid = "UUID",
    /// UUIDs of the devices of a filesystem on several, in the order of their numbers.
    Devices = "devices",
    /// UUID of an array or another set, on its members and on itself.
    SetUuid = "UUID of the set",
    /// What a member is in its set: its number, `spare`, `journal`.
    Role = "role",
    /// How often the metadata of a set were written, as a member records it.
    Events = "events",
    /// How much of each member an array uses.
    UsedSize = "used of each member",
    /// How much of a member its set may use.
    DataSize = "data size",
    /// How far a member has been rebuilt.
    RecoveryOffset = "rebuilt up to",
    /// How far an array has been checked or synchronised.
    ResyncOffset = "synchronised up to",
    /// How far an array that is given another geometry has come, in its own addresses.
    ReshapePosition = "reshaped up to",
    /// Number of members whose place is empty.
    MissingMembers = "members missing",
    /// ZFS pool.
    Pool = "pool",
    /// Identifier of a ZFS pool, as its tools print it.
    PoolGuid = "pool GUID",
    /// Identifier of a ZFS vdev, as its tools print it.
    VdevGuid = "vdev GUID",
    /// Newest transaction group that a ZFS label or uberblock records.
    Txg = "transaction group",
    /// Features that a ZFS pool needs its reader to know.
    Features = "features needed for reading",
    /// Part of a ZFS vdev for which free space is accounted as a whole.
    MetaslabSize = "metaslab size",
    /// Size of a block of a ZFS volume (`volblocksize`).
    VolumeBlockSize = "volume block size",
    /// Largest block of the files of a ZFS dataset (`recordsize`).
    RecordSize = "record size",
    /// What VMFS stores small files in.
    SubBlockSize = "sub-block size",
    /// What a partition type stands for, where its code alone says little.
    PartitionTypeName = "partition type stands for",
    /// The array, volume group or pool that this is a member of; the same on all of its members.
    MemberOf = "member of",
    /// Drive letter that Windows gave to a volume last.
    DriveLetter = "drive letter hint",
    /// Number of key slots of an encrypted volume that are in use.
    KeySlots = "key slots in use",
    /// What encryption keeps before the data: its headers and key material.
    HeaderSize = "header size",
    /// How sectors are checked: `sha256`, `hmac(sha256)`.
    Integrity = "integrity",
    /// How a write of data and of its tag are kept together: `journal`, `bitmap`, `direct`, `inline`.
    IntegrityMode = "integrity mode",
    /// What integrity protection stores for each sector.
    TagSize = "integrity tag size",
    /// Data between two runs of integrity tags.
    Interleave = "interleave",
    /// What a journal takes of the device.
    JournalSize = "journal size",
    /// Encryption of what is there already that was begun and not finished: `encrypt`, `reencrypt`, `decrypt`.
    Reencryption = "unfinished re-encryption",
}
