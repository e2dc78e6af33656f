/* Each answer, field by field. What is not named is zero. */

BEGIN(layout_gpt_1, DRIVE_LAYOUT_INFORMATION_EX)
NUMBER(PartitionStyle, PARTITION_STYLE_GPT)
NUMBER(PartitionCount, 1)
ID(Gpt.DiskId, 0x11223344, 0x5566, 0x7788, {0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x01})
NUMBER(Gpt.StartingUsableOffset.QuadPart, 17408)
NUMBER(Gpt.UsableLength.QuadPart, 4000787012608)
NUMBER(Gpt.MaxPartitionCount, 128)
NUMBERS(0, PartitionEntry, PartitionStyle, PARTITION_STYLE_GPT)
NUMBERS(0, PartitionEntry, StartingOffset.QuadPart, 1048576)
NUMBERS(0, PartitionEntry, PartitionLength.QuadPart, 4000785104896)
NUMBERS(0, PartitionEntry, PartitionNumber, 1)
NUMBERS(0, PartitionEntry, IsServicePartition, 1)
IDS(0, PartitionEntry, Gpt.PartitionType, 0xebd0a0a2, 0xb9e5, 0x4433, {0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7})
IDS(0, PartitionEntry, Gpt.PartitionId, 0x01020304, 0x0506, 0x0708, {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10})
NUMBERS(0, PartitionEntry, Gpt.Attributes, 0x8000000000000001)
/* All 36 letters: no zero ends it. */
WIDES(0, PartitionEntry, Gpt.Name, "Données de base (D:) 0123456789 €abc")
END

#define OTHER(i)                                                                       \
    NUMBERS(i, rest, PartitionStyle, PARTITION_STYLE_GPT)                              \
    NUMBERS(i, rest, StartingOffset.QuadPart, 1048576 + ((i) + 1) * 0x100000000)       \
    NUMBERS(i, rest, PartitionLength.QuadPart, 0x100000000 - (i))                      \
    NUMBERS(i, rest, PartitionNumber, (i) + 2)                                         \
    IDS(i, rest, Gpt.PartitionType, 0xebd0a0a2, 0xb9e5, 0x4433, {0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7}) \
    IDS(i, rest, Gpt.PartitionId, 0xa0000000, 0x4000, 0x8000, {0x80, 1, 2, 3, 4, 5, 6, 7}) \
    NUMBERS(i, rest, Gpt.Attributes, (i))                                              \
    WIDES(i, rest, Gpt.Name, "Basic data partition")

BEGIN(layout_gpt_128, struct layout_of_128)
NUMBER(head.PartitionStyle, PARTITION_STYLE_GPT)
NUMBER(head.PartitionCount, 128)
ID(head.Gpt.DiskId, 0x0a0b0c0d, 0x1e1f, 0x2021, {1, 2, 3, 4, 5, 6, 7, 8})
NUMBER(head.Gpt.StartingUsableOffset.QuadPart, 17408)
NUMBER(head.Gpt.UsableLength.QuadPart, 0x7fffffffffff)
NUMBER(head.Gpt.MaxPartitionCount, 128)
NUMBERS(0, head.PartitionEntry, PartitionStyle, PARTITION_STYLE_GPT)
NUMBERS(0, head.PartitionEntry, StartingOffset.QuadPart, 17408)
NUMBERS(0, head.PartitionEntry, PartitionLength.QuadPart, 16759808)
NUMBERS(0, head.PartitionEntry, PartitionNumber, 1)
IDS(0, head.PartitionEntry, Gpt.PartitionType, 0xe3c9e316, 0x0b5c, 0x4db8, {0x81, 0x7d, 0xf9, 0x2d, 0xf0, 0x02, 0x15, 0xae})
IDS(0, head.PartitionEntry, Gpt.PartitionId, 5, 6, 7, {8, 9, 10, 11, 12, 13, 14, 15})
NUMBERS(0, head.PartitionEntry, Gpt.Attributes, 0)
WIDES(0, head.PartitionEntry, Gpt.Name, "Microsoft reserved partition")
EIGHT(OTHER, 0) EIGHT(OTHER, 8) EIGHT(OTHER, 16) EIGHT(OTHER, 24) EIGHT(OTHER, 32) EIGHT(OTHER, 40) EIGHT(OTHER, 48)
EIGHT(OTHER, 56) EIGHT(OTHER, 64) EIGHT(OTHER, 72) EIGHT(OTHER, 80) EIGHT(OTHER, 88) EIGHT(OTHER, 96) EIGHT(OTHER, 104)
EIGHT(OTHER, 112) OTHER(120) OTHER(121) OTHER(122) OTHER(123) OTHER(124) OTHER(125) OTHER(126)
END
#undef OTHER

