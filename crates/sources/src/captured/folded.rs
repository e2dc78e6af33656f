//! Texts in which the lines of an output are no lines: what a table of a spreadsheet or of Markdown has in one cell for each host, what a mail has in base64, what
//! a program writes with `\n` in place of the ends of lines, and what lost them altogether.
//!
//! They become lines again. Each is marked with its host, where a table names it, and with what keeps its number: it stands where the
//! cell stood.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::hostname::is_name;
use super::joined;

/// Between two of these stands the host of a line. No text has them: separators of tapes.
const HOST: char = '\u{1c}';
/// Ends a line behind which the next has the same number.
const SOFT: char = '\u{1d}';

/// Fewest lines of a cell that are an output.
const MIN_LINES: usize = 3;
/// Most cells of a row.
const MAX_CELLS: usize = 64;

/// The lines again. `decode` reads what a mail has in base64, in any encoding.
pub(super) fn unfolded(text: Cow<'_, str>, decode: fn(&[u8]) -> Cow<'_, str>) -> Cow<'_, str> {
    if text.contains([HOST, SOFT]) {
        return text;
    }
    let text = mail(text, decode);
    let text = ansible(text);
    let tables = [csv, records, bars, psql];
    let text = match tables.into_iter().find_map(|table| table(&text)) {
        Some(cells) => Cow::Owned(cells),
        None => text,
    };
    joined::apart(escaped(text), SOFT)
}

/// The number of each line in the file, and the lines without what kept it.
pub(super) fn numbered(lines: &mut [&str]) -> Vec<usize> {
    let mut number = 1;
    let mut next = |line: &mut &str| {
        let this = number;
        match line.strip_suffix(SOFT) {
            Some(rest) => *line = rest,
            None => number += 1,
        }
        this
    };
    lines.iter_mut().map(&mut next).collect()
}

/// The host that each line is marked with, which is taken off; `None` where none is.
pub(super) fn hosts<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
    let mut of = |line: &mut &'t str| match marked(line) {
        Some((host, rest)) => {
            *line = rest;
            host
        }
        None => "",
    };
    let hosts: Vec<&str> = lines.iter_mut().map(&mut of).collect();
    hosts.iter().any(|host| !host.is_empty()).then_some(hosts)
}

/// A line's host, and the line.
fn marked(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix(HOST)?.split_once(HOST)
}

/// Adds an output as lines of a host, in place of so many lines of the file.
fn push(out: &mut String, host: Option<&str>, said: &str, lines: usize) {
    let said = said.trim_end_matches(['\n', '\r']);
    let mut count = 0;
    let all = said.split('\n').count();
    for line in said.split('\n') {
        count += 1;
        if let Some(host) = host {
            out.push(HOST);
            out.push_str(host);
            out.push(HOST);
        }
        out.push_str(line.trim_end_matches('\r'));
        if count >= lines && (count < all || lines == 0) {
            out.push(SOFT);
        }
        out.push('\n');
    }
    for _ in count..lines {
        out.push('\n');
    }
}

/// `\n` and `\t` as what they stand for.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\r\\n", "\n").replace("\\n", "\n");
    text.replace("\\t", "\t")
}

