//! What an archive is, by the names in it, and the host that a support tool collected, in the same pass: most of such an archive is logs, and
//! to unpack them once takes all of the time.

use std::cell::Cell;
use std::io::{self, Read, Seek};
use tar::{Archive, Entry, EntryType};

use super::{OWN, damaged};
use crate::captured;
use crate::collected::{self, Gathering};
use crate::linux::archive::clean_path;

/// Most names that are looked at to tell what an archive is.
const MAX_NAMES: usize = 1 << 16;
/// Most bytes that are unpacked for the same, unless the name of its directory is one that a support tool gives.
const MAX_UNTIL_TOLD: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// Most bytes of files that are held until it is known whose they are.
const MAX_HELD: usize = if cfg!(test) { 256 << 10 } else { 8 << 20 };

/// What an archive is.
pub enum Told {
    /// A host, captured by `straddle capture`.
    Capture,
    /// A host that a support tool collected, taken in as far as the archive could be read.
    Support(Box<Gathering>, io::Result<()>),
    /// The same, and nothing is taken in yet: before its mark there was more than can be held.
    Again(Box<Gathering>),
    /// Files, each to be looked at by itself.
    Files,
}

/// What the archive is that `input` gives unpacked, and that is called `named`. Where the first names do not tell, it holds files.
///
/// # Errors
/// When nothing in it can be read.
pub fn told(input: impl Read, named: &str) -> io::Result<Told> {
    let left = Cell::new(MAX_UNTIL_TOLD);
    let mut archive = Archive::new(Until { input, left: &left });
    Pass::new(named, &left).go(archive.entries()?)
}

/// The same for an archive that lies open, in which what does not count is not read.
///
/// # Errors
/// As [`told`].
pub fn told_in_place(input: impl Read + Seek, named: &str) -> io::Result<Told> {
    let left = Cell::new(u64::MAX);
    let mut archive = Archive::new(input);
    Pass::new(named, &left).go(archive.entries_with_seek()?)
}

/// Reads so many bytes, which whoever reads may change.
struct Until<'c, R> {
    input: R,
    left: &'c Cell<u64>,
}

impl<R: Read> Read for Until<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
        let read = self.input.read(&mut buf[..len])?;
        let read_bytes = u64::try_from(read).unwrap_or(u64::MAX);
        self.left.set(self.left.get().saturating_sub(read_bytes));
        Ok(read)
    }
}

/// One way through an archive.
struct Pass<'p> {
    named: &'p str,
    left: &'p Cell<u64>,
    /// The host, once it is known who collected it.
    gathering: Option<Box<Gathering>>,
    /// Files that may be of a host; `None` when they were too many.
    held: Option<Vec<(String, Vec<u8>)>>,
    bytes: usize,
    has_sysfs: bool,
    /// The directory in it is called as support tools call theirs.
    is_likely: bool,
}

