//! Which device an output is about that does not say so itself.

use crate::captured::tool::{Command, Context, Notes, Section};
use crate::inventory::{Name, Space};

/// Beginnings of the kernel's names of disks, with what follows them.
const DISKS: [&str; 8] = ["sd", "vd", "xvd", "hd", "nvme", "mmcblk", "md", "dm-"];

/// The device that the command named, when it was one of `programs`, or that the file is named after:
/// `luksDump-sda2.txt`.
pub(super) fn of(context: &Context<'_>, programs: &[&str]) -> Option<Name> {
    let typed = context.command.as_ref().and_then(|command| {
        // In a loop, or behind `ssh`, it is not the first word.
        let is_one = |word: &&str| programs.contains(&word.rsplit('/').next().unwrap_or(word));
        let known =
            programs.contains(&command.program().as_str()) || command.words.iter().any(is_one);
        let path = known.then(|| command.word("/dev/"))??;
        let path = path.trim_end_matches([';', ')', '`', '\'']);
        (!path.contains(['*', '?', '$', '[', '{'])).then_some(path)
    });
    let stem = context.file_stem;
    // `dm-3` has a hyphen of its own.
    let mut tokens = stem.split(['_', '.', ' ', '-', ':', '=']);
    let named = match stem.find("dm-") {
        Some(at) if is_disk(&stem[at..]) => Some(&stem[at..]),
        _ => tokens.find(|token| is_disk(token)),
    };
    let device = typed.or(named)?;
    Some(Name::new(Space::Device, device.to_owned()))
}

/// The path of the device as by [`of`], or of the image file that the command ends with; `/dev/?` where nothing says it.
pub(super) fn path(context: &Context<'_>, programs: &[&str]) -> String {
    if let Some(name) = of(context, programs) {
        return format!("/dev/{}", name.text.trim_start_matches("/dev/"));
    }
    let command = context.command.as_ref();
    let typed = command.filter(|command| programs.contains(&command.program().as_str()));
    let file = typed
        .and_then(Command::last)
        .filter(|word| !word.starts_with(['-', '$', '/']) && word.contains('.'));
    file.map_or_else(|| "/dev/?".to_owned(), str::to_owned)
}

/// The device as by [`of`], or the one whose name alone stands in the line above: what `echo` prints in a loop.
pub(super) fn of_section(section: &Section<'_>, programs: &[&str]) -> Option<Name> {
    let above = section.before.iter().rev().find(|line| !line.is_blank());
    let echoed = above.and_then(|line| {
        let text = line
            .text
            .trim()
            .trim_matches(['=', '-', '#', ':', ' ', '*', '[', ']']);
        let bare = text.strip_prefix("/dev/").unwrap_or(text);
        is_disk(bare).then(|| Name::new(Space::Device, bare.to_owned()))
    });
    echoed.or_else(|| of(&section.context, programs))
}

/// The device as by [`of`], or else one that has no other name than that this file is about it.
pub(super) fn or_stranger(context: &Context<'_>, programs: &[&str], notes: &Notes<'_>) -> Name {
    of(context, programs)
        .unwrap_or_else(|| Name::new(Space::Device, format!("that {} is about", notes.file)))
}

/// True for what the kernel calls a disk or a partition: `sda`, `nvme0n1p2`.
pub(in crate::captured) fn is_disk(token: &str) -> bool {
    let Some(prefix) = DISKS.iter().find(|prefix| token.starts_with(**prefix)) else {
        return false;
    };
    let rest = &token[prefix.len()..];
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match *prefix {
        "nvme" | "mmcblk" => {
            rest.starts_with(|c: char| c.is_ascii_digit())
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b"np".contains(&b))
        }
        "md" | "dm-" => !rest.is_empty() && digits(rest),
        _ => {
            let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            (1..=2).contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_lowercase())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_devices() {
        let named = |stem| {
            let context = Context {
                command: None,
                file_stem: stem,
            };
            of(&context, &[]).map(|name| name.text.into_owned())
        };
        assert_eq!(named("luksDump-sda2").as_deref(), Some("sda2"));
        assert_eq!(named("db1_nvme0n1p3").as_deref(), Some("nvme0n1p3"));
        assert_eq!(named("dump of dm-12").as_deref(), Some("dm-12"));
        assert_eq!(named("sdump-vdi"), Some("vdi".into()));
        assert_eq!(named("mdadm-hdparm"), None);
        assert_eq!(named(""), None);
    }
}
