use std::path::Path;

/// A disk or a volume by the name that Windows has for it among its devices. A path with anything behind that leads to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowsDevice<'a> {
    /// The disk of this number: `\\.\PhysicalDriveN`.
    Disk(u32),
    /// A volume, by what stands behind the prefix: `\\.\E:`, `\\?\Volume{…}`.
    Volume(&'a str),
}

impl<'a> WindowsDevice<'a> {
    /// What a path names; `None` where that is no disk and no volume.
    #[must_use]
    pub fn of(path: &'a str) -> Option<WindowsDevice<'a>> {
        const DISK: &str = "physicaldrive";
        let is_prefix = |prefix: &&str| {
            let rest = path.get(..prefix.len());
            rest.is_some_and(|rest| rest.replace('/', "\\") == **prefix)
        };
        let prefix = [r"\\.\", r"\\?\"].into_iter().find(is_prefix)?;
        let name = path.get(prefix.len()..)?;
        if let Some((drive, number)) = name.split_at_checked(DISK.len())
            && drive.eq_ignore_ascii_case(DISK)
        {
            return number.parse().ok().map(WindowsDevice::Disk);
        }
        // With a backslash behind it, it is the folder at the top.
        let is_letter = matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
        let volume = name.get(..7).unwrap_or_default();
        let is_volume = volume.eq_ignore_ascii_case("Volume{") && name.ends_with('}');
        (is_letter || is_volume).then_some(WindowsDevice::Volume(name))
    }
}

/// Whether a path leads to a disk, a partition or a volume of this machine, and to no file.
#[must_use]
pub fn is_device(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
    }
    #[cfg(not(unix))]
    {
        cfg!(windows) && path.to_str().and_then(WindowsDevice::of).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_their_own_names() {
        let of = WindowsDevice::of;
        assert_eq!(of(r"\\.\PhysicalDrive12"), Some(WindowsDevice::Disk(12)));
        assert_eq!(of("//./PhysicalDrive1"), Some(WindowsDevice::Disk(1)));
        assert_eq!(of(r"\\?\physicaldrive0"), Some(WindowsDevice::Disk(0)));
        assert_eq!(of(r"\\.\e:"), Some(WindowsDevice::Volume("e:")));
        let volume = r"\\?\Volume{1-2}";
        assert_eq!(of(volume), Some(WindowsDevice::Volume("Volume{1-2}")));
        for other in [
            r"\\.\PhysicalDrive",
            r"\\.\PhysicalDrive-1",
            r"\\?\Volume{1}\",
            r"\\?\C:\a",
            r"C:\a",
            r"\\.\CdRom0",
            r"\\server\share",
            r"\\",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
