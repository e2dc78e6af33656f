//! Which captures are of one machine.

use std::collections::HashMap;
use straddle_stack::{Fact, Interval};

use super::Capture;
use super::hostname::is_address;
use crate::inventory::{Name, Space, Thing};

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
/// Those that name a host are that host's. Of the others, two in which one tool gives two answers to one question that cannot
/// both be true (both say where partition 1 of disk 0 starts) are of two machines, unless they know a common serial number or
/// other identity; so are two with one answer, unless their files are named alike. Different tools are no rivals. Then the files
/// are sorted by the first or the last part of their names if that keeps all rivals apart; else each is a machine
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
    // Of an address, all of it tells.
    let short = match is_address(host) {
        true => host,
        false => host.split('.').next().unwrap_or(host),
    };
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

/// True when two of them cannot be of one machine: two answers of one tool to one question that contradict each other, or the
/// same answer in files that are named for different machines.
fn rivals(captures: &[&Capture]) -> bool {
    // For each tool and name, the things that captures call by it.
    let mut answers: HashMap<(&str, &Name), Vec<(usize, &Thing)>> = HashMap::new();
    for (index, capture) in captures.iter().enumerate() {
        for thing in capture.inventory.things() {
            for name in thing.names.iter().filter(|name| !name.space.is_identity()) {
                for tool in &capture.tools {
                    answers
                        .entry((*tool, name))
                        .or_default()
                        .push((index, thing));
                }
            }
        }
    }
    let identities = |index: usize| {
        let things = captures[index].inventory.things().iter();
        things.flat_map(|thing| thing.names.iter().filter(|name| name.space.is_identity()))
    };
    let known = |a: usize, b: usize| identities(a).any(|name| identities(b).any(|n| n == name));
    let apart = |(a, one): &(usize, &Thing), (b, other): &(usize, &Thing)| {
        let stems = (stem(&captures[*a].file), stem(&captures[*b].file));
        let twice = stems.0 != stems.1 && tell_the_start(one, other);
        a != b && one.kind == other.kind && (twice || contradict(one, other)) && !known(*a, *b)
    };
    // Neighbours are enough: what all of them say is the same, or two near each other differ. One tool may speak of a thing
    // several times in a file.
    let mut lists = answers.values();
    lists.any(|of| {
        (1..=NEIGHBOURS).any(|far| of.iter().zip(of.iter().skip(far)).any(|(a, b)| apart(a, b)))
    })
}

/// With how many that follow each answer is compared.
const NEIGHBOURS: usize = 8;

/// True when both say where it starts.
fn tell_the_start(a: &Thing, b: &Thing) -> bool {
    a.start.is_some() && b.start.is_some()
}

/// True when what they say of one thing cannot both be true.
fn contradict(a: &Thing, b: &Thing) -> bool {
    let differ = |a: Option<&Fact<Interval>>, b: Option<&Fact<Interval>>| matches!((a, b), (Some(a), Some(b)) if a.value.intersect(&b.value).is_none());
    let identity = |space: Space| {
        let of = |thing: &'_ Thing| -> Vec<String> {
            let names = thing.names.iter().filter(|name| name.space == space);
            names.map(|name| name.text.to_string()).collect()
        };
        let (a, b) = (of(a), of(b));
        !a.is_empty() && !b.is_empty() && !a.iter().any(|name| b.contains(name))
    };
    let grids = a.grids.iter().any(|grid| {
        let mut others = b.grids.iter().filter(|other| other.role == grid.role);
        others.any(|other| other.grid.value != grid.grid.value)
    });
    differ(a.start.as_ref(), b.start.as_ref())
        || differ(a.size.as_ref(), b.size.as_ref())
        || grids
        || [Space::Serial, Space::TableId, Space::Uuid]
            .into_iter()
            .any(identity)
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
    fn answers_to_different_questions_are_of_one_machine() {
        let disks =
            "BytesPerSector  Index  Model  Size\n512             0      ACME   120031511040\n";
        let starts = "BlockSize  Name                   StartingOffset\n512        Disk #0, Partition #0  1048576\n";
        let letters = "Antecedent                               Dependent\n\\\\A\\x:P.DeviceID=\"Disk #0, Partition #0\"  \\\\A\\x:L.DeviceID=\"C:\"\n";
        let files = [
            ("disks.txt", disks),
            ("starts.txt", starts),
            ("letters.txt", letters),
        ];
        let files = files.map(|(name, text)| (name, text.to_owned()));
        assert_eq!(servers(&files), [(None, 3)]);
        let csv = "\"DiskNumber\",\"PartitionNumber\",\"Offset\"\n\"0\",\"1\",\"1048576\"\n";
        let same = [
            ("p.txt", partitions(0, 1_048_576)),
            ("p.csv", csv.to_owned()),
        ];
        assert_eq!(servers(&same), [(None, 2)]);
        let other = [
            ("db1.txt", partitions(0, 1_048_576)),
            ("db2.csv", csv.to_owned()),
        ];
        assert_eq!(servers(&other).len(), 2);
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
