//! SQLIO's parameter file.

use straddle_geometry::Bytes;

use super::{File, MAX, refuse};
use crate::compat::{Refused, names_a_raw_device, number, raw_device, small};

/// Reads a parameter file: a line for each file, `name threads [mask [size in MB]]`; lines that begin with `#` are ignored.
///
/// # Errors
/// [`Refused`] with the number of the line.
pub fn parameters(text: &str) -> Result<Vec<File>, Refused> {
    let mut files = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = format!("line {} of the parameter file", index + 1);
        files.push(parameter(line, &at)?);
    }
    let (least, most) = (1, MAX as usize);
    if !(least..=most).contains(&files.len()) {
        return Err(Refused::new(
            "the parameter file",
            format!("it names {} files", files.len()),
            format!("name {least} to {most}, a line each: NAME THREADS MASK SIZE_IN_MB"),
        ));
    }
    Ok(files)
}

fn parameter(line: &str, at: &str) -> Result<File, Refused> {
    let (name, rest) = match line.strip_prefix('"') {
        Some(rest) => rest
            .split_once('"')
            .ok_or_else(|| Refused::new(at, "a quotation mark without a second one", "add it"))?,
        None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
    };
    if names_a_raw_device(name) {
        return Err(raw_device(&format!("{at}: `{name}`")));
    }
    let mut words = rest
        .split_whitespace()
        .take_while(|word| !word.starts_with('#'));
    let threads = words.next().ok_or_else(|| {
        Refused::new(
            at,
            format!("`{line}` says nothing of threads"),
            "write NAME THREADS MASK SIZE_IN_MB",
        )
    })?;
    let threads = small(&format!("{at}, threads"), threads, 1, MAX)?;
    if let Some(mask) = words.next() {
        let value = match mask.strip_prefix("0x").or_else(|| mask.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => mask.parse().ok(),
        };
        match value {
            Some(0) => {}
            Some(_) => return Err(refuse('a', &format!("{at}: mask `{mask}`"))),
            None => {
                return Err(Refused::new(
                    format!("{at}: mask `{mask}`"),
                    "it is neither decimal nor hexadecimal",
                    "write 0x0",
                ));
            }
        }
    }
    let size = words
        .next()
        .map(|size| number(&format!("{at}, size in MB"), size, 1, 1 << 40))
        .transpose()?;
    if let Some(more) = words.next() {
        return Err(Refused::new(
            format!("{at}: `{more}`"),
            "nothing follows the size",
            "put a name with spaces between quotation marks",
        ));
    }
    Ok(File {
        name: name.to_owned(),
        threads,
        size: size.map(Bytes::mib),
    })
}
