//! Captures that lost a line, or half of one: what was found in the whole text never becomes silence.
//!
//! Of each capture with a warning about where something starts, each line is left out in turn, except the one that says where
//! that is, and each is cut in half. What then is found is a warning again, or something that was not said of the whole text
//! (what is missing, contradicts or was cut), or that no start was checked. For every commit one of eight is tried, in turn; all with
//! `STRADDLE_SOAK=1`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use straddle::rules::{Context, Coverage, Finding, Options, Severity, check, coverage};
use straddle::sources::Settings;
use straddle::sources::captured;
use straddle::stack::{Key, Source, Stack};
use straddle_testkit::is_soak;

/// Longest capture that is gone through, in lines.
const MAX_LEN: usize = 200;

/// Of so many mutants one is tried for every commit.
const STEP: usize = 8;

/// What a text comes to, machine by machine.
struct Said(Vec<Machine>);

struct Machine {
    stack: Stack,
    findings: Vec<Finding>,
    /// No start was checked, which the program says by itself.
    nothing: bool,
}

impl Said {
    fn of(name: &str, text: &[u8]) -> Option<Said> {
        let captures = captured::machines(name, text, false, 0);
        if captures.iter().all(|capture| capture.tools.is_empty()) {
            return None;
        }
        let options = Options::default();
        let settings = Settings {
            io: options.io.clone(),
            ..Settings::default()
        };
        let machine = |server: captured::Server| {
            let stack = captured::stack(server.captures, &settings);
            let context = Context::new(&stack, &options);
            let findings = check(&context);
            let nothing = matches!(coverage(&context, &findings), Coverage::Nothing { .. });
            Machine {
                findings,
                nothing,
                stack,
            }
        };
        let servers = captured::of_one(captures).into_iter();
        Some(Said(servers.map(machine).collect()))
    }

    fn warnings(&self) -> impl Iterator<Item = (&Stack, &Finding)> {
        let findings = self.0.iter().flat_map(|machine| {
            let findings = machine.findings.iter();
            findings.map(|finding| (&machine.stack, finding))
        });
        findings.filter(|(_, finding)| finding.severity >= Severity::Warning)
    }

    /// Lines in which stands where something begins that a warning is about; empty when none is about a start.
    fn rows(&self) -> BTreeSet<u64> {
        let mut rows = BTreeSet::new();
        for (stack, finding) in self.warnings() {
            let layer = stack.layer(finding.layer);
            let placed = layer.placement.as_ref().map(|fact| &fact.source);
            let shown = layer.attribute(Key::StartShown).map(|fact| &fact.source);
            for source in placed.into_iter().chain(shown) {
                if let Source::Captured { line, .. } = source {
                    rows.insert(*line);
                }
            }
        }
        rows
    }

    fn told(&self) -> BTreeSet<(String, String)> {
        let said = |finding: &Finding| (finding.code.to_string(), finding.title.clone());
        let findings = self.0.iter().flat_map(|machine| &machine.findings);
        findings.map(said).collect()
    }

    /// True when less is found than in `whole`, and nothing says that something is missing.
    fn is_silent(&self, whole: &Said) -> bool {
        let new = self.told().difference(&whole.told()).next().is_some();
        let nothing = self.0.iter().any(|machine| machine.nothing);
        !nothing && !new && self.warnings().next().is_none()
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of captures")
        .map(|entry| entry.expect("readable").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            files(&path, found);
        } else if !name.contains(".snap") && !name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// A capture with one line changed, and what was done to it.
struct Mutant {
    what: String,
    text: Vec<u8>,
}

/// The capture without a line that is none of `rows`, or with half of it.
fn mutants(text: &[u8], rows: &BTreeSet<u64>) -> Vec<Mutant> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let bare = line.trim_ascii();
        if bare.is_empty() {
            continue;
        }
        let with = |middle: &[u8]| {
            [
                &lines[..index].concat(),
                middle,
                &lines[index + 1..].concat(),
            ]
            .concat()
        };
        let number = index + 1;
        if !u64::try_from(number).is_ok_and(|number| rows.contains(&number)) {
            let what = format!("line {number} left out");
            found.push(Mutant {
                what,
                text: with(b""),
            });
        }
        let half = [&line[..line.len() / 2], b"\n"].concat();
        let what = format!("line {number} cut in half");
        found.push(Mutant {
            what,
            text: with(&half),
        });
    }
    found
}

