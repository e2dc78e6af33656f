//! Which lines of a text are whose: prompts, headings, and the outputs between them.

use straddle_stack::AnomalyKind;

use super::beginnings::Beginnings;
use super::heading::{Heading, asked, heading, machine_of_prompt};
use super::json::{self, End, Json};
use super::linux::kernel_log;
use super::records::{self, MAX_RECORDS, Record};
use super::text::Line;
use super::tool::{Command, Context, Notes, Reader, Section, Tool};
use super::unread::{Unread, prints};
use super::{embedded, text};

/// Reads all in `lines` that one of `tools` recognises. The tools whose output it was, each once.
pub(super) fn read(
    tools: &'static [&'static Tool],
    lines: &[Line<'_>],
    file_stem: &str,
    command: Option<Command<'_>>,
    notes: &mut Notes<'_>,
) -> Vec<&'static Tool> {
    let context = Context { command, file_stem };
    read_inside(tools, lines, context, notes, 0)
}

/// As [`read`], when so many documents were looked into already.
fn read_inside(
    tools: &'static [&'static Tool],
    lines: &[Line<'_>],
    context: Context<'_>,
    notes: &mut Notes<'_>,
    inside: usize,
) -> Vec<&'static Tool> {
    let length: usize = lines.iter().map(|line| line.text.len() + 1).sum();
    let mut found = Found {
        tools,
        joined: None,
        json_until: 0,
        read_last: 0,
        read_in_vain: 0,
        limit: length.saturating_mul(IN_VAIN),
        beginnings: Beginnings::of(tools),
        outputs: 0,
        passed: 0,
        inside,
        seen: Vec::new(),
    };
    let mut unread = Unread::default();
    let mut context = context;
    let mut at = 0;
    let mut nameless: Option<Line<'_>> = None;
    let mut orphan: Option<Line<'_>> = None;
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
                    notes.above.get_or_insert(found.passed);
                    unread.tell(notes);
                    if let Some(machine) = asked(&command).or_else(|| machine_of_prompt(line.text))
                    {
                        notes.speaks(machine);
                    }
                    unread.command = prints(&command).then_some(command.line);
                    typed(tools, &command, notes);
                    context.command = Some(command);
                }
                Heading::Host(host) => {
                    notes.above.get_or_insert(found.passed);
                    notes.host(host);
                    context.command = None;
                }
                Heading::Machine(machine) => notes.speaks(machine),
            }
            // `ok: [db1] => {` is the beginning of its result too.
            if json::opens(line.text).is_none() {
                at += 1;
                continue;
            }
        }
        let outputs = found.outputs;
        let mut taken = json_once((&lines[..at], rest), &context, notes, &mut found);
        if at >= found.json_until {
            taken = taken
                .or_else(|| text_at((&lines[..at], rest), &context, notes, &mut found))
                .or_else(|| records_at((&lines[..at], rest), &context, notes, &mut found));
        }
        let above = at.checked_sub(1).and_then(|above| lines.get(above));
        if taken.is_none() && records::lacks_names(above, &line) {
            nameless = nameless.or(Some(line));
        }
        if found.outputs == outputs {
            let lines = &rest[..taken.unwrap_or(1).clamp(1, rest.len())];
            let stripe = |line: &Line<'_>| records::stripe_in(line.text).is_some();
            orphan = orphan.or_else(|| lines.iter().copied().find(stripe));
        }
        at += taken.unwrap_or(1).max(1);
        if found.outputs > outputs {
            unread = Unread::default();
        } else {
            unread.lines = true;
            found.passed += taken.unwrap_or(1).max(1);
        }
    }
    unread.tell(notes);
    if let (Some(line), false) = (nameless, found.seen.is_empty()) {
        let detail =
            "the names of the columns of a table are missing or cut; its rows were not read";
        notes.remark(AnomalyKind::Truncated, detail, &line);
    }
    if let (Some(line), false) = (orphan, found.seen.is_empty()) {
        let detail = "a stripe unit without its volume: what else the controller's tool printed was left out, so it is not used; \
                      --stripe-unit states it";
        notes.remark(AnomalyKind::Missing, detail, &line);
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
    /// Up to which line there is JSON that nobody knows: nothing but other JSON can be in it.
    json_until: usize,
    /// How many bytes of JSON were read last, how many in vain, and how many may be.
    read_last: usize,
    read_in_vain: usize,
    limit: usize,
    /// How many outputs were read.
    outputs: usize,
    /// How many lines were not part of any.
    passed: usize,
    /// How many documents were looked into for what tools printed.
    inside: usize,
    /// Those whose output was there.
    seen: Vec<&'static Tool>,
}