/* A primary partition at sector 63, an extended one with a logical one in it, and entries that are empty, of which one has what an
 * earlier partition left. */
BEGIN(layout_mbr, struct layout_of_8)
NUMBER(head.PartitionStyle, PARTITION_STYLE_MBR)
NUMBER(head.PartitionCount, 8)
NUMBER(head.Mbr.Signature, 0xa1b2c3d4)
NUMBERS(0, head.PartitionEntry, PartitionStyle, PARTITION_STYLE_MBR)
NUMBERS(0, head.PartitionEntry, StartingOffset.QuadPart, 32256)
NUMBERS(0, head.PartitionEntry, PartitionLength.QuadPart, 107371952640)
NUMBERS(0, head.PartitionEntry, PartitionNumber, 1)
NUMBERS(0, head.PartitionEntry, Mbr.PartitionType, PARTITION_IFS)
NUMBERS(0, head.PartitionEntry, Mbr.BootIndicator, TRUE)
NUMBERS(0, head.PartitionEntry, Mbr.RecognizedPartition, TRUE)
NUMBERS(0, head.PartitionEntry, Mbr.HiddenSectors, 63)
IDS(0, head.PartitionEntry, Mbr.PartitionId, 0xa1b2c3d4, 0, 0, {0, 0, 0, 0x7e, 0, 0, 0, 0})
NUMBERS(0, rest, PartitionStyle, PARTITION_STYLE_MBR)
NUMBERS(0, rest, StartingOffset.QuadPart, 107374182400)
NUMBERS(0, rest, PartitionLength.QuadPart, 53687091200)
NUMBERS(0, rest, PartitionNumber, 0)
NUMBERS(0, rest, Mbr.PartitionType, PARTITION_XINT13_EXTENDED)
NUMBERS(0, rest, Mbr.BootIndicator, FALSE)
NUMBERS(0, rest, Mbr.RecognizedPartition, FALSE)
NUMBERS(0, rest, Mbr.HiddenSectors, 209715200)
NUMBERS(1, rest, PartitionStyle, PARTITION_STYLE_MBR)
NUMBERS(1, rest, StartingOffset.QuadPart, 512)
NUMBERS(1, rest, PartitionLength.QuadPart, 1024)
NUMBERS(1, rest, PartitionNumber, 0)
NUMBERS(1, rest, Mbr.PartitionType, PARTITION_ENTRY_UNUSED)
NUMBERS(3, rest, PartitionStyle, PARTITION_STYLE_MBR)
NUMBERS(3, rest, StartingOffset.QuadPart, 107375230976)
NUMBERS(3, rest, PartitionLength.QuadPart, 53685014528)
NUMBERS(3, rest, PartitionNumber, 2)
NUMBERS(3, rest, Mbr.PartitionType, PARTITION_FAT32_XINT13)
NUMBERS(3, rest, Mbr.BootIndicator, FALSE)
NUMBERS(3, rest, Mbr.RecognizedPartition, TRUE)
NUMBERS(3, rest, Mbr.HiddenSectors, 2048)
END

BEGIN(layout_raw, DRIVE_LAYOUT_INFORMATION_EX)
NUMBER(PartitionStyle, PARTITION_STYLE_RAW)
NUMBER(PartitionCount, 0)
END

