//! The `straddle` command: parses arguments, asks the library, prints what it says.

mod args;
mod commands;
mod exit;
mod interrupts;
mod output;
mod settings;

use clap::Parser;
use std::process::ExitCode;
use straddle::report::escape::terminal;

use exit::{CLEAN, FAILED};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Some(cli) = parsed() else {
        return ExitCode::from(FAILED);
    };
    let Some(command) = cli.command else {
        // Nothing was done: to standard error, as for any command line that lacks something.
        output::aside(args::GUIDE.trim_end());
        return ExitCode::from(FAILED);
    };
    let result = match command {
        args::Command::Check(args) => commands::check::run(&args),
        args::Command::Bench(args) => commands::bench::run(&args),
        args::Command::Predict(args) => commands::predict::run(&args),
        args::Command::Fix(args) => commands::fix::run(&args),
        args::Command::Realign(args) => commands::realign::run(&args),
        args::Command::Evidence(args) => commands::evidence::run(&args),
        args::Command::Trace(args) => commands::trace::run(&args),
        args::Command::Profile(args) => commands::profile::run(&args),
        args::Command::Study(args) => commands::study::run(&args),
        args::Command::Report(args) => commands::report::run(&args),
        args::Command::History(args) => commands::history::run(&args),
        args::Command::Compare(args) => commands::history::compare(&args),
        args::Command::Baseline(args) => commands::history::baseline(&args),
        args::Command::Serve(args) => commands::serve::run(&args),
        args::Command::Explain(args) => commands::explain::run(&args),
        args::Command::Capture(args) => commands::capture::run(&args),
        args::Command::Sqlio(args) => commands::sqlio::run(&args),
        args::Command::Diskspd(args) => commands::diskspd::run(&args),
        args::Command::Schema(args) => commands::schema::run(&args),
        args::Command::Completions(args) => commands::shell::completions(&args),
        args::Command::Man(args) => commands::shell::man(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // A reader that has seen enough (`straddle check | head`) is no failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::from(CLEAN),
        Err(error) => {
            output::failure(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// The command line; `None` when the error was said. What clap says of a wrong one quotes its words: it is made from words in
/// which nothing is left that a terminal would obey.
fn parsed() -> Option<args::Cli> {
    if let Some(check) = args::Check::alone() {
        let command = Some(args::Command::Check(check));
        return Some(args::Cli { command });
    }
    let error = match args::Cli::try_parse() {
        Ok(cli) => return Some(cli),
        Err(error) => error,
    };
    let words = std::env::args_os().map(|word| terminal(&word.to_string_lossy()).into_owned());
    let words: Vec<String> = words.collect();
    match args::Cli::try_parse_from(&words) {
        Err(harmless) => {
            args::foreign::explained(harmless, words.get(1..).unwrap_or_default()).exit()
        }
        // Wrong only with the characters that were replaced.
        Ok(_) => {
            let text = error.render().to_string();
            output::error(text.trim_start_matches("error: ").trim_end());
            None
        }
    }
}
