//! Whose lines they are: hosts before each line, as programs and loops put them that ask many, and above what is indented.

use std::collections::HashMap;

use super::super::hostname::{is_address, is_domain, is_machine, is_name};
use super::{MONTHS, stamp, time};

/// Fewest lines that are behind the name of a host.
const MIN: usize = 4;
/// Most lines above the first that is behind one: what was typed, and a few words on it.
const MAX_ASKED: usize = 4;

/// `web1/fdisk.txt`: `grep` over several files puts their names before what it found in them.
fn is_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "txt" | "log" | "out" | "lst")
}

/// How a host stands before a line: its name, and the line without it.
type Form = for<'t> fn(&'t str) -> Option<(&'t str, &'t str)>;

/// The host whose name stands before each line, for each of them: what programs print that ask many. The name is taken off. What stands above all is
/// nobody's.
pub(in crate::captured) fn hosts<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
    // Rows of tables begin with words, too, but the names of their columns stand above, and the words are none of several machines.
    let is_certain = |counts: &HashMap<&str, usize>, others: usize| {
        let certain = counts.len() > 1 || counts.keys().all(|name| is_domain(name));
        certain && others == 0 && counts.values().all(|count| *count > 2)
    };
    by_form(lines, behind_a_sign, |_, _| true)
        .or_else(|| match is_of_one_container(lines) {
            true => by_form(lines, behind_a_pod, is_certain),
            false => None,
        })
        .or_else(|| by_form(lines, behind_marks, is_certain))
        .or_else(|| by_form(lines, behind_a_colon, is_certain))
        .or_else(|| by_form(lines, behind_a_blank, is_certain))
        .or_else(|| by_form(lines, behind_a_comma, is_certain))
}

/// The hosts that logs of several machines name before each line; `None` for a log of one, whose margin is taken off like any other.
pub(in crate::captured) fn logging_hosts<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
    by_form(lines, behind_a_time, |counts, others| {
        counts.len() > 1 && others == 0
    })
}

/// `May  2 09:12:44 db1 collect[77]: …`, `2024-05-02T09:12:44Z db1 collect: …`.
fn behind_a_time(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let dated = || {
        let (month, rest) = text.split_once(' ')?;
        let (_, rest) = rest.trim_start().split_once(' ')?;
        MONTHS
            .contains(&month)
            .then(|| time(rest).map(str::trim_start))?
    };
    let (name, rest) = dated().or_else(|| stamp(text))?.split_once(' ')?;
    let (tag, said) = rest.split_once(':')?;
    let is_tag = !tag.is_empty() && tag.len() < 64 && !tag.contains(' ');
    (is_tag && is_name(name)).then(|| (name, said.strip_prefix(' ').unwrap_or(said)))
}

/// `db1: …`, `db1 | …`, `[db1] …`, `[root@db1:22] out: …`.
fn behind_a_sign(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let colon = text.split_once(':');
    // Logs of containers have a bar.
    let bar = || {
        let (name, rest) = text.split_once(" |")?;
        let name = name.trim_end();
        // Those of a swarm begin with task and node.
        let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
        Some((host, rest))
    };
    let plain = || colon.filter(|(name, _)| !name.contains('|')).or_else(bar);
    let (name, rest) = in_brackets(text).or_else(plain)?;
    let is_path = is_file(name) && name.split('/').all(is_name);
    // Names of properties have neither.
    let tells = name.bytes().any(|b| b.is_ascii_digit() || b == b'-') || is_domain(name);
    let is_host = is_name(name) && tells && (rest.is_empty() || rest.starts_with(' '));
    if !is_host && !is_path {
        return None;
    }
    // `grep` puts no blank there.
    let blank = if is_file(name) { "" } else { " " };
    Some((name, rest.strip_prefix(blank).unwrap_or(rest)))
}

