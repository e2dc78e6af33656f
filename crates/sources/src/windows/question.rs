//! What is asked of a Windows host, by which call, and where a captured host keeps the answer.
//!
//! The files, all below `.straddle/windows/`, hold the bytes that the system wrote, whatever is in them, but for texts of our own:
//!
//! | file | holds |
//! |---|---|
//! | `disks` | a line for each disk: its number, as in `\\.\PhysicalDriveN` |
//! | `volumes` | a line for each volume: its GUID path, and behind tabs where it is mounted |
//! | `disk/N/WHAT` | what the system answers about a disk |
//! | `volume/{GUID}/WHAT` | and about a volume |
//! | `file/PATH/@WHAT` | and about a file |
//! | `file/PATH/@pages` | `format=NAME page=N`, for a database file that was given as a target; no byte of the file itself |
//!
//! A file that begins with `refused: ` records why there is no answer, with the system's number for it.

use std::fmt;

/// How a captured answer begins that says why there is none.
pub(super) const REFUSED: &[u8] = b"refused: ";
/// Where a captured host keeps all of them.
pub(crate) const FOLDER: &str = "/.straddle/windows";

/// Of what something is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// A disk by its number.
    Disk(u32),
    /// A volume by its GUID path, which ends with a backslash.
    Volume(String),
    /// A file by its path.
    File(String),
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Layout,
    Length,
    Geometry,
    Device,
    Adapter,
    Alignment,
    SeekPenalty,
    Trim,
    Cache,
    NvmeNamespace,
    HostFiles,
    Extents,
    Number,
    Ntfs,
    Refs,
    Sectors,
    Size,
    Name,
    Compression,
    Pointers,
    PointerBase,
    Pages,
}

/// How a question is put to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `DeviceIoControl` with this code; a property of `IOCTL_STORAGE_QUERY_PROPERTY`, where there is one; and how much room the answer
    /// has at first.
    Control {
        code: u32,
        property: Option<Property>,
        room: usize,
    },
    /// `NtQueryVolumeInformationFile` with this class.
    Volume { class: i32, room: usize },
    /// `GetStorageDependencyInformation`.
    Dependency,
    /// The first pages of a file are read, and what is kept of them is no byte of the file.
    Read,
}

/// A property of a device or its adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    /// `STORAGE_PROPERTY_ID`.
    Plain(u32),
    /// Identify of the first namespace, through `StorageDeviceProtocolSpecificProperty`.
    IdentifyNamespace,
}

const QUERY: u32 = 0x002d_1400;

const fn control(code: u32, room: usize) -> Call {
    Call::Control {
        code,
        property: None,
        room,
    }
}

const fn property(number: u32) -> Call {
    Call::Control {
        code: QUERY,
        property: Some(Property::Plain(number)),
        room: 1024,
    }
}

impl Ask {
    /// Name in a captured host, the name that an administrator finds in Microsoft's pages, and the call.
    ///
    /// Source of the numbers: `winioctl.h`, `ntddstor.h` and `wdm.h` of the Windows SDK.
    pub(super) const fn how(self) -> (&'static str, &'static str, Call) {
        match self {
            Ask::Layout => (
                "layout",
                "IOCTL_DISK_GET_DRIVE_LAYOUT_EX",
                // 128 entries of 144 bytes.
                control(0x0007_0050, 20 << 10),
            ),
            Ask::Length => (
                "length",
                "IOCTL_DISK_GET_LENGTH_INFO",
                control(0x0007_405c, 8),
            ),
            Ask::Geometry => (
                "geometry",
                "IOCTL_DISK_GET_DRIVE_GEOMETRY_EX",
                control(0x0007_00a0, 256),
            ),
            Ask::Device => ("device", "StorageDeviceProperty", property(0)),
            Ask::Adapter => ("adapter", "StorageAdapterProperty", property(1)),
            Ask::Cache => (
                "write-cache",
                "StorageDeviceWriteCacheProperty",
                property(4),
            ),
            Ask::Alignment => ("alignment", "StorageAccessAlignmentProperty", property(6)),
            Ask::SeekPenalty => (
                "seek-penalty",
                "StorageDeviceSeekPenaltyProperty",
                property(7),
            ),
            Ask::Trim => ("trim", "StorageDeviceTrimProperty", property(8)),
            Ask::NvmeNamespace => (
                "nvme-namespace",
                "StorageDeviceProtocolSpecificProperty",
                Call::Control {
                    code: QUERY,
                    property: Some(Property::IdentifyNamespace),
                    room: 8192,
                },
            ),
            Ask::HostFiles => (
                "host-files",
                "GetStorageDependencyInformation",
                Call::Dependency,
            ),
            Ask::Extents => (
                "extents",
                "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS",
                control(0x0056_0000, 1024),
            ),
            Ask::Number => (
                "number",
                "IOCTL_STORAGE_GET_DEVICE_NUMBER",
                control(0x002d_1080, 16),
            ),
            Ask::Ntfs => (
                "ntfs",
                "FSCTL_GET_NTFS_VOLUME_DATA",
                control(0x0009_0064, 256),
            ),
            Ask::Refs => (
                "refs",
                "FSCTL_GET_REFS_VOLUME_DATA",
                control(0x0009_02d8, 256),
            ),
            Ask::Sectors => (
                "sectors",
                "FileFsSectorSizeInformation",
                Call::Volume {
                    class: 11,
                    room: 64,
                },
            ),
            Ask::Size => (
                "size",
                "FileFsSizeInformation",
                Call::Volume { class: 3, room: 24 },
            ),
            Ask::Name => (
                "name",
                "FileFsAttributeInformation",
                Call::Volume {
                    class: 5,
                    room: 128,
                },
            ),
            Ask::Compression => (
                "compression",
                "FSCTL_GET_COMPRESSION",
                control(0x0009_003c, 2),
            ),
            Ask::Pointers => (
                "pointers",
                "FSCTL_GET_RETRIEVAL_POINTERS",
                control(0x0009_0073, 64 << 10),
            ),
            Ask::PointerBase => (
                "pointer-base",
                "FSCTL_GET_RETRIEVAL_POINTER_BASE",
                control(0x0009_0234, 8),
            ),
            Ask::Pages => ("pages", "ReadFile", Call::Read),
        }
    }

