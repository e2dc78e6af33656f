//! Which captures are of one machine.

use std::collections::HashMap;

use super::Capture;
use crate::inventory::Name;

/// The captures of one machine.
#[derive(Clone, Debug)]
pub struct Server {
    /// What tells it from the other machines of its folder: its host name, a part of its files' names, or its only file.
    /// `None` when everything is of one machine.
    pub name: Option<String>,
    /// Its captures.
    pub captures: Vec<Capture>,
}

/// Captures that somebody says are of one machine: they are, unless they name several hosts.
#[must_use]
pub fn of_one(captures: Vec<Capture>) -> Vec<Server> {
    match hosts(&captures).as_slice() {
        [] | [_] => one(captures),
        hosts => by_host(captures, hosts),
    }
}

/// Captures from one folder.
///
/// Those that name a host are that host's. Of the others, two that answer the same question about the same thing (both
/// list the partitions of disk 0) are of two machines, unless they know a common serial number or other identity. Then the
/// files are sorted by the first or the last part of their names if that keeps all rivals apart; else each is a machine
/// of its own.
#[must_use]
pub fn in_folder(captures: Vec<Capture>) -> Vec<Server> {
    let hosts = hosts(&captures);
    if hosts.len() > 1 {
        return by_host(captures, &hosts);
    }
    if hosts.len() == 1 || captures.len() < 2 || !rivals(&captures.iter().collect::<Vec<_>>()) {
        return one(captures);
    }
    for part in [first_part, last_part] {
        let mut groups: Vec<(String, Vec<&Capture>)> = Vec::new();
        for capture in &captures {
            let key = key_of(part, capture);
            match groups.iter_mut().find(|(name, _)| *name == key) {
                Some((_, group)) => group.push(capture),
                None => groups.push((key, vec![capture])),
            }
        }
        let apart = groups.iter().all(|(_, group)| !rivals(group));
        if apart && groups.len() < captures.len() {
            let names = groups.into_iter().map(|(name, _)| name);
            let mut servers: Vec<Server> = names
                .map(|name| Server {
                    name: Some(name),
                    captures: Vec::new(),
                })
                .collect();
            for capture in captures {
                let key = key_of(part, &capture);
                let mut of = servers.iter_mut();
                if let Some(server) = of.find(|server| server.name.as_ref() == Some(&key)) {
                    server.captures.push(capture);
                }
            }
            return servers;
        }
    }
    captures.into_iter().map(alone).collect()
}

fn one(captures: Vec<Capture>) -> Vec<Server> {
    vec![Server {
        name: None,
        captures,
    }]
}

fn alone(capture: Capture) -> Server {
    let name = capture.file.rsplit(['/', '\\']).next();
    Server {
        name: name.map(str::to_owned),
        captures: vec![capture],
    }
}

/// The hosts that are named, each once, in lower case and without their domain.
fn hosts(captures: &[Capture]) -> Vec<String> {
    let mut found = Vec::new();
    for host in captures.iter().filter_map(host) {
        if !found.contains(&host) {
            found.push(host);
        }
    }
    found
}

fn host(capture: &Capture) -> Option<String> {
    let host = capture.inventory.host.as_deref()?;
    let short = host.split('.').next().unwrap_or(host);
    Some(short.to_lowercase())
}

/// Each host's captures; a file that names none belongs to the host whose name is in its own, else to none.
fn by_host(captures: Vec<Capture>, hosts: &[String]) -> Vec<Server> {
    let mut servers: Vec<Server> = hosts
        .iter()
        .map(|host| Server {
            name: Some(host.clone()),
            captures: Vec::new(),
        })
        .collect();
    let mut strangers = Vec::new();
    for capture in captures {
        let name = stem(&capture.file).to_lowercase();
        let of = host(&capture).or_else(|| {
            let named = hosts.iter().filter(|host| name.contains(host.as_str()));
            named.max_by_key(|host| host.len()).cloned()
        });
        let server = of.and_then(|of| {
            servers
                .iter_mut()
                .find(|server| server.name.as_ref() == Some(&of))
        });
        match server {
            Some(server) => server.captures.push(capture),
            None => strangers.push(alone(capture)),
        }
    }
    servers.extend(strangers);
    servers
}

