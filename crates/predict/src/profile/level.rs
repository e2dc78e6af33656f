//! Levels of arrays, as people say them.

/// Levels as people say them, and as profiles do. Letters and signs around them do not matter: `RAID-5`, `raid 1+0`.
const LEVELS: &[(&str, &str)] = &[
    ("0", "raid0"),
    ("stripe", "raid0"),
    ("striped", "raid0"),
    ("1", "raid1"),
    ("mirror", "raid1"),
    ("mirrored", "raid1"),
    ("10", "raid10"),
    ("01", "raid01"),
    ("4", "raid4"),
    ("5", "raid5"),
    ("6", "raid6"),
    ("dp", "raid6"),
    ("50", "raid50"),
    ("60", "raid60"),
    ("jbod", "single"),
    ("none", "single"),
];

/// A level as profiles call it: `5`, `RAID5`, `raid-10`, `1+0`, `jbod`. What is none is left as it is, for the profile to
/// refuse.
#[must_use]
pub(crate) fn level(text: &str) -> String {
    let plain: String = text
        .to_lowercase()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect();
    let rest = plain.strip_prefix("raid").or(plain.strip_prefix('r'));
    let rest = rest.unwrap_or(&plain);
    let found = LEVELS.iter().find(|(said, _)| *said == rest);
    found.map_or_else(
        || text.trim().to_lowercase(),
        |(_, level)| (*level).to_owned(),
    )
}

/// The same of a value of a profile.
pub(super) fn of_value(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => level(text),
        other => level(&other.to_string()),
    }
}
