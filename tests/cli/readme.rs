//! The README and the tutorials are run: what they show is what the program prints.
//!
//! In a fenced block marked `console`, lines that begin with `$ ` are commands and the lines behind each are what it
//! prints, exactly; `...` on a line of its own stands for any number of lines. The blocks of a file share one scratch
//! directory, in which `tests/hosts` is there as `hosts` and `tests/captured` as `captured`. A block that cannot be run is marked `console,ignore`, behind a
//! comment that says why: `<!-- not run: needs root -->`. Commands of cargo are not run; they must be among those known
//! here, and so must those in blocks marked `sh`.
//!
//! With `INSTA_UPDATE=always`, as for snapshots, what commands print is written into the file where it shows all of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use straddle_testkit::shipped::under_test;

use crate::support::repository;

/// What may be said of cargo: each is run by the tests' own entry point or by the CI.
const CARGO: [&str; 7] = [
    "cargo run --release -- check",
    "cargo run --release --package straddle-cli -- check",
    "cargo xtask test",
    "cargo xtask dist",
    "cargo xtask docs",
    "cargo doc --open --package straddle",
    "cargo install --path crates/cli",
];

/// A fenced block of a Markdown file.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// Line of the opening fence, from 1.
    line: usize,
    /// What stands behind the fence: `console`, `sh`, `console,ignore`.
    info: String,
    /// Why it is not run, from the comment above.
    not_run: Option<String>,
    body: Vec<String>,
}

/// A command, and what is to be printed.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Line of the command, from 1.
    line: usize,
    command: String,
    expected: Vec<String>,
}

impl Step {
    /// True when nothing is left out.
    fn shows_all(&self) -> bool {
        !self.expected.iter().any(|line| line == "...")
    }

    /// Replaces what is shown by what is printed; `lines` has for each line of the file what comes in its place.
    fn update(&self, printed: &str, lines: &mut [Vec<String>]) {
        let printed = visible(printed.lines());
        let shown = self.line..self.line + self.expected.len();
        for (number, line) in (1..).zip(lines) {
            if number == self.line {
                line.extend(printed.iter().map(|&line| line.to_owned()));
            } else if shown.contains(&(number - 1)) {
                line.clear();
            }
        }
    }
}

fn blocks(markdown: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut not_run: Option<String> = None;
    for (line, text) in (1..).zip(markdown.lines()) {
        match &mut open {
            None => {
                if let Some(info) = text.strip_prefix("```") {
                    open = Some(Block {
                        line,
                        info: info.trim().to_owned(),
                        not_run: not_run.take(),
                        body: Vec::new(),
                    });
                } else if let Some(reason) = text.trim().strip_prefix("<!-- not run:") {
                    let reason = reason.strip_suffix("-->").unwrap_or("").trim();
                    if reason.is_empty() {
                        return Err(format!("line {line}: not run, and no reason on the line"));
                    }
                    not_run = Some(reason.to_owned());
                } else if !text.trim().is_empty() && not_run.take().is_some() {
                    return Err(format!("line {line}: \"not run\" is not about a block"));
                }
            }
            Some(block) if text.trim_end() != "```" => block.body.push(text.to_owned()),
            Some(_) => blocks.extend(open.take()),
        }
    }
    match open {
        Some(block) => Err(format!("line {}: the block does not end", block.line)),
        None => Ok(blocks),
    }
}

/// The commands of a block that is to be run; nothing for other blocks.
fn steps(block: &Block) -> Result<Vec<Step>, String> {
    let at = block.line;
    match (block.info.as_str(), &block.not_run) {
        ("console", None) => {}
        ("console" | "console,ignore", Some(_)) => return Ok(Vec::new()),
        ("console,ignore", None) => {
            return Err(format!("line {at}: ignored, and no reason given"));
        }
        (info, _) if info.starts_with("console") => {
            return Err(format!("line {at}: ```{info} is not known"));
        }
        ("sh", _) => {
            for command in &block.body {
                known_to_cargo(command)?;
            }
            return Ok(Vec::new());
        }
        _ => return Ok(Vec::new()),
    }
    let mut steps: Vec<Step> = Vec::new();
    for (line, text) in (at + 1..).zip(&block.body) {
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step {
                line,
                command: command.to_owned(),
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            step.expected.push(text.clone());
        } else {
            return Err(format!("line {line}: output before the first command"));
        }
    }
    if steps.is_empty() {
        return Err(format!("line {at}: no command"));
    }
    Ok(steps)
}

