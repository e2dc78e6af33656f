//! What of each file that a check reads may be in a capture: what the reader of that file uses.
//!
//! A list of what is allowed for each source, and not of what is forbidden: the next kernel, filesystem or module puts its
//! passwords where nobody has thought of. Whoever reads another file adds it here, or finds it empty in a captured host.

use super::answer::REFUSED;
use super::extents::extent;
use super::swaps::{SWAPS_HEAD, swaps};
use super::words::device_number;
use super::{dm, mounts};

/// Files below `/sys` of which the text itself is used: a name, a model, a mode.
const TEXTS: [&str; 8] = [
    "/model",
    "dm/name",
    "loop/backing_file",
    "md/level",
    "md/metadata_version",
    "queue/zoned",
    "bcache/block_size",
    "bcache/bucket_size",
];
/// What zram compresses with, Linux `drivers/block/zram/`.
const COMPRESSORS: [&str; 8] = [
    "lzo", "lzo-rle", "lz4", "lz4hc", "zstd", "deflate", "842", "none",
];
/// Read only where serial numbers were asked for.
const SERIALS: [&str; 1] = ["/serial"];

/// The text of the file at `path`, as far as it is used. `path` has no leading slash.
pub(crate) fn allowed(path: &str, text: &str) -> String {
    if let Some(question) = path.strip_prefix(".straddle/") {
        return answer(question, text);
    }
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    match path {
        "proc/self/mountinfo" => lines(mounts::parse(text), |mount| {
            mount.on_disk().then_some(mount.line)
        }),
        "proc/swaps" => {
            let head = text.lines().next().map(|_| SWAPS_HEAD.to_owned());
            let swaps = swaps(text).map(|(line, _)| line);
            lines(head.into_iter().chain(swaps), Some)
        }
        _ if !path.starts_with("sys/") => String::new(),
        _ if path.ends_with("/dm/uuid") => dm::maker(text).0.to_owned(),
        _ if path.ends_with("/comp_algorithm") => {
            let name = |word: &&str| COMPRESSORS.contains(&word.trim_matches(['[', ']']));
            let names = text.split_ascii_whitespace().filter(name);
            names.collect::<Vec<_>>().join(" ")
        }
        _ if ends(&TEXTS) || ends(&SERIALS) => text.to_owned(),
        _ => number(text),
    }
}

fn lines<T>(all: impl IntoIterator<Item = T>, line: impl Fn(T) -> Option<String>) -> String {
    let lines = all.into_iter().filter_map(line);
    lines.fold(String::new(), |out, line| out + &line + "\n")
}

/// A number or a device's number; nothing else is read from most files.
fn number(text: &str) -> String {
    let text = text.trim();
    let is_number = text.parse::<i128>().is_ok() || device_number(text).is_some();
    if is_number {
        text.to_owned()
    } else {
        String::new()
    }
}

/// An answer of the kernel, in the forms of [`answer`](super::answer).
fn answer(path: &str, text: &str) -> String {
    if text.starts_with(REFUSED) {
        return text.to_owned();
    }
    if path.starts_with("dm/") {
        return dm::redacted(text);
    }
    let words = |known: &[&str]| {
        let is_known = |word: &&str| {
            word.split_once('=').is_some_and(|(key, value)| {
                known.contains(&key) && (key == "format" || !number(value).is_empty())
            })
        };
        let kept = text.split_ascii_whitespace().filter(is_known);
        kept.collect::<Vec<_>>().join(" ")
    };
    match path.rsplit_once('@').map(|(_, what)| what) {
        Some("extents") => lines(text.lines(), |line| {
            let is_extent = extent(line).is_some() || line == "incomplete";
            is_extent.then(|| {
                line.split_ascii_whitespace()
                    .take(4)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        }),
        Some("pages") => words(&["format", "page"]),
        Some("stat") => {
            // The path is the last, and may hold blanks.
            let (numbers, real) = match text.split_once(" path=") {
                Some((numbers, real)) => (numbers, Some(real)),
                None => (text, None),
            };
            let known = [
                "dev",
                "size",
                "blksize",
                "rdev",
                "dio_mem_align",
                "dio_offset_align",
            ];
            let is_known = |word: &&str| {
                word.split_once('=')
                    .is_some_and(|(key, value)| known.contains(&key) && !number(value).is_empty())
            };
            let kept = numbers.split_ascii_whitespace().filter(is_known);
            let kept = kept.collect::<Vec<_>>().join(" ");
            match real {
                Some(real) => format!("{kept} path={}", real.lines().next().unwrap_or("")),
                None => kept,
            }
        }
        Some("statfs") => words(&["bsize", "frsize"]),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_source_what_its_reader_uses_is_kept() {
        for (path, text, kept) in [
            ("sys/block/sda/size", "65536\n", "65536"),
            ("sys/block/sda/dev", "8:0\n", "8:0"),
            ("sys/block/sda/alignment_offset", "-1", "-1"),
            ("sys/block/sda/uevent", "SECRET=1", ""),
            ("sys/block/sda/device/model", "DISK 1", "DISK 1"),
            (
                "sys/block/dm-0/dm/uuid",
                "CRYPT-LUKS2-SECRET",
                "CRYPT-LUKS2-",
            ),
            (
                "sys/block/zram0/comp_algorithm",
                "lzo [zstd] \n",
                "lzo [zstd]",
            ),
            ("etc/shadow", "SECRET", ""),
            (
                "proc/swaps",
                "Filename Type SECRET\n/dev/sda2 partition 1 0 -2\n/SECRET file 1 0 -3\n",
                "Filename Type\n/dev/sda2 partition\n",
            ),
            (
                "proc/self/mountinfo",
                "36 35 98:0 /SECRET /mnt/a\\040b rw,SECRET master:SECRET - xfs /dev/sda1 rw,sunit=128,password=SECRET,swidth=256\n\
                 37 35 0:40 / /net rw - cifs //host/SECRET rw,password=SECRET\n\
                 38 35 0:41 / /fuse rw - fuse.x /dev/fuse rw,user_id=SECRET\n",
                "36 35 98:0 / /mnt/a\\040b - xfs /dev/sda1 sunit=128,swidth=256\n\
                 38 35 0:41 / /fuse - fuse.x /dev/fuse -\n",
            ),
            (
                ".straddle/dm/dm-0/table",
                "0 8 crypt a SECRET 0 8:0 0\n",
                "0 8 crypt - - 0 8:0 0\n",
            ),
            (
                ".straddle/of/a/@stat",
                "dev=8:1 size=1 SECRET key=SECRET path=/a b\nSECRET",
                "dev=8:1 size=1 path=/a b",
            ),
            (
                ".straddle/of/a/@statfs",
                "bsize=4096 frsize=4096 x=SECRET",
                "bsize=4096 frsize=4096",
            ),
            (
                ".straddle/of/a/@extents",
                "0 4096 8192 0x0 SECRET\nSECRET\nincomplete\n",
                "0 4096 8192 0x0\nincomplete\n",
            ),
            (
                ".straddle/of/a/@pages",
                "format=mssql page=8192 SECRET",
                "format=mssql page=8192",
            ),
            (".straddle/of/a/@key", "SECRET", ""),
        ] {
            assert_eq!(allowed(path, text), kept, "{path}");
        }
    }
}
