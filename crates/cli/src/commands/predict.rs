//! `straddle predict`: simulates offsets on a model of the stack below them.

mod place;

use anyhow::bail;
use std::path::Path;
use straddle::geometry::Bytes;
use straddle::predict::Arrivals;
use straddle::predict::compose::{Array, compose};
use straddle::predict::decision::{AWAY_AND_BACK, Work};
use straddle::predict::design::{Axis, compare_variants};
use straddle::predict::experiment::Effort;
use straddle::predict::outline::{Outline, Place, Taken};
use straddle::predict::prediction::{self, Prediction, Question};
use straddle::predict::profile::{Profile, Refusal};
use straddle::predict::script::{Script, registry as scripts};
use straddle::report::json::pretty;
use straddle::report::predict::{self as forms, text};
use straddle::workload::offset::Offset;
use straddle::workload::{Percent, Workload};

use super::kept::Keeper;
use super::profile::{load, load_device, read, with};
use super::screen::Screen;
use crate::args::predict::{ArrivalsArg, Asked, At, Predict, PredictFormat};
use crate::exit::CLEAN;
use crate::output;

/// Longest scenario that is read.
const MAX_SCENARIO: u64 = 1 << 20;
/// Most partitions that are predicted in one go.
const MAX_PLACES: usize = 16;

/// What is asked of a partition, and what of its stack took the profile's place; without a stack, of the profile.
type Predicted = (Question, Option<(Place, Vec<Taken>)>);

pub(crate) fn run(args: &Predict) -> anyhow::Result<u8> {
    let keeper = Keeper::new(&args.keeping, "predict")?;
    let outline = |path| place::outline(path, args.follow_outside);
    let outline = args.stack.as_deref().map(outline).transpose()?;
    let places = places(args, outline.as_ref())?;
    let Some((name, profile)) = system(args)? else {
        bail!(place::without_profile(
            places.first().copied(),
            args.stack.as_deref()
        ));
    };
    let mut asked: Vec<Predicted> = Vec::new();
    if places.is_empty() {
        asked.push((question(args, profile, None)?, None));
    } else {
        for place in places {
            let (profile, taken) = place.apply(profile.clone());
            asked.push((
                question(args, profile, Some(place))?,
                Some((place.clone(), taken)),
            ));
        }
    }
    let screen = Screen::new();
    let help = |refusal: Refusal| {
        anyhow::anyhow!("{refusal} (`straddle profile show {name}` shows every parameter)")
    };
    let axes = axes(args);
    if !axes.is_empty() {
        if args.workload.rw.len() > 1 {
            bail!(
                "variants are compared with one mix of reads and writes, and --rw has {}; give one, and run once for each",
                args.workload.rw.len()
            );
        }
        let [(question, _)] = asked.as_slice() else {
            bail!(
                "variants are compared on one partition, and {} are in question; name one with --partition",
                asked.len()
            );
        };
        screen.step("variants");
        let comparison = compare_variants(axes, question).map_err(help)?;
        screen.end();
        match format(args) {
            PredictFormat::Text => {
                output::print(&text::comparison(question, &comparison, output::width()))?
            }
            PredictFormat::Json => print(&forms::Document::compared(question, &comparison))?,
            PredictFormat::Csv => forms::csv::comparison(question, &comparison, output::stdout())?,
        }
        if keeper.wants() {
            return keeper.keep(
                &pretty(&forms::Document::compared(question, &comparison))?,
                CLEAN,
            );
        }
        return Ok(CLEAN);
    }
    let mut predictions: Vec<Prediction> = Vec::new();
    for (question, place) in asked {
        let mut made = predicted(args, question, |what| screen.step(what)).map_err(help)?;
        made.place = place;
        predictions.push(made);
    }
    screen.end();
    match format(args) {
        PredictFormat::Text => {
            for (index, prediction) in predictions.iter().enumerate() {
                if index > 0 {
                    output::print("\n")?;
                }
                output::print(&text::report(prediction, output::width()))?;
            }
        }
        PredictFormat::Json => print(&forms::Document::new(&predictions))?,
        PredictFormat::Csv => forms::csv::predictions(&predictions, output::stdout())?,
    }
    if keeper.wants() {
        return keeper.keep(&pretty(&forms::Document::new(&predictions))?, CLEAN);
    }
    Ok(CLEAN)
}

