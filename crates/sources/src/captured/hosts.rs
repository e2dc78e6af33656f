//! Several machines in one text: what pdsh, clush and Ansible printed of many, or somebody showed of two.
//!
//! ```text
//! ### host: node01                                    what becomes of `node01: …` before each line
//! ---------------                                     a block of lines for some (clush -b, dshbak)
//! node[01-03] (3)
//! ---------------
//! db1 | CHANGED | rc=0 >>                             Ansible
//! ok: [db1] =>
//! root@web1:~# fdisk -l                               prompts
//! ```

use std::collections::BTreeMap;

use super::heading::{Heading, heading, machine_of_prompt};
use super::hostname::is_address;
use super::text::Line;

/// Most machines that are told apart in one text: about as many as can say something in as long a text as is read. That there are more is told.
pub(super) const MAX: usize = 1 << 16;
/// Longest name of a machine, or of a few of them.
const MAX_LEN: usize = 200;

/// The lines of one machine, and its name where it is not the only one.
pub(super) type Group<'t> = (Option<String>, Vec<Line<'t>>);

/// The lines of each machine that a text is about. A text that names one or none is one group.
pub(super) fn apart(lines: Vec<Line<'_>>) -> Vec<Group<'_>> {
    let named = |of: fn(&[Line<'_>]) -> Option<(String, usize)>| {
        let mut first: Option<String> = None;
        (0..lines.len()).any(|at| match (of(&lines[at..]), &first) {
            (Some((host, _)), Some(first)) => host != *first,
            (Some((host, _)), None) => {
                first = Some(host);
                false
            }
            (None, _) => false,
        })
    };
    match (named(title), named(prompt)) {
        (true, _) => by(lines, title),
        (false, true) => by(lines, prompt),
        (false, false) => vec![(None, lines)],
    }
}

/// What follows a name, up to the next, is that machine's. `named` says how many lines say no more than the name.
pub(super) fn by<'t>(
    lines: Vec<Line<'t>>,
    named: fn(&[Line<'_>]) -> Option<(String, usize)>,
) -> Vec<Group<'t>> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    // What stands above the first name.
    let mut above: Vec<Line<'t>> = Vec::new();
    let mut current: Option<usize> = None;
    let mut at = 0;
    while at < lines.len() {
        let found = named(&lines[at..]);
        let taken = found.as_ref().map_or(0, |(_, taken)| *taken);
        if let Some((host, _)) = found {
            current = Some(match index.get(&host) {
                Some(group) => *group,
                None if groups.len() >= MAX => groups.len() - 1,
                None => {
                    groups.push((Some(host.clone()), std::mem::take(&mut above)));
                    index.insert(host, groups.len() - 1);
                    groups.len() - 1
                }
            });
        }
        if taken == 0 {
            match current.and_then(|group| groups.get_mut(group)) {
                Some((_, own)) => own.push(lines[at]),
                None => above.push(lines[at]),
            }
        }
        at += taken.max(1);
    }
    if groups.is_empty() {
        groups.push((None, above));
    }
    groups
}

/// The machines that the next lines are about by a title, and how many lines that takes.
fn title(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let line = lines.first()?;
    let text = line.text.trim();
    if is_ruler(text) {
        let names = lines.get(1)?.text.trim();
        let closed = lines.get(2).is_some_and(|line| line.text.trim() == text);
        return (closed && is_hosts(names)).then(|| (names.to_owned(), 3));
    }
    match heading(line)? {
        Heading::Host(host) => Some((host.to_owned(), 1)),
        // Its result may begin in the same line: `ok: [db1] => {`.
        Heading::Machine(machine) => Some((machine.to_owned(), 0)),
        Heading::Command(_) => None,
    }
}

fn is_ruler(text: &str) -> bool {
    text.len() >= 8 && text.len() <= MAX_LEN && text.bytes().all(|b| b == b'-')
}

/// `node04`, `node[01-03,07] (4)`, `node01,node02`.
fn is_hosts(text: &str) -> bool {
    let names = match text.split_once(" (") {
        Some((names, count)) => {
            let counted = count
                .strip_suffix(')')
                .is_some_and(|n| n.parse::<u64>().is_ok());
            if !counted {
                return false;
            }
            names
        }
        None => text,
    };
    names.len() <= MAX_LEN
        && names.starts_with(|c: char| c.is_ascii_alphanumeric())
        && names
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-[],".contains(&b))
        && (names.bytes().any(|b| b.is_ascii_alphabetic()) || is_address(names))
}

/// The machine whose prompt is in the line, which stays what it is, or the one that the command was sent to:
/// `root@jump:~# ssh root@store1 fdisk -l`.
fn prompt(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let line = lines.first()?;
    let here = machine_of_prompt(line.text)?;
    let there = match heading(line) {
        Some(Heading::Command(command)) => command.sent().map(|(host, _)| host.to_owned()),
        _ => None,
    };
    Some((there.unwrap_or_else(|| here.to_owned()), 0))
}

#[cfg(test)]
mod tests {
    use super::super::{Capture, machines};
    use super::*;

    fn of(text: &str) -> Vec<(Option<String>, String)> {
        let lines = (1..).zip(text.split('\n'));
        let lines = lines.map(|(number, text)| Line { number, text }).collect();
        let shown = |lines: Vec<Line<'_>>| {
            let lines: Vec<String> = lines
                .iter()
                .map(|line| format!("{} {}", line.number, line.text))
                .collect();
            lines.join("|")
        };
        let groups = apart(lines).into_iter();
        groups.map(|(host, lines)| (host, shown(lines))).collect()
    }

    fn named(host: &str, lines: &str) -> (Option<String>, String) {
        (Some(host.to_owned()), lines.to_owned())
    }

    #[test]
    fn a_text_may_have_thousands_of_machines_and_more_are_told() {
        const SAID: &str = "Disk /dev/sda: 1000.2 GB, 1000204886016 bytes\\nUnits = sectors of 1 * 512 = 512 bytes\\n\
                            Device Boot Start End Blocks Id System\\n/dev/sda1 63 1953520064 976760001 83 Linux\\n";
        let count = |text: String| machines("all.txt", text.as_bytes(), false, 0).len();
        let many = |form: &dyn Fn(usize) -> String| (0..5000).map(form).collect::<String>();
        let json = many(&|n| format!("{{\"db{n}\": \"{SAID}\"}}\n"));
        assert_eq!(count(json), 5000);
        let row = |n| format!("SQL{n},\"Disk #0, Partition #0\",32256,1000\n");
        assert_eq!(
            count(format!("Computer,Name,StartingOffset,Size\n{}", many(&row))),
            5000
        );
        let lines = SAID.replace("\\n", "\n");
        let behind = |n| lines.lines().map(|l| format!("db{n:04}: {l}\n")).collect();
        assert_eq!(count(many(&behind)), 5000);
        let below = |n: usize| format!("==> db{n}.txt <==\n{lines}");
        assert_eq!(count((0..1000).map(below).collect()), 1000);

        let titles: String = (0..=MAX).map(|n| format!("### host: a{n}\n")).collect();
        let found = machines("all.txt", (below(0) + &titles).as_bytes(), false, 0);
        let told = |capture: &Capture| {
            let mut remarks = capture.inventory.remarks.iter();
            remarks.any(|remark| remark.detail.starts_with("65536 machines or more: "))
        };
        assert!(found.first().is_some_and(told));
    }

    #[test]
    fn blocks_may_name_their_machines() {
        assert_eq!(
            of("x\n--------\nn[1-3] (3)\n--------\na\n--------\nn4\n--------\nb"),
            [named("n[1-3] (3)", "1 x|5 a"), named("n4", "9 b")]
        );
        assert_eq!(
            of("db1 | CHANGED | rc=0 >>\na\ndb2 | FAILED | rc=1 >>\nb"),
            [
                named("db1", "1 db1 | CHANGED | rc=0 >>|2 a"),
                named("db2", "3 db2 | FAILED | rc=1 >>|4 b")
            ]
        );
        assert_eq!(
            of("### host: n1\na\n### host: n2\nb"),
            [named("n1", "2 a"), named("n2", "4 b")]
        );
        assert_eq!(
            of("ok: [db1] =>\na\nok: [db2 -> h] =>\nb\nok: [db1] =>\nc"),
            [
                named("db1", "1 ok: [db1] =>|2 a|5 ok: [db1] =>|6 c"),
                named("db2", "3 ok: [db2 -> h] =>|4 b")
            ]
        );
    }

    #[test]
    fn prompts_name_their_machine() {
        assert_eq!(
            of("root@web1:~# x\na\n[root@web2 ~]# y\nb"),
            [
                named("web1", "1 root@web1:~# x|2 a"),
                named("web2", "3 [root@web2 ~]# y|4 b")
            ]
        );
    }

    #[test]
    fn what_was_sent_to_a_machine_is_said_by_that() {
        let first = "root@jump:~# ssh -p 22 root@s1 lsblk";
        let second = "root@jump:~# ssh s2 lsblk";
        assert_eq!(
            of(&format!("{first}\na\n{second}\nb\nroot@jump:~# ssh s3")),
            [
                named("s1", &format!("1 {first}|2 a")),
                named("s2", &format!("3 {second}|4 b")),
                named("jump", "5 root@jump:~# ssh s3"),
            ]
        );
    }

    #[test]
    fn other_texts_are_about_one_machine() {
        for text in [
            "Model: a\nSize: 1\n\nModel: b c d e\nSize: 2",
            "root@web1:~# x\na\nroot@web1:/tmp# y",
            "--------\nNAME\n========\nx",
            "Disk /dev/sda: 1\nDisk /dev/sdb: 2",
            "ok: [db1] =>\na",
            "",
        ] {
            let found = of(text);
            assert_eq!((found.len(), found[0].0.clone()), (1, None), "{text}");
        }
    }
}
