//! Names and text in scripts: what is safe in one, and how a shell takes it.

use std::path::Path;

use super::refusal::Refusal;

/// A word of shell in quotes.
///
/// # Errors
/// [`Refusal::UnsafeName`] for line breaks and the like.
pub(crate) fn quoted(word: &Path) -> Result<String, Refusal> {
    let text = safe(word)?;
    // In single quotes these look like a mistake, to shellcheck too.
    if !text.contains(['$', '`', '\'']) {
        return Ok(format!("'{text}'"));
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    Ok(out)
}

/// Text for a comment: one line.
pub(crate) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| match c.is_control() || is_deceptive(c) {
            true => ' ',
            false => c,
        })
        .collect()
}

/// What a device is called in a script: `disk`, `disk2`; and what else there is one of for each.
pub(super) fn variable(name: &str, number: usize) -> String {
    match number {
        1 => name.to_owned(),
        number => format!("{name}{number}"),
    }
}

/// Lines, each four blanks further in.
pub(super) fn indented(lines: &str) -> String {
    let lines = lines.lines();
    lines.map(|line| format!("    {line}\n")).collect()
}

/// A name with nothing in it that could end its quotation, or hide a line of a script from who reads it.
///
/// # Errors
/// [`Refusal::UnsafeName`].
pub(crate) fn safe(name: &Path) -> Result<&str, Refusal> {
    let refuse = |what| Refusal::UnsafeName {
        name: name.display().to_string(),
        what,
    };
    let text = name
        .to_str()
        .ok_or_else(|| refuse("byte that is no UTF-8"))?;
    match text.chars().find(|c| c.is_control() || is_deceptive(*c)) {
        Some('\n' | '\r') => Err(refuse("line break")),
        Some(_) => Err(refuse("control character")),
        None => Ok(text),
    }
}

/// Characters that make text look other than it is: those of format (Cf: direction marks, joiners, tags), and line separators.
pub(super) fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
