//! `straddle profile`: lists, shows and fits profiles.

use anyhow::{Context as _, bail};
use std::path::Path;
use straddle::predict::design::plain;
use straddle::predict::profile::{Origin, Profile, registry};
use straddle::report::predict::profile as forms;

use crate::args::profile::{Action, Profile as Args, ProfileFormat};
use crate::{CLEAN, output};

/// Longest profile that is read, in bytes.
const LONGEST: u64 = 1 << 20;

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    match &args.action {
        Action::List(args) => {
            let names = registry::PROFILES.iter().map(|(name, _)| *name);
            let profiles: Vec<Profile> = names.map(registry::load).collect::<Result<_, _>>()?;
            match args.json || args.format == ProfileFormat::Json {
                true => document(&profiles)?,
                false => output::print(&forms::list(&profiles, output::width()))?,
            }
        }
        Action::Show(args) => {
            // With defaults in their place: what a simulation would take.
            let profile = load(&args.profile)?.complete()?;
            match args.json || args.format == ProfileFormat::Json {
                true => document(&[profile])?,
                false => output::print(&forms::page(&profile, output::width()))?,
            }
        }
        Action::Fit(_) => bail!("not built"),
    }
    Ok(CLEAN)
}

fn document(profiles: &[Profile]) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(&forms::Document::new(profiles))?;
    text.push('\n');
    Ok(output::print(&text)?)
}

/// A profile by its name, or from a file.
pub(super) fn load(name: &str) -> anyhow::Result<Profile> {
    let is_file = name.ends_with(".toml") || name.contains(['/', '\\']);
    if !is_file {
        if registry::text(name).is_none() {
            bail!(
                "there is no profile `{name}`; `straddle profile list` lists them, and a file of one's own ends in .toml. There \
                 are: {}",
                registry::names()
            );
        }
        return Ok(registry::load(name)?);
    }
    let text = read(Path::new(name), LONGEST)?;
    let stem = Path::new(name).file_stem().unwrap_or_default();
    let mut profile = Profile::read(name, &text)?;
    profile.name = stem.to_string_lossy().into_owned();
    Ok(profile)
}

/// A file of text of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> anyhow::Result<String> {
    use std::io::Read as _;
    let named = || path.display().to_string();
    let target = straddle::io::Target::open(path)?;
    let mut text = String::new();
    target
        .file()
        .take(most + 1)
        .read_to_string(&mut text)
        .with_context(named)?;
    if text.len() as u64 > most {
        bail!("{} is longer than {most} bytes", named());
    }
    Ok(text)
}

/// A profile with parameters given by flags.
pub(super) fn with(mut profile: Profile, set: &[(String, String)]) -> anyhow::Result<Profile> {
    for (path, value) in set {
        profile = profile
            .with(path, &plain(value), Origin::Flag)
            .map_err(|refusal| refusal.of("--set"))?;
    }
    Ok(profile)
}