/// The lines that Ansible puts into one for each host (`-o`): `db1 | CHANGED | rc=0 | (stdout) Disk …\\nUnits …`.
fn ansible(text: Cow<'_, str>) -> Cow<'_, str> {
    const MARK: &str = " | (stdout) ";
    if !text.contains(MARK) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line
            .split_once(MARK)
            .filter(|(title, _)| title.contains(" | rc="))
        {
            Some((title, said)) => {
                out.push_str(title);
                out.push_str(" >>");
                out.push(SOFT);
                out.push('\n');
                push(&mut out, None, &unescaped(said), 1);
            }
            None => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

/// A whole output in one line, with `\n` where its lines end. JSON has its own reader.
fn escaped(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_one = |line: &str| {
        let json = line.trim_start().starts_with(['{', '['])
            || line.contains("\": \"")
            || line.contains("\":\"");
        !json && line.matches("\\n").count() >= MIN_LINES
    };
    if !text.contains("\\n") || !text.split('\n').any(is_one) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let line_end = line.strip_suffix('\n').unwrap_or(line);
        if !is_one(line_end) {
            out.push_str(line);
            continue;
        }
        let (host, said) = match marked(line_end) {
            Some((host, said)) => (Some(host), said),
            None => (None, line_end),
        };
        // `db1: "Disk …\nUnits …"`, as YAML quotes it.
        let (name, said) = match said.split_once(": \"").or_else(|| said.split_once(": '")) {
            Some((name, quoted)) if is_name(name) && host.is_none() => (Some(name), quoted),
            _ => (host, said),
        };
        let said = said.trim().trim_matches(['"', '\'']);
        push(&mut out, name, &unescaped(said), 1);
    }
    Cow::Owned(out)
}

/// What columns of hosts are called, and those of what they say.
const OF_HOSTS: [&str; 16] = [
    "computer",
    "computername",
    "device",
    "fqdn",
    "host",
    "host name",
    "hostname",
    "instance",
    "machine",
    "minion",
    "node",
    "rechner",
    "server",
    "servername",
    "target",
    "vm",
];
const OF_OUTPUT: [&str; 14] = [
    "_raw",
    "ausgabe",
    "command output",
    "content",
    "line",
    "log",
    "message",
    "msg",
    "output",
    "response",
    "result",
    "stdout",
    "text",
    "value",
];

/// Which columns of a table have the host and what it says.
fn columns(names: &[&str]) -> Option<(usize, usize)> {
    let find = |known: &[&str]| {
        names.iter().position(|name| {
            let name = name.trim().trim_matches('"').to_ascii_lowercase();
            known.contains(&&*name)
        })
    };
    let host = find(&OF_HOSTS)?;
    let output = find(&OF_OUTPUT)?;
    (host != output).then_some((host, output))
}

/// Rows of a table by commas, semicolons or tabs that has a column of hosts and one of what they say: a cell with all its lines, or a row for each line.
fn csv(text: &str) -> Option<String> {
    let (head, rest) = text.split_once('\n')?;
    let separator = separator(head)?;
    let names: Vec<&str> = head
        .trim_end_matches('\r')
        .split(char::from(separator))
        .take(MAX_CELLS)
        .collect();
    let (host, output) = columns(&names)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(rest.as_bytes());
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    // The names of the columns.
    out.push('\n');
    let mut rows = reader.records().peekable();
    let all = u64::try_from(rest.lines().count()).unwrap_or(u64::MAX) + 1;
    let mut said = false;
    while let Some(row) = rows.next() {
        let row = row.ok()?;
        let line = |row: &csv::StringRecord| row.position().map(csv::Position::line);
        let next = rows.peek().and_then(|row| line(row.as_ref().ok()?));
        let lines = next.unwrap_or(all).saturating_sub(line(&row)?);
        let lines = usize::try_from(lines).ok()?.max(1);
        let (name, cell) = (row.get(host).unwrap_or(""), row.get(output).unwrap_or(""));
        let name = name.trim();
        // What a table has that is none of hosts.
        if !is_name(name) {
            return None;
        }
        said |= !cell.trim().is_empty();
        push(&mut out, Some(name), cell, lines);
    }
    said.then_some(out)
}

/// What columns of the hosts of records are called: tools have devices, instances and targets of their own.
const OF_RECORDS: [&str; 11] = [
    "computer",
    "computername",
    "fqdn",
    "host",
    "host name",
    "hostname",
    "machine",
    "pscomputername",
    "rechner",
    "server",
    "servername",
];

/// Rows of a table that has a column of hosts beside those that a tool prints: a table for each host, without that column.
fn records(text: &str) -> Option<String> {
    let (head, rest) = text.split_once('\n')?;
    let separator = separator(head)?;
    let names = cells(head, separator)?;
    let is_host = |name: &str| OF_RECORDS.contains(&&*name.trim().to_ascii_lowercase());
    let host = names.iter().position(is_host).filter(|_| names.len() > 2)?;
    let without = |row: &csv::StringRecord| {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(separator)
            .from_writer(Vec::new());
        let kept = row.iter().enumerate().filter(|(index, _)| *index != host);
        writer.write_record(kept.map(|(_, cell)| cell)).ok()?;
        String::from_utf8(writer.into_inner().ok()?).ok()
    };
    let head = without(&names)?;
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    out.push('\n');
    let mut known: BTreeSet<String> = BTreeSet::new();
    for line in rest.split_inclusive('\n') {
        if line.trim().is_empty() {
            out.push_str(line);
            continue;
        }
        let row = cells(line, separator).filter(|row| row.len() == names.len())?;
        let name = row.get(host).unwrap_or_default().trim().to_owned();
        if !is_name(&name) {
            return None;
        }
        if known.insert(name.clone()) {
            push(&mut out, Some(&name), &head, 0);
        }
        push(&mut out, Some(&name), &without(&row)?, 1);
    }
    (known.len() > 1).then_some(out)
}

/// What separates the cells of a table by its first line.
fn separator(head: &str) -> Option<u8> {
    let separators = [b',', b';', b'\t'];
    separators
        .into_iter()
        .find(|separator| head.contains(char::from(*separator)))
}

/// The cells of one line.
fn cells(line: &str, separator: u8) -> Option<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(separator)
        .buffer_capacity(256)
        .from_reader(line.as_bytes());
    reader.records().next()?.ok()
}

/// Rows between bars in which a cell has lines that a page breaks: `| db1 | Disk …<br>Units … |`.
fn bars(text: &str) -> Option<String> {
    const BREAKS: [&str; 3] = ["<br>", "<br/>", "<br />"];
    let broken = |line: &str| {
        line.trim_start().starts_with('|')
            && BREAKS
                .iter()
                .any(|sign| line.matches(sign).count() >= MIN_LINES)
    };
    if !text.split('\n').any(broken) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for line in text.split_inclusive('\n') {
        if !broken(line) {
            out.push_str(line);
            continue;
        }
        let cells = line.trim().trim_matches('|').split(" | ").map(str::trim);
        let cells: Vec<&str> = cells.take(MAX_CELLS).collect();
        let said = cells.iter().max_by_key(|cell| cell.len())?;
        let host = cells
            .iter()
            .find(|cell| is_name(cell.trim_matches(['*', '`'])));
        let said = BREAKS
            .iter()
            .fold((*said).to_owned(), |said, sign| said.replace(sign, "\n"));
        push(
            &mut out,
            host.map(|host| host.trim_matches(['*', '`'])),
            &said,
            1,
        );
    }
    Some(out)
}

/// Rows of a table as psql prints them, in which a cell with several lines goes on where `+` stands at its end:
/// ` db1  | Disk …  +`.
fn psql(text: &str) -> Option<String> {
    let is_ruler = |line: &str| {
        let line = line.trim();
        line.contains("-+-") && line.bytes().all(|b| matches!(b, b'-' | b'+'))
    };
    // As many lines as a text has are not kept beside it.
    let ruler = text.split('\n').position(is_ruler)?;
    let names = text.split('\n').nth(ruler.checked_sub(1)?)?;
    let names: Vec<&str> = names.split('|').take(MAX_CELLS).collect();
    // A bar in an output is one of its own.
    let (host, output) = columns(&names).filter(|(_, output)| output + 1 == names.len())?;
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut name, mut said) = ("", false);
    for (at, line) in text.split('\n').enumerate() {
        let cells: Vec<&str> = line.trim_end().splitn(names.len(), '|').collect();
        let cell = cells.get(output).filter(|_| at > ruler);
        let Some(cell) = cell else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        name = Some(cells[host].trim().trim_end_matches(['+', ' ']))
            .filter(|name| !name.is_empty())
            .unwrap_or(name);
        if !is_name(name) {
            return None;
        }
        let cell = cell.strip_prefix(' ').unwrap_or(cell);
        push(
            &mut out,
            Some(name),
            cell.strip_suffix('+').unwrap_or(cell).trim_end(),
            1,
        );
        said = true;
    }
    out.pop();
    said.then_some(out)
}

