//! What machines are called.

use std::net::IpAddr;

/// Longest name of a machine, a part of it before the first dot or all of it.
const MAX_LEN: usize = 63;

/// True for what can be the name of a machine, or its address.
pub(super) fn is_name(text: &str) -> bool {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= MAX_LEN
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    is_word || is_address(text)
}

/// True for names with a domain, which little else has, and for addresses.
pub(super) fn is_domain(name: &str) -> bool {
    let is_id = ["naa.", "eui.", "t10.", "mpx.", "vml.", "iqn."]
        .iter()
        .any(|begin| name.starts_with(begin));
    is_name(name) && !is_id && (name.matches('.').count() >= 2 || is_address(name))
}

/// True for an address of IP.
pub(super) fn is_address(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_hexdigit()) && text.parse::<IpAddr>().is_ok()
}

/// True for a name with a figure in it that is none of a disk, a file or a part of a post.
pub(super) fn is_numbered(name: &str) -> bool {
    const OTHERS: [&str; 27] = [
        "disk", "drive", "vol", "part", "raid", "lun", "sd", "hd", "vd", "xvd", "md", "dm", "nvme",
        "mmc", "array", "step", "test", "example", "option", "case", "fig", "table", "vg", "lv",
        "zpool", "pool", "slot",
    ];
    if name.len() < 3 || !is_name(name) || !name.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let other = OTHERS.iter().any(|word| lower.starts_with(word));
    let file = [".txt", ".log", ".csv", ".json", ".out"]
        .iter()
        .any(|end| lower.ends_with(end));
    !other && !file
}

/// What devices, pools and identities begin with that stand alone above what is said of them.
const DEVICES: [&str; 14] = [
    "ada", "da", "nda", "nvd", "vtbd", "mmcsd", "zd", "dm", "mpath", "naa", "eui", "t10", "mpx",
    "hdisk",
];

/// A name with a figure in it that is none of a device: `db1`, `sql-2.example.net`.
pub(super) fn is_machine(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    is_numbered(name)
        && !DEVICES
            .iter()
            .any(|device| stem == *device || name.starts_with(&format!("{device}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_names_or_addresses() {
        for name in ["db1", "db-1.example.net", "a_b", "10.0.0.5", "fe80::1"] {
            assert!(is_name(name), "{name}");
        }
        for other in [
            "",
            "1",
            "63",
            "10.0.0",
            "10.0.0.5:",
            "db 1",
            "/dev/sda",
            &"a".repeat(64),
        ] {
            assert!(!is_name(other), "{other}");
        }
    }
}
