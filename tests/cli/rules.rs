//! Every rule, end to end: a fixture that triggers it, one that must not, and a snapshot of what a person sees.

use crate::support::{copy_capture, repository, straddle, unpack_image};
use std::path::Path;
use straddle::rules::RULES;

/// One table of `tests/rules/STRnnn.toml`.
struct Case {
    verb: &'static str,
    target: Vec<String>,
}

impl Case {
    /// Reads the table `name`, and puts its image or host into `directory`.
    fn prepare(fixture: &toml::Table, name: &str, directory: &Path) -> Case {
        let table = fixture
            .get(name)
            .and_then(toml::Value::as_table)
            .unwrap_or_else(|| panic!("no table [{name}]"));
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
        let mut target = Vec::new();
        let mut verb = "check";
        // Logs and counters: of the corpus, or written here; what `check` reads may be with them.
        for path in table
            .get("evidence")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
        {
            let path = path.as_str().expect("paths are text");
            let from = repository().join("tests/evidence").join(path);
            let name = path.rsplit('/').next().expect("a name").to_owned();
            std::fs::copy(&from, directory.join(&name))
                .unwrap_or_else(|error| panic!("{path}: {error}"));
            (verb, _) = ("evidence", target.push(name));
        }
        if let Some(log) = text("log") {
            std::fs::write(directory.join("server.log"), log).expect("room");
            (verb, _) = ("evidence", target.push("server.log".to_owned()));
        }
        match (text("image"), text("host"), text("capture"), text("text")) {
            (Some(image), None, None, None) => target.push(unpack_image(image, directory)),
            (None, None, None, None) if verb == "evidence" => {}
            (None, None, Some(capture), None) => target.push(copy_capture(capture, directory)),
            (None, None, None, Some(text)) => {
                std::fs::write(directory.join("server.txt"), text).expect("room");
                target.push("server.txt".to_owned());
            }
            (None, Some(host), None, None) => {
                let tree = repository().join(format!("tests/hosts/{host}.tree"));
                std::fs::copy(&tree, directory.join(format!("{host}.tree")))
                    .unwrap_or_else(|error| panic!("{}: {error}", tree.display()));
                target.extend(["--sysroot".to_owned(), format!("{host}.tree")]);
                target.extend(text("file").map(str::to_owned));
            }
            _ => {
                panic!("[{name}] needs either an image, a host, a capture, text, a log or evidence")
            }
        }
        let args = table
            .get("args")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten();
        target.extend(args.map(|arg| arg.as_str().expect("arguments are text").to_owned()));
        let known = [
            "image", "host", "capture", "text", "file", "args", "evidence", "log",
        ];
        assert!(
            table.keys().all(|key| known.contains(&key.as_str())),
            "[{name}] has an unknown key: {table:?}"
        );
        Case { verb, target }
    }
}

#[test]
fn every_rule_fires_where_it_must_and_only_there() {
    let mut missing = Vec::new();
    for rule in RULES {
        let code = rule.code.to_string();
        let path = repository().join(format!("tests/rules/{code}.toml"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            missing.push(code);
            continue;
        };
        let fixture: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let run = |name: &str| {
            let directory = tempfile::tempdir().expect("temporary directory");
            let case = Case::prepare(&fixture, name, directory.path());
            let mut args = vec![case.verb];
            args.extend(case.target.iter().map(String::as_str));
            let run = straddle(directory.path(), &args);
            // What tells of nothing where it begins may still show what a rule is about.
            let says_so = run.stdout.contains("; nothing was checked: ");
            assert_eq!(
                run.code == Some(2),
                says_so,
                "{code} [{name}]: {}",
                run.transcript()
            );
            // Files that a virtual disk refers to are shown with the folder they are in.
            let folder = directory.path().canonicalize().expect("it exists");
            let transcript = run
                .transcript()
                .replace(&format!("{}/", folder.display()), "");
            (args.join(" "), run, transcript)
        };
        let fires = |text: &str| text.contains(&format!("[{code}]"));

        let (command, triggered, transcript) = run("triggers");
        assert!(
            fires(&triggered.stdout),
            "{code} does not fire on its own fixture: {}",
            triggered.transcript()
        );
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(repository().join("tests/cli/snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_description(format!("straddle {command}"));
        settings.bind(|| insta::assert_snapshot!(code.clone(), transcript));

        let (command, silent, _) = run("silent");
        assert!(
            !fires(&silent.stdout),
            "{code} fires on `straddle {command}`: {}",
            silent.transcript()
        );
    }
    assert!(
        missing.is_empty(),
        "rules without a fixture in tests/rules: {missing:?}"
    );
}

#[test]
fn no_fixture_or_snapshot_is_left_over() {
    let codes: Vec<String> = RULES.iter().map(|rule| rule.code.to_string()).collect();
    for entry in std::fs::read_dir(repository().join("tests/rules")).expect("tests/rules exists") {
        let path = entry.expect("readable").path();
        let stem = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        assert!(
            codes.contains(&stem),
            "{} belongs to no rule",
            path.display()
        );
    }
}
