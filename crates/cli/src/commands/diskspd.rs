use anyhow::{Context as _, bail};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};
use straddle::bench::compat::asks_for_help;
use straddle::bench::compat::diskspd::{Command, parse, parse_profile, profile};
use straddle::bench::target::data_length;
use straddle::geometry::Bytes;
use straddle::io::engine::Durability;
use straddle::report::compat::diskspd::{Processor, Row, Run, report};
use straddle::workload::Percent;

use super::together::{self, Load, Opened, Wanted};
use crate::args::Diskspd;
use crate::exit::{CLEAN, FAILED};
use crate::output;

/// What `-?` prints.
const USAGE: &str = "diskspd [switches] file…, as straddle takes it

  -b64K   length of a request            -w30    percent that write
  -o2     requests of each thread        -t1     threads of each file
  -r      random; -s, -si in order       -d10    seconds; -W5 warm-up
  -c1G    make the file with that size   -L      latencies
  -Su -Sw -Sh -h   no cache, durable writes, both
  -B32256 first byte: how alignment is tested
  -Zr     random data                    -z7     seed
  -Rtext, -Rxml    the report            -Xprofile.xml  all of this as XML

Example: straddle diskspd -c1G -b8K -d30 -o4 -t8 -Sh -r -w25 -L iotest.dat
The page docs/compatibility.md says what each switch does, and what is refused.
To compare partition offsets: straddle bench DIRECTORY
";

pub(crate) fn run(args: &Diskspd) -> anyhow::Result<u8> {
    if asks_for_help(&args.arguments) {
        output::print(USAGE)?;
        return Ok(CLEAN);
    }
    let command = match profile(&args.arguments) {
        Some(file) => {
            let text = together::text_of(file).with_context(|| format!("reading {file}"))?;
            parse_profile(&args.arguments, &text)?
        }
        None => parse(&args.arguments)?,
    };
    for remark in &command.remarks {
        output::remark(remark);
    }
    let stop = crate::interrupts::interrupts()?;
    let opened = open(&command, &stop)?;
    let done = measure(args, &command, &opened, &stop);
    // Also after an error the file is one of ours, and the next run is to know it.
    together::release(opened)?;
    done.map(|stopped| if stopped { FAILED } else { CLEAN })
}

fn open(command: &Command, stop: &AtomicBool) -> anyhow::Result<Vec<Opened>> {
    let writes = command.writes != Percent::NONE;
    for target in &command.targets {
        if command.create.is_none() && !std::path::Path::new(target).exists() {
            bail!("{target} does not exist; diskspd makes a file only with -c and its size");
        }
    }
    let targets = command.targets.iter();
    let opened = together::open(
        targets.map(|target| Wanted {
            name: target,
            size: command.create,
            default: Bytes::ZERO,
            writes,
        }),
        stop,
    );
    match &opened {
        Ok(files) => {
            for (target, file) in command.targets.iter().zip(files) {
                if let Some(size) = command.create.filter(|size| *size < file.size) {
                    output::remark(&format!(
                        "{target} has {} and keeps them; its first {size} are used, as -c says (diskspd re-creates a file of another length)",
                        file.size
                    ));
                }
            }
            opened
        }
        Err(_) => opened.map_err(|error| other_length(command, error)),
    }
}

/// Says what `-c` has to do with a file that is there and cannot be had.
fn other_length(command: &Command, error: anyhow::Error) -> anyhow::Error {
    let mut lengths = command.targets.iter().filter_map(|target| {
        let found = data_length(std::path::Path::new(target))?;
        let wanted = command.create.filter(|wanted| *wanted != found)?;
        Some((target, found, wanted))
    });
    match lengths.next_back() {
        Some((target, found, wanted)) => anyhow::anyhow!(
            "{}; with -c diskspd re-creates a file of another length, and {target} has {found} instead of {wanted}: leave -c out to read it as it is",
            output::chain(&error)
        ),
        None => error,
    }
}

