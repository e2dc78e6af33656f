//! What a journal may say: no more than this program writes, so that no figure is too large for what is done with it.

use std::time::Duration;
use straddle_geometry::Bytes;
use straddle_io::engine::Kind;

use super::{Arrangement, Header, Limits, Ready, Recorded, Role};
use crate::plan::Plan;
use crate::sample::{Issued, Sample, Side};

/// What was found, and what was expected.
pub(super) type Wrong = (String, String);

/// The end of the year 9999, in seconds since 1970.
const MAX_DATE: Duration = Duration::from_secs(253_402_300_799);
/// Limit of a time that was measured: ten years.
const MAX_TOOK: Duration = Duration::from_secs(3660 * 86_400);
/// Limit of a count, and of bytes: below it, sums of a few stay whole numbers, in floating point too.
const MAX_COUNT: u64 = 1 << 53;
/// Limit of the size of anything.
const MAX_SIZE: u64 = 1 << 62;
/// Limit of devices below a target, and of engines in a trial.
const MAX_LISTED: usize = 4096;

fn require(good: bool, found: impl FnOnce() -> String, expected: &str) -> Result<(), Wrong> {
    if good {
        return Ok(());
    }
    Err((found(), expected.to_owned()))
}

fn size(what: &str, size: Bytes) -> Result<(), Wrong> {
    require(
        size.get() <= MAX_SIZE,
        || format!("{what} of {} bytes", size.grouped()),
        "at most 4 EiB",
    )
}

fn took(what: &str, time: Duration) -> Result<(), Wrong> {
    require(
        time <= MAX_TOOK,
        || format!("{what} of {} s", time.as_secs()),
        "at most ten years",
    )
}

fn count(what: &str, count: u64) -> Result<(), Wrong> {
    require(
        count <= MAX_COUNT,
        || format!("{count} {what}"),
        "at most 2⁵³",
    )
}

fn engine(name: &str) -> Result<(), Wrong> {
    let kind: Result<Kind, _> = name.parse();
    kind.map(|_| ())
        .map_err(|error| (error.to_string(), "an engine of this version".to_owned()))
}

/// The bounds of the command line.
pub(super) fn header(header: &Header) -> Result<(), Wrong> {
    header
        .plan
        .check()
        .map_err(|error| (format!("{}: {}", error.what, error.found), error.expected))?;
    header.owner().map_err(|_| {
        (
            format!("the token `{}`", header.token.escape_debug()),
            "32 hexadecimal digits".to_owned(),
        )
    })?;
    require(
        header.began <= MAX_DATE,
        || format!("a beginning {} s after 1970", header.began.as_secs()),
        "a date before the year 10000",
    )?;
    size("a span", header.span.unwrap_or(Bytes::ZERO))?;
    header.engine.as_deref().map_or(Ok(()), engine)
}

pub(super) fn ready(ready: &Ready) -> Result<(), Wrong> {
    size("a target", ready.size)
}

pub(super) fn placed(placed: &Arrangement, recorded: &Recorded) -> Result<(), Wrong> {
    size("a span", placed.span)?;
    size("a first request", placed.base)?;
    let end = placed.base.get() + placed.span.get();
    let ready = recorded.ready.map_or(0, |ready| ready.size.get());
    require(
        end <= ready || recorded.header.role == Role::Null,
        || format!("requests up to byte {end}"),
        &format!("an end within the target's {ready} bytes"),
    )?;
    require(
        placed.trial.len() <= MAX_LISTED,
        || format!("{} engines in the trial", placed.trial.len()),
        "those that there are",
    )?;
    engine(&placed.engine)
}

/// Whether limits were raised, and to what a plan may have.
pub(super) fn limits(limits: Limits, recorded: &Recorded) -> Result<(), Wrong> {
    let said = |limits: Limits| {
        let budget = limits.budget.map_or("no limit".to_owned(), |time| {
            format!("{} s", time.as_secs())
        });
        format!("{budget} and {} blocks", limits.most_blocks)
    };
    require(
        limits.reach(recorded.limits),
        || said(limits),
        &format!("{} or more", said(recorded.limits)),
    )?;
    let plan = Plan {
        budget: limits.budget,
        most_blocks: limits.most_blocks,
        ..recorded.header.plan.clone()
    };
    plan.check()
        .map_err(|error| (format!("{}: {}", error.what, error.found), error.expected))
}

/// Whether a plan can have had such a run.
pub(super) fn sample(sample: &Sample, plan: &Plan, limits: Limits) -> Result<(), Wrong> {
    let slot = sample.slot;
    let is_in = |index: u32, len: usize| usize::try_from(index).is_ok_and(|index| index < len);
    let of_plan = is_in(slot.cell, plan.cells.len())
        && is_in(slot.offset, plan.offsets.len())
        && is_in(slot.position, plan.runs_per_block())
        && slot.block < limits.most_blocks;
    require(
        of_plan,
        || {
            format!(
                "run {} of block {} of workload {} at offset {}",
                slot.position, slot.block, slot.cell, slot.offset
            )
        },
        "one of the plan",
    )?;
    for side in [&sample.reads, &sample.writes] {
        of_side(side)?;
    }
    let Issued {
        reads,
        bytes_read,
        writes,
        bytes_written,
    } = sample.issued;
    for number in [reads, writes] {
        count("requests", number)?;
    }
    for bytes in [bytes_read, bytes_written] {
        size("requests", bytes)?;
    }
    for (what, time) in [
        ("a beginning", sample.began),
        ("a run", sample.took),
        ("an error of time stamps", sample.stamp_error),
        ("processor time", sample.processor),
    ] {
        took(what, time)?;
    }
    let ticks = sample.took.as_secs() * 10 + 10;
    require(
        sample.ticks.len() as u64 <= ticks,
        || format!("{} tenths of a second", sample.ticks.len()),
        &format!("at most {ticks}, for a run of {} s", sample.took.as_secs()),
    )?;
    require(
        sample.devices.len() <= MAX_LISTED,
        || format!("{} devices", sample.devices.len()),
        "at most 4,096",
    )?;
    for device in &sample.devices {
        for number in [
            device.reads,
            device.reads_merged,
            device.writes,
            device.writes_merged,
        ] {
            count("requests", number)?;
        }
        for bytes in [device.bytes_read, device.bytes_written] {
            size("requests", bytes)?;
        }
        took("a busy time", device.busy)?;
    }
    Ok(())
}

fn of_side(side: &Side) -> Result<(), Wrong> {
    count("requests", side.requests)?;
    size("requests", side.bytes)?;
    require(
        side.latencies.count() == side.requests,
        || {
            format!(
                "{} latencies of {} requests",
                side.latencies.count(),
                side.requests
            )
        },
        "as many",
    )
}
