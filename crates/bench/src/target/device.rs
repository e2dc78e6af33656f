//! Devices whose data may be destroyed: who has to agree, and what speaks against it.

use std::path::Path;

use super::signatures::signatures;
use super::{Identity, Limits, Target, TargetError, size_of};
use crate::results::Medium;
use straddle_io::OpenError;

/// That the data of a device may be destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The last component of the device's path once more (`--yes-destroy`): a slip in one of two places is noticed.
    pub name: String,
    /// Also when something is recognised on it.
    pub overwrite_signatures: bool,
}

impl Target {
    /// A block device that may be written to. It is opened exclusively, and nobody can mount or hold it until this is
    /// dropped.
    ///
    /// # Errors
    /// [`TargetError`] when the consent is for another device, when anything uses it, or its partitions, or its disk, and
    /// when it carries a signature, unless that is agreed to as well.
    pub fn device(path: &Path, consent: &Consent, direct: bool) -> Result<Target, TargetError> {
        let name = name_of(path);
        if !super::is_block_device(path) {
            return Err(TargetError::NoDevice {
                path: path.to_owned(),
            });
        }
        if consent.name != name {
            return Err(TargetError::OtherConsent {
                path: path.to_owned(),
                consent: consent.clone(),
                name,
            });
        }
        let claim = claimed(path)?;
        let carried = match signatures(path) {
            Ok(carried) => carried,
            Err(OpenError::Os { source, .. }) => {
                return Err(TargetError::Os {
                    doing: "open",
                    path: path.to_owned(),
                    source,
                });
            }
            Err(OpenError::WrongType { found, .. }) => {
                return Err(TargetError::WrongType {
                    path: path.to_owned(),
                    found: found.to_owned(),
                });
            }
        };
        if !carried.is_empty() && !consent.overwrite_signatures {
            return Err(TargetError::Signature {
                path: path.to_owned(),
                found: carried.join(", "),
            });
        }
        let os = |source| TargetError::Os {
            doing: "look at",
            path: path.to_owned(),
            source,
        };
        let metadata = claim.metadata().map_err(os)?;
        let (limits, limits_from) = Limits::of_device(path, &claim, direct)?;
        Ok(Target {
            path: path.to_owned(),
            size: size_of(&claim).map_err(os)?,
            medium: if direct {
                Medium::DeviceDirect
            } else {
                Medium::DeviceBuffered
            },
            writable: true,
            limits,
            limits_from,
            identity: Identity::from_metadata(&metadata),
            made: None,
            _claim: Some(claim),
        })
    }
}

/// The last component of a device's path.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Opens a device that nobody else uses, so that nobody else can until it is closed.
#[cfg(target_os = "linux")]
fn claimed(path: &Path) -> Result<std::fs::File, TargetError> {
    use std::io::ErrorKind;
    use straddle_io::Opening;
    use straddle_io::linux::{device_uses, file_stat};

    let os = |source| TargetError::Os {
        doing: "open",
        path: path.to_owned(),
        source,
    };
    let in_use = |by: String| TargetError::InUse {
        path: path.to_owned(),
        by,
    };
    let stat = file_stat(path).map_err(os)?;
    let uses = || match stat.block_device {
        Some(device) => device_uses(Path::new("/"), device),
        None => Ok(Vec::new()),
    };
    // Claimed first, looked at then: what comes between finds it taken.
    let opening = Opening {
        write: true,
        exclusive: true,
        ..Opening::default()
    };
    let claim = opening.open(path);
    let uses: Vec<String> = uses().map_err(os)?.iter().map(describe).collect();
    if !uses.is_empty() {
        return Err(in_use(uses.join("; ")));
    }
    claim.map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => in_use(
            "the kernel refuses an exclusive open (EBUSY); `fuser -v` and `lsblk` show who has it"
                .to_owned(),
        ),
        _ => os(error),
    })
}

#[cfg(target_os = "linux")]
fn describe(device_use: &straddle_io::linux::DeviceUse) -> String {
    use straddle_io::linux::DeviceUse;
    match device_use {
        DeviceUse::Mounted { device, at } => {
            format!("{device} is mounted at {at}, unmount it first")
        }
        DeviceUse::Swap { device } => format!("{device} is swap space, `swapoff` it first"),
        DeviceUse::Held { device, by } => {
            let tool = match by {
                by if by.starts_with("md") => "mdadm --stop",
                by if by.starts_with("dm-") => "dmsetup remove, or vgchange -an",
                by if by.starts_with("bcache") => "bcache's sysfs file stop",
                _ => "its own tool",
            };
            // A mapping is known by another name than the kernel's.
            let name = std::fs::read_to_string(format!("/sys/block/{by}/dm/name"));
            let name = name.map_or_else(|_| String::new(), |name| format!(" ({})", name.trim()));
            format!("{by}{name} is made of {device}, take that apart first ({tool})")
        }
        DeviceUse::Loop { device, by } => {
            format!("{by} shows {device} under another name, `losetup -d /dev/{by}` first")
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn claimed(path: &Path) -> Result<std::fs::File, TargetError> {
    Err(TargetError::DeviceElsewhere {
        path: path.to_owned(),
    })
}
