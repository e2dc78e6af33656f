//! `cargo xtask bench predict`: requests that the simulator works through in a second of processor time, and how much
//! memory it needs for two lengths of run. Statistics are on: latency histograms, counts, utilisation. And how long the shipped program takes
//! for a whole prediction.
//!
//! Beside each kind of system stands what the peer of its kind did. They were measured once, on a machine of this kind, and
//! are not part of the run: DiskSim 4.0 (CMU Parallel Data Laboratory) on the configurations that it comes with, and MQSim
//! (CMU SAFARI, FAST 2018) on its own.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::archive::Archive;
use super::measure::Series;
use crate::dist;
use crate::run::{cargo, output, repository, run};

/// What is simulated: its name, the arguments, how many requests, the least that is asked of it, and what the peer did.
struct Row {
    name: &'static str,
    words: &'static str,
    requests: u64,
    target: f64,
    peer: &'static str,
}

const DISKSIM: &str = "DiskSim 4.0: 37,000 to 151,000";
const DISKSIM_RAID: &str = "DiskSim 4.0, RAID 5: 19,200";
const MQSIM: &str = "MQSim: 6,000 to 56,000, with 2 GB of memory";
const NONE: &str = "none counts without time";

const ROWS: &[Row] = &[
    Row {
        name: "counts without time, RAID 0, 8 members, 8 KiB writes at byte 32,256",
        words: "fixed-service -- count 8192 32256 0 1",
        requests: 20_000_000,
        target: 20e6,
        peer: NONE,
    },
    Row {
        name: "counts without time, RAID 5, 8 members, 8 KiB writes at byte 32,256",
        words: "fixed-service array.level=raid5 -- count 8192 32256 0 1",
        requests: 10_000_000,
        target: 20e6,
        peer: NONE,
    },
    Row {
        name: "one disk, position-aware, 32 outstanding 8 KiB reads",
        words: "cheetah-15k7 -- time 8192 32256 100 32",
        requests: 4_000_000,
        target: 6e6,
        peer: DISKSIM,
    },
    Row {
        name: "150 disks, 32 outstanding 8 KiB reads",
        words: "cheetah-15k7 array.level=raid0 array.members=150 array.stripe_unit=65536 -- time 8192 32256 100 32",
        requests: 4_000_000,
        target: 4e6,
        peer: DISKSIM,
    },
    Row {
        name: "150 disks, 128 outstanding",
        words: "cheetah-15k7 array.level=raid0 array.members=150 array.stripe_unit=65536 -- time 8192 32256 100 128",
        requests: 4_000_000,
        target: 4e6,
        peer: DISKSIM,
    },
    Row {
        name: "150 disks, 1,024 outstanding",
        words: "cheetah-15k7 array.level=raid0 array.members=150 array.stripe_unit=65536 -- time 8192 32256 100 1024",
        requests: 4_000_000,
        target: 4e6,
        peer: DISKSIM,
    },
    Row {
        name: "RAID 5 of 8 disks, 32 outstanding 8 KiB writes",
        words: "cheetah-15k7 array.level=raid5 array.members=8 array.stripe_unit=65536 -- time 8192 32256 0 32",
        requests: 1_000_000,
        target: 500e3,
        peer: DISKSIM_RAID,
    },
    Row {
        name: "SSD of 32 dies, 32 outstanding 4 KiB reads",
        words: "nvme-tlc -- time 4096 32256 100 32",
        requests: 2_000_000,
        target: 2e6,
        peer: MQSIM,
    },
];

/// Arrays whose default predictions take longest: a cache, or many disks.
const ARRAYS: [&str; 6] = [
    "eva8100",
    "msa60-p800",
    "perc5e-raid10",
    "raid10-600gb",
    "raid-adapter-cached",
    "san-lun",
];
/// Seconds that a default prediction may take, with all that it says of assumptions.
const ANSWER: f64 = 5.0;

/// Most that may be resident, in KiB.
const MEMORY: f64 = 64.0 * 1024.0;
/// Lengths of run whose memory is compared.
const LENGTHS: [(&str, u64); 2] = [("×1", 1), ("×10", 10)];

