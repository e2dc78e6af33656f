//! One rule per file, named like the rule, in a folder for each hundred of codes, and the table of all: number, constant, family
//! and file of each. What several rules need lies in [`shared`](crate::shared). What is made of the table stands apart, so that a
//! rule can name the code of another without knowing the list that it is in itself.
//!
//! The `mod` lines are written out: rustfmt formats no file whose `mod` line a macro writes.

/// STR1xx: partitions.
pub(crate) mod partition {
    pub(crate) mod foreign_sector_size;
    pub(crate) mod hidden_sectors;
    pub(crate) mod hybrid_mbr;
    pub(crate) mod kernel_alignment_offset;
    pub(crate) mod odd_but_right;
    pub(crate) mod partition_size_sector;
    pub(crate) mod partition_start_flash_unit;
    pub(crate) mod partition_start_physical_sector;
    pub(crate) mod partition_start_preferred_io;
    pub(crate) mod partition_start_request_boundary;
    pub(crate) mod partitions_overlap;
}

/// STR2xx: stripes and arrays.
pub(crate) mod array {
    pub(crate) mod allocation_unit_stripe_unit;
    pub(crate) mod concatenated;
    pub(crate) mod degraded_array;
    pub(crate) mod firmware_array_state;
    pub(crate) mod firmware_volume_start;
    pub(crate) mod member_data_offset;
    pub(crate) mod member_offsets_differ;
    pub(crate) mod members_disagree;
    pub(crate) mod odd_full_stripe;
    pub(crate) mod partition_start_full_stripe;
    pub(crate) mod partition_start_stripe_unit;
    pub(crate) mod partly_given;
    pub(crate) mod reshaping_array;
    pub(crate) mod stripe_unit_physical_sector;
    pub(crate) mod stripe_unit_unknown;
    pub(crate) mod untold_filesystem;
}

/// STR3xx: filesystems.
pub(crate) mod filesystem {
    pub(crate) mod block_smaller_than_sector;
    pub(crate) mod cluster_heap;
    pub(crate) mod database_page;
    pub(crate) mod ext_geometry;
    pub(crate) mod file_extents;
    pub(crate) mod file_lattice;
    pub(crate) mod filesystem_size;
    pub(crate) mod mft_record;
    pub(crate) mod page_copied;
    pub(crate) mod xfs_geometry;
    pub(crate) mod xfs_sector;
}

/// STR4xx: virtual disks and nested guests.
pub(crate) mod container {
    pub(crate) mod backing_chain;
    pub(crate) mod compressed_clusters;
    pub(crate) mod container_block_small;
    pub(crate) mod container_block_stripe;
    pub(crate) mod container_data_offset;
    pub(crate) mod discard_granularity;
    pub(crate) mod gpt_foreign_sector_in_guest;
    pub(crate) mod guest_4k_on_512;
    pub(crate) mod guest_512_on_4k;
    pub(crate) mod guest_aligned_host_off;
    pub(crate) mod guest_and_below_off;
    pub(crate) mod guest_and_host_cancel;
    pub(crate) mod host_file_fragmented;
    pub(crate) mod parent_block_size;
    pub(crate) mod stream_optimized;
    pub(crate) mod vhd_drift;
    pub(crate) mod vhd_size;
}

/// STR5xx: topology that lies.
pub(crate) mod topology {
    pub(crate) mod array_optimal_io;
    pub(crate) mod cloud_operations;
    pub(crate) mod coarse_indirection_unit;
    pub(crate) mod flash_claims_512;
    pub(crate) mod kernel_says_misaligned;
    pub(crate) mod optimal_io_implausible;
    pub(crate) mod optimal_io_lie;
    pub(crate) mod physical_sector_implausible;
}

/// STR6xx: volume managers and encryption.
pub(crate) mod volume {
    pub(crate) mod ashift_large;
    pub(crate) mod ashift_small;
    pub(crate) mod bcache_data_offset;
    pub(crate) mod encryption_sector;
    pub(crate) mod first_extent_far;
    pub(crate) mod first_extent_stripe;
    pub(crate) mod integrity_journal;
    pub(crate) mod ldm_raid5;
    pub(crate) mod ldm_spanned;
    pub(crate) mod ldm_striped;
    pub(crate) mod loop_device;
    pub(crate) mod payload_full_stripe;
    pub(crate) mod payload_size;
    pub(crate) mod raidz_width;
    pub(crate) mod storage_spaces;
    pub(crate) mod striped_on_striped;
    pub(crate) mod thin_chunk_stripe;
    pub(crate) mod unfinished_encryption;
    pub(crate) mod vmfs_start;
    pub(crate) mod vmfs_upgraded;
    pub(crate) mod volume_start;
}

