//! `cargo xtask bench arrays`: `straddle bench` on md arrays over disks of a fixed service time, beside what geometry says;
//! and beside fio on one such disk.
//!
//! The disks are scsi_debug's in a lab guest (`tests/lab/README.md`), 180 requests a second each, one at a time. What they
//! deliver follows from the number of operations alone, so the figures hold on a machine that does other work too.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{stderr, stdout};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::archive::{directory, heading};
use super::measure::Series;
use super::quietly;
use crate::lab::Guest;
use crate::run::{cargo, output, repository, run};

/// Requests each second of one disk.
const DISK: f64 = 180.0;
/// Documents larger than this are archived as gzip.
const LARGE: u64 = 200_000;
/// Wall time after which the guest is ended.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the experiments in a guest, with `rounds` blocks each, and archives them under benches/.
pub(crate) fn arrays(rounds: u32) -> Result<()> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    let directory = directory("arrays")?;
    let guest = Guest {
        repository: repository(),
        memory: "1G".to_owned(),
        limit: LIMIT,
        out: Some(repository().join(&directory)),
        disks: Vec::new(),
        programs: vec![repository().join("target/release/straddle")],
    };
    let script = repository().join("tests/lab/runs/arrays.sh");
    let status = guest.run(&script, &[rounds.to_string()], &mut stdout(), &mut stderr())?;
    ensure!(status == 0, "{} ended with {status}", script.display());

    finish(&directory, rounds)
}

fn finish(directory: &Path, rounds: u32) -> Result<()> {
    summarise(directory, rounds)?;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_json = path.extension().is_some_and(|end| end == "json");
        if is_json && path.metadata()?.len() > LARGE {
            quietly(&["gzip", "-9nf", &path.to_string_lossy()])?;
        }
    }
    println!("archived in {}", directory.display());
    Ok(())
}

/// Writes `summary.md` from what the guest left.
fn summarise(directory: &Path, rounds: u32) -> Result<()> {
    let rows = experiments(directory)?;
    let accuracy = Accuracy::read(&directory.join("accuracy.csv"))?;
    let version = output(Command::new("fio").arg("--version"))?;
    let heading = heading("arrays", &format!("cargo xtask bench arrays {rounds}"))?;
    let summary = [
        heading,
        introduction(rounds),
        table(&rows),
        six_and_eight(&rows)?,
        accuracy.said(version.trim()),
    ]
    .concat();
    println!("{summary}");
    std::fs::write(directory.join("summary.md"), summary)?;
    std::fs::remove_file(directory.join("experiments"))?;
    Ok(())
}

fn introduction(rounds: u32) -> String {
    format!(
        "Disks of a fixed service time: scsi_debug in a User-Mode Linux guest (Linux 6.1, one processor), {DISK:.0} requests a second \
         each, one at a time, without mechanics or cache. What an array of them delivers follows from the operations that \
         requests become, so it can be worked out beforehand: that is the column *geometry*. It shows that `bench` measures what \
         is there; it says nothing about real disks. The machine was shared with other work all the time.\n\n\
         Random requests, one thread, 128 outstanding, {rounds} blocks, runs of 0.7 s after 0.15 s of warm-up. Operations are those of \
         all disks for each request, by /proc/diskstats, over all runs. Rates are means, in brackets the least and the most of \
         any run; gains are over *unaligned* (sector 63), with their 95% intervals. Geometry's rate is that of the pair of disks with the \
         most to do: requests of 64 KiB on stripes of 4 × 16 KiB all begin on the same pair, and when misaligned end on it too, \
         so that one pair has twice as much to do as the others. A request waits there as long as a run takes, which is why \
         that measurement falls short (its report warns by Little's law). Each `.json` here is what \
         `straddle bench --json` printed.\n\n"
    )
}

/// One workload at one offset.
struct Row {
    experiment: String,
    title: String,
    workload: String,
    offset: String,
    /// Operations for each request: expected, and counted.
    operations: (f64, f64),
    /// Requests each second: expected, and measured (mean, least, most).
    rate: (f64, [f64; 3]),
    /// Over the baseline: expected, and measured (estimate, low, high); not of the baseline itself.
    gain: Option<(f64, [f64; 3])>,
}

