use std::io::{self, Write};

use straddle::report::json;
use straddle::report::trace::{Document, Trace, csv, text};
use straddle::trace::{Asked, Options};

use crate::args::{self, Format};
use crate::exit::{CLEAN, FAILED};
use crate::output;

pub(crate) fn run(args: &args::trace::Trace) -> anyhow::Result<u8> {
    let mut options = Options {
        window: args
            .window
            .map(|window| u64::try_from(window.as_nanos()).unwrap_or(u64::MAX).max(1)),
        memory: usize::try_from(args.memory.get()).unwrap_or(usize::MAX),
        format: args.recorder.map(str::to_owned),
        columns: args.columns.clone(),
        ..Options::default()
    };
    if let Some(threads) = args.threads {
        options.threads = threads.into();
    }
    let trace = straddle::trace(&Asked {
        inputs: args.inputs.clone(),
        grids: args.units.clone(),
        stack: args.stack.clone(),
        layer: args.layer.clone(),
        overrides: args.geometry.overrides(),
        start: args.start,
        is_relative: args.relative,
        starts: args.offsets.clone(),
        only: args.device.clone(),
        devices: args.devices,
        options,
    })?;
    if !args.quiet {
        print(args, &trace)?;
    }
    for failure in &trace.failures {
        output::error(&failure.error);
    }
    let is_whole = all_read(args, &trace) && trace.failures.is_empty();
    Ok(if is_whole { CLEAN } else { FAILED })
}

/// Whether all files were read to their end and understood; what was not is said.
fn all_read(args: &args::trace::Trace, trace: &Trace) -> bool {
    let mut is_whole = true;
    for (file, summary) in trace.files.iter().zip(&trace.summaries) {
        let (bad, lines) = (summary.counts.bad, summary.counts.lines());
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let is_too_bad = bad > 0 && bad as f64 > args.max_bad * lines as f64;
        if is_too_bad {
            is_whole = false;
            output::error(&format!(
                "{}: {bad} of {lines} lines were not understood, more than --max-bad allows",
                file.name
            ));
        }
        if let Some(why) = &file.stopped {
            is_whole = false;
            output::error(&format!("{}: not read to its end: {why}", file.name));
        } else if summary.counts.requests == 0 {
            is_whole = false;
            output::error(&format!("{}: no request is in it", file.name));
        }
    }
    is_whole
}

fn print(args: &args::trace::Trace, trace: &Trace) -> anyhow::Result<()> {
    match if args.json { Format::Json } else { args.format } {
        Format::Text => output::print(&text(trace))?,
        Format::Json => {
            let mut out = output::document();
            json::write_pretty(&Document::new(trace), &mut out).map_err(io::Error::from)?;
            out.flush()?;
        }
        Format::Csv => {
            let mut out = output::stdout();
            csv(trace, &mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}