BEGIN(extents_1, VOLUME_DISK_EXTENTS)
NUMBER(NumberOfDiskExtents, 1)
NUMBERS(0, Extents, DiskNumber, 3)
NUMBERS(0, Extents, StartingOffset.QuadPart, 135266304)
NUMBERS(0, Extents, ExtentLength.QuadPart, 2000262529024)
END

BEGIN(extents_3, struct extents_of_3)
NUMBER(head.NumberOfDiskExtents, 3)
NUMBERS(0, head.Extents, DiskNumber, 1)
NUMBERS(0, head.Extents, StartingOffset.QuadPart, 32256)
NUMBERS(0, head.Extents, ExtentLength.QuadPart, 1073741824)
NUMBERS(0, rest, DiskNumber, 127)
NUMBERS(0, rest, StartingOffset.QuadPart, 1048576)
NUMBERS(0, rest, ExtentLength.QuadPart, 1073741824)
NUMBERS(1, rest, DiskNumber, 2)
NUMBERS(1, rest, StartingOffset.QuadPart, 0x7ffffffffff00000)
NUMBERS(1, rest, ExtentLength.QuadPart, 0x7fffffffffffffff)
END

BEGIN(number_disk, STORAGE_DEVICE_NUMBER)
NUMBER(DeviceType, FILE_DEVICE_DISK)
NUMBER(DeviceNumber, 12)
NUMBER(PartitionNumber, 0)
END

BEGIN(number_partition, STORAGE_DEVICE_NUMBER)
NUMBER(DeviceType, FILE_DEVICE_DISK)
NUMBER(DeviceNumber, 0)
NUMBER(PartitionNumber, 4)
END

BEGIN(number_path, STORAGE_DEVICE_NUMBER)
NUMBER(DeviceType, FILE_DEVICE_CD_ROM)
NUMBER(DeviceNumber, 0xffffffff)
NUMBER(PartitionNumber, 0xffffffff)
END

BEGIN(number_ex, STORAGE_DEVICE_NUMBER_EX)
NUMBER(Version, sizeof(STORAGE_DEVICE_NUMBER_EX))
NUMBER(Size, sizeof(STORAGE_DEVICE_NUMBER_EX))
NUMBER(Flags, STORAGE_DEVICE_FLAGS_PAGE_83_DEVICEGUID)
NUMBER(DeviceType, FILE_DEVICE_DISK)
NUMBER(DeviceNumber, 5)
ID(DeviceGuid, 0xcafe0001, 0x1234, 0x5678, {0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4})
NUMBER(PartitionNumber, 2)
END

BEGIN(length, GET_LENGTH_INFORMATION)
NUMBER(Length.QuadPart, 8001563222016)
END

BEGIN(geometry_mbr, struct geometry)
NUMBER(Geometry.Cylinders.QuadPart, 60801)
NUMBER(Geometry.MediaType, FixedMedia)
NUMBER(Geometry.TracksPerCylinder, 255)
NUMBER(Geometry.SectorsPerTrack, 63)
NUMBER(Geometry.BytesPerSector, 512)
NUMBER(DiskSize.QuadPart, 500107862016)
NUMBER(partition.SizeOfPartitionInfo, sizeof(DISK_PARTITION_INFO))
NUMBER(partition.PartitionStyle, PARTITION_STYLE_MBR)
NUMBER(partition.Mbr.Signature, 0xdeadbeef)
NUMBER(partition.Mbr.CheckSum, 0x01234567)
NUMBER(detection.SizeOfDetectInfo, sizeof(DISK_DETECTION_INFO))
NUMBER(detection.DetectionType, DetectExInt13)
NUMBER(detection.Int13.DriveSelect, 0x80)
NUMBER(detection.ExInt13.ExBufferSize, 26)
NUMBER(detection.ExInt13.ExCylinders, 16383)
NUMBER(detection.ExInt13.ExHeads, 16)
NUMBER(detection.ExInt13.ExSectorsPerTrack, 62)
NUMBER(detection.ExInt13.ExSectorsPerDrive, 976773168)
NUMBER(detection.ExInt13.ExSectorSize, 512)
END