impl Found {
    /// Counts an output of which `read` notes what it says. One that gives no value is none: words that a tool prints stand in other
    /// texts, too.
    fn read(
        &mut self,
        tool: &'static Tool,
        notes: &mut Notes<'_>,
        read: impl FnOnce(&mut Notes<'_>),
    ) -> bool {
        let mark = notes.inventory.mark();
        read(notes);
        let says = notes.inventory.says_since(mark);
        match says {
            true => self.add(tool, notes),
            false => {
                notes.inventory.take_back(mark);
                // It was looked at, at least: a table whose columns say nothing of places.
                self.outputs += 1;
                notes.begun = true;
            }
        }
        says
    }

    fn add(&mut self, tool: &'static Tool, notes: &mut Notes<'_>) {
        self.outputs += 1;
        // What the kernel says of disks stands far down in its log.
        let is_log = tool.name == kernel_log::TOOL.name;
        notes
            .above
            .get_or_insert(if is_log { 0 } else { self.passed });
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
    let open = json::opens(first.text)?;
    let (text, starts) = found.joined.get_or_insert_with(|| {
        let all = [before, rest].concat();
        json::joined(&all)
    });
    let from = starts.get(before.len())?.saturating_add(open);
    let value = text.get(from..)?;
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
    let mut lines = rest[..taken].to_vec();
    lines[0].text = first.text.get(open..)?;
    let lines = &lines[..];
    let (joined, starts) = json::joined(lines);
    let is_whole = matches!(end, End::Whole(_));
    let json_text = match end {
        End::Whole(len) => joined.get(..len)?.to_owned(),
        // The fault may be the first character of the next line.
        End::Broken(len) => json::completed(joined.get(..len.min(joined.len()))?)?,
        End::Cut => json::completed(&joined)?,
    };
    let json = Json::new(&json_text, lines, &starts)?;
    if !dispatch_json(&json, context, notes, found) && !inside_json(&json, context, notes, found) {
        if !matches!(end, End::Broken(_)) {
            found.json_until = found.json_until.max(before.len() + taken);
        }
        return None;
    }
    if let (false, Some(last)) = (is_whole, lines.iter().rev().find(|line| !line.is_blank())) {
        notes.remark(
            AnomalyKind::Truncated,
            "the JSON document ends in the middle; what stands before was read",
            last,
        );
    }
    Some(taken)
}

/// What tools printed, when it stands in the strings of a document that is none of theirs.
fn inside_json(
    json: &Json<'_>,
    context: &Context<'_>,
    notes: &mut Notes<'_>,
    found: &mut Found,
) -> bool {
    if found.inside >= MAX_INSIDE {
        return false;
    }
    let Some((printed, numbers)) = embedded::lines(json) else {
        return false;
    };
    found.inside += 1;
    let printed = text::Text::new(printed.as_bytes(), false);
    let lines = printed.renumbered(&numbers);
    let nobody = Context {
        command: None,
        file_stem: context.file_stem,
    };
    let seen = read_inside(found.tools, &lines, nobody, notes, MAX_INSIDE);
    for tool in &seen {
        found.add(tool, notes);
    }
    !seen.is_empty()
}

/// Most documents that are looked into so.
const MAX_INSIDE: usize = 64;

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
                && found.read(tool, notes, |notes| read(json, context, notes))
            {
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
        && !(rest[end - 1].is_blank() && objects_begin(&rest[end..], tool, found.tools))
    {
        end += 1;
    }
    let section = Section {
        lines: &rest[..end],
        before: &before[before.len().saturating_sub(MAX_BEFORE)..],
        context: context.clone(),
    };
    found.read(tool, notes, |notes| read(&section, notes));
    Some(end)
}

/// Tools that print objects as others print lines.
const OF_OBJECTS: [&str; 2] = ["wmic", "wmi-script"];

/// True where objects of another tool begin below the output of one that prints lines. Only the first lines are looked at.
fn objects_begin(rest: &[Line<'_>], inside: &Tool, tools: &'static [&'static Tool]) -> bool {
    let Some(first) = rest.first().filter(|_| !OF_OBJECTS.contains(&inside.name)) else {
        return false;
    };
    let known = |names: &Record<'_>| {
        reader_of(names, tools).is_some_and(|reader| reader.tool.name != inside.name)
    };
    let head = &rest[..rest.len().min(HEAD)];
    if records::pair(first).is_some() {
        return known(&records::from_list(head).0);
    }
    records::is_csv_header(first) && !records::from_csv(head, known).0.is_empty()
        || records::from_table(&[], head, known).is_some()
        || records::from_shapes(&[], head, known).is_some()
}

/// How many lines tell what objects are.
const HEAD: usize = 48;

/// How many lines a reader can look back.
const MAX_BEFORE: usize = 16;

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
    if line.text.trim_start().starts_with("@{") {
        let records = records::from_hashtables(rest, known);
        if !records.is_empty() && dispatch_records(&records, context, notes, found) {
            return Some(records.len());
        }
    }
    let table = records::from_table(before, rest, known);
    let table = table
        .or_else(|| records::from_markdown(before, rest, known))
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
            notes.remark(AnomalyKind::Missing, detail, &field.line);
        }
        // What looks like a value that goes on may be the beginning of an output that is indented.
        let begins = |at: &usize| {
            heading(&rest[*at]).is_some() || found.beginnings.at(&rest[*at..], None).is_some()
        };
        return Some((1..taken).find(begins).unwrap_or(taken));
    };
    let (mut records, mut taken) = (vec![record], taken);
    while let Some((record, more)) = next_in_list(&rest[taken..], read, found) {
        if records.len() < MAX_RECORDS {
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
            AnomalyKind::Truncated,
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
    let machine = |record: &Record<'_>| records::machine_of(record).map(str::to_owned);
    while let Some(first) = rest.first() {
        let reader = reader_of(first, found.tools);
        let its = machine(first);
        let same = |record: &Record<'_>| match (reader_of(record, found.tools), reader) {
            (Some(a), Some(b)) => a.is(b) && machine(record) == its,
            (a, b) => a.is_none() && b.is_none(),
        };
        let end = rest.iter().position(|record| !same(record));
        let (run, behind) = rest.split_at(end.unwrap_or(rest.len()));
        if let Some(reader) = reader {
            if let Some(machine) = &its {
                notes.speaks(machine);
            }
            known |= found.read(reader.tool, notes, |notes| {
                (reader.read)(run, context, notes)
            });
        }
        rest = behind;
    }
    known
}
