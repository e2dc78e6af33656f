//! Names above outputs that may be those of machines: what loops, `head`, parallel-ssh and Bolt print, and what people write.
//!
//! ```text
//! db1                                   echo, hostname
//! ==> db1.txt <==                       head, tail
//! [1] 09:12:44 [SUCCESS] db1            parallel-ssh
//! Finished on db1:                      Bolt
//! ## db1                                Markdown, `h2. db1` in Jira
//! *db1*, --- db1 ---, | db1             Slack, Jira; loops; what becomes of a table in a page
//! node/db1                              kubectl
//! db1: |                                YAML
//! [02.05.24, 14:12:01] Anna: db1        what is exported of a chat
//! On the second one, db2, I get:        what people write
//! …; filename="db1.txt"                 a part of a mail
//! ```
//!
//! Such a line may as well be the name of a device or of a file about the same machine. What stands below the names decides: they are
//! machines where one tool answers one question twice, as between files of a folder.

use std::collections::BTreeSet;

use super::hostname::{is_address, is_machine, is_name};
use super::hosts::{Group, by};
use super::servers::in_folder;
use super::text::Line;
use super::{TOOLS, one};

/// A form of title: the name in the first of these lines, and how many lines say no more than that.
type Form = fn(&[Line<'_>]) -> Option<(String, usize)>;

/// In this order they are tried.
const FORMS: [Form; 7] = [
    of_file,
    of_job,
    of_chapter,
    of_sentence,
    of_chat,
    alone,
    announced,
];

/// Most names of one form that are looked into.
const MAX_NAMES: usize = 4096;

/// The lines of each machine in a text that names several by titles only; `None` where all is of one.
pub(super) fn apart<'t>(lines: &[Line<'t>]) -> Option<Vec<Group<'t>>> {
    FORMS.into_iter().find_map(|form| {
        let names = (0..lines.len()).filter_map(|at| form(&lines[at..]));
        let names: BTreeSet<String> = names.map(|(name, _)| name).take(MAX_NAMES + 1).collect();
        if names.len() < 2 || names.len() > MAX_NAMES {
            return None;
        }
        several(by(lines.to_vec(), form))
    })
}

