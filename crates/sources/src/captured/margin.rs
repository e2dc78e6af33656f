//! What others put before each line of a text: quotes of mail, borders of terminals, numbers of lines, times, names of journals.

use std::collections::HashMap;

use super::hostname::{is_address, is_domain, is_machine, is_name};

/// A sort of margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Margin {
    /// `> `.
    Quote,
    /// `| `, `│`.
    Bar,
    /// Each line between backticks, or quoted as a cell of CSV.
    Ticks,
    /// `+`, `• `: all lines added by a diff, or items of a list.
    Item,
    /// `  12  `, `12:`: each one more than the last.
    Number,
    /// `2024-01-02T03:04:05.123Z `, `[12:34:56] `, `[    1.234567] `.
    Stamp,
    /// `Jan 02 03:04:05 web7 collect[123]: `.
    Journal,
}

const ALL: [Margin; 7] = [
    Margin::Quote,
    Margin::Bar,
    Margin::Ticks,
    Margin::Item,
    Margin::Number,
    Margin::Stamp,
    Margin::Journal,
];

/// How many lines are looked at, and how many margins a line can have.
const SAMPLE: usize = 64;
const MAX_DEPTH: usize = 4;

/// Takes margins off all lines, when most of the first ones have them, and times off pieces of logs between other lines.
pub(super) fn taken_off(lines: &mut [&str]) {
    for _ in 0..MAX_DEPTH {
        let Some(margin) = ALL.into_iter().find(|margin| margin.is_of(lines)) else {
            pieces_taken_off(lines);
            return;
        };
        let mut number = None;
        for line in lines.iter_mut() {
            *line = margin.off(line, &mut number).unwrap_or(line);
        }
        if margin == Margin::Stamp {
            stream(lines);
            unit(lines);
        }
    }
}

/// Takes quotes of mail and the marks of lists off, and nothing that a log may have said itself.
pub(super) fn quotes_taken_off(lines: &mut [&str]) {
    for _ in 0..MAX_DEPTH {
        let mut margins = [Margin::Quote, Margin::Item].into_iter();
        let Some(margin) = margins.find(|margin| margin.is_of(lines)) else {
            return;
        };
        for line in lines.iter_mut() {
            *line = margin.off(line, &mut None).unwrap_or(line);
        }
    }
}

/// Fewest lines of a piece of a log.
const MIN_LOGGED: usize = 3;

/// Takes times off runs of lines that have them. No tool begins its lines so.
fn pieces_taken_off(lines: &mut [&str]) {
    for margin in [Margin::Stamp, Margin::Journal] {
        let off = |line: &&str| margin.off(line, &mut None).is_some();
        let mut at = 0;
        while at < lines.len() {
            let run = lines[at..].iter().take_while(|line| off(line)).count();
            if run >= MIN_LOGGED {
                let piece = &mut lines[at..at + run];
                for line in piece.iter_mut() {
                    *line = margin.off(line, &mut None).unwrap_or(line);
                }
                if margin == Margin::Stamp {
                    unit(piece);
                }
            }
            at += run.max(1);
        }
    }
}

/// How far Markdown indents what is shown as it is, and the fewest lines of it.
const INDENT: usize = 4;
const MIN_INDENTED: usize = 3;

/// Takes the indentation off a text that has it in all lines, and off blocks that stand apart, as Markdown shows them.
pub(super) fn indents_taken_off(lines: &mut [&str]) {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_blank = |line: &&str| line.trim().is_empty();
    let tabbed = lines
        .iter()
        .filter(|line| !is_blank(line))
        .all(|line| line.starts_with('\t'));
    if tabbed {
        for line in lines.iter_mut() {
            *line = line.strip_prefix('\t').unwrap_or(line);
        }
    }
    let mut at = 0;
    while at < lines.len() {
        let inside = |line: &&str| is_blank(line) || depth(line) >= INDENT;
        let len = lines[at..].iter().take_while(|line| inside(line)).count();
        let apart = at == 0 || is_blank(&lines[at - 1]) || len > 0 && is_blank(&lines[at]);
        let block = &mut lines[at..at + len];
        let filled = || block.iter().filter(|line| !is_blank(line));
        let least = filled().map(|line| depth(line)).min();
        if apart && least == Some(INDENT) && filled().count() >= MIN_INDENTED {
            for line in block.iter_mut() {
                *line = line.get(INDENT..).unwrap_or_default();
            }
        }
        at += len.max(1);
    }
}

/// Fewest lines of a list that are the lines of a text.
const MIN_ITEMS: usize = 3;

