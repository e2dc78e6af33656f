//! Virtual disk containers: files that hold a disk, with or without a table of its blocks.

mod format;
mod head;
mod names;
pub(crate) mod qcow2;
pub(crate) mod refused;
mod sectors;
mod table;
#[cfg(test)]
mod testing;
pub(crate) mod vdi;
pub(crate) mod vhd;
pub(crate) mod vhdx;
pub(crate) mod vmdk;

use std::sync::Arc;
use straddle_io::{ReadAt, ReadError, Reader};

use crate::Window;
use crate::inspect::prefetch_tail;
use crate::registry::CONTAINERS;

pub use format::{Container, Content, Disk, ExtentOf, Format, Opening, OpensAs, Reference, Role};

/// What is fetched in one read before any format looks.
const HEAD: u64 = 8 << 10;

/// Looks whether a file is a container, and opens it; `reader` reads that file. What its headers refer to is left to the caller: other files may
/// lie anywhere.
///
/// # Errors
/// [`ReadError`] when bytes that must be looked at cannot be read.
pub fn recognise(
    reader: &Reader<'_>,
    file: &Arc<dyn ReadAt>,
) -> Result<Option<(&'static Format, Container)>, ReadError> {
    recognise_in(Window::whole(reader, None), file)
}

/// As [`recognise`], of a part of a target: `file` has the bytes of that part alone.
///
/// # Errors
/// As [`recognise`].
pub fn recognise_in(
    window: Window<'_>,
    file: &Arc<dyn ReadAt>,
) -> Result<Option<(&'static Format, Container)>, ReadError> {
    // Nearly every file that is looked at is something else: what is read here is what the probers of disks need next.
    window.prefetch(0, HEAD);
    prefetch_tail(&window);
    let opening = Opening {
        window,
        file: Arc::clone(file),
    };
    for format in CONTAINERS {
        if format.has_magic(&opening.window)?
            && let Some(container) = (format.open)(&opening)?
        {
            return Ok(Some((format, container)));
        }
    }
    Ok(None)
}
