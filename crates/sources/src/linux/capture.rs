//! Captures: what a check of this host reads, written down by reading it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use super::root::{Entry, Record, with_directories};
use super::{Root, archive, file, host, tree};
use crate::{Settings, SourceError};

/// What a capture holds beyond the host itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Files whose extents are captured too, so that [`file`](super::file) can be asked about them.
    pub files: Vec<String>,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// Number of files of the host in the archive.
    pub files: usize,
    /// Number of identifiers that were replaced by pseudonyms.
    pub replaced: usize,
    /// Files asked for about which nothing is known, and why.
    pub unknown: Vec<(String, String)>,
}

/// Writes what [`host`](super::host) and [`file`](super::file) read below `root`, as a gzipped tar.
///
/// The list of files is not kept anywhere: a check is run and everything that it reads is recorded, so the archive
/// cannot lack what a check needs. Identifiers do not travel: serial numbers are not read unless the root allows it,
/// mounts that are not on block devices are left out, device-mapper UUIDs are cut to the prefix that says who made
/// them, and a WWID or UUID that appears anywhere else (in a device's name, a mount point) is replaced by a pseudonym.
/// Mount points, paths of files behind loop devices, model names and logical volumes' names are kept: findings are
/// about them. Bytes of the devices themselves are never captured.
///
/// # Errors
/// As [`host`](super::host), and [`SourceError::Write`].
pub fn capture(
    root: &Root,
    options: &CaptureOptions,
    out: &mut dyn Write,
) -> Result<CaptureReport, SourceError> {
    let (entries, report) = recorded(root, options)?;
    archive::write(&entries, out).map_err(SourceError::Write)?;
    Ok(report)
}

/// The same in the text form that [`Root::from_tree`] reads.
///
/// # Errors
/// As [`host`](super::host).
pub fn capture_tree(root: &Root, options: &CaptureOptions) -> Result<String, SourceError> {
    Ok(tree::write(&recorded(root, options)?.0))
}

fn recorded(root: &Root, options: &CaptureOptions) -> Result<(Record, CaptureReport), SourceError> {
    root.start_recording();
    let settings = Settings::default();
    let checked = host(root, &settings);
    let mut unknown = Vec::new();
    for path in &options.files {
        if let Err(error) = file(root, path, &Settings::default()) {
            unknown.push((path.clone(), error.to_string()));
        }
    }
    let record = root.stop_recording();
    checked?;
    let (entries, replaced) = without_identifiers(record);
    let files = entries
        .values()
        .filter(|entry| matches!(entry, Entry::File(_)))
        .count();
    let report = CaptureReport {
        files,
        replaced,
        unknown,
    };
    Ok((with_directories(entries), report))
}

/// Replaces identifiers; gives the number of different ones.
fn without_identifiers(record: Record) -> (Record, usize) {
    let mut names = Pseudonyms::default();
    let mut record = record;
    for (path, entry) in &mut record {
        let Entry::File(bytes) = entry else { continue };
        let text = String::from_utf8_lossy(bytes).into_owned();
        if path.ends_with("/dm/uuid") {
            let (kept, secret) = maker(&text);
            names.add_secret(secret);
            *bytes = kept.as_bytes().to_vec();
        } else if path.ends_with("proc/self/mountinfo") {
            *bytes = block_mounts(&text).into_bytes();
        }
    }
    let mut out = BTreeMap::new();
    for (path, entry) in record {
        let entry = match entry {
            Entry::Directory => Entry::Directory,
            Entry::Link(target) => Entry::Link(names.replace(&target)),
            Entry::File(bytes) => {
                Entry::File(names.replace(&String::from_utf8_lossy(&bytes)).into_bytes())
            }
        };
        out.insert(names.replace(&path), entry);
    }
    (out, names.known.len())
}

/// Splits a device-mapper UUID into what says who made it and what identifies it: `CRYPT-LUKS2-` and the rest.
fn maker(uuid: &str) -> (&str, &str) {
    let uuid = uuid.trim();
    let mut end = 0;
    for part in uuid.split_inclusive('-') {
        let word = part.trim_end_matches('-');
        let known = matches!(
            word,
            "CRYPT"
                | "LUKS1"
                | "LUKS2"
                | "PLAIN"
                | "VERITY"
                | "INTEGRITY"
                | "TCRYPT"
                | "BITLK"
                | "TEMP"
                | "SUBDEV"
                | "LVM"
                | "mpath"
                | "DMRAID"
                | "stratis"
        ) || (word.starts_with("part") && word.len() <= 7);
        if !known || !part.ends_with('-') {
            break;
        }
        end += part.len();
    }
    uuid.split_at(end)
}

