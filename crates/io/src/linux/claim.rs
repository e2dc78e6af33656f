//! Devices and files for one process alone: held so that nobody else can use them, or refused with who does.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::{DeviceUse, device_uses, file_stat, file_uses};
use crate::Opening;

/// How often somebody is looked at who may be there for a moment only.
const LOOKS: u32 = 5;
const MOMENT: Duration = Duration::from_millis(100);

/// Why something could not be had alone.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Somebody uses it: who, and what ends that.
    #[error("it is in use: {0}")]
    InUse(String),
    /// It is set read-only, which the kernel says at the first write, and not when it is opened.
    #[error("it is set read-only; `blockdev --setrw` makes it writable, where that is meant")]
    ReadOnly,
    /// The system refused.
    #[error(transparent)]
    Os(#[from] io::Error),
}

/// Opens a block device that nobody else uses, so that nobody else can until it is closed.
///
/// # Errors
/// [`ClaimError::InUse`] when it, a partition of it or the disk that it is a part of is mounted, held, or open for writing;
/// [`ClaimError::ReadOnly`] when it is to be written and cannot be.
pub fn claim_device(path: &Path, opening: Opening) -> Result<File, ClaimError> {
    let stat = file_stat(path)?;
    let uses = || match stat.block_device {
        Some(device) => device_uses(Path::new("/"), device),
        None => Ok(Vec::new()),
    };
    // Claimed first, looked at then: what comes between finds it taken.
    let exclusive = true;
    let claim = Opening {
        exclusive,
        ..opening
    }
    .open(path);
    nobody(uses)?;
    let claimed = claim.map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => ClaimError::InUse(
            "the kernel refuses an exclusive open (EBUSY); `fuser -v` and `lsblk` show who has it"
                .to_owned(),
        ),
        _ => ClaimError::Os(error),
    })?;
    match opening.write && is_read_only(&claimed)? {
        true => Err(ClaimError::ReadOnly),
        false => Ok(claimed),
    }
}

/// Whether a block device is set read-only.
#[allow(unsafe_code)]
fn is_read_only(device: &File) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    /// `BLKROGET` of `linux/fs.h`.
    const READ_ONLY: libc::Ioctl = 0x125e;
    let mut found: libc::c_int = 0;
    // SAFETY: the descriptor is open during the call, which writes one integer.
    match unsafe { libc::ioctl(device.as_raw_fd(), READ_ONLY, &raw mut found) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(found != 0),
    }
}

/// Makes the kernel read the partition table of a device again, which nobody uses.
///
/// # Errors
/// Those of the system: partitions of it are in use, or it is of a kind that has none.
#[allow(unsafe_code)]
pub fn reread_partitions(path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    /// `BLKRRPART` of `linux/fs.h`.
    const REREAD: libc::Ioctl = 0x125f;
    let device = Opening::default().open(path)?;
    // SAFETY: the descriptor is open during the call, which takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), REREAD) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Locks an open file against everybody who asks: other runs of this program, and QEMU. Released when the file is closed.
///
/// # Errors
/// [`ClaimError::InUse`] when somebody has it locked or open for writing, or a loop device shows it.
pub fn claim_file(file: &File) -> Result<(), ClaimError> {
    let locked = |error: io::Error| {
        match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::PermissionDenied => ClaimError::InUse(
            "somebody has locked it: a virtual machine that runs, or another run of straddle; end that first"
                .to_owned(),
        ),
        _ => ClaimError::Os(error),
    }
    };
    let exclusive = FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(file, exclusive).map_err(|error| locked(error.into()))?;
    // QEMU locks bytes of its images, which `flock` does not see.
    lock_bytes(file).map_err(locked)?;
    let metadata = file.metadata()?;
    let inode = (metadata.dev(), metadata.ino());
    nobody(|| file_uses(Path::new("/"), inode))
}

