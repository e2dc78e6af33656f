//! Facts about a host that are not in files: questions to its kernel, and their answers as text.
//!
//! The live system asks a system call and writes the answer as text; a captured host keeps that text in a file. The
//! files, all below `.straddle/`:
//!
//! | file | call | contents |
//! |---|---|---|
//! | `dm/NAME/table` | `DM_TABLE_STATUS` | as `dmsetup table` prints it; keys and digests are `-` |
//! | `of/PATH/@extents` | `FIEMAP` | a line `LOGICAL PHYSICAL LENGTH FLAGS` for each extent, in bytes, flags hexadecimal; `incomplete` at the end when there are more |
//! | `of/PATH/@pages` | reading its first pages | `format=NAME page=N`, for a database file; no byte of the file itself |
//! | `of/PATH/@stat` | `statx` | `dev=MAJ:MIN size=N blksize=N`, `rdev=MAJ:MIN` for a block device, `dio_mem_align=N dio_offset_align=N` where known, `path=PATH` last, where symbolic links lead elsewhere |
//! | `of/PATH/@statfs` | `statfs` | `bsize=N frsize=N` |
//!
//! A file that says `refused: WHY` records that the kernel did not answer.

use std::borrow::Cow;

/// How a captured answer begins that says why there is none.
pub(super) const REFUSED: &str = "refused: ";

/// Something to ask the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The table of a device-mapper device: its kernel name and device number.
    Table { name: String, device: (u32, u32) },
    /// The extents of a file.
    Extents(String),
    /// Format and page size of a database file.
    Pages(String),
    /// Size, device and direct-I/O alignment of a file.
    Stat(String),
    /// Block size of a mounted filesystem.
    Statfs(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer(Cow<'static, str>);

impl NoAnswer {
    pub(crate) fn new(why: &str) -> NoAnswer {
        NoAnswer(Cow::Owned(why.to_owned()))
    }

    pub(crate) fn not_captured() -> NoAnswer {
        NoAnswer(Cow::Borrowed("it was not captured"))
    }

    pub(crate) fn why(&self) -> &str {
        &self.0
    }
}

impl Question {
    /// Name of the system call, for provenance.
    pub(crate) fn call(&self) -> &'static str {
        match self {
            Question::Table { .. } => "DM_TABLE_STATUS",
            Question::Extents(_) => "FIEMAP",
            Question::Pages(_) => "read",
            Question::Stat(_) => "statx",
            Question::Statfs(_) => "statfs",
        }
    }

    /// Where a captured host keeps the answer.
    pub(crate) fn path(&self) -> String {
        let of = |path: &str, what| {
            let path = path.trim_matches('/');
            let slash = if path.is_empty() { "" } else { "/" };
            format!("/.straddle/of/{path}{slash}@{what}")
        };
        match self {
            Question::Table { name, .. } => format!("/.straddle/dm/{name}/table"),
            Question::Extents(path) => of(path, "extents"),
            Question::Pages(path) => of(path, "pages"),
            Question::Stat(path) => of(path, "stat"),
            Question::Statfs(path) => of(path, "statfs"),
        }
    }

    /// Asks the kernel of this machine.
    #[cfg(target_os = "linux")]
    pub(crate) fn ask(&self) -> Result<String, NoAnswer> {
        live::ask(self).map_err(|error| match error.raw_os_error() {
            // EACCES; EPERM is what a container says to root too.
            Some(13) => NoAnswer(Cow::Borrowed("permission denied")),
            _ => NoAnswer::new(&error.to_string()),
        })
    }

    /// There is no Linux kernel to ask.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn ask(&self) -> Result<String, NoAnswer> {
        Err(NoAnswer(Cow::Borrowed("this is not a Linux host")))
    }
}

/// Most extents of one file: a file of 1 TiB in pieces of 1 MiB.
#[cfg(target_os = "linux")]
const MAX_EXTENTS: usize = 1 << 20;

#[cfg(target_os = "linux")]
mod live {
    use super::Question;
    use std::fmt::Write;
    use std::io;
    use std::path::Path;
    use straddle_io::{OpenError, Target, linux};

    pub(super) fn ask(question: &Question) -> io::Result<String> {
        let mut out = String::new();
        match question {
            Question::Table { device, .. } => {
                out = linux::device_mapper_table(*device, crate::linux::dm::redact)?;
            }
            Question::Extents(path) => {
                let target = open(path)?;
                let found = linux::file_extents(target.file(), super::MAX_EXTENTS)?;
                for extent in &found.extents {
                    let _ = writeln!(
                        out,
                        "{} {} {} {:#x}",
                        extent.logical.get(),
                        extent.physical.get(),
                        extent.len.get(),
                        extent.flags.0
                    );
                }
                if !found.complete {
                    out.push_str("incomplete\n");
                }
            }
            Question::Pages(path) => out = crate::pages::asked(path)?,
            Question::Stat(path) => {
                let stat = linux::file_stat(Path::new(path))?;
                let (major, minor) = stat.device;
                let (size, block) = (stat.size.get(), stat.block_size.get());
                let _ = write!(out, "dev={major}:{minor} size={size} blksize={block}");
                if let Some((major, minor)) = stat.block_device {
                    let _ = write!(out, " rdev={major}:{minor}");
                }
                if let Some(dio) = stat.direct_io {
                    let (memory, offset) = (dio.memory.get(), dio.offset.get());
                    let _ = write!(out, " dio_mem_align={memory} dio_offset_align={offset}");
                }
                let real = std::fs::canonicalize(path)?;
                if let Some(real) = real.to_str().filter(|real| real != path) {
                    let _ = write!(out, " path={real}");
                }
            }
            Question::Statfs(path) => {
                let stat = linux::filesystem_stat(Path::new(path))?;
                let (block, fragment) = (stat.block_size.get(), stat.fragment_size.get());
                let _ = write!(out, "bsize={block} frsize={fragment}");
            }
        }
        Ok(out)
    }

    fn open(path: &str) -> io::Result<Target> {
        Target::open(Path::new(path)).map_err(|error| match error {
            OpenError::Os { source, .. } => source,
            other => io::Error::other(other),
        })
    }
}