/// True when two of them answer the same question about the same thing.
fn rivals(captures: &[&Capture]) -> bool {
    // For each tool and thing, the captures that speak of it.
    let mut answers: HashMap<(&str, &Name), Vec<usize>> = HashMap::new();
    for (index, capture) in captures.iter().enumerate() {
        for thing in capture.inventory.things() {
            for name in thing.names.iter().filter(|name| !name.space.is_identity()) {
                for tool in &capture.tools {
                    let of = answers.entry((*tool, name)).or_default();
                    if of.last() != Some(&index) {
                        of.push(index);
                    }
                }
            }
        }
    }
    let identities = |index: usize| {
        let things = captures[index].inventory.things().iter();
        things.flat_map(|thing| thing.names.iter().filter(|name| name.space.is_identity()))
    };
    answers.values().any(|of| {
        of.windows(2)
            .any(|pair| !identities(pair[0]).any(|name| identities(pair[1]).any(|n| n == name)))
    })
}

fn key_of(part: fn(&str) -> &str, capture: &Capture) -> String {
    part(stem(&capture.file)).to_lowercase()
}

fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn first_part(stem: &str) -> &str {
    stem.split(['-', '_', '.', ' ']).next().unwrap_or(stem)
}

fn last_part(stem: &str) -> &str {
    stem.rsplit(['-', '_', '.', ' ']).next().unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::read;

    fn partitions(disk: u32, start: u64) -> String {
        format!("DiskNumber : {disk}\nPartitionNumber : 1\nOffset : {start}\n")
    }

    fn servers(files: &[(&str, String)]) -> Vec<(Option<String>, usize)> {
        let captures = files
            .iter()
            .map(|(name, text)| read(name, text.as_bytes(), false, 0));
        let servers = in_folder(captures.collect()).into_iter();
        servers.map(|s| (s.name, s.captures.len())).collect()
    }

    #[test]
    fn files_about_different_things_are_of_one_machine() {
        let found = servers(&[("a.txt", partitions(0, 1)), ("b.txt", partitions(1, 1))]);
        assert_eq!(found, [(None, 2)]);
    }

    #[test]
    fn two_answers_to_one_question_are_of_two_machines() {
        let found = servers(&[("x/a.txt", partitions(0, 1)), ("x/b.txt", partitions(0, 2))]);
        let named = |name: &str| (Some(name.to_owned()), 1);
        assert_eq!(found, [named("a.txt"), named("b.txt")]);
    }

    #[test]
    fn names_of_files_keep_machines_apart() {
        let files = [
            ("db1-p0.txt", partitions(0, 1)),
            ("db1-p1.txt", partitions(1, 1)),
            ("db2-p0.txt", partitions(0, 1)),
        ];
        let named = |name: &str, count| (Some(name.to_owned()), count);
        assert_eq!(servers(&files), [named("db1", 2), named("db2", 1)]);
        let files = [
            ("p0_db1.txt", partitions(0, 1)),
            ("p1_db1.txt", partitions(1, 1)),
            ("p0_db2.txt", partitions(0, 1)),
        ];
        assert_eq!(servers(&files), [named("db1", 2), named("db2", 1)]);
    }

    #[test]
    fn hosts_decide_where_they_are_named() {
        let of = |host: &str, disk| format!("### host: {host}\n{}", partitions(disk, 1));
        let files = [
            ("a.txt", of("DB1", 0)),
            ("b.txt", of("db1.example.org", 1)),
            ("c.txt", of("db2", 0)),
            ("db2-more.txt", partitions(3, 1)),
            ("d.txt", partitions(4, 1)),
        ];
        let named = |name: &str, count| (Some(name.to_owned()), count);
        let expected = [named("db1", 2), named("db2", 2), named("d.txt", 1)];
        assert_eq!(servers(&files), expected);
    }

    #[test]
    fn what_is_said_to_be_of_one_machine_is() {
        let captures = ["a", "b"].map(|name| read(name, partitions(0, 1).as_bytes(), false, 0));
        assert_eq!(of_one(captures.to_vec()).len(), 1);
    }
}
