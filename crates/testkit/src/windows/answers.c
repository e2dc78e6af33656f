/* What Windows writes into buffers, laid out by mingw's own headers and filled field by field, by name.
 *
 * Nothing here runs: each answer of answers.h is initialised data in the section ".answers", and what was said of it, field by
 * field, in the section ".fields". The tests take both out of the object file, once of a compiler for 64 bits and once of
 * one for 32, and compare what the decoders find in the former with what is in the latter.
 *
 * Assertions below have the offsets and sizes that the decoders take, from Microsoft's documentation.
 */
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000008
#include <windows.h>
#include <winioctl.h>
#include <virtdisk.h>
#include <nvme.h>
#include <stddef.h>
#include <stdint.h>

/* The tail that mingw's header stops short of, from
 * https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-ntfs_extended_volume_data */
struct ntfs_extended_volume_data {
    ULONG ByteCount;
    USHORT MajorVersion;
    USHORT MinorVersion;
    ULONG BytesPerPhysicalSector;
    USHORT LfsMajorVersion;
    USHORT LfsMinorVersion;
    ULONG MaxDeviceTrimExtentCount;
    ULONG MaxDeviceTrimByteCount;
    ULONG MaxVolumeTrimExtentCount;
    ULONG MaxVolumeTrimByteCount;
};

/* mingw has none; from https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-refs_volume_data_buffer */
struct refs_volume_data_buffer {
    DWORD ByteCount;
    DWORD MajorVersion;
    DWORD MinorVersion;
    DWORD BytesPerPhysicalSector;
    LARGE_INTEGER VolumeSerialNumber;
    LARGE_INTEGER NumberSectors;
    LARGE_INTEGER TotalClusters;
    LARGE_INTEGER FreeClusters;
    LARGE_INTEGER TotalReserved;
    DWORD BytesPerSector;
    DWORD BytesPerCluster;
    LARGE_INTEGER MaximumSizeOfResidentFile;
    WORD FastTierDataFillRatio;
    WORD SlowTierDataFillRatio;
    DWORD DestagesFastTierToSlowTierRate;
    LARGE_INTEGER Reserved[9];
};

/* Structures with what follows them in the buffer. */
struct layout_of_8 {
    DRIVE_LAYOUT_INFORMATION_EX head;
    PARTITION_INFORMATION_EX rest[7];
};
struct layout_of_128 {
    DRIVE_LAYOUT_INFORMATION_EX head;
    PARTITION_INFORMATION_EX rest[127];
};
struct extents_of_3 {
    VOLUME_DISK_EXTENTS head;
    DISK_EXTENT rest[2];
};
/* `Data` of DISK_GEOMETRY_EX starts these two. */
struct geometry {
    DISK_GEOMETRY Geometry;
    LARGE_INTEGER DiskSize;
    DISK_PARTITION_INFO partition;
    DISK_DETECTION_INFO detection;
};
struct device {
    STORAGE_DEVICE_DESCRIPTOR head;
    char vendor[9];
    char product[17];
    char revision[5];
    char serial[21];
};
struct controller {
    STORAGE_PROTOCOL_DATA_DESCRIPTOR head;
    NVME_IDENTIFY_CONTROLLER_DATA data;
};
struct namespace {
    STORAGE_PROTOCOL_DATA_DESCRIPTOR head;
    NVME_IDENTIFY_NAMESPACE_DATA data;
};
struct ntfs {
    NTFS_VOLUME_DATA_BUFFER head;
    struct ntfs_extended_volume_data extended;
};
/* As in ntifs.h of mingw's headers for drivers, which cannot be had beside windows.h. */
struct file_fs_size_information {
    LARGE_INTEGER TotalAllocationUnits;
    LARGE_INTEGER AvailableAllocationUnits;
    ULONG SectorsPerAllocationUnit;
    ULONG BytesPerSector;
};

struct file_fs_attribute_information {
    ULONG FileSystemAttributes;
    LONG MaximumComponentNameLength;
    ULONG FileSystemNameLength;
    struct {
        WCHAR Unit;
    } FileSystemName[5];
};

/* What FSCTL_GET_COMPRESSION answers has no name in the headers. */
struct compression {
    USHORT CompressionState;
};

struct pointers_of_4 {
    RETRIEVAL_POINTERS_BUFFER head;
    struct {
        LARGE_INTEGER NextVcn;
        LARGE_INTEGER Lcn;
    } rest[3];
};
struct dependency {
    STORAGE_DEPENDENCY_INFO head;
    STORAGE_DEPENDENCY_INFO_TYPE_2 rest[1];
    WCHAR device[20];
    WCHAR volume[52];
    WCHAR path[24];
    WCHAR parent[24];
};
struct names {
    WCHAR text[64];
};

