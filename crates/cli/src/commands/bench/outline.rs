//! A plan in words, before it starts.

use std::fmt::Write as _;
use std::time::Duration;
use straddle::bench::journal::{Header, Role};
use straddle::bench::place::Placement;
use straddle::bench::plan::{Plan, Schedule};
use straddle::geometry::Bytes;
use straddle::report::escape::terminal;
use straddle::workload::{Pattern, Workload};

/// Most workloads that are listed.
const LISTED: usize = 12;

/// What is going to be done, a line each.
pub(super) fn outline(header: &Header, schedule: &Schedule, length: Option<Bytes>) -> String {
    let plan = schedule.plan();
    let outline = schedule.outline();
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "{name:<10} {}", terminal(&what));
    };
    line("target", target(header, length));
    if let Some(replay) = &plan.replay {
        line("replay", replay.to_string());
    }
    for (number, cell) in plan.cells.iter().take(LISTED).enumerate() {
        let title = if number == 0 { "workloads" } else { "" };
        let name = plan.name(number).map(|name| format!("{name}: "));
        line(
            title,
            format!("{}{}", name.unwrap_or_default(), workload(cell)),
        );
    }
    if plan.cells.len() > LISTED {
        line("", format!("and {} more", plan.cells.len() - LISTED));
    }
    let offsets: Vec<String> = plan
        .offsets
        .iter()
        .map(|offset| both(&offset.name, offset.bytes))
        .collect();
    let warm_up = match plan.warm_up.is_zero() {
        true => "nothing".to_owned(),
        false => time(plan.warm_up),
    };
    let run = format!("{} ({warm_up} of them warm-up)", time(outline.run));
    if let [only] = offsets.as_slice() {
        line(
            "offset",
            format!("{only}; there is nothing to compare it with"),
        );
        line("block", format!("1 run of {run}"));
    } else {
        line(
            "offsets",
            format!("{}; the first is the baseline", offsets.join(", ")),
        );
        line(
            "block",
            format!(
                "{} runs of {run}, the baseline between all others: {}",
                outline.runs_per_block,
                time(outline.block)
            ),
        );
        line("order", order(plan, &outline.first_round));
    }
    let least = outline.least;
    let most = match outline.most {
        Some(most) if most == least => String::new(),
        Some(most) => format!(
            "; at most {} ({} blocks) until each gain is known to {}",
            time(most.time),
            most.blocks,
            percent(plan.precision)
        ),
        None => format!(
            "; then until each gain is known to {}",
            percent(plan.precision)
        ),
    };
    line(
        "time",
        format!(
            "{} ({} blocks, {} runs) in any case{most}",
            time(least.time),
            least.blocks,
            least.runs
        ),
    );
    line("seed", plan.seed.to_string());
    text
}

/// The places of the offsets on the lowest device.
pub(super) fn places(placement: &Placement) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<10} {} from byte {} of the target on, for each offset",
        "requests",
        placement.region.len,
        placement.region.base.grouped()
    );
    for place in &placement.places {
        let device = match &place.device {
            Some((name, at)) => format!("byte {} of {name}", at.grouped()),
            None => "its place on a device is not known".to_owned(),
        };
        let on: Vec<String> = place
            .standings
            .iter()
            .map(|standing| {
                let phase = match standing.phase {
                    Some(phase) if phase == Bytes::ZERO => "on".to_owned(),
                    Some(phase) => format!("{phase} past"),
                    None => "in pieces on".to_owned(),
                };
                format!(
                    "{phase} {} of {} ({})",
                    standing.role.name(),
                    standing.unit,
                    standing.layer_name
                )
            })
            .collect();
        let standings = if on.is_empty() {
            String::new()
        } else {
            format!("; {}", on.join(", "))
        };
        let place = format!("{}: {device}{standings}", place.offset);
        let _ = writeln!(text, "{:<10} {}", "", terminal(&place));
    }
    for warning in &placement.warnings {
        let warning = format!("warning: {} {}", warning.cause, warning.advice);
        let _ = writeln!(text, "{}", terminal(&warning));
    }
    text
}

