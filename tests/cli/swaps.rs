//! The test file or the journal is replaced, linked, removed or truncated before and after each system call that names or
//! touches one of them: what somebody put there is as it was, each time.
//!
//! `STRADDLE_SOAK=1` makes every kind of swap at every stop; without it every third stop is used once, with kinds in turn.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "swaps/tracer.rs"]
mod tracer;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;
use tracer::{Stop, Traced, trace};

const FILE: &str = "straddle-bench.dat";
const JOURNAL: &str = "straddle-bench.dat.journal";
const TEST_FILE: &str = "testfile.dat";
const STRANGER: &[u8] = b"a stranger's only copy of the payroll\n";

/// A verb, and how it is called.
struct Verb {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Files whose names are taken.
    names: &'static [&'static str],
    /// What was there before.
    before: Before,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A bench that was interrupted after its first block.
    Interrupted,
    /// A test file that an earlier run made.
    TestFile,
}

const BENCH: &[&str] = &[
    "bench",
    ".",
    "--size",
    "64K",
    "--offsets",
    "0,4K",
    "--rw",
    "write",
    "--runtime",
    "1ms",
    "--warm-up",
    "0s",
    "--blocks",
    "3-3",
    "--engine",
    "pread",
    "--outstanding",
    "1",
    "--seed",
    "1",
];

const VERBS: [Verb; 6] = [
    Verb {
        name: "bench",
        arguments: BENCH,
        names: &[FILE, JOURNAL],
        before: Before::Nothing,
    },
    Verb {
        name: "bench --resume",
        arguments: &["bench", "--resume", JOURNAL],
        names: &[FILE, JOURNAL],
        before: Before::Interrupted,
    },
    Verb {
        name: "sqlio, a new file",
        arguments: &[
            "sqlio",
            "-kW",
            "-s1",
            "-b512",
            "-o1",
            "-t1",
            "-frandom",
            "-Fparam.txt",
        ],
        names: &[TEST_FILE],
        before: Before::Nothing,
    },
    Verb {
        name: "sqlio, a file of an earlier run",
        arguments: &[
            "sqlio",
            "-kW",
            "-s1",
            "-b512",
            "-o1",
            "-t1",
            "-frandom",
            "-Fparam.txt",
        ],
        names: &[TEST_FILE],
        before: Before::TestFile,
    },
    Verb {
        name: "diskspd, a new file",
        arguments: &[
            "diskspd", "-w100", "-b512K", "-o1", "-t1", "-d1", "-W0", "-c1M", TEST_FILE,
        ],
        names: &[TEST_FILE],
        before: Before::Nothing,
    },
    Verb {
        name: "diskspd, a file made longer",
        arguments: &[
            "diskspd", "-w100", "-b512K", "-o1", "-t1", "-d1", "-W0", "-c2M", TEST_FILE,
        ],
        names: &[TEST_FILE],
        before: Before::TestFile,
    },
];

/// What is done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Another file is moved to it.
    Replaced,
    /// It is removed, and a file of somebody else is linked to it.
    Linked,
    /// It is removed, and a new file gets it: likely with the same inode number, if that is free.
    Recreated,
    /// It is removed, and a symbolic link to somebody else's file gets it.
    Symlinked,
    /// The file is cut to nothing, as the redirection of a shell does it.
    Truncated,
}

const KINDS: [Kind; 5] = [
    Kind::Replaced,
    Kind::Linked,
    Kind::Recreated,
    Kind::Symlinked,
    Kind::Truncated,
];

/// The directory of one run, `work` in it the one that the program works in.
struct Scratch {
    root: tempfile::TempDir,
}