BEGIN(geometry_gpt, struct geometry)
NUMBER(Geometry.Cylinders.QuadPart, 486401)
NUMBER(Geometry.MediaType, RemovableMedia)
NUMBER(Geometry.TracksPerCylinder, 128)
NUMBER(Geometry.SectorsPerTrack, 32)
NUMBER(Geometry.BytesPerSector, 4096)
NUMBER(DiskSize.QuadPart, 4000787030016)
NUMBER(partition.SizeOfPartitionInfo, sizeof(DISK_PARTITION_INFO))
NUMBER(partition.PartitionStyle, PARTITION_STYLE_GPT)
ID(partition.Gpt.DiskId, 0x0d0c0b0a, 0x1110, 0x2120, {0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37})
NUMBER(detection.SizeOfDetectInfo, sizeof(DISK_DETECTION_INFO))
NUMBER(detection.DetectionType, DetectInt13)
NUMBER(detection.Int13.DriveSelect, 0x81)
NUMBER(detection.Int13.MaxCylinders, 1022)
NUMBER(detection.Int13.SectorsPerTrack, 63)
NUMBER(detection.Int13.MaxHeads, 254)
NUMBER(detection.Int13.NumberDrives, 2)
END

BEGIN(device_nvme, struct device)
NUMBER(head.Version, sizeof(STORAGE_DEVICE_DESCRIPTOR))
NUMBER(head.Size, sizeof(struct device))
NUMBER(head.DeviceType, 0)
NUMBER(head.RemovableMedia, FALSE)
NUMBER(head.CommandQueueing, TRUE)
NUMBER(head.VendorIdOffset, offsetof(struct device, vendor))
NUMBER(head.ProductIdOffset, offsetof(struct device, product))
NUMBER(head.ProductRevisionOffset, offsetof(struct device, revision))
NUMBER(head.SerialNumberOffset, offsetof(struct device, serial))
NUMBER(head.BusType, BusTypeNvme)
NARROW(vendor, "NVMe    ")
NARROW(product, "EXAMPLE SSD 990 ")
NARROW(revision, "4B2Q")
NARROW(serial, "  0025_38B1_1234_A.")
END

BEGIN(device_without_texts, STORAGE_DEVICE_DESCRIPTOR)
NUMBER(Version, sizeof(STORAGE_DEVICE_DESCRIPTOR))
NUMBER(Size, sizeof(STORAGE_DEVICE_DESCRIPTOR))
NUMBER(DeviceType, 5)
NUMBER(RemovableMedia, TRUE)
NUMBER(CommandQueueing, FALSE)
NUMBER(SerialNumberOffset, 0xffffffff)
NUMBER(BusType, BusTypeFileBackedVirtual)
END

BEGIN(adapter, STORAGE_ADAPTER_DESCRIPTOR)
NUMBER(Version, sizeof(STORAGE_ADAPTER_DESCRIPTOR))
NUMBER(Size, sizeof(STORAGE_ADAPTER_DESCRIPTOR))
NUMBER(MaximumTransferLength, 131072)
NUMBER(MaximumPhysicalPages, 33)
NUMBER(AlignmentMask, 3)
NUMBER(CommandQueueing, TRUE)
NUMBER(AcceleratedTransfer, TRUE)
NUMBER(BusType, BusTypeRAID)
NUMBER(BusMajorVersion, 2)
NUMBER(BusMinorVersion, 1)
NUMBER(SrbType, SRB_TYPE_STORAGE_REQUEST_BLOCK)
END

BEGIN(adapter_without_limit, STORAGE_ADAPTER_DESCRIPTOR)
NUMBER(Version, sizeof(STORAGE_ADAPTER_DESCRIPTOR))
NUMBER(Size, sizeof(STORAGE_ADAPTER_DESCRIPTOR))
NUMBER(MaximumTransferLength, 0xffffffff)
NUMBER(MaximumPhysicalPages, 0xffffffff)
NUMBER(AlignmentMask, 0)
NUMBER(CommandQueueing, FALSE)
NUMBER(AdapterUsesPio, TRUE)
NUMBER(AdapterScansDown, TRUE)
NUMBER(BusType, BusTypeSas)
END

