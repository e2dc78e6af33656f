//! Words of a command line as they would be typed again.

use std::path::{Path, PathBuf};
use straddle::geometry::Unit;
use straddle::report::escape::is_unprintable;
use straddle::rules::Options;

use crate::args::Geometry;

/// Targets, what they are said to lie on, and the request sizes where they are not the usual ones.
pub(super) fn words(targets: &[PathBuf], geometry: &Geometry, io: &[Unit]) -> Vec<String> {
    let flags = [
        ("--logical-sector", geometry.logical_sector),
        ("--physical-sector", geometry.physical_sector),
        ("--stripe-unit", geometry.stripe_unit),
        ("--stripe-width", geometry.stripe_width),
    ];
    let flags = flags
        .into_iter()
        .filter_map(|(flag, unit)| Some(format!("{flag} {}", size(unit?))));
    let targets = targets.iter().map(|target| path(target));
    let io = (io != Options::default().io).then(|| {
        let sizes: Vec<String> = io.iter().map(|io| size(*io)).collect();
        format!("--io {}", sizes.join(","))
    });
    let outside = geometry.follow_outside;
    let outside = outside.then(|| "--follow-outside".to_owned());
    targets.chain(flags).chain(outside).chain(io).collect()
}

/// The command that begins with these words and goes on with [`words`].
pub(super) fn command(begin: &str, words: &[String]) -> String {
    let begin = std::iter::once(begin);
    let all: Vec<&str> = begin.chain(words.iter().map(String::as_str)).collect();
    all.join(" ")
}

/// The command that moves the partitions of a target: in place where this program can do that, else into another file.
pub(super) fn realign(words: &[String]) -> String {
    let command = command("straddle realign", words);
    match cfg!(target_os = "linux") {
        true => command,
        false => format!("{command} -o NEW"),
    }
}

/// What a target is called in its stack: as it was named, or as what a symbolic link of that name leads to.
pub(super) fn names(shown: &str, target: &Path) -> Vec<String> {
    let real = std::fs::canonicalize(target).ok();
    let real = real.map(|real| real.display().to_string());
    std::iter::once(shown.to_owned()).chain(real).collect()
}

/// A size in one word, which may stand in a list.
pub(super) fn size(unit: Unit) -> String {
    unit.to_string().replace([' ', ','], "")
}

/// A name in one word, which is none of an option.
fn path(target: &Path) -> String {
    let text = target.display().to_string();
    word(&match text.starts_with('-') {
        true => format!("./{text}"),
        false => text,
    })
}

/// Text in one word: for the shells of this system, which on Windows are PowerShell and the command prompt.
pub(super) fn word(text: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c) || (cfg!(windows) && c == '\\')
    };
    if text.contains(is_unprintable) {
        // Nothing that a terminal would obey is printed.
        let escaped = text.chars().map(|c| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if is_unprintable(c) && c <= '\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
            c if is_unprintable(c) => format!("\\U{:08x}", u32::from(c)),
            c => c.to_string(),
        });
        return format!("$'{}'", escaped.collect::<String>());
    }
    match text.chars().all(plain) && !text.is_empty() {
        true => text.to_owned(),
        // No name has one of these in it there.
        false if cfg!(windows) => format!("\"{text}\""),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::path;
    use std::path::Path;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(path(Path::new("/dev/sda")), "/dev/sda");
        assert_eq!(path(Path::new("-x")), "./-x");
        assert_eq!(path(Path::new("two words")), "'two words'");
        assert_eq!(path(Path::new("it's $x")), r"'it'\''s $x'");
        let hostile = Path::new("it's\n\u{1b}[31m");
        assert_eq!(path(hostile), r"$'it\'s\u000a\u001b[31m'");
    }
}
