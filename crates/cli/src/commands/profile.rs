//! `straddle profile`: lists, shows and fits profiles.

use anyhow::{Context as _, bail};
use std::path::Path;
use straddle::predict::design::plain;
use straddle::predict::fit::ranges::{self, Ranges};
use straddle::predict::fit::{self as fitting, Measured, Search};
use straddle::predict::profile::{Origin, Profile, registry};
use straddle::report::json::pretty;
use straddle::report::predict::{fit as report, profile as forms};

use super::screen::Screen;
use crate::args::profile::{Action, Fit, Profile as Args, ProfileFormat};
use crate::exit::CLEAN;
use crate::output;

/// Longest profile that is read, in bytes.
const MAX_LEN: u64 = 1 << 20;
/// Longest document of a measurement that is read: raw samples are in it.
const MAX_RESULT: u64 = 256 << 20;
/// Most sets of parameters that are tried.
const EVALUATIONS: u32 = 150;

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
        Action::Fit(args) => fit(args)?,
    }
    Ok(CLEAN)
}

fn fit(args: &Fit) -> anyhow::Result<()> {
    let name = args.result.display().to_string();
    let measured = Measured::read(&name, &read(&args.result, MAX_RESULT)?)?;
    let profile = with(load(&args.like)?, &args.set)?;
    let from = args.result.file_name().unwrap_or_default();
    let from = from.to_string_lossy();
    if args.ranges {
        return narrow(args, profile, &measured, &from);
    }
    let search = Search {
        requests: args.requests,
        evaluations: EVALUATIONS,
        seed: args.seed,
    };
    let screen = Screen::new();
    let mut fitted = fitting::fit(&profile, &measured, &args.fit, search, &from, |made| {
        screen.step(&format!("set {made} of at most {EVALUATIONS}"));
    })?;
    screen.end();
    output::print(&report::report(&fitted, &from, output::width()))?;
    fitted.profile.title = format!("{}, fitted to {from}", fitted.profile.title);
    written(args, &fitted.profile)
}

/// What a measurement leaves of the assumptions.
fn narrow(args: &Fit, profile: Profile, measured: &Measured, from: &str) -> anyhow::Result<()> {
    let effort = Ranges {
        sets: args.sets,
        requests: args.requests,
        seed: args.seed,
    };
    let screen = Screen::new();
    let mut narrowed = ranges::narrow(&profile, measured, effort, |what| screen.step(what))?;
    screen.end();
    output::print(&report::narrowed(&narrowed, from, output::width()))?;
    if !narrowed.is_telling() {
        return Ok(());
    }
    narrowed.profile.title = format!("{}, its ranges narrowed by {from}", narrowed.profile.title);
    written(args, &narrowed.profile)
}

/// Writes a profile to the file that was asked for, or prints it.
fn written(args: &Fit, profile: &Profile) -> anyhow::Result<()> {
    let text = fitting::toml_of(profile);
    match &args.output {
        Some(path) => {
            let mut file = std::fs::File::create_new(path).with_context(|| {
                format!(
                    "{}: cannot create the file for the fitted profile",
                    path.display()
                )
            })?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            output::remark(&format!(
                "written: {0}; use it with --profile {0}",
                path.display()
            ));
        }
        None => output::print(&format!("\n{text}"))?,
    }
    Ok(())
}

fn document(profiles: &[Profile]) -> anyhow::Result<()> {
    Ok(output::print(&pretty(&forms::Document::new(profiles))?)?)
}

/// A profile by its name or what people say instead, or from a file.
pub(super) fn load(name: &str) -> anyhow::Result<Profile> {
    loaded(name, "profile", registry::find)
}

/// That of a single disk or SSD, of which an array is made. The whole name of another is found, too, and refused where the array is made.
pub(super) fn load_device(name: &str) -> anyhow::Result<Profile> {
    loaded(
        name,
        "profile of a single disk or SSD",
        registry::find_device,
    )
}

type Find = fn(&str) -> Result<&'static str, Vec<&'static str>>;

fn loaded(name: &str, what: &str, find: Find) -> anyhow::Result<Profile> {
    let is_file = name.ends_with(".toml") || name.contains(['/', '\\']);
    if !is_file {
        let is_refused = registry::REFUSED
            .iter()
            .any(|(refused, _)| *refused == name);
        return match find(name) {
            Ok(known) => Ok(registry::load(known)?),
            Err(_) if is_refused => Ok(registry::load(name)?),
            Err(several) if !several.is_empty() => {
                let first = format!("`{name}` may be any of several; name one:");
                let lines = std::iter::once(first).chain(titled(&several));
                Err(output::Lines(lines.collect()).into())
            }
            Err(_) => bail!(
                "there is no {what} `{name}`{}; `straddle profile list` lists them, and the name of your own file must end in .toml",
                alike(name)
            ),
        };
    }
    let text = read(Path::new(name), MAX_LEN)?;
    let stem = Path::new(name).file_stem().unwrap_or_default();
    let mut profile = Profile::read(name, &text)?;
    profile.name = stem.to_string_lossy().into_owned();
    Ok(profile)
}

/// Names of profiles, each on a line of its own with what it is.
fn titled(names: &[&str]) -> Vec<String> {
    let widest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let line = |name: &&str| {
        let title = registry::load(name).map_or_else(|_| String::new(), |profile| profile.title);
        format!("  {name:widest$}  {title}")
    };
    names.iter().map(line).collect()
}

/// Profiles whose names begin as a name does, or have it inside, as a part of a message; else what a disk may be called by.
fn alike(name: &str) -> String {
    let begin: String = name.to_lowercase().chars().take(3).collect();
    let names = registry::PROFILES.iter().map(|(known, _)| *known);
    let names = names.filter(|known| begin.len() > 2 && known.contains(&begin));
    let names: Vec<&str> = names.take(8).collect();
    match names.is_empty() {
        true => {
            " (say a name, a maker, a speed such as 15k or 7200, or nvme, sata, qlc)".to_owned()
        }
        false => format!(" (is it one of {}?)", names.join(", ")),
    }
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