/// STR7xx: atomic and torn writes.
pub(crate) mod atomic {
    pub(crate) mod atomic_write_page;
    pub(crate) mod atomic_writes_lost;
    pub(crate) mod torn_page;
}

/// STR8xx: performance evidence.
pub(crate) mod evidence {
    pub(crate) mod backup_slower;
    pub(crate) mod checkpoint_sync;
    pub(crate) mod flush_tail;
    pub(crate) mod hypervisor_latency;
    pub(crate) mod latency_target;
    pub(crate) mod little_law;
    pub(crate) mod measured_price;
    pub(crate) mod misaligned_log_io;
    pub(crate) mod queue_per_disk;
    pub(crate) mod sector_changed;
    pub(crate) mod split_io;
    pub(crate) mod stalled_requests;
}

/// STR9xx: the quality of the facts.
pub(crate) mod facts {
    pub(crate) mod ambiguous_signatures;
    pub(crate) mod contradiction;
    pub(crate) mod damaged_structure;
    pub(crate) mod misprint;
    pub(crate) mod missing_fact;
    pub(crate) mod not_read;
    pub(crate) mod rounded_fact;
    pub(crate) mod same_identity;
    pub(crate) mod stale_capture;
    pub(crate) mod truncated_output;
    pub(crate) mod unit_unclear;
}