    /// Name of the call, for provenance.
    pub(super) const fn call(self) -> &'static str {
        self.how().1
    }
}

impl Of {
    /// Where a captured host keeps an answer.
    pub(super) fn path(&self, ask: Ask) -> String {
        let what = ask.how().0;
        match self {
            Of::Disk(number) => format!("{FOLDER}/disk/{number}/{what}"),
            Of::Volume(path) => format!("{FOLDER}/volume/{}/{what}", guid(path)),
            Of::File(path) => format!("{FOLDER}/file/{}/@{what}", in_archive(path)),
        }
    }
}

/// `{…}` of `\\?\Volume{…}\`.
pub(super) fn guid(volume: &str) -> String {
    let inner = volume
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    inner.map_or_else(|| in_archive(volume), |(guid, _)| guid.to_lowercase())
}

/// A path of Windows as one of an archive: none of its parts can lead out of it. It is the same with `\\?\` before it, which the system
/// puts there when it is asked for a real path, and which nobody types who reads a capture.
fn in_archive(path: &str) -> String {
    let path = path.strip_prefix(r"\\?\").unwrap_or(path);
    let parts = path.split(['\\', '/']).filter(|part| !part.is_empty());
    let parts = parts.map(|part| match part {
        "." | ".." | "?" => "_".to_owned(),
        part => part.replace(':', ""),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoAnswer {
    /// The system's number, where it is one of the system's.
    pub(super) code: Option<i32>,
    /// In words.
    pub(super) why: String,
}

impl NoAnswer {
    /// `ERROR_ACCESS_DENIED`.
    const DENIED: i32 = 5;
    /// `ERROR_SHARING_VIOLATION`: another program has it open for itself.
    const SHARED_WITH_NOBODY: i32 = 32;
    /// `ERROR_HANDLE_EOF`: a file without clusters of its own.
    const EOF: i32 = 38;

    pub(super) fn not_captured() -> NoAnswer {
        NoAnswer {
            code: None,
            why: "it was not captured".to_owned(),
        }
    }

    pub(super) fn is_denied(&self) -> bool {
        self.code == Some(NoAnswer::DENIED)
    }

    pub(super) fn is_shared_with_nobody(&self) -> bool {
        self.code == Some(NoAnswer::SHARED_WITH_NOBODY)
    }

    /// `ERROR_INVALID_FUNCTION`, `ERROR_NOT_READY`, `ERROR_NOT_SUPPORTED`: a CD-ROM, a card reader without a card, a network drive. Nothing of
    /// it is on a disk.
    pub(super) fn is_of_the_medium(&self) -> bool {
        matches!(self.code, Some(1 | 21 | 50))
    }

    pub(super) fn is_end_of_file(&self) -> bool {
        self.code == Some(NoAnswer::EOF)
    }

    /// As it is kept in a captured host.
    #[cfg(windows)]
    pub(super) fn kept(&self) -> Vec<u8> {
        let code = self
            .code
            .map_or_else(|| "-".to_owned(), |code| code.to_string());
        [REFUSED, code.as_bytes(), b" ", self.why.as_bytes()].concat()
    }

    /// What a captured host kept.
    pub(super) fn read(text: &[u8]) -> NoAnswer {
        let text = String::from_utf8_lossy(text);
        let (code, why) = text.split_once(' ').unwrap_or((&text, ""));
        NoAnswer {
            code: code.parse().ok(),
            why: why.to_owned(),
        }
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} (error {code})", self.why),
            None => f.write_str(&self.why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_their_place_and_none_leads_out_of_the_archive() {
        let of = |of: &Of, ask| of.path(ask).replace("/.straddle/windows/", "");
        assert_eq!(of(&Of::Disk(3), Ask::Layout), "disk/3/layout");
        let volume = Of::Volume(r"\\?\Volume{AB-1}\".to_owned());
        assert_eq!(of(&volume, Ask::Extents), "volume/ab-1/extents");
        let file = |path: &str| of(&Of::File(path.to_owned()), Ask::Pointers);
        assert_eq!(file(r"D:\data\a.mdf"), "file/D/data/a.mdf/@pointers");
        assert_eq!(file(r"\\?\D:\..\..\etc"), "file/D/_/_/etc/@pointers");
    }

    #[test]
    fn a_refusal_is_kept_with_its_number() {
        let refused = NoAnswer::read(b"5 Access is denied.");
        assert!(refused.is_denied() && !refused.is_end_of_file());
        assert_eq!(refused.to_string(), "Access is denied. (error 5)");
        assert_eq!(NoAnswer::read(b"- gone").to_string(), "gone");
    }
}
