//! Something packed, or an archive: how it is told, and how it is read, from the beginning or in place.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::sight::Origin;
use super::{CheckError, Kind};
use crate::geometry::Bytes;
use crate::io::{Packing, Part, ReadAt, Target};
use crate::report::Taken;
use crate::sources::archive::{self, Member, Told};

/// As much of a file as tells what it is.
const HEAD: usize = 8 << 10;

/// Begins to read from the first byte, as often as it is called.
pub(super) type Open = Arc<dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// Something packed, or an archive.
pub(super) struct Boxed {
    /// What it is called in the results.
    pub(super) name: String,
    pub(super) open: Open,
    /// The bytes where they lie, when they can be read at any place.
    pub(super) lies: Option<Arc<dyn ReadAt>>,
    pub(super) size: Option<Bytes>,
    pub(super) origin: Origin,
}

/// A format that is told, and not read.
pub(super) struct Strange {
    pub(super) name: &'static str,
    pub(super) unpacked_with: &'static str,
}

/// What the beginning of a file says of how it is packed.
pub(super) enum Wrapping {
    /// Packed, or a tar archive.
    Read,
    /// An archive that other programs read.
    Strange(Strange),
}

/// How a file that begins so is packed; `None` when it is not.
pub(super) fn wrapping(head: &[u8]) -> Option<Wrapping> {
    if Packing::of(head).is_some() || archive::is_tar(head) {
        return Some(Wrapping::Read);
    }
    strange(head).map(Wrapping::Strange)
}

fn strange(head: &[u8]) -> Option<Strange> {
    let (name, unpacked_with) = match head {
        [b'P', b'K', 3, 4, ..] => ("a zip archive", "unzip"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => ("a 7z archive", "7z x"),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => ("a RAR archive", "unrar x"),
        [0x04, 0x22, 0x4d, 0x18, ..] => ("a file packed with lz4", "unlz4"),
        [b'L', b'Z', b'I', b'P', 1, ..] => ("a file packed with lzip", "lzip -d"),
        [0x89, b'L', b'Z', b'O', 0, ..] => ("a file packed with lzop", "lzop -d"),
        [0x1f, 0x9d, ..] => ("a file packed with compress", "uncompress"),
        [b'0', b'7', b'0', b'7', b'0', b'1' | b'2' | b'7', ..] => ("a cpio archive", "cpio -id <"),
        [b'M', b'S', b'C', b'F', 0, 0, 0, 0, ..] => ("a cabinet archive", "cabextract"),
        [b'M', b'S', b'W', b'I', b'M', 0, 0, 0, ..] => ("a WIM archive", "wimextract"),
        _ => return None,
    };
    Some(Strange {
        name,
        unpacked_with,
    })
}

impl Boxed {
    /// A file that is open already.
    pub(super) fn file(name: String, target: Target, origin: Origin) -> Boxed {
        let target = Arc::new(target);
        let opened = Arc::clone(&target);
        let open: Open =
            Arc::new(move || Ok(Box::new(From::new(opened.clone() as Arc<dyn ReadAt>))));
        Boxed {
            name,
            open,
            size: Some(target.size()),
            lies: Some(target),
            origin,
        }
    }

    /// The error of something packed that could not be read.
    pub(super) fn unreadable(&self, source: io::Error) -> CheckError {
        CheckError::Unpacked {
            name: self.name.clone(),
            source,
        }
    }

    /// The command that unpacks what is packed so.
    pub(super) fn unpacked_with(packing: Packing) -> &'static str {
        match packing {
            Packing::Gzip => "gunzip -k",
            Packing::Bzip2 => "bunzip2 -k",
            Packing::Xz => "unxz -k",
            Packing::Zstd => "unzstd",
        }
    }
}

/// Reads what lies somewhere from one byte on.
pub(super) struct From {
    bytes: Arc<dyn ReadAt>,
    at: u64,
}

impl From {
    pub(super) fn new(bytes: Arc<dyn ReadAt>) -> From {
        From { bytes, at: 0 }
    }
}

impl Read for From {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read_at(Bytes::new(self.at), buf)?;
        self.at += u64::try_from(read).unwrap_or(0);
        Ok(read)
    }
}

impl Seek for From {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let base = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.bytes.size().get().checked_add_signed(by),
        };
        self.at = base.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

/// The first bytes of a stream.
pub(super) fn head(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    stream
        .take(u64::try_from(HEAD).unwrap_or(u64::MAX))
        .read_to_end(&mut head)?;
    Ok(head)
}

/// What is told of a target that was taken for this.
pub(super) fn taken(kind: Kind, words: String, host: Option<&str>) -> Taken {
    Taken {
        kind: kind.name(),
        words,
        host: host.map(str::to_owned),
        instead: Some("--as file looks at the file itself, on this machine".to_owned()),
    }
}

/// That a target is a capture. It does not say of which host, since names are nobody else's business; who made it called it something.
pub(super) fn capture(name: &str) -> Taken {
    match stem(name) {
        "" | "standard input" => taken(Kind::Capture, "a captured host".to_owned(), None),
        host => taken(
            Kind::Capture,
            format!("a capture of host {host}"),
            Some(host),
        ),
    }
}

/// The name of an archive without its directory and what says that it is one.
pub(super) fn stem(name: &str) -> &str {
    let mut stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
    for end in [
        ".gz", ".xz", ".bz2", ".zst", ".tgz", ".txz", ".tbz", ".tar", ".tree",
    ] {
        stem = stem.strip_suffix(end).unwrap_or(stem);
    }
    stem
}

impl Boxed {
    /// What a tar archive is.
    pub(super) fn told(&self) -> io::Result<Told> {
        let named = stem(&self.name);
        match &self.lies {
            Some(bytes) => archive::told_in_place(From::new(Arc::clone(bytes)), named),
            None => archive::told((self.open)()?, named),
        }
    }

    /// Goes over the members of a tar archive, in place where it lies open.
    pub(super) fn members(
        &self,
        each: impl FnMut(Member<'_>) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<()> {
        match &self.lies {
            Some(bytes) => archive::members_in_place(From::new(Arc::clone(bytes)), each),
            None => archive::members((self.open)()?, each),
        }
    }

    /// A member, to be read by itself; `None` of one with holes.
    pub(super) fn member(&self, name: &str, member: &Member<'_>) -> Option<Boxed> {
        let (at, size) = (member.at?, member.size);
        let lies: Option<Arc<dyn ReadAt>> = self.lies.as_ref().map(|whole| {
            let part: Arc<dyn ReadAt> = Arc::new(Part::new(Arc::clone(whole), at, size));
            part
        });
        let open: Open = match &lies {
            Some(part) => {
                let part = Arc::clone(part);
                Arc::new(move || Ok(Box::new(From::new(Arc::clone(&part)))))
            }
            None => {
                let whole = Arc::clone(&self.open);
                Arc::new(move || {
                    let mut stream = whole()?;
                    let skipped = io::copy(&mut (&mut stream).take(at.get()), &mut io::sink())?;
                    match skipped == at.get() {
                        true => Ok(Box::new(stream.take(size.get()))),
                        false => Err(io::ErrorKind::UnexpectedEof.into()),
                    }
                })
            }
        };
        Some(Boxed {
            name: name.to_owned(),
            open,
            lies,
            size: Some(size),
            origin: Origin::Listed,
        })
    }
}