BEGIN(alignment_offset, STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR)
NUMBER(Version, sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR))
NUMBER(Size, sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR))
NUMBER(BytesPerCacheLine, 64)
NUMBER(BytesOffsetForCacheAlignment, 16)
NUMBER(BytesPerLogicalSector, 512)
NUMBER(BytesPerPhysicalSector, 4096)
NUMBER(BytesOffsetForSectorAlignment, 1536)
END

BEGIN(alignment_4kn, STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR)
NUMBER(Version, sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR))
NUMBER(Size, sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR))
NUMBER(BytesPerLogicalSector, 4096)
NUMBER(BytesPerPhysicalSector, 4096)
END

BEGIN(seek_penalty, DEVICE_SEEK_PENALTY_DESCRIPTOR)
NUMBER(Version, sizeof(DEVICE_SEEK_PENALTY_DESCRIPTOR))
NUMBER(Size, sizeof(DEVICE_SEEK_PENALTY_DESCRIPTOR))
NUMBER(IncursSeekPenalty, TRUE)
END

BEGIN(trim, DEVICE_TRIM_DESCRIPTOR)
NUMBER(Version, sizeof(DEVICE_TRIM_DESCRIPTOR))
NUMBER(Size, sizeof(DEVICE_TRIM_DESCRIPTOR))
NUMBER(TrimEnabled, TRUE)
END

BEGIN(cache, STORAGE_WRITE_CACHE_PROPERTY)
NUMBER(Version, sizeof(STORAGE_WRITE_CACHE_PROPERTY))
NUMBER(Size, sizeof(STORAGE_WRITE_CACHE_PROPERTY))
NUMBER(WriteCacheType, WriteCacheTypeWriteBack)
NUMBER(WriteCacheEnabled, WriteCacheEnabled)
NUMBER(WriteCacheChangeable, WriteCacheNotChangeable)
NUMBER(WriteThroughSupported, WriteThroughUnknown)
NUMBER(FlushCacheSupported, TRUE)
NUMBER(UserDefinedPowerProtection, FALSE)
NUMBER(NVCacheEnabled, TRUE)
END

#define IDENTIFY(what)                                                                          \
    NUMBER(head.Version, sizeof(STORAGE_PROTOCOL_DATA_DESCRIPTOR))                              \
    NUMBER(head.Size, sizeof(STORAGE_PROTOCOL_DATA_DESCRIPTOR))                                 \
    NUMBER(head.ProtocolSpecificData.ProtocolType, ProtocolTypeNvme)                            \
    NUMBER(head.ProtocolSpecificData.DataType, NVMeDataTypeIdentify)                            \
    NUMBER(head.ProtocolSpecificData.ProtocolDataRequestValue, what)                            \
    NUMBER(head.ProtocolSpecificData.ProtocolDataOffset, sizeof(STORAGE_PROTOCOL_SPECIFIC_DATA)) \
    NUMBER(head.ProtocolSpecificData.ProtocolDataLength, 4096)

BEGIN(nvme_controller, struct controller)
IDENTIFY(NVME_IDENTIFY_CNS_CONTROLLER)
NARROW(data.SN, "S6Z1NJ0T123456X     ")
NARROW(data.MN, "EXAMPLE SSD 990 PRO 2TB                 ")
NARROW(data.FR, "4B2QJXD7")
NUMBER(data.MDTS, 9)
NUMBER(data.VER, 0x00020001)
NUMBER(data.VWC.Present, 1)
NUMBER(data.AWUN, 1023)
NUMBER(data.AWUPF, 7)
END

