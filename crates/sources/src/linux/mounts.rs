//! `/proc/self/mountinfo`.
//!
//! Source: `proc_pid_mountinfo(5)`. A line is
//! `ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [OPTIONAL…] - TYPE SOURCE SUPER_OPTIONS`, blanks written as `\040`.

use super::words::device_number;

/// Most lines that are looked at.
const MAX_MOUNTS: usize = 1 << 16;

/// One mounted filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) device: (u32, u32),
    pub(super) point: String,
    pub(super) format: String,
    pub(super) source: String,
    options: String,
    /// The line, as far as anything in it is used: options may hold passwords, and the part of the filesystem that is mounted
    /// is the name of somebody's folder.
    pub(super) line: String,
}

impl Mount {
    /// True when its blocks lie on block devices that sysfs lists.
    pub(super) fn on_disk(&self) -> bool {
        self.device.0 != 0 || self.source.starts_with("/dev/")
    }

    /// The value of a mount option `key=`.
    pub(super) fn option(&self, key: &str) -> Option<&str> {
        self.options
            .split(',')
            .find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    }
}

pub(super) fn parse(text: &str) -> Vec<Mount> {
    text.lines()
        .take(MAX_MOUNTS)
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let number = |word: &str| word.parse().unwrap_or(0_u64);
    let ids = format!("{} {}", number(left.next()?), number(left.next()?));
    let device = device_number(left.next()?)?;
    let point = left.nth(1)?;
    let mut right = right.split(' ');
    let (format, source) = (right.next()?, right.next()?);
    let source = if source.starts_with("/dev/") {
        source
    } else {
        "-"
    };
    let options = right.next().unwrap_or("");
    let used: Vec<&str> = options
        .split(',')
        .filter(|option| is_used(option))
        .collect();
    let used = if used.is_empty() {
        "-".to_owned()
    } else {
        used.join(",")
    };
    let (major, minor) = device;
    Some(Mount {
        device,
        point: unescape(point),
        format: format.to_owned(),
        source: unescape(source),
        line: format!("{ids} {major}:{minor} / {point} - {format} {source} {used}"),
        options: used,
    })
}

/// The options that say how a filesystem is striped.
fn is_used(option: &str) -> bool {
    let parts = option.split_once('=');
    parts.is_some_and(|(key, value)| {
        matches!(key, "sunit" | "swidth" | "stripe") && value.parse::<u64>().is_ok()
    })
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| std::str::from_utf8(tail.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(3..).unwrap_or(&[]);
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_blanks_and_optional_fields() {
        let line = r"36 35 98:0 /mnt1 /my\040data\134x rw,noatime master:1 shared:2 - xfs /dev/sda1 rw,sunit=128,swidth=768";
        let mounts = parse(line);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].point, r"/my data\x");
        assert_eq!(mounts[0].device, (98, 0));
        assert_eq!(mounts[0].option("sunit"), Some("128"));
        assert_eq!(mounts[0].option("swid"), None);
        assert_eq!(
            mounts[0].line,
            r"36 35 98:0 / /my\040data\134x - xfs /dev/sda1 sunit=128,swidth=768"
        );
        // Read again, it is the same.
        assert_eq!(parse(&mounts[0].line)[0].line, mounts[0].line);
        assert_eq!(parse("rubbish\n\n1 2 3\n - \n"), []);
    }
}
