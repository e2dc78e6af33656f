use crate::context::Findings;
use crate::rules;
use crate::{Code, Context, Finding, Folklore, Page, Repair, Status};

/// A rule: its permanent code, its page, and the function that applies it.
pub struct Rule {
    /// Permanent code.
    pub code: Code,
    /// Name in kebab case, as used in file names.
    pub name: &'static str,
    /// One line: what is wrong when it fires.
    pub summary: &'static str,
    /// How settled it is.
    pub status: Status,
    /// What repairs what it finds, or why nothing does.
    pub repair: Repair,
    /// The page that `explain` prints.
    pub page: Page,
    /// Looks at a stack and adds findings.
    pub check: fn(&Context<'_>, &mut Findings),
}

/// Makes [`codes`] and [`RULES`] of the table of codes below. The `mod` lines stay in the folders: rustfmt formats no file whose `mod`
/// line a macro writes.
macro_rules! table {
    ($($number:literal $code:ident = $family:ident::$rule:ident,)*) => {
        /// The code of each rule, by the rule's name.
        pub mod codes {
            use crate::Code;

            $(
                #[doc = concat!("STR", $number, ": `", stringify!($family), "/", stringify!($rule), ".rs`.")]
                pub const $code: Code = Code($number);
            )*
        }

        /// All rules, in the order of their codes.
        pub static RULES: &[&Rule] = &[$(&rules::$family::$rule::RULE),*];

        /// Each line of the table, as it is written.
        #[cfg(test)]
        const LINES: &[(Code, &str, &str, &str)] = &[
            $((codes::$code, stringify!($code), stringify!($family), stringify!($rule))),*
        ];
    };
}

table! {
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

/// Pages about beliefs, without a rule.
pub static FOLKLORE: &[Folklore] = crate::folklore::PAGES;

/// The rule with this code.
#[must_use]
pub fn by_code(code: Code) -> Option<&'static Rule> {
    let at = RULES.binary_search_by_key(&code, |rule| rule.code).ok()?;
    RULES.get(at).copied()
}

/// Applies all rules to a stack; worst first, then in the order of layers and codes.
#[must_use]
pub fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.status != Status::Removed) {
        (rule.check)(context, &mut findings);
    }
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.severity, f.worst_price());
        key(b)
            .cmp(&key(a))
            .then_with(|| (a.layer, a.code).cmp(&(b.layer, b.code)))
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_names_are_kebab_case() {
        assert!(RULES.windows(2).all(|pair| pair[0].code < pair[1].code));
        for rule in RULES {
            assert!(
                rule.name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                rule.name
            );
            assert!(
                !rule.summary.ends_with('.') && !rule.summary.is_empty(),
                "{}",
                rule.code
            );
        }
    }

    #[test]
    fn a_rule_its_code_its_file_and_its_folder_have_one_name() {
        for ((code, name, family, file), rule) in LINES.iter().zip(RULES) {
            assert_eq!(rule.code, *code);
            assert_eq!(rule.name.replace('-', "_"), *file);
            assert_eq!(name.to_ascii_lowercase(), *file);
            let about = code.family().map(|family| format!("{family:?}"));
            assert_eq!(
                about.map(|about| about.to_ascii_lowercase()).as_deref(),
                Some(*family)
            );
        }
    }

    #[test]
    fn every_rule_has_a_repair_or_a_reason_why_there_is_none() {
        for rule in RULES {
            let (kinds, why) = (rule.repair.kinds(), rule.repair.why_left());
            assert!(
                !kinds.is_empty() || why.is_some_and(|why| why.len() > 20),
                "{}",
                rule.code
            );
        }
    }

    #[test]
    fn every_rule_has_a_whole_page() {
        for rule in RULES {
            for (heading, text) in rule.page.sections() {
                assert!(
                    text.len() > 40,
                    "{}: section `{heading}` says nothing",
                    rule.code
                );
            }
            assert!(
                !rule.page.references.is_empty(),
                "{}: no references",
                rule.code
            );
        }
    }
}