/* The address at which the buffer with pointers lay. */
#define BASE 0x10203040u
#define ADDRESS(target) (BASE + offsetof(struct dependency, target))

#define AT(type, field, offset, size)                                                     \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " is elsewhere");   \
    _Static_assert(sizeof(((type *)0)->field) == (size), #type "." #field " has another size")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

SIZE(PARTITION_INFORMATION_EX, 144);
AT(PARTITION_INFORMATION_EX, PartitionStyle, 0, 4);
AT(PARTITION_INFORMATION_EX, StartingOffset, 8, 8);
AT(PARTITION_INFORMATION_EX, PartitionLength, 16, 8);
AT(PARTITION_INFORMATION_EX, PartitionNumber, 24, 4);
AT(PARTITION_INFORMATION_EX, Mbr.PartitionType, 32, 1);
AT(PARTITION_INFORMATION_EX, Mbr.BootIndicator, 33, 1);
AT(PARTITION_INFORMATION_EX, Mbr.RecognizedPartition, 34, 1);
AT(PARTITION_INFORMATION_EX, Mbr.HiddenSectors, 36, 4);
AT(PARTITION_INFORMATION_EX, Mbr.PartitionId, 40, 16);
AT(PARTITION_INFORMATION_EX, Gpt.PartitionType, 32, 16);
AT(PARTITION_INFORMATION_EX, Gpt.PartitionId, 48, 16);
AT(PARTITION_INFORMATION_EX, Gpt.Attributes, 64, 8);
AT(PARTITION_INFORMATION_EX, Gpt.Name, 72, 72);
AT(DRIVE_LAYOUT_INFORMATION_EX, PartitionStyle, 0, 4);
AT(DRIVE_LAYOUT_INFORMATION_EX, PartitionCount, 4, 4);
AT(DRIVE_LAYOUT_INFORMATION_EX, Mbr.Signature, 8, 4);
AT(DRIVE_LAYOUT_INFORMATION_EX, Gpt.DiskId, 8, 16);
AT(DRIVE_LAYOUT_INFORMATION_EX, Gpt.StartingUsableOffset, 24, 8);
AT(DRIVE_LAYOUT_INFORMATION_EX, Gpt.UsableLength, 32, 8);
AT(DRIVE_LAYOUT_INFORMATION_EX, Gpt.MaxPartitionCount, 40, 4);
AT(DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry, 48, 144);
AT(struct layout_of_8, rest, 192, 1008);
SIZE(struct layout_of_128, 48 + 128 * 144);
SIZE(DISK_EXTENT, 24);
AT(DISK_EXTENT, StartingOffset, 8, 8);
AT(DISK_EXTENT, ExtentLength, 16, 8);
AT(VOLUME_DISK_EXTENTS, Extents, 8, 24);
SIZE(struct extents_of_3, 80);
SIZE(STORAGE_DEVICE_NUMBER, 12);
AT(STORAGE_DEVICE_NUMBER, DeviceNumber, 4, 4);
AT(STORAGE_DEVICE_NUMBER, PartitionNumber, 8, 4);
SIZE(STORAGE_DEVICE_NUMBER_EX, 40);
AT(STORAGE_DEVICE_NUMBER_EX, DeviceType, 12, 4);
AT(STORAGE_DEVICE_NUMBER_EX, DeviceNumber, 16, 4);
AT(STORAGE_DEVICE_NUMBER_EX, DeviceGuid, 20, 16);
AT(STORAGE_DEVICE_NUMBER_EX, PartitionNumber, 36, 4);
SIZE(GET_LENGTH_INFORMATION, 8);
AT(DISK_GEOMETRY_EX, Geometry.Cylinders, 0, 8);
AT(DISK_GEOMETRY_EX, Geometry.MediaType, 8, 4);
AT(DISK_GEOMETRY_EX, Geometry.TracksPerCylinder, 12, 4);
AT(DISK_GEOMETRY_EX, Geometry.SectorsPerTrack, 16, 4);
AT(DISK_GEOMETRY_EX, Geometry.BytesPerSector, 20, 4);
AT(DISK_GEOMETRY_EX, DiskSize, 24, 8);
AT(DISK_GEOMETRY_EX, Data, 32, 1);
AT(struct geometry, partition, 32, 24);
AT(struct geometry, detection, 56, 56);
AT(DISK_PARTITION_INFO, PartitionStyle, 4, 4);
AT(DISK_PARTITION_INFO, Mbr.Signature, 8, 4);
AT(DISK_PARTITION_INFO, Mbr.CheckSum, 12, 4);
AT(DISK_PARTITION_INFO, Gpt.DiskId, 8, 16);
AT(DISK_DETECTION_INFO, DetectionType, 4, 4);
AT(DISK_DETECTION_INFO, Int13.MaxCylinders, 12, 4);
AT(DISK_DETECTION_INFO, Int13.SectorsPerTrack, 16, 2);
AT(DISK_DETECTION_INFO, Int13.MaxHeads, 18, 2);
AT(DISK_DETECTION_INFO, ExInt13.ExCylinders, 28, 4);
AT(DISK_DETECTION_INFO, ExInt13.ExHeads, 32, 4);
AT(DISK_DETECTION_INFO, ExInt13.ExSectorsPerTrack, 36, 4);
AT(DISK_DETECTION_INFO, ExInt13.ExSectorsPerDrive, 40, 8);
AT(DISK_DETECTION_INFO, ExInt13.ExSectorSize, 48, 2);
SIZE(STORAGE_DEVICE_DESCRIPTOR, 40);
AT(STORAGE_DEVICE_DESCRIPTOR, Size, 4, 4);
AT(STORAGE_DEVICE_DESCRIPTOR, DeviceType, 8, 1);
AT(STORAGE_DEVICE_DESCRIPTOR, RemovableMedia, 10, 1);
AT(STORAGE_DEVICE_DESCRIPTOR, CommandQueueing, 11, 1);
AT(STORAGE_DEVICE_DESCRIPTOR, VendorIdOffset, 12, 4);
AT(STORAGE_DEVICE_DESCRIPTOR, ProductIdOffset, 16, 4);
AT(STORAGE_DEVICE_DESCRIPTOR, ProductRevisionOffset, 20, 4);
AT(STORAGE_DEVICE_DESCRIPTOR, SerialNumberOffset, 24, 4);
AT(STORAGE_DEVICE_DESCRIPTOR, BusType, 28, 4);
SIZE(STORAGE_ADAPTER_DESCRIPTOR, 32);
AT(STORAGE_ADAPTER_DESCRIPTOR, MaximumTransferLength, 8, 4);
AT(STORAGE_ADAPTER_DESCRIPTOR, MaximumPhysicalPages, 12, 4);
AT(STORAGE_ADAPTER_DESCRIPTOR, AlignmentMask, 16, 4);
AT(STORAGE_ADAPTER_DESCRIPTOR, CommandQueueing, 22, 1);
AT(STORAGE_ADAPTER_DESCRIPTOR, BusType, 24, 1);
AT(STORAGE_ADAPTER_DESCRIPTOR, BusMinorVersion, 28, 2);
SIZE(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, 28);
AT(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, BytesPerCacheLine, 8, 4);
AT(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, BytesOffsetForCacheAlignment, 12, 4);
AT(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, BytesPerLogicalSector, 16, 4);
AT(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, BytesPerPhysicalSector, 20, 4);
AT(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR, BytesOffsetForSectorAlignment, 24, 4);
SIZE(DEVICE_SEEK_PENALTY_DESCRIPTOR, 12);
AT(DEVICE_SEEK_PENALTY_DESCRIPTOR, IncursSeekPenalty, 8, 1);
SIZE(DEVICE_TRIM_DESCRIPTOR, 12);
AT(DEVICE_TRIM_DESCRIPTOR, TrimEnabled, 8, 1);
SIZE(STORAGE_WRITE_CACHE_PROPERTY, 28);
AT(STORAGE_WRITE_CACHE_PROPERTY, WriteCacheType, 8, 4);
AT(STORAGE_WRITE_CACHE_PROPERTY, WriteCacheEnabled, 12, 4);
AT(STORAGE_WRITE_CACHE_PROPERTY, WriteCacheChangeable, 16, 4);
AT(STORAGE_WRITE_CACHE_PROPERTY, WriteThroughSupported, 20, 4);
AT(STORAGE_WRITE_CACHE_PROPERTY, FlushCacheSupported, 24, 1);
AT(STORAGE_WRITE_CACHE_PROPERTY, UserDefinedPowerProtection, 25, 1);
AT(STORAGE_WRITE_CACHE_PROPERTY, NVCacheEnabled, 26, 1);
SIZE(STORAGE_PROTOCOL_DATA_DESCRIPTOR, 48);
AT(STORAGE_PROTOCOL_DATA_DESCRIPTOR, ProtocolSpecificData.ProtocolType, 8, 4);
AT(STORAGE_PROTOCOL_DATA_DESCRIPTOR, ProtocolSpecificData.DataType, 12, 4);
AT(STORAGE_PROTOCOL_DATA_DESCRIPTOR, ProtocolSpecificData.ProtocolDataRequestValue, 16, 4);
AT(STORAGE_PROTOCOL_DATA_DESCRIPTOR, ProtocolSpecificData.ProtocolDataOffset, 24, 4);
AT(STORAGE_PROTOCOL_DATA_DESCRIPTOR, ProtocolSpecificData.ProtocolDataLength, 28, 4);
AT(NVME_IDENTIFY_CONTROLLER_DATA, SN, 4, 20);
AT(NVME_IDENTIFY_CONTROLLER_DATA, MN, 24, 40);
AT(NVME_IDENTIFY_CONTROLLER_DATA, FR, 64, 8);
AT(NVME_IDENTIFY_CONTROLLER_DATA, MDTS, 77, 1);
AT(NVME_IDENTIFY_CONTROLLER_DATA, VER, 80, 4);
AT(NVME_IDENTIFY_CONTROLLER_DATA, VWC, 525, 1);
AT(NVME_IDENTIFY_CONTROLLER_DATA, AWUN, 526, 2);
AT(NVME_IDENTIFY_CONTROLLER_DATA, AWUPF, 528, 2);
SIZE(NVME_IDENTIFY_CONTROLLER_DATA, 4096);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NSZE, 0, 8);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NCAP, 8, 8);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NSFEAT, 24, 1);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NLBAF, 25, 1);
AT(NVME_IDENTIFY_NAMESPACE_DATA, FLBAS, 26, 1);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NAWUPF, 36, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NABO, 42, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NABSPF, 44, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NOIOB, 46, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NPWG, 64, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NPWA, 66, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NPDG, 68, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NPDA, 70, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, NOWS, 72, 2);
AT(NVME_IDENTIFY_NAMESPACE_DATA, LBAF, 128, 64);
AT(NVME_IDENTIFY_NAMESPACE_DATA, Reserved4, 192, 192);
AT(NVME_LBA_FORMAT, LBADS, 2, 1);
SIZE(NVME_IDENTIFY_NAMESPACE_DATA, 4096);
SIZE(NTFS_VOLUME_DATA_BUFFER, 96);
AT(NTFS_VOLUME_DATA_BUFFER, NumberSectors, 8, 8);
AT(NTFS_VOLUME_DATA_BUFFER, TotalClusters, 16, 8);
AT(NTFS_VOLUME_DATA_BUFFER, FreeClusters, 24, 8);
AT(NTFS_VOLUME_DATA_BUFFER, BytesPerSector, 40, 4);
AT(NTFS_VOLUME_DATA_BUFFER, BytesPerCluster, 44, 4);
AT(NTFS_VOLUME_DATA_BUFFER, BytesPerFileRecordSegment, 48, 4);
AT(NTFS_VOLUME_DATA_BUFFER, MftStartLcn, 64, 8);
AT(NTFS_VOLUME_DATA_BUFFER, MftZoneEnd, 88, 8);
AT(NTFS_EXTENDED_VOLUME_DATA, MajorVersion, 4, 2);
AT(NTFS_EXTENDED_VOLUME_DATA, MinorVersion, 6, 2);
AT(struct ntfs, extended, 96, 32);
AT(struct ntfs_extended_volume_data, BytesPerPhysicalSector, 8, 4);
AT(struct refs_volume_data_buffer, VolumeSerialNumber, 16, 8);
AT(struct refs_volume_data_buffer, NumberSectors, 24, 8);
AT(struct refs_volume_data_buffer, TotalClusters, 32, 8);
AT(struct refs_volume_data_buffer, FreeClusters, 40, 8);
AT(struct refs_volume_data_buffer, BytesPerSector, 56, 4);
AT(struct refs_volume_data_buffer, BytesPerCluster, 60, 4);
AT(struct refs_volume_data_buffer, MaximumSizeOfResidentFile, 64, 8);
/* The same fields in the same order as FILE_FS_SECTOR_SIZE_INFORMATION, which mingw lacks. */
SIZE(FILE_STORAGE_INFO, 28);
AT(FILE_STORAGE_INFO, PhysicalBytesPerSectorForAtomicity, 4, 4);
AT(FILE_STORAGE_INFO, PhysicalBytesPerSectorForPerformance, 8, 4);
AT(FILE_STORAGE_INFO, FileSystemEffectivePhysicalBytesPerSectorForAtomicity, 12, 4);
AT(FILE_STORAGE_INFO, Flags, 16, 4);
AT(FILE_STORAGE_INFO, ByteOffsetForSectorAlignment, 20, 4);
AT(FILE_STORAGE_INFO, ByteOffsetForPartitionAlignment, 24, 4);
AT(RETRIEVAL_POINTERS_BUFFER, StartingVcn, 8, 8);
AT(RETRIEVAL_POINTERS_BUFFER, Extents, 16, 16);
AT(struct pointers_of_4, rest, 32, 48);
SIZE(RETRIEVAL_POINTER_BASE, 8);
AT(STORAGE_DEPENDENCY_INFO, NumberEntries, 4, 4);
#ifdef _WIN64
SIZE(STORAGE_DEPENDENCY_INFO_TYPE_2, 64);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, HostVolumeName, 40, 8);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, DependentVolumeRelativePath, 56, 8);
#else
SIZE(STORAGE_DEPENDENCY_INFO_TYPE_2, 48);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, HostVolumeName, 36, 4);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, DependentVolumeRelativePath, 44, 4);
#endif
AT(STORAGE_DEPENDENCY_INFO, Version2Entries, 8, sizeof(STORAGE_DEPENDENCY_INFO_TYPE_2));
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, VirtualStorageType.DeviceId, 8, 4);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, VirtualStorageType.VendorId, 12, 16);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, AncestorLevel, 28, 4);
AT(STORAGE_DEPENDENCY_INFO_TYPE_2, DependencyDeviceName, 32, sizeof(void *));

