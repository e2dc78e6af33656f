//! What others put before each line of a text: quotes of mail, borders of terminals, numbers of lines, times, names of journals.

mod hosts;

pub(super) use hosts::{hosts, logging_hosts, minions};

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
