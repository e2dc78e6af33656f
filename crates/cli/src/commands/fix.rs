//! `straddle fix`: what to change, whether that is worth it, and the scripts that do it.

use anyhow::{Context as _, bail};
use clap::Parser;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use straddle::check::{Kind, Known};
use straddle::fix::change::Change;
use straddle::fix::script::{self, Job};
use straddle::fix::{self, Ask, Before, Plan};
use straddle::geometry::Bytes;
use straddle::io::{ReadAt, Target};
use straddle::predict::outline::Outline;
use straddle::report::fix as forms;
use straddle::rules::{Options, RepairKind, Rule, by_code};
use straddle::stack::{Key, LayerId, LayerKind, Stack};
use straddle::workload::offset::Offset;

use super::kept::Keeper;
use super::profile::load;
use super::{changeable, predict, typed};
use crate::args::fix::{Fix, FixFormat};
use crate::args::predict::{At, Predict};
use crate::exit::{CLEAN, FOUND};
use crate::output;

/// Longest plan that is read.
const MAX_LEN: u64 = 64 << 20;

pub(crate) fn run(args: &Fix) -> anyhow::Result<u8> {
    let keeper = Keeper::new(&args.keeping, "fix")?;
    // Where a repair has left nothing, everything is missing.
    if let (Some(plan), [target]) = (&args.verify, args.targets.as_slice())
        && std::fs::metadata(target).is_ok_and(|found| found.is_file() && found.len() == 0)
    {
        let name = target.display().to_string();
        return verify(args, &gone(name), &Options::default(), plan);
    }
    let overrides = args.geometry.overrides();
    let mut stacks = changeable(&args.targets, overrides, args.geometry.follow_outside)?;
    let mut known = match (stacks.pop(), stacks.as_slice()) {
        (Some(only), []) => only,
        (None, _) => match (&args.verify, args.targets.as_slice()) {
            (Some(plan), [target]) => {
                let name = target.display().to_string();
                return verify(args, &gone(name), &Options::default(), plan);
            }
            _ => bail!("nothing was recognised in the targets; run `straddle check` for details"),
        },
        (Some(last), others) => {
            let names: Vec<&str> = others
                .iter()
                .chain([&last])
                .map(|one| one.name.as_str())
                .collect();
            bail!(
                "a plan covers one target, and {} were found: {}; name one of them",
                names.len(),
                names.join(", ")
            );
        }
    };
    let options = Options {
        io: args.io.clone(),
        ..Options::default()
    };
    if let Some(profile) = &args.profile {
        settle(&mut known.stack, profile)?;
    }
    if let Some(path) = &args.verify {
        return verify(args, &known, &options, path);
    }
    let elsewhere = known.is_elsewhere();
    let Known { name, stack, taken } = known;
    let mut ask = Ask {
        options,
        rate: args.move_rate.map(rate),
        only: args.only.clone(),
        allocation_unit: args.allocation_unit,
        ..Ask::default()
    };
    let mut plan = fix::plan(&stack, &ask);
    if plan.is_empty() && !plan.unread.is_empty() {
        bail!(
            "no starting offset in {name} could be checked, so there is nothing to plan: {}",
            plan.unread.join("; ")
        );
    }
    let simulated = args.profile.as_ref().filter(|_| args.script.is_none());
    if let Some(profile) = simulated.filter(|_| !plan.is_empty()) {
        simulate(&mut ask, args, profile, &name, &stack, &plan)?;
        plan = fix::plan(&stack, &ask);
    }
    if taken == Some(Kind::Capture) && plan.is_empty() && is_without_tables(&stack) {
        let by_partitions = |rule: &Rule| rule.repair.kinds().contains(&RepairKind::Partitions);
        let mut left = plan.left.iter();
        if left.any(|left| by_code(left.finding.code).is_some_and(by_partitions)) {
            bail!(
                "{name} has findings, and no tables and superblocks of its disks, so that nothing can be planned for it: take it again as root with `straddle capture --with-metadata`"
            );
        }
    }
    let typed = typed(args);
    let again = match taken {
        // The script runs where the archive is not.
        Some(Kind::Capture) => "straddle capture --with-metadata -o after.tgz && straddle fix after.tgz --verify plan.json".to_owned(),
        _ => format!("{typed} --verify plan.json"),
    };
    let job = Job {
        plan: &plan,
        stack: &stack,
        target: &name,
        again: &again,
        paths: match elsewhere {
            true => path_there,
            false => path_of,
        },
    };
    if let Some(tool) = args.script {
        output::script(&script::write(&job, tool)?)?;
        return Ok(CLEAN);
    }
    if format(args) == FixFormat::Text {
        let tools = script::writable(&job);
        let realign = realign(args, &name, &stack, &plan);
        let ways = forms::text::Ways {
            typed: &typed,
            again: &again,
            realign: realign.as_deref(),
            tools: &tools,
        };
        let text = forms::text::plan(&name, &plan, ways, output::width());
        output::print(&text)?;
        if !keeper.wants() {
            return Ok(CLEAN);
        }
    }
    let mut survival = std::mem::take(&mut plan.survival);
    survival.sample(
        &stack,
        &plan.after,
        &plan.steps,
        &mut reader(&stack, elsewhere),
    );
    plan.survival = survival;
    let document = json(&forms::Document::new(&name, &stack, &plan))?;
    if format(args) == FixFormat::Json {
        output::print(&document)?;
    }
    keeper.keep(&document, CLEAN)
}

