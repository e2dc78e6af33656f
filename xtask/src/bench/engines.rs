//! `cargo xtask bench engines`: what our load generator costs, beside fio's, on no device at all, on a loop device over
//! memory, on a file in memory and on one on a disk.
//!
//! Three ways to the same device: our runs with everything on (generator, latency histograms of both directions, counts for
//! each tenth of a second), fio, and *bare*: our engines driven by a loop that does nothing else, without clock, histogram
//! or generator. Debian has no `t/io_uring`, so bare is what "the best loop there is" means here.
//!
//! Processor time is of the whole process in the measured part (ours) or of its jobs (fio, `usr_cpu` and `sys_cpu`), divided
//! by its requests. It holds on a busy machine; IOPS there say only how the parts of a round compare.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::measure::Series;
use super::{Scratch, quietly};
use crate::run::{cargo, output, repository, run};

const DEPTHS: [u32; 6] = [1, 2, 4, 8, 32, 128];
/// The two ways to fio's io_uring; the faster of them is what others are compared with.
const FIO: [&str; 2] = ["fio --ioengine=io_uring", "the same, with all registered"];
const WORKERS: [u32; 2] = [1, 2];
const SIZE: u32 = 4096;
/// Length of the device in memory.
const DEVICE_MIB: u32 = 256;

/// Measures, and archives the figures under benches/. Needs root for the loop device.
pub(crate) fn engines(rounds: usize, milliseconds: u32) -> Result<()> {
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-bench",
        "--example",
        "one_run",
    ]))?;
    let version = output(Command::new("fio").arg("--version"))?;
    let bench = Bench {
        version: version.trim().to_owned(),
        one_run: repository().join("target/release/examples/one_run"),
        milliseconds,
    };
    let mut archive = Archive::new();
    for workers in WORKERS {
        for depth in DEPTHS {
            bench.null(depth, workers, rounds, &mut archive)?;
        }
    }
    let memory = Memory::new()?;
    let file = Scratch::at(&repository().join("target"))?;
    let (inside, outside) = (memory.scratch.0.join("memory/file"), file.0.join("file"));
    fill(&inside)?;
    fill(&outside)?;
    let (inside, outside) = (inside.to_string_lossy(), outside.to_string_lossy());
    let targets: [(&str, &str); 3] = [
        ("Loop device over memory", &memory.device),
        ("File in memory", &inside),
        ("File on a disk", &outside),
    ];
    for (name, target) in targets {
        for workers in WORKERS {
            for depth in DEPTHS {
                bench.target(name, target, depth, workers, rounds, &mut archive)?;
            }
        }
    }
    drop(memory);
    archive.write(
        "engines",
        &format!("cargo xtask bench engines {rounds} {milliseconds}"),
    )
}

/// What one measurement came to.
#[derive(Clone, Copy, Debug)]
struct Figures {
    per_second: f64,
    /// Nanoseconds of processor time for each request.
    processor: f64,
    /// Median and 99th percentile of latency in µs, where it was measured.
    latency: Option<(f64, f64)>,
}

