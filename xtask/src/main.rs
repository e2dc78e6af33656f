//! Everything that is done to the repository. `cargo xtask` lists the tasks.

#[cfg(feature = "library")]
mod bench;
mod budgets;
mod dist;
#[cfg(feature = "library")]
mod docs;
mod lab;
mod layers;
mod packages;
mod python;
mod run;
#[cfg(feature = "library")]
mod soak;
mod test;

use anyhow::{Result, bail};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  test                 install what the tests need, then run all of them, the lab beside the rest
  test --quick         the same with those that take seconds, not minutes; says what it left out
  lab SCRIPT …         run a script under a kernel with md, device-mapper, scsi_debug and loop devices (lab --help)
  test --python [ARG …] build the module for Python and run its tests only; ARG goes to pytest
  layers [--all]       check which crate depends on which, and that no files import each other in circles that are large or
                       cross folders; --all: print the small ones too
  budgets              check package count, licences, binary size, file lengths
  docs [--check]       write docs/ from the rules and the command line; --check: fail when it is out of date
  docs --pictures      make pictures of reports for docs/ in a browser; those of the terminal are made by `docs`
  dist [--smoke]       build the static Linux and the Windows binary; --smoke: run both on an image and compare
  bench                measure check beside other tools, and archive the figures under benches/
  bench against PATH   the same with another build of straddle in the same rounds
  bench captures       measure the summary of ten thousand captures beside reading them, and archive the figures
  bench evidence [MIB] measure logs and counters of MIB each (256) beside wc, grep and pandas, and archive the figures
  bench tables         measure the analysis of long block tables beside a plain sum, and archive the figures
  bench engines [ROUNDS MILLISECONDS]
                       measure what a request costs beside fio, on nothing and on a device in memory (root), and archive it
  bench predict [ROUNDS [OTHER]]
                       measure how fast systems are simulated, and how much memory it takes, and archive the figures
  bench arrays [BLOCKS]
                       measure arrays of disks with a fixed service time beside geometry and fio, and archive it (8 minutes)
  bench realign [ROUNDS [MIB]]
                       measure the in-place move of an image beside an unsafe copy and sfdisk, and archive it
  bench history        measure the list of a hundred thousand runs beside Python's sqlite3, and archive the figures
  bench hosts          measure ten thousand captured hosts, and archives of a support tool, beside unpacking them, and archive the figures
  bench report         measure the report of a fleet of a hundred thousand, and how a browser opens it, and archive the figures
  bench trace [N]      read a trace of N million requests (50), as CSV and as Parquet, beside Polars, DuckDB, pyarrow and a loop that
                       checks nothing, and archive the figures
  bench spark [N]      count N million requests (50) with Spark by scan, by mapInArrow and in SQL, and archive the figures
  bench studies        simulate every published experiment, archive what came out, and write docs/studies.md from it
  soak                 list the named runs of what takes too long for every commit, with the result of the last one
  soak NAME [MINUTES]  make one of them, and archive what came of it in tests/soak/ (all: all of them; MINUTES of fuzzing)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(cargo) = std::env::var_os(run::CARGO_OF) {
        return python::as_cargo(&cargo, &args);
    }
    // A script's own exit status is the answer, and its path is relative to where the user is.
    if let ["lab", rest @ ..] = args.as_slice() {
        return lab(rest);
    }
    match task(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn lab(args: &[&str]) -> ExitCode {
    if let [] | ["help" | "--help" | "-h"] = args {
        print!("{}", lab::HELP);
        return ExitCode::SUCCESS;
    }
    match std::env::current_dir() {
        Ok(here) => lab::script(args, &here),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn task(args: &[&str]) -> Result<()> {
    std::env::set_current_dir(run::repository())?;
    match args {
        ["test", "--quick"] => test::quick(),
        ["test", "--python", rest @ ..] => {
            packages::for_python()?;
            python::test(rest)
        }
        ["test", rest @ ..] => test::all(rest),
        ["layers"] => layers::check(false),
        ["layers", "--all"] => layers::check(true),
        ["budgets"] => budgets::check(),
        ["dist"] => dist::build(false),
        ["dist", "--smoke"] => dist::build(true),
        ["bench" | "docs" | "soak", ..] => with_library(args),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => unknown(other),
    }
}

fn unknown(args: &[&str]) -> Result<()> {
    bail!("there is no task `{}`\n\n{HELP}", args.join(" "))
}

/// These tasks ask the library, which is built as the tests have it. `cargo run` cannot do that: built for this program alone it has other
/// features, and everything would be built once more.
#[cfg(not(feature = "library"))]
fn with_library(args: &[&str]) -> Result<()> {
    use std::os::unix::process::CommandExt;
    // Before another takes its place.
    let own = std::env::current_exe()?;
    run::run(run::as_tests_have_it().args(["--bin", "xtask"]))?;
    Err(std::process::Command::new(own).args(args).exec().into())
}

#[cfg(feature = "library")]
fn with_library(args: &[&str]) -> Result<()> {
    match args {
        ["bench"] => bench::check(None),
        ["bench", "against", other] => bench::check(Some(other)),
        ["bench", "tables"] => bench::tables(),
        ["bench", "captures"] => bench::captures(),
        ["bench", "hosts"] => bench::hosts(),
        ["bench", "evidence"] => bench::evidence(256).map(drop),
        ["bench", "evidence", mib] => bench::evidence(mib.parse()?).map(drop),
        ["bench", "engines"] => bench::engines(9, 1000),
        ["bench", "engines", rounds, time] => bench::engines(rounds.parse()?, time.parse()?),
        ["bench", "predict"] => bench::predict(5, None),
        ["bench", "predict", rounds] => bench::predict(rounds.parse()?, None),
        ["bench", "predict", rounds, other] => bench::predict(rounds.parse()?, Some(other)),
        ["bench", "arrays"] => bench::arrays(6),
        ["bench", "arrays", blocks] => bench::arrays(blocks.parse()?),
        ["bench", "realign"] => bench::realign(5, 4096),
        ["bench", "realign", rounds] => bench::realign(rounds.parse()?, 4096),
        ["bench", "realign", rounds, mib] => bench::realign(rounds.parse()?, mib.parse()?),
        ["bench", "history"] => bench::history(),
        ["bench", "report"] => bench::report(),
        ["bench", "trace"] => bench::trace(50),
        ["bench", "trace", millions] => bench::trace(millions.parse()?),
        ["bench", "spark"] => bench::spark(50),
        ["bench", "spark", millions] => bench::spark(millions.parse()?),
        ["bench", "studies"] => {
            bench::studies()?;
            docs::write()
        }
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["docs", "--pictures"] => docs::pictures(),
        ["soak"] => soak::list(),
        ["soak", name] => soak::run(name, None),
        ["soak", name, minutes] => soak::run(name, Some(minutes.parse()?)),
        other => unknown(other),
    }
}