/// `[db1] …`, and with what programs say besides: `[db1:out] …`, `[root@db1:22] out: …`, `[root@db1 command-step] [NORMAL] …`.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let (inner, rest) = text.strip_prefix('[')?.split_once(']')?;
    let inner = inner.strip_prefix("pod/").unwrap_or(inner);
    let inner = inner.rsplit_once('@').map_or(inner, |(_, host)| host);
    let name = inner.split([' ', '/']).next()?;
    let port = name
        .rsplit_once(':')
        .filter(|(_, port)| *port == "out" || port.parse::<u16>().is_ok());
    let name = port.map_or(name, |(name, _)| name);
    let says = ["out:", "[NORMAL]", "[INFO]"];
    let said = says
        .iter()
        .find_map(|word| rest.trim_start().strip_prefix(word));
    Some((name, said.unwrap_or(rest)))
}

/// `(db1) …`, `db1> …`, `db1 -> …`, `node/db1: …`, `host=db1 …`, `db1 [10.0.0.5]: …`, `stdout db1: …`: what loops put there.
fn behind_marks(line: &str) -> Option<(&str, &str)> {
    const WORDS: [&str; 9] = [
        "stdout ",
        "out ",
        "OUT ",
        "host=",
        "hostname=",
        "server=",
        "node=",
        "node/",
        "pod/",
    ];
    const ENDS: [&str; 12] = [
        " out: ", ") ", "> ", "# ", "} ", " - ", " > ", " # ", " -> ", " => ", " : ", ": ",
    ];
    let text = line.trim_start().trim_start_matches(['(', '<', '{', '@']);
    let word = WORDS.iter().find_map(|word| text.strip_prefix(word));
    let text = word.unwrap_or(text);
    let is_sign = |c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c));
    let (name, rest) = text.split_at(text.find(is_sign).unwrap_or(text.len()));
    let address = rest
        .strip_prefix(" [")
        .and_then(|rest| rest.split_once(']'))
        .or_else(|| rest.strip_prefix(" (")?.split_once(')'));
    let rest = match address {
        Some((address, rest)) if is_address(address) => rest,
        _ => rest,
    };
    let ends = ENDS.into_iter().chain(word.map(|_| " "));
    // Blanks at the end of a line are often lost.
    let said = ends.into_iter().find_map(|end| {
        let is_bare = rest == end.trim_end();
        rest.strip_prefix(end).or(is_bare.then_some(""))
    })?;
    let tells = is_domain(name) || is_machine(name);
    tells.then_some((name, said))
}

/// `tools-7xk2p tools Disk …`: a pod of Kubernetes and a container of it, as stern prints them. What ends the name of a pod is its number, or
/// was made up of letters that make no words.
fn behind_a_pod(line: &str) -> Option<(&str, &str)> {
    let (pod, rest) = line.split_once(' ')?;
    let (container, said) = rest.split_once(' ').unwrap_or((rest, ""));
    let (_, end) = pod.rsplit_once('-')?;
    let made_up = |b: u8| b"bcdfghjklmnpqrstvwxz2456789".contains(&b);
    let is_made_up = end.len() == 5 && end.bytes().all(made_up);
    let is_number = !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit());
    let is_label = |text: &str| {
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(known)
    };
    ((is_made_up || is_number) && is_label(pod) && is_label(container)).then_some((pod, said))
}

/// What stands behind pods is the same container: rows of tables have other words there.
fn is_of_one_container(lines: &[&str]) -> bool {
    let of_pods = lines.iter().filter(|line| behind_a_pod(line).is_some());
    let mut containers = of_pods.filter_map(|line| line.split_whitespace().nth(1));
    let first = containers.next();
    containers.all(|container| Some(container) == first)
}

/// `db1:Disk …`, whose blanks are the line's own.
fn behind_a_colon(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    (is_domain(name) || is_machine(name)).then_some((name, rest))
}

/// `db1.example.net Disk …`, as knife prints it.
fn behind_a_blank(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let tells = is_domain(name) || is_machine(name);
    (is_name(name) && tells).then_some((name, rest))
}