fn block_mounts(text: &str) -> String {
    let mounts = super::mounts::parse(text);
    let kept = mounts.into_iter().filter(super::mounts::Mount::on_disk);
    kept.fold(String::new(), |out, mount| out + &mount.line + "\n")
}

#[derive(Default)]
struct Pseudonyms {
    secrets: BTreeSet<String>,
    known: HashMap<String, usize>,
}

impl Pseudonyms {
    /// Short words would be found everywhere and identify nothing.
    const SHORTEST: usize = 12;

    fn add_secret(&mut self, secret: &str) {
        if secret.len() >= Self::SHORTEST {
            self.secrets.insert(secret.to_owned());
        }
    }

    fn pseudonym(&mut self, secret: &str) -> String {
        let next = self.known.len() + 1;
        let number = *self
            .known
            .entry(secret.to_ascii_lowercase())
            .or_insert(next);
        // As long as a UUID, so that it is taken for one where one is expected.
        format!("00000000-0000-0000-0000-{number:012}")
    }

    fn replace(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in self.secrets.clone() {
            if out.contains(&secret) {
                let pseudonym = self.pseudonym(&secret);
                out = out.replace(&secret, &pseudonym);
            }
        }
        let mut done = String::with_capacity(out.len());
        let mut rest = out.as_str();
        while let Some((at, len)) = find_identifier(rest) {
            done.push_str(&rest[..at]);
            let found = &rest[at..at + len];
            if found.starts_with("00000000-0000-0000-0000-") {
                done.push_str(found);
            } else {
                done.push_str(&self.pseudonym(found));
            }
            rest = &rest[at + len..];
        }
        done.push_str(rest);
        done
    }
}

/// The next UUID (8-4-4-4-12 hexadecimal digits) or WWID (16 or more of them, perhaps after `3`, `eui.`, `naa.` or `0x`)
/// in `text`: where, and how long.
fn find_identifier(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut at = 0;
    while at < bytes.len() {
        // Only at the beginning of a word.
        if !hex(at) || (at > 0 && word(at - 1)) {
            at += 1;
            continue;
        }
        let run = (at..).take_while(|i| hex(*i)).count();
        let uuid = (0..36).all(|i| match i {
            8 | 13 | 18 | 23 => bytes.get(at + i) == Some(&b'-'),
            _ => hex(at + i),
        });
        if uuid && !word(at + 36) {
            return Some((at, 36));
        }
        // A plain number of that length is no identifier: extents and sizes are decimal.
        let letters = bytes[at..at + run].iter().any(u8::is_ascii_alphabetic);
        if run >= 16 && !word(at + run) && (letters || run >= 24) {
            return Some((at, run));
        }
        at += run.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_and_numbers_are_not() {
        let find =
            |text: &str| find_identifier(text).map(|(at, len)| text[at..at + len].to_owned());
        for (text, want) in [
            (
                "/dev/mapper/luks-1B4e28ba-2fa1-11d2-883f-0016d3cca427",
                Some("1B4e28ba-2fa1-11d2-883f-0016d3cca427"),
            ),
            ("eui.0025385b71b0a1c2 x", Some("0025385b71b0a1c2")),
            (
                "3600508b400105e210000900000490000",
                Some("3600508b400105e210000900000490000"),
            ),
            ("0 18446744073709551615 4096 0x0", None),
            ("/sys/devices/pci0000:00/0000:00:02.0/virtio1", None),
            ("abc", None),
        ] {
            assert_eq!(find(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_device_mapper_uuid_keeps_who_made_it() {
        assert_eq!(
            maker("CRYPT-LUKS2-d1a2-root"),
            ("CRYPT-LUKS2-", "d1a2-root")
        );
        assert_eq!(maker("LVM-abcDEF"), ("LVM-", "abcDEF"));
        assert_eq!(maker("part1-mpath-3600a"), ("part1-mpath-", "3600a"));
        assert_eq!(maker("mpath"), ("", "mpath"));
    }

    #[test]
    fn the_same_identifier_has_the_same_pseudonym() {
        let mut names = Pseudonyms::default();
        names.add_secret("WDserial99-zzzz");
        let a = names.replace("x WDserial99-zzzz 1b4e28ba-2fa1-11d2-883f-0016d3cca427");
        let b = names.replace("1B4E28BA-2FA1-11D2-883F-0016D3CCA427");
        assert_eq!(
            a,
            "x 00000000-0000-0000-0000-000000000001 00000000-0000-0000-0000-000000000002"
        );
        assert_eq!(b, "00000000-0000-0000-0000-000000000002");
    }
}
