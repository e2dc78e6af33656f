use straddle_io::ReadError;

use crate::{Detected, FileFinder, Window};

/// What kind of thing a prober recognises; decides where it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A partition table of a whole device.
    Table,
    /// A partition table that lives inside a partition of another table.
    NestedTable,
    /// A filesystem, or swap: fills a partition or a whole device.
    Filesystem,
    /// A database file: only ever the whole of a file.
    DatabaseFile,
}

/// Bytes that must be present for a prober to be tried.
#[derive(Clone, Copy, Debug)]
pub struct Magic {
    /// Offset in the window.
    pub offset: u64,
    /// The bytes; at most 32.
    pub bytes: &'static [u8],
}

/// One format: how it is recognised and read.
pub struct Prober {
    /// Its usual name: `ntfs`, `gpt`.
    pub name: &'static str,
    /// What kind of thing it is.
    pub class: Class,
    /// Smallest window that can hold it, in bytes.
    pub min_size: u64,
    /// Any one of these must match before [`Prober::probe`] is called; empty: it is always called.
    pub magics: &'static [Magic],
    /// Reads it. `Ok(None)` when, on a closer look, it is something else.
    pub probe: fn(&Window<'_>) -> Result<Option<Detected>, ReadError>,
    /// Finds a file by its path; `None` for formats without files, and for those whose files are not looked for.
    pub find: Option<FileFinder>,
}

impl Prober {
    /// Tries this format on a window.
    ///
    /// # Errors
    /// [`ReadError`] when bytes that must be looked at cannot be read.
    pub fn run(&self, window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
        let fits = window.size().get() >= self.min_size;
        if fits && (self.magics.is_empty() || self.has_magic(window)?) {
            (self.probe)(window)
        } else {
            Ok(None)
        }
    }

    /// True when one of the format's magics stands in the window; never for a format without any.
    ///
    /// # Errors
    /// As [`Prober::run`].
    pub fn has_magic(&self, window: &Window<'_>) -> Result<bool, ReadError> {
        for magic in self.magics {
            if window.matches(magic.offset, magic.bytes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
