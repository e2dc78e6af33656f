//! Pages that are written from the program itself: rules, beliefs, formats, models, profiles, studies, the command line; and the
//! lists of them in files that people write.

mod lists;
mod models;
mod pictures;
mod regions;
pub(crate) mod studies;
mod words;

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use straddle::fix::change::KINDS;
use straddle::fix::script::TOOLS;
use straddle::probe::{Class, registry};
use straddle::report::json::pretty;
use straddle::rules::{FOLKLORE, RULES, Rule};
use straddle::sources::captured;

use crate::run::{as_tests_have_it, output, repository, run};
use lists::{Command as Verb, commands};
pub(crate) use pictures::reports as pictures;

/// Folders that hold nothing but generated pages.
const FOLDERS: [&str; 4] = [
    "docs/rules",
    "docs/folklore",
    "docs/reference",
    "docs/schemas",
];

/// Writes all pages, and removes those that are no longer made.
pub(crate) fn write() -> Result<()> {
    // The program that other pages are made with carries these.
    write_all(&schemas()?)?;
    let pages = pages()?;
    for folder in FOLDERS {
        let _ = std::fs::remove_dir_all(folder);
    }
    write_all(&pages)?;
    println!("docs: {} pages", pages.len());
    Ok(())
}

fn write_all(pages: &BTreeMap<PathBuf, String>) -> Result<()> {
    for (path, text) in pages {
        let folder = path.parent().context("a page lies in a folder")?;
        std::fs::create_dir_all(folder)?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// The schemas of documents.
fn schemas() -> Result<BTreeMap<PathBuf, String>> {
    let schemas = straddle::report::schemas::all().into_iter();
    schemas
        .map(|(verb, schema)| {
            let path = PathBuf::from(format!("docs/schemas/{verb}.json"));
            Ok((path, pretty(&schema)?))
        })
        .collect()
}

/// Fails when a page differs from what would be written, or is left over, or uses words that the vocabulary advises against.
pub(crate) fn check() -> Result<()> {
    let pages = pages()?;
    let mut stale = differing(&pages);
    for folder in FOLDERS {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if !pages.contains_key(&path) {
                stale.push(path.display().to_string());
            }
        }
    }
    if !stale.is_empty() {
        bail!("out of date; run `cargo xtask docs`: {}", stale.join(" "));
    }
    let faults = words::faults()?;
    if !faults.is_empty() {
        bail!(
            "words that the vocabulary advises against:\n{}",
            faults.join("\n")
        );
    }
    println!("docs: {} pages are up to date", pages.len());
    Ok(())
}

/// The pages that are not in the repository as they should be.
fn differing(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    pages
        .iter()
        .filter(|(path, text)| {
            std::fs::read_to_string(repository().join(path))
                .ok()
                .as_ref()
                != Some(*text)
        })
        .map(|(path, _)| path.display().to_string())
        .collect()
}

fn pages() -> Result<BTreeMap<PathBuf, String>> {
    run(as_tests_have_it().args(["--bin", "straddle"]))?;
    let mut pages = lists::pages(&commands(&help(&[])?))?;
    let mut index = String::from(
        "# Rules\n\nWhat `straddle check` can find. Codes are permanent; `straddle explain CODE` prints the same page.\n\n| code | finding |\n|---|---|\n",
    );
    for rule in RULES {
        let _ = writeln!(index, "| [{0}]({0}.md) | {1} |", rule.code, rule.summary);
        pages.insert(
            PathBuf::from(format!("docs/rules/{}.md", rule.code)),
            rule_page(rule),
        );
    }
    index.push_str("\nBeliefs, and what is true of them:\n\n");
    for page in FOLKLORE {
        let _ = writeln!(index, "- [{}](../folklore/{}.md)", page.belief, page.name);
        let mut text = format!(
            "# \"{}\"\n\n{}\n\n## References\n\n",
            page.belief, page.truth
        );
        references(&mut text, page.references);
        pages.insert(
            PathBuf::from(format!("docs/folklore/{}.md", page.name)),
            text,
        );
    }
    pages.insert(PathBuf::from("docs/rules/README.md"), index);
    pages.insert(PathBuf::from("docs/reference/formats.md"), formats());
    pages.insert(PathBuf::from("docs/reference/targets.md"), targets());
    pages.insert(PathBuf::from("docs/reference/captures.md"), captures());
    pages.insert(PathBuf::from("docs/reference/evidence.md"), evidence());
    pages.insert(PathBuf::from("docs/reference/traces.md"), traces());
    pages.insert(PathBuf::from("docs/reference/repairs.md"), repairs());
    pages.insert(
        PathBuf::from("docs/reference/command-line.md"),
        command_line()?,
    );
    pages.extend(schemas()?);
    pages.extend(models::pages()?);
    pages.extend(pictures::pages()?);
    pages.insert(PathBuf::from("docs/profiles.md"), models::profiles()?);
    pages.insert(PathBuf::from("docs/studies.md"), studies::page()?);
    pages.insert(PathBuf::from(TRUST), trust()?);
    Ok(pages)
}

/// The page on how far predictions can be trusted: written by hand, but for its scoreboard.
const TRUST: &str = "docs/trusting-predictions.md";

fn trust() -> Result<String> {
    let text = std::fs::read_to_string(TRUST).context(TRUST)?;
    let board = match studies::newest_document()? {
        Some((folder, document)) => format!(
            "{}\nFrom [{1}](../{1}/summary.md).\n",
            studies::kinds(&document["score"]),
            folder.display()
        ),
        None => "No run is archived yet.\n".to_owned(),
    };
    regions::replaced(&text, "<!-- scoreboard -->", &board)
}

fn rule_page(rule: &Rule) -> String {
    let mut text = format!(
        "# {}: {}\n\nName: `{}`\n",
        rule.code, rule.summary, rule.name
    );
    for (heading, body) in rule.page.sections() {
        let _ = write!(text, "\n## {heading}\n\n{body}\n");
    }
    text.push_str("\n## References\n\n");
    references(&mut text, rule.page.references);
    text
}

fn references(text: &mut String, references: &[&str]) {
    for reference in references {
        let _ = writeln!(text, "- {reference}");
    }
}

/// What `fix` changes, and the tools that it writes scripts for.
fn repairs() -> String {
    let mut text = String::from(
        "# Repairs\n\nWhat `straddle fix` changes, in the order in which it is tried for each layer, and the findings that it is for; \
         [fixing](../fixing.md) has the rest.\n\n| change | of what | findings |\n|---|---|---|\n",
    );
    for kind in KINDS {
        let codes: Vec<String> = kind
            .codes()
            .map(|code| format!("[{code}](../rules/{code}.md)"))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            kind.name,
            kind.title,
            codes.join(", ")
        );
    }
    text.push_str("\n## Scripts\n\n| `--script` | written for | file |\n|---|---|---|\n");
    for tool in TOOLS {
        let _ = writeln!(
            text,
            "| {} | {} | .{} |",
            tool.name,
            tool.title,
            tool.language.extension()
        );
    }
    text
}