/// True for commands of cargo, which must be known.
fn known_to_cargo(command: &str) -> Result<bool, String> {
    let is_cargo = command.split_whitespace().next() == Some("cargo");
    if is_cargo && !CARGO.contains(&command.trim()) {
        return Err(format!("`{command}` is not among the known ones"));
    }
    Ok(is_cargo)
}

/// Whether `printed` is what `expected` says, where `...` stands for any number of lines.
fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|skip| matches(rest, &printed[skip..])),
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, more)| first == line && matches(rest, more)),
    }
}

/// Runs the blocks of one file. What it shows differently is an error, or with `updates` written into it.
fn check(path: &Path, updates: bool) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let blocks = blocks(&text)?;
    let scratch = tempfile::tempdir().expect("a temporary directory");
    for name in ["hosts", "captured"] {
        let fixtures = repository().join("tests").join(name).canonicalize();
        std::os::unix::fs::symlink(fixtures.expect("is there"), scratch.path().join(name))
            .expect("writable");
    }
    let mut ran = 0;
    let mut lines: Vec<Vec<String>> = text.lines().map(|line| vec![line.to_owned()]).collect();
    for block in &blocks {
        for step in steps(block)? {
            if !known_to_cargo(&step.command)? {
                let printed = run(&step.command, scratch.path());
                let agrees = compare(&step, &printed);
                if updates && agrees.is_err() && step.shows_all() {
                    step.update(&printed, &mut lines);
                } else {
                    agrees?;
                }
                ran += 1;
            }
        }
    }
    let updated = lines.concat().join("\n") + "\n";
    if updates && updated != text {
        std::fs::write(path, updated).map_err(|error| error.to_string())?;
    }
    match ran {
        0 => Err("no block of it is run".to_owned()),
        _ => Ok(ran),
    }
}

fn compare(step: &Step, printed: &str) -> Result<(), String> {
    let expected = visible(step.expected.iter().map(String::as_str));
    let printed = visible(printed.lines());
    if matches(&expected, &printed) {
        return Ok(());
    }
    Err(format!(
        "line {}: `{}` is to print\n{}\n--- and prints\n{}",
        step.line,
        step.command,
        expected.join("\n"),
        printed.join("\n")
    ))
}

