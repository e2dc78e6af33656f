use crate::context::Findings;
use crate::rules;
use crate::{Code, Context, Finding, Folklore, Page, Status};

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
    /// The page that `explain` prints.
    pub page: Page,
    /// Looks at a stack and adds findings.
    pub check: fn(&Context<'_>, &mut Findings),
}

/// All rules, in the order of their codes.
pub static RULES: &[&Rule] = &[
    &rules::partition_start_physical_sector::RULE,
    &rules::partition_start_preferred_io::RULE,
    &rules::partition_start_flash_unit::RULE,
    &rules::partition_size_sector::RULE,
    &rules::foreign_sector_size::RULE,
    &rules::hidden_sectors::RULE,
    &rules::partitions_overlap::RULE,
    &rules::hybrid_mbr::RULE,
    &rules::odd_but_right::RULE,
    &rules::kernel_alignment_offset::RULE,
    &rules::partition_start_stripe_unit::RULE,
    &rules::partition_start_full_stripe::RULE,
    &rules::stripe_unit_unknown::RULE,
    &rules::allocation_unit_stripe_unit::RULE,
    &rules::stripe_unit_physical_sector::RULE,
    &rules::member_data_offset::RULE,
    &rules::member_offsets_differ::RULE,
    &rules::degraded_array::RULE,
    &rules::reshaping_array::RULE,
    &rules::members_disagree::RULE,
    &rules::partly_given::RULE,
    &rules::firmware_volume_start::RULE,
    &rules::firmware_array_state::RULE,
    &rules::odd_full_stripe::RULE,
    &rules::untold_filesystem::RULE,
    &rules::concatenated::RULE,
    &rules::file_lattice::RULE,
    &rules::ext_geometry::RULE,
    &rules::xfs_geometry::RULE,
    &rules::cluster_heap::RULE,
    &rules::block_smaller_than_sector::RULE,
    &rules::mft_record::RULE,
    &rules::xfs_sector::RULE,
    &rules::filesystem_size::RULE,
    &rules::file_extents::RULE,
    &rules::database_page::RULE,
    &rules::vhd_drift::RULE,
    &rules::container_data_offset::RULE,
    &rules::vhd_size::RULE,
    &rules::block_smaller_than_grid::RULE,
    &rules::host_file_extents::RULE,
    &rules::guest_512_on_4k::RULE,
    &rules::guest_4k_on_512::RULE,
    &rules::gpt_foreign_sector_in_guest::RULE,
    &rules::parent_block_size::RULE,
    &rules::stream_optimized::RULE,
    &rules::compressed_clusters::RULE,
    &rules::cluster_stripe::RULE,
    &rules::discard_granularity::RULE,
    &rules::guest_host_off::RULE,
    &rules::guest_cancels::RULE,
    &rules::guest_and_below::RULE,
    &rules::backing_chain::RULE,
    &rules::optimal_io_lie::RULE,
    &rules::optimal_io_implausible::RULE,
    &rules::kernel_says_misaligned::RULE,
    &rules::flash_claims_512::RULE,
    &rules::coarse_indirection_unit::RULE,
    &rules::physical_sector_implausible::RULE,
    &rules::array_optimal_io::RULE,
    &rules::encryption_sector::RULE,
    &rules::volume_start::RULE,
    &rules::loop_device::RULE,
    &rules::first_extent_stripe::RULE,
    &rules::first_extent_far::RULE,
    &rules::thin_chunk_stripe::RULE,
    &rules::striped_on_striped::RULE,
    &rules::payload_full_stripe::RULE,
    &rules::payload_size::RULE,
    &rules::unfinished_encryption::RULE,
    &rules::bcache_data_offset::RULE,
    &rules::integrity_journal::RULE,
    &rules::ashift_small::RULE,
    &rules::ashift_large::RULE,
    &rules::raidz_width::RULE,
    &rules::vmfs_start::RULE,
    &rules::vmfs_upgraded::RULE,
    &rules::ldm_striped::RULE,
    &rules::ldm_spanned::RULE,
    &rules::ldm_raid5::RULE,
    &rules::storage_spaces::RULE,
    &rules::atomic_writes_lost::RULE,
    &rules::atomic_write_page::RULE,
    &rules::damaged_structure::RULE,
    &rules::ambiguous_signatures::RULE,
    &rules::not_read::RULE,
    &rules::rounded_fact::RULE,
    &rules::contradiction::RULE,
    &rules::missing_fact::RULE,
    &rules::misprint::RULE,
    &rules::stale_capture::RULE,
    &rules::unit_unclear::RULE,
    &rules::truncated_output::RULE,
    &rules::same_identity::RULE,
];

/// Pages about beliefs, without a rule.
pub static FOLKLORE: &[Folklore] = rules::folklore::PAGES;

/// The rule with this code.
#[must_use]
pub fn by_code(code: Code) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
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