/// The groups of one machine together, if they are of several.
fn several(groups: Vec<Group<'_>>) -> Option<Vec<Group<'_>>> {
    let title = |group: &Group<'_>| group.0.clone().unwrap_or_default();
    let captures = groups
        .iter()
        .map(|group| one(TOOLS, &title(group), &group.1, 0));
    let captures = captures
        .filter(|capture| !capture.tools.is_empty())
        .collect();
    let servers = in_folder(captures);
    if servers.len() < 2 {
        return None;
    }
    let mut machines: Vec<Group<'_>> = Vec::new();
    for group in groups {
        let of = servers.iter().find(|server| {
            server
                .captures
                .iter()
                .any(|capture| capture.file == title(&group))
        });
        let name = of
            .and_then(|server| server.name.clone())
            .unwrap_or_else(|| title(&group));
        let name = without_ending(&name).to_owned();
        match machines
            .iter_mut()
            .find(|(known, _)| known.as_deref() == Some(&name))
        {
            Some((_, own)) => own.extend(group.1),
            None => machines.push((Some(name), group.1)),
        }
    }
    Some(machines)
}

const ENDINGS: [&str; 4] = [".txt", ".log", ".out", ".lst"];

fn without_ending(name: &str) -> &str {
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(name)
}

/// `==> out/db1.txt <==`, and the name of a part of a mail. Files of the kernel are about the machine that the rest is about.
fn of_file(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let text = lines.first()?.text.trim();
    let shown = || text.strip_prefix("==> ")?.strip_suffix(" <==");
    let attached = || {
        let (_, name) = text.split_once("filename=")?;
        name.trim_matches('"').split('"').next()
    };
    let name = shown().or_else(attached)?;
    let is_text = ENDINGS.iter().any(|ending| name.ends_with(ending));
    // Two folders may have a file of one name.
    (is_text || is_machine(name)).then(|| (name.replace(['/', '\\'], "-"), 1))
}

/// `[1] 09:12:44 [SUCCESS] db1`.
fn of_job(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let text = lines.first()?.text.trim();
    let (_, name) = text
        .strip_prefix('[')?
        .split_once("] ")?
        .1
        .split_once("] ")?;
    let states = ["[SUCCESS]", "[FAILURE]"];
    let known = states.iter().any(|state| text.contains(state));
    (known && is_machine(name)).then(|| (name.to_owned(), 1))
}

/// `## db1`, `h2. db1`.
fn of_chapter(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let text = lines.first()?.text.trim();
    let title = match text.strip_prefix('h') {
        Some(rest) => rest
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix(". ")?,
        None => text
            .strip_prefix('#')?
            .trim_start_matches('#')
            .strip_prefix(' ')?,
    };
    last_word(title.trim_end_matches([':', '#', ' '])).map(|name| (name.to_owned(), 1))
}

/// `Finished on db1:`, `db1:`, and `db1: |` of YAML.
fn of_sentence(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let text = lines.first()?.text.trim().trim_end_matches(['|', '>', '-']);
    last_word(text.trim_end().strip_suffix(':')?).map(|name| (name.to_owned(), 1))
}

/// `[02.05.24, 14:12:01] Anna: db1`: who wrote it to others, and when.
fn of_chat(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let (who, name) = lines.first()?.text.trim().rsplit_once(": ")?;
    let is_timed = who.starts_with('[') && who.bytes().any(|b| b.is_ascii_digit());
    (is_timed && is_machine(name)).then(|| (name.to_owned(), 1))
}

/// `db1`, `*db1*`, `--- node/db1 ---`, `Connecting to db1...`, `3) db1 (10.0.0.5)`.
fn alone(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let dress = |c: char| c == ' ' || "*_`-=~+|#<>[]:@.…".contains(c);
    let text = lines.first()?.text.trim().trim_matches(dress);
    let beside = text
        .strip_suffix(')')
        .and_then(|text| text.split_once(" ("))
        .or_else(|| text.split_once(" - "));
    let title = match beside {
        Some((name, address)) if is_address(address) => name,
        _ => text,
    };
    last_word(title).map(|name| (name.to_owned(), 1))
}

/// Most words of a sentence that announces an output.
const MAX_WORDS: usize = 16;

/// `On the first server (db1) I get:`, `and on db2, the second one:`, `Old server:`.
fn announced(lines: &[Line<'_>]) -> Option<(String, usize)> {
    const KINDS: [&str; 11] = [
        "box", "cluster", "guest", "host", "instance", "machine", "node", "replica", "server",
        "system", "vm",
    ];
    let dress = |c: char| c == ' ' || "*_#>".contains(c);
    let text = lines.first()?.text.trim_matches(dress).strip_suffix(':')?;
    let bare = |word: &str| {
        word.trim_matches(|c: char| "(),.;'\"`*[]".contains(c))
            .to_owned()
    };
    let words: Vec<String> = text
        .split_whitespace()
        .take(MAX_WORDS + 1)
        .map(bare)
        .collect();
    if words.len() > MAX_WORDS {
        return None;
    }
    let mut names = words.iter().filter(|word| is_machine(word));
    match (names.next(), names.next()) {
        (Some(name), None) => Some((name.clone(), 1)),
        (None, _) if (2..=4).contains(&words.len()) => {
            let name = words.join("-").to_lowercase();
            let is_told = words
                .iter()
                .any(|word| KINDS.contains(&&*word.to_lowercase()));
            (is_told && is_name(&name)).then_some((name, 1))
        }
        _ => None,
    }
}

/// The machine of a name, which kubectl writes with what it is: `node/worker1`, `pod/tools-7xk2p`.
fn machine(name: &str) -> Option<&str> {
    const KINDS: [&str; 8] = [
        "host", "machine", "node", "nodes", "pod", "pods", "vm", "vmi",
    ];
    match name.split_once('/') {
        Some((kind, name)) => (KINDS.contains(&kind) && is_name(name)).then_some(name),
        None => is_machine(name).then_some(name),
    }
}

/// The name that a title is, or ends with behind a word that tells what it is.
fn last_word(title: &str) -> Option<&str> {
    const BEFORE: [&str; 16] = [
        "on", "from", "of", "for", "at", "to", "and", "is", "ssh", "host", "server", "node",
        "machine", "vm", "name", "guest",
    ];
    let (before, name) = title.rsplit_once(' ').unwrap_or(("", title));
    let word = before.rsplit(' ').next().unwrap_or_default();
    let word = word.trim_end_matches([':', '.', ')']).to_ascii_lowercase();
    let is_count = !before.contains(' ') && word.bytes().all(|b| b.is_ascii_digit());
    let is_told = before.is_empty() || is_count || BEFORE.contains(&&*word);
    machine(name).filter(|_| is_told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(text: &str) -> Vec<(String, usize)> {
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.split('\n'))
            .map(|(number, text)| Line { number, text })
            .collect();
        let groups = apart(&lines).unwrap_or_default().into_iter();
        groups
            .map(|(name, lines)| (name.unwrap_or_default(), lines.len()))
            .collect()
    }

    fn offset(title: &str, start: u64) -> String {
        format!("{title}\nDiskNumber : 1\nPartitionNumber : 1\nOffset : {start}\n")
    }

    #[test]
    fn names_above_two_answers_are_machines() {
        for (one, other) in [
            ("db1", "db2"),
            ("db1.example.net", "db2.example.net"),
            ("==> out/db1.txt <==", "==> out/db2.txt <=="),
            ("[1] 09:12:44 [SUCCESS] db1", "[2] 09:12:45 [SUCCESS] db2"),
            ("## db1", "## db2"),
            ("h2. Server db1", "h2. Server db2"),
            ("Finished on db1:", "Finished on db2:"),
            ("*db1*", "*db2*"),
            ("--- db1 ---", "--- db2 ---"),
            ("| db1", "| db2"),
            ("== db1", "== db2"),
            (">>> db1 <<<", ">>> db2 <<<"),
            ("[db1]", "[db2]"),
            ("Server db1", "Server db2"),
            ("Connecting to db1...", "Connecting to db2..."),
            ("1. db1", "2. db2"),
            ("db1 (10.0.0.5)", "db2 (10.0.0.6)"),
            ("VM: db1", "VM: db2"),
            ("node/db1", "node/db2"),
            ("=== pod/db1 ===", "=== pod/db2 ==="),
            ("on node/db1:", "on node/db2:"),
            ("db1: |", "db2: |"),
            ("Server 1 (db1):", "Server 2 (db2):"),
            (
                "On the first server (db1) I get:",
                "and on the second one, `db2`:",
            ),
            ("**db1, which is fast:**", "**And the slow db2:**"),
            (
                "Content-Disposition: attachment; filename=\"db1.txt\"",
                "Content-Disposition: attachment; filename=\"db2.txt\"",
            ),
            (
                "[02.05.24, 14:12:01] Anna: db1",
                "[02.05.24, 14:12:31] Anna: db2",
            ),
        ] {
            let found = machines(&format!(
                "{}{}",
                offset(one, 1_048_576),
                offset(other, 32_256)
            ));
            assert_eq!(found.len(), 2, "{one}: {found:?}");
            assert!(
                found[0].0.contains("db1") && found[1].0.contains("db2"),
                "{found:?}"
            );
            assert!(!found[0].0.ends_with(".txt"), "{found:?}");
        }
    }

    #[test]
    fn servers_without_a_name_are_called_as_they_are() {
        for (one, other, names) in [
            ("Old server:", "New server:", ["old-server", "new-server"]),
            ("Fast VM:", "> Slow VM:", ["fast-vm", "slow-vm"]),
        ] {
            let text = format!("{}{}", offset(one, 1_048_576), offset(other, 32_256));
            let found = machines(&text);
            let found: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
            assert_eq!(found, names);
        }
    }

    #[test]
    fn files_of_one_machine_stay_together() {
        let files = [
            offset("==> db1-parts.txt <==", 1_048_576),
            "==> db1-disks.txt <==\nNumber : 1\nPhysicalSectorSize : 4096\nLogicalSectorSize : 512\n".to_owned(),
            offset("==> db2-parts.txt <==", 32_256),
        ];
        let found = machines(&files.concat());
        let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["db1", "db2"]);
    }

    #[test]
    fn other_names_are_none() {
        for (one, other) in [
            // Devices, parts of a post, words.
            ("ada0", "ada1"),
            ("## sda1", "## sdb1"),
            ("Before:", "After:"),
            ("naa.6005", "naa.6006"),
            ("dev/sda1", "dev/sdb1"),
            ("--- sda1 ---", "--- sdb1 ---"),
            ("1. sda1", "2. sdb1"),
            ("copied 5 db1", "copied 6 db2"),
            ("I moved db1, then db2:", "and later db2, then db3:"),
            ("Before the server was moved:", "After that:"),
            ("The first partition:", "The second partition:"),
        ] {
            let text = format!("{}{}", offset(one, 1_048_576), offset(other, 32_256));
            assert_eq!(machines(&text), [], "{one}");
        }
        // One machine, which is named twice.
        let twice = format!("{}{}", offset("db1", 1_048_576), offset("db1", 32_256));
        assert_eq!(machines(&twice), []);
        // What they say goes together.
        let parts = format!(
            "{}db2\nNumber : 1\nPhysicalSectorSize : 4096\nLogicalSectorSize : 512\n",
            offset("db1", 63)
        );
        assert_eq!(machines(&parts), []);
    }
}
