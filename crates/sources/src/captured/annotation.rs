//! What people add to the lines of a text that they show to others: arrows, comments, marks of emphasis. Mostly to the line
//! that matters.

use std::borrow::Cow;

/// What begins a note at the end of a line, behind a blank.
const POINTERS: [&str; 6] = ["<-", "<=", "<<", "<~", "←", "⇐"];
/// What begins one behind figures alone.
const COMMENTS: [&str; 2] = ["# ", "// "];
/// What points at a line from its left.
const ARROWS: [&str; 9] = ["-->", "==>", "->", "=>", "→", "⇒", "►", "▶", "*"];

/// Without them. Lines stay where they are.
pub(super) fn taken_off(text: Cow<'_, str>) -> Cow<'_, str> {
    let marks = [
        "<", "←", "⇐", "# ", "// ", "->", "=>", "→", "⇒", "►", "▶", "* ", "**",
    ];
    if text.starts_with("<Objs") || !marks.iter().any(|mark| text.contains(mark)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let mut indent = 0;
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let plain = plain(line, indent);
        changed |= matches!(plain, Cow::Owned(_));
        out.push_str(&plain);
        if !line.trim().is_empty() {
            indent = blanks(&plain);
        }
    }
    match changed {
        true => Cow::Owned(out),
        false => text,
    }
}

/// How many blanks a line begins with.
fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A line without what was added to it, below one that begins with `indent` blanks.
fn plain(line: &str, indent: usize) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(line);
    // The name of a file, as `tail` prints it above what is in it.
    if line.starts_with("==> ") && line.trim_end().ends_with(" <==") {
        return line;
    }
    // Tables of gpart begin with an arrow, and `diskinfo` says behind a figure what it is.
    if is_of_gpart(&line) || is_of_diskinfo(&line) {
        return line;
    }
    if let Some(at) = note(&line) {
        line = Cow::Owned(line[..at].trim_end().to_owned());
    }
    if let Some(bare) = without_emphasis(&line) {
        line = Cow::Owned(bare);
    }
    match without_arrow(&line, indent) {
        Some(bare) => Cow::Owned(bare),
        None => line,
    }
}

/// `=>       34  976773101  ada0  GPT  (466G)`.
fn is_of_gpart(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("=> ") else {
        return false;
    };
    let words: Vec<&str> = rest.split_whitespace().take(5).collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    matches!(words.as_slice(), [start, sectors, _, _, size]
        if is_number(start) && is_number(sectors) && size.starts_with('('))
}

/// `512         # sectorsize`.
fn is_of_diskinfo(line: &str) -> bool {
    let what = ["sectorsize", "mediasize in ", "stripesize", "stripeoffset"];
    line.split_once("# ")
        .is_some_and(|(_, text)| what.iter().any(|what| text.starts_with(what)))
}

/// Where a note at the end of a line begins.
fn note(line: &str) -> Option<usize> {
    let time = behind_time(line);
    let mut figures = 0;
    let mut first = true;
    let mut behind_blank = true;
    let mut was_digit = false;
    for (at, c) in line.char_indices() {
        if behind_blank && !first {
            let rest = &line[at..];
            if POINTERS.iter().any(|mark| rest.starts_with(mark)) {
                return Some(at);
            }
            // Prompts and headings have these signs too.
            let comment = COMMENTS.iter().any(|mark| rest.starts_with(mark));
            if comment && figures >= 2 && begins_a_row(line) {
                return Some(at);
            }
        }
        behind_blank = c.is_whitespace();
        first &= behind_blank;
        let digit = c.is_ascii_digit();
        figures += usize::from(digit && !was_digit && at >= time);
        was_digit = digit;
    }
    None
}

/// Where a line goes on behind the time that it begins with: what is said at a time has no figures for that alone.
fn behind_time(line: &str) -> usize {
    let is_of_time = |c: char| c.is_ascii_digit() || "-:.,/+TZ[]".contains(c);
    let (mut at, mut end) = (0, 0);
    for word in line.split_inclusive(' ') {
        if !word.trim_end().chars().all(is_of_time) {
            break;
        }
        at += word.len();
        if word.contains(':') {
            end = at;
        }
    }
    end
}

/// True for what rows of tables begin with, and hardly anything else: paths, branches of a tree, numbers.
fn begins_a_row(text: &str) -> bool {
    let text = text.trim_start();
    let path = text.strip_prefix('/').unwrap_or_default();
    let named = |path: &str| {
        path.split(' ')
            .next()
            .is_some_and(|first| !first.is_empty())
    };
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '├' | '└'))
        || text.starts_with("|-")
        || text.starts_with("`-")
        || named(path) && path.contains(|c: char| c.is_ascii_digit())
}