impl Scratch {
    fn new(verb: &Verb) -> Scratch {
        let scratch = Scratch {
            root: tempfile::tempdir().expect("temporary directory"),
        };
        let work = scratch.work();
        fs::create_dir(&work).expect("writable");
        fs::write(work.join("param.txt"), format!("{TEST_FILE} 1 0x0 1\n")).expect("writable");
        fs::write(scratch.home(), STRANGER).expect("writable");
        match verb.before {
            Before::Nothing => {}
            Before::Interrupted => {
                let kept: Vec<&str> = BENCH.iter().copied().chain(["--keep"]).collect();
                run(&work, &kept);
                // As a machine leaves it that fails after the first block of three runs: header, two lines, three samples.
                let journal = work.join(JOURNAL);
                let text = fs::read_to_string(&journal).expect("kept");
                let lines: String = text.split_inclusive('\n').take(6).collect();
                fs::write(&journal, lines).expect("writable");
            }
            Before::TestFile => {
                // Its time of modification is part of it.
                let (made, to) = (TEST_FILE_MADE.get_or_init(test_file), work.join(TEST_FILE));
                fs::write(&to, &made.0).expect("writable");
                let file = fs::OpenOptions::new().write(true).open(&to);
                file.and_then(|file| file.set_modified(made.1))
                    .expect("its time");
            }
        }
        scratch
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Where the stranger keeps what is linked.
    fn home(&self) -> PathBuf {
        self.root.path().join("payroll")
    }
}

/// A test file that a run is done with: its bytes, and its time of modification.
static TEST_FILE_MADE: OnceLock<(Vec<u8>, SystemTime)> = OnceLock::new();

fn test_file() -> (Vec<u8>, SystemTime) {
    let scratch = tempfile::tempdir().expect("temporary directory");
    let arguments = ["diskspd", "-w100", "-d1", "-W0", "-c1M", TEST_FILE];
    run(scratch.path(), &arguments);
    let path = scratch.path().join(TEST_FILE);
    let modified = fs::metadata(&path).and_then(|found| found.modified());
    (fs::read(&path).expect("kept"), modified.expect("a time"))
}

fn run(directory: &Path, arguments: &[&str]) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("straddle runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

/// What a name has to be after a swap; `None` where there was nothing that could be truncated.
#[derive(Debug)]
struct Expected {
    inode: u64,
    /// `None` when it was a file of ours that was truncated: it may have been written to since.
    content: Option<&'static [u8]>,
}

fn swap(scratch: &Scratch, name: &str, kind: Kind) -> Option<Expected> {
    let (path, home) = (scratch.work().join(name), scratch.home());
    let aside = scratch.root.path().join("aside");
    // Both directories are on one filesystem.
    match kind {
        Kind::Replaced => {
            fs::write(&aside, STRANGER).expect("writable");
            fs::rename(&aside, &path).expect("replaced");
        }
        Kind::Linked => {
            let _ = fs::remove_file(&path);
            fs::hard_link(&home, &path).expect("linked");
        }
        Kind::Recreated => {
            let _ = fs::remove_file(&path);
            fs::write(&path, STRANGER).expect("created");
        }
        Kind::Symlinked => {
            let _ = fs::remove_file(&path);
            symlink(&home, &path).expect("linked");
        }
        Kind::Truncated => {
            let file = fs::OpenOptions::new().write(true).open(&path).ok()?;
            file.set_len(0).expect("truncated");
        }
    }
    let metadata = fs::symlink_metadata(&path).expect("it is there");
    Some(Expected {
        inode: metadata.ino(),
        content: (kind != Kind::Truncated).then_some(STRANGER),
    })
}

/// What is wrong after a swap.
fn wrong(scratch: &Scratch, name: &str, expected: &Expected, traced: &Traced) -> Option<String> {
    let path = scratch.work().join(name);
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        return Some("it is gone".to_owned());
    };
    if metadata.ino() != expected.inode {
        return Some("another file has its name".to_owned());
    }
    if let Some(content) = expected.content
        && fs::read(&path).ok().as_deref() != Some(content)
    {
        return Some("its bytes are not what they were".to_owned());
    }
    if fs::read(scratch.home()).ok().as_deref() != Some(STRANGER) {
        return Some("what was linked is not what it was".to_owned());
    }
    let entries = fs::read_dir(scratch.work()).expect("readable").flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    if let Some(folder) = names.find(|name| name.starts_with(".straddle-")) {
        return Some(format!("{folder} is left"));
    }
    if traced.stderr.contains("panicked") || !matches!(traced.code, Some(0 | 2)) {
        return Some(format!("it ended with {:?}", traced.code));
    }
    None
}

/// One thing to try.
#[derive(Clone, Debug)]
struct Case {
    verb: usize,
    stop: Stop,
    name: &'static str,
    kind: Kind,
}

/// What became of all cases.
#[derive(Default)]
struct Tally {
    made: BTreeMap<(usize, &'static str, Kind), usize>,
    stops: BTreeSet<(usize, Stop)>,
    failures: Vec<String>,
    missed: usize,
}

fn try_one(case: &Case, tally: &Mutex<Tally>) {
    let verb = &VERBS[case.verb];
    let scratch = Scratch::new(verb);
    let mut expected = None;
    let mut is_hit = false;
    let traced = trace(&scratch.work(), verb.arguments, Some(&case.stop), || {
        is_hit = true;
        expected = swap(&scratch, case.name, case.kind);
    });
    let mut tally = tally.lock().expect("no panic in here");
    if !is_hit {
        // Threads do not come in the same order each time.
        tally.missed += 1;
        return;
    }
    tally.stops.insert((case.verb, case.stop.clone()));
    let Some(expected) = expected else { return };
    *tally
        .made
        .entry((case.verb, case.name, case.kind))
        .or_default() += 1;
    if let Some(wrong) = wrong(&scratch, case.name, &expected, &traced) {
        tally.failures.push(format!(
            "{}: {} {:?} at {:?}: {wrong}\n{}",
            verb.name, case.name, case.kind, case.stop, traced.stderr
        ));
    }
}

#[test]
fn what_a_stranger_puts_there_stays_as_it_is() {
    let is_soak = straddle_testkit::is_soak();
    let mut cases = Vec::new();
    let mut wanted = BTreeSet::new();
    for (number, verb) in VERBS.iter().enumerate() {
        let scratch = Scratch::new(verb);
        let whole = trace(&scratch.work(), verb.arguments, None, || ());
        assert_eq!(whole.code, Some(0), "{}: {}", verb.name, whole.stderr);
        assert!(whole.stops.len() > 40, "{}: {:?}", verb.name, whole.stops);
        let mut turn = 0;
        for stop in whole.stops {
            let combinations = verb
                .names
                .iter()
                .flat_map(|name| KINDS.map(|kind| (*name, kind)));
            let combinations: Vec<_> = combinations.collect();
            // What is touched is what is swapped as a rule, and all kinds come in turn.
            turn += 1;
            if !is_soak && turn % 3 != 1 {
                continue;
            }
            wanted.insert((number, stop.clone()));
            for (at, (name, kind)) in combinations.iter().enumerate() {
                if is_soak || at == turn / 3 % combinations.len() {
                    cases.push(Case {
                        verb: number,
                        stop: stop.clone(),
                        name,
                        kind: *kind,
                    });
                }
            }
        }
    }
    let planned = cases.len();
    let tally = Mutex::new(Tally::default());
    let queue = Mutex::new(cases.into_iter());
    std::thread::scope(|scope| {
        // Runs of a second sleep most of the time.
        for _ in 0..3 * std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no panic in here").next();
                    let Some(case) = next else { break };
                    try_one(&case, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no panic in there");
    let made: usize = tally.made.values().sum();
    let _ = writeln!(
        std::io::stderr(),
        "{} stops of {}, {made} swaps of {planned}, {} not reached",
        tally.stops.len(),
        wanted.len(),
        tally.missed
    );
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
    for (number, verb) in VERBS.iter().enumerate() {
        for name in verb.names {
            for kind in KINDS {
                let made = tally.made.get(&(number, name, kind)).copied();
                assert!(made > Some(0), "{}: {name} was never {kind:?}", verb.name);
            }
        }
    }
    let fewest = if is_soak { 500 } else { 300 };
    assert!(made >= fewest, "{made} swaps of {planned}");
    assert!(
        tally.stops.len() * 20 >= wanted.len() * 19,
        "too many stops were not reached"
    );
}
