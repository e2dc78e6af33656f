use std::fs::File;
use std::path::Path;
use straddle_geometry::Unit;

use super::{Limits, LimitsFrom, TargetError};
use crate::place::{check_offsets, check_strides, sizes_of};
use crate::plan::Plan;
use straddle_workload::Workload;

/// Buffers are pages whatever is asked for less: it costs nothing, and every device takes them.
const PAGE: Unit = Unit::B4096;
const BYTE: Unit = Unit::new(1).expect("not zero");
/// What every disk had before 4Kn.
#[cfg(not(target_os = "linux"))]
const SECTOR: Unit = Unit::new(512).expect("not zero");

impl Limits {
    /// None.
    #[must_use]
    pub const fn any() -> Limits {
        Limits {
            memory: PAGE,
            offset: BYTE,
        }
    }

    /// Holds what a plan asks for against the limits of a target.
    ///
    /// # Errors
    /// [`TargetError::Misaligned`], which says what to ask for in place of that.
    pub(super) fn check(
        self,
        from: LimitsFrom,
        plan: &Plan,
        path: &Path,
    ) -> Result<(), TargetError> {
        let strides = plan.cells.iter().filter_map(Workload::stride);
        check_offsets(&plan.offsets, &sizes_of(plan), self, from.name())
            .and_then(|()| check_strides(strides, self, from.name()))
            .map_err(|reason| TargetError::Misaligned {
                path: path.to_owned(),
                reason,
            })
    }
}

#[cfg(target_os = "linux")]
impl Limits {
    /// Those of a file that is open: what `statx` says, or else the block size of its filesystem. `path` is only for errors.
    ///
    /// # Errors
    /// [`TargetError::NoDirectIo`] when `direct` is asked for and not to be had.
    pub(super) fn of_file(
        path: &Path,
        file: &File,
        direct: bool,
    ) -> Result<(Limits, LimitsFrom), TargetError> {
        use std::io::ErrorKind;
        use straddle_geometry::Bytes;
        use straddle_io::Opening;
        use straddle_io::linux::{file_stat, filesystem_stat, is_in_memory};

        if !direct {
            return Ok((Limits::any(), LimitsFrom::Nothing));
        }
        let os = |source| TargetError::Os {
            doing: "look at",
            path: path.to_owned(),
            source,
        };
        let refused = |reason: &str| TargetError::NoDirectIo {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let opening = Opening {
            direct: true,
            ..Opening::default()
        };
        // By way of the descriptor: another file may have its name by now.
        let way = straddle_io::owned::way(file, path);
        let way = way.as_path();
        match opening.open(way) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(refused("its filesystem gives EINVAL for O_DIRECT"));
            }
            Err(error) => return Err(os(error)),
            Ok(_) => {}
        }
        if is_in_memory(way).map_err(os)? {
            return Ok((Limits::any(), LimitsFrom::Memory));
        }
        let (offset, from) = match file_stat(way).map_err(os)?.direct_io {
            Some(limits) => {
                let offset = Unit::try_from(limits.offset).ok();
                let offset = offset.filter(|_| limits.memory != Bytes::ZERO);
                let offset = offset.ok_or_else(|| refused("statx says so of this file"))?;
                (offset, LimitsFrom::Filesystem)
            }
            None => {
                let block = filesystem_stat(way).map_err(os)?.block_size;
                let unit = Unit::try_from(block).unwrap_or(PAGE);
                (unit, LimitsFrom::AllocationUnit)
            }
        };
        let memory = PAGE;
        Ok((Limits { memory, offset }, from))
    }

    /// Those of a device: what `statx` says, or else its logical sector.
    ///
    /// # Errors
    /// [`TargetError::Os`].
    pub(super) fn of_device(
        path: &Path,
        device: &File,
        direct: bool,
    ) -> Result<(Limits, LimitsFrom), TargetError> {
        if !direct {
            return Ok((Limits::any(), LimitsFrom::Nothing));
        }
        let sector =
            straddle_io::linux::logical_sector(device).map_err(|source| TargetError::Os {
                doing: "ask for the logical sector of",
                path: path.to_owned(),
                source,
            })?;
        let limits = Limits {
            memory: PAGE,
            offset: sector.unit(),
        };
        Ok((limits, LimitsFrom::LogicalSector))
    }
}

#[cfg(not(target_os = "linux"))]
impl Limits {
    /// Those of a file, as far as this system tells.
    pub(super) fn of_file(
        path: &Path,
        file: &File,
        direct: bool,
    ) -> Result<(Limits, LimitsFrom), TargetError> {
        if !direct {
            return Ok((Limits::any(), LimitsFrom::Nothing));
        }
        if !cfg!(windows) {
            return Err(TargetError::NoDirectIo {
                path: path.to_owned(),
                reason: "Straddle knows it on Linux and Windows only".to_owned(),
            });
        }
        let limits = Limits {
            memory: PAGE,
            offset: sector(file).unwrap_or(SECTOR),
        };
        Ok((limits, LimitsFrom::LogicalSector))
    }

    /// Those of a device.
    pub(super) fn of_device(
        path: &Path,
        device: &File,
        direct: bool,
    ) -> Result<(Limits, LimitsFrom), TargetError> {
        Limits::of_file(path, device, direct)
    }
}

/// The logical sector of the volume or disk, if the system says.
#[cfg(windows)]
fn sector(file: &File) -> Option<Unit> {
    Unit::try_from(straddle_io::windows::logical_sector(file).ok()?).ok()
}

#[cfg(not(any(target_os = "linux", windows)))]
fn sector(_: &File) -> Option<Unit> {
    None
}
