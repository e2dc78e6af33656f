//! What partition types stand for whose code alone says little: parts of arrays, volume managers, encryption and pools, and
//! what ESXi divides its disks into.

/// Type bytes of an MBR in hexadecimal, and type GUIDs of a GPT.
const NAMES: &[(&str, &str)] = &[
    ("42", "Windows LDM"),
    ("8e", "Linux LVM"),
    ("fb", "VMFS"),
    ("fc", "ESXi core dump"),
    ("fd", "Linux RAID"),
    ("381CFCCC-7288-11E0-92EE-000C2911D0B2", "vSAN"),
    (
        "4EB2EA39-7855-4790-A79E-FAE495E21F8D",
        "ESXi OSData (VMFS-L)",
    ),
    (
        "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3",
        "Windows LDM metadata",
    ),
    ("6A898CC3-1DD2-11B2-99A6-080020736631", "ZFS"),
    ("516E7CBA-6ECF-11D6-8FF8-00022D09712B", "FreeBSD ZFS"),
    ("9198EFFC-31C0-11DB-8F78-000C2911D1B8", "ESXi reserved"),
    ("9D275380-40AD-11DB-BF97-000C2911D1B8", "ESXi core dump"),
    ("A19D880F-05FC-4D3B-A006-743F0F84911E", "Linux RAID"),
    ("AA31E02A-400F-11DB-9590-000C2911D1B8", "VMFS"),
    ("AF9B60A0-1431-4F62-BC68-3311714A69AD", "Windows LDM data"),
    ("CA7D7CCB-63ED-4C53-861C-1742536059CC", "LUKS"),
    ("E6D6D379-F507-44C2-A23C-238F2A3DF928", "Linux LVM"),
    ("E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D", "Storage Spaces"),
];

/// What `kind`, as the usual tools print it, stands for.
pub(super) fn name(kind: &str) -> Option<&'static str> {
    let known = NAMES.iter().find(|(code, _)| *code == kind);
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{NAMES, name};

    #[test]
    fn names_of_esxi_s_own_types() {
        assert_eq!(name("fb"), Some("VMFS"));
        assert_eq!(
            name("9D275380-40AD-11DB-BF97-000C2911D1B8"),
            Some("ESXi core dump")
        );
        assert_eq!(name("07"), None);
    }

    #[test]
    fn codes_are_written_as_the_tables_are_read_and_only_once() {
        for (code, name) in NAMES {
            let canonical = if code.len() == 2 {
                code.to_ascii_lowercase()
            } else {
                code.to_ascii_uppercase()
            };
            assert_eq!(*code, canonical, "{name}");
        }
        let codes: BTreeSet<_> = NAMES.iter().map(|(code, _)| code).collect();
        assert_eq!(codes.len(), NAMES.len());
    }
}