/// Takes the marks off lists of YAML whose items are the lines of a text: `- 'Name  Offset'`.
pub(super) fn items_taken_off(lines: &mut [&str]) {
    let depth = |line: &str| {
        let text = line.trim_start();
        let item = text.strip_prefix("- ")?;
        (!item.starts_with(' ') && !item.is_empty()).then_some(line.len() - text.len())
    };
    let mut at = 0;
    while at < lines.len() {
        let Some(of_first) = depth(lines[at]) else {
            at += 1;
            continue;
        };
        let run = lines[at..]
            .iter()
            .take_while(|line| depth(line) == Some(of_first))
            .count();
        if run >= MIN_ITEMS {
            for line in &mut lines[at..at + run] {
                let item = &line[of_first + 2..];
                let item = item.trim_end();
                let quoted = |sign: char| item.strip_prefix(sign)?.strip_suffix(sign);
                *line = quoted('\'').or_else(|| quoted('"')).unwrap_or(item);
            }
        }
        at += run;
    }
}

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
pub(super) fn hosts<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
    // Rows of tables begin with words, too, but the names of their columns stand above, and the words are none of several machines.
    let is_certain = |counts: &HashMap<&str, usize>, others: usize| {
        let certain = counts.len() > 1 || counts.keys().all(|name| is_domain(name));
        certain && others == 0 && counts.values().all(|count| *count > 2)
    };
    by_form(lines, behind_a_sign, |_, _| true)
        .or_else(|| by_form(lines, behind_marks, is_certain))
        .or_else(|| by_form(lines, behind_a_colon, is_certain))
        .or_else(|| by_form(lines, behind_a_blank, is_certain))
        .or_else(|| by_form(lines, behind_a_comma, is_certain))
}

/// The hosts that logs of several machines name before each line; `None` for a log of one, whose margin is taken off like any other.
pub(super) fn logging_hosts<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
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
        Some((name.trim_end(), rest))
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

/// `[db1] …`, and with what programs say besides: `[root@db1:22] out: …`, `[root@db1 command-step] [NORMAL] …`.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let (inner, rest) = text.strip_prefix('[')?.split_once(']')?;
    let inner = inner.strip_prefix("pod/").unwrap_or(inner);
    let inner = inner.rsplit_once('@').map_or(inner, |(_, host)| host);
    let name = inner.split([' ', '/']).next()?;
    let port = name
        .rsplit_once(':')
        .filter(|(_, port)| port.parse::<u16>().is_ok());
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
    const ENDS: [&str; 15] = [
        ":out] ", "] out: ", " out: ", ") ", "> ", "# ", "} ", "] ", " - ", " > ", " # ", " -> ",
        " => ", " : ", ": ",
    ];
    let text = line
        .trim_start()
        .trim_start_matches(['(', '<', '[', '{', '@']);
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
    let is_named = |line: &&&str| is_filled(line) && !line.contains(['$', '#', '>']);
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
pub(super) fn minions<'t>(lines: &mut [&'t str]) -> Option<Vec<&'t str>> {
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

impl Margin {
    fn is_of(self, lines: &[&str]) -> bool {
        let mut number = None;
        let (mut all, mut with, mut closed, mut bare) = (0_usize, 0_usize, 0_usize, 0_usize);
        let mut tabs = 0_usize;
        for line in lines
            .iter()
            .filter(|line| !line.trim().is_empty())
            .take(SAMPLE)
        {
            all += 1;
            if let Some(rest) = self.off(line, &mut number) {
                with += 1;
                closed += usize::from(rest.trim_end().ends_with(['|', '│']));
                let text = line.trim_start();
                let digits =
                    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                tabs += usize::from(text[digits..].starts_with('\t'));
                bare += usize::from(!rest.trim_start().starts_with(|c: char| c.is_ascii_digit()));
            }
        }
        match self {
            Margin::Quote => with * 2 > all,
            // A table with borders is closed on the other side.
            Margin::Bar => with > 2 && with * 10 >= all * 9 && closed * 2 < with,
            Margin::Ticks | Margin::Item => with > 2 && with * 10 >= all * 9,
            // Rows of a table may be numbered too, and have a figure behind the number. What was said around a listing has none.
            // `cat -n` puts a tab behind its numbers.
            Margin::Number => with > 3 && with * 10 >= all * 7 && (bare * 2 > with || tabs == with),
            Margin::Stamp | Margin::Journal => with > 1 && with * 10 >= all * 9,
        }
    }

