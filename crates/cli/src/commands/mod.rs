//! One file per verb.

pub(crate) mod bench;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod diskspd;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod history;
mod kept;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod realign;
pub(crate) mod report;
pub(crate) mod schema;
mod screen;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod sqlio;
pub(crate) mod study;
mod together;
pub(crate) mod trace;
mod typed;

use anyhow::bail;
use std::path::PathBuf;
use straddle::check::{CheckError, Kind, Known};
use straddle::sources::Overrides;

/// The stacks of targets, as `check` takes them.
fn stacks(
    targets: &[PathBuf],
    overrides: Overrides,
    follow_outside: bool,
) -> anyhow::Result<Vec<Known>> {
    let stacks = straddle::check::stacks(targets, overrides, follow_outside);
    stacks.map_err(|(target, error)| match error {
        // The others have the name in them.
        CheckError::Unlisted(_) => anyhow::Error::new(error).context(target),
        error => error.into(),
    })
}

/// The same of what is to be changed, which nothing is that lies packed or in an archive.
fn changeable(
    targets: &[PathBuf],
    overrides: Overrides,
    follow_outside: bool,
) -> anyhow::Result<Vec<Known>> {
    let known = stacks(targets, overrides, follow_outside)?;
    if let Some(packed) = known.iter().find(|one| one.taken == Some(Kind::Archive)) {
        bail!(
            "{} is packed or lies in an archive, where it cannot be changed; unpack it, and name what comes out",
            packed.name
        );
    }
    Ok(known)
}