/// Goes through all captures in these folders, which are named from `tests/`. How many mutants there were, and which were silent.
fn silent(folders: &[&str]) -> (usize, Vec<String>) {
    let tests = straddle_testkit::repository().join("tests");
    let mut all = Vec::new();
    for folder in folders {
        files(&tests.join(folder), &mut all);
    }
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let silent = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = all.get(index) else { break };
                    let text = std::fs::read(path).expect("readable");
                    let name = path.file_name().expect("a file").to_string_lossy();
                    // UTF-16 has no lines of bytes.
                    let is_plain =
                        text.split(|b| *b == b'\n').count() <= MAX_LEN && !text.contains(&0);
                    let Some(whole) = Said::of(&name, &text).filter(|_| is_plain) else {
                        continue;
                    };
                    let rows = whole.rows();
                    if rows.is_empty() {
                        continue;
                    }
                    let step = if is_soak() { 1 } else { STEP };
                    // In turn, so that first lines are not always among them.
                    let mutants = mutants(&text, &rows).into_iter();
                    for mutant in mutants.skip(index % step).step_by(step) {
                        tried.fetch_add(1, Ordering::Relaxed);
                        let said = Said::of(&name, &mutant.text);
                        if said.is_some_and(|said| said.is_silent(&whole)) {
                            let line = format!("{}: {}", path.display(), mutant.what);
                            silent.lock().expect("no panic").push(line);
                        }
                    }
                }
            });
        }
    });
    let mut silent = silent.into_inner().expect("no panic");
    silent.sort();
    (tried.into_inner(), silent)
}

/// Of at least so many, none is silent but `most` of those `known`: lines of which a contradiction is made, names of partitions in what
/// scripts print their own way, and lines that are all of a machine.
fn none_is_silent(folders: &[&str], least: usize, known: &[&str], most: usize) {
    let (tried, silent) = silent(folders);
    let least = if is_soak() { least } else { least / STEP };
    assert!(tried >= least, "only {tried}");
    let is_known = |line: &String| known.iter().any(|file| line.contains(file));
    let (known, new): (Vec<String>, Vec<String>) = silent.into_iter().partition(is_known);
    assert!(
        known.len() <= most,
        "{} are known to be silent:\n{}",
        known.len(),
        known.join("\n")
    );
    assert!(
        new.is_empty(),
        "{} of {tried}:\n{}",
        new.len(),
        new.join("\n")
    );
}

#[test]
fn of_windows_esxi_and_raid_controllers() {
    let folders = [
        "captured/windows",
        "captured/powershell",
        "captured/esxi",
        "captured/raid",
        "pastes/windows",
    ];
    let known = ["-contra-", "wmi-script-2003", "076-wmic-script"];
    none_is_silent(&folders, 4000, &known, 11);
}

#[test]
fn of_linux() {
    let folders = ["captured/linux", "captured/volumes", "pastes/linux"];
    let known = [
        "-contra-",
        "213-two-tools-disagree",
        "687-ansible-one-line-each",
    ];
    none_is_silent(&folders, 5000, &known, 7);
}

/// Faults that the soak found: the only row of one of two machines, a host that `grep` has a line of, the name of a disk.
#[test]
fn what_is_all_of_a_machine_or_of_a_disk() {
    let tests = straddle_testkit::repository().join("tests");
    for (file, line) in [
        ("captured/linux/unraid.txt", 26),
        ("pastes/linux/682-markdown-two-hosts.txt", 27),
        ("pastes/linux/690-grep-one-line-of-each-file.txt", 3),
    ] {
        let text = std::fs::read(tests.join(file)).expect("readable");
        let whole = Said::of(file, &text).expect("recognised");
        assert!(whole.warnings().next().is_some(), "{file}");
        let cut = format!("line {line} cut in half");
        let mut mutants = mutants(&text, &whole.rows()).into_iter();
        let mutant = mutants.find(|mutant| mutant.what == cut).expect("a line");
        let said = Said::of(file, &mutant.text).expect("recognised");
        assert!(!said.is_silent(&whole), "{file}: {cut}");
    }
}