/// The system that was named, by a profile or by its parts, and the profile to look its parameters up in.
fn system(args: &Predict) -> anyhow::Result<Option<(&str, Profile)>> {
    let (name, profile) = match (args.profile.as_deref(), args.disk.as_deref()) {
        (Some(name), _) => (name, load(name)?),
        (None, Some(disk)) => (disk, load_device(disk)?),
        (None, None) => return Ok(None),
    };
    let (Some(level), Some(members)) = (&args.raid, args.disks) else {
        return Ok(Some((name, profile)));
    };
    let array = Array {
        level: level.clone(),
        members,
        stripe_unit: args.stripe_unit,
        cache: args.cache,
    };
    Ok(Some((name, compose(profile, &array)?)))
}

/// What is compared: variants that were named, and lists where a workload has one number.
fn axes(args: &Predict) -> Vec<Axis> {
    let asked = &args.workload;
    let lists = [
        Axis::threads(&asked.workers),
        Axis::outstanding(&asked.outstanding),
    ];
    let named = args.compare.iter().cloned();
    named.chain(lists.into_iter().flatten()).collect()
}

/// What is predicted of one partition of a stack, the one that begins at `start` of what it lies on.
pub(crate) fn of_partition(
    args: &Predict,
    outline: &Outline,
    start: Bytes,
) -> anyhow::Result<Prediction> {
    let place = outline
        .places
        .iter()
        .find(|place| place.offset.value == start);
    let Some(place) = place else {
        bail!(
            "the partition at {start} cannot be simulated; run `straddle predict --stack` for the reason"
        );
    };
    let Some((_, profile)) = system(args)? else {
        bail!(place::without_profile(Some(place), args.stack.as_deref()));
    };
    let (profile, _) = place.apply(profile);
    if let Some(axis) = axes(args).first() {
        bail!(
            "one prediction is needed, and {} has {} values; give one",
            axis.label(),
            axis.values.len()
        );
    }
    let screen = Screen::new();
    let question = question(args, profile, Some(place))?;
    let made = predicted(args, question, |what| screen.step(what));
    screen.end();
    Ok(made?)
}

/// A prediction for the mix of reads and writes that was given, or for several.
fn predicted(
    args: &Predict,
    question: Question,
    step: impl FnMut(&str),
) -> Result<Prediction, Refusal> {
    // A script is a mix of its own.
    match question.script.is_some() {
        true => prediction::predict(question, step),
        false => {
            let mixes: Vec<Percent> = args.workload.rw.iter().map(|mix| mix.reads).collect();
            prediction::predict_mixes(question, &mixes, step)
        }
    }
}

fn format(args: &Predict) -> PredictFormat {
    if args.json {
        PredictFormat::Json
    } else {
        args.format
    }
}

fn print(document: &forms::Document<'_>) -> anyhow::Result<()> {
    Ok(output::print(&pretty(document)?)?)
}

/// The partitions in question; none without a stack.
fn places<'a>(args: &Predict, outline: Option<&'a Outline>) -> anyhow::Result<Vec<&'a Place>> {
    let Some(outline) = outline else {
        return Ok(Vec::new());
    };
    if let Some(name) = &args.partition {
        return Ok(vec![outline.find(name)?]);
    }
    let mut places = outline.in_question();
    let left = places.split_off(MAX_PLACES.min(places.len()));
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|place| place.path()).collect();
        output::remark(&format!(
            "only the first {MAX_PLACES} partitions are predicted; for the others, name one with --partition: {}",
            names.join(", ")
        ));
    }
    Ok(places)
}