fn experiments(directory: &Path) -> Result<Vec<Row>> {
    let list = std::fs::read_to_string(directory.join("experiments"))?;
    let mut rows = Vec::new();
    for line in list.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[name, title, disks, copies] = fields.as_slice() else {
            anyhow::bail!("`{line}` has not four fields");
        };
        let text = std::fs::read_to_string(directory.join(format!("{name}.json")))?;
        let report: Value = serde_json::from_str(&text).context(name.to_owned())?;
        let (disks, copies) = (disks.parse()?, copies.parse()?);
        rows.extend(rows_of(&report, name, title, disks, copies).with_context(|| name.to_owned())?);
    }
    Ok(rows)
}

fn rows_of(report: &Value, name: &str, title: &str, disks: f64, copies: f64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let cells = list(&report["plan"]["cells"])?;
    for (cell, result) in cells.iter().zip(list(&report["cells"])?) {
        let size = number(&cell["sizes"][0]["bytes"])?;
        let reads = number(&cell["reads_percent"])? > 50.0;
        let direction = if reads { "read" } else { "write" };
        let mut base = 0.0;
        for (at, offset) in list(&result["offsets"])?.iter().enumerate() {
            let pieces = pieces(&report["setting"]["places"][at], size, direction)?;
            let mut counted = 0.0;
            for device in list(&offset["device_operations"])? {
                let named = device["device"].as_str().context("a device has no name")?;
                if named.starts_with("sd") {
                    counted += number(&device["reads"])? + number(&device["writes"])?;
                }
            }
            let start = number(&report["plan"]["offsets"][at]["bytes"])?;
            let unit = stripe_unit(&report["setting"]["places"][at]);
            let expected = 2.0 * DISK / (busiest(unit, disks / 2.0, size, start) * copies);
            if at == 0 {
                base = expected;
            }
            let gains = list(&result["gains"])?;
            let gain = gains.iter().find(|gain| gain["offset"] == at);
            let gain = gain.map(|gain| -> Result<_> {
                let ratio = &gain["ratio"];
                let measured = [&ratio["mean"], &ratio["low"], &ratio["high"]];
                Ok((expected / base, numbers(measured)?))
            });
            let rate = &offset[format!("{direction}s_per_second")];
            let range = [&offset["least_per_second"], &offset["most_per_second"]];
            rows.push(Row {
                experiment: name.to_owned(),
                title: title.to_owned(),
                workload: format!("{:.0} KiB {direction}s", size / 1024.0),
                offset: report["plan"]["offsets"][at]["name"]
                    .as_str()
                    .context("an offset has no name")?
                    .to_owned(),
                operations: (pieces * copies, counted),
                rate: (expected, numbers([rate, range[0], range[1]])?),
                gain: gain.transpose()?,
            });
        }
    }
    Ok(rows)
}

/// Pieces that a request of this size becomes on the stripe units below, as the report has it; one where there are none.
fn pieces(place: &Value, size: f64, direction: &str) -> Result<f64> {
    for standing in list(&place["standings"])? {
        if standing["role"] == "stripe-unit" {
            let prices = list(&standing["prices"])?;
            let price = prices.iter().find(|price| price["size"] == size);
            let price = price.context("a request size has no price")?;
            return number(&price[direction]["now"]["value"]);
        }
    }
    Ok(1.0)
}

fn stripe_unit(place: &Value) -> Option<f64> {
    let standings = place["standings"].as_array()?;
    let stripe = standings.iter().find(|one| one["role"] == "stripe-unit")?;
    stripe["unit"].as_f64()
}

/// Pieces of each request for the pair of disks that gets the most of them. A stripe is dealt out over the pairs in turn:
/// requests that are as long as a whole stripe all begin on the same pair, and when they are misaligned, end on it too.
fn busiest(unit: Option<f64>, pairs: f64, size: f64, start: f64) -> f64 {
    let Some(unit) = unit else { return 1.0 };
    // Whole periods of 2, 3 and 4 pairs with sizes that are powers of two.
    let places: u32 = 3 * 1024;
    let mut pieces: BTreeMap<u64, u32> = BTreeMap::new();
    for place in 0..places {
        let from = start + f64::from(place) * size;
        let mut chunk = (from / unit).floor();
        while chunk * unit < from + size {
            *pieces.entry((chunk % pairs).to_bits()).or_default() += 1;
            chunk += 1.0;
        }
    }
    f64::from(pieces.into_values().max().unwrap_or(places)) / f64::from(places)
}

