//! Lists in files that people write: of verbs, rules and formats, and of fuzz targets.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use straddle::probe::{Class, registry};
use straddle::rules::RULES;

use super::regions::replaced;
use crate::run::repository;
use crate::soak;

/// A command, as `--help` lists it.
#[derive(Debug, PartialEq)]
pub(super) struct Command {
    pub(super) name: String,
    about: String,
}

/// Every file that has a list, with its lists as they should be.
pub(super) fn pages(verbs: &[Command]) -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for (file, marker, list) in [
        ("README.md", "<!-- generated: verbs -->", verb_table(verbs)),
        ("README.md", "<!-- generated: formats -->", formats()),
        ("README.md", "<!-- generated: rules -->", rules()?),
        ("fuzz/Cargo.toml", "# generated: targets", targets()?),
    ] {
        let path = PathBuf::from(file);
        let text = match pages.remove(&path) {
            Some(text) => text,
            None => std::fs::read_to_string(repository().join(file)).context(file)?,
        };
        pages.insert(path, replaced(&text, marker, &list).context(file)?);
    }
    Ok(pages)
}

/// The commands that a help lists, from clap's definition; none where it lists none.
pub(super) fn commands(help: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in lines.take_while(|line| !line.is_empty()) {
        let words = line.trim_start();
        match (commands.last_mut(), words.split_once(' ')) {
            // Names stand below each other, and what goes on in the next line stands further to the right.
            (Some(last), _) if line.starts_with("   ") => {
                last.about.push(' ');
                last.about.push_str(words);
            }
            // It has no page of its own: it prints those of the others.
            (_, Some(("help", _))) => {}
            (_, Some((name, about))) => commands.push(Command {
                name: name.to_owned(),
                about: about.trim_start().to_owned(),
            }),
            (_, None) => {}
        }
    }
    commands
}

fn verb_table(verbs: &[Command]) -> String {
    let mut text = String::from("| verb | what it answers or does |\n|---|---|\n");
    for Command { name, about } in verbs {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
    text
}

fn rules() -> Result<String> {
    let mut families: Vec<(&str, Vec<String>)> = Vec::new();
    for rule in RULES {
        let family = rule.code.family().context("a code has a family")?;
        let code = rule.code.to_string();
        match families.last_mut() {
            Some((title, codes)) if *title == family.title() => codes.push(code),
            _ => families.push((family.title(), vec![code])),
        }
    }
    let mut text = format!(
        "{} [rules](docs/rules/README.md), by what they are about:\n\n| about | codes | rules |\n|---|---|---|\n",
        RULES.len()
    );
    for (title, codes) in families {
        let range = match codes.as_slice() {
            [first, .., last] => format!("{first} to {last}"),
            few => few.concat(),
        };
        let _ = writeln!(text, "| {title} | {range} | {} |", codes.len());
    }
    Ok(text)
}

fn formats() -> String {
    let of = |class: Class| {
        let mut names: Vec<&str> = registry::all()
            .filter(|prober| prober.class == class)
            .map(|prober| prober.name)
            .collect();
        // Some have a second prober, which looks for copies.
        names.sort_unstable();
        names.dedup();
        names
    };
    let containers = |read: bool| {
        let formats = registry::CONTAINERS.iter();
        formats
            .filter(|format| format.reads.is_empty() != read)
            .map(|format| format.name)
            .collect()
    };
    let mut text = String::from("| what | formats |\n|---|---|\n");
    for (what, names) in [
        ("partition tables", of(Class::Table)),
        ("tables inside a partition", of(Class::NestedTable)),
        ("filesystems, swap", of(Class::Filesystem)),
        ("database files", of(Class::DatabaseFile)),
        ("virtual disks", containers(true)),
        ("virtual disks that are only named", containers(false)),
        (
            "arrays, volume managers, encryption",
            registry::VOLUMES.iter().map(|format| format.name).collect(),
        ),
    ] {
        let _ = writeln!(text, "| {what} | {} |", names.join(", "));
    }
    text
}

/// The programs of the fuzz crate.
fn targets() -> Result<String> {
    let blocks = soak::targets()?.into_iter().map(|name| {
        format!(
            "[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\ntest = false\ndoc = false\nbench = false\n"
        )
    });
    Ok(blocks.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "Does it.\n\nUsage: x [COMMAND]\n\nCommands:\n  check        Is it aligned, and\n               \
                    what does it cost?\n  man          Prints a page\n  help         Print this message\n\nOptions:\n  -h, --help  Print help\n";
        let command = |name: &str, about: &str| Command {
            name: name.to_owned(),
            about: about.to_owned(),
        };
        assert_eq!(
            commands(help),
            [
                command("check", "Is it aligned, and what does it cost?"),
                command("man", "Prints a page")
            ]
        );
        assert_eq!(commands("Usage: x\n\nOptions:\n  -h  Print help\n"), []);
    }
}