BEGIN(nvme_namespace, struct namespace)
IDENTIFY(NVME_IDENTIFY_CNS_SPECIFIC_NAMESPACE)
NUMBER(data.NSZE, 468843606)
NUMBER(data.NCAP, 468843605)
NUMBER(data.NUSE, 1)
NUMBER(data.NSFEAT.NameSpaceAtomicWriteUnit, 1)
NUMBER(data.NSFEAT.NameSpaceIoOptimization, 1)
NUMBER(data.NLBAF, 2)
NUMBER(data.FLBAS.LbaFormatIndex, 1)
NUMBER(data.NAWUN, 255)
NUMBER(data.NAWUPF, 3)
NUMBER(data.NABO, 2)
NUMBER(data.NABSPF, 15)
NUMBER(data.NOIOB, 32)
NUMBER(data.NPWG, 3)
NUMBER(data.NPWA, 1)
NUMBER(data.NPDG, 255)
NUMBER(data.NPDA, 127)
NUMBER(data.NOWS, 31)
NUMBERS(0, data.LBAF, MS, 0)
NUMBERS(0, data.LBAF, LBADS, 9)
NUMBERS(0, data.LBAF, RP, 2)
NUMBERS(1, data.LBAF, MS, 0)
NUMBERS(1, data.LBAF, LBADS, 12)
NUMBERS(1, data.LBAF, RP, 0)
NUMBERS(2, data.LBAF, MS, 64)
NUMBERS(2, data.LBAF, LBADS, 12)
NUMBERS(2, data.LBAF, RP, 3)
END

/* Without bits of NSFEAT the numbers say nothing; format 17 lies in what the header still calls reserved: its LBADS is the third byte
 * of the second four. */
BEGIN(nvme_namespace_of_18_formats, struct namespace)
IDENTIFY(NVME_IDENTIFY_CNS_SPECIFIC_NAMESPACE)
NUMBER(data.NSZE, 1000)
NUMBER(data.NCAP, 1000)
NUMBER(data.NLBAF, 17)
NUMBER(data.FLBAS.LbaFormatIndex, 1)
NUMBER(data.FLBAS.Reserved, 1)
NUMBER(data.NAWUPF, 3)
NUMBER(data.NABO, 2)
NUMBER(data.NABSPF, 15)
NUMBER(data.NPWG, 3)
NUMBER(data.NOWS, 31)
NUMBERS(0, data.LBAF, LBADS, 9)
NUMBERS(1, data.LBAF, LBADS, 9)
NUMBER(data.Reserved4[6], 12)
END
#undef IDENTIFY

BEGIN(ntfs, struct ntfs)
NUMBER(head.VolumeSerialNumber.QuadPart, 0x1a2b3c4d5e6f7081)
NUMBER(head.NumberSectors.QuadPart, 976768000)
NUMBER(head.TotalClusters.QuadPart, 7631000)
NUMBER(head.FreeClusters.QuadPart, 1234567)
NUMBER(head.TotalReserved.QuadPart, 4096)
NUMBER(head.BytesPerSector, 512)
NUMBER(head.BytesPerCluster, 65536)
NUMBER(head.BytesPerFileRecordSegment, 1024)
NUMBER(head.ClustersPerFileRecordSegment, 0)
NUMBER(head.MftValidDataLength.QuadPart, 262144)
NUMBER(head.MftStartLcn.QuadPart, 49152)
NUMBER(head.Mft2StartLcn.QuadPart, 2)
NUMBER(head.MftZoneStart.QuadPart, 49155)
NUMBER(head.MftZoneEnd.QuadPart, 51200)
NUMBER(extended.ByteCount, sizeof(struct ntfs_extended_volume_data))
NUMBER(extended.MajorVersion, 3)
NUMBER(extended.MinorVersion, 1)
NUMBER(extended.BytesPerPhysicalSector, 4096)
NUMBER(extended.LfsMajorVersion, 2)
END

BEGIN(refs, struct refs_volume_data_buffer)
NUMBER(ByteCount, sizeof(struct refs_volume_data_buffer))
NUMBER(MajorVersion, 3)
NUMBER(MinorVersion, 7)
NUMBER(BytesPerPhysicalSector, 4096)
NUMBER(VolumeSerialNumber.QuadPart, -2)
NUMBER(NumberSectors.QuadPart, 4194304)
NUMBER(TotalClusters.QuadPart, 32768)
NUMBER(FreeClusters.QuadPart, 30000)
NUMBER(TotalReserved.QuadPart, 100)
NUMBER(BytesPerSector, 512)
NUMBER(BytesPerCluster, 65536)
END

