//! All tests, after installing what they need, and the quick ones of them.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Seek, SeekFrom, copy, stdout};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use straddle_testkit::shipped;

use crate::packages;
use crate::run::{cargo, output, path_of_tests, run};

/// The program whose guests run beside everything else.
const LAB: &str = "lab";

/// Programs of tests of the command: half of the time, of which most goes into other programs. They take turns with what is there once: loop devices, Wine.
const OF_THE_COMMAND: &[&str] = &["cli", "devices", "swaps"];

/// What the names of the command's tests have that need Wine.
const WINDOWS: &str = "windows";

/// Programs of tests that `--quick` leaves out, each with the reason.
const SLOW_PROGRAMS: &[(&str, &str)] = &[
    ("devices", "devices of this machine in every use"),
    (LAB, "guests with a kernel of their own"),
    ("swaps", "more than a thousand runs under a tracer"),
];

/// Tests that `--quick` leaves out.
struct Slow {
    package: &'static str,
    /// `--lib`, or the name of the program.
    program: &'static str,
    /// How their names begin.
    filter: &'static str,
    why: &'static str,
}

const fn slow(
    package: &'static str,
    program: &'static str,
    filter: &'static str,
    why: &'static str,
) -> Slow {
    Slow {
        package,
        program,
        filter,
        why,
    }
}

/// What takes longest, by times of single tests on a shared machine.
const SLOW: &[Slow] = &[
    slow(
        "straddle-predict",
        "--lib",
        "study::registry::studies::",
        "simulates every published experiment",
    ),
    slow(
        "straddle-predict",
        "tests",
        "convergence::",
        "runs of 16 times the usual length",
    ),
    slow(
        "straddle-bench",
        "tests",
        "coverage::",
        "thousands of simulated experiments",
    ),
    slow(
        "straddle-probe",
        "tests",
        "mutations::",
        "every seed damaged at every byte",
    ),
    slow(
        "straddle-probe",
        "tests",
        "real_tools_files::",
        "trees of thousands of files, in every filesystem",
    ),
    slow(
        "straddle-sources",
        "tests",
        "capture_secrets::",
        "a secret at every place that is read",
    ),
    slow(
        "straddle-sources",
        "tests",
        "hosts::every_single_file_may_be_missing_or_garbled",
        "every file of every host",
    ),
    slow(
        "straddle",
        "tests",
        "captured::damaged_captures_are_read_without_harm",
        "every capture, cut and changed",
    ),
    slow(
        "straddle",
        "tests",
        "lost_lines::",
        "every capture without each of its lines",
    ),
    slow(
        "straddle",
        "tests",
        "volumes::damaged_members_do_no_harm",
        "every seed of every volume format, damaged",
    ),
    slow(
        "straddle-cli",
        "cli",
        "windows",
        "hosts of Windows, for which the program is built once more",
    ),
    slow(
        "straddle-cli",
        "cli",
        "advice::every_script_of_commands_holds",
        "the commands of all rules' pages, with the real tools",
    ),
    slow(
        "straddle-cli",
        "cli",
        "bench_journals::",
        "journals of a hundred thousand runs",
    ),
    slow(
        "straddle-cli",
        "cli",
        "chains::",
        "chains of virtual disks, beside qemu-img",
    ),
    slow("straddle-cli", "cli", "collect_windows::", "Wine"),
    slow(
        "straddle-cli",
        "cli",
        "fix_formats::",
        "runs scripts on every filesystem, LUKS and pools",
    ),
    slow(
        "straddle-cli",
        "cli",
        "fix_images::a_partition_in_a_virtual_disk_is_moved_in_a_new_one",
        "moves data in every format of virtual disks",
    ),
    slow(
        "straddle-cli",
        "cli",
        "fix_in_use::",
        "a script in front of everything that may hold a device",
    ),
    slow(
        "straddle-cli",
        "cli",
        "fix_names::",
        "hostile names with every script",
    ),
    slow(
        "straddle-cli",
        "cli",
        "fix_partitions::",
        "moves partitions in every way, and kills the scripts",
    ),
    slow(
        "straddle-cli",
        "cli",
        "fix_prices::",
        "runs every script under a tracer",
    ),
    slow("straddle-cli", "cli", "fix_windows::", "Wine"),
    slow(
        "straddle-cli",
        "cli",
        "hostile_bytes::captured_text",
        "hostile bytes at every place of captured text",
    ),
    slow(
        "straddle-cli",
        "cli",
        "hostile_captures::",
        "folders of captures made to be slow, with a release build",
    ),
    slow(
        "straddle-cli",
        "cli",
        "oracles::",
        "a matrix of images beside sfdisk, parted and blkid",
    ),
    slow(
        "straddle-cli",
        "cli",
        "recognition::",
        "files of Debian by the thousand, with a release build",
    ),
    slow(
        "straddle-cli",
        "cli",
        "scale::",
        "captures of megabytes, with a release build",
    ),
    slow(
        "straddle-cli",
        "cli",
        "trace_memory::",
        "a hundred thousand devices, with a release build",
    ),
    slow(
        "straddle-cli",
        "cli",
        "syscalls::",
        "every command under a tracer",
    ),
];

