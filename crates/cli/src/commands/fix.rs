//! `straddle fix`: what to change, whether that is worth it, and the scripts that do it.

use anyhow::{Context as _, bail};
use clap::Parser;
use std::io::Read;
use std::path::{Path, PathBuf};
use straddle::fix::change::Change;
use straddle::fix::script::{self, Job};
use straddle::fix::{self, Ask, Before, Plan};
use straddle::geometry::Bytes;
use straddle::predict::decision::Evidence;
use straddle::predict::outline::Outline;
use straddle::report::fix as forms;
use straddle::rules::Options;
use straddle::stack::{LayerId, LayerKind, Stack};

use super::{check, predict, typed};
use crate::args::fix::{Fix, FixFormat};
use crate::args::predict::Predict;
use crate::{CLEAN, FOUND, output};

/// Longest plan that is read.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &Fix) -> anyhow::Result<u8> {
    let overrides = check::overrides(&args.geometry);
    let mut stacks = check::stacks(&args.targets, overrides)?;
    let (name, stack) = match (stacks.pop(), stacks.as_slice()) {
        (Some(only), []) => only,
        (None, _) => bail!("nothing was recognised in what was named; `straddle check` says more"),
        (Some(last), others) => {
            let names: Vec<&str> = others
                .iter()
                .chain([&last])
                .map(|(n, _)| n.as_str())
                .collect();
            bail!(
                "a plan is made for one target, and {} were found: {}; name one of them",
                names.len(),
                names.join(", ")
            );
        }
    };
    let options = Options {
        io: args.io.clone(),
        ..Options::default()
    };
    if let Some(path) = &args.verify {
        return verify(args, &name, &stack, &options, path);
    }
    let mut ask = Ask {
        options,
        rate: args.move_rate.map(rate),
        only: args.only.clone(),
        allocation_unit: args.allocation_unit,
        ..Ask::default()
    };
    let mut plan = fix::plan(&stack, &ask);
    if let Some(profile) = &args.profile {
        ask.gain = Some(gain(args, profile, &name, &stack, &plan)?);
        plan = fix::plan(&stack, &ask);
    }
    if let Some(tool) = args.script {
        let job = Job {
            plan: &plan,
            stack: &stack,
            target: &name,
            paths: path_of,
        };
        output::print(&script::write(&job, tool)?)?;
        return Ok(CLEAN);
    }
    print(args, &name, &plan)?;
    Ok(CLEAN)
}

/// What a simulation gains by the move of the largest partition that the plan moves.
fn gain(
    args: &Fix,
    profile: &str,
    name: &str,
    stack: &Stack,
    plan: &Plan,
) -> anyhow::Result<Evidence> {
    let moved = plan.steps.iter().filter_map(|step| match &step.change {
        Change::Partitions(partitions) => Some(&partitions.entries),
        _ => None,
    });
    let moved = moved.flatten().filter(|entry| entry.changes());
    let Some(entry) = moved.max_by_key(|entry| entry.from.len()) else {
        bail!(
            "no partition moves in this plan, and nothing else is simulated; leave --profile out"
        );
    };
    let to = format!("current,{}", entry.to.start().get());
    let rest = args
        .workload
        .as_deref()
        .unwrap_or_default()
        .split_whitespace();
    let words = ["straddle predict", "--profile", profile, "--offsets", &to];
    let args = Simulated::try_parse_from(words.into_iter().chain(rest))?;
    let outline = Outline::of(name, stack)?;
    let prediction = predict::of_partition(&args.predict, &outline, entry.from.start())?;
    match prediction.decision {
        Some(decision) => Ok(decision.evidence),
        None => bail!("the simulation gives the same place twice; leave --profile out"),
    }
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

fn print(args: &Fix, name: &str, plan: &Plan) -> anyhow::Result<()> {
    let text = match format(args) {
        FixFormat::Text => forms::text::plan(name, &typed(args), plan, output::width()),
        FixFormat::Json => json(&forms::Document::new(name, plan))?,
    };
    Ok(output::print(&text)?)
}

/// What was typed behind `straddle fix`, as far as it changes the plan.
fn typed(args: &Fix) -> String {
    let mut words = typed::words(&args.targets, &args.geometry, &args.io);
    if let Some(unit) = args.allocation_unit {
        words.push(format!("--allocation-unit {}", typed::size(unit)));
    }
    if !args.only.is_empty() {
        words.push(format!("--only {}", args.only.join(",")));
    }
    words.join(" ")
}

fn format(args: &Fix) -> FixFormat {
    if args.json {
        FixFormat::Json
    } else {
        args.format
    }
}

fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}

/// What became of a plan that was carried out.
fn verify(
    args: &Fix,
    name: &str,
    stack: &Stack,
    options: &Options,
    path: &Path,
) -> anyhow::Result<u8> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {shown}"))?;
    file.take(LONGEST)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {shown}"))?;
    let before: Before = serde_json::from_slice(&bytes).with_context(|| {
        format!("{shown} is no plan that `straddle fix --json` printed; make one before anything is changed")
    })?;
    let verification = fix::verify(&before, stack, options);
    let text = match format(args) {
        FixFormat::Text => forms::text::verification(name, &verification, output::width()),
        FixFormat::Json => json(&forms::VerifiedDocument::new(name, &verification))?,
    };
    output::print(&text)?;
    Ok(if verification.is_kept() { CLEAN } else { FOUND })
}

/// Where a layer can be opened: an image is called by its path, a device of Linux by its name in `/dev`.
fn path_of(stack: &Stack, layer: LayerId) -> Option<PathBuf> {
    let layer = stack.layer(layer);
    if layer.kind == LayerKind::Container {
        return None;
    }
    let name = &layer.name;
    let path = Path::new(name);
    if path.exists() || name.contains('/') {
        return Some(path.to_owned());
    }
    let device = Path::new("/dev").join(name);
    let is_word = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    is_word.then_some(device)
}
