//! What Ansible makes of the lines that a command printed: a list of strings, or one string with `\n` in it, as JSON or as YAML.
//!
//! ```text
//! ok: [db1] => {
//!     "out.stdout_lines": [
//!         "Disk /dev/sdb: 1.8 TiB, 2000398934016 bytes, 3907029168 sectors",
//! ```

use std::borrow::Cow;

use super::Numbered;

/// What is between the beginning of a list and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    /// `"stdout_lines": [`.
    Json,
    /// `stdout_lines:`, with this many blanks before it.
    Yaml(usize),
}

/// The lines, those of commands without what is around them.
pub(super) fn unwrapped(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    let has = |part: &str| lines.iter().any(|(_, line)| line.contains(part));
    if !has("stdout") && !has("msg") && !has("=> {") {
        return lines;
    }
    // The same lines are there twice.
    let as_list = lines.iter().any(|(_, line)| opens(line) != Within::Nothing);
    let mut out = Vec::with_capacity(lines.len());
    let mut within = Within::Nothing;
    for (number, line) in lines {
        let line = match begins_object(&line) {
            Some(at) => {
                out.push((number, Cow::Owned(line[..at].trim_end().to_owned())));
                Cow::Owned(line[at..].to_owned())
            }
            None => line,
        };
        match within {
            Within::Nothing => {}
            Within::Json => {
                let text = line.trim();
                if let Some((body, _)) = string(text) {
                    push(&mut out, number, &body);
                } else if text.starts_with(']') {
                    within = Within::Nothing;
                }
                continue;
            }
            Within::Yaml(indent) => {
                let text = line.trim_start();
                let item = text.strip_prefix("- ").or((text == "-").then_some(""));
                match item {
                    Some(item) if line.len() - text.len() >= indent => {
                        push(&mut out, number, &scalar(item));
                        continue;
                    }
                    _ => {}
                }
            }
        }
        within = opens(&line);
        if within != Within::Nothing {
            continue;
        }
        match whole(&line, as_list) {
            Some(body) => push(&mut out, number, &body),
            None => out.push((number, line)),
        }
    }
    out
}

fn push(out: &mut Vec<Numbered<'_>>, number: u64, body: &str) {
    out.extend(
        body.split('\n')
            .map(|line| (number, Cow::Owned(line.to_owned()))),
    );
}

/// `db1 | SUCCESS => {`, `ok: [db1] => {`: where the object begins that is said of the host.
fn begins_object(line: &str) -> Option<usize> {
    let at = line.find("=> {")?;
    let head = &line[..at];
    let of_task = ["ok: [", "changed: [", "fatal: [", "failed: ["]
        .iter()
        .any(|start| head.trim_start().starts_with(start));
    (of_task || head.contains(" | ")).then_some(at + 3)
}

/// `stdout_lines`, `result.stdout_lines`, `msg`: what a list of lines is called.
fn is_lines(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    matches!(last, "stdout_lines" | "stderr_lines" | "msg" | "stdout")
}

/// The list that begins in this line and goes on in the next.
fn opens(line: &str) -> Within {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix('"')
        && let Some((key, rest)) = rest.split_once('"')
        && rest.trim_start_matches([':', ' ']) == "["
        && is_lines(key)
    {
        return Within::Json;
    }
    match text.strip_suffix(':') {
        Some(key) if is_lines(key) && !key.contains([' ', '"']) => {
            Within::Yaml(line.len() - line.trim_start().len())
        }
        _ => Within::Nothing,
    }
}

/// What a command printed that stands in one line as one string: `"stdout": "NAME START\nsda"`. Where a list has the same lines, the
/// string is left out.
fn whole(line: &str, as_list: bool) -> Option<String> {
    let keys = ["stdout\": \"", "stdout\":\"", "\"msg\": \"", "\"msg\":\""];
    let at = keys
        .iter()
        .find_map(|key| Some(line.find(key)? + key.len() - 1))?;
    let (body, behind) = string(&line[at..])?;
    if !body.contains('\n') {
        return None;
    }
    // One object in one line has its list in the same line.
    let own_line = matches!(behind.trim(), "" | ",");
    Some(if own_line && as_list {
        String::new()
    } else {
        body
    })
}

/// A string of JSON at the beginning of a text, and what stands behind it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 2..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => {}
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

/// An item of a list in YAML.
fn scalar(item: &str) -> Cow<'_, str> {
    let text = item.trim_end();
    if let Some(inner) = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
    {
        return Cow::Owned(inner.replace("''", "'"));
    }
    match string(text) {
        Some((body, "")) => Cow::Owned(body),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbered, shown};
    use super::*;

    fn of(text: &str) -> String {
        shown(&unwrapped(numbered(text)))
    }

    #[test]
    fn lists_of_lines_are_lines() {
        assert_eq!(
            of(
                "ok: [db1] => {\n    \"out.stdout_lines\": [\n  \"a  \\\"b\\\"\",\n  \"\",\n  \"\\u2514c\"\n  ]\n}"
            ),
            "1 ok: [db1] =>\n1 {\n3 a  \"b\"\n4 \n5 └c\n7 }"
        );
        assert_eq!(
            of(
                "ok: [db1] =>\n  out.stdout_lines:\n  - 'Disk /dev/sda: it''s'\n  - Units: 1\n  - \"  x\"\nend"
            ),
            "1 ok: [db1] =>\n3 Disk /dev/sda: it's\n4 Units: 1\n5   x\n6 end"
        );
    }

    #[test]
    fn one_string_is_several_lines() {
        let one = "db2 => {\"rc\": 0, \"stdout\": \"a\\nb\\tc\", \"stderr\": \"\"}";
        assert_eq!(of(one), "1 a\n1 b\tc");
        let task = format!("fatal: [db2]: FAILED! => {}", &one[7..]);
        assert_eq!(of(&task), "1 fatal: [db2]: FAILED! =>\n1 a\n1 b\tc");
        let both = "\"stdout\": \"a\\nb\",\n\"stdout_lines\": [\n\"a\",\n\"b\"\n]";
        assert_eq!(of(both), "1 \n3 a\n4 b");
        let short = "\"stdout\": \"512\"";
        assert_eq!(of(short), format!("1 {short}"));
    }
}