/// True when a signal ended it early.
fn measure(
    args: &Diskspd,
    command: &Command,
    opened: &[Opened],
    stop: &AtomicBool,
) -> anyhow::Result<bool> {
    let (threads, workload) = command.workload();
    let seed = command.seed.unwrap_or_else(seed_of_now);
    let mut loads = Vec::new();
    let mut rows = Vec::new();
    for (target, file) in command.targets.iter().zip(opened) {
        let size = command.create.unwrap_or(file.size);
        for _ in 0..threads {
            let thread = u32::try_from(loads.len()).unwrap_or(u32::MAX);
            loads.push(Load {
                target: file.target(command.direct, command.writes != Percent::NONE)?,
                region: command.region(size)?,
                workload: workload.clone(),
                seed: u64::from(seed) << 32 | u64::from(thread),
            });
            rows.push((thread, target.as_str(), size));
        }
    }
    let durability = if command.write_through {
        Durability::WriteThrough
    } else {
        Durability::Cached
    };
    let began = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let measured = together::run(
        loads,
        durability,
        command.warm_up,
        command.runs,
        processors,
        stop,
    )?;
    let processors = measured
        .seen
        .map_or_else(Vec::new, |[before, after]| between(&before, &after));
    let rows = rows.into_iter().zip(measured.samples);
    let text = report(&Run {
        line: &line(&args.arguments),
        command,
        seed,
        host: &host(),
        began,
        version: env!("CARGO_PKG_VERSION"),
        processors,
        rows: rows
            .map(|((thread, path, size), sample)| Row {
                thread,
                path,
                size,
                sample,
            })
            .collect(),
    });
    output::print(&text)?;
    Ok(measured.stopped)
}

/// The command line as diskspd would have seen it.
fn line(arguments: &[String]) -> String {
    let mut line = "diskspd".to_owned();
    for argument in arguments {
        line.push(' ');
        if argument.contains(char::is_whitespace) {
            line.push_str(&format!("\"{argument}\""));
        } else {
            line.push_str(argument);
        }
    }
    line
}

fn seed_of_now() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.subsec_nanos())
}

fn host() -> String {
    let linux = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = linux.or_else(|| std::env::var("COMPUTERNAME").ok());
    name.map_or_else(|| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// Each processor's time so far, as far as the system tells.
fn processors() -> Vec<Processor> {
    let known = told();
    if known.is_empty() {
        let number = std::thread::available_parallelism().map_or(1, usize::from);
        return vec![Processor::default(); number];
    }
    known
}

#[cfg(windows)]
fn told() -> Vec<Processor> {
    let told = straddle::io::windows::processor_times().unwrap_or_default();
    let of_one = |times: straddle::io::windows::ProcessorTimes| Processor {
        user: times.user,
        kernel: times.kernel,
        idle: times.idle,
    };
    told.into_iter().map(of_one).collect()
}

#[cfg(not(windows))]
fn told() -> Vec<Processor> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter_map(processor).collect()
}

/// `/proc/stat` counts hundredths of a second: user, nice, system, idle, iowait, irq, softirq, steal
/// (proc_stat(5)).
#[cfg(any(test, not(windows)))]
fn processor(line: &str) -> Option<Processor> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    words.next()?.parse::<u32>().ok()?;
    let mut ticks = [0_u64; 8];
    for (tick, word) in ticks.iter_mut().zip(words) {
        *tick = word.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let time = |ticks: u64| std::time::Duration::from_millis(ticks.saturating_mul(10));
    Some(Processor {
        user: time(user.saturating_add(nice)),
        kernel: time([system, irq, softirq, steal].iter().sum()),
        idle: time(idle.saturating_add(iowait)),
    })
}

fn between(before: &[Processor], after: &[Processor]) -> Vec<Processor> {
    let pairs = before.iter().zip(after);
    pairs
        .map(|(before, after)| Processor {
            user: after.user.saturating_sub(before.user),
            kernel: after.kernel.saturating_sub(before.kernel),
            idle: after.idle.saturating_sub(before.idle),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counts_are_read() {
        let found = processor("cpu3 100 20 30 400 50 6 7 8 9 10");
        let time = std::time::Duration::from_millis;
        let expected = Processor {
            user: time(1200),
            kernel: time(510),
            idle: time(4500),
        };
        assert_eq!(found, Some(expected));
        assert_eq!(processor("cpu  100 20 30 400"), None);
        assert_eq!(processor("intr 1 2 3"), None);
        let later = Processor {
            user: time(1300),
            ..expected
        };
        assert_eq!(between(&[expected], &[later])[0].user, time(100));
    }

    #[test]
    fn names_with_blanks_are_quoted() {
        let words = ["-b8K".to_owned(), "a b.dat".to_owned()];
        assert_eq!(line(&words), "diskspd -b8K \"a b.dat\"");
    }
}
