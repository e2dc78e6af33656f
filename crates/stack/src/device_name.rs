//! What the kernel's names of disks and partitions tell.

/// The disk of a partition's name, by the kernel's rules: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
#[must_use]
pub fn disk_of(name: &str) -> Option<&str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    if let Some(disk) = disk
        .strip_suffix('p')
        .filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()) && !disk.contains('-'))
    {
        return Some(disk);
    }
    let letters = |prefix: &str| {
        let rest = disk.strip_prefix(prefix);
        rest.is_some_and(|rest| {
            (1..=3).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_lowercase())
        })
    };
    ["sd", "hd", "vd", "xvd", "dasd"]
        .iter()
        .any(|prefix| letters(prefix))
        .then_some(disk)
}

/// Whether a name is that of a whole disk: `sda`, `nvme0n1`, `mmcblk0`. Names of arrays and mappings tell nothing.
#[must_use]
pub fn is_whole_disk(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(rest) = name.strip_prefix("nvme") {
        let parts = rest.split_once('n');
        return parts
            .is_some_and(|(controller, namespace)| digits(controller) && digits(namespace));
    }
    if let Some(number) = name.strip_prefix("mmcblk") {
        return digits(number);
    }
    // A disk has partitions.
    name.ends_with(|c: char| c.is_ascii_lowercase()) && disk_of(&format!("{name}1")) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_by_the_names_of_their_partitions() {
        for (name, disk) in [
            ("sda1", Some("sda")),
            ("nvme0n1p2", Some("nvme0n1")),
            ("md0p1", Some("md0")),
            ("md0", None),
            ("sr0", None),
            ("zram0", None),
            ("dm-3", None),
            ("nvme0n1", None),
        ] {
            assert_eq!(disk_of(name), disk, "{name}");
        }
    }

    #[test]
    fn whole_disks_by_their_names() {
        for name in ["sda", "sdab", "xvdf", "dasdb", "nvme0n1", "mmcblk0"] {
            assert!(is_whole_disk(name), "{name}");
        }
        for name in [
            "sdb12",
            "nvme0n1p2",
            "mmcblk0p1",
            "md0",
            "data",
            "sdlong",
            "nvme0",
            "sd",
            "",
        ] {
            assert!(!is_whole_disk(name), "{name}");
        }
    }
}
