use std::io::Write;

use straddle::report::evidence::{Document, Evidence, Failure, csv, text};
use straddle::report::json;
use straddle::rules::Options;
use straddle::sources::Overrides;

use crate::args::{self, Format};
use crate::exit::{CLEAN, FAILED, FOUND};
use crate::output;

pub(crate) fn run(args: &args::evidence::Evidence) -> anyhow::Result<u8> {
    let options = Options {
        targets: args.targets(),
        spindles: args.spindles,
        ..Options::default()
    };
    let (evidence, failures) =
        straddle::evidence(&args.inputs, &args.before, Overrides::default(), options);
    if !args.quiet {
        print(args, &evidence, &failures)?;
    }
    for failure in &failures {
        output::error(&failure.error);
    }
    let worst = evidence
        .checked
        .findings
        .iter()
        .map(|finding| finding.severity)
        .max();
    Ok(
        match worst.is_some_and(|worst| args.fail_on.is_reached_by(worst)) {
            _ if !failures.is_empty() => FAILED,
            true => FOUND,
            false => CLEAN,
        },
    )
}

fn print(
    args: &args::evidence::Evidence,
    evidence: &Evidence,
    failures: &[Failure],
) -> anyhow::Result<()> {
    match if args.json { Format::Json } else { args.format } {
        Format::Text => output::print(&text::report(evidence, failures))?,
        Format::Json => output::print(&json::pretty(&Document::new(evidence, failures))?)?,
        Format::Csv => {
            let mut out = output::stdout();
            csv::write(evidence, &mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}
