//! Lines that a command printed as a list in YAML, as Ansible shows them when asked for YAML:
//!
//! ```text
//! ok: [db1] =>
//!   out.stdout_lines:
//!   - 'Disk /dev/sdb: 1.8 TiB, 2000398934016 bytes, 3907029168 sectors'
//! ```

use std::borrow::Cow;

use super::Numbered;

/// The lines, those of lists without what is around them.
pub(super) fn unwrapped(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    if !lines.iter().any(|(_, line)| opens(line).is_some()) {
        return lines;
    }
    let mut out = Vec::with_capacity(lines.len());
    // The blanks before the key of the list that is open.
    let mut within = None;
    for (number, line) in lines {
        let text = line.trim_start();
        let item = text.strip_prefix("- ").or((text == "-").then_some(""));
        match (within, item) {
            (Some(indent), Some(item)) if line.len() - text.len() >= indent => {
                out.push((number, Cow::Owned(scalar(item).into_owned())));
            }
            _ => {
                within = opens(&line);
                if within.is_none() {
                    out.push((number, line));
                }
            }
        }
    }
    out
}

/// How far in the key of a list of lines stands: `stdout_lines:`, `out.stdout_lines:`, `msg:`.
pub(super) fn opens(line: &str) -> Option<usize> {
    let key = line.trim().strip_suffix(':')?;
    let last = key.rsplit('.').next().unwrap_or(key);
    (matches!(last, "stdout_lines" | "msg") && !key.contains([' ', '"']))
        .then(|| line.len() - line.trim_start().len())
}

/// An item of a list, without its quotes.
fn scalar(item: &str) -> Cow<'_, str> {
    let text = item.trim_end();
    let between = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = between('\'') {
        return Cow::Owned(inner.replace("''", "'"));
    }
    match between('"') {
        Some(inner) => Cow::Owned(serde_json::from_str(text).unwrap_or_else(|_| inner.to_owned())),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbered, shown};
    use super::*;

    #[test]
    fn lists_of_lines_are_lines() {
        assert_eq!(
            shown(&unwrapped(numbered(
                "ok: [db1] =>\n  out.stdout_lines:\n  - 'Disk /dev/sda: it''s'\n  - Units: 1\n  - \"  x\\u2514\"\nend\n- y"
            ))),
            "1 ok: [db1] =>\n3 Disk /dev/sda: it's\n4 Units: 1\n5   x└\n6 end\n7 - y"
        );
    }
}