/// Measures, and archives the figures under benches/. `other` is another build of the example `speed`, which is measured in
/// the same rounds.
pub(crate) fn predict(rounds: usize, other: Option<&str>) -> Result<()> {
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-predict",
        "--example",
        "speed",
    ]))?;
    let speed = repository().join("target/release/examples/speed");
    let measure = |speed: &Path, row: &Row, times: u64| -> Result<(f64, f64)> {
        let requests = row.requests * times / 10;
        let said = output(
            Command::new(speed)
                .args(row.words.split(' '))
                .arg(requests.to_string()),
        )
        .with_context(|| row.name.to_owned())?;
        let mut figures = said.split_whitespace().map(str::parse::<f64>);
        let mut figure = || figures.next().context("two figures")?.context("a number");
        Ok((figure()? / 1e6, figure()?))
    };
    let series = || -> Vec<Series> { ROWS.iter().map(|row| Series::new(row.name)).collect() };
    let mut rate = series();
    let mut rate_of_other = series();
    let mut memory = LENGTHS.map(|_| series());
    for _ in 0..rounds {
        for (at, row) in ROWS.iter().enumerate() {
            let (this, long) = measure(&speed, row, 10)?;
            if let Some(other) = other {
                push(
                    &mut rate_of_other,
                    at,
                    measure(Path::new(other), row, 10)?.0,
                );
            }
            // The shorter one is for its memory alone.
            let (_, short) = measure(&speed, row, 1)?;
            push(&mut rate, at, this);
            let [of_short, of_long] = &mut memory;
            push(of_short, at, short);
            push(of_long, at, long);
        }
    }
    let mut archive = Archive::new();
    for (at, row) in ROWS.iter().enumerate() {
        let mut note = format!(
            "`{}`, {} requests a run, one thread, time on the processor",
            row.words, row.requests
        );
        let least = rate.get(at).map_or(f64::NAN, |one| one.quartile(2));
        let held = if least * 1e6 >= row.target {
            "held"
        } else {
            "not held"
        };
        let _ = write!(
            note,
            ". Target: {:.1} million, {held}. Beside it, in requests a second of processor time, measured on such a machine, \
             not in this run: {}",
            row.target / 1e6,
            row.peer
        );
        let mut these = rate.get(at).cloned().into_iter().collect::<Vec<_>>();
        if let (Some(_), Some(mut of_other)) = (other, rate_of_other.get(at).cloned()) {
            "the other build".clone_into(&mut of_other.name);
            these.push(of_other);
        }
        archive.section(row.name, "million requests a second", &note, &these);
    }
    for (at, row) in ROWS.iter().enumerate() {
        let these: Vec<Series> = LENGTHS
            .iter()
            .zip(&memory)
            .filter_map(|((name, _), all)| {
                let mut one = all.get(at)?.clone();
                one.name = format!("a run of length {name}");
                Some(one)
            })
            .collect();
        let most = these.iter().map(|one| one.quartile(4)).fold(0.0, f64::max);
        let held = if most <= MEMORY { "held" } else { "not held" };
        archive.section(
            &format!("Peak memory: {}", row.name),
            "KiB",
            &format!("resident (VmHWM), a process each. Target: at most 65,536, {held}"),
            &these,
        );
    }
    answers(rounds, &mut archive)?;
    match other {
        None => archive.write("predict", &format!("cargo xtask bench predict {rounds}")),
        Some(_) => archive.write(
            "predict-against",
            &format!("cargo xtask bench predict {rounds} OTHER"),
        ),
    }
}

/// What a person waits for who names an array and nothing else, by the program that is shipped.
fn answers(rounds: usize, archive: &mut Archive) -> Result<()> {
    let program = repository().join(dist::shipped()?);
    let mut series = ARRAYS.map(Series::new);
    for _ in 0..rounds {
        for (array, series) in ARRAYS.iter().zip(&mut series) {
            let began = Instant::now();
            output(Command::new(&program).args(["predict", "--profile", array]))?;
            series.push(began.elapsed().as_secs_f64());
        }
    }
    let slow = series.iter().filter(|one| one.quartile(2) > ANSWER);
    let slow: Vec<&str> = slow.map(|one| one.name.as_str()).collect();
    let held = match slow.as_slice() {
        [] => "held".to_owned(),
        slow => format!("not held by {}", slow.join(", ")),
    };
    let note = format!(
        "`predict --profile` and the name of each array, by the static binary, on all processors. Target: at most {ANSWER}, {held}"
    );
    archive.section("A default prediction", "s", &note, &series);
    Ok(())
}

fn push(series: &mut [Series], at: usize, value: f64) {
    if let Some(one) = series.get_mut(at) {
        one.push(value);
    }
}
