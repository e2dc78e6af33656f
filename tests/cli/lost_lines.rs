//! What is lost on the way is said. From a capture with findings, any one line can be dropped or cut in half: then the findings are
//! still there, or nothing was checked (exit 2), or the report says that something is missing. It never says that all is well.
//!
//! Left alone is the line that a finding is about: without it there is nothing to find. Captures are sampled; `STRADDLE_SOAK=1` takes
//! every line of every one.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{repository, straddle};

/// Files with text of Linux' tools.
fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [
        "tests/pastes/linux",
        "tests/captured/linux",
        "tests/captured/volumes",
    ] {
        let entries = fs::read_dir(repository().join(folder)).expect("captures");
        let paths = entries.map(|entry| entry.expect("readable").path());
        let text = |path: &PathBuf| {
            path.is_file() && path.extension().is_none_or(|extension| extension == "txt")
        };
        found.extend(paths.filter(text));
    }
    found.sort();
    found
}

struct Checked {
    exit: i32,
    /// Something is said to be missing, cut, unclear or in contradiction.
    says_so: bool,
    /// There are findings about storage, not only about the quality of the capture.
    finds: bool,
    /// Lines that findings are about.
    about: BTreeSet<u64>,
}

const FILE: &str = "capture.txt";

fn check(folder: &Path, text: &str) -> Checked {
    fs::write(folder.join(FILE), text).expect("writable");
    let run = straddle(folder, &["check", "--json", "--as", "text", FILE]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", run.transcript()));
    let mut checked = Checked {
        exit: run.code.expect("not killed"),
        says_so: false,
        finds: false,
        about: BTreeSet::new(),
    };
    let targets = report["targets"].as_array().into_iter().flatten();
    for finding in targets.flat_map(|target| target["findings"].as_array().into_iter().flatten()) {
        let code = finding["code"].as_str().unwrap_or_default();
        // What is missing, rounded, in contradiction, misprinted, without its unit, cut.
        let quality = ["STR903", "STR904", "STR905", "STR907", "STR909", "STR910"];
        let title = finding["title"].as_str().unwrap_or_default();
        checked.says_so |= quality.contains(&code)
            || code == "STR906"
                && ["where it lies", "start", "only named"]
                    .iter()
                    .any(|said| title.contains(said));
        if matches!(finding["severity"].as_str(), Some("error" | "warning")) {
            checked.finds |= !code.starts_with("STR9");
            let evidence = finding["evidence"].as_array().into_iter().flatten();
            let mut lines = evidence.filter_map(|said| said["source"]["line"].as_u64());
            // What two lines say together is about both.
            let both = matches!(code, "STR905" | "STR107");
            checked
                .about
                .extend(lines.by_ref().take(if both { 2 } else { 1 }));
        }
    }
    checked
}

/// `text` with line `at` (from 0) dropped, or cut in half.
fn without(text: &str, at: usize, halved: bool) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if halved {
        let half = lines[at].chars().count() / 2;
        lines[at] = lines[at].chars().take(half).collect();
    } else {
        lines.remove(at);
    }
    lines.join("\n")
}

#[test]
fn a_lost_line_never_makes_a_report_without_findings() {
    let all = std::env::var_os("STRADDLE_SOAK").is_some();
    let captures = captures();
    let next = AtomicUsize::new(0);
    let (silent, runs) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                let folder = tempfile::tempdir().expect("a folder");
                while let Some(path) = captures.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Those have lost a line already.
                    let lossy = ["-drop-", "-half", "-cutoff-"];
                    if path
                        .to_str()
                        .is_some_and(|path| lossy.iter().any(|part| path.contains(part)))
                    {
                        continue;
                    }
                    let Ok(text) = fs::read_to_string(path) else {
                        continue;
                    };
                    let name = path
                        .file_name()
                        .and_then(|name| name.to_str())
                        .unwrap_or_default();
                    // A line in seven of each third capture.
                    let salt = name
                        .bytes()
                        .fold(0_usize, |sum, byte| sum * 31 % 8191 + usize::from(byte));
                    if !all && salt % 3 != 0 {
                        continue;
                    }
                    let base = check(folder.path(), &text);
                    // A figure that contradicts another one may agree when it is not known what it is.
                    if base.exit != 1 || !base.finds {
                        continue;
                    }
                    for (at, line) in text.split('\n').enumerate() {
                        let about = base.about.contains(&(at as u64 + 1));
                        let sampled = all || (at + salt) % 7 == 0;
                        if line.trim().is_empty() || about || !sampled {
                            continue;
                        }
                        for halved in [false, true] {
                            runs.fetch_add(1, Ordering::Relaxed);
                            let now = check(folder.path(), &without(&text, at, halved));
                            if now.exit == 0 && !now.says_so {
                                let how = if halved { "halved" } else { "dropped" };
                                let said = format!("{name}:{} {how}: {line}", at + 1);
                                silent.lock().expect("no panic").push(said);
                            }
                        }
                    }
                }
            });
        }
    });
    let mut silent = silent.into_inner().expect("no panic");
    silent.sort();
    let runs = runs.into_inner();
    println!("{runs} runs, {} silent", silent.len());
    assert!(
        runs > if all { 1000 } else { 100 },
        "{runs} runs are no sample"
    );
    assert!(
        silent.is_empty(),
        "{} of {runs}:\n{}",
        silent.len(),
        silent.join("\n")
    );
}
