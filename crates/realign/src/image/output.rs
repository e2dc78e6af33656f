//! The file that is made: exclusively, removed when it does not become whole, on stable storage before it is called done.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use straddle_io::Opening;

use super::error::ImageError;

/// A new file, written from front to back as a rule.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    path: PathBuf,
    at: u64,
    len: u64,
    is_done: bool,
}

impl Output {
    /// Makes the file; what is there already is not touched.
    pub(super) fn create(path: &Path) -> Result<Output, ImageError> {
        let opening = Opening {
            write: true,
            create: true,
            ..Opening::default()
        };
        let file = opening.open(path).map_err(|source| ImageError::Io {
            what: format!("making {}", path.display()),
            source,
        })?;
        Ok(Output {
            file,
            path: path.to_owned(),
            at: 0,
            len: 0,
            is_done: false,
        })
    }

    /// Writes `bytes` at `at`.
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if self.at != at {
            self.file.seek(SeekFrom::Start(at))?;
        }
        self.file.write_all(bytes)?;
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.at = at.saturating_add(len);
        self.len = self.len.max(self.at);
        Ok(())
    }

    /// Makes the file so long, with a hole at its end.
    pub(super) fn extend(&mut self, len: u64) -> io::Result<()> {
        if len > self.len {
            self.file.set_len(len)?;
            self.len = len;
        }
        Ok(())
    }

    /// Keeps everything, and the name.
    pub(super) fn finish(mut self) -> Result<(), ImageError> {
        self.sync()?;
        self.keep();
        Ok(())
    }

    /// Comes back when what was written is there to stay, under its name.
    pub(super) fn sync(&mut self) -> Result<(), ImageError> {
        let what = |source| ImageError::Io {
            what: format!("flushing {}", self.path.display()),
            source,
        };
        self.file.sync_all().map_err(what)?;
        #[cfg(unix)]
        {
            let folder = self.path.parent();
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            let folder = File::open(folder.unwrap_or(Path::new(".")));
            folder.and_then(|folder| folder.sync_all()).map_err(what)?;
        }
        Ok(())
    }

    /// From here on it is not removed.
    pub(super) fn keep(mut self) {
        self.is_done = true;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_done {
            // It was made by this process, exclusively; what else could be told about it, the error that led here tells.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Entries of a table that are written in order, some thousands at once.
#[derive(Debug)]
pub(super) struct Table {
    at: u64,
    kept: Vec<u8>,
}

impl Table {
    const MAX: usize = 64 << 10;

    /// A table that begins at `at`.
    pub(super) fn new(at: u64) -> Table {
        Table {
            at,
            kept: Vec::new(),
        }
    }

    /// The next entry.
    pub(super) fn push(&mut self, out: &mut Output, entry: &[u8]) -> io::Result<()> {
        self.kept.extend_from_slice(entry);
        match self.kept.len() >= Table::MAX {
            true => self.flush(out),
            false => Ok(()),
        }
    }

    /// Writes what is kept.
    pub(super) fn flush(&mut self, out: &mut Output) -> io::Result<()> {
        out.write(self.at, &self.kept)?;
        self.at += u64::try_from(self.kept.len()).unwrap_or(0);
        self.kept.clear();
        Ok(())
    }
}
