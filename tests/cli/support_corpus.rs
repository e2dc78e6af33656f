//! What support tools collect, in the shapes of their versions: each file of `tests/collected/TOOL` is a host, with what must be known of it.
//!
//! ```toml
//! about = "what is special about this shape"
//! from = "where the shape was looked up"
//! words = "a supportconfig of host db1"      # what it must be taken as
//! make = "tar cJf db1.txz scc_db1_261128"    # run where the files are; may change them
//! targets = ["scc_db1_261128", "db1.txz"]    # each must come to the same
//! facts = [["sda1", "/placement/value/start", 32256]]   # as `support_shapes::Fact`
//! says = ["not in this supportconfig: …"]    # in what is printed, blanks aside
//! [files]
//! "scc_db1_261128/fs-diskio.txt" = '''…'''
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::support::{repository, scratch, sh, straddle};
use crate::support_shapes::{Fact, check_facts, put_all};

/// Shapes of each tool that there are at least, so that none is lost unnoticed.
const FEWEST: usize = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    about: String,
    from: String,
    words: String,
    #[serde(default)]
    make: String,
    targets: Vec<String>,
    facts: Vec<(String, String, u64)>,
    #[serde(default)]
    says: Vec<String>,
    files: BTreeMap<String, String>,
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn hosts_of_every_tool_and_version_are_known_by_value() {
    let mut failed = Vec::new();
    for tool in listed(&repository().join("tests/collected")) {
        let shapes = listed(&tool);
        assert!(
            shapes.len() >= FEWEST,
            "{}: {}",
            tool.display(),
            shapes.len()
        );
        for path in shapes {
            let text = fs::read_to_string(&path).expect("UTF-8");
            let shape: Shape =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(!shape.facts.is_empty() && !shape.targets.is_empty());
            if std::panic::catch_unwind(|| check(&shape)).is_err() {
                failed.push(format!(
                    "{}: {} ({})",
                    path.display(),
                    shape.about,
                    shape.from
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

fn check(shape: &Shape) {
    let folder = scratch();
    let here = folder.path();
    let files: Vec<(&str, String)> = shape
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.clone()))
        .collect();
    put_all(here, "", &files);
    sh(here, &format!("set -e\n{}", shape.make));
    let facts: Vec<Fact<'_>> = shape
        .facts
        .iter()
        .map(|(name, what, value)| Fact(name, what, *value))
        .collect();
    for target in &shape.targets {
        check_facts(here, target, &shape.words, &facts);
        for says in &shape.says {
            let run = straddle(here, &["check", "--details", target]);
            let printed: Vec<&str> = run.stdout.split_whitespace().collect();
            assert!(printed.join(" ").contains(says), "{}", run.transcript());
        }
    }
}