    /// The line without it.
    fn off<'t>(self, line: &'t str, number: &mut Option<u64>) -> Option<&'t str> {
        let text = line.trim_start();
        match self {
            Margin::Quote => {
                let mut rest = text.strip_prefix('>')?;
                while let Some(inner) = rest.trim_start().strip_prefix('>') {
                    rest = inner;
                }
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            }
            Margin::Bar => {
                if let Some(rest) = text.strip_prefix(['│', '┃', '║']) {
                    return Some(rest);
                }
                let rest = text.strip_prefix('|')?;
                match rest.trim() {
                    "" => Some(""),
                    _ => rest.strip_prefix(' '),
                }
            }
            Margin::Ticks => {
                let text = text.trim_end();
                let within = |sign| text.strip_prefix(sign)?.strip_suffix(sign);
                // A row of CSV has a sign in its middle too.
                within('`').or_else(|| within('"').filter(|cell| !cell.contains('"')))
            }
            Margin::Item => {
                // Borders of tables have more of the sign.
                let added = line.strip_prefix('+');
                if let Some(rest) = added.filter(|rest| !rest.starts_with(['-', '='])) {
                    return Some(rest);
                }
                let rest = text.strip_prefix(['•', '‣', '▪'])?;
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            }
            Margin::Number => {
                let end = text
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(text.len());
                let this: u64 = text[..end].parse().ok()?;
                if number.is_some_and(|last| this <= last || this > last + 8) {
                    return None;
                }
                *number = Some(this);
                let behind = &text[end..];
                let rest = behind
                    .strip_prefix([':', '.', '|', ')', '-'])
                    .unwrap_or(behind);
                let rest = match rest.strip_prefix(['\t', ' ']) {
                    Some(rest) => rest,
                    None if rest.is_empty() => rest,
                    // `grep -n` puts no blank behind its numbers; what stands there may have some.
                    None if behind.starts_with([':', '-']) => return Some(rest),
                    None => return None,
                };
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            }
            Margin::Stamp => stamp(text),
            Margin::Journal => journal(text),
        }
    }
}

/// True for `12:34:56`, with more behind it.
fn time(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let digits = |at: usize| {
        bytes
            .get(at..at + 2)
            .is_some_and(|two| two.iter().all(u8::is_ascii_digit))
    };
    (digits(0) && digits(3) && digits(6) && bytes[2] == b':' && bytes[5] == b':')
        .then(|| &text[8..])
}

fn stamp(text: &str) -> Option<&str> {
    let (bracket, inner) = match text.strip_prefix('[') {
        Some(inner) => (true, inner.trim_start()),
        None => (false, text),
    };
    let bytes = inner.as_bytes();
    let dated = bytes.len() > 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b' ');
    let rest = match inner
        .get(11..)
        .filter(|_| dated)
        .and_then(time)
        .or_else(|| time(inner))
    {
        Some(rest) => rest,
        // The kernel counts seconds.
        None if bracket => {
            let end = inner.find(']')?;
            let is_number = inner[..end]
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b'.');
            (is_number && inner[..end].contains('.')).then_some(&inner[end..])?
        }
        None => return None,
    };
    // Fractions, the zone, a bracket.
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-' | ':' | 'Z')));
    let rest = &rest[end.unwrap_or(rest.len())..];
    let rest = if bracket {
        rest.strip_prefix(']')?
    } else {
        rest
    };
    match rest.strip_prefix([' ', '\t']) {
        Some(rest) => Some(rest),
        None => rest.is_empty().then_some(rest),
    }
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn journal(text: &str) -> Option<&str> {
    let (month, rest) = text.split_once(' ')?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    if !MONTHS.contains(&month) || day.parse::<u8>().is_err() {
        return None;
    }
    let rest = time(rest)?.trim_start();
    let (_, rest) = rest.split_once(' ')?;
    let end = rest.find(':')?;
    if end > 64 || rest[..end].contains(' ') {
        return None;
    }
    let rest = &rest[end + 1..];
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `stdout F ` behind the times of all lines: logs of containers.
fn stream(lines: &mut [&str]) {
    let off = |line: &'_ str| -> Option<usize> {
        let marks = ["stdout F", "stderr F", "stdout P", "stderr P"];
        let mark = marks.iter().find(|mark| line.starts_with(**mark))?;
        Some(mark.len() + usize::from(line[mark.len()..].starts_with(' ')))
    };
    let is_blank = |line: &&str| line.trim().is_empty();
    if lines
        .iter()
        .all(|line| is_blank(line) || off(line).is_some())
    {
        for line in lines.iter_mut() {
            *line = &line[off(line).unwrap_or(0)..];
        }
    }
}

/// `web7 collect[123]: ` behind the times of all lines, or `web7 collect: `, the same in all.
fn unit(lines: &mut [&str]) {
    let same = lines
        .iter()
        .find(|line| !line.trim().is_empty())
        .and_then(|first| {
            let (host, rest) = first.split_once(' ')?;
            let (tag, _) = rest.split_once(':')?;
            (!tag.is_empty() && !tag.contains(' ')).then(|| &first[..host.len() + tag.len() + 2])
        });
    let of = |line: &str| -> Option<usize> {
        if let Some(same) = same.filter(|same| line.starts_with(same)) {
            return Some(same.len());
        }
        let (host, rest) = line.split_once(' ')?;
        let end = rest.find("]:")?;
        (!rest[..end].contains(' ') && rest[..end].contains('['))
            .then_some(host.len() + 1 + end + 2)
    };
    let filled = || {
        lines
            .iter()
            .filter(|line| !line.trim().is_empty())
            .take(SAMPLE)
    };
    if filled().count() == 0 || !filled().all(|line| of(line).is_some()) {
        return;
    }
    for line in lines.iter_mut() {
        if let Some(at) = of(line) {
            let rest = &line[at..];
            *line = rest.strip_prefix(' ').unwrap_or(rest);
        }
    }
}

#[cfg(test)]
mod tests;
