use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// How a file or device is opened; reading is always included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// For writing too.
    pub write: bool,
    /// Made by this call; an error when it exists already.
    pub create: bool,
    /// Past the page cache (`O_DIRECT`, `FILE_FLAG_NO_BUFFERING`).
    pub direct: bool,
    /// Each write ends on stable storage (`O_DSYNC`, `FILE_FLAG_WRITE_THROUGH`).
    pub through: bool,
    /// A block device that nobody else may hold or mount meanwhile (`O_EXCL`).
    pub exclusive: bool,
    /// For many requests at once (`FILE_FLAG_OVERLAPPED`), by engines only; other systems make no difference.
    pub overlapped: bool,
}

impl Opening {
    /// Opens `path`. Where an option is not to be had on this system, the error has the kind
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(self.write).create_new(self.create);
        self.flags(&mut options)?;
        options.open(path)
    }

    #[cfg(target_os = "linux")]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "other systems do not know all of this"
    )]
    fn flags(self, options: &mut OpenOptions) -> io::Result<()> {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DSYNC, self.through);
        flags.set(OFlags::EXCL, self.exclusive);
        options.custom_flags(flags.bits().cast_signed());
        Ok(())
    }

    #[cfg(windows)]
    fn flags(self, options: &mut OpenOptions) -> io::Result<()> {
        use std::os::windows::fs::OpenOptionsExt;
        if self.exclusive {
            return Err(io::ErrorKind::Unsupported.into());
        }
        options.custom_flags(self.windows_flags());
        Ok(())
    }

    /// How a handle works, in the flags of `CreateFile`.
    #[cfg(windows)]
    pub(crate) fn windows_flags(self) -> u32 {
        use crate::windows::file::{NO_BUFFERING, OVERLAPPED, WRITE_THROUGH};
        let flags = [
            (self.direct, NO_BUFFERING),
            (self.through, WRITE_THROUGH),
            (self.overlapped, OVERLAPPED),
        ];
        let asked = flags.iter().filter(|(asked, _)| *asked);
        asked.fold(0, |all, (_, flag)| all | flag)
    }

    #[cfg(not(any(target_os = "linux", windows)))]
    fn flags(self, _: &mut OpenOptions) -> io::Result<()> {
        if self.direct || self.through || self.exclusive {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_not_created_again() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("file");
        let opening = Opening {
            write: true,
            create: true,
            ..Opening::default()
        };
        opening.open(&path).expect("is made");
        let error = opening.open(&path).expect_err("exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