/// `**63**`, or a whole row between such marks.
fn without_emphasis(line: &str) -> Option<String> {
    if !line.contains("**") || line.contains("***") {
        return None;
    }
    let marks = line.matches("**").count();
    let tells = line.bytes().any(|b| b.is_ascii_digit());
    (marks.is_multiple_of(2) && tells).then(|| line.replace("**", ""))
}

/// `-> /dev/sda2 …`, as it stood below the line above.
fn without_arrow(line: &str, indent: usize) -> Option<String> {
    let text = line.trim_start();
    let mark = ARROWS.iter().find(|mark| text.starts_with(**mark))?;
    let rest = &text[mark.len()..];
    let row = rest.trim_start();
    // The path of a table without blanks is what a link leads to, and what is typed is no row.
    if rest.len() == row.len() && *mark == "*" || !begins_a_row(row) {
        return None;
    }
    let figures = row
        .split_whitespace()
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    if figures.count() < 2 {
        return None;
    }
    let column = line.chars().count() - row.chars().count();
    // Written into the blanks before the row, or before those.
    let blanks = match column <= indent + 1 {
        true => column,
        false => indent,
    };
    Some(format!("{}{row}", " ".repeat(blanks.min(64))))
}

/// `          ^^^^ here`: points at the line above.
pub(super) fn is_pointer(line: &str) -> bool {
    line.trim_start().starts_with('^')
}

/// `...`, `[…]`, `<snip>`: stands for lines that were left out.
pub(super) fn is_left_out(line: &str) -> bool {
    let text = line.trim();
    if text.is_empty() || text.len() > 24 {
        return false;
    }
    let inner = text.trim_matches(['[', ']', '(', ')', '<', '>', '-', '*', ' ']);
    let dots = inner.len() > 1 && inner.chars().all(|c| matches!(c, '.' | '…'));
    let lower = inner.to_ascii_lowercase();
    let lower = lower.trim_matches(['.', '…', ' ']);
    dots || inner.len() < text.len()
        && matches!(
            lower,
            "snip" | "snipped" | "cut" | "truncated" | "omitted" | "..."
        )
}

/// What a pager prints where a screen ends.
pub(super) fn is_pager(line: &str) -> bool {
    let text = line.trim().trim_matches('-').trim();
    let more = text.strip_prefix("More").map(str::trim);
    line.trim().starts_with("--")
        && more.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_off() {
        for (noted, expected) in [
            (
                "└─sdb1   63 512 part  <-- misaligned?",
                "└─sdb1   63 512 part",
            ),
            ("Offset : 32256   <-- here", "Offset : 32256"),
            (
                "Disk #0, Partition #0  32256  <-- not!",
                "Disk #0, Partition #0  32256",
            ),
            ("/dev/sda1  **63**  1026048", "/dev/sda1  63  1026048"),
            ("**/dev/sda1 63 1026048**", "/dev/sda1 63 1026048"),
            (
                "-> /dev/sda2    1026049 2052096",
                "/dev/sda2    1026049 2052096",
            ),
            (
                "* /dev/sda2    1026049 2052096",
                "/dev/sda2    1026049 2052096",
            ),
            ("/dev/sda1 * 63 1026048 # old", "/dev/sda1 * 63 1026048"),
            (
                "1  1048577  53687091200  // this",
                "1  1048577  53687091200",
            ),
            (
                "2026-03-14T10:00:00.123456Z # Reads  Avg Read Latency (ms)",
                "2026-03-14T10:00:00.123456Z # Reads  Avg Read Latency (ms)",
            ),
            (
                "[10:00:02] # hostname;interval",
                "[10:00:02] # hostname;interval",
            ),
            ("10:00:02 sda 4.00 12.00 # slow", "10:00:02 sda 4.00 12.00"),
        ] {
            assert_eq!(taken_off(noted.into()), expected);
        }
    }

    #[test]
    fn what_belongs_to_the_text_stays() {
        for text in [
            "* Disk 0    Online  476 GB",
            "  Disk ###  Status",
            "/vmfs/volumes # partedUtil getptbl /vmfs/devices/disks/naa.6001",
            "root@db1:~# lsblk -o NAME,START 1 2",
            "=> ctrl slot=0 show",
            "/dev/sda1  *   63  1026048  83  Linux",
            "lrwxrwxrwx 1 root root 10 Jan 1 sda1 -> ../../sda1",
            "<none>  x <none>",
            "  --- Logical volume ---",
            "==> /sys/block/sda/sda1/start <==",
            "***",
        ] {
            assert_eq!(taken_off(text.into()), text);
        }
    }
}
