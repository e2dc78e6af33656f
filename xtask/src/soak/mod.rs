//! Named runs of what takes too long for every commit, and the archive of the last run of each.

mod fuzz;
mod tests;

use anyhow::{Result, bail};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::bench;
use crate::run::output;
use fuzz::Group;
pub(crate) use fuzz::targets;
use tests::Test;

/// Where the last runs are kept.
const ARCHIVE: &str = "tests/soak";

/// A run.
struct Soak {
    name: &'static str,
    what: &'static str,
    how: How,
}

/// How a run is made.
enum How {
    /// Targets of a group, so many minutes in total unless said otherwise.
    Fuzz(Group, u64),
    /// The long form of tests.
    Test(Test),
    /// Logs and counters of so many MiB each.
    Evidence(usize),
}

/// What a run came to.
struct Outcome {
    /// In Markdown.
    report: String,
    /// What went wrong, if anything.
    failure: Option<String>,
}

/// All runs, in the order in which `all` makes them.
const SOAKS: &[Soak] = &[
    Soak {
        name: "swaps",
        what: "every kind of swap of test file or journal at every stop of bench, sqlio and diskspd",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "swaps",
            filter: "",
        }),
    },
    Soak {
        name: "in-use",
        what: "every way to be in use with every script of fix",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "fix_in_use:: fix_formats::pools::a_pool_whose_member_is_in_use_is_left_alone",
        }),
    },
    Soak {
        name: "moves",
        what: "partitions moved in every way, and scripts killed at every call that moves data",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "fix_partitions::",
        }),
    },
    Soak {
        name: "hostile",
        what: "every hostile capture, and hostile bytes in every line of every capture",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "hostile_captures:: hostile_bytes::",
        }),
    },
    Soak {
        name: "damaged",
        what: "every capture cut, changed and without each of its lines; members of volumes damaged often",
        how: How::Test(Test {
            package: "straddle",
            program: "tests",
            filter: "captured:: lost_lines:: volumes::",
        }),
    },
    Soak {
        name: "filesystems",
        what: "filesystems with files in them, by whatever name, and every chain of virtual disks",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "fix_formats:: fix_images:: chains::",
        }),
    },
    Soak {
        name: "oracles",
        what: "every partitioner, start and filesystem beside the tools that own them",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "oracles::",
        }),
    },
    Soak {
        name: "names",
        what: "every hostile name with every script of fix that runs here",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "fix_names::",
        }),
    },
    Soak {
        name: "pages",
        what: "accessibility of every page of reports and of the server, at every width and in both schemes of colours",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "pages:: serve::the_page_is_what_it_says_in_a_browser",
        }),
    },
    Soak {
        name: "lab",
        what: "cases under a kernel with arrays and device-mapper that take too long for every commit",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "lab",
            filter: "every_case_holds",
        }),
    },
    Soak {
        name: "scale",
        what: "every capture at 1 MB and 4 MB: instructions, seconds, length of the report",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "scale::",
        }),
    },
    Soak {
        name: "recognition",
        what: "all files below /usr, none of which may be taken for a disk or a host",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "recognition::",
        }),
    },
    Soak {
        name: "secrets",
        what: "captures of a host with a secret at every place that a reader touches",
        how: How::Test(Test {
            package: "straddle-sources",
            program: "tests",
            filter: "capture_secrets::",
        }),
    },
    Soak {
        name: "convergence",
        what: "every profile in five levels, with a write-back cache and without: gains from 1, 4 and 16 times as many requests",
        how: How::Test(Test {
            package: "straddle-predict",
            program: "tests",
            filter: "convergence::",
        }),
    },
    Soak {
        name: "directories",
        what: "every name of directories with thousands of them",
        how: How::Test(Test {
            package: "straddle-probe",
            program: "tests",
            filter: "real_tools_files::",
        }),
    },
    Soak {
        name: "virtual-disks",
        what: "VMDK of a tebibyte in every form, beside qemu-img",
        how: How::Test(Test {
            package: "straddle-probe",
            program: "tests",
            filter: "real_tools_vmdk_vdi::",
        }),
    },
    Soak {
        name: "logs-long",
        what: "every capture of a log behind a mebibyte of blank lines",
        how: How::Test(Test {
            package: "straddle-evidence",
            program: "tests",
            filter: "corpus::",
        }),
    },
    Soak {
        name: "controls",
        what: "every arrangement of which it is known whether anything can be gained",
        how: How::Test(Test {
            package: "straddle-predict",
            program: "tests",
            filter: "controls::",
        }),
    },
    Soak {
        name: "power",
        what: "moves stopped at every write and flush, in all that a loss of power can leave",
        how: How::Test(Test {
            package: "straddle-realign",
            program: "tests",
            filter: "crash::",
        }),
    },
    Soak {
        name: "kill",
        what: "moves of a real file killed at 500 instants, resumed and rolled back",
        how: How::Test(Test {
            package: "straddle-realign",
            program: "tests",
            filter: "kill::",
        }),
    },
    Soak {
        name: "realign",
        what: "disks made at random, moved in every container and read by the tools that own their formats; 500 kills",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "realign::",
        }),
    },
    Soak {
        name: "tables",
        what: "every field of the partition tables of the fuzzer's corpus changed, and every partition moved by what is left",
        how: How::Test(Test {
            package: "straddle-realign",
            program: "tests",
            filter: "corpora::",
        }),
    },
    Soak {
        name: "containers",
        what: "virtual disks in place, whatever write is lost; damaged tables; rows of bytes as a model",
        how: How::Test(Test {
            package: "straddle-realign",
            program: "tests",
            filter: "containers::",
        }),
    },
    Soak {
        name: "windows",
        what: "answers of Windows cut and changed at every byte",
        how: How::Test(Test {
            package: "straddle-sources",
            program: "tests",
            filter: "windows::damaged::",
        }),
    },
    Soak {
        name: "evidence",
        what: "logs and counters of 2 GiB each beside wc, grep and pandas, and the memory that they take",
        how: How::Evidence(2048),
    },
    Soak {
        name: "traces",
        what: "50 million requests counted by straddle and in SQL",
        how: How::Test(Test {
            package: "straddle-cli",
            program: "cli",
            filter: "trace::counts_are_those_of_sql",
        }),
    },
    Soak {
        name: "traces-damaged",
        what: "recorded requests cut, mixed and damaged at random, read in blocks of any size",
        how: How::Test(Test {
            package: "straddle-trace",
            program: "tests",
            filter: "mixtures:: damage::",
        }),
    },
    Soak {
        name: "fuzz-bench",
        what: "fuzzes journals, of measurements and of moves, and other tools' command lines",
        how: How::Fuzz(Group::Bench, 8),
    },
    Soak {
        name: "fuzz-captured",
        what: "fuzzes the readers of captured text",
        how: How::Fuzz(Group::Captured, 60),
    },
    Soak {
        name: "fuzz-containers",
        what: "fuzzes virtual disks and what is in them",
        how: How::Fuzz(Group::Containers, 30),
    },
    Soak {
        name: "fuzz-formats",
        what: "fuzzes tables, filesystems, database files, and the search for files",
        how: How::Fuzz(Group::Formats, 30),
    },
    Soak {
        name: "fuzz-predict",
        what: "fuzzes profiles, studies and scenarios",
        how: How::Fuzz(Group::Predict, 8),
    },
    Soak {
        name: "fuzz-volumes",
        what: "fuzzes arrays, volume managers and encryption",
        how: How::Fuzz(Group::Volumes, 60),
    },
    Soak {
        name: "fuzz-windows",
        what: "fuzzes answers of Windows to storage system calls",
        how: How::Fuzz(Group::Windows, 8),
    },
    Soak {
        name: "fuzz-evidence",
        what: "fuzzes logs, counters and results of benchmarks",
        how: How::Fuzz(Group::Evidence, 8),
    },
    Soak {
        name: "fuzz-traces",
        what: "fuzzes recorded requests",
        how: How::Fuzz(Group::Traces, 8),
    },
    Soak {
        name: "fuzz",
        what: "fuzzes every target",
        how: How::Fuzz(Group::All, 120),
    },
];

