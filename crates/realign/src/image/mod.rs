//! New files: a disk, read through whatever is below it, written as a virtual disk of any format.
//!
//! What is zero is left out, in every format. The blocks of a file begin at a multiple of 1 MiB (of 4 KiB in a dynamic VHD, whose blocks
//! have their bitmaps between them), so that the new file adds no misalignment of its own. Memory does not depend on the size of the
//! disk, but for 4 to 8 bytes for each 2 to 512 MiB.

mod error;
mod input;
mod output;
mod qcow2;
mod raw;
mod settings;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;

use std::path::Path;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::ReadAt;

pub use error::ImageError;

use crate::ids::Ids;
use input::Input;
use settings::Settings;

/// One kind of file.
pub struct Format {
    /// As it is asked for: `vhd`, `vhd-fixed`.
    pub name: &'static str,
    /// In a few words.
    pub what: &'static str,
    /// Ends of file names that stand for it.
    pub extensions: &'static [&'static str],
    write: fn(&mut Input<'_>, &Path, &mut Settings) -> Result<(), ImageError>,
}

/// Every kind, in the order in which they are listed.
pub static FORMATS: &[Format] = &[
    Format {
        name: "raw",
        what: "the bytes of the disk, with holes for what is zero",
        extensions: &["img", "raw", "dd"],
        write: raw::write,
    },
    Format {
        name: "vhd",
        what: "VHD that becomes longer as it is written",
        extensions: &["vhd"],
        write: vhd::dynamic,
    },
    Format {
        name: "vhd-fixed",
        what: "VHD of full length, as Azure takes it",
        extensions: &[],
        write: vhd::fixed,
    },
    Format {
        name: "vhdx",
        what: "VHDX that becomes longer as it is written",
        extensions: &["vhdx"],
        write: vhdx::dynamic,
    },
    Format {
        name: "vhdx-fixed",
        what: "VHDX of full length",
        extensions: &[],
        write: vhdx::fixed,
    },
    Format {
        name: "vmdk",
        what: "VMDK in one file that becomes longer as it is written (monolithicSparse)",
        extensions: &["vmdk"],
        write: vmdk::sparse,
    },
    Format {
        name: "vmdk-flat",
        what: "VMDK of full length: a descriptor, and the disk in a file -flat.vmdk beside it (monolithicFlat)",
        extensions: &[],
        write: vmdk::flat,
    },
    Format {
        name: "vdi",
        what: "VDI that becomes longer as it is written",
        extensions: &["vdi"],
        write: vdi::dynamic,
    },
    Format {
        name: "vdi-fixed",
        what: "VDI of full length",
        extensions: &[],
        write: vdi::fixed,
    },
    Format {
        name: "qcow2",
        what: "qcow2, version 3, with clusters of 64 KiB",
        extensions: &["qcow2", "qcow"],
        write: qcow2::write,
    },
];

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Format {
    /// The kind of this name.
    ///
    /// # Errors
    /// [`ImageError::Unknown`], with the names that there are.
    pub fn named(name: &str) -> Result<&'static Format, ImageError> {
        let found = FORMATS.iter().find(|format| format.name == name);
        found.ok_or_else(|| ImageError::Unknown {
            name: name.to_owned(),
            expected: FORMATS
                .iter()
                .map(|format| format.name)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// The kind that the end of a file's name stands for.
    #[must_use]
    pub fn of(path: &Path) -> Option<&'static Format> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        FORMATS
            .iter()
            .find(|format| format.extensions.contains(&end.as_str()))
    }
}

/// How a file is written.
#[derive(Debug)]
pub struct Options<'a> {
    /// What the guest is to take for a sector; only VHDX can say another than 512 bytes.
    pub sector: SectorSize,
    /// Where identities come from.
    pub ids: Ids,
    /// Called with how much of the disk is written or known to be zero.
    pub progress: Progress<'a>,
}

/// See [`Options::progress`].
pub struct Progress<'a>(pub &'a mut dyn FnMut(Bytes));

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

/// Writes the disk that `view` shows to a new file at `path`. It is on stable storage when this comes back, and is not there, nor any part of
/// it, when this fails.
///
/// # Errors
/// [`ImageError`]; also when something is at `path` already.
pub fn write(
    format: &Format,
    view: &dyn ReadAt,
    path: &Path,
    options: Options<'_>,
) -> Result<(), ImageError> {
    let Options {
        sector,
        ids,
        progress,
    } = options;
    let size = view.size();
    let refused = |why: String| ImageError::Refused {
        format: format.name,
        why,
    };
    let is_whole = size.is_multiple_of(sector.unit()) && size > Bytes::ZERO;
    if !is_whole && format.name != "raw" {
        return Err(refused(format!(
            "a disk of {} bytes; expected a multiple of its sectors of {} bytes",
            size.grouped(),
            sector.get()
        )));
    }
    if sector != SectorSize::B512 && !format.name.starts_with("vhdx") && format.name != "raw" {
        return Err(refused(format!(
            "a disk with sectors of {} bytes, which this format cannot say: its partition table would not be found; take vhdx",
            sector.get()
        )));
    }
    let mut input = Input::new(view, progress.0);
    let mut settings = Settings { sector, ids };
    (format.write)(&mut input, path, &mut settings)
}
