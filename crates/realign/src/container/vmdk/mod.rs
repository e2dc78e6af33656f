//! VMDK in place: a sparse extent with its descriptor, or a descriptor with flat and sparse extents in files beside it.

mod descriptor;
mod parts;
mod sparse;

use std::path::Path;
use std::sync::Arc;

use super::blocks::Image;
use super::guest::{Files, Guest};
use crate::Store;
use crate::format::bits::read;
use crate::ids::Ids;

const FORMAT: &str = "vmdk";

/// That nobody keeps a record of what is changed in the disk that `text` describes: it would not know of a move.
fn untracked(text: &[u8]) -> Result<(), String> {
    const NAME: &[u8] = b"changetrackpath";
    let is_tracked = |line: &[u8]| {
        let name = line.trim_ascii_start().get(..NAME.len());
        name.is_some_and(|name| name.eq_ignore_ascii_case(NAME))
    };
    match text.split(|byte| *byte == b'\n').any(is_tracked) {
        true => Err(
            "changed block tracking is on: backups by its record would miss the move; turn it off (ctkEnabled = \"FALSE\") first"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

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
