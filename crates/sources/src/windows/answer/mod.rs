//! What Windows answers to storage system calls, from the bytes that it wrote to facts.
//!
//! Each decoder takes exactly the bytes that the system said it had written: a buffer's rest would be read as an answer.
//!
//! | call | answer | decoder |
//! |---|---|---|
//! | `IOCTL_DISK_GET_DRIVE_LAYOUT_EX` | `DRIVE_LAYOUT_INFORMATION_EX` | [`DriveLayout`] |
//! | `IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS` | `VOLUME_DISK_EXTENTS` | [`VolumeExtents`] |
//! | `IOCTL_STORAGE_GET_DEVICE_NUMBER` | `STORAGE_DEVICE_NUMBER` | [`DeviceNumber::decode`] |
//! | `IOCTL_STORAGE_GET_DEVICE_NUMBER_EX` | `STORAGE_DEVICE_NUMBER_EX` | [`DeviceNumber::decode_ex`] |
//! | `IOCTL_DISK_GET_LENGTH_INFO` | `GET_LENGTH_INFORMATION` | [`length`] |
//! | `IOCTL_DISK_GET_DRIVE_GEOMETRY_EX` | `DISK_GEOMETRY_EX` | [`Geometry`] |
//! | `IOCTL_STORAGE_QUERY_PROPERTY`, `StorageDeviceProperty` | `STORAGE_DEVICE_DESCRIPTOR` | [`StorageDevice`] |
//! | …, `StorageAdapterProperty` | `STORAGE_ADAPTER_DESCRIPTOR` | [`Adapter`] |
//! | …, `StorageAccessAlignmentProperty` | `STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR` | [`AccessAlignment`] |
//! | …, `StorageDeviceSeekPenaltyProperty` | `DEVICE_SEEK_PENALTY_DESCRIPTOR` | [`seek_penalty`] |
//! | …, `StorageDeviceTrimProperty` | `DEVICE_TRIM_DESCRIPTOR` | [`trim`] |
//! | …, `StorageDeviceWriteCacheProperty` | `STORAGE_WRITE_CACHE_PROPERTY` | [`WriteCache`] |
//! | …, `StorageAdapterProtocolSpecificProperty` | `STORAGE_PROTOCOL_DATA_DESCRIPTOR`, Identify Controller | [`NvmeController`] |
//! | …, `StorageDeviceProtocolSpecificProperty` | the same, Identify Namespace | [`NvmeNamespace`] |
//! | `FSCTL_GET_NTFS_VOLUME_DATA` | `NTFS_VOLUME_DATA_BUFFER`, `NTFS_EXTENDED_VOLUME_DATA` | [`NtfsVolume`] |
//! | `FSCTL_GET_REFS_VOLUME_DATA` | `REFS_VOLUME_DATA_BUFFER` | [`RefsVolume`] |
//! | `NtQueryVolumeInformationFile`, `FileFsSectorSizeInformation`; `GetFileInformationByHandleEx`, `FileStorageInfo` | `FILE_FS_SECTOR_SIZE_INFORMATION` | [`SectorInfo`] |
//! | `FSCTL_GET_RETRIEVAL_POINTERS` | `RETRIEVAL_POINTERS_BUFFER` | [`RetrievalPointers`] |
//! | `FileFsSizeInformation` | `FILE_FS_SIZE_INFORMATION` | [`FilesystemSize::decode`] |
//! | `FileFsAttributeInformation` | `FILE_FS_ATTRIBUTE_INFORMATION` | [`filesystem_name`] |
//! | `FSCTL_GET_COMPRESSION` | a number of 16 bits | [`is_compressed`] |
//! | `FSCTL_GET_RETRIEVAL_POINTER_BASE` | `RETRIEVAL_POINTER_BASE` | [`pointer_base`] |
//! | `GetStorageDependencyInformation` | `STORAGE_DEPENDENCY_INFO` version 2 | [`Dependencies`] |
//! | `GetVolumePathNamesForVolumeNameW`, `CM_Get_Device_Interface_ListW`, `GetLogicalDriveStringsW`, `QueryDosDeviceW` | UTF-16 texts one after another | [`names`] |
//!
//! A capture keeps answers as they are, but for what identifies a device: [`without_serial`], [`identify_without_serial`] and
//! [`Pointers::rebase`] come before it is written.
//!
//! What an answer says is a claim. A size, a count or an offset is compared with the bytes that are there before it is used, and
//! nothing is allocated by a count. A list whose end is not there says how many of its entries are missing, so that
//! nobody takes the part for the whole.

mod dependency;
mod error;
mod extents;
mod fields;
mod filesystem;
mod geometry;
mod layout;
mod name;
mod number;
mod nvme;
mod pointers;
mod property;
mod sector;
mod volume;

pub use dependency::{Dependencies, Dependency, PointerWidth, Pointers, VirtualDiskKind};
pub use error::{BadAnswer, Problem};
pub use extents::{DiskExtent, VolumeExtents};
pub use filesystem::{FilesystemSize, filesystem_name};
pub use geometry::{Bios, Geometry, Media, TableIdentity, length};
pub use layout::{DriveLayout, PartitionKind, PartitionSeen, Table};
pub use name::names;
pub use number::{DeviceNumber, Part};
pub use nvme::{LbaFormat, NvmeController, NvmeNamespace, identify_without_serial};
pub use pointers::{RetrievalPointers, Run, is_compressed, pointer_base};
pub use property::{
    AccessAlignment, Adapter, Bus, CacheKind, StorageDevice, WriteCache, seek_penalty, trim,
    without_serial,
};
pub use sector::SectorInfo;
pub use volume::{NtfsVolume, RefsVolume};
