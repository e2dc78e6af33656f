//! Which lines of a text are whose: prompts, headings, and the outputs between them.

use straddle_stack::OddityKind;

use super::beginnings::Beginnings;
use super::json::{self, End, Json};
use super::records::{self, MOST_RECORDS, Record};
use super::text::Line;
use super::tool::{Command, Context, Notes, Reader, Section, Tool};
use super::unread::{Unread, prints};

/// Reads all in `lines` that one of `tools` recognises. The tools whose output it was, each once.
pub(super) fn read(
    tools: &'static [&'static Tool],
    lines: &[Line<'_>],
    file_stem: &str,
    notes: &mut Notes<'_>,
) -> Vec<&'static Tool> {
    let length: usize = lines.iter().map(|line| line.text.len() + 1).sum();
    let mut found = Found {
        tools,
        joined: None,
        read_last: 0,
        read_in_vain: 0,
        limit: length.saturating_mul(IN_VAIN),
        beginnings: Beginnings::of(tools),
        outputs: 0,
        seen: Vec::new(),
    };
    let mut unread = Unread::default();
    let mut context = Context {
        command: None,
        file_stem,
    };
    let mut at = 0;
    let mut nameless: Option<Line<'_>> = None;
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
                    unread.tell(notes);
                    unread.command = prints(&command).then_some(command.line);
                    typed(tools, &command, notes);
                    context.command = Some(command);
                }
                Heading::Host(host) => notes.inventory.host = Some(host.to_owned()),
            }
            at += 1;
            continue;
        }
        let outputs = found.outputs;
        let taken = json_once((&lines[..at], rest), &context, notes, &mut found)
            .or_else(|| text_at((&lines[..at], rest), &context, notes, &mut found))
            .or_else(|| records_at((&lines[..at], rest), &context, notes, &mut found));
        let above = at.checked_sub(1).and_then(|above| lines.get(above));
        if taken.is_none() && records::lacks_names(above, &line) {
            nameless = nameless.or(Some(line));
        }
        at += taken.unwrap_or(1).max(1);
        if found.outputs > outputs {
            unread = Unread::default();
        } else {
            unread.lines = true;
        }
    }
    unread.tell(notes);
    if let (Some(line), false) = (nameless, found.seen.is_empty()) {
        let detail =
            "the names of the columns of a table are missing or cut; its rows were not read";
        notes.remark(OddityKind::Truncated, detail, &line);
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
    /// All lines as one text, and where each begins in it, once JSON was looked for.
    joined: Option<(String, Vec<usize>)>,
    /// How many bytes of JSON were read last, how many in vain, and how many may be.
    read_last: usize,
    read_in_vain: usize,
    limit: usize,
    /// How many outputs were read.
    outputs: usize,
    /// Those whose output was there.
    seen: Vec<&'static Tool>,
}