/// Runs every test; `rest` goes to `cargo test`. What is more than `--no-fail-fast` asks for a part, and leaves out the module for
/// Python, which is none of it.
pub(crate) fn all(rest: &[&str]) -> Result<()> {
    if rest.iter().all(|word| *word == "--no-fail-fast") {
        everything(rest)
    } else {
        packages::for_tests()?;
        run(test().args(rest))
    }
}

/// Everything, in lanes beside each other: tests wait for a disk, a clock or another program, and the last of a program leaves processors idle.
fn everything(rest: &[&str]) -> Result<()> {
    packages::to_build_tests()?;
    let began = Instant::now();
    // Joining the parts of what is shipped takes one processor minutes, and tests of the command run it.
    let mut shipped = cargo();
    let program = std::path::absolute("target")?.join(shipped::build(&mut shipped));
    let shipped = Beside::start("the static binary", &mut shipped)?;
    // Packages of other languages come over a network meanwhile.
    std::thread::scope(|scope| {
        let packages = scope.spawn(packages::to_run_tests);
        run(test().arg("--no-run"))?;
        packages.join().expect("no panic")
    })?;
    println!("compiled: {} s", began.elapsed().as_secs());
    let of = |programs: &[&str]| {
        let mut lane = test();
        lane.args(rest);
        shipped::use_for_tests(&mut lane, &program);
        for program in programs {
            lane.args(["--test", program]);
        }
        lane
    };
    let mut python = Command::new(std::env::current_exe()?);
    python.args(["test", "--python"]);
    let python = Beside::start("the module for Python", &mut nicer(&python))?;
    let programs = programs()?;
    let small: Vec<&str> = programs
        .iter()
        .map(String::as_str)
        .filter(|name| *name != LAB && !OF_THE_COMMAND.contains(name))
        .collect();
    let mut small = of(&small);
    small.args(["--lib", "--bins"]);
    let small = Beside::start("tests of the crates", &mut nicer(&small))?;
    shipped.finish()?;
    // What runs under Wine begins with building a program and tests for Windows, each on one processor.
    let mut wine = of(&[OF_THE_COMMAND[0]]);
    wine.args(["--", WINDOWS]);
    let wine = Beside::start("the command under Windows", &mut nicer(&wine))?;
    // All else has what processors have left: guests that serve a load keep their time.
    let lab = Beside::start("the lab", &mut of(&[LAB]))?;
    let mut command = of(OF_THE_COMMAND);
    command.args(["--", "--skip", WINDOWS]);
    let command = run(&mut nicer(&command));
    let examples = run(test().args(rest).arg("--doc"));
    println!("\nthe command: {} s", began.elapsed().as_secs());
    // What they found is told in either case.
    let beside = [wine, small, python, lab].map(Beside::finish);
    let outcomes = [command, examples].into_iter().chain(beside);
    println!("all: {} s", began.elapsed().as_secs());
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|outcome| Some(format!("{:#}", outcome.err()?)))
        .collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("{}", failed.join("\n")),
    }
}

/// The same command, for what processors have left.
fn nicer(command: &Command) -> Command {
    let mut nice = Command::new("nice");
    nice.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    nice
}

/// A command that runs beside others; what it prints is shown when it has ended.
struct Beside {
    what: &'static str,
    child: Child,
    said: File,
}

impl Beside {
    fn start(what: &'static str, command: &mut Command) -> Result<Self> {
        let said = tempfile::tempfile()?;
        let child = command
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?)
            .spawn()
            .context("cannot run cargo")?;
        Ok(Self { what, child, said })
    }

    fn finish(mut self) -> Result<()> {
        let status = self.child.wait()?;
        self.said.seek(SeekFrom::Start(0))?;
        copy(&mut self.said, &mut stdout())?;
        if !status.success() {
            bail!("{} failed: {status}", self.what);
        }
        Ok(())
    }
}

