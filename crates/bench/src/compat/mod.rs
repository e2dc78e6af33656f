//! Other tools' command lines and job files, read into workloads: SQLIO, diskspd, fio.
//!
//! Nothing is read differently from how that tool meant it: what Straddle does not do in the same way is [`Refused`] by
//! name, with the reason and with what to write in its place. Nothing here touches a file or prints.

pub mod diskspd;
pub mod fio_job;
pub mod sqlio;

use std::fmt;

/// Something in another tool's words that Straddle does not do, or that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The words themselves, and where they stand: `-mS4`, `line 3: ioengine=rbd`.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do about it.
    pub instead: String,
}

impl Refused {
    fn new(what: impl Into<String>, why: impl Into<String>, instead: impl Into<String>) -> Refused {
        Refused {
            what: what.into(),
            why: why.into(),
            instead: instead.into(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.why, self.instead)
    }
}

impl std::error::Error for Refused {}

/// Longest request that is taken from any tool's words, in bytes. Each outstanding request has a buffer of that length.
const MAX_REQUEST: u64 = 64 << 20;
/// Most requests that one thread keeps under way.
const MAX_OUTSTANDING: u64 = 4096;
/// Longest run, in seconds: a week.
const MAX_RUN: u64 = 7 * 24 * 3600;

/// An argument as Windows tools see it.
#[derive(Debug, PartialEq, Eq)]
enum Argument<'a> {
    /// A switch: its letter and what follows the letter.
    Switch(char, &'a str),
    /// A file.
    Name(&'a str),
}

/// Tells switches from names.
///
/// Both `-` and `/` begin a switch on Windows. Here a path may begin with `/` too: it is a path when another `/` follows, as in
/// `/mnt/testfile.dat`, or when nothing does.
fn argument(text: &str) -> Result<Argument<'_>, Refused> {
    let mut letters = text.chars();
    match letters.next() {
        None => Err(Refused::new(
            "an empty argument",
            "it names no file",
            "leave it out",
        )),
        Some('-') => switch(text, letters.as_str()),
        Some('/') if !letters.as_str().contains('/') && text.len() > 1 => {
            switch(text, letters.as_str())
        }
        // Web pages and word processors turn `-` into these; the tools then take them for files.
        Some('\u{2010}'..='\u{2015}' | '\u{2212}') => Err(Refused::new(
            format!("`{text}`"),
            "it begins with a dash that is no `-`, as web pages print it",
            "type the dash again",
        )),
        Some(_) => Ok(Argument::Name(text)),
    }
}

fn switch<'a>(text: &str, rest: &'a str) -> Result<Argument<'a>, Refused> {
    let mut letters = rest.chars();
    match letters.next() {
        Some(letter) => Ok(Argument::Switch(letter, letters.as_str())),
        None => Err(Refused::new(
            format!("`{text}`"),
            "a switch without a letter",
            "leave it out, or name a file as `./-`",
        )),
    }
}

/// Whether the tool was asked for its usage: `-?`, `/?`.
#[must_use]
pub fn asks_for_help<S: AsRef<str>>(arguments: &[S]) -> bool {
    let mut arguments = arguments.iter().map(AsRef::as_ref);
    arguments.any(|text| matches!(text, "-?" | "/?"))
}

/// A whole number between two others.
fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, Refused> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok() } else { None };
    match value {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(Refused::new(
            what,
            format!("`{text}` is not a whole number from {least} to {most}"),
            "give one",
        )),
    }
}

/// The same, for what fits 32 bits.
fn small(what: &str, text: &str, least: u32, most: u32) -> Result<u32, Refused> {
    let value = number(what, text, u64::from(least), u64::from(most))?;
    Ok(u32::try_from(value).unwrap_or(most))
}

/// Whether a name is a raw device of Windows: a drive (`E:`), a disk by its number (`9:`, `#1`), or `\\.\…`.
fn names_a_raw_device(name: &str) -> bool {
    let drive = name.strip_suffix(':').is_some_and(|drive| {
        let letter = drive.len() == 1 && drive.bytes().all(|byte| byte.is_ascii_alphabetic());
        let number = !drive.is_empty() && drive.bytes().all(|byte| byte.is_ascii_digit());
        letter || number
    });
    drive || name.starts_with('#') || name.starts_with(r"\\.\")
}

fn raw_device(what: &str) -> Refused {
    // `E:`, and `-RE`, which SQLIO took for the same.
    let letter = what.trim_matches('`').trim_end_matches(':');
    let letter = letter
        .trim_start_matches(['-', '/'])
        .trim_start_matches('R');
    let file = match letter.chars().next() {
        Some(letter) if letter.is_ascii_alphabetic() => {
            format!("name a test file on it, such as {letter}:\\testfile.dat")
        }
        _ => "name a test file".to_owned(),
    };
    Refused::new(
        what,
        "it names a raw device, and a script is not enough to have data destroyed",
        format!("{file}; `straddle bench --destroy-data` measures on devices"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_and_paths_are_told_apart() {
        assert_eq!(argument("-kR"), Ok(Argument::Switch('k', "R")));
        assert_eq!(argument("/kR"), Ok(Argument::Switch('k', "R")));
        assert_eq!(argument("/mnt/x"), Ok(Argument::Name("/mnt/x")));
        assert_eq!(argument("//x"), Ok(Argument::Name("//x")));
        assert_eq!(argument(r"E:\test.dat"), Ok(Argument::Name(r"E:\test.dat")));
        for wrong in ["", "-", "\u{2013}BN", "\u{2212}t4"] {
            assert!(argument(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn raw_devices_are_answered_with_a_file() {
        for (what, instead) in [
            ("`E:`", r"such as E:\testfile.dat;"),
            ("`-RF`", r"such as F:\testfile.dat;"),
            ("`-R1`", "name a test file; "),
            ("`#1`", "name a test file; "),
            ("line 1 of the parameter file: `E:`", "name a test file"),
        ] {
            let refused = raw_device(what);
            assert!(refused.instead.contains(instead), "{what}: {refused}");
        }
    }

    #[test]
    fn raw_devices_are_known() {
        for name in ["E:", "9:", "#1", r"\\.\PhysicalDrive1"] {
            assert!(names_a_raw_device(name), "{name}");
        }
        for name in [r"E:\x", "testfile.dat", "/dev/sdb", ":", "ab:"] {
            assert!(!names_a_raw_device(name), "{name}");
        }
    }
}
