//! Outputs in the shapes in which people paste them: cut, quoted, wrapped, translated, through pipes. What each must come to stands in
//! `tests/pastes/*.toml`, worked out by hand from the text and not from what the program says:
//!
//! - `starts`: a layer or its disk by name (`?`: whatever it is called), and the byte of that disk at which it, or a partition of it, begins;
//! - `codes`: findings that there are; `absent`: that there are not; `any`: of which one holds (`code STR904`, `start sda1 32256`, `exit 2`);
//! - `exit`: the status, or those that are right; `targets`: how many there are;
//! - `misses`: why it is known to come to something else. The test fails when it no longer does.

use crate::support::{repository, straddle};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one paste must come to.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    about: String,
    #[serde(default)]
    starts: Vec<String>,
    #[serde(default)]
    codes: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    exit: Vec<i32>,
    targets: Option<usize>,
    misses: Option<String>,
}

/// What it came to.
struct Got {
    exit: i32,
    targets: usize,
    codes: Vec<String>,
    /// Names of a layer and of what it rests on, and where it begins there.
    starts: Vec<(Vec<String>, u64)>,
}

impl Got {
    fn of(folder: &Path, name: &str) -> Result<Got, String> {
        let form: &[&str] = match folder.join(name).is_dir() {
            true => &["check", "--json", name],
            false => &["check", "--json", "--as", "text", name],
        };
        let run = straddle(folder, form);
        let exit = run.code.ok_or("killed by a signal")?;
        let report: serde_json::Value = serde_json::from_str(&run.stdout)
            .map_err(|error| format!("{error}: {}", run.transcript()))?;
        let mut got = Got {
            exit,
            targets: 0,
            codes: Vec::new(),
            starts: Vec::new(),
        };
        for target in report["targets"].as_array().into_iter().flatten() {
            got.targets += 1;
            let findings = target["findings"].as_array().into_iter().flatten();
            let codes = findings.filter_map(|finding| finding["code"].as_str());
            got.codes.extend(codes.map(str::to_owned));
            let layers = target["stack"].as_array().ok_or("no stack")?;
            got.starts
                .extend(layers.iter().filter_map(|layer| start_of(layer, layers)));
        }
        Ok(got)
    }

    fn has_start(&self, said: &str) -> bool {
        let Some((name, bytes)) = said.rsplit_once(' ') else {
            return false;
        };
        let bytes: u64 = bytes
            .parse()
            .unwrap_or_else(|_| panic!("{said}: a number of bytes"));
        let mut starts = self.starts.iter();
        starts.any(|(names, at)| *at == bytes && (name == "?" || names.iter().any(|n| n == name)))
    }

    fn has(&self, said: &str) -> bool {
        match said.split_once(' ') {
            Some(("code", code)) => self.codes.iter().any(|other| other == code),
            Some(("start", start)) => self.has_start(start),
            Some(("exit", exit)) => self.exit.to_string() == exit,
            _ => panic!("{said}: `code STRnnn`, `start NAME BYTES` or `exit N`"),
        }
    }

    /// In what it differs.
    fn against(&self, expected: &Expected) -> Vec<String> {
        let mut wrong = Vec::new();
        let starts = expected
            .starts
            .iter()
            .filter(|start| !self.has_start(start));
        wrong.extend(starts.map(|start| format!("no start `{start}`")));
        let missing = expected
            .codes
            .iter()
            .filter(|code| !self.codes.contains(code));
        wrong.extend(missing.map(|code| format!("no {code}")));
        let there = expected
            .absent
            .iter()
            .filter(|code| self.codes.contains(code));
        wrong.extend(there.map(|code| format!("a false {code}")));
        if !expected.any.is_empty() && !expected.any.iter().any(|said| self.has(said)) {
            wrong.push(format!("none of {:?}", expected.any));
        }
        if !expected.exit.is_empty() && !expected.exit.contains(&self.exit) {
            wrong.push(format!("exit {} instead of {:?}", self.exit, expected.exit));
        }
        if expected
            .targets
            .is_some_and(|targets| targets != self.targets)
        {
            wrong.push(format!(
                "{} targets instead of {:?}",
                self.targets, expected.targets
            ));
        }
        wrong
    }
}

/// A layer's start on what is at the bottom, with its names.
fn start_of(layer: &serde_json::Value, layers: &[serde_json::Value]) -> Option<(Vec<String>, u64)> {
    layer["placement"].as_object()?;
    let mut names = vec![layer["name"].as_str()?.to_owned()];
    let (mut here, mut at) = (layer, 0_u64);
    loop {
        let below = here["below"].as_array()?;
        let Some(index) = below.first() else {
            return Some((names, at));
        };
        let start = match &here["map"] {
            map if map["shape"] == "linear" => map["start"].as_u64(),
            map => map["first_segments"][0]["lower"].as_u64(),
        };
        // An array whose place on its members is not known is the disk below its partitions.
        let Some(start) = start else {
            return (names.len() > 1).then_some((names, at));
        };
        at += start;
        here = layers.get(usize::try_from(index.as_u64()?).ok()?)?;
        names.push(here["name"].as_str()?.to_owned());
    }
}

/// All pastes of a system. Of twenty, so many are right at least.
fn all(system: &str, least: usize) {
    let folder = repository().join("tests/pastes");
    let text = fs::read_to_string(folder.join(format!("{system}.toml"))).expect("expectations");
    let expected: BTreeMap<String, Expected> = toml::from_str(&text).expect("as described above");
    let folder = folder.join(system);
    for entry in fs::read_dir(&folder).expect("pastes") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().expect("UTF-8");
        assert!(
            expected.contains_key(name),
            "{name}: nothing is expected of it"
        );
    }
    let only = std::env::var("STRADDLE_PASTE").unwrap_or_default();
    let cases: Vec<_> = expected
        .iter()
        .filter(|(name, _)| name.contains(&only))
        .collect();
    let next = AtomicUsize::new(0);
    let (wrong, right) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some((name, expected)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let differs = match Got::of(&folder, name) {
                        Ok(got) => got.against(expected),
                        Err(error) => vec![error],
                    };
                    let said = match (&expected.misses, differs.is_empty()) {
                        (None, true) => {
                            right.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        (Some(_), false) => continue,
                        (Some(misses), true) => format!("no longer misses: {misses}"),
                        (None, false) => differs.join("; "),
                    };
                    let line = format!("{name} ({}): {said}", expected.about);
                    wrong.lock().expect("no panic").push(line);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no panic");
    wrong.sort();
    let right = right.into_inner();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    // In the end nineteen of twenty.
    assert!(
        !only.is_empty() || right * 20 >= cases.len() * least,
        "{right} of {}",
        cases.len()
    );
}

#[test]
fn linux() {
    all("linux", 19);
}

#[test]
fn windows() {
    all("windows", 19);
}
