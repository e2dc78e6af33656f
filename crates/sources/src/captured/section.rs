//! Which lines of a text are whose: prompts, headings, and the outputs between them.

use std::borrow::Cow;
use straddle_stack::OddityKind;

use super::beginnings::Beginnings;
use super::json::{self, Json};
use super::records::{self, Record};
use super::text::Line;
use super::tool::{Command, Context, Notes, Reader, Section, Tool};

/// Reads all in `lines` that one of `tools` recognises. The tools whose output it was, each once.
pub(super) fn read(
    tools: &'static [&'static Tool],
    lines: &[Line<'_>],
    file_stem: &str,
    notes: &mut Notes<'_>,
) -> Vec<&'static Tool> {
    let mut found = Found {
        tools,
        beginnings: Beginnings::of(tools),
        seen: Vec::new(),
    };
    let mut context = Context {
        command: None,
        file_stem,
    };
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        let line = rest[0];
        if line.is_blank() {
            at += 1;
            continue;
        }
        if let Some(heading) = heading(&line) {
            match heading {
                Heading::Command(command) => context.command = Some(command),
                Heading::Host(host) => notes.inventory.host = Some(host.to_owned()),
            }
            at += 1;
            continue;
        }
        let taken = json_at(rest, &context, notes, &mut found)
            .or_else(|| text_at(rest, &context, notes, &mut found))
            .or_else(|| records_at(rest, &context, notes, &mut found));
        at += taken.unwrap_or(1).max(1);
    }
    found.seen
}

struct Found {
    /// Those that are asked.
    tools: &'static [&'static Tool],
    /// Where the output of those that print lines can begin.
    beginnings: Beginnings,
    /// Those whose output was there.
    seen: Vec<&'static Tool>,
}

impl Found {
    fn add(&mut self, tool: &'static Tool, notes: &mut Notes<'_>) {
        if !self.seen.iter().any(|other| other.name == tool.name) {
            self.seen.push(tool);
        }
        let platform = &mut notes.inventory.platform;
        // A RAID controller's tool runs on any system.
        if platform.is_none() || *platform == Some("raid") {
            *platform = Some(tool.platform);
        }
    }
}

enum Heading<'t> {
    Command(Command<'t>),
    Host(&'t str),
}

/// A prompt with what was typed behind it, or a line of the collection scripts: `### host: db1`, `### command: lsblk -JO`.
fn heading<'t>(line: &Line<'t>) -> Option<Heading<'t>> {
    let text = line.text.trim();
    if let Some(rest) = text.strip_prefix("### ") {
        if let Some(host) = rest.strip_prefix("host: ") {
            return Some(Heading::Host(host.trim()));
        }
        let typed = rest.strip_prefix("command: ")?;
        return Some(Heading::Command(command(line, typed)));
    }
    let typed = text
        .strip_prefix("DISKPART>")
        .or_else(|| windows_prompt(text))
        .or_else(|| unix_prompt(text))?;
    Some(Heading::Command(command(line, typed)))
}

fn command<'t>(line: &Line<'t>, typed: &'t str) -> Command<'t> {
    let words = typed.split_whitespace().map(|word| word.trim_matches('"'));
    Command {
        line: *line,
        words: words.collect(),
    }
}

/// `C:\Windows>…`, `PS C:\>…`.
fn windows_prompt(text: &str) -> Option<&str> {
    let path = text.strip_prefix("PS ").unwrap_or(text);
    let drive = path.as_bytes();
    if !(drive.len() > 3 && drive[0].is_ascii_alphabetic() && drive[1] == b':' && drive[2] == b'\\')
    {
        return None;
    }
    let at = path.find('>')?;
    Some(&path[at + 1..])
}

/// `root@db1:~# …`, `[root@db1 ~]$ …`.
fn unix_prompt(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[').unwrap_or(text);
    let user = inner.split_once('@')?.0;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    if user.is_empty() || user.len() > 32 || !user.bytes().all(plain) {
        return None;
    }
    let at = text.find(['#', '$'])?;
    let prompt = &text[..at];
    let ends = text[at + 1..].starts_with(' ') || at + 1 == text.len();
    (ends && prompt.len() < 160 && !prompt.contains(" : ")).then(|| &text[at + 1..])
}

/// A JSON document that begins here.
fn json_at(
    rest: &[Line<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let first = rest.first()?;
    if !first.text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let (taken, whole) = json::extent(rest);
    let lines = &rest[..taken];
    let (joined, starts) = json::joined(lines);
    let text: Cow<'_, str> = if whole {
        Cow::Borrowed(joined.as_str())
    } else {
        Cow::Owned(json::mended(&joined)?)
    };
    let json = Json::new(&text, lines, &starts)?;
    let known = dispatch_json(&json, context, notes, found);
    if !known {
        return None;
    }
    if let (false, Some(last)) = (whole, lines.iter().rev().find(|line| !line.is_blank())) {
        notes.remark(
            OddityKind::Truncated,
            "the JSON document ends in the middle; what stands before was read",
            last,
        );
    }
    Some(taken)
}

fn dispatch_json(
    json: &Json<'_>,
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> bool {
    let first = match json.object() {
        Some(object) => Some(object),
        None => json.items().first().and_then(Json::object),
    };
    let Some(first) = first else { return false };
    for tool in found.tools {
        for reader in tool.readers {
            if let Reader::Json { is, read } = reader
                && is(&first)
            {
                read(json, context, notes);
                found.add(tool, notes);
                return true;
            }
        }
    }
    dispatch_records(&records::from_json(json), context, notes, found)
}

/// A text output that begins here.
fn text_at(
    rest: &[Line<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let (tool, read) = found.beginnings.at(rest)?;
    let mut end = 1;
    while end < rest.len()
        && heading(&rest[end]).is_none()
        && found.beginnings.at(&rest[end..]).is_none()
    {
        end += 1;
    }
    let section = Section {
        lines: &rest[..end],
        context: context.clone(),
    };
    read(&section, notes);
    found.add(tool, notes);
    Some(end)
}

/// Objects with named fields that begin here.
fn records_at(
    rest: &[Line<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let line = rest.first()?;
    if records::is_csv_header(line) {
        let (records, taken) = records::from_csv(rest);
        if dispatch_records(&records, context, notes, found) {
            return Some(taken);
        }
    }
    records::pair(line)?;
    let (record, taken) = records::from_list(rest);
    dispatch_records(&[record], context, notes, found);
    Some(taken)
}

fn dispatch_records(
    records: &[Record<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> bool {
    let Some(first) = records.first() else {
        return false;
    };
    for tool in found.tools {
        for reader in tool.readers {
            if let Reader::Records { keys, read } = reader
                && first.has(keys)
            {
                read(records, context, notes);
                found.add(tool, notes);
                return true;
            }
        }
    }
    false
}