/// The command that moves the partitions of the plan, where it can.
fn realign(args: &Fix, name: &str, stack: &Stack, plan: &Plan) -> Option<String> {
    let [target] = args.targets.as_slice() else {
        return None;
    };
    let words = typed::words(&args.targets, &args.geometry, &args.io);
    let names = typed::names(name, target);
    straddle::realign::intent::is_for(stack, &plan.steps, &names).then(|| typed::realign(&words))
}

/// Puts what a profile says of the sectors of its disks in the place of what is assumed.
fn settle(stack: &mut Stack, profile: &str) -> anyhow::Result<()> {
    let profile = load(profile)?;
    if let Some(sector) = profile.physical_sector() {
        fix::settle(stack, sector, &format!("the profile {}", profile.name));
    }
    Ok(())
}

/// What a simulation gains by the move of the largest partition that the plan moves.
fn simulate(
    ask: &mut Ask,
    args: &Fix,
    profile: &str,
    name: &str,
    stack: &Stack,
    plan: &Plan,
) -> anyhow::Result<()> {
    let moved = plan.steps.iter().filter_map(|step| match &step.change {
        Change::Partitions(partitions) => Some(&partitions.entries),
        _ => None,
    });
    let moved = moved.flatten().filter(|entry| entry.changes());
    let Some(entry) = moved.max_by_key(|entry| entry.from.len()) else {
        bail!("this plan moves no partition, and nothing else is simulated; leave --profile out");
    };
    let words = args.workload.as_deref().unwrap_or_default();
    let words = words.split_whitespace();
    let Simulated { mut predict } =
        Simulated::try_parse_from(["--workload"].into_iter().chain(words)).map_err(|error| {
            // The first line says it; what follows is about the usage of another command.
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            anyhow::anyhow!("--workload: {}", line.trim_start_matches("error: "))
        })?;
    if predict.profile.is_some() || !predict.simulation.offsets.is_empty() {
        bail!("--workload has --profile or --offsets in it, which the plan gives; leave them out");
    }
    let to = entry.to.start();
    predict.profile = Some(profile.to_owned());
    predict.simulation.offsets = vec![
        At::Current,
        At::Given(Offset {
            name: to.get().to_string(),
            bytes: to,
        }),
    ];
    let outline = Outline::of(name, stack)?;
    let prediction = predict::of_partition(&predict, &outline, entry.from.start())?;
    let Some(decision) = prediction.decision else {
        bail!("the simulation gives the same place twice; leave --profile out");
    };
    let workload = |reads| {
        let mut question = prediction.question.clone();
        question.workload.reads = reads;
        straddle::report::predict::workload(&question)
    };
    ask.gain = Some(decision.evidence);
    ask.workload = Some(workload(prediction.question.workload.reads));
    let mixes = prediction.mixes.iter();
    ask.mixes = mixes
        .map(|mix| (workload(mix.reads), mix.decision.evidence))
        .collect();
    Ok(())
}

/// Options of `predict`, by themselves.
#[derive(Debug, Parser)]
struct Simulated {
    #[command(flatten)]
    predict: Predict,
}

fn rate(each_second: f64) -> Bytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates"
    )]
    Bytes::new((each_second as u64).max(1))
}

/// The command that makes this plan again.
fn typed(args: &Fix) -> String {
    let mut words = typed::words(&args.targets, &args.geometry, &args.io);
    if let Some(unit) = args.allocation_unit {
        words.push(format!("--allocation-unit {}", typed::size(unit)));
    }
    if !args.only.is_empty() {
        words.push(format!("--only {}", args.only.join(",")));
    }
    if let Some(profile) = &args.profile {
        words.push(format!("--profile {}", typed::word(profile)));
    }
    if let Some(workload) = &args.workload {
        words.push(format!("--workload {}", typed::word(workload)));
    }
    if let Some(rate) = args.move_rate {
        words.push(format!("--move-rate {}B/s", rate));
    }
    typed::command("straddle fix", &words)
}

fn format(args: &Fix) -> FixFormat {
    if args.json {
        FixFormat::Json
    } else {
        args.format
    }
}

fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(straddle::report::json::pretty(document)?)
}

