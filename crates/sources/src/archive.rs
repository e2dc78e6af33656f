//! Members of tar archives, one after the other, and what such an archive is.

mod told;

use std::io::{self, Read};
use std::ops::ControlFlow;
use straddle_geometry::Bytes;
use straddle_io::Packing;
use tar::{Archive, Entry, EntryType};

use crate::linux::archive::clean_path;

pub use told::{Told, told, told_in_place};

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

/// The directory of a capture that no other tree has: what the kernel answered.
pub const OWN: &str = ".straddle";

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    pub(super) fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
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
