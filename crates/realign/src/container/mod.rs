//! Virtual disks that are changed in place.
//!
//! Whoever moves data in a guest must never need a new block while that goes on: then a table would change together with the data. So
//! there are two steps. [`Guest::prepare`] gives a place to all that will be written, as zeroes, which is what the guest reads there
//! anyway: new blocks are made at the end of the file and kept first, and entered in the tables only then. That needs no journal. From
//! there on the guest's addresses reach the file through a map that stays as it is.
//!
//! Each format's file says at its head what is written in which order, and why.

mod append;
mod blocks;
mod claims;
mod error;
mod flat;
mod guest;
mod qcow2;
mod recognised;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;

use std::path::Path;
use std::sync::Arc;

use straddle_io::{ReadAt, Reader};
use straddle_probe::container::recognise;

pub use error::ContainerError;
pub use guest::{Access, Disk, Files, Guest};

use crate::ids::Ids;
use blocks::{Image, Open};
use flat::{Flat, grow_raw};

/// Formats whose disk is in one file, in blocks.
const IN_BLOCKS: &[(&str, Open)] = &[
    ("qcow2", qcow2::open),
    ("vdi", vdi::open),
    ("vhd", vhd::open),
    ("vhdx", vhdx::open),
];

/// Looks whether the virtual disk at `path`, or the raw image, can be changed in place. Nothing is written.
///
/// # Errors
/// [`ContainerError::Io`] when the file cannot be opened or read.
pub fn open(path: &Path, files: &dyn Files) -> Result<Access, ContainerError> {
    open_with(path, files, Ids::random())
}

/// The same, with identities that tests know.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, files: &dyn Files, ids: Ids) -> Result<Access, ContainerError> {
    let what = || ContainerError::io(format!("opening {}", path.display()));
    let file = files.open(path).map_err(what())?;
    let bytes: Arc<dyn ReadAt> = file.clone();
    let reader = Reader::new(&*bytes);
    let format = recognise(&reader, &bytes)
        .map_err(std::io::Error::other)
        .map_err(what())?
        .map(|(format, _)| format.name);
    let Some(format) = format else {
        let size = file.size();
        return Ok(Access::InPlace(Box::new(Flat {
            file,
            format: "raw",
            size,
            grow: grow_raw,
        })));
    };
    let refused = |why: String| Access::Refused { format, why };
    if format == "vhd" {
        match vhd::fixed(&file) {
            Ok(None) => {}
            Ok(Some(size)) => {
                return Ok(Access::InPlace(Box::new(Flat {
                    file,
                    format,
                    size,
                    grow: vhd::grow_fixed,
                })));
            }
            Err(why) => return Ok(refused(why)),
        }
    }
    if format == "vmdk" {
        return Ok(match vmdk::open(path, &file, files, ids) {
            Ok(guest) => Access::InPlace(guest),
            Err(why) => refused(why),
        });
    }
    let Some((_, open)) = IN_BLOCKS.iter().find(|(name, _)| *name == format) else {
        return Ok(refused(
            "the format is recognised, and not changed in place".to_owned(),
        ));
    };
    Ok(match open(&file) {
        Ok(now) => Access::InPlace(Box::new(Image::new(file, format, now, ids))),
        Err(why) => refused(why),
    })
}
