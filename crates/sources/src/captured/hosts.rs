//! Several machines in one text: what pdsh, clush and Ansible printed of many, or somebody showed of two.
//!
//! ```text
//! node01: /dev/sda1          63 1953520064 …          each line names its machine
//! ---------------                                     a block of lines for some (clush -b, dshbak)
//! node[01-03] (3)
//! ---------------
//! db1 | CHANGED | rc=0 >>                             Ansible
//! ok: [db1] =>
//! root@web1:~# fdisk -l                               prompts
//! ```

use std::collections::BTreeMap;

use super::section::host_of_prompt;
use super::text::Line;

/// Most machines that are told apart in one text.
const MOST: usize = 4096;
/// Longest name of a machine, or of a few of them.
const LONGEST: usize = 200;

/// The lines of one machine, and its name where it is not the only one.
pub(super) type Group<'t> = (Option<String>, Vec<Line<'t>>);

/// The lines of each machine that a text is about. A text that names one or none is one group.
pub(super) fn apart(lines: Vec<Line<'_>>) -> Vec<Group<'_>> {
    if is_prefixed(&lines) {
        return by(lines, |lines, at| {
            let (host, rest) = prefix(lines[at].text)?;
            Some((host.to_owned(), Found::Line(rest)))
        });
    }
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
    let of: fn(&[Line<'_>]) -> Option<(String, usize)> = if named(heading) {
        heading
    } else if named(prompt) {
        prompt
    } else {
        return vec![(None, lines)];
    };
    by(lines, move |lines, at| {
        let (host, taken) = of(&lines[at..])?;
        Some((host, Found::Block(taken)))
    })
}

/// What names a machine.
enum Found<'t> {
    /// This line alone, of which this is left.
    Line(&'t str),
    /// What follows, up to the next name. So many lines say no more than that.
    Block(usize),
}

fn by<'t>(
    lines: Vec<Line<'t>>,
    named: impl Fn(&[Line<'t>], usize) -> Option<(String, Found<'t>)>,
) -> Vec<Group<'t>> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    // What stands above the first name.
    let mut above: Vec<Line<'t>> = Vec::new();
    let mut current: Option<usize> = None;
    let mut at = 0;
    while at < lines.len() {
        let found = named(&lines, at);
        if let Some((host, _)) = &found {
            let group = match index.get(host) {
                Some(group) => *group,
                None if groups.len() >= MOST => groups.len() - 1,
                None => {
                    groups.push((Some(host.clone()), std::mem::take(&mut above)));
                    index.insert(host.clone(), groups.len() - 1);
                    groups.len() - 1
                }
            };
            current = Some(group);
        }
        let taken = match &found {
            Some((_, Found::Block(taken))) if *taken > 0 => *taken,
            _ => {
                let text = match found {
                    Some((_, Found::Line(rest))) => rest,
                    _ => lines[at].text,
                };
                let line = Line {
                    number: lines[at].number,
                    text,
                };
                match current.and_then(|group| groups.get_mut(group)) {
                    Some((_, lines)) => lines.push(line),
                    None => above.push(line),
                }
                1
            }
        };
        at += taken;
    }
    if groups.is_empty() {
        groups.push((None, above));
    }
    groups
}

/// The name of a machine.
fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// `node01: …`, `[node01] …`.
fn prefix(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let rest = rest.strip_prefix(' ').or(rest.is_empty().then_some(rest))?;
        return is_host(host).then_some((host, rest));
    }
    let (host, rest) = line.split_once(':')?;
    let rest = rest.strip_prefix(' ').or(rest.is_empty().then_some(rest))?;
    is_host(host).then_some((host, rest))
}

/// True when nearly every line begins with the name of a machine. Keys of a list stand before colons too, but few values have three
/// words.
fn is_prefixed(lines: &[Line<'_>]) -> bool {
    let filled = || lines.iter().filter(|line| !line.is_blank());
    let (mut all, mut with, mut long) = (0_usize, 0_usize, 0_usize);
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in filled() {
        all += 1;
        if let Some((host, rest)) = prefix(line.text) {
            with += 1;
            long += usize::from(rest.split_whitespace().take(3).count() == 3);
            *hosts.entry(host).or_default() += 1;
        }
    }
    let several = hosts.len() * 2 <= with && hosts.values().all(|count| *count > 1);
    with > 1 && with * 10 >= all * 9 && long * 2 > with && several
}

/// The machines that the next lines are about, and how many lines say so.
fn heading(lines: &[Line<'_>]) -> Option<(String, usize)> {
    let text = lines.first()?.text.trim();
    if is_ruler(text) {
        let names = lines.get(1)?.text.trim();
        let closed = lines.get(2).is_some_and(|line| line.text.trim() == text);
        return (closed && is_hosts(names)).then(|| (names.to_owned(), 3));
    }
    // `ok: [db1] =>`, `fatal: [db2 -> localhost]: FAILED! =>`.
    let task = ["ok: [", "changed: [", "fatal: [", "failed: ["]
        .iter()
        .find_map(|start| text.strip_prefix(start));
    if let Some(rest) = task {
        let (host, _) = rest.split_once(']')?;
        let host = host.split(' ').next()?;
        return is_host(host).then(|| (host.to_owned(), 1));
    }
    // `db1 | CHANGED | rc=0 >>`, `db1 | SUCCESS =>`.
    let (host, rest) = text.split_once(" | ")?;
    let state = ["CHANGED", "SUCCESS", "FAILED", "UNREACHABLE"]
        .iter()
        .any(|state| rest.starts_with(state));
    (state && is_host(host)).then(|| (host.to_owned(), 1))
}

fn is_ruler(text: &str) -> bool {
    text.len() >= 8 && text.len() <= LONGEST && text.bytes().all(|b| b == b'-')
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
    names.len() <= LONGEST
        && names.starts_with(|c: char| c.is_ascii_alphanumeric())
        && names
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-[],".contains(&b))
        && names.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The machine whose prompt is in the line, which stays what it is.
fn prompt(lines: &[Line<'_>]) -> Option<(String, usize)> {
    Some((host_of_prompt(lines.first()?.text)?.to_owned(), 0))
}

#[cfg(test)]
mod tests {
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
    fn lines_may_name_their_machine() {
        assert_eq!(
            of("n1: a b c\nn2: d e f\nn1:   g h i\nn2: j k l\n"),
            [
                named("n1", "1 a b c|3   g h i"),
                named("n2", "2 d e f|4 j k l|5 ")
            ]
        );
        assert_eq!(of("n1: a b c\nn1: g h i"), [named("n1", "1 a b c|2 g h i")]);
    }

    #[test]
    fn blocks_may_name_their_machines() {
        assert_eq!(
            of("x\n--------\nn[1-3] (3)\n--------\na\n--------\nn4\n--------\nb"),
            [named("n[1-3] (3)", "1 x|5 a"), named("n4", "9 b")]
        );
        assert_eq!(
            of("db1 | CHANGED | rc=0 >>\na\ndb2 | FAILED | rc=1 >>\nb"),
            [named("db1", "2 a"), named("db2", "4 b")]
        );
        assert_eq!(
            of("ok: [db1] =>\na\nok: [db2 -> h] =>\nb\nok: [db1] =>\nc"),
            [named("db1", "2 a|6 c"), named("db2", "4 b")]
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