/// What became of a plan that was carried out.
fn verify(args: &Fix, known: &Known, options: &Options, path: &Path) -> anyhow::Result<u8> {
    let (name, stack) = (&known.name, &known.stack);
    let shown = path.display();
    let mut bytes = Vec::new();
    // A pipe would be waited for, and whoever writes to it let through: looked at before it is opened.
    let is_file = std::fs::metadata(path).with_context(|| format!("cannot open {shown}"))?;
    if !is_file.is_file() || is_file.len() > MAX_LEN {
        bail!("{shown} is not a plan: expected a regular file of at most {MAX_LEN} bytes");
    }
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {shown}"))?;
    file.take(MAX_LEN)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {shown}"))?;
    let no_plan = || {
        format!(
            "{shown} is not a plan from `straddle fix --json`; save one before you change anything"
        )
    };
    let document: serde_json::Value = serde_json::from_slice(&bytes).with_context(no_plan)?;
    // The schema first: what another version wrote has other fields.
    if let Some(schema) = document["schema"].as_str().filter(|s| *s != forms::SCHEMA) {
        bail!(
            "{shown} cannot be verified: {}",
            fix::Unverifiable::Schema {
                found: schema.to_owned(),
                wanted: forms::SCHEMA
            }
        );
    }
    let before: Before = serde_json::from_value(document).with_context(no_plan)?;
    before
        .check(forms::SCHEMA)
        .with_context(|| format!("{shown} cannot be verified"))?;
    let verification = fix::verify(
        &before,
        stack,
        options,
        &mut reader(stack, known.is_elsewhere()),
    );
    let text = match format(args) {
        FixFormat::Text => forms::text::verification(name, &verification, output::width()),
        FixFormat::Json => json(&forms::VerifiedDocument::new(name, &verification))?,
    };
    output::print(&text)?;
    Ok(if verification.is_kept() { CLEAN } else { FOUND })
}

/// What is left of a target in which nothing is found.
fn gone(name: String) -> Known {
    Known {
        name,
        stack: Stack::new(),
        taken: None,
    }
}

/// Whether partitions are known and none of the tables that they are in.
fn is_without_tables(stack: &Stack) -> bool {
    let mut layers = stack.layers().iter();
    layers.all(|layer| layer.attribute(Key::PartitionTable).is_none())
}

/// Reads bytes of layers through the files and devices that they lie on; each is opened once. Of a machine `elsewhere` nothing is read: what
/// has the same name here is something else.
pub(super) fn reader(
    stack: &Stack,
    elsewhere: bool,
) -> impl FnMut(LayerId, Bytes, &mut [u8]) -> bool {
    let mut opened: BTreeMap<LayerId, Option<Target>> = BTreeMap::new();
    move |layer, offset, bytes| {
        if elsewhere {
            return false;
        }
        let last = u64::try_from(bytes.len())
            .ok()
            .and_then(|len| len.checked_sub(1));
        let Some(last) = last.and_then(|last| offset.checked_add(Bytes::new(last))) else {
            return false;
        };
        // Of the highest that can be opened: what lies below a device of the kernel has a cache of its own, which may be old.
        let [path, end] = [offset, last].map(|at| stack.path_of(layer, at));
        let mut pieces = path
            .iter()
            .zip(&end)
            .filter_map(|((here, at), (other, end))| {
                let is_one = here == other && end.checked_sub(*at) == last.checked_sub(offset);
                is_one.then_some((*here, *at))
            });
        let found = pieces.find(|(here, _)| {
            let target = opened
                .entry(*here)
                .or_insert_with(|| openable(stack, *here));
            target.is_some()
        });
        let Some((Some(Some(target)), at)) = found.map(|(here, at)| (opened.get(&here), at)) else {
            return false;
        };
        let mut done = 0;
        while done < bytes.len() {
            let here = u64::try_from(done)
                .ok()
                .and_then(|done| at.checked_add(Bytes::new(done)));
            match here.map(|here| target.read_at(here, &mut bytes[done..])) {
                Some(Ok(count)) if count > 0 => done += count,
                Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => return false,
            }
        }
        true
    }
}

/// What the bytes of a layer can be read from: its device, or the file or device that everything lies on.
fn openable(stack: &Stack, id: LayerId) -> Option<Target> {
    let layer = stack.layer(id);
    let path = path_of(stack, id)?;
    let is_device = layer.kind != LayerKind::Filesystem && path.starts_with("/dev");
    (layer.below.is_empty() || layer.kind == LayerKind::File || is_device)
        .then(|| Target::open(&path).ok())
        .flatten()
}

/// Where a layer can be opened: an image is called by its path, a device of Linux by its name in `/dev`.
fn path_of(stack: &Stack, layer: LayerId) -> Option<PathBuf> {
    let layer = stack.layer(layer);
    if layer.kind == LayerKind::Container {
        return None;
    }
    let name = &layer.name;
    let path = Path::new(name);
    if path.exists() {
        return Some(path.to_owned());
    }
    named(name)
}

/// The same on another machine, where a name of this one's files says nothing.
fn path_there(stack: &Stack, layer: LayerId) -> Option<PathBuf> {
    let layer = stack.layer(layer);
    let is_container = layer.kind == LayerKind::Container;
    (!is_container).then(|| named(&layer.name)).flatten()
}

/// A path, or the name of a device.
fn named(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    // No device has such an end: it is an image that a tool was asked about.
    let is_image = path.extension().is_some_and(|end| {
        let end = end.to_ascii_lowercase();
        ["img", "raw", "bin", "dd", "iso"]
            .iter()
            .any(|image| end == *image)
    });
    if is_image || name.contains('/') {
        return Some(path.to_owned());
    }
    let device = Path::new("/dev").join(name);
    let is_word = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    is_word.then_some(device)
}
