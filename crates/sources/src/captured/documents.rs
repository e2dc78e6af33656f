//! JSON that programs make of what they ran on many machines: Salt, Bolt, Rundeck, the callback of Ansible, logs with a host in each entry.
//!
//! ```text
//! {"db1": "Disk /dev/sda: …\n…", "web2": "Disk /dev/sda: …\n…"}
//! {"items": [{"target": "db1", "value": {"stdout": "Disk /dev/sda: …\n…"}}]}
//! {"entries": [{"node": "db1", "log": "Disk /dev/sda: …"}]}
//! ```

use std::collections::HashMap;

use super::embedded;
use super::hostname::{is_domain, is_machine, is_name};
use super::hosts;
use super::json::{self, End, Json, Object};
use super::text::Line;

/// What one machine printed.
pub(super) struct Said {
    pub(super) host: String,
    pub(super) text: String,
    /// The line of the file in which each line stands.
    pub(super) numbers: Vec<u64>,
}

/// Deepest document.
const MAX_DEPTH: usize = 16;
/// Fewest strings of a list that are the lines of a text.
const MIN_LINES: usize = 3;

/// Members that name the machine that the others are of, and those that have one line of what it printed.
const HOSTS: [&str; 13] = [
    "host",
    "hostname",
    "_HOSTNAME",
    "node",
    "target",
    "minion",
    "server",
    "computer",
    "ComputerName",
    "fqdn",
    "InstanceName",
    "InstanceId",
    "id",
];
const LINES: [&str; 7] = [
    "log", "line", "message", "MESSAGE", "msg", "output", "stdout",
];
const QUOTED: [&str; 7] = [
    "\"log\"",
    "\"line\"",
    "\"message\"",
    "\"MESSAGE\"",
    "\"msg\"",
    "\"output\"",
    "\"stdout\"",
];

/// What a text of JSON comes to.
pub(super) enum Documents {
    /// What each of several machines printed.
    Of(Vec<Said>),
    /// Texts one after the other, which may name machines themselves: the messages of an exported chat. And the line of the file in which each
    /// line of them stands.
    Texts(String, Vec<u64>),
    /// A document breaks off: which machine what follows is of cannot be told. The number of a line in it.
    Broken(u64),
}

/// What each of several machines printed, when all of a text is JSON that tells; `None` else.
pub(super) fn apart(lines: &[Line<'_>]) -> Option<Documents> {
    let first = lines.iter().position(|line| !line.is_blank())?;
    let lines = lines.get(first..)?;
    // Prompts begin with a bracket, too.
    let is_json = |line: &Line<'_>| {
        let inner = line.text.trim().strip_prefix(['{', '[']).map(str::trim);
        inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(['"', '{', '[']))
    };
    let tells = |line: &Line<'_>| {
        line.text.contains("\\n") || QUOTED.iter().any(|key| line.text.contains(key))
    };
    if !lines.first().is_some_and(is_json) || !lines.iter().any(tells) {
        return None;
    }
    let (joined, starts) = json::joined(lines);
    let mut found = Found::default();
    let (mut texts, mut numbers) = (String::new(), Vec::new());
    let mut at = 0;
    while let Some(rest) = joined
        .get(at..)
        .map(str::trim_start)
        .filter(|rest| !rest.is_empty())
    {
        at = joined.len() - rest.len();
        // What follows is a prompt, or nothing that is read here.
        if !rest.starts_with(['{', '[']) {
            break;
        }
        if json::too_deep(rest).is_some() {
            return None;
        }
        let index = |byte: usize| {
            let line = starts.partition_point(|start| *start <= byte);
            line.saturating_sub(1)
        };
        let len = match json::end(rest) {
            End::Whole(len) => len,
            End::Broken(len) => return Some(Documents::Broken(lines.get(index(at + len))?.number)),
            End::Cut => return Some(Documents::Broken(lines.last()?.number)),
        };
        let mut of = lines.get(index(at)..=index(at + len - 1))?.to_vec();
        of[0].text = of[0].text.get(at - starts[index(at)]..)?;
        let (whole, starts) = json::joined(&of);
        let document = Json::new(whole.get(..len)?, &of, &starts)?;
        found.walk(&document, None, 0);
        // Asked for only as long as no machines are told.
        if found.said.len() < 2
            && let Some((text, of)) = embedded::lines(&document)
        {
            texts.push_str(&text);
            numbers.extend(of);
        }
        at += len;
    }
    match found.said.len() {
        0 | 1 => (!texts.is_empty()).then_some(Documents::Texts(texts, numbers)),
        _ => Some(Documents::Of(found.said)),
    }
}

/// The machines that are known so far, and where each is among them.
#[derive(Default)]
struct Found {
    said: Vec<Said>,
    index: HashMap<String, usize>,
}