/// Fewest characters of a line of base64 without a heading that says what it is, and fewest of such lines.
const MIN_ENCODED: usize = 60;
const MIN_RUN: usize = 3;
/// What stands for a line of which a part is missing.
const DAMAGED: &str = "[...]";

/// Parts of mails in base64, as the text that they are, whether their heading is there or not.
pub(super) fn mail(text: Cow<'_, str>, decode: fn(&[u8]) -> Cow<'_, str>) -> Cow<'_, str> {
    const HEADING: &str = "content-transfer-encoding: base64";
    let is_heading = |line: &str| line.trim().to_ascii_lowercase() == HEADING;
    let is_long = |line: &str| line.trim().len() >= MIN_ENCODED && is_encoded(line);
    if !text
        .split('\n')
        .any(|line| is_long(line) || is_heading(line))
    {
        return text;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut announced) = (0, false);
    while at < lines.len() {
        let run = lines[at..]
            .iter()
            .take_while(|line| is_encoded(line))
            .count();
        let run = &lines[at..at + run];
        let is_body = announced || are_encoded(run);
        if let Some(bytes) = (!run.is_empty() && is_body).then(|| decoded(run)).flatten() {
            push(&mut out, None, &decode(&bytes), run.len());
            (at, announced) = (at + run.len(), false);
            continue;
        }
        // Other headings of the part may follow, and a blank line.
        let line = lines[at];
        announced =
            is_heading(line) || announced && (line.trim().is_empty() || line.contains([':', '=']));
        // What looks like base64 and is none is not looked at again.
        for line in &lines[at..at + run.len().max(1)] {
            out.push_str(line);
            out.push('\n');
        }
        at += run.len().max(1);
    }
    // The last line has no end.
    out.pop();
    Cow::Owned(out)
}

