//! A job file of fio's in place of arguments: `--job FILE`, or the file itself where a target would stand.

use anyhow::{Context as _, bail};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use straddle::bench::compat::Refused;
use straddle::bench::compat::fio_job::{self, Size, Surroundings};
use straddle::bench::results::Machine;
use straddle::bench::target::Target;
use straddle::geometry::Bytes;
use straddle::io::engine::Kind;
use straddle::workload::Pattern;
use straddle::workload::Percent;

use super::intent::{Wanted, from_args};
use crate::args::bench::Bench;
use crate::output;

/// Longest job file, and longest file that is looked at to tell whether it is one.
const MAX_LENGTH: u64 = 1 << 20;

/// The job file that was named, by `--job` or as a target.
///
/// A test file never gets the name of a job file: who types `bench mixed.fio` means the jobs, also where the name has a mistake in it.
pub(super) fn named(args: &Bench) -> anyhow::Result<Option<&Path>> {
    if let Some(path) = &args.job {
        return Ok(Some(path));
    }
    let Some(target) = args.target.as_deref() else {
        return Ok(None);
    };
    let is_called_so = target
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("fio"));
    let name = target.display();
    match std::fs::metadata(target) {
        Ok(found) if found.is_file() => {
            let looks = found.len() <= MAX_LENGTH
                && text_of(target).is_ok_and(|text| fio_job::looks_like_one(&text));
            if !is_called_so && !looks {
                return Ok(None);
            }
        }
        Err(_) if is_called_so => bail!(
            "{name} does not exist, and a test file is not given the name of a job file of fio's; name a job file that is there, or call the test file something else, such as {}",
            target.with_extension("dat").display()
        ),
        _ => return Ok(None),
    }
    if says_workload(args) {
        bail!(
            "{name} is taken as a job file of fio's, which says what is asked of the storage; leave the options of the workload out, or write them into it"
        );
    }
    if !args.quiet {
        output::remark(&format!(
            "{name} is taken as a job file of fio's, as with --job"
        ));
    }
    Ok(Some(target))
}

/// Whether an option of the workload has another value than without it.
fn says_workload(args: &Bench) -> bool {
    let asked = &args.workload;
    let [sizes] = asked.io.as_slice() else {
        return true;
    };
    let is_usual = matches!(sizes.0.as_slice(), [(size, _)] if size.get() == 8192)
        && asked
            .streams()
            .is_ok_and(|streams| matches!(streams.as_slice(), [(Percent::ALL, Pattern::Random)]))
        && asked.workers == [1]
        && asked.outstanding == [8]
        && asked.think.is_zero()
        && asked.rate.is_none();
    !is_usual
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    let read = file.take(MAX_LENGTH + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_LENGTH {
        bail!("it is longer than 1 MiB, so it is no job file");
    }
    Ok(text)
}

/// What a job file says; where it says nothing, what the command line does.
pub(super) fn read(args: &Bench, path: &Path) -> anyhow::Result<Wanted> {
    let shown = path.display();
    let text = text_of(path).with_context(|| format!("cannot read the job file {shown}"))?;
    // As in fio: from the directory that the command runs in, then beside the job file.
    let include = |name: &str| {
        let beside = path.parent().unwrap_or(Path::new("")).join(name);
        text_of(Path::new(name))
            .or_else(|error| text_of(&beside).map_err(|_| error))
            .map_err(|error| format!("it cannot be read ({error})"))
    };
    let around = Surroundings {
        variable: &|name| std::env::var(name).ok(),
        include: &include,
        processors: std::thread::available_parallelism().map_or(1, |number| number.get() as u64),
        page: 4096,
        memory: Machine::this().memory.map_or(0, Bytes::get),
    };
    let job = match fio_job::parse(&text, &around) {
        Ok(job) => job,
        Err(obstacles) => return Err(all_of(&obstacles.0, path)),
    };
    let asked = from_args(args)?;
    let typed = args.job.as_ref().and(args.target.clone());
    let device = args.devices.destroy_data.clone();
    let target = typed
        .or(job.file.or(job.directory).map(PathBuf::from))
        .or(device);
    let Some(target) = target else {
        bail!(
            "{shown} names no file, and fio would make one for each job where it is started; type where the test file is to lie: straddle bench DIRECTORY --job {shown}"
        );
    };
    let engine = match job.engine {
        Some(name) => Some(name.parse::<Kind>()?),
        None => args.how.engine.0,
    };
    let span = match job.size {
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Share(share)) => of_what_is_there(&target, share)?,
        None => asked.span,
    };
    let (names, cells) = job
        .cells
        .into_iter()
        .map(|cell| (cell.name, cell.workload))
        .unzip();
    Ok(Wanted {
        target: Some(target),
        cells,
        names,
        span,
        measured: job.runs.unwrap_or(asked.measured),
        warm_up: job.warm_up,
        direct: job.direct && asked.direct,
        durability: job.durability,
        engine,
        seed: asked.seed.or(job.seed),
        remarks: job.remarks,
    })
}

/// All that is in the way, each in a line of its own.
fn all_of(obstacles: &[Refused], path: &Path) -> anyhow::Error {
    let path = path.display();
    if let [only] = obstacles {
        return anyhow::anyhow!("{path}: {only}");
    }
    let first = format!("{path}: {} obstacles", obstacles.len());
    let rest = obstacles.iter().map(|one| format!("  {one}"));
    output::Lines(std::iter::once(first).chain(rest).collect()).into()
}

/// A share of a file or device; `None` is all of it, less the room for the offsets.
fn of_what_is_there(target: &Path, share: Percent) -> anyhow::Result<Option<Bytes>> {
    let percent = share.get();
    let found = Target::existing(target, false).with_context(|| {
        format!(
            "size={percent}% is a share of a file or device that is there; give a size such as size=1g for a new test file"
        )
    })?;
    if share == Percent::ALL {
        return Ok(None);
    }
    let part = u128::from(found.size().get()) * u128::from(percent) / 100;
    Ok(u64::try_from(part).ok().map(Bytes::new))
}
