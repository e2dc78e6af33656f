//! What disks and volumes are called, and where volumes are mounted.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use windows_sys::Win32::Devices::DeviceAndDriverInstallation::{
    CM_GET_DEVICE_INTERFACE_LIST_PRESENT, CM_Get_Device_Interface_List_SizeW,
    CM_Get_Device_Interface_ListW, CR_BUFFER_SMALL, CR_SUCCESS,
};
use windows_sys::Win32::Foundation::{
    ERROR_MORE_DATA, ERROR_NO_MORE_FILES, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FindFirstVolumeW, FindNextVolumeW, FindVolumeClose, GetVolumeNameForVolumeMountPointW,
    GetVolumePathNameW, GetVolumePathNamesForVolumeNameW,
};
use windows_sys::Win32::System::Ioctl::GUID_DEVINTERFACE_DISK;

use super::wide::{ended, text, texts};

/// Longest name of a volume: `\\?\Volume{GUID}\`.
const VOLUME: usize = 64;
/// Longest path, in units.
const PATH: usize = 1 << 15;
/// Most units of a list of names.
const MAX_LIST: usize = 1 << 20;
/// How often a list that grows meanwhile is asked for again.
const TRIES: usize = 8;
/// Most volumes.
const MAX_VOLUMES: usize = 1 << 12;

/// Volumes that are being enumerated.
struct Volumes(HANDLE);

impl Drop for Volumes {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the handle came from `FindFirstVolumeW` and is closed once.
        unsafe { FindVolumeClose(self.0) };
    }
}

/// The volumes that the system knows, mounted or not, by their GUID paths.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn volumes() -> io::Result<Vec<OsString>> {
    let mut name = [0_u16; VOLUME];
    let room = u32::try_from(name.len()).unwrap_or(0);
    // SAFETY: the buffer lives during the call and has as many units as are given.
    let handle = unsafe { FindFirstVolumeW(name.as_mut_ptr(), room) };
    if handle == INVALID_HANDLE_VALUE {
        return match last() {
            Some(ERROR_NO_MORE_FILES) => Ok(Vec::new()),
            _ => Err(io::Error::last_os_error()),
        };
    }
    let handle = Volumes(handle);
    let mut found = vec![text(&name)];
    while found.len() < MAX_VOLUMES {
        // SAFETY: as above; the handle is open until it is dropped.
        if unsafe { FindNextVolumeW(handle.0, name.as_mut_ptr(), room) } == 0 {
            return match last() {
                Some(ERROR_NO_MORE_FILES) => Ok(found),
                _ => Err(io::Error::last_os_error()),
            };
        }
        found.push(text(&name));
    }
    Ok(found)
}

/// The letters and folders at which a volume is mounted.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn paths_of_volume(volume: &OsStr) -> io::Result<Vec<OsString>> {
    let volume = ended(volume);
    let mut room = 1 << 10;
    for _ in 0..TRIES {
        let mut names = vec![0_u16; room];
        let mut needed = 0;
        // SAFETY: the name ends with a zero; the buffer lives during the call and has as many units as are given.
        let done = unsafe {
            GetVolumePathNamesForVolumeNameW(
                volume.as_ptr(),
                names.as_mut_ptr(),
                u32::try_from(room).unwrap_or(0),
                &raw mut needed,
            )
        };
        if done != 0 {
            return Ok(texts(&names));
        }
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        if last() != Some(ERROR_MORE_DATA) || needed > MAX_LIST {
            return Err(io::Error::last_os_error());
        }
        room = needed.max(room * 2).min(MAX_LIST);
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Where the volume of a path is mounted: `C:\`, `D:\data\`.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn mount_point_of(path: &Path) -> io::Result<OsString> {
    let path = ended(path.as_os_str());
    let mut found = vec![0_u16; PATH];
    let room = u32::try_from(found.len()).unwrap_or(0);
    // SAFETY: the path ends with a zero; the buffer lives during the call and has as many units as are given.
    match unsafe { GetVolumePathNameW(path.as_ptr(), found.as_mut_ptr(), room) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(text(&found)),
    }
}

/// The volume that is mounted at a letter or a folder, which ends with a backslash.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn volume_at(mount_point: &OsStr) -> io::Result<OsString> {
    let mount_point = ended(mount_point);
    let mut name = [0_u16; VOLUME];
    let room = u32::try_from(name.len()).unwrap_or(0);
    // SAFETY: the path ends with a zero; the buffer lives during the call and has as many units as are given.
    let done =
        unsafe { GetVolumeNameForVolumeMountPointW(mount_point.as_ptr(), name.as_mut_ptr(), room) };
    match done {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(text(&name)),
    }
}

/// The interfaces of all disks that are there.
///
/// # Errors
/// Those of the system, whose configuration manager has numbers of its own: they are in the text.
#[allow(unsafe_code)]
pub fn disk_interfaces() -> io::Result<Vec<OsString>> {
    let failed = |what: u32| io::Error::other(format!("the configuration manager says {what:#x}"));
    let present = CM_GET_DEVICE_INTERFACE_LIST_PRESENT;
    let class = GUID_DEVINTERFACE_DISK;
    for _ in 0..TRIES {
        let mut units = 0;
        // SAFETY: class and result live during the call.
        let asked = unsafe {
            CM_Get_Device_Interface_List_SizeW(
                &raw mut units,
                &raw const class,
                std::ptr::null(),
                present,
            )
        };
        if asked != CR_SUCCESS {
            return Err(failed(asked));
        }
        let room = usize::try_from(units).unwrap_or(usize::MAX).min(MAX_LIST);
        let mut names = vec![0_u16; room];
        // SAFETY: as above; the buffer has as many units as are given.
        let asked = unsafe {
            CM_Get_Device_Interface_ListW(
                &raw const class,
                std::ptr::null(),
                names.as_mut_ptr(),
                u32::try_from(room).unwrap_or(0),
                present,
            )
        };
        match asked {
            CR_SUCCESS => return Ok(texts(&names)),
            // A disk came meanwhile.
            CR_BUFFER_SMALL => {}
            other => return Err(failed(other)),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// The system's last error.
fn last() -> Option<u32> {
    let error = io::Error::last_os_error().raw_os_error()?;
    u32::try_from(error).ok()
}