fn table(rows: &[Row]) -> String {
    let mut out = "## Arrays\n".to_owned();
    let mut title = "";
    for row in rows {
        if row.title != title {
            title = &row.title;
            let _ = write!(
                out,
                "\n### {title}\n\n\
                 | requests | offset | operations: geometry | counted | requests/s: geometry | measured | gain: geometry | measured | off by |\n\
                 |---|---|---|---|---|---|---|---|---|\n"
            );
        }
        let [mean, least, most] = row.rate.1;
        let gain = row.gain.map_or_else(
            || "| – | – | – ".to_owned(),
            |(expected, [mean, low, high])| {
                format!(
                    "| {expected:.3} | {mean:.3} ({low:.3} to {high:.3}) | {:+.1}% ",
                    (mean / expected - 1.0) * 100.0
                )
            },
        );
        let _ = writeln!(
            out,
            "| {} | {} | {:.3} | {:.3} | {:.0} | {mean:.0} ({least:.0} to {most:.0}) {gain}|",
            row.workload, row.offset, row.operations.0, row.operations.1, row.rate.0
        );
    }
    let off = rows.iter().filter_map(|row| row.gain);
    let worst = off
        .map(|(expected, [mean, ..])| (mean / expected - 1.0).abs())
        .fold(0.0, f64::max);
    let _ = write!(
        out,
        "\nThe gain that is farthest from geometry is off by {:.1}%.\n\n",
        worst * 100.0
    );
    out
}

/// Whether two disks less, aligned, do what the larger array does misaligned.
fn six_and_eight(rows: &[Row]) -> Result<String> {
    let mut out = "## Six disks aligned, eight misaligned\n\n\
         | requests | 6 disks, 1M | 8 disks, unaligned | ratio | geometry |\n|---|---|---|---|---|\n"
        .to_owned();
    for (direction, size) in [
        ("reads", "64 KiB"),
        ("reads", "8 KiB"),
        ("writes", "64 KiB"),
        ("writes", "8 KiB"),
    ] {
        let workload = format!("{size} {direction}");
        let find = |experiment: String, offset: &str| {
            let row = rows.iter().find(|row| {
                row.experiment == experiment && row.workload == workload && row.offset == offset
            });
            row.map(|row| (row.rate.0, row.rate.1[0]))
                .with_context(|| format!("no {workload} in {experiment}"))
        };
        let six = find(format!("raid10-6-{direction}"), "1M")?;
        let eight = find(format!("raid10-8-{direction}"), "unaligned")?;
        let _ = writeln!(
            out,
            "| {workload} | {:.0}/s | {:.0}/s | {:.2} | {:.2} |",
            six.1,
            eight.1,
            six.1 / eight.1,
            six.0 / eight.0
        );
    }
    out.push('\n');
    Ok(out)
}

/// What fio and straddle said about one disk: series by outstanding requests and tool.
#[derive(Default)]
struct Accuracy {
    measured: BTreeMap<(u32, String), Measured>,
    /// Runs, and those in which as many requests were counted as the tool says that it made.
    runs: usize,
    alike: usize,
}

#[derive(Default)]
struct Measured {
    rate: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Accuracy {
    fn read(path: &Path) -> Result<Accuracy> {
        let mut out = Accuracy::default();
        for line in std::fs::read_to_string(path)?.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let &[tool, outstanding, _, rate, p50, p99, requests, counted] = fields.as_slice()
            else {
                anyhow::bail!("`{line}` has not eight fields");
            };
            let key = (outstanding.parse()?, tool.to_owned());
            let measured = out.measured.entry(key).or_default();
            measured.rate.push(rate.parse()?);
            measured.p50.push(p50.parse()?);
            measured.p99.push(p99.parse()?);
            out.runs += 1;
            out.alike += usize::from(requests == counted);
        }
        Ok(out)
    }