impl Found {
    fn add(&mut self, tool: &'static Tool, notes: &mut Notes<'_>) {
        self.outputs += 1;
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

/// How many times the length of a text may be read as JSON that is none.
const IN_VAIN: usize = 4;

enum Heading<'t> {
    Command(Command<'t>),
    Host(&'t str),
}

/// A prompt with what was typed behind it, or a line of the collection scripts: `### host: db1`, `### command: lsblk -JO`.
fn heading<'t>(line: &Line<'t>) -> Option<Heading<'t>> {
    // Every prompt has one of these, and few other lines have.
    // `❯` and `➜` begin with this byte.
    let signs = |byte: u8| matches!(byte, b'>' | b'#' | b'$' | b']' | b'%' | 0xe2);
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
    // What it goes through behind a pipe says nothing of what it is about.
    let ends = |word: &&str| !matches!(*word, "|" | "||" | "&&" | ";" | ">" | ">>" | "2>&1" | "2>");
    let words = typed
        .split_whitespace()
        .take_while(ends)
        .map(|word| word.trim_matches('"'));
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

/// The machine whose prompt a line begins with: `web1` of `root@web1:~# …` and `[root@web1 ~]$ …`.
pub(super) fn host_of_prompt(text: &str) -> Option<&str> {
    let text = text.trim();
    if !text.contains('@') {
        return None;
    }
    unix_prompt(text).or_else(|| esxi_prompt(text))?;
    let (_, rest) = text.split_once('@')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let end = rest.find(|c| !plain(c))?;
    let host = &rest[..end];
    let ends = rest[end..].starts_with([':', ' ', ']', '#', '$']);
    (ends && host.bytes().any(|b| b.is_ascii_alphabetic())).then_some(host)
}

/// `~ # …`, `/vmfs/volumes # …`, `[root@esx1:~] …`.
fn esxi_prompt(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("[root@") {
        let (place, typed) = rest.split_once("] ")?;
        // Some show the host alone.
        let (host, folder) = place.split_once(':').unwrap_or((place, ""));
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        return (host.bytes().all(plain) && !folder.contains(' ')).then_some(typed);
    }
    let (folder, typed) = text.split_once(" # ")?;
    (folder == "~" || folder.starts_with('/') && !folder.contains(' ')).then_some(typed)
}

/// `# mdadm --detail /dev/md0`, `$ sudo lvs`, `➜  ~ lsblk`, `db1% sudo fdisk -l`: a sign before a program that is known here,
/// whatever stands in front. Comments begin with the same sign.
fn bare_prompt(text: &str) -> Option<&str> {
    let signs = ['#', '$', '%', '>', '❯', '➜'];
    let mut from = 0;
    while let Some(at) = text[from..].find(signs) {
        let at = from + at;
        let sign = text[at..].chars().next()?.len_utf8();
        from = at + sign;
        if at > LONGEST_PROMPT {
            return None;
        }
        let typed = text[from..].trim_start();
        // The shell's folder stands behind its arrow.
        let behind_folder = typed.split_once(' ').map(|(_, rest)| rest.trim_start());
        let arrow = sign > 1;
        if is_known(typed) {
            return Some(typed);
        }
        if let Some(rest) = behind_folder.filter(|rest| arrow && is_known(rest)) {
            return Some(rest);
        }
    }
    None
}

/// Longest part of a line before a sign that is taken for a prompt.
const LONGEST_PROMPT: usize = 60;

/// True for a command of a tool that is known here.
fn is_known(typed: &str) -> bool {
    let Some(program) = typed.split_whitespace().find(|word| *word != "sudo") else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut commands = super::TOOLS.iter().flat_map(|tool| tool.commands);
    commands.any(|command| command.split_whitespace().next() == Some(program))
}

/// As [`json_at`], as long as not too much was read of what looked like JSON and was none: each such text may be as long as all
/// that is left.
fn json_once(
    (before, rest): (&[Line<'_>], &[Line<'_>]),
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    if found.read_in_vain > found.limit {
        return None;
    }
    let taken = json_at((before, rest), context, notes, found);
    if taken.is_none() {
        found.read_in_vain = found.read_in_vain.saturating_add(found.read_last);
    }
    found.read_last = 0;
    taken
}

/// A JSON document that begins here. What is broken in the middle is read up to there, like what was cut off.
fn json_at(
    (before, rest): (&[Line<'_>], &[Line<'_>]),
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> Option<usize> {
    let first = rest.first()?;
    if !first.text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let (text, starts) = found.joined.get_or_insert_with(|| {
        let all = [before, rest].concat();
        json::joined(&all)
    });
    let from = *starts.get(before.len())?;
    // Indented as it may be.
    let value = text.get(from..)?.trim_start();
    if let Some(read) = json::too_deep(value) {
        found.read_last = read;
        return None;
    }
    let end = json::end(text.get(from..)?);
    let len = match end {
        End::Whole(len) | End::Broken(len) => len,
        End::Cut => text.len() - from,
    };
    found.read_last = len;
    let last = starts.partition_point(|start| *start < from + len.max(1));
    let taken = last.saturating_sub(before.len()).clamp(1, rest.len());
    let lines = &rest[..taken];
    let (joined, starts) = json::joined(lines);
    let is_whole = matches!(end, End::Whole(_));
    let json_text = match end {
        End::Whole(len) => joined.get(..len)?.to_owned(),
        End::Broken(len) => json::mended(joined.get(..len)?)?,
        End::Cut => json::mended(&joined)?,
    };
    let json = Json::new(&json_text, lines, &starts)?;
    if !dispatch_json(&json, context, notes, found) {
        return None;
    }
    if let (false, Some(last)) = (is_whole, lines.iter().rev().find(|line| !line.is_blank())) {
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
    (before, rest): (&[Line<'_>], &[Line<'_>]),
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
    let table = records::from_table(before, rest, known);
    let table = table
        .or_else(|| records::from_markdown(rest, known))
        .or_else(|| records::from_shapes(before, rest, known));
    if let Some((records, taken)) = table
        && dispatch_records(&records, context, notes, found)
    {
        return Some(taken);
    }
    records::pair(line)?;
    let (record, taken) = records::from_list(rest);
    let Some(read) = reader_of(&record, found.tools) else {
        if let Some(field) = records::start_of(&record) {
            let detail =
                "what starts here was lost: neither its disk nor its number stands beside it";
            notes.remark(OddityKind::Missing, detail, &field.line);
        }
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
    records::tell_cut(records, notes);
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
            "[root@esx-1] ",
            "[root@db1 ~]# ",
            "root@db1:~# ",
            "C:\\>",
        ] {
            let line = format!("{prompt}partedUtil get /dev/x");
            assert_eq!(typed(&line).as_deref(), Some(&expected[..]), "{line}");
        }
        let lsblk = ["sudo", "lsblk", "-o", "NAME"];
        for prompt in ["➜  ~ ", "❯ ", "db1% ", "bash-4.2$ ", "#", "db1 /root> "] {
            let line = format!("{prompt}sudo lsblk -o NAME | grep -i block");
            assert_eq!(typed(&line).as_deref(), Some(&lsblk[..]), "{line}");
        }
        for line in ["a # b", "[root@esx 1:~] x", "no prompt"] {
            assert_eq!(typed(line), None, "{line}");
        }
    }
}
