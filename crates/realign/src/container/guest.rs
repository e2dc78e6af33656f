use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadAt;

use super::error::ContainerError;
use crate::Store;

/// The disk that a guest sees, in a file that is changed in place. Addresses are the guest's.
///
/// What has no place in the file reads as zeroes; `data_from` goes past it, zeroes written to it are left out, and anything else
/// written to it is an error: a place is given by [`Guest::prepare`] only, before anything is moved.
pub trait Guest: Store + fmt::Debug {
    /// The format's usual name: `raw`, `vhd`, `qcow2`.
    fn format(&self) -> &'static str;

    /// What the guest takes for a sector.
    fn guest_sector(&self) -> SectorSize;

    /// Gives each byte of `ranges` a place in the file, where it has none, filled with zeroes; and notes in the file that its contents
    /// change. To be called before the first write, also when nothing needs a place.
    ///
    /// The guest's bytes are the same at every instant, whatever write is lost, and a call that was stopped is made good by the next
    /// one.
    ///
    /// # Errors
    /// [`ContainerError`]; what got a place until then keeps it.
    fn prepare(&mut self, ranges: &[Extent]) -> Result<(), ContainerError>;

    /// Makes the disk longer by `by`, a multiple of its sectors, which reads as zeroes. Crash safe as [`Guest::prepare`] is.
    ///
    /// # Errors
    /// [`ContainerError::Refused`] where the tables have no room for it.
    fn grow(&mut self, by: Bytes) -> Result<(), ContainerError>;
}

/// Whether a file can be changed in place.
#[derive(Debug)]
pub enum Access {
    /// It can.
    InPlace(Box<dyn Guest>),
    /// It cannot; a new file with `-o` is what remains.
    Refused {
        /// The format's usual name.
        format: &'static str,
        /// Why not.
        why: String,
    },
}

/// Opens the files of a virtual disk. A store that it gives becomes longer when it is written beyond its end, its size is what it is
/// at that moment, and what lies between its former end and what was written reads as zeroes.
pub trait Files {
    /// The file at `path`, to be read and, when it is to be changed, to be written.
    ///
    /// # Errors
    /// Those of the operating system.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Store>>;
}

impl<F: Fn(&Path) -> io::Result<Arc<dyn Store>>> Files for F {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Store>> {
        self(path)
    }
}

/// A guest's disk as a store by itself.
#[derive(Debug)]
pub struct Disk(pub Box<dyn Guest>);

impl ReadAt for Disk {
    fn size(&self) -> Bytes {
        self.0.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        self.0.data_from(offset)
    }
}

impl Store for Disk {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        self.0.zero(at, len)
    }

    fn uncache(&self) -> io::Result<()> {
        self.0.uncache()
    }

    fn sector(&self) -> SectorSize {
        self.0.sector()
    }
}