/// Prints the runs, and what their archive says of the last one.
pub(crate) fn list() -> Result<()> {
    println!("cargo xtask soak NAME [MINUTES] | all\n");
    for soak in SOAKS {
        let last = std::fs::read_to_string(archive(soak.name)).unwrap_or_default();
        let last = last.lines().find(|line| line.starts_with("Date "));
        // Machine and length are for readers of the archive.
        let last = last.map_or_else(
            || "never".to_owned(),
            |line| {
                let begin: Vec<&str> = line.splitn(3, ", ").take(2).collect();
                let result = line.split_once("Result: ").map_or("", |(_, result)| result);
                format!("{} {result}", begin.join(", "))
            },
        );
        println!("  {:<16} {}", soak.name, soak.what);
        println!("  {:<16} {last}", "");
    }
    println!("\nMINUTES is for fuzzing: how long all targets of a group take together.");
    Ok(())
}

/// Makes one run, or all, and archives what came of it.
pub(crate) fn run(name: &str, minutes: Option<u64>) -> Result<()> {
    let soaks: Vec<&Soak> = SOAKS
        .iter()
        .filter(|soak| name == "all" || soak.name == name)
        .collect();
    if soaks.is_empty() {
        let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        bail!(
            "there is no run `{name}`; there are all, {}",
            names.join(", ")
        );
    }
    let mut failures = Vec::new();
    for soak in soaks {
        if let Some(failure) = one(soak, minutes)? {
            failures.push(format!("{}: {failure}", soak.name));
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(())
}

fn archive(name: &str) -> PathBuf {
    PathBuf::from(format!("{ARCHIVE}/{name}.md"))
}

/// Makes a run; what went wrong in it, if anything.
fn one(soak: &Soak, minutes: Option<u64>) -> Result<Option<String>> {
    let commit = command("git", &["describe", "--always", "--dirty"])?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() & 0xffff_ffff;
    let began = Instant::now();
    let (outcome, seed) = match &soak.how {
        How::Fuzz(group, usual) => (
            fuzz::run(*group, minutes.unwrap_or(*usual), seed)?,
            seed.to_string(),
        ),
        How::Test(test) => (
            tests::run(test)?,
            "none, it is the same each time".to_owned(),
        ),
        How::Evidence(mib) => (evidence(*mib)?, "none, it is the same each time".to_owned()),
    };
    let result = match &outcome.failure {
        None => "passed".to_owned(),
        Some(failure) => format!("FAILED: {failure}"),
    };
    let mut text = format!("# Last run of `cargo xtask soak {}`\n\n", soak.name);
    let _ = writeln!(
        text,
        "Date {}, commit {commit}, {}; {} s; seed {seed}. Result: {result}.\n\n{}",
        command("date", &["--utc", "+%Y-%m-%d"])?,
        machine()?,
        began.elapsed().as_secs(),
        outcome.report.trim_end(),
    );
    std::fs::create_dir_all(ARCHIVE)?;
    std::fs::write(archive(soak.name), text)?;
    println!("soak: {}: {result}", soak.name);
    Ok(outcome.failure)
}

/// Measures, and holds the memory to what is promised for input of any length.
fn evidence(mib: usize) -> Result<Outcome> {
    const MAX_KIB: f64 = 65_536.0;
    let measured = bench::evidence(mib)?;
    let failure = measured.peak_kib > MAX_KIB;
    Ok(Outcome {
        report: measured.report,
        failure: failure.then(|| {
            format!(
                "{:.0} KiB were resident, of at most {MAX_KIB}",
                measured.peak_kib
            )
        }),
    })
}

fn command(program: &str, args: &[&str]) -> Result<String> {
    Ok(output(Command::new(program).args(args))?.trim().to_owned())
}

/// Processor and number of cores.
fn machine() -> Result<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism()?;
    Ok(format!(
        "{}, {cores} cores",
        model.trim_start_matches(['\t', ' ', ':'])
    ))
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::test::tests::matches_a_test;

    #[test]
    fn every_long_form_is_of_tests_that_exist() {
        for soak in SOAKS {
            let How::Test(test) = &soak.how else { continue };
            for filter in test.filter.split_whitespace() {
                assert!(
                    matches_a_test(test.package, test.program, filter),
                    "{}: no test is called {filter}",
                    soak.name
                );
            }
        }
    }
}
