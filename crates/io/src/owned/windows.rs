//! Windows: what a handle shares decides what others may do, and every handle is made of one that is held, not of a name.
//!
//! Two handles are held of a file. One reads, and does not share deleting: as long as it is open nobody renames, replaces or deletes the
//! file. The other one, the *writer*, writes and does not share writing: nobody else writes. Since it forbids our own second writer too,
//! there is one at a time: the ordinary one, or one with the flags that are measured with (unbuffered, overlapped, write-through), which
//! all threads of a run share. For the moment between the two the reading handle holds the name, and the mark is looked at after it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Mark, NotOwned, Removal};
use crate::Opening;
use crate::windows::file::{
    BACKUP_SEMANTICS, DELETE, NO_BUFFERING, OPEN_REPARSE_POINT, READ, SHARE_ALL, SHARE_DELETE,
    SHARE_READ, SHARE_WRITE, WRITE, delete, file_number, reopen as again,
};
pub(super) use crate::windows::positioned::read_exact_at as read_at;
use crate::windows::sole::{SHARING_VIOLATION, Sole, named};

/// Attributes of what is no regular file: a directory, a device, a link or another reparse point.
const DIRECTORY: u32 = 0x10;
const DEVICE: u32 = 0x40;
const REPARSE_POINT: u32 = 0x400;

/// Fills `bytes` with random ones. The keys of the standard library's hashes come from the system; asking the system by itself
/// needs a library that Windows before 10, and Wine, do not have.
#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    use std::hash::{BuildHasher, RandomState};
    for (number, piece) in bytes.chunks_mut(8).enumerate() {
        let random = RandomState::new().hash_one(number).to_le_bytes();
        let (random, _) = random.split_at(piece.len());
        piece.copy_from_slice(random);
    }
    Ok(())
}

/// A name, and the writer of the file that was made or found there.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    sole: Sole,
}

impl Place {
    #[expect(clippy::unnecessary_wraps, reason = "Linux opens the directory")]
    pub(super) fn of(path: &Path) -> io::Result<Place> {
        Ok(Place {
            path: path.to_owned(),
            sole: Sole::default(),
        })
    }

    /// True when the name leads to that very file. A link to it is another file.
    pub(super) fn leads_to(&self, file: &File) -> bool {
        let number = |file: &File| file_number(file).ok();
        let found = opened(&self.path, 0, SHARE_ALL).ok();
        found.is_some_and(|found| number(&found).is_some() && number(&found) == number(file))
    }

    /// NTFS writes names to its log by itself, and a directory cannot be flushed by who may only write to it.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "Linux syncs")]
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// The ordinary writer; `file` is the handle that reads.
    pub(super) fn writer(&self, file: &File) -> io::Result<Arc<File>> {
        self.sole.writer(|opening| of_handle(file, opening))
    }

    /// Another handle of the file: to write, one that shares the only writer.
    pub(super) fn reopen(&self, file: &File, opening: Opening) -> io::Result<File> {
        if opening.write {
            let writer = self
                .sole
                .writer_as(opening, |opening| of_handle(file, opening))?;
            return writer.try_clone();
        }
        reopen(file, &self.path, opening)
    }

    /// As it is between two writers.
    #[cfg(test)]
    pub(super) fn close_writer(&self) {
        self.sole.close();
    }
}

/// Opens a name: a link itself, and not what it leads to.
fn opened(path: &Path, access: u32, share: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .access_mode(access)
        .share_mode(share)
        .custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT);
    options.open(path)
}

/// A handle made of another one.
fn of_handle(file: &File, opening: Opening) -> io::Result<File> {
    let flags = opening.windows_flags();
    let made = if opening.write {
        again(file, READ | WRITE, SHARE_READ | SHARE_DELETE, flags)
    } else {
        again(file, READ, SHARE_ALL, flags)
    };
    made.map_err(named)
}

