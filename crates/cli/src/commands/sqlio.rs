use anyhow::Context;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use straddle::bench::compat::asks_for_help;
use straddle::bench::compat::sqlio::{Command, DEFAULT_SIZE, parse};
use straddle::geometry::Access;
use straddle::io::engine::Durability;
use straddle::report::compat::sqlio::{File, head, results};

use super::together::{self, Load, Opened, Wanted};
use crate::args::Sqlio;
use crate::exit::{CLEAN, FAILED};
use crate::output;

/// What `-?` prints.
const USAGE: &str = "sqlio [switches] [file…], as straddle takes it

  -kR, -kW   read, write                 -s30    seconds
  -frandom, -fsequential, -f64           order of blocks
  -b2        KB of a request             -t1     threads of each file
  -o8        requests of each thread     -LS     latencies
  -BN        no cache; -BH, -BS, -BY     -S0     blocks left out at the beginning
  -i64       rows of the table of -f64   -Fparam.txt  files: NAME THREADS MASK SIZE_IN_MB

Example: straddle sqlio -kR -s120 -frandom -o8 -b8 -LS testfile.dat
The page docs/compatibility.md says what each switch does, and what is refused.
To compare partition offsets: straddle bench DIRECTORY
";

pub(crate) fn run(args: &Sqlio) -> anyhow::Result<u8> {
    if asks_for_help(&args.arguments) {
        output::print(USAGE)?;
        return Ok(CLEAN);
    }
    let mut command = parse(&args.arguments)?;
    if let Some(name) = &command.parameter_file {
        let text = together::text_of(name).with_context(|| format!("reading {name}"))?;
        command = command.with_parameters(&text)?;
    }
    for remark in &command.remarks {
        output::remark(remark);
    }
    let stop = crate::interrupts::interrupts()?;
    let opened = open(&command, &stop)?;
    let done = measure(&command, &opened, &stop);
    // Also after an error the file is one of ours, and the next run is to know it.
    together::release(opened)?;
    done.map(|stopped| if stopped { FAILED } else { CLEAN })
}

fn open(command: &Command, stop: &AtomicBool) -> anyhow::Result<Vec<Opened>> {
    let writes = command.access == Access::Write;
    let default = DEFAULT_SIZE.max(command.least_size());
    let least = command.expands().then(|| command.least_size());
    together::open(
        command.files.iter().map(|file| Wanted {
            name: &file.name,
            size: file.size.or(least),
            default,
            writes,
        }),
        stop,
    )
}

/// True when a signal ended it early.
fn measure(command: &Command, opened: &[Opened], stop: &AtomicBool) -> anyhow::Result<bool> {
    let mut files = Vec::new();
    let mut loads = Vec::new();
    for (number, (file, opened)) in (1..).zip(command.files.iter().zip(opened)) {
        let size = file.size.unwrap_or(opened.size);
        files.push(File {
            name: &file.name,
            threads: file.threads,
            size,
            specified: file.size.is_some(),
            grown_from: opened.grown_from,
        });
        loads.push(Load {
            target: opened.target(
                command.buffering.is_direct(),
                command.access == Access::Write,
            )?,
            region: command.region(size)?,
            workload: command.workload(file.threads),
            seed: number,
        });
    }
    // Scripts and people see at once what is measured, as they did with SQLIO.
    output::print(&head(command, &files, env!("CARGO_PKG_VERSION")))?;
    std::io::stdout().flush()?;
    let durability = if command.buffering.is_write_through() {
        Durability::WriteThrough
    } else {
        Durability::Cached
    };
    let measured = together::run(loads, durability, Duration::ZERO, command.runs, || (), stop)?;
    output::print(&results(command, &measured.samples))?;
    Ok(measured.stopped)
}
