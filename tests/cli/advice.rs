//! Every command in the sections Fix and Fix safety of the rules' pages: `tests/advice/commands.toml` has each with the script
//! that carries it out, or the reason that there is none.

use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use straddle::rules::RULES;

/// What is between backticks, by the rules whose Fix sections have it.
fn quoted() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for rule in RULES {
        for text in [rule.page.fix, rule.page.fix_safety] {
            assert_eq!(text.matches('`').count() % 2, 0, "{}: {text}", rule.code);
            for words in text.split('`').skip(1).step_by(2) {
                let rules = found.entry(words.to_owned()).or_default();
                rules.insert(rule.code.to_string());
            }
        }
    }
    found
}

/// How a command is held.
enum Held {
    /// By this script.
    Run(PathBuf),
    /// By nothing, for the reason in the table.
    None,
    /// It is no command.
    Word,
}

fn table() -> BTreeMap<String, Held> {
    let path = repository().join("tests/advice/commands.toml");
    let text = std::fs::read_to_string(path).expect("the table");
    let table: toml::Table = text.parse().expect("TOML");
    let mut held = BTreeMap::new();
    for (key, rows) in &table {
        for row in rows.as_array().expect("a list") {
            let mut words = row.as_array().expect("command and how").iter();
            let mut next = || {
                words
                    .next()
                    .and_then(toml::Value::as_str)
                    .expect("text")
                    .to_owned()
            };
            let (command, how) = (next(), next());
            assert!(!how.is_empty(), "{command}");
            let how = match key.as_str() {
                "run" if how.starts_with("lab/") => {
                    Held::Run(repository().join(format!("tests/lab/cases/{}.sh", &how[4..])))
                }
                "run" => Held::Run(repository().join(format!("tests/advice/{how}.sh"))),
                "none" => Held::None,
                "word" => Held::Word,
                other => panic!("[{other}] is none of run, none and word"),
            };
            assert!(
                held.insert(command.clone(), how).is_none(),
                "{command}: twice"
            );
        }
    }
    held
}

/// True when a command's words, in this order, are in one command of the script. Capitals and dots stand for anything.
fn is_in(script: &str, command: &str) -> bool {
    let joined = script.replace("\\\n", " ").replace("$(", " ");
    joined
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .any(|line| {
            let mut words = line.split_whitespace();
            command.split_whitespace().all(|wanted| {
                words.any(|word| fits(word.trim_matches(['"', '(', ')', ';']), wanted))
            })
        })
}

/// `stride=N,stripe_width=M` fits `stride=32,stripe_width=128`, and `DEVICE` anything; `force_size=on` fits one option of several.
fn fits(word: &str, wanted: &str) -> bool {
    let is_open = |c: char| c.is_ascii_uppercase() || c == '…';
    if word == wanted || word.split(',').any(|part| part == wanted) {
        return true;
    }
    if !wanted.contains(is_open) || (wanted.starts_with('-') && !wanted.contains('=')) {
        return false;
    }
    // A device or a file that the script keeps in a variable.
    if word.starts_with('$') && wanted.starts_with(|c: char| c == '/' || c.is_ascii_uppercase()) {
        return true;
    }
    let mut rest = word;
    let mut is_first = !wanted.starts_with(is_open);
    for piece in wanted.split(is_open).filter(|piece| !piece.is_empty()) {
        match rest.find(piece) {
            Some(at) if at == 0 || !is_first => rest = &rest[at + piece.len()..],
            _ => return false,
        }
        is_first = false;
    }
    true
}

#[test]
fn every_command_has_its_test_or_the_reason_that_it_has_none() {
    let (quoted, table) = (quoted(), table());
    let mut wrong = Vec::new();
    for (words, rules) in &quoted {
        if !table.contains_key(words) {
            wrong.push(format!("{rules:?}: `{words}` is not in the table"));
        }
    }
    for (words, how) in &table {
        if !quoted.contains_key(words) {
            wrong.push(format!("`{words}` is in the table, and on no page"));
        }
        if let Held::Run(script) = how {
            let text = std::fs::read_to_string(script).unwrap_or_default();
            if !is_in(&text, words) {
                wrong.push(format!("`{words}` is not in {}", script.display()));
            }
        }
    }
    // What is called a word must not be a command of a tool that is run elsewhere.
    let programs: BTreeSet<&str> = table
        .iter()
        .filter(|(_, how)| matches!(how, Held::Run(_)))
        .filter_map(|(words, _)| words.split(' ').next())
        .collect();
    for (words, how) in &table {
        let program = words.split(' ').next().unwrap_or_default();
        if matches!(how, Held::Word) && programs.contains(program) {
            wrong.push(format!("`{words}` is a command"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts = [
        table
            .values()
            .filter(|how| matches!(how, Held::Run(_)))
            .count(),
        table
            .values()
            .filter(|how| matches!(how, Held::None))
            .count(),
    ];
    assert!(counts[0] >= 100 && counts[1] < counts[0] / 2, "{counts:?}");
}

#[test]
fn a_command_is_found_by_its_words_only() {
    let script = "# parted -s disk\nparted -s -a minimal disk mkpart data 1MiB 100%\nqemu-img convert -O \\\n  raw a b\n";
    assert!(is_in(
        script,
        "parted -a minimal DISK mkpart data 1MiB 100%"
    ));
    assert!(!is_in(
        script,
        "parted -a optimal DISK mkpart data 1MiB 100%"
    ));
    assert!(!is_in(script, "parted -a minimal DISK mkpart data 0% 100%"));
    assert!(is_in(script, "qemu-img convert -O raw OLD NEW"));
    assert!(fits(
        "stride=32,stripe_width=128",
        "stride=N,stripe_width=M"
    ));
    assert!(!fits("stride=32", "stride=N,stripe_width=M"));
    assert!(fits("/dev/md0", "/dev/mdN") && !fits("/dev/sda", "/dev/mdN"));
}

#[test]
fn every_script_of_commands_holds() {
    let folder = repository().join("tests/advice");
    let names = ["tables", "filesystems", "images", "straddle"];
    let mut found: Vec<String> = std::fs::read_dir(&folder)
        .expect("scripts")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter_map(|name| name.strip_suffix(".sh").map(str::to_owned))
        .filter(|name| name != "run")
        .collect();
    found.sort();
    let mut expected = names.map(str::to_owned);
    expected.sort();
    assert_eq!(found, expected);
    for name in names {
        let empty = tempfile::tempdir().expect("temporary directory");
        let straddle = Path::new(env!("CARGO_BIN_EXE_straddle"));
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .arg(folder.join("run.sh"))
            .arg(folder.join(format!("{name}.sh")))
            .env(
                "PATH",
                format!("{}:{path}", straddle.parent().expect("a folder").display()),
            )
            .env("STRADDLE_HISTORY", "none")
            .current_dir(empty.path())
            .output()
            .expect("bash");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}: {said}", output.status);
    }
}
