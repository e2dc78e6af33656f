//! Members of tar archives, one after the other, and what such an archive is.

use std::io::{self, Read};
use std::ops::ControlFlow;
use straddle_geometry::Bytes;
use straddle_io::Packing;
use tar::{Archive, Entry, EntryType};

use crate::collected::{self, Collector};
use crate::linux::archive::clean_path;

/// A file in an archive.
pub struct Member<'a> {
    /// Its path, without what leads to the top.
    pub path: &'a str,
    /// How many bytes it has.
    pub size: Bytes,
    /// Where they begin in the archive; `None` where the archive leaves out holes.
    pub at: Option<Bytes>,
    /// The bytes.
    pub bytes: &'a mut dyn Read,
}

/// Length of a tar header.
const HEADER: usize = 512;
/// Most names that are looked at to tell what an archive is.
const MAX_NAMES: usize = 1 << 16;
/// Most bytes that are unpacked for the same.
const MAX_UNTIL_TOLD: u64 = 64 << 20;

/// What is in an archive.
pub enum Holds {
    /// A host, captured by `straddle capture`.
    Capture,
    /// A host of which a support tool collected what commands print, and what stands before the paths of its files.
    Support(&'static Collector, String),
    /// Files, each to be looked at by itself.
    Files,
}

/// True for the beginning of a tar archive: its first header has the checksum that it should have.
#[must_use]
pub fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..HEADER) else {
        return false;
    };
    let Some(stated) = octal(&header[148..156]) else {
        return false;
    };
    let byte = |(at, byte): (usize, &u8)| match at {
        148..156 => u64::from(b' '),
        _ => u64::from(*byte),
    };
    let sum: u64 = header.iter().enumerate().map(byte).sum();
    // Blank sectors have a sum, too.
    stated == sum && header[0] != 0
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    u64::from_str_radix(digits, 8).ok()
}

