use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{AlignedBytes, Opening, ReadAt, linux};

use crate::store::{Store, in_memory};

/// A regular file or a block device, past the page cache where that can be had, and locked as long as it is open.
///
/// Requests that are not aligned as direct I/O needs it go through memory that is; such writes read what is around them first.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    /// In bytes; it changes for a file that is made longer only.
    size: AtomicU64,
    is_extended: bool,
    is_device: bool,
    sector: SectorSize,
    /// What offsets and lengths have to be multiples of; `None` through the page cache.
    direct: Option<Bytes>,
    /// The same file through the page cache, where its last sector is a part of one.
    tail: Option<File>,
    /// Whether a hole was made since the last flush: that is not data, and more has to be flushed.
    is_punched: AtomicBool,
    can_punch: AtomicBool,
}

impl FileStore {
    /// Opens a file or device that is there, for writing. Nobody else may hold a lock on it, and nothing may have mounted it or hold it
    /// otherwise, if it is a device.
    ///
    /// # Errors
    /// Those of the operating system; [`ResourceBusy`](io::ErrorKind::ResourceBusy) when somebody holds it,
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) when it is neither a file nor a device.
    pub fn open(path: &Path) -> io::Result<FileStore> {
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            let what = "neither a regular file nor a block device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let opening = Opening {
            write: true,
            direct: true,
            ..Opening::default()
        };
        let open = |opening: Opening| match kind.is_block_device() {
            true => linux::claim_device(path, opening).map_err(io::Error::from),
            false => opening.open(path),
        };
        let file = open(opening).or_else(|error| match error.kind() {
            // No direct I/O on this filesystem.
            io::ErrorKind::InvalidInput => open(Opening {
                direct: false,
                ..opening
            }),
            _ => Err(error),
        })?;
        if kind.is_file() {
            linux::claim_file(&file)?;
        }
        FileStore::new(file)
    }

    /// Makes a file of this length, with space for all of it, for its owner only; it is there to stay when this comes back.
    ///
    /// # Errors
    /// Those of the operating system: it exists already, or there is no room.
    pub fn create(path: &Path, len: Bytes) -> io::Result<FileStore> {
        let opening = Opening {
            write: true,
            create: true,
            ..Opening::default()
        };
        let file = opening.open(path)?;
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(owner)?;
        let made = linux::allocate(&file, len).or_else(|error| match error.kind() {
            io::ErrorKind::Unsupported => file.set_len(len.get()),
            _ => Err(error),
        });
        if let Err(error) = made.and_then(|()| file.sync_all()) {
            // It is ours, and of no use.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        drop(file);
        FileStore::open(path)
    }

    fn new(file: File) -> io::Result<FileStore> {
        let found = file.metadata()?;
        let is_device = found.file_type().is_block_device();
        let sector = match is_device {
            true => linux::logical_sector(&file)?,
            false => SectorSize::B512,
        };
        let size = match is_device {
            true => io::Seek::seek(&mut &file, io::SeekFrom::End(0))?,
            false => found.len(),
        };
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = match linux::is_direct(&file)? {
            false => None,
            true if is_device => Some(Bytes::new(sector.get().into())),
            true => {
                let said = linux::file_stat(Path::new(&own))?.direct_io;
                let offset = said.map(|said| said.offset).unwrap_or_default();
                // Nobody says: as much as any device needs.
                Some(match offset {
                    Bytes::ZERO => AlignedBytes::ALIGNMENT,
                    offset => offset.max(Bytes::new(512)),
                })
            }
        };
        let tail = match direct {
            Some(_) if !is_device => {
                let opening = Opening {
                    write: true,
                    ..Opening::default()
                };
                Some(opening.open(Path::new(&own))?)
            }
            _ => None,
        };
        Ok(FileStore {
            file,
            tail,
            size: AtomicU64::new(size),
            is_extended: false,
            is_device,
            sector,
            direct,
            is_punched: AtomicBool::new(false),
            can_punch: AtomicBool::new(true),
        })
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether it is a block device.
    #[must_use]
    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// What direct I/O is aligned to; `None` when all goes through the page cache.
    #[must_use]
    pub fn direct(&self) -> Option<Bytes> {
        self.direct
    }

    /// The same file, which becomes longer when it is written beyond its end; what lies between reads as zeroes. It is as long as it was
    /// until the next flush.
    #[must_use]
    pub fn extended(mut self) -> FileStore {
        self.is_extended = !self.is_device;
        self
    }

    /// Whether a request can go to the device as it is.
    fn is_aligned(&self, offset: Bytes, bytes: &[u8]) -> bool {
        let Some(unit) = self.direct.map(Bytes::get) else {
            return true;
        };
        let in_memory = bytes.as_ptr().addr() as u64;
        offset.get().is_multiple_of(unit)
            && (bytes.len() as u64).is_multiple_of(unit)
            && in_memory.is_multiple_of(unit.min(AlignedBytes::ALIGNMENT.get()))
    }

    /// Aligned memory for all that a request touches, from where on in the file, and where in it the request begins.
    fn around(&self, offset: Bytes, len: usize) -> io::Result<(AlignedBytes, Bytes, usize)> {
        let unit = self.direct.map_or(1, Bytes::get).max(1);
        let far = || io::Error::from(io::ErrorKind::InvalidInput);
        let start = offset.get() - offset.get() % unit;
        let end = offset.get().checked_add(len as u64).ok_or_else(far)?;
        let end = end.checked_next_multiple_of(unit).ok_or_else(far)?;
        let memory = AlignedBytes::new(Bytes::new(end - start))?;
        let within = in_memory(Bytes::new(offset.get() - start));
        Ok((memory, Bytes::new(start), within))
    }
}

impl ReadAt for FileStore {
    fn size(&self) -> Bytes {
        Bytes::new(self.size.load(Ordering::Acquire))
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        if self.is_aligned(offset, buf) {
            return self.file.read_at(buf, offset.get());
        }
        let (mut memory, start, within) = self.around(offset, buf.len())?;
        let read = self.file.read_at(&mut memory, start.get())?;
        let len = read.saturating_sub(within).min(buf.len());
        buf[..len].copy_from_slice(&memory[within..within + len]);
        Ok(len)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        match self.is_device {
            true => offset,
            false => linux::data_from(&self.file, offset, self.size()),
        }
    }
}

impl Store for FileStore {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(Bytes::new(bytes.len() as u64));
        let size = self.size();
        match end {
            Some(end) if end <= size => {}
            Some(end) if self.is_extended => {
                self.file.set_len(end.get())?;
                self.size.fetch_max(end.get(), Ordering::AcqRel);
            }
            _ => {
                let what = "a write beyond the end";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        }
        if self.is_aligned(offset, bytes) {
            return self.file.write_all_at(bytes, offset.get());
        }
        let unit = self.direct.map_or(1, Bytes::get).max(1);
        let whole = self.size().get() - self.size().get() % unit;
        if let Some(tail) = &self.tail
            && end.is_some_and(|end| end.get() > whole)
        {
            // The last bytes of a file that is not a multiple of a sector: nothing may be written behind them.
            let head = in_memory(Bytes::new(whole.saturating_sub(offset.get())));
            let (head, rest) = bytes.split_at(head.min(bytes.len()));
            tail.write_all_at(rest, offset.get() + head.len() as u64)?;
            return match head {
                [] => Ok(()),
                head => self.write_at(offset, head),
            };
        }
        let (mut memory, start, within) = self.around(offset, bytes.len())?;
        let mut had = 0;
        while had < memory.len() {
            match self
                .file
                .read_at(&mut memory[had..], start.get() + had as u64)
            {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => had += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        memory[within..within + bytes.len()].copy_from_slice(bytes);
        self.file.write_all_at(&memory, start.get())
    }

    fn flush(&self) -> io::Result<()> {
        match self.is_punched.swap(false, Ordering::Relaxed) {
            true => self.file.sync_all(),
            false => self.file.sync_data(),
        }
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        if self.can_punch.load(Ordering::Relaxed) {
            match linux::punch_hole(&self.file, at, len) {
                Ok(()) => {
                    self.is_punched.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    self.can_punch.store(false, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        let zeroes = AlignedBytes::new(len.min(Bytes::mib(1)))?;
        let mut done = 0;
        while done < len.get() {
            let here = (len.get() - done).min(zeroes.len() as u64);
            let start = at.checked_add(Bytes::new(done));
            let start = start.ok_or(io::ErrorKind::InvalidInput)?;
            self.write_at(start, &zeroes[..in_memory(Bytes::new(here))])?;
            done += here;
        }
        Ok(())
    }

    fn uncache(&self) -> io::Result<()> {
        match self.direct {
            Some(_) => Ok(()),
            None => linux::evict(&self.file),
        }
    }

    fn sector(&self) -> SectorSize {
        self.sector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(len: u64) -> (tempfile::TempDir, FileStore) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let store = FileStore::create(&dir.path().join("file"), Bytes::new(len)).expect("made");
        (dir, store)
    }

    #[test]
    fn what_is_written_at_any_place_is_read_there() {
        let (_dir, store) = store(40_000);
        let mut wanted = vec![0; 40_000];
        for (n, (at, len)) in [
            (0, 4096),
            (1, 7),
            (511, 2),
            (8192, 4096),
            (39_990, 10),
            (5000, 12_345),
        ]
        .into_iter()
        .enumerate()
        {
            let bytes = vec![u8::try_from(n + 1).expect("few"); len];
            store
                .write_at(Bytes::new(at as u64), &bytes)
                .expect("written");
            wanted[at..at + len].copy_from_slice(&bytes);
        }
        store.flush().expect("flushed");
        store.uncache().expect("dropped");
        let mut found = vec![9; 40_000];
        crate::store::read_exact(&store, Bytes::ZERO, &mut found).expect("read");
        assert!(found == wanted);
        let mut some = [9; 100];
        assert_eq!(
            store.read_at(Bytes::new(39_950), &mut some).expect("read"),
            50
        );
        assert!(some[..50] == wanted[39_950..] && some[50..] == [9; 50]);
        assert!(store.write_at(Bytes::new(39_999), &[1, 2]).is_err());
        assert_eq!(store.file().metadata().expect("metadata").len(), 40_000);
    }

    #[test]
    fn zeroes_become_a_hole_where_there_are_holes() {
        let (_dir, store) = store(1 << 20);
        store
            .write_at(Bytes::ZERO, &vec![7; 1 << 20])
            .expect("written");
        store
            .zero(Bytes::kib(100), Bytes::kib(300))
            .expect("zeroed");
        store.flush().expect("flushed");
        let mut found = vec![9; 1 << 20];
        crate::store::read_exact(&store, Bytes::ZERO, &mut found).expect("read");
        let zeroes = found.iter().enumerate().filter(|(_, byte)| **byte == 0);
        assert!(zeroes.map(|(at, _)| at).eq(100 << 10..400 << 10));
        if store.can_punch.load(Ordering::Relaxed) {
            assert_eq!(store.data_from(Bytes::kib(100)), Bytes::kib(400));
        }
        assert_eq!(store.data_from(Bytes::kib(50)), Bytes::kib(50));
    }

    #[test]
    fn what_is_open_cannot_be_opened_again_nor_made() {
        let (dir, store) = store(4096);
        let path = dir.path().join("file");
        let kind = |opened: io::Result<FileStore>| opened.map_err(|error| error.kind()).err();
        assert_eq!(
            kind(FileStore::open(&path)),
            Some(io::ErrorKind::ResourceBusy)
        );
        let made = FileStore::create(&path, Bytes::new(4096));
        assert_eq!(kind(made), Some(io::ErrorKind::AlreadyExists));
        drop(store);
        assert_eq!(kind(FileStore::open(&path)), None);
        assert_eq!(
            kind(FileStore::open(dir.path())),
            Some(io::ErrorKind::InvalidInput)
        );
    }

    #[test]
    fn a_file_becomes_longer_only_when_it_may() {
        let (_dir, store) = store(4096);
        let beyond = Bytes::new(10_001);
        assert!(store.write_at(beyond, b"behind").is_err());
        assert_eq!(store.size(), Bytes::new(4096));
        let store = store.extended();
        store.write_at(beyond, b"behind").expect("room");
        store.flush().expect("flushed");
        assert_eq!(store.size(), Bytes::new(10_007));
        let mut bytes = [1; 8];
        let read = store.read_at(Bytes::new(9_999), &mut bytes).expect("read");
        assert_eq!(&bytes[..read], b"\0\0behind");
    }
}
