//! Which lines of a text are whose: prompts, headings, and the outputs between them.

use std::borrow::Cow;
use straddle_stack::OddityKind;

use super::beginnings::Beginnings;
use super::json::{self, Json};
use super::records::{self, MOST_RECORDS, Record};
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
                Heading::Command(command) => {
                    typed(tools, &command, notes);
                    context.command = Some(command);
                }
                Heading::Host(host) => notes.inventory.host = Some(host.to_owned()),
            }
            at += 1;
            continue;
        }
        let taken = json_at(rest, &context, notes, &mut found)
            .or_else(|| text_at((&lines[..at], rest), &context, notes, &mut found))
            .or_else(|| records_at(rest, &context, notes, &mut found));
        at += taken.unwrap_or(1).max(1);
    }
    found.seen
}

/// Tells the tools that want to know what was typed.
fn typed(tools: &'static [&'static Tool], command: &Command<'_>, notes: &mut Notes<'_>) {
    for reader in tools.iter().flat_map(|tool| tool.readers) {
        if let Reader::Typed { read } = reader {
            read(command, notes);
        }
    }
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
    // Every prompt has one of these, and few other lines have.
    let signs = |byte: u8| matches!(byte, b'>' | b'#' | b'$' | b']');
    if !line.text.bytes().any(signs) {
        return None;
    }
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
        .or_else(|| unix_prompt(text))
        .or_else(|| esxi_prompt(text))
        .or_else(|| bare_prompt(text))?;
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

/// `~ # …`, `/vmfs/volumes # …`, `[root@esx1:~] …`.
fn esxi_prompt(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("[root@") {
        let (place, typed) = rest.split_once("] ")?;
        let (host, folder) = place.split_once(':')?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        return (host.bytes().all(plain) && !folder.contains(' ')).then_some(typed);
    }
    let (folder, typed) = text.split_once(" # ")?;
    (folder == "~" || folder.starts_with('/') && !folder.contains(' ')).then_some(typed)
}

/// `# mdadm --detail /dev/md0`, `$ sudo lvs`: all that is left of a prompt, before a program that is known here. Comments
/// begin with the same sign.
fn bare_prompt(text: &str) -> Option<&str> {
    let typed = text
        .strip_prefix("# ")
        .or_else(|| text.strip_prefix("$ "))?;
    let program = typed.split_whitespace().find(|word| *word != "sudo")?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut commands = super::TOOLS.iter().flat_map(|tool| tool.commands);
    let known = commands.any(|command| command.split_whitespace().next() == Some(program));
    known.then_some(typed)
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

/// A text output that begins in the first line of `rest`.
fn text_at(
    (before, rest): (&[Line<'_>], &[Line<'_>]),
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let (tool, read) = found.beginnings.at(rest, None)?;
    let mut end = 1;
    while end < rest.len()
        && heading(&rest[end]).is_none()
        && found.beginnings.at(&rest[end..], Some(tool)).is_none()
    {
        end += 1;
    }
    let section = Section {
        lines: &rest[..end],
        before: &before[before.len().saturating_sub(MOST_BEFORE)..],
        context: context.clone(),
    };
    read(&section, notes);
    found.add(tool, notes);
    Some(end)
}

/// How many lines a reader can look back.
const MOST_BEFORE: usize = 16;

/// Objects with named fields that begin here.
fn records_at(
    rest: &[Line<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let line = rest.first()?;
    if records::is_clixml(line) {
        return Some(clixml_at(rest, context, notes, found));
    }
    let tools = found.tools;
    let known = |names: &Record<'_>| reader_of(names, tools).is_some();
    if records::is_csv_header(line) {
        let (records, taken) = records::from_csv(rest, known);
        if dispatch_records(&records, context, notes, found) {
            return Some(taken);
        }
    }
    if let Some((records, taken)) = records::from_table(rest, known)
        && dispatch_records(&records, context, notes, found)
    {
        return Some(taken);
    }
    records::pair(line)?;
    let (record, taken) = records::from_list(rest);
    let Some(read) = reader_of(&record, found.tools) else {
        // What looks like a value that goes on may be the beginning of an output that is indented.
        let begins = |at: &usize| found.beginnings.at(&rest[*at..], None).is_some();
        return Some((1..taken).find(begins).unwrap_or(taken));
    };
    let (mut records, mut taken) = (vec![record], taken);
    while let Some((record, more)) = next_in_list(&rest[taken..], read, found) {
        if records.len() < MOST_RECORDS {
            records.push(record);
        }
        taken += more;
    }
    dispatch_records(&records, context, notes, found);
    Some(taken)
}

/// The next object of a list whose objects `read` reads, and how many lines up to its end.
fn next_in_list<'t>(
    rest: &[Line<'t>],
    read: RecordsReader,
    found: &Found,
) -> Option<(Record<'t>, usize)> {
    let start = rest.iter().position(|line| !line.is_blank())?;
    let rest = &rest[start..];
    let first = rest.first()?;
    if heading(first).is_some() || found.beginnings.at(rest, None).is_some() {
        return None;
    }
    records::pair(first)?;
    let (record, taken) = records::from_list(rest);
    let same = reader_of(&record, found.tools).is_some_and(|other| other.is(read));
    same.then_some((record, start + taken))
}

fn clixml_at(
    rest: &[Line<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> usize {
    let document = records::from_clixml(rest);
    let known = dispatch_records(&document.records, context, notes, found);
    let lines = &rest[..document.taken];
    if let (true, false, Some(last)) = (
        known,
        document.whole,
        lines.iter().rev().find(|line| !line.is_blank()),
    ) {
        notes.remark(
            OddityKind::Truncated,
            "the CLIXML document ends in the middle; what stands before was read",
            last,
        );
    }
    document.taken
}

type ReadRecords = fn(&[Record<'_>], &Context<'_>, &mut Notes<'_>);

/// Who reads a record.
#[derive(Clone, Copy)]
struct RecordsReader {
    tool: &'static Tool,
    read: ReadRecords,
}

impl RecordsReader {
    fn is(self, other: RecordsReader) -> bool {
        std::ptr::eq(self.tool, other.tool)
    }
}

fn reader_of(record: &Record<'_>, tools: &'static [&'static Tool]) -> Option<RecordsReader> {
    tools.iter().find_map(|tool| {
        let mut readers = tool.readers.iter();
        readers.find_map(|reader| match reader {
            Reader::Records { keys, read } if record.has(keys) => {
                Some(RecordsReader { tool, read: *read })
            }
            _ => None,
        })
    })
}

/// Gives each run of records to the tool whose they are. False when none is known.
fn dispatch_records(
    records: &[Record<'_>],
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> bool {
    let mut known = false;
    let mut rest = records;
    while let Some(first) = rest.first() {
        let reader = reader_of(first, found.tools);
        let same = |record: &Record<'_>| match (reader_of(record, found.tools), reader) {
            (Some(a), Some(b)) => a.is(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let end = rest.iter().position(|record| !same(record));
        let (run, behind) = rest.split_at(end.unwrap_or(rest.len()));
        if let Some(reader) = reader {
            (reader.read)(run, context, notes);
            found.add(reader.tool, notes);
            known = true;
        }
        rest = behind;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Option<Vec<&str>> {
        let line = Line {
            number: 1,
            text: line,
        };
        match heading(&line)? {
            Heading::Command(command) => Some(command.words),
            Heading::Host(_) => None,
        }
    }

    #[test]
    fn prompts_of_all_systems() {
        let expected = ["partedUtil", "get", "/dev/x"];
        for prompt in [
            "~ # ",
            "/vmfs/volumes # ",
            "[root@esx-1:~] ",
            "[root@db1 ~]# ",
            "root@db1:~# ",
            "C:\\>",
        ] {
            let line = format!("{prompt}partedUtil get /dev/x");
            assert_eq!(typed(&line).as_deref(), Some(&expected[..]), "{line}");
        }
        for line in ["a # b", "[root@esx 1:~] x", "no prompt"] {
            assert_eq!(typed(line), None, "{line}");
        }
    }
}