/// Calls `each` for every regular file, until it breaks off. Directories, links and devices are passed over, and so are names that lead
/// outside.
///
/// # Errors
/// What is wrong with the archive, and after how many members; those of `each`.
pub fn members(
    input: impl Read,
    mut each: impl FnMut(Member<'_>) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let mut archive = Archive::new(input);
    go_through(archive.entries()?, &mut each)
}

/// The same for an archive that lies open, in which what is not looked at is not read.
///
/// # Errors
/// As [`members`].
pub fn members_in_place(
    input: impl Read + io::Seek,
    mut each: impl FnMut(Member<'_>) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let mut archive = Archive::new(input);
    go_through(archive.entries_with_seek()?, &mut each)
}

fn go_through<'e, R: Read + 'e>(
    entries: impl Iterator<Item = io::Result<Entry<'e, R>>>,
    each: &mut dyn FnMut(Member<'_>) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    for (number, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| damaged(number, &error))?;
        let kind = entry.header().entry_type();
        let is_sparse = kind == EntryType::GNUSparse;
        if !matches!(kind, EntryType::Regular | EntryType::Continuous) && !is_sparse {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some(path) = clean_path(&path) else {
            continue;
        };
        let (size, at) = (entry.size(), entry.raw_file_position());
        let member = Member {
            path: &path,
            size: Bytes::new(size),
            at: (!is_sparse).then(|| Bytes::new(at)),
            bytes: &mut entry,
        };
        if each(member)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn damaged(number: usize, error: &io::Error) -> io::Error {
    let s = if number == 1 { "" } else { "s" };
    io::Error::new(
        error.kind(),
        format!("the archive is damaged or cut short after {number} member{s}: {error}"),
    )
}

/// The bytes of an archive or of a packed file, unpacked if they are packed.
#[must_use]
pub fn unpacked(head: &[u8], input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    match Packing::of(head) {
        Some(packing) => Box::new(packing.unpack(input)),
        None => input,
    }
}

/// What is in the archive that `input` gives unpacked, by the names in it. Where the first ones do not tell, it holds files.
///
/// # Errors
/// As [`members`].
pub fn holds(input: impl Read) -> io::Result<Holds> {
    let mut archive = Archive::new(input.take(MAX_UNTIL_TOLD));
    let mut has_sysfs = false;
    let told = |has_sysfs| match has_sysfs {
        true => Holds::Capture,
        false => Holds::Files,
    };
    for (number, entry) in archive.entries()?.enumerate().take(MAX_NAMES) {
        let entry = match entry {
            Ok(entry) => entry,
            // What is long has been looked at as far as it may; whoever goes through it says what is wrong with it.
            Err(_) if number > 0 => return Ok(told(has_sysfs)),
            Err(error) => return Err(damaged(number, &error)),
        };
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some(path) = clean_path(&path) else {
            continue;
        };
        // Nothing but a capture has that.
        if path == OWN || path.starts_with(".straddle/") {
            return Ok(Holds::Capture);
        }
        // Support tools copy parts of sysfs, too, and what tells that it was one of them may come behind these.
        has_sysfs |= path.starts_with("sys/block/");
        if let Some((collector, top)) = collected::of_path(&path) {
            return Ok(Holds::Support(collector, top.to_owned()));
        }
    }
    Ok(told(has_sysfs))
}

/// The directory of a capture that no other tree has: what the kernel answered.
pub const OWN: &str = ".straddle";

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder
                .append_data(&mut header, path, *bytes)
                .expect("memory");
        }
        builder.into_inner().expect("memory")
    }

    fn listed(bytes: &[u8]) -> Result<Vec<(String, u64, u64)>, String> {
        let mut found = Vec::new();
        let each = |member: Member<'_>| {
            let at = member.at.expect("no holes");
            found.push((member.path.to_owned(), member.size.get(), at.get()));
            Ok(ControlFlow::Continue(()))
        };
        let in_place = members_in_place(io::Cursor::new(bytes), each);
        let first = std::mem::take(&mut found);
        let each = |member: Member<'_>| {
            let at = member.at.expect("no holes");
            found.push((member.path.to_owned(), member.size.get(), at.get()));
            Ok(ControlFlow::Continue(()))
        };
        let streamed = members(bytes, each);
        assert_eq!(in_place.is_ok(), streamed.is_ok());
        streamed.map_err(|error| error.to_string())?;
        assert_eq!(first, found);
        Ok(first)
    }

    #[test]
    fn members_lie_where_they_are_said_to() {
        let bytes = tar_of(&[("a/one", b"first"), ("./two", &[7; 600]), ("three", b"3")]);
        assert!(is_tar(&bytes));
        let found = listed(&bytes).expect("whole");
        assert_eq!(
            found,
            [
                ("a/one".to_owned(), 5, 512),
                ("two".to_owned(), 600, 1536),
                ("three".to_owned(), 1, 3072)
            ]
        );
        for (_, size, at) in &found {
            let (at, size) = (*at as usize, *size as usize);
            assert!(bytes[at..at + size].iter().all(|byte| *byte != 0));
        }
        // In the header of the second member.
        let cut = listed(&bytes[..1100]).expect_err("cut");
        assert!(cut.contains("after 1 member:"), "{cut}");
    }

    #[test]
    fn archives_are_told_by_the_names_in_them() {
        let host = tar_of(&[("dev/null.txt", b""), ("sys/block/sda/size", b"2048")]);
        let told = |bytes: &[u8]| match holds(bytes).expect("whole") {
            Holds::Capture => "capture".to_owned(),
            Holds::Support(collector, top) => format!("{} in {top}", collector.name),
            Holds::Files => "files".to_owned(),
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

    #[test]
    fn what_has_no_header_is_no_archive() {
        assert!(!is_tar(&[0; 512]), "blank");
        assert!(!is_tar(b"short"));
        let mut bytes = tar_of(&[("a", b"b")]);
        bytes[20] ^= 1;
        assert!(!is_tar(&bytes), "its sum is another");
        let mut image = vec![0; 512];
        image[..3].copy_from_slice(b"\xeb\x3c\x90");
        image[510..].copy_from_slice(&[0x55, 0xaa]);
        assert!(!is_tar(&image), "a boot sector");
    }
}