/* Eight of M, with the numbers n to n + 7. */
#define EIGHT(M, n) M(n) M(n + 1) M(n + 2) M(n + 3) M(n + 4) M(n + 5) M(n + 6) M(n + 7)

/* Once as data. Each starts with a mark by which it is found, its name and its length. */
#define BEGIN(name, type)                                                            \
    static const struct {                                                            \
        char mark[8];                                                                \
        char called[48];                                                             \
        uint64_t size;                                                               \
        type body;                                                                   \
    } answer_##name __attribute__((section(".answers"), used)) = {"ANSWER", #name, sizeof(type), {
#define NUMBER(field, number) .field = (number),
#define NUMBERS(n, array, field, number) .array[n].field = (number),
#define POINTERS(n, array, field, target) .array[n].field = (PWSTR)(UINT_PTR)ADDRESS(target),
#define ID(field, ...) .field = {__VA_ARGS__},
#define IDS(n, array, field, ...) .array[n].field = {__VA_ARGS__},
#define WIDE(field, letters) .field = L##letters,
#define WIDES(n, array, field, letters) .array[n].field = L##letters,
#define NARROW(field, letters) .field = letters,
#define END }};
#define CONSTANT(name)
#include "answers.h"
#undef BEGIN
#undef NUMBER
#undef NUMBERS
#undef POINTERS
#undef ID
#undef IDS
#undef WIDE
#undef WIDES
#undef NARROW
#undef END
#undef CONSTANT