impl Found {
    /// Notes what is printed in a document, of the machine that it is about.
    fn walk(&mut self, json: &Json<'_>, host: Option<&str>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let Some(object) = json.object() else {
            let items = json.items();
            let are_lines =
                items.len() >= MIN_LINES && items.iter().all(|item| item.text().is_some());
            for item in &items {
                match are_lines {
                    true => self.note(item, host),
                    false => self.walk(item, host, depth + 1),
                }
            }
            return;
        };
        let named = HOSTS.iter().find_map(|key| object.text(key));
        let named = named.filter(|name| is_name(name));
        let of = named.as_deref().or(host);
        let are_hosts = is_by_host(&object);
        for (key, value) in object.members() {
            let keyed = (are_hosts || is_machine(key) || is_domain(key)).then_some(key);
            let host = keyed.or(of);
            let is_line = named.is_some() && LINES.contains(&key);
            match value.text() {
                Some(text) if is_line || text.trim_end().contains('\n') => self.note(&value, host),
                Some(_) => {}
                None => self.walk(&value, host, depth + 1),
            }
        }
    }

    /// Adds a text to what a machine printed, unless that ends with it already.
    fn note(&mut self, value: &Json<'_>, host: Option<&str>) {
        let (Some(host), Some(text)) = (host, value.text()) else {
            return;
        };
        let at = match self.index.get(host) {
            Some(at) => *at,
            None if self.said.len() >= hosts::MAX => return,
            None => {
                self.index.insert(host.to_owned(), self.said.len());
                self.said.push(Said {
                    host: host.to_owned(),
                    text: String::new(),
                    numbers: Vec::new(),
                });
                self.said.len() - 1
            }
        };
        let said = &mut self.said[at];
        let text = text.trim_end().replace("\r\n", "\n");
        // Programs have it whole, and once more under another name.
        let had = said.text.strip_suffix('\n');
        if text.contains('\n') && had.is_some_and(|had| had.ends_with(&text)) {
            return;
        }
        for line in text.split('\n') {
            said.text.push_str(line);
            said.text.push('\n');
            said.numbers.push(value.line().number);
        }
    }
}

/// True for an object that has a text for each of several machines, whatever they are called.
fn is_by_host(object: &Object<'_>) -> bool {
    const FIELDS: [&str; 10] = [
        "cmd", "comment", "content", "err", "error", "log", "message", "output", "stderr", "stdout",
    ];
    let is_one = |(key, value): (&str, Json<'_>)| {
        let text = value.text();
        is_name(key)
            && !FIELDS.contains(&key)
            && text.is_some_and(|text| text.matches('\n').count() >= MIN_LINES)
    };
    object.members().count() > 1 && object.members().all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String, u64)> {
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.split('\n'))
            .map(|(number, text)| Line { number, text })
            .collect();
        let said = match apart(&lines) {
            Some(Documents::Of(said)) => said,
            _ => Vec::new(),
        };
        said.into_iter()
            .map(|said| {
                (
                    said.host,
                    said.text,
                    said.numbers.last().copied().unwrap_or_default(),
                )
            })
            .collect()
    }

    #[test]
    fn machines_are_told_by_members_and_by_their_names() {
        let expected = |last: u64| {
            vec![
                ("db1".to_owned(), "a\nb\nc\nd\n".to_owned(), 1),
                ("web2".to_owned(), "e\nf\ng\nh\n".to_owned(), last),
            ]
        };
        for (text, last) in [
            (r#"{"db1": "a\nb\nc\nd", "web2": "e\nf\ng\nh\n"}"#, 1),
            (
                "{\"db1\": \"a\\nb\\nc\\nd\"}\n\n{\"web2\": \"e\\nf\\ng\\nh\"}\n",
                3,
            ),
            (
                r#"{"items": [{"target": "db1", "value": {"stdout": "a\nb\nc\nd", "lines": ["a", "b", "c"]}}, {"target": "web2", "value": {"stdout": "e\nf\ng\nh"}}]}"#,
                1,
            ),
            (
                r#"[{"node":"db1","log":"a"},{"node":"db1","log":"b"},{"node":"db1","log":"c"},{"node":"db1","log":"d"},{"node":"web2","log":"e\nf\ng\nh"}]"#,
                1,
            ),
        ] {
            let found = of(text);
            let lines = |found: &(String, String, u64)| {
                (
                    found.0.clone(),
                    found
                        .1
                        .lines()
                        .take(4)
                        .map(str::to_owned)
                        .collect::<Vec<_>>(),
                )
            };
            assert_eq!(
                found.iter().map(lines).collect::<Vec<_>>(),
                expected(last).iter().map(lines).collect::<Vec<_>>(),
                "{text}"
            );
            assert_eq!(found[1].2, last, "{text}");
        }
    }

    #[test]
    fn texts_of_a_document_follow_each_other() {
        let text = "[{\"user\":\"U1\",\"text\":\"db1:\\n```a\\nb```\"},\n{\"text\":\"c\"},\n{\"text\":\"db2:\\nd\\n\"}]";
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.split('\n'))
            .map(|(number, text)| Line { number, text })
            .collect();
        let Some(Documents::Texts(said, numbers)) = apart(&lines) else {
            panic!("no texts");
        };
        let found: Vec<(u64, &str)> = numbers.into_iter().zip(said.lines()).collect();
        let filled = found.into_iter().filter(|(_, line)| !line.is_empty());
        assert_eq!(
            filled.collect::<Vec<_>>(),
            [(1, "db1:"), (1, "a"), (1, "b"), (3, "db2:"), (3, "d")]
        );
    }

    #[test]
    fn other_documents_are_about_one_machine() {
        for text in [
            r#"{"stdout": "a\nb\nc\nd", "stderr": "e\nf\ng\nh"}"#,
            r#"{"blockdevices": [{"name": "sda1", "model": "x"}]}"#,
            r#"{"db1": "a\nb\nc\nd"}"#,
            r#"{"db1": "a\nb"#,
            "a\n{}",
            "",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }
}