impl Drop for Beside {
    /// Of one that was not waited for: what needed it has failed.
    fn drop(&mut self) {
        // One that has ended cannot be ended again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the tests that are quick, and says which were left out.
pub(crate) fn quick() -> Result<()> {
    packages::for_tests()?;
    let began = Instant::now();
    run(test().args(["--lib", "--bins", "--"]).args(skips(true)))?;
    let mut integration = test();
    for program in programs()?.iter().filter(|name| !is_slow(name)) {
        integration.args(["--test", program]);
    }
    run(integration.arg("--").args(skips(false)))?;
    println!(
        "\nquick: passed in {} s. Left out, which `cargo xtask test` runs too:",
        began.elapsed().as_secs()
    );
    for (program, why) in SLOW_PROGRAMS {
        println!("  cargo test -p straddle-cli --all-features --test {program}    # {why}");
    }
    for left in SLOW {
        let program = match left.program {
            "--lib" => "--lib".to_owned(),
            program => format!("--test {program}"),
        };
        let (package, filter) = (left.package, left.filter);
        println!(
            "  cargo test -p {package} --all-features {program} {filter}    # {}",
            left.why
        );
    }
    println!("  cargo xtask test --python    # builds the module for Python with maturin");
    println!("  cargo test --workspace --all-features --doc    # each is a program of its own");
    Ok(())
}

/// `cargo test` for everything, so that nothing is built twice.
fn test() -> Command {
    let mut cargo = cargo();
    cargo
        .args(["test", "--workspace", "--all-features"])
        .env("PATH", path_of_tests());
    // Many wait for a disk, a clock or another program: others run meanwhile.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        cargo.env("RUST_TEST_THREADS", (2 * processors).to_string());
    }
    cargo
}

/// Arguments that leave out what is slow among the tests of libraries, or of programs.
fn skips(libraries: bool) -> impl Iterator<Item = &'static str> {
    SLOW.iter()
        .filter(move |left| (left.program == "--lib") == libraries)
        .flat_map(|left| ["--skip", left.filter])
}

/// The programs of tests of all crates.
fn programs() -> Result<Vec<String>> {
    let metadata = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut names: Vec<String> = packages
        .iter()
        .flat_map(|package| package["targets"].as_array().into_iter().flatten())
        .filter(|target| target["kind"][0] == "test")
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn is_slow(program: &str) -> bool {
    SLOW_PROGRAMS.iter().any(|(slow, _)| *slow == program)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::repository;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }

    /// Whether each part of a filter is a module or a function of its crate.
    pub(crate) fn matches_a_test(package: &str, program: &str, filter: &str) -> bool {
        let name = package.trim_start_matches("straddle-");
        let folder = match program {
            "cli" | "devices" | "lab" | "swaps" => "tests".to_owned(),
            "--lib" => format!("crates/{name}/src"),
            _ => format!("crates/{name}/tests"),
        };
        let mut paths = Vec::new();
        sources(&repository().join(folder), &mut paths);
        let texts: Vec<String> = paths
            .iter()
            .map(|path| std::fs::read_to_string(path).expect("readable"))
            .collect();
        let mut parts = filter.split("::").filter(|part| !part.is_empty());
        parts.all(|part| {
            let is_there = [
                format!("mod {part};"),
                format!("mod {part} {{"),
                format!("fn {part}("),
            ];
            texts
                .iter()
                .any(|text| is_there.iter().any(|item| text.contains(item)))
        })
    }

    #[test]
    fn every_filter_still_matches_a_test() {
        for left in SLOW {
            assert!(
                matches_a_test(left.package, left.program, left.filter),
                "no test is called {}: take it from the list",
                left.filter
            );
        }
    }

    #[test]
    fn programs_that_are_slow_exist_and_are_left_out() {
        let manifest = repository().join("crates/cli/Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).expect("readable");
        let programs = programs().expect("metadata");
        for (slow, _) in SLOW_PROGRAMS {
            assert!(manifest.contains(&format!("name = \"{slow}\"\n")));
            assert!(programs.iter().any(|program| program == slow) && is_slow(slow));
        }
        for name in ["cli", "tests"] {
            assert!(programs.iter().any(|program| program == name) && !is_slow(name));
        }
    }
}