/* Once as what was said: a record for each field, below one with the name of the answer. */
struct record {
    char mark[8];
    char field[88];
    uint64_t n;
    uint64_t number;
    char text[144];
};
#define RECORD(field, n, number, text) {"FIELD", field, n, (uint64_t)(number), text},
#define BEGIN(name, type)                                                             \
    static const struct record said_##name[] __attribute__((section(".fields"), used)) = { \
        {"NAME", #name, 0, sizeof(type), ""},
#define NUMBER(field, number) RECORD(#field, 0, number, "")
#define NUMBERS(n, array, field, number) RECORD(#array "." #field, n, number, "")
#define POINTERS(n, array, field, target) RECORD(#array "." #field, n, ADDRESS(target), #target)
#define ID(field, ...) RECORD(#field, 0, 0, #__VA_ARGS__)
#define IDS(n, array, field, ...) RECORD(#array "." #field, n, 0, #__VA_ARGS__)
#define WIDE(field, letters) RECORD(#field, 0, 0, letters)
#define WIDES(n, array, field, letters) RECORD(#array "." #field, n, 0, letters)
#define NARROW(field, letters) RECORD(#field, 0, 0, letters)
#define END };
#define CONSTANT(name) RECORD(#name, 0, name, "")
#include "answers.h"
