//! What scripts in shell begin with: options, and functions, of which each script has those that it uses.

use std::fmt::Write;

/// Those pieces of `known`, divided by empty lines, that `text` uses, or that one of them uses: functions by their name, others by
/// the variable that they begin with.
pub(super) fn used<'a>(known: impl Iterator<Item = &'a &'a str>, text: &str) -> String {
    let pieces: Vec<&str> = known
        .flat_map(|functions| functions.split("\n\n"))
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect();
    let mut taken = vec![false; pieces.len()];
    let mut all = text.to_owned();
    loop {
        let next = pieces.iter().zip(&taken).position(|(piece, taken)| {
            let mut lines = piece.lines().filter(|line| !line.starts_with('#'));
            let code = lines.next().unwrap_or_default();
            !taken
                && match code.split_once(['(', '=']) {
                    // What a tool has under the same name is its own.
                    Some((name, rest)) if rest.starts_with(')') => {
                        is_called(&all, name) && !text.contains(&format!("\n{name}() {{"))
                    }
                    Some((name, _)) => {
                        all.contains(&format!("${name}")) || all.contains(&format!("{name}="))
                    }
                    None => false,
                }
        });
        let Some(next) = next else { break };
        taken[next] = true;
        all += pieces[next];
    }
    let taken = pieces.iter().zip(&taken).filter(|(_, taken)| **taken);
    taken.map(|(piece, _)| format!("{}\n\n", piece)).collect()
}

/// True when a line of `text` calls the function `name`.
fn is_called(text: &str, name: &str) -> bool {
    let before = ["", "!", "&&", "||", "{", "(", "then", "do", ";", "if"];
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with('#')).any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (head, tail) = line.split_at(at);
            let tail = tail.get(name.len()..).unwrap_or_default();
            let ends = tail
                .chars()
                .next()
                .is_none_or(|c| c == ' ' || c == ')' || c == ';');
            let head = head.trim_end();
            let is_command = before.iter().any(|word| {
                head.strip_suffix(word).is_some_and(|rest| {
                    !word.is_empty() && !rest.ends_with(|c: char| c.is_ascii_alphanumeric())
                        || rest.is_empty()
                })
            });
            ends && is_command
        })
    })
}

/// An option of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// How it is given: `--onto`.
    pub(super) flag: &'static str,
    /// What follows it: `DEVICE`; nothing for one that is given or not.
    pub(super) value: Option<&'static str>,
    /// What it is called in the script: empty, or 0 and 1.
    pub(super) variable: &'static str,
}

/// The option for a script after which files must be brought back.
pub(super) static BACKED_UP: Choice = Choice {
    flag: "--contents-are-backed-up",
    value: None,
    variable: "backed_up",
};

/// Lines that read the options: `--yes`, these, and a folder where the script `keeps` something.
pub(super) fn options(choices: &[&Choice], keeps: bool) -> String {
    let mut usage = String::from("usage: $0 [--yes]");
    let mut presets = String::from("yes=0\n");
    let mut cases = String::from("    --yes) yes=1 ;;\n");
    for choice in choices {
        let Choice {
            flag,
            value,
            variable,
        } = choice;
        match value {
            None => {
                let _ = write!(usage, " [{flag}]");
                let _ = writeln!(presets, "{variable}=0");
                let _ = writeln!(cases, "    {flag}) {variable}=1 ;;");
            }
            Some(value) => {
                let _ = write!(usage, " [{flag} {value}]");
                let _ = writeln!(presets, "{variable}=");
                let _ = write!(
                    cases,
                    "    {flag})\n        [ $# -gt 1 ] || usage\n        {variable}=$2\n        shift\n        ;;\n"
                );
            }
        }
    }
    let mut none = "*";
    if keeps {
        usage += " [FOLDER]";
        presets += "# Where logs, and copies of what is re-created, are kept: not on a disk that is changed.\nfolder=.\n";
        none = "-*";
    }
    let _ = writeln!(cases, "    {none}) usage ;;");
    if keeps {
        cases += "    *) folder=$1 ;;\n";
    }
    let absolute = match keeps {
        true => "case $folder in\n/*) ;;\n.) folder=$PWD ;;\n*) folder=$PWD/$folder ;;\nesac\n",
        false => "",
    };
    let usage = format!("usage() {{\n    echo \"{usage}\" >&2\n    exit 2\n}}\n\n");
    format!(
        "{usage}{presets}while [ $# -gt 0 ]; do\n    case $1 in\n{cases}    esac\n    shift\ndone\n{absolute}\n"
    )
}

/// Functions that every script has.
pub(super) const COMMON: &str = concat!(include_str!("fragments/common.sh"), "\n");

/// Functions that scripts for Linux have besides.
pub(super) const PRELUDE: &str = include_str!("fragments/linux.sh");