BEGIN(sector, FILE_STORAGE_INFO)
NUMBER(LogicalBytesPerSector, 512)
NUMBER(PhysicalBytesPerSectorForAtomicity, 4096)
NUMBER(PhysicalBytesPerSectorForPerformance, 8192)
NUMBER(FileSystemEffectivePhysicalBytesPerSectorForAtomicity, 2048)
NUMBER(Flags, STORAGE_INFO_FLAGS_ALIGNED_DEVICE | 8)
NUMBER(ByteOffsetForSectorAlignment, 512)
NUMBER(ByteOffsetForPartitionAlignment, 3584)
END

BEGIN(sector_unknown, FILE_STORAGE_INFO)
NUMBER(LogicalBytesPerSector, 4096)
NUMBER(Flags, STORAGE_INFO_FLAGS_PARTITION_ALIGNED_ON_DEVICE | 4)
NUMBER(ByteOffsetForSectorAlignment, STORAGE_INFO_OFFSET_UNKNOWN)
NUMBER(ByteOffsetForPartitionAlignment, STORAGE_INFO_OFFSET_UNKNOWN)
END

/* A compressed unit (16 clusters of which 5 are there), then a hole. */
BEGIN(pointers, struct pointers_of_4)
NUMBER(head.ExtentCount, 4)
NUMBER(head.StartingVcn.QuadPart, 16)
NUMBERS(0, head.Extents, NextVcn.QuadPart, 21)
NUMBERS(0, head.Extents, Lcn.QuadPart, 786432)
NUMBERS(0, rest, NextVcn.QuadPart, 32)
NUMBERS(0, rest, Lcn.QuadPart, -1)
NUMBERS(1, rest, NextVcn.QuadPart, 0x100000000)
NUMBERS(1, rest, Lcn.QuadPart, -1)
NUMBERS(2, rest, NextVcn.QuadPart, 0x100000001)
NUMBERS(2, rest, Lcn.QuadPart, 0)
END

BEGIN(base, RETRIEVAL_POINTER_BASE)
NUMBER(FileAreaOffset.QuadPart, 16384)
END

BEGIN(size, struct file_fs_size_information)
NUMBER(TotalAllocationUnits.QuadPart, 819200)
NUMBER(AvailableAllocationUnits.QuadPart, 409600)
NUMBER(SectorsPerAllocationUnit, 256)
NUMBER(BytesPerSector, 512)
END

BEGIN(name, struct file_fs_attribute_information)
NUMBER(FileSystemAttributes, 0x00020006)
NUMBER(MaximumComponentNameLength, 255)
NUMBER(FileSystemNameLength, 10)
NUMBERS(0, FileSystemName, Unit, 'e')
NUMBERS(1, FileSystemName, Unit, 'x')
NUMBERS(2, FileSystemName, Unit, 'F')
NUMBERS(3, FileSystemName, Unit, 'A')
NUMBERS(4, FileSystemName, Unit, 'T')
END

BEGIN(compression, struct compression)
NUMBER(CompressionState, COMPRESSION_FORMAT_LZNT1)
END

BEGIN(compression_none, struct compression)
NUMBER(CompressionState, COMPRESSION_FORMAT_NONE)
END