/// The handle that reads. It goes past the cache, so that looking at the mark leaves no page of the file in memory, which every request
/// past the cache would have to look for.
fn reader(file: &File) -> io::Result<File> {
    again(file, READ, SHARE_READ | SHARE_WRITE, NO_BUFFERING).map_err(named)
}

/// Removes it by a handle that may delete, while the writer still forbids writing.
pub(super) fn remove(place: &Place, file: File, mark: &Mark) -> Removal {
    let writer = match place.writer(&file) {
        Ok(writer) => writer,
        Err(error) => return Removal::Failed(error),
    };
    match opened(&place.path, 0, SHARE_ALL) {
        Ok(_) if !place.leads_to(&file) => return Removal::Stranger,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Removal::Gone,
        _ => {}
    }
    match mark.is_in(&file) {
        Ok(true) => {}
        Ok(false) => return Removal::Changed,
        Err(error) => return Removal::Failed(error),
    }
    // It does not share deleting, with us neither.
    drop(file);
    match dispose(&writer) {
        Ok(()) => Removal::Done,
        Err(error) => Removal::Failed(error),
    }
}

fn dispose(writer: &File) -> io::Result<()> {
    delete(&again(writer, DELETE, SHARE_ALL, 0)?)
}

/// A new file, marked by the very next call. Killed between the two, an empty file is left, which nobody takes for ours.
pub(super) fn create(
    path: &Path,
    prepare: impl Fn(&File) -> io::Result<()>,
) -> io::Result<(Place, File)> {
    let mut options = OpenOptions::new();
    options
        .access_mode(READ | WRITE)
        .write(true)
        .create_new(true)
        .share_mode(SHARE_READ | SHARE_DELETE);
    let writer = options.open(path)?;
    // A disk, a pipe or a port has no number, and is not written to whatever the system says of its having been created.
    file_number(&writer)?;
    match prepare(&writer).and_then(|()| reader(&writer)) {
        Ok(file) => {
            let place = Place {
                path: path.to_owned(),
                sole: Sole::of(writer),
            };
            Ok((place, file))
        }
        Err(error) => {
            let _ = dispose(&writer);
            Err(error)
        }
    }
}

/// Opens a regular file for reading, and nothing else. What it is is asked of a handle that can do nothing.
pub(super) fn look(place: &Place) -> Result<File, NotOwned> {
    let seen = opened(&place.path, 0, SHARE_ALL)?;
    let kind = seen.metadata()?.file_attributes();
    for (attribute, found) in [
        (REPARSE_POINT, "a link or another reparse point"),
        (DIRECTORY, "a directory"),
        (DEVICE, "a device"),
    ] {
        if kind & attribute != 0 {
            return Err(NotOwned::WrongType(found));
        }
    }
    Ok(again(&seen, READ, SHARE_ALL, 0)?)
}

/// Takes a file that was looked at: from here on nobody else writes to it or renames it. The handle that reads is given back.
pub(super) fn writable(place: &Place, seen: &File) -> io::Result<File> {
    let file = reader(seen)?;
    place.writer(&file)?;
    Ok(file)
}

/// True when another handle writes to the file at this name.
pub(super) fn is_held(place: &Place) -> Result<bool, NotOwned> {
    let seen = look(place)?;
    match again(&seen, READ, SHARE_READ | SHARE_DELETE, 0) {
        Err(error) => Ok(error.raw_os_error() == Some(SHARING_VIOLATION)),
        Ok(_) => Ok(false),
    }
}

/// Another handle of a file that is only read, or of a disk. A disk has no number that could be compared, and its name is the system's.
pub(super) fn reopen(file: &File, path: &Path, opening: Opening) -> io::Result<File> {
    if file_number(file).is_err() {
        return opening.open(path);
    }
    of_handle(file, opening)
}

pub(super) fn way(_: &File, path: &Path) -> PathBuf {
    path.to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn scratch(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