fn question(args: &Predict, profile: Profile, place: Option<&Place>) -> anyhow::Result<Question> {
    let profile = with(profile, &args.set)?;
    let asked = &args.workload;
    let capacity = prediction::capacity(&profile)?;
    let offsets = offsets(args, place, capacity, prediction::unaligned(&profile)?)?;
    let length = place
        .and_then(|place| place.length.as_ref())
        .map(|l| l.value);
    let farthest = offsets.iter().map(|offset| offset.bytes).max();
    let room = capacity
        .checked_sub(farthest.unwrap_or(Bytes::ZERO))
        .unwrap_or(Bytes::ZERO);
    let data = args.move_.data.map(|unit| unit.bytes());
    let span = args.simulation.size.map(|unit| unit.bytes());
    let (mixes, pattern) = asked.streams().map_err(anyhow::Error::msg)?;
    // Of several, which are variants of it, the first.
    let first = |numbers: &[u32]| numbers.first().copied().unwrap_or(1);
    let (workers, outstanding) = (first(&asked.workers), first(&asked.outstanding));
    let workload = Workload {
        reads: mixes.first().copied().unwrap_or(Percent::ALL),
        pattern,
        sizes: asked.io.0.clone(),
        workers,
        outstanding,
        think: asked.think,
        rate: asked.rate,
    };
    let script = script(asked)?;
    let outstanding = workers.saturating_mul(outstanding);
    Ok(Question {
        profile,
        workload: script
            .as_ref()
            .map_or(workload, |script| script.summary(outstanding)),
        script,
        arrivals: match asked.arrivals {
            ArrivalsArg::Even => Arrivals::Even,
            ArrivalsArg::Random => Arrivals::Random,
        },
        offsets,
        // A partition that is longer than the model is as long as the model.
        span: span.or(length.filter(|length| *length <= room)),
        effort: Effort {
            requests: args.simulation.requests,
            precision: args.simulation.precision,
            seed: args.simulation.seed,
            ..Effort::default()
        },
        sensitivities: args.simulation.sensitivity as usize,
        work: match place {
            Some(place) => place.work(data, args.move_.move_rate),
            None => Work {
                data,
                passes: AWAY_AND_BACK,
                rate: args.move_.move_rate,
            },
        },
    })
}

/// What is asked in place of one workload: a scenario of ours, a file, or a recording.
fn script(asked: &Asked) -> anyhow::Result<Option<Script>> {
    if let Some(path) = &asked.trace {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let records = straddle::trace::replayed(path, asked.trace_device.as_deref())?;
        return Ok(Some(Script::recorded(&name, records)?));
    }
    let Some(name) = asked.scenario.as_deref() else {
        return Ok(None);
    };
    if name.ends_with(".toml") {
        return Ok(Some(Script::read(
            name,
            &read(Path::new(name), MAX_SCENARIO)?,
        )?));
    }
    Ok(Some(scripts::load(name)?))
}

/// Most offsets that are compared. Each is a simulation of its own.
const MAX_OFFSETS: usize = 256;

/// The offsets to compare, the baseline first.
fn offsets(
    args: &Predict,
    place: Option<&Place>,
    capacity: Bytes,
    unaligned: Bytes,
) -> anyhow::Result<Vec<Offset>> {
    let given = |name: &str| name.parse().map(At::Given);
    let asked = match (args.simulation.offsets.as_slice(), place) {
        ([], Some(_)) => vec![At::Current, given("64K")?, given("1M")?],
        ([], None) => vec![given("unaligned")?, given("64K")?, given("1M")?],
        (given, _) => given.to_vec(),
    };
    let by_default = args.simulation.offsets.is_empty();
    if asked.len() > MAX_OFFSETS {
        bail!(
            "{} offsets; at most {MAX_OFFSETS} are compared in one run, as each is a simulation of its own: give fewer, or \
             make several runs with the same first offset",
            asked.len()
        );
    }
    let mut offsets: Vec<Offset> = Vec::new();
    for at in asked {
        let offset = match (at, place) {
            // Sector 63 lies where the disk's own sectors put it.
            (At::Given(offset), _) if offset.name.eq_ignore_ascii_case("unaligned") => Offset {
                bytes: unaligned,
                ..offset
            },
            (At::Given(offset), _) => offset,
            (At::Current, Some(place)) => place::current(place, capacity),
            (At::Current, None) => {
                bail!(
                    "offset `current` is where a partition starts in a stack; name the stack with --stack"
                )
            }
        };
        let same = offsets.iter().find(|other| other.bytes == offset.bytes);
        match same {
            None => offsets.push(offset),
            Some(_) if by_default => {}
            Some(same) => bail!(
                "offsets `{}` and `{}` are the same; leave one of them out",
                same.name,
                offset.name
            ),
        }
    }
    Ok(offsets)
}