/// True for a line that can be base64, padded or not.
fn is_encoded(line: &str) -> bool {
    let line = line.trim();
    let signs = line.trim_end_matches('=');
    line.len() - signs.len() < 3
        && !signs.is_empty()
        && signs
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

/// True for lines that are base64 without a heading that says so: nearly all of one length, with signs of every kind.
fn are_encoded(lines: &[&str]) -> bool {
    let full = lines.first().map_or(0, |line| line.trim().len());
    let whole = lines
        .iter()
        .filter(|line| line.trim().len() == full)
        .count();
    let has = |kind: fn(&u8) -> bool| lines.iter().any(|line| line.bytes().any(|b| kind(&b)));
    lines.len() >= MIN_RUN
        && full >= MIN_ENCODED
        && whole * 3 >= lines.len() * 2
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

/// The bytes of lines of base64, each of which is a whole number of groups: what one has lost shifts no other. `None` where they are no text.
fn decoded(lines: &[&str]) -> Option<Vec<u8>> {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let full = lines.iter().map(|line| line.len()).max()?;
    let mut bytes = Vec::with_capacity(lines.len() * full);
    for (index, line) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        group(line, &mut bytes);
        if line.len() % 4 > 0 || !is_last && line.len() < full {
            bytes.extend(format!("\n{DAMAGED}\n").bytes());
        }
    }
    let wide = bytes.iter().filter(|byte| **byte == 0).count() * 4 > bytes.len();
    let odd = bytes
        .iter()
        .filter(|byte| **byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t'))
        .count();
    (wide || odd * 32 <= bytes.len()).then_some(bytes)
}

/// Padded or not, whatever a line has lost at its end.
const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Adds the bytes of one line, up to what pads it.
fn group(line: &str, bytes: &mut Vec<u8>) {
    let signs = line.trim_end_matches('=');
    // One sign alone is no byte yet.
    let whole = signs.len() - usize::from(signs.len() % 4 == 1);
    DECODER
        .decode_vec(&signs[..whole], bytes)
        .expect("only lines of its signs get here");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Cow<'_, str> {
        unfolded(text.into(), String::from_utf8_lossy)
    }

    /// Each line with its number and its host.
    fn of(text: &str) -> Vec<(usize, String, String)> {
        let whole = plain(text);
        let mut lines: Vec<&str> = whole.split('\n').collect();
        let numbers = numbered(&mut lines);
        let lines = lines
            .iter()
            .zip(numbers)
            .filter(|(line, _)| !line.is_empty());
        lines
            .map(|(line, number)| {
                let (host, line) = marked(line).unwrap_or(("", line));
                (number, host.to_owned(), line.to_owned())
            })
            .collect()
    }

    fn row(number: usize, host: &str, line: &str) -> (usize, String, String) {
        (number, host.to_owned(), line.to_owned())
    }

    #[test]
    fn cells_are_lines_of_their_hosts() {
        assert_eq!(
            of("host,output\ndb1,\"a\nb \"\"c\"\"\nd\"\nweb2,\"e\nf\"\n"),
            [
                row(2, "db1", "a"),
                row(3, "db1", "b \"c\""),
                row(4, "db1", "d"),
                row(5, "web2", "e"),
                row(6, "web2", "f")
            ]
        );
        assert_eq!(
            of("server;rc;stdout\ndb1;0;a\ndb1;0;  b\n"),
            [row(2, "db1", "a"), row(3, "db1", "  b")]
        );
        assert_eq!(
            of("host\toutput\ndb1\ta\\nb\\nc\\nd\nweb2\te\n"),
            [
                row(2, "db1", "a"),
                row(2, "db1", "b"),
                row(2, "db1", "c"),
                row(2, "db1", "d"),
                row(3, "web2", "e")
            ]
        );
        assert_eq!(
            of("| host | output |\n|---|---|\n| db1 | a<br>b<br>c<br>d |\n").len(),
            6
        );
        assert_eq!(
            of(
                "Computer,Name,StartingOffset\nSQL1,\"Disk #1, Partition #0\",32256\nSQL2,x,5\nSQL1,y,6\n"
            ),
            [
                row(2, "SQL1", "Name,StartingOffset"),
                row(2, "SQL1", "\"Disk #1, Partition #0\",32256"),
                row(3, "SQL2", "Name,StartingOffset"),
                row(3, "SQL2", "x,5"),
                row(4, "SQL1", "y,6")
            ]
        );
        assert_eq!(
            of(
                " host |  output \n------+---------\n db1  | a | b  +\n      |   c    +\n      | d\n web2 | e\n(2 rows)\n"
            )[2..],
            [
                row(3, "db1", "a | b"),
                row(4, "db1", "  c"),
                row(5, "db1", "d"),
                row(6, "web2", "e"),
                row(7, "", "(2 rows)")
            ]
        );
        // A table of a tool that asks many machines.
        let wmic = "Node,Name,StartingOffset\nDB1,\"Disk #0, Partition #0\",32256\n";
        assert_eq!(plain(wmic), wmic);
    }

    #[test]
    fn lines_with_signs_for_their_ends_are_several() {
        assert_eq!(
            of("x\n\"a\\nb\\tc\\nd\\ne\"\ny"),
            [
                row(1, "", "x"),
                row(2, "", "a"),
                row(2, "", "b\tc"),
                row(2, "", "d"),
                row(2, "", "e"),
                row(3, "", "y")
            ]
        );
        assert_eq!(
            of("db1 | CHANGED | rc=0 | (stdout) a\\nb\nx"),
            [
                row(1, "", "db1 | CHANGED | rc=0 >>"),
                row(1, "", "a"),
                row(1, "", "b"),
                row(2, "", "x")
            ]
        );
        let json = "{\"stdout\": \"a\\nb\\nc\\nd\"}";
        assert_eq!(plain(json), json);
    }

    #[test]
    fn parts_of_a_mail_in_base64_are_text() {
        let mail = "Subject: x\nContent-Transfer-Encoding: base64\nContent-Type: text/plain\n\nYQpiCmMK\nZAo=\n\n--end\n";
        let found = of(mail);
        assert_eq!(
            found[3..],
            [
                row(5, "", "a"),
                row(6, "", "b"),
                row(6, "", "c"),
                row(6, "", "d"),
                row(8, "", "--end")
            ]
        );
    }
}