fn target(header: &Header, length: Option<Bytes>) -> String {
    let path = header.path.display();
    let how = if header.direct {
        "past the page cache"
    } else {
        "through the page cache: memory is measured, not storage"
    };
    match (header.role, length) {
        (Role::Own, Some(length)) => format!(
            "{path}: a new file of {}, {} of it for the requests of one offset, {how}",
            length.rounded(),
            header.span.unwrap_or(Bytes::ZERO)
        ),
        (Role::Own, None) => format!("{path}: a new file, {how}"),
        (Role::Device, _) => format!("{path}: a device whose data is destroyed, {how}"),
        (Role::ReadOnly, _) => format!("{path}: only read, {how}"),
        (Role::Null, _) => "nothing at all: what is measured is this program".to_owned(),
    }
}

/// `70% reads, random, 8 KiB, 2 threads × 8 outstanding`.
fn workload(cell: &Workload) -> String {
    let mix = match cell.reads.get() {
        100 => "reads".to_owned(),
        0 => "writes".to_owned(),
        share => format!("{share}% reads, {}% writes", 100 - share),
    };
    let pattern = cell.pattern;
    let weights: u32 = cell.sizes.iter().map(|(_, weight)| weight).sum();
    let sizes: Vec<String> = match cell.sizes.as_slice() {
        [(least, _), .., (_, _)] if matches!(pattern, Pattern::Recorded(_)) => {
            vec![format!("{least} to {}", cell.largest())]
        }
        [(size, _)] => vec![size.to_string()],
        sizes => sizes
            .iter()
            .map(|(size, weight)| format!("{size} ({weight} in {weights})"))
            .collect(),
    };
    let threads = if cell.workers == 1 {
        "thread"
    } else {
        "threads"
    };
    let mut text = format!(
        "{mix}, {pattern}, {}, {} {threads} × {} outstanding",
        sizes.join(" or "),
        cell.workers,
        cell.outstanding
    );
    if cell.think > Duration::ZERO {
        let _ = write!(text, ", thinking {}", time(cell.think));
    }
    if let Some(rate) = cell.rate {
        let _ = write!(text, ", {rate} due each second");
    }
    text
}

/// The order of the first round, by name.
fn order(plan: &Plan, slots: &[straddle::bench::plan::Slot]) -> String {
    let block = plan.runs_per_block();
    let names: Vec<&str> = slots
        .iter()
        .take(block)
        .filter_map(|slot| Some(plan.offsets.get(slot.offset as usize)?.name.as_str()))
        .collect();
    format!("{}, and so on in random order", names.join(" "))
}

/// `unaligned (31.5 KiB)`; a name that says its size itself is enough.
fn both(name: &str, bytes: Bytes) -> String {
    let says_it = name.parse::<Bytes>().is_ok_and(|said| said == bytes) && !name.ends_with('s');
    if says_it {
        name.to_owned()
    } else {
        format!("{name} ({bytes})")
    }
}

/// `1.2 s`, `2 min`, `1 h 5 min`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time < Duration::from_millis(1) => format!("{} µs", time.as_micros()),
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{} s", tenths(time)),
        60..3600 => match seconds % 60 {
            0 => format!("{} min", seconds / 60),
            rest => format!("{} min {rest} s", seconds / 60),
        },
        _ => match seconds % 3600 / 60 {
            0 => format!("{} h", seconds / 3600),
            rest => format!("{} h {rest} min", seconds / 3600),
        },
    }
}

fn tenths(time: Duration) -> String {
    match time.as_millis() / 100 {
        tenths if tenths % 10 == 0 => (tenths / 10).to_string(),
        tenths => format!("{}.{}", tenths / 10, tenths % 10),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_say_them() {
        let said = |ms| time(Duration::from_millis(ms));
        assert_eq!(said(200), "200 ms");
        assert_eq!(said(1200), "1.2 s");
        assert_eq!(said(54_000), "54 s");
        assert_eq!(said(120_000), "2 min");
        assert_eq!(said(125_000), "2 min 5 s");
        assert_eq!(said(3_900_000), "1 h 5 min");
        assert_eq!(time(Duration::from_micros(50)), "50 µs");
    }

    #[test]
    fn shares_have_no_zeros_behind() {
        assert_eq!(percent(0.01), "1%");
        assert_eq!(percent(0.005), "0.5%");
    }

    #[test]
    fn a_size_is_not_said_twice() {
        assert_eq!(both("64K", Bytes::kib(64)), "64K");
        assert_eq!(both("63s", Bytes::new(32_256)), "63s (31.5 KiB)");
    }
}