/// Who measures, and how.
enum Way<'a> {
    /// `run` or `bare`, and the engine.
    Ours(&'a str, &'a str),
    /// The engine and further options; `psync` takes a job for each outstanding request.
    Fio(&'a str, &'a [&'a str]),
}

struct Bench {
    /// Of fio.
    version: String,
    one_run: PathBuf,
    milliseconds: u32,
}

impl Bench {
    fn null(&self, depth: u32, workers: u32, rounds: usize, archive: &mut Archive) -> Result<()> {
        let lean = [
            "--gtod_reduce=1",
            "--norandommap",
            "--randrepeat=0",
            "--random_generator=tausworthe64",
        ];
        let ways = [
            (
                "straddle, full latency histograms",
                Way::Ours("run", "null"),
            ),
            ("fio --ioengine=null", Way::Fio("null", &[])),
            (
                "the same, leanest settings: no latency, no random map",
                Way::Fio("null", &lean),
            ),
            ("bare loop on our null engine", Way::Ours("bare", "null")),
        ];
        let title = format!("No device, {}", said(depth, workers));
        self.compare(&title, "null", &ways, (depth, workers, rounds), archive)
    }

    fn target(
        &self,
        name: &str,
        target: &str,
        depth: u32,
        workers: u32,
        rounds: usize,
        archive: &mut Archive,
    ) -> Result<()> {
        let registered = ["--fixedbufs", "--registerfiles", "--nonvectored=1"];
        let ways = [
            (FIO[0], Way::Fio("io_uring", &[])),
            (FIO[1], Way::Fio("io_uring", &registered)),
            ("straddle, io_uring", Way::Ours("run", "io_uring")),
            (
                "bare loop on our io_uring engine",
                Way::Ours("bare", "io_uring"),
            ),
            ("bare loop on our pread engine", Way::Ours("bare", "pread")),
            ("straddle, pread", Way::Ours("run", "pread")),
            ("fio --ioengine=psync", Way::Fio("psync", &[])),
        ];
        let title = format!("{name}, {}", said(depth, workers));
        self.compare(&title, target, &ways, (depth, workers, rounds), archive)
    }

    fn compare(
        &self,
        title: &str,
        target: &str,
        ways: &[(&str, Way<'_>)],
        (depth, workers, rounds): (u32, u32, usize),
        archive: &mut Archive,
    ) -> Result<()> {
        let series = || -> Vec<Series> { ways.iter().map(|(name, _)| Series::new(name)).collect() };
        let (mut processor, mut rate, mut median, mut late) =
            (series(), series(), series(), series());
        for _ in 0..rounds {
            for (at, (_, way)) in ways.iter().enumerate() {
                let figures = self.measure(way, target, depth, workers)?;
                let note = |series: &mut Vec<Series>, figure| {
                    if let Some(one) = series.get_mut(at) {
                        one.push(figure);
                    }
                };
                note(&mut processor, figures.processor);
                note(&mut rate, figures.per_second / 1e3);
                if let Some((p50, p99)) = figures.latency {
                    note(&mut median, p50);
                    note(&mut late, p99);
                }
            }
        }
        let commands = ways.iter().map(|(name, way)| {
            let command = self.command(way, target, depth, workers);
            format!("- {name}: `{}`", words(&command))
        });
        let note = format!(
            "random reads of 4 KiB, {} ms for each measurement, {rounds} rounds, all of this table in turn; {}",
            self.milliseconds, self.version
        );
        // The faster of fio's ways is the first row, which the others are compared with.
        let best = |one: &Series, other: &Series| one.quartile(2).total_cmp(&other.quartile(2));
        let mut fio = rate.iter().filter(|one| FIO.contains(&&*one.name));
        if let Some(best) = fio.by_ref().max_by(|one, other| best(one, other)) {
            let best = best.name.clone();
            for all in [&mut processor, &mut rate, &mut median, &mut late] {
                all.sort_by_key(|one| one.name != best);
            }
        }
        archive.text(&commands.collect::<Vec<_>>().join("\n"));
        archive.section(
            &format!("{title}: processor time a request"),
            "ns",
            &note,
            &processor,
        );
        archive.section(&format!("{title}: requests"), "1,000/s", &note, &rate);
        if target != "null" {
            let measured = |series: Vec<Series>| -> Vec<Series> {
                series
                    .into_iter()
                    .filter(|one| !one.values.is_empty())
                    .collect()
            };
            archive.section(
                &format!("{title}: median latency"),
                "µs",
                &note,
                &measured(median),
            );
            archive.section(
                &format!("{title}: 99th percentile of latency"),
                "µs",
                &note,
                &measured(late),
            );
        }
        Ok(())
    }

    fn measure(&self, way: &Way<'_>, target: &str, depth: u32, workers: u32) -> Result<Figures> {
        let mut command = self.command(way, target, depth, workers);
        match way {
            Way::Ours(..) => ours(&mut command),
            Way::Fio(..) => fio(&mut command),
        }
    }

    fn command(&self, way: &Way<'_>, target: &str, depth: u32, workers: u32) -> Command {
        let (engine, options) = match way {
            Way::Fio(engine, options) => (*engine, *options),
            Way::Ours(how, engine) => {
                let mut command = Command::new(&self.one_run);
                command.args([
                    how,
                    target,
                    engine,
                    &workers.to_string(),
                    &depth.to_string(),
                    &SIZE.to_string(),
                    &self.milliseconds.to_string(),
                ]);
                return command;
            }
        };
        // An engine that blocks has one request under way in each job.
        let (jobs, depth) = if engine == "psync" {
            (workers * depth, 1)
        } else {
            (workers, depth)
        };
        let mut command = Command::new("fio");
        command.args([
            "--name=engines",
            "--rw=randread",
            "--bs=4k",
            "--time_based",
            "--thread",
            "--lat_percentiles=1",
            "--output-format=json",
        ]);
        command.args([
            format!("--ioengine={engine}"),
            format!("--iodepth={depth}"),
            format!("--numjobs={jobs}"),
            format!("--runtime={}ms", self.milliseconds),
            format!("--size={DEVICE_MIB}M"),
        ]);
        if target != "null" {
            command.args([
                "--direct=1",
                "--ramp_time=100ms",
                &format!("--filename={target}"),
            ]);
        }
        command.args(options);
        command
    }
}

fn ours(command: &mut Command) -> Result<Figures> {
    let said = output(command)?;
    let field = |name: &str| -> Option<f64> {
        let line = said.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let known = |name: &str| field(name).with_context(|| format!("no `{name}` in: {said}"));
    let requests = known("requests")?;
    Ok(Figures {
        per_second: requests / known("wall")? * 1e9,
        processor: known("processor")? / requests,
        latency: field("p50")
            .zip(field("p99"))
            .map(|(a, b)| (a / 1e3, b / 1e3)),
    })
}

fn fio(command: &mut Command) -> Result<Figures> {
    let said = output(command)?;
    let from = said.find('{').context("fio printed no JSON")?;
    let json: serde_json::Value = serde_json::from_str(said.get(from..).unwrap_or_default())?;
    let jobs = json["jobs"].as_array().context("fio printed no jobs")?;
    let (mut requests, mut per_second, mut processor) = (0.0, 0.0, 0.0);
    let mut latencies = Vec::new();
    for job in jobs {
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
        let read = &job["read"];
        if number(&job["error"]) != 0.0 {
            bail!("fio: error {} of a job", job["error"]);
        }
        requests += number(&read["total_ios"]);
        per_second += number(&read["iops"]);
        let share = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
        processor += share * number(&job["job_runtime"]) * 1e6;
        let at = |percentile: &str| read["lat_ns"]["percentile"][percentile].as_f64();
        latencies.extend(at("50.000000").zip(at("99.000000")));
    }
    // Jobs are alike, so the mean of their percentiles is near that of all together.
    let count = super::measure::as_f64(latencies.len());
    let sum = latencies
        .iter()
        .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Ok(Figures {
        per_second,
        processor: processor / requests,
        latency: (!latencies.is_empty()).then(|| (sum.0 / count / 1e3, sum.1 / count / 1e3)),
    })
}

/// A command as one types it.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    // From where the repository is.
    let root = format!("{}/", repository().display());
    words.join(" ").replace(&root, "")
}

fn said(depth: u32, workers: u32) -> String {
    let workers = if workers == 1 {
        "one worker".to_owned()
    } else {
        format!("{workers} workers")
    };
    format!("{workers}, {depth} outstanding each")
}

/// A loop device over a file in memory, past the page cache.
struct Memory {
    device: String,
    scratch: Scratch,
}

impl Memory {
    fn new() -> Result<Memory> {
        let scratch = Scratch::new()?;
        let mount = scratch.0.join("memory");
        std::fs::create_dir(&mount)?;
        let mut memory = Memory {
            device: String::new(),
            scratch,
        };
        // The disk of the loop device and a file beside it.
        let size = format!("size={}m", 2 * DEVICE_MIB + 8);
        let at = mount.to_string_lossy();
        quietly(&["mount", "-t", "tmpfs", "-o", &size, "straddle-bench", &at])
            .context("the device in memory needs root")?;
        let file = mount.join("disk");
        fill(&file)?;
        let said = output(
            Command::new("losetup")
                .args(["--find", "--show", "--direct-io=on"])
                .arg(&file),
        )?;
        said.trim().clone_into(&mut memory.device);
        Ok(memory)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            let _ = quietly(&["losetup", "--detach", &self.device]);
        }
        let mount = self.scratch.0.join("memory");
        // A loop device is let go of a moment after it was asked to be.
        for _ in 0..50 {
            if quietly(&["umount", &mount.to_string_lossy()]).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

fn fill(path: &Path) -> Result<()> {
    quietly(&[
        "dd",
        "if=/dev/urandom",
        &format!("of={}", path.display()),
        "bs=1M",
        &format!("count={DEVICE_MIB}"),
        "status=none",
    ])
}