BEGIN(dependency, struct dependency)
NUMBER(head.Version, STORAGE_DEPENDENCY_INFO_VERSION_2)
NUMBER(head.NumberEntries, 2)
NUMBERS(0, head.Version2Entries, DependencyTypeFlags, DEPENDENT_DISK_FLAG_READ_ONLY)
NUMBERS(0, head.Version2Entries, ProviderSpecificFlags, 1)
NUMBERS(0, head.Version2Entries, VirtualStorageType.DeviceId, VIRTUAL_STORAGE_TYPE_DEVICE_VHDX)
IDS(0, head.Version2Entries, VirtualStorageType.VendorId, 0xec984aec, 0xa0f9, 0x47e9, {0x90, 0x1f, 0x71, 0x41, 0x5a, 0x66, 0x34, 0x5b})
NUMBERS(0, head.Version2Entries, AncestorLevel, 0)
POINTERS(0, head.Version2Entries, DependencyDeviceName, device)
POINTERS(0, head.Version2Entries, HostVolumeName, volume)
POINTERS(0, head.Version2Entries, DependentVolumeRelativePath, path)
NUMBERS(0, rest, DependencyTypeFlags, DEPENDENT_DISK_FLAG_PARENT)
NUMBERS(0, rest, VirtualStorageType.DeviceId, VIRTUAL_STORAGE_TYPE_DEVICE_VHD)
IDS(0, rest, VirtualStorageType.VendorId, 0xec984aec, 0xa0f9, 0x47e9, {0x90, 0x1f, 0x71, 0x41, 0x5a, 0x66, 0x34, 0x5b})
NUMBERS(0, rest, AncestorLevel, 1)
POINTERS(0, rest, DependencyDeviceName, device)
POINTERS(0, rest, HostVolumeName, volume)
POINTERS(0, rest, DependentVolumeRelativePath, parent)
WIDE(device, "\\\\.\\PhysicalDrive3")
WIDE(volume, "\\\\?\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\")
WIDE(path, "vms\\Größe.vhdx")
WIDE(parent, "vms\\parent.vhd")
END

BEGIN(names, struct names)
WIDE(text, "C:\\\0D:\\données\\\0")
END

BEGIN(names_none, struct names)
WIDE(text, "")
END

/* Numbers of enumerations, for the tests' own lists. */
BEGIN(constants, struct names)
CONSTANT(BusTypeUnknown)
CONSTANT(BusTypeScsi)
CONSTANT(BusTypeAtapi)
CONSTANT(BusTypeAta)
CONSTANT(BusType1394)
CONSTANT(BusTypeSsa)
CONSTANT(BusTypeFibre)
CONSTANT(BusTypeUsb)
CONSTANT(BusTypeRAID)
CONSTANT(BusTypeiScsi)
CONSTANT(BusTypeSas)
CONSTANT(BusTypeSata)
CONSTANT(BusTypeSd)
CONSTANT(BusTypeMmc)
CONSTANT(BusTypeVirtual)
CONSTANT(BusTypeFileBackedVirtual)
CONSTANT(BusTypeSpaces)
CONSTANT(BusTypeNvme)
CONSTANT(BusTypeSCM)
CONSTANT(BusTypeUfs)
CONSTANT(BASE)
END

/* What a volume on the first partition of layout_mbr answers. */
BEGIN(extents_mbr, VOLUME_DISK_EXTENTS)
NUMBER(NumberOfDiskExtents, 1)
NUMBERS(0, Extents, DiskNumber, 0)
NUMBERS(0, Extents, StartingOffset.QuadPart, 32256)
NUMBERS(0, Extents, ExtentLength.QuadPart, 107371952640)
END

BEGIN(number_mbr, STORAGE_DEVICE_NUMBER)
NUMBER(DeviceType, FILE_DEVICE_DISK)
NUMBER(DeviceNumber, 0)
NUMBER(PartitionNumber, 1)
END

/* A file of two pieces with a hole between them. */
BEGIN(pointers_file, struct pointers_of_4)
NUMBER(head.ExtentCount, 3)
NUMBER(head.StartingVcn.QuadPart, 0)
NUMBERS(0, head.Extents, NextVcn.QuadPart, 16)
NUMBERS(0, head.Extents, Lcn.QuadPart, 100)
NUMBERS(0, rest, NextVcn.QuadPart, 32)
NUMBERS(0, rest, Lcn.QuadPart, -1)
NUMBERS(1, rest, NextVcn.QuadPart, 40)
NUMBERS(1, rest, Lcn.QuadPart, 7000)
END