impl<'p> Pass<'p> {
    fn new(named: &'p str, left: &'p Cell<u64>) -> Pass<'p> {
        Pass {
            named,
            left,
            gathering: None,
            held: Some(Vec::new()),
            bytes: 0,
            has_sysfs: false,
            is_likely: false,
        }
    }

    fn go<'e, R: Read + 'e>(
        mut self,
        entries: impl Iterator<Item = io::Result<Entry<'e, R>>>,
    ) -> io::Result<Told> {
        let mut went = Ok(());
        for (number, entry) in entries.enumerate() {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) if number == 0 => return Err(damaged(number, &error)),
                Err(error) => {
                    went = Err(damaged(number, &error));
                    break;
                }
            };
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let Some(path) = clean_path(&path) else {
                continue;
            };
            if self.gathering.is_none() {
                if path == OWN || path.starts_with(".straddle/") {
                    // Nothing but a capture has that.
                    return Ok(Told::Capture);
                }
                if number >= MAX_NAMES && !self.is_likely {
                    break;
                }
                self.tell(&path);
            }
            let kind = entry.header().entry_type();
            let is_file = matches!(
                kind,
                EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse
            );
            if is_file && let Err(error) = self.take(path, &mut entry) {
                went = Err(error);
                break;
            }
            if self.has_what_it_needs() {
                break;
            }
        }
        Ok(match (self.gathering, self.held) {
            (Some(gathering), Some(_)) => Told::Support(gathering, went),
            (Some(gathering), None) => Told::Again(gathering),
            (None, _) if self.has_sysfs => Told::Capture,
            // What is wrong with it is said by whoever goes through it.
            (None, _) => Told::Files,
        })
    }

    /// True when going on would come to nothing: it will be gone through again.
    fn has_what_it_needs(&self) -> bool {
        self.gathering.is_some() && self.held.is_none()
    }

    /// What this name says of the archive.
    fn tell(&mut self, path: &str) {
        // Support tools copy parts of sysfs, too, and what tells that it was one of them may come behind these.
        self.has_sysfs |= path.starts_with("sys/block/");
        if !self.is_likely && collected::is_named_as_one(path) {
            self.is_likely = true;
            self.left.set(u64::MAX);
        }
        let Some((collector, top)) = collected::of_path(path) else {
            return;
        };
        self.left.set(u64::MAX);
        let named = if top.is_empty() { self.named } else { top };
        let mut gathering = Gathering::new(collector, top, named);
        if let Some(held) = &mut self.held {
            for (path, bytes) in std::mem::take(held) {
                if gathering.wants(&path) {
                    gathering.add(&path, bytes);
                }
            }
        }
        self.gathering = Some(Box::new(gathering));
    }

    /// Takes a file in, or holds it.
    fn take(&mut self, path: String, bytes: &mut impl Read) -> io::Result<()> {
        let is_wanted = match (&self.gathering, &self.held) {
            (Some(gathering), _) => gathering.wants(&path),
            (None, Some(_)) => collected::may_be_wanted(&path),
            (None, None) => false,
        };
        if !is_wanted {
            return Ok(());
        }
        let most = u64::try_from(captured::MAX_BYTES + 1).unwrap_or(u64::MAX);
        let mut text = Vec::new();
        bytes.take(most).read_to_end(&mut text)?;
        match (&mut self.gathering, &mut self.held) {
            (Some(gathering), _) => gathering.add(&path, text),
            (None, Some(held)) => {
                self.bytes += text.len() + path.len();
                held.push((path, text));
                if self.bytes > MAX_HELD {
                    self.held = None;
                }
            }
            (None, None) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tar_of;
    use super::*;
    use crate::Settings;

    fn is_told(told: Told) -> String {
        match told {
            Told::Capture => "capture".to_owned(),
            Told::Support(gathering, went) => {
                went.expect("whole");
                format!("{} in {}", gathering.collector(), gathering.top())
            }
            Told::Again(gathering) => {
                format!("{} in {}, again", gathering.collector(), gathering.top())
            }
            Told::Files => "files".to_owned(),
        }
    }

    #[test]
    fn archives_are_told_by_the_names_in_them() {
        let host = tar_of(&[("dev/null.txt", b""), ("sys/block/sda/size", b"2048")]);
        let told = |bytes: &[u8]| {
            let streamed = is_told(told(bytes, "x").expect("whole"));
            let in_place = told_in_place(io::Cursor::new(bytes), "x").expect("whole");
            assert_eq!(streamed, is_told(in_place));
            streamed
        };
        assert_eq!(told(&host), "capture");
        let windows = format!("{}/answers", crate::windows::FOLDER.trim_start_matches('/'));
        let windows = tar_of(&[(windows.as_str(), b"x")]);
        assert_eq!(told(&windows), "capture");
        let sos = tar_of(&[
            ("sosreport-a-1/df", b""),
            ("sosreport-a-1/sos_commands/block/lsblk", b"x"),
        ]);
        assert_eq!(told(&sos), "sosreport in sosreport-a-1/");
        let inside = tar_of(&[
            ("sys/block/sda/queue/rotational", b"1"),
            ("sos_commands/block/lsblk", b"x"),
        ]);
        assert_eq!(told(&inside), "sosreport in ");
        let suse = tar_of(&[("scc_a_261128_1015/basic-environment.txt", b"x")]);
        assert_eq!(told(&suse), "supportconfig in scc_a_261128_1015/");
        // A name that holds these words somewhere is no host.
        let other = tar_of(&[("backup/sys/block/sda/size", b"1"), ("sys/blocks", b"")]);
        assert_eq!(told(&other), "files");
        let deep = tar_of(&[("home/me/old/sosreport-a-1/sos_commands/block/lsblk", b"x")]);
        assert_eq!(told(&deep), "files");
    }

    const PARTED: &[u8] = b"Model: ACME 4000 (scsi)\nDisk /dev/sda: 41943040s\nSector size (logical/physical): 512B/4096B\nPartition Table: msdos\n\nNumber  Start  End       Size      Type     File system  Flags\n 1      63s    2097214s  2097152s  primary\n\n";
    const SOS: &str = "sosreport-a-2026-11-28-b/sos_commands/block/parted_-s_.dev.sda_unit_s_print";

    fn starts(told: Told) -> Vec<u64> {
        let (Told::Support(gathering, Ok(())) | Told::Again(gathering)) = told else {
            panic!("no host");
        };
        let stack = gathering.finish(&Settings::default()).stack;
        let stack = stack.expect("something known");
        let placements = stack
            .layers()
            .iter()
            .filter_map(|layer| layer.placement.as_ref());
        placements
            .map(|placement| placement.value.start().get())
            .collect()
    }

    /// What a host is taken in from may come before what tells that it is one, and both behind more logs than an archive of files is unpacked for.
    #[test]
    fn a_host_is_taken_in_once_in_whatever_order_its_files_are() {
        let log = vec![b'x'; 2 << 20];
        let sysfs = (
            "sosreport-a-2026-11-28-b/sys/block/sda/size",
            &b"41943040"[..],
        );
        let log = ("sosreport-a-2026-11-28-b/var/log/messages", &log[..]);
        for order in [
            [log, sysfs, (SOS, PARTED)],
            [sysfs, (SOS, PARTED), log],
            [(SOS, PARTED), log, sysfs],
        ] {
            let bytes = tar_of(&order);
            assert_eq!(starts(told(&bytes[..], "x").expect("whole")), [32_256]);
            let in_place = told_in_place(io::Cursor::new(&bytes), "x").expect("whole");
            assert_eq!(starts(in_place), [32_256]);
        }
        // What nobody calls a host is unpacked no further.
        let other = tar_of(&[
            ("backup/log", log.1),
            ("backup/sos_commands/block/lsblk", b"x"),
        ]);
        assert_eq!(is_told(told(&other[..], "x").expect("whole")), "files");
    }

    #[test]
    fn what_cannot_be_held_is_gone_through_again() {
        let text = vec![b'x'; 100 << 10];
        let names = ["a", "b", "c"].map(|name| format!("sosreport-a-1/sos_commands/block/{name}"));
        // Not told by these, since none is below a top that counts.
        let held = ["a", "b", "c"].map(|name| format!("etc/lvm/backup/{name}"));
        let files = |held: &[String]| {
            let mut files: Vec<(&str, &[u8])> =
                held.iter().map(|name| (name.as_str(), &text[..])).collect();
            files.push(("sos_commands/block/lsblk", b"x"));
            tar_of(&files)
        };
        assert_eq!(
            is_told(told(&files(&held)[..], "x").expect("whole")),
            "sosreport in , again"
        );
        assert_eq!(
            is_told(told(&files(&held[..2])[..], "x").expect("whole")),
            "sosreport in "
        );
        assert_eq!(
            is_told(told(&files(&names)[..], "x").expect("whole")),
            "sosreport in sosreport-a-1/"
        );
    }

    #[test]
    fn what_is_damaged_behind_its_first_files_is_told_with_what_it_has() {
        let bytes = tar_of(&[
            (SOS, PARTED),
            ("sosreport-a-2026-11-28-b/version.txt", b"4"),
        ]);
        // In the header of the second member.
        let told = told(&bytes[..1500], "x").expect("one member");
        let Told::Support(gathering, went) = told else {
            panic!("no host");
        };
        let error = went.expect_err("cut").to_string();
        assert!(error.contains("after 1 member:"), "{error}");
        assert!(gathering.finish(&Settings::default()).stack.is_some());
    }
}
