//! The one handle that writes where nobody else may.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Opening;

/// What the ordinary writer is opened as.
const ORDINARY: Opening = Opening {
    write: true,
    create: false,
    direct: false,
    through: false,
    exclusive: false,
    overlapped: false,
};
/// Another handle forbids this one.
pub(crate) const SHARING_VIOLATION: i32 = 32;

/// The only file object that writes to a file or disk, if one is open.
#[derive(Debug, Default)]
pub(crate) struct Sole(Mutex<Option<Writer>>);

#[derive(Debug)]
struct Writer {
    file: Arc<File>,
    opening: Opening,
}

impl Sole {
    /// The ordinary writer that is open already.
    pub(crate) fn of(file: File) -> Sole {
        Sole(Mutex::new(Some(Writer {
            file: Arc::new(file),
            opening: ORDINARY,
        })))
    }

    /// As it is between two writers.
    #[cfg(test)]
    pub(crate) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The writer as `opening` asks for it, opened by `open` unless there is one.
    ///
    /// # Errors
    /// Those of the system: a sharing violation when a stranger came to write between two writers, or when the one before is in use still.
    pub(crate) fn writer_as(
        &self,
        opening: Opening,
        open: impl FnOnce(Opening) -> io::Result<File>,
    ) -> io::Result<Arc<File>> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.as_ref().filter(|writer| writer.opening == opening) {
            return Ok(Arc::clone(&writer.file));
        }
        *writer = None;
        let file = Arc::new(open(opening)?);
        *writer = Some(Writer {
            file: Arc::clone(&file),
            opening,
        });
        Ok(file)
    }

    /// The ordinary writer. Nothing is measured through the other one any more.
    pub(crate) fn writer(
        &self,
        open: impl FnOnce(Opening) -> io::Result<File>,
    ) -> io::Result<Arc<File>> {
        self.writer_as(ORDINARY, open)
    }
}

/// What is in use is said as locks say it elsewhere.
pub(crate) fn named(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(SHARING_VIOLATION) {
        return io::Error::new(io::ErrorKind::WouldBlock, error);
    }
    error
}
