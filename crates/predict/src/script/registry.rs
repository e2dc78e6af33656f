//! The scripts that come with the program: a line each.

use super::Script;
use crate::profile::Refusal;

/// Name and text of every script.
pub const SCRIPTS: &[(&str, &str)] = &[
    ("oltp", include_str!("../../../../scenarios/oltp.toml")),
    (
        "file-system",
        include_str!("../../../../scenarios/file-system.toml"),
    ),
    ("backup", include_str!("../../../../scenarios/backup.toml")),
    (
        "log-structured",
        include_str!("../../../../scenarios/log-structured.toml"),
    ),
];

/// The script of that name.
///
/// # Errors
/// There is none, or it is wrong.
pub fn load(name: &str) -> Result<Script, Refusal> {
    let found = SCRIPTS.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
    let (name, text) = found.ok_or_else(|| Refusal::new("the scenario", name, names.join(", ")))?;
    Script::read(name, text)
}