fn formats() -> String {
    let mut text = String::from(
        "# Formats\n\nWhat is recognised in images and on devices, in the order in which it is tried.\n\n| format | what it is | smallest size, bytes |\n|---|---|---|\n",
    );
    for prober in registry::all() {
        let class = match prober.class {
            Class::Table => "partition table",
            Class::NestedTable => "table inside a partition",
            Class::Filesystem => "filesystem or swap",
            Class::DatabaseFile => "database file",
        };
        let _ = writeln!(text, "| {} | {class} | {} |", prober.name, prober.min_size);
    }
    text.push_str(
        "\n## Database files\n\nRecognised by their first pages, as a whole file; followed from there to the disks.\n\n\
         | format | verified against |\n|---|---|\n",
    );
    for (name, verified) in registry::DATABASES_VERIFIED {
        let _ = writeln!(text, "| {name} | {verified} |");
    }
    text.push_str(
        "\n## Virtual disks\n\nOpened before anything else is tried, block by block, with everything inside them.\n\
         [Virtual machines](../virtual-machines.md) has the limits, and where parents are sought.\n\n\
         | format | what is read | what is named and not followed |\n|---|---|---|\n",
    );
    for format in registry::CONTAINERS {
        let reads = if format.reads.is_empty() {
            "nothing"
        } else {
            format.reads
        };
        let _ = writeln!(text, "| {} | {reads} | {} |", format.name, format.refuses);
    }
    text.push_str(
        "\n## Volumes\n\nArrays, volume managers and encryption: looked for on every disk, partition and volume, before tables and \
         filesystems. [Volumes](../volumes.md) says how members are put together.\n\n\
         | format | what it is | what is read | what is named and not followed | verified against |\n|---|---|---|---|---|\n",
    );
    for format in registry::VOLUMES {
        let refuses = if format.refuses.is_empty() {
            "nothing"
        } else {
            format.refuses
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {refuses} | {} |",
            format.name, format.title, format.reads, format.verified
        );
    }
    let with_files: Vec<&str> = registry::FILESYSTEMS
        .iter()
        .filter(|prober| prober.find.is_some())
        .map(|prober| prober.name)
        .collect();
    let _ = writeln!(
        text,
        "\nFiles inside a guest (`--guest-file`) are found in these filesystems: {}.",
        with_files.join(", ")
    );
    text
}