/// `db1,"Disk …"`: a row for each line, without names of columns.
fn behind_a_comma(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once([',', ';', '\t'])?;
    let (name, rest) = (name.trim_matches('"'), rest.trim_end_matches('\r'));
    let quoted = rest
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let tells = is_domain(name) || is_machine(name);
    (is_name(name) && tells).then_some((name, quoted.unwrap_or(rest)))
}

/// The hosts that stand before the lines in this form. `is_certain` is asked with how many lines each has, and how many have none.
fn by_form<'t>(
    lines: &mut [&'t str],
    form: Form,
    is_certain: impl Fn(&HashMap<&str, usize>, usize) -> bool,
) -> Option<Vec<&'t str>> {
    let of = |line: &'t str| form(line).map(|(name, _)| name);
    let is_filled = |line: &&str| !line.trim().is_empty();
    // The command that asked them stands above, and the next prompt below.
    let head = lines.iter().enumerate().filter(|(_, line)| is_filled(line));
    let mut head = head.take(MAX_ASKED + 1);
    let (first, _) = head.find(|(_, line)| of(line).is_some())?;
    let last = lines.iter().rposition(|line| of(line).is_some())?;
    let filled = || lines[first..=last].iter().filter(|line| is_filled(line));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut all = 0_usize;
    for line in filled() {
        all += 1;
        let Some(name) = of(line) else {
            if all <= MIN {
                return None;
            }
            continue;
        };
        *counts.entry(name).or_default() += 1;
    }
    let with: usize = counts.values().sum();
    // Of a file, `grep` may find one line.
    let are_files = counts.len() > 1 && counts.keys().all(|name| is_file(name));
    let often = are_files || with >= MIN && counts.values().all(|count| *count > 1);
    // The figures of a list that was filtered stand behind one name too, but nothing else does.
    let speaks = filled().any(|line| {
        let rest = form(line).map_or("", |(_, rest)| rest);
        rest.contains([',', ';']) || rest.split_whitespace().nth(1).is_some()
    });
    // The names of columns stand above their rows, as does what was typed.
    let is_named = |line: &&&str| is_filled(line) && !line.contains(['$', '#', '>', '›']);
    let above = lines[..first].iter().filter(is_named).count();
    if !often || with * 10 < all * 9 || !speaks || !is_certain(&counts, all - with + above) {
        return None;
    }
    let mut last = "";
    let mut each = Vec::with_capacity(lines.len());
    for line in lines.iter_mut() {
        if let Some((name, rest)) = form(line) {
            (last, *line) = (name, rest);
        }
        each.push(last);
    }
    Some(each)
}

/// Most lines above the first name of a minion.
const MAX_ABOVE: usize = 8;

/// The host whose name stands above lines that are indented, for each of them: what Salt prints. The indentation is taken off.
pub(in crate::captured) fn minions<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
    let is_blank = |line: &str| line.trim().is_empty();
    let name_in = |line: &'t str| {
        let name = line.trim_end().strip_suffix(':')?;
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= 63
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let tells = name
            .bytes()
            .any(|b| b.is_ascii_digit() || b"-.".contains(&b));
        (named && tells).then_some(name)
    };
    let first = lines
        .iter()
        .filter(|line| !is_blank(line))
        .take(MAX_ABOVE)
        .find_map(|line| name_in(line))?;
    let (mut last, mut several, mut begun) = (first, false, false);
    let mut each = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = name_in(line) {
            // So begin the pools of ZFS.
            let next = lines.get(at + 1).map_or("", |next| next.trim_start());
            if next.starts_with("version:") {
                return None;
            }
            (last, several, begun) = (name, several || name != first, true);
        } else if begun && !is_blank(line) && !line.starts_with("    ") {
            return None;
        }
        each.push(last);
    }
    if !several {
        return None;
    }
    for line in lines.iter_mut() {
        *line = line.strip_prefix("    ").unwrap_or(line);
    }
    Some(each)
}