/// Locks all bytes of a file for this open file description: locks of a process would be lost with the first descriptor that it closes.
#[allow(unsafe_code)]
fn lock_bytes(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: all bits of this structure of integers may be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(libc::F_WRLCK).unwrap_or(1);
    // SAFETY: the descriptor is open during the call, and the kernel reads the structure, which is as it wants it.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl From<ClaimError> for io::Error {
    fn from(error: ClaimError) -> io::Error {
        match error {
            ClaimError::Os(error) => error,
            error @ ClaimError::ReadOnly => io::Error::new(ErrorKind::ReadOnlyFilesystem, error),
            error @ ClaimError::InUse(_) => io::Error::new(ErrorKind::ResourceBusy, error),
        }
    }
}

/// Refuses what anybody uses. Tools that look for a free loop device, or for what has changed, open others for a moment.
fn nobody(uses: impl Fn() -> io::Result<Vec<DeviceUse>>) -> Result<(), ClaimError> {
    let mut found = uses()?;
    for _ in 0..LOOKS {
        let is_opened = |found: &DeviceUse| matches!(found, DeviceUse::Opened { .. });
        if found.is_empty() || !found.iter().all(is_opened) {
            break;
        }
        std::thread::sleep(MOMENT);
        found = uses()?;
    }
    if found.is_empty() {
        return Ok(());
    }
    let found: Vec<String> = found.iter().map(describe).collect();
    Err(ClaimError::InUse(found.join("; ")))
}

fn describe(device_use: &DeviceUse) -> String {
    match device_use {
        DeviceUse::Mounted {
            device,
            at,
            seen_by,
        } => {
            let at = at.escape_debug();
            let seen_by = seen_by.as_ref().map(|process| {
                format!(" in the mount namespace of {process}, which other processes do not see")
            });
            let seen_by = seen_by.unwrap_or_default();
            format!("{device} is mounted at {at}{seen_by}, unmount it first")
        }
        DeviceUse::Opened { device, by } => {
            format!("{by} has {device} open and can write to it, end that first")
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// One test at a time: a child holds copies of all descriptors of this process until it runs its own program.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn a_file_that_is_claimed_is_claimed_once() {
        let _alone = alone();
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("image");
        std::fs::write(&path, b"image").expect("writes");
        let writable = || {
            let opening = Opening {
                write: true,
                ..Opening::default()
            };
            opening.open(&path).expect("opens")
        };
        let first = writable();
        claim_file(&first).expect("nobody has it");
        let error = claim_file(&writable()).expect_err("it is claimed");
        assert!(error.to_string().contains("locked it"), "{error}");
        drop(first);
        claim_file(&writable()).expect("nobody has it any more");
    }

    #[test]
    fn each_of_the_two_locks_is_asked_for() {
        let _alone = alone();
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("image");
        std::fs::write(&path, b"image").expect("writes");
        let open = || {
            std::fs::File::options()
                .read(true)
                .write(true)
                .open(&path)
                .expect("opens")
        };
        let (holder, other) = (open(), open());
        rustix::fs::flock(&holder, FlockOperation::NonBlockingLockExclusive).expect("free");
        assert!(matches!(claim_file(&other), Err(ClaimError::InUse(_))));
        rustix::fs::flock(&holder, FlockOperation::Unlock).expect("held");
        lock_bytes(&holder).expect("free");
        // A descriptor that comes and goes takes no lock with it.
        drop(open());
        assert!(matches!(claim_file(&open()), Err(ClaimError::InUse(_))));
    }

    #[test]
    fn another_process_that_can_write_is_named() {
        let _alone = alone();
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("image");
        std::fs::write(&path, b"image").expect("writes");
        let file = || {
            std::fs::File::options()
                .read(true)
                .write(true)
                .open(&path)
                .expect("opens")
        };
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .stdout(file())
            .spawn()
            .expect("sleep is everywhere");
        let error = claim_file(&file()).expect_err("a process has it");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(error.to_string().contains("sleep (process"), "{error}");
        claim_file(&file()).expect("nobody has it any more");
    }
}