/// The tools whose captured output is read, by the system that they run on.
fn captures() -> String {
    const SYSTEMS: [(&str, &str); 6] = [
        ("windows", "Windows"),
        ("linux", "Linux"),
        ("freebsd", "FreeBSD, TrueNAS CORE, pfSense"),
        ("macos", "macOS"),
        ("esxi", "ESXi"),
        ("raid", "RAID controllers, on any system"),
    ];
    let mut text = String::from(
        "# Captured text\n\nTools whose output `straddle check` reads from a file, and the commands that print it. \
         [Checking servers](../checking-servers.md) says which of them to ask for, and what their lines mean.\n",
    );
    let mut tools = Vec::from(captured::TOOLS);
    tools.sort_by_key(|tool| tool.name);
    for (system, heading) in SYSTEMS {
        let _ = write!(text, "\n## {heading}\n\n| tool | commands |\n|---|---|\n");
        for tool in tools.iter().filter(|tool| tool.platform == system) {
            let commands: Vec<String> = tool
                .commands
                .iter()
                .map(|command| format!("`{}`", command.replace('|', "\\|")))
                .collect();
            let _ = writeln!(text, "| {} | {} |", tool.name, commands.join("<br>"));
        }
    }
    let _ = write!(
        text,
        "\nOf a file, the first {} MiB are read. Its lines may come in any order, with prompts and other text between them; UTF-8, \
         UTF-16 and the code pages of consoles are told apart.\n",
        captured::MAX_BYTES >> 20
    );
    text
}

/// What `straddle evidence` reads.
fn evidence() -> String {
    let mut text = String::from(
        "# Logs and counters\n\nWhat `straddle evidence` reads, what writes it, and what is taken from it. \
         [What logs and counters already say](../evidence.md) tells how to use it.\n\n| name | written by | what is read |\n|---|---|---|\n",
    );
    let mut formats = Vec::from(straddle::evidence::FORMATS);
    formats.sort_by_key(|format| format.name);
    for format in formats {
        let commands: Vec<String> = format
            .commands
            .iter()
            .map(|command| format!("`{}`", command.replace('|', "\\|")))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            format.name,
            commands.join("<br>"),
            format.says
        );
    }
    text
}

/// The page of kinds of targets.
fn targets() -> String {
    let mut text = String::from(
        "# Kinds of targets\n\nWhat a target can be, and what decides. [Targets](../targets.md) says what is done with each.\n\n\
         | `--as` | what it is | what shows it |\n|---|---|---|\n",
    );
    for about in straddle::check::KINDS {
        let row = format!(
            "| `{}` | {} | {} |\n",
            about.name, about.title, about.told_by
        );
        text.push_str(&row);
    }
    text
}

fn traces() -> String {
    let mut text = String::from(
        "# Traces\n\nWhat `straddle trace` reads, told by what is in a file. [What offsets cost on a recorded workload](../traces.md) tells how to use it.\n\n\
         | name | what writes it | what is read |\n|---|---|---|\n",
    );
    let mut formats = [straddle::trace::FORMATS, straddle::trace::TABLES].concat();
    formats.sort_by_key(|format| format.name);
    for format in formats {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            format.name,
            format.of.replace('|', "\\|"),
            format.says.replace('|', "\\|")
        );
    }
    text
}

/// `--help` of every command, as it is printed; of one that has commands of its own, theirs.
fn command_line() -> Result<String> {
    let mut text = String::from("# Command line\n");
    let mut section = |words: &[&str], help: &str| {
        let title = [&["straddle"], words].concat().join(" ");
        let _ = write!(text, "\n## {title}\n\n```text\n{}\n```\n", help.trim_end());
    };
    let top = help(&[])?;
    section(&[], &top);
    for Verb { name, .. } in commands(&top) {
        let whole = help(&[&name])?;
        let parts = commands(&whole);
        if parts.is_empty() {
            section(&[&name], &whole);
        }
        for part in parts {
            let words = [name.as_str(), &part.name];
            section(&words, &help(&words)?);
        }
    }
    Ok(text)
}

/// What the command that was built prints of itself.
fn help(words: &[&str]) -> Result<String> {
    let mut straddle = Command::new("target/debug/straddle");
    output(straddle.args(words).arg("--help").env("COLUMNS", "100"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_somebody_changed_by_hand_is_out_of_date() {
        let path = PathBuf::from("fuzz/Cargo.toml");
        let mut pages = lists::pages(&[]).expect("the lists are written");
        pages.retain(|page, _| *page == path);
        assert_eq!(pages.len(), 1);
        assert!(differing(&pages).is_empty());
        let text = pages.get_mut(&path).expect("it is one of them");
        text.push_str("[[bin]]\n");
        assert_eq!(differing(&pages), ["fuzz/Cargo.toml"]);
    }

    /// The README names the verbs: without them it is another.
    #[test]
    fn the_lists_are_among_the_pages_and_checked_for_every_commit() {
        let pages = lists::pages(&[]).expect("the lists are written");
        assert!(differing(&pages).contains(&"README.md".to_owned()));
        let ci = std::fs::read_to_string(repository().join(".ci/run")).expect("readable");
        assert!(ci.contains("\nstep cargo xtask docs --check\n"));
    }
}
