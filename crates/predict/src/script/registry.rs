//! The scripts that come with the program: a line each.

use super::Script;
use crate::profile::Refusal;
use crate::profile::registry::{one_of, unknown};

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

/// The script of that name, or of the only one that has it as a part.
///
/// # Errors
/// There is none, there are several, or it is wrong.
pub fn load(name: &str) -> Result<Script, Refusal> {
    let names: Vec<&'static str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
    let refuse = |found: Vec<&str>| unknown("the scenario", name, &found, names.join(", "));
    let known = one_of(name, &names, |name| name).map_err(refuse)?;
    let text = SCRIPTS.iter().find(|(name, _)| *name == known);
    let (name, text) = text.ok_or_else(|| refuse(Vec::new()))?;
    Script::read(name, text)
}