/// Gives the table to a macro.
macro_rules! table {
    ($make:ident) => {
        $make! {
            101 PARTITION_START_PHYSICAL_SECTOR = partition::partition_start_physical_sector,
            102 PARTITION_START_PREFERRED_IO = partition::partition_start_preferred_io,
            103 PARTITION_START_FLASH_UNIT = partition::partition_start_flash_unit,
            104 PARTITION_SIZE_SECTOR = partition::partition_size_sector,
            105 FOREIGN_SECTOR_SIZE = partition::foreign_sector_size,
            106 HIDDEN_SECTORS = partition::hidden_sectors,
            107 PARTITIONS_OVERLAP = partition::partitions_overlap,
            108 HYBRID_MBR = partition::hybrid_mbr,
            109 ODD_BUT_RIGHT = partition::odd_but_right,
            110 KERNEL_ALIGNMENT_OFFSET = partition::kernel_alignment_offset,
            111 PARTITION_START_REQUEST_BOUNDARY = partition::partition_start_request_boundary,

            201 PARTITION_START_STRIPE_UNIT = array::partition_start_stripe_unit,
            202 PARTITION_START_FULL_STRIPE = array::partition_start_full_stripe,
            203 STRIPE_UNIT_UNKNOWN = array::stripe_unit_unknown,
            204 ALLOCATION_UNIT_STRIPE_UNIT = array::allocation_unit_stripe_unit,
            205 STRIPE_UNIT_PHYSICAL_SECTOR = array::stripe_unit_physical_sector,
            206 MEMBER_DATA_OFFSET = array::member_data_offset,
            207 MEMBER_OFFSETS_DIFFER = array::member_offsets_differ,
            208 DEGRADED_ARRAY = array::degraded_array,
            209 RESHAPING_ARRAY = array::reshaping_array,
            210 MEMBERS_DISAGREE = array::members_disagree,
            211 PARTLY_GIVEN = array::partly_given,
            212 FIRMWARE_VOLUME_START = array::firmware_volume_start,
            213 FIRMWARE_ARRAY_STATE = array::firmware_array_state,
            214 ODD_FULL_STRIPE = array::odd_full_stripe,
            215 UNTOLD_FILESYSTEM = array::untold_filesystem,
            216 CONCATENATED = array::concatenated,

            301 FILE_LATTICE = filesystem::file_lattice,
            302 EXT_GEOMETRY = filesystem::ext_geometry,
            303 XFS_GEOMETRY = filesystem::xfs_geometry,
            304 CLUSTER_HEAP = filesystem::cluster_heap,
            305 BLOCK_SMALLER_THAN_SECTOR = filesystem::block_smaller_than_sector,
            306 MFT_RECORD = filesystem::mft_record,
            307 XFS_SECTOR = filesystem::xfs_sector,
            308 FILESYSTEM_SIZE = filesystem::filesystem_size,
            309 FILE_EXTENTS = filesystem::file_extents,
            310 DATABASE_PAGE = filesystem::database_page,
            312 PAGE_COPIED = filesystem::page_copied,

            401 VHD_DRIFT = container::vhd_drift,
            402 CONTAINER_DATA_OFFSET = container::container_data_offset,
            403 VHD_SIZE = container::vhd_size,
            404 CONTAINER_BLOCK_SMALL = container::container_block_small,
            405 HOST_FILE_FRAGMENTED = container::host_file_fragmented,
            406 GUEST_512_ON_4K = container::guest_512_on_4k,
            407 GUEST_4K_ON_512 = container::guest_4k_on_512,
            408 GPT_FOREIGN_SECTOR_IN_GUEST = container::gpt_foreign_sector_in_guest,
            409 PARENT_BLOCK_SIZE = container::parent_block_size,
            410 STREAM_OPTIMIZED = container::stream_optimized,
            411 COMPRESSED_CLUSTERS = container::compressed_clusters,
            412 CONTAINER_BLOCK_STRIPE = container::container_block_stripe,
            413 DISCARD_GRANULARITY = container::discard_granularity,
            414 GUEST_ALIGNED_HOST_OFF = container::guest_aligned_host_off,
            415 GUEST_AND_HOST_CANCEL = container::guest_and_host_cancel,
            416 GUEST_AND_BELOW_OFF = container::guest_and_below_off,
            417 BACKING_CHAIN = container::backing_chain,

            501 OPTIMAL_IO_LIE = topology::optimal_io_lie,
            502 OPTIMAL_IO_IMPLAUSIBLE = topology::optimal_io_implausible,
            503 KERNEL_SAYS_MISALIGNED = topology::kernel_says_misaligned,
            504 FLASH_CLAIMS_512 = topology::flash_claims_512,
            505 COARSE_INDIRECTION_UNIT = topology::coarse_indirection_unit,
            506 PHYSICAL_SECTOR_IMPLAUSIBLE = topology::physical_sector_implausible,
            507 ARRAY_OPTIMAL_IO = topology::array_optimal_io,
            508 CLOUD_OPERATIONS = topology::cloud_operations,

            601 ENCRYPTION_SECTOR = volume::encryption_sector,
            602 VOLUME_START = volume::volume_start,
            603 LOOP_DEVICE = volume::loop_device,
            604 FIRST_EXTENT_STRIPE = volume::first_extent_stripe,
            605 FIRST_EXTENT_FAR = volume::first_extent_far,
            606 THIN_CHUNK_STRIPE = volume::thin_chunk_stripe,
            607 STRIPED_ON_STRIPED = volume::striped_on_striped,
            608 PAYLOAD_FULL_STRIPE = volume::payload_full_stripe,
            609 PAYLOAD_SIZE = volume::payload_size,
            610 UNFINISHED_ENCRYPTION = volume::unfinished_encryption,
            611 BCACHE_DATA_OFFSET = volume::bcache_data_offset,
            612 INTEGRITY_JOURNAL = volume::integrity_journal,
            613 ASHIFT_SMALL = volume::ashift_small,
            614 ASHIFT_LARGE = volume::ashift_large,
            615 RAIDZ_WIDTH = volume::raidz_width,
            616 VMFS_START = volume::vmfs_start,
            617 VMFS_UPGRADED = volume::vmfs_upgraded,
            618 LDM_STRIPED = volume::ldm_striped,
            619 LDM_SPANNED = volume::ldm_spanned,
            620 LDM_RAID5 = volume::ldm_raid5,
            621 STORAGE_SPACES = volume::storage_spaces,

            701 ATOMIC_WRITES_LOST = atomic::atomic_writes_lost,
            702 ATOMIC_WRITE_PAGE = atomic::atomic_write_page,
            703 TORN_PAGE = atomic::torn_page,

            801 STALLED_REQUESTS = evidence::stalled_requests,
            802 LATENCY_TARGET = evidence::latency_target,
            803 QUEUE_PER_DISK = evidence::queue_per_disk,
            804 MISALIGNED_LOG_IO = evidence::misaligned_log_io,
            805 BACKUP_SLOWER = evidence::backup_slower,
            806 CHECKPOINT_SYNC = evidence::checkpoint_sync,
            807 FLUSH_TAIL = evidence::flush_tail,
            808 HYPERVISOR_LATENCY = evidence::hypervisor_latency,
            809 LITTLE_LAW = evidence::little_law,
            810 SPLIT_IO = evidence::split_io,
            811 MEASURED_PRICE = evidence::measured_price,
            812 SECTOR_CHANGED = evidence::sector_changed,

            901 DAMAGED_STRUCTURE = facts::damaged_structure,
            902 AMBIGUOUS_SIGNATURES = facts::ambiguous_signatures,
            903 NOT_READ = facts::not_read,
            904 ROUNDED_FACT = facts::rounded_fact,
            905 CONTRADICTION = facts::contradiction,
            906 MISSING_FACT = facts::missing_fact,
            907 MISPRINT = facts::misprint,
            908 STALE_CAPTURE = facts::stale_capture,
            909 UNIT_UNCLEAR = facts::unit_unclear,
            910 TRUNCATED_OUTPUT = facts::truncated_output,
            911 SAME_IDENTITY = facts::same_identity,
        }
    };
}

pub(crate) use table;
