//! VMDK in place: a sparse extent with its descriptor, or a descriptor with flat and sparse extents in files beside it.

mod descriptor;
mod parts;
mod sparse;

use std::path::Path;
use std::sync::Arc;

use super::blocks::Image;
use super::guest::{Files, Guest};
use crate::Store;
use crate::bits::read;
use crate::ids::Ids;

const FORMAT: &str = "vmdk";

/// Opens the disk whose first file is `file`.
///
/// # Errors
/// Why it is not changed in place.
pub(super) fn open(
    path: &Path,
    file: &Arc<dyn Store>,
    files: &dyn Files,
    ids: Ids,
) -> Result<Box<dyn Guest>, String> {
    let magic: [u8; 4] = read(&**file, 0).map_err(|error| error.to_string())?;
    match &magic {
        b"KDMV" => {
            let now = sparse::open(file)?;
            Ok(Box::new(Image::new(Arc::clone(file), FORMAT, now, ids)))
        }
        b"# Di" => Ok(Box::new(parts::open(path, file, files, ids)?)),
        b"COWD" => Err("a sparse extent of ESX (COWD), which is a snapshot as a rule".to_owned()),
        _ => Err("only hosted sparse extents, and flat ones, are changed in place".to_owned()),
    }
}