    fn said(&self, version: &str) -> String {
        let mut out = format!(
            "## One disk, beside {version}\n\n\
             Random reads of 4 KiB, 2 s, io_uring, in turn; medians of the rounds, in brackets the least and the most. *Spread* is \
             the standard deviation from round to round as a share of the mean. Of a disk that takes {DISK:.0} requests a second \
             one at a time, the truth with one outstanding is 5.556 ms. In {} of {} runs the tool says exactly as many requests \
             as /proc/diskstats counted.\n\n\
             | outstanding | tool | requests/s | × {DISK:.0} | × fio, each round | p50 in ms | spread | p99 in ms | spread |\n\
             |---|---|---|---|---|---|---|---|---|\n",
            self.alike, self.runs
        );
        for ((outstanding, tool), measured) in &self.measured {
            let series = |values: &[f64]| Series {
                name: String::new(),
                values: values.to_vec(),
            };
            let rate = series(&measured.rate);
            let fio = self.measured.get(&(*outstanding, "fio".to_owned()));
            let ratio = fio.map(|fio| rate.ratio(&series(&fio.rate)));
            let ratio = ratio.map_or_else(String::new, |ratio| spanned(&ratio, 1.0, 4));
            let _ = writeln!(
                out,
                "| {outstanding} | {tool} | {} | {:.4} | {ratio} | {} | {:.2}% | {} | {:.2}% |",
                spanned(&rate, 1.0, 1),
                rate.quartile(2) / DISK,
                spanned(&series(&measured.p50), 1e-3, 3),
                spread(&measured.p50) * 100.0,
                spanned(&series(&measured.p99), 1e-3, 3),
                spread(&measured.p99) * 100.0,
            );
        }
        out
    }
}

/// The median, and the least and the most.
fn spanned(series: &Series, scale: f64, digits: usize) -> String {
    let [least, median, most] = [0, 2, 4].map(|quarter| series.quartile(quarter) * scale);
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
}

/// Standard deviation as a share of the mean.
fn spread(values: &[f64]) -> f64 {
    let count = super::measure::as_f64(values.len());
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt() / mean
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("the report lacks a list")
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().context("the report lacks a number")
}

fn numbers(values: [&Value; 3]) -> Result<[f64; 3]> {
    let [a, b, c] = values.map(number);
    Ok([a?, b?, c?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_follows_from_disks_pieces_and_copies() {
        let report = serde_json::json!({
            "plan": {
                "cells": [{"sizes": [{"bytes": 65536, "weight": 1}], "reads_percent": 0}],
                "offsets": [{"name": "unaligned", "bytes": 32256}, {"name": "1M", "bytes": 1_048_576}],
            },
            "setting": {"places": [
                {"standings": [{"role": "stripe-unit", "unit": 65536, "prices": [{"size": 65536, "write": {"now": {"value": 2}}}]}]},
                {"standings": [{"role": "stripe-unit", "unit": 65536, "prices": [{"size": 65536, "write": {"now": {"value": 1}}}]}]},
            ]},
            "cells": [{
                "offsets": [
                    {"writes_per_second": 360.5, "least_per_second": 359, "most_per_second": 361, "device_operations": [
                        {"device": "md0", "reads": 0, "writes": 2},
                        {"device": "sda", "reads": 0, "writes": 2},
                        {"device": "sdb", "reads": 0, "writes": 2},
                    ]},
                    {"writes_per_second": 719, "least_per_second": 700, "most_per_second": 730, "device_operations": []},
                ],
                "gains": [{"offset": 1, "ratio": {"mean": 1.99, "low": 1.9, "high": 2.1}}],
            }],
        });
        let rows = rows_of(&report, "name", "title", 8.0, 2.0).expect("is read");
        let [unaligned, aligned] = rows.as_slice() else {
            panic!("{} rows", rows.len());
        };
        assert_eq!(unaligned.workload, "64 KiB writes");
        assert_eq!(unaligned.operations, (4.0, 4.0));
        assert_eq!(unaligned.rate, (360.0, [360.5, 359.0, 361.0]));
        assert_eq!(unaligned.gain, None);
        assert_eq!(aligned.gain, Some((2.0, [1.99, 1.9, 2.1])));
        assert!(rows_of(&Value::Null, "name", "title", 8.0, 2.0).is_err());
    }

    #[test]
    fn requests_of_a_whole_stripe_meet_on_one_pair() {
        let (small, large) = (Some(16_384.0), Some(65_536.0));
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(busiest(small, 4.0, 65_536.0, 0.0), 1.0);
        near(busiest(small, 4.0, 65_536.0, 32_256.0), 2.0);
        near(busiest(large, 4.0, 65_536.0, 32_256.0), 0.5);
        near(busiest(large, 3.0, 8_192.0, 32_256.0), 1.125 / 3.0);
        near(busiest(None, 1.0, 8_192.0, 32_256.0), 1.0);
    }

    #[test]
    fn the_spread_is_that_of_a_sample() {
        assert!((spread(&[9.0, 11.0]) - 2_f64.sqrt() / 10.0).abs() < 1e-12);
    }
}