/// Without the space at the ends of lines, which cannot be seen in Markdown, and without empty lines at the end.
fn visible<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut lines: Vec<&str> = lines.map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// What a command prints, on both channels, as a reader in a terminal of 100 columns would see it.
fn run(command: &str, directory: &Path) -> String {
    let program = under_test(env!("CARGO_BIN_EXE_straddle"));
    let programs = program.parent().expect("is in a directory");
    let path = format!(
        "{}:/usr/sbin:/usr/bin:/sbin:/bin",
        programs.to_str().expect("UTF-8")
    );
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(directory)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .env("STRADDLE_HISTORY", "none")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("there is a shell");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The README, the page on captured text, and the tutorials.
fn files() -> Vec<PathBuf> {
    let mut files = vec![repository().join("README.md"), checking_servers()];
    let tutorials = repository().join("docs/tutorials");
    let entries = std::fs::read_dir(&tutorials).expect("docs/tutorials is there");
    files.extend(entries.map(|entry| entry.expect("readable").path()));
    files.retain(|path| path.extension().is_some_and(|e| e == "md"));
    files.sort();
    files
}

fn checking_servers() -> PathBuf {
    repository().join("docs/checking-servers.md")
}

/// What a finding asks for is on the page, as it is typed.
#[test]
fn every_command_that_a_finding_names_is_explained() {
    let page = std::fs::read_to_string(checking_servers()).expect("is there");
    let missing: Vec<&str> = straddle::rules::COMMANDS
        .iter()
        .map(|supply| supply.command)
        .filter(|command| !page.contains(command))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_the_readme_and_the_tutorials_show_is_what_happens() {
    let files = files();
    assert!(files.len() >= 2, "{files:?}");
    let updates = std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always");
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let error = check(path, updates).err()?;
            Some(format!("{}: {error}", path.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

mod parsing {
    use super::{Step, blocks, check, known_to_cargo, matches, steps};

    const FILE: &str = "# A\n\n```console\n$ a\n1\n2\n\n$ b | c\n```\n\n<!-- not run: needs root -->\n\n```console\n$ d\n```\n\n```text\n$ e\n```\n";

    fn all(markdown: &str) -> Result<Vec<Step>, String> {
        let mut found = Vec::new();
        for block in blocks(markdown)? {
            found.extend(steps(&block)?);
        }
        Ok(found)
    }

    fn step(line: usize, command: &str, expected: &[&str]) -> Step {
        Step {
            line,
            command: command.to_owned(),
            expected: expected.iter().map(|s| (*s).to_owned()).collect(),
        }
    }

    #[test]
    fn commands_are_followed_by_what_they_print() {
        assert_eq!(
            all(FILE),
            Ok(vec![step(4, "a", &["1", "2", ""]), step(8, "b | c", &[])])
        );
        let found = blocks(FILE).expect("well formed");
        let reasons: Vec<Option<&str>> = found.iter().map(|b| b.not_run.as_deref()).collect();
        assert_eq!(reasons, [None, Some("needs root"), None]);
    }

    #[test]
    fn mistakes_are_told() {
        for (markdown, told) in [
            ("```console\n$ a\n", "line 1: the block does not end"),
            (
                "```console\nout\n```\n",
                "line 2: output before the first command",
            ),
            ("\n```console\n```\n", "line 2: no command"),
            (
                "```console,ignore\n$ a\n```\n",
                "line 1: ignored, and no reason given",
            ),
            (
                "```console,later\n$ a\n```\n",
                "line 1: ```console,later is not known",
            ),
            (
                "<!-- not run: -->\n```console\n$ a\n```\n",
                "line 1: not run, and no reason on the line",
            ),
            (
                "<!-- not run: old -->\nprose\n",
                "line 2: \"not run\" is not about a block",
            ),
            (
                "```sh\ncargo frobnicate\n```\n",
                "`cargo frobnicate` is not among the known ones",
            ),
        ] {
            assert_eq!(all(markdown), Err(told.to_owned()), "{markdown:?}");
        }
    }

    #[test]
    fn three_dots_stand_for_any_lines() {
        assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
        assert!(matches(&["a", "...", "d"], &["a", "d"]));
        assert!(matches(&["..."], &[]));
        assert!(matches(&["...", "b", "...", "b"], &["b", "a", "b"]));
        assert!(!matches(&["a", "..."], &["b", "a"]));
        assert!(!matches(&["a", "...", "b", "..."], &["a", "c"]));
        assert!(!matches(&["a"], &["a", "b"]));
        assert!(!matches(&["a", "b"], &["a"]));
    }

    #[test]
    fn cargo_is_known_or_refused() {
        assert_eq!(known_to_cargo("cargo xtask test"), Ok(true));
        assert_eq!(known_to_cargo("straddle check"), Ok(false));
        assert!(known_to_cargo("cargo publish").is_err());
    }

    #[test]
    fn a_file_is_run_in_one_directory_and_compared() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let run = |text: &str| {
            let path = directory.path().join("a.md");
            std::fs::write(&path, text).expect("writable");
            check(&path, false)
        };
        let two = "```console\n$ echo one > f\n```\nand\n```console\n$ cat f; echo two >&2\none\ntwo\n```\n";
        assert_eq!(run(two), Ok(2));
        let error = run("```console\n$ echo one\ntwo\n```\n").expect_err("differs");
        assert_eq!(
            error,
            "line 2: `echo one` is to print\ntwo\n--- and prints\none"
        );
        assert_eq!(run("prose\n"), Err("no block of it is run".to_owned()));
        assert_eq!(
            run("```console\n$ cargo xtask test\n```\n"),
            Err("no block of it is run".to_owned())
        );
    }
}

/// Every test that the page on safety names is one that there is.
#[test]
fn the_tests_that_hold_promises_exist() {
    fn sources(directory: &Path, out: &mut String) {
        for entry in std::fs::read_dir(directory).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.file_stem().unwrap_or_default().to_string_lossy();
                out.push_str(&format!("\nmod {file};\n"));
                out.push_str(&std::fs::read_to_string(&path).expect("UTF-8"));
            }
        }
    }
    let mut code = String::new();
    for directory in ["tests", "crates"] {
        sources(&repository().join(directory), &mut code);
    }
    let page = std::fs::read_to_string(repository().join("docs/safety.md")).expect("readable");
    let words = page.split('`').skip(1).step_by(2);
    let is_test = |word: &&str| word.contains("::") && !word.starts_with("straddle_io::");
    let tests: Vec<&str> = words
        .filter(is_test)
        .filter(|word| *word != "x::y")
        .collect();
    assert!(tests.len() > 12, "{tests:?}");
    for test in tests {
        let (module, name) = test.rsplit_once("::").expect("it has one");
        let module = module.rsplit("::").next().expect("it has one");
        assert!(
            code.contains(&format!("fn {name}()")) && code.contains(&format!("mod {module};")),
            "docs/safety.md names {test}"
        );
    }
}
