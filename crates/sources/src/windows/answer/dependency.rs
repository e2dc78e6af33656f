//! `GetStorageDependencyInformation`: the file behind a mounted VHD, VHDX or ISO.
//!
//! Version 2 has four pointers to texts in each entry. The call writes the texts into the caller's buffer, after the entries, and the
//! pointers are addresses in that buffer. Whoever makes the call records with the bytes at which address they lay and how wide a
//! pointer was ([`Pointers`]); nothing here follows an address to anything but these bytes. A capture keeps the answer
//! [rebased](Pointers::rebase), with offsets from its own start in the place of addresses.

use uuid::Uuid;

use super::fields::Fields;
use super::name::text;
use super::{BadAnswer, Problem};

const HEAD: &str = "STORAGE_DEPENDENCY_INFO";
const ENTRY: &str = "STORAGE_DEPENDENCY_INFO_TYPE_2";
const FIRST_ENTRY: usize = 8;
const FIRST_POINTER: usize = 32;
const TEXTS: [&str; 4] = [
    "DependencyDeviceName",
    "HostVolumeName",
    "DependentVolumeName",
    "DependentVolumeRelativePath",
];
/// The vendor of the kinds of virtual disks that have a number.
const MICROSOFT: Uuid = Uuid::from_u128(0xec98_4aec_a0f9_47e9_901f_7141_5a66_345b);

/// What a mounted virtual disk depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// The files and disks, in the order of the answer.
    pub entries: Vec<Dependency>,
    /// How many entries it counts that are not in the answer.
    pub missing: u32,
}

/// One thing that a mounted virtual disk depends on. The host's file is at `host_volume` and `path` put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// `DEPENDENT_DISK_FLAG_…`.
    pub flags: u32,
    /// What the file is.
    pub kind: VirtualDiskKind,
    /// How many parents lie between: 0 for the file that is mounted.
    pub ancestor: u32,
    /// The mounted device: `\\.\PhysicalDrive3`.
    pub device: Option<String>,
    /// The volume that holds the file: `\\?\Volume{…}\`.
    pub host_volume: Option<String>,
    /// A volume on the mounted device: `\\?\Volume{…}\`.
    pub dependent_volume: Option<String>,
    /// Path of the file on its volume.
    pub path: Option<String>,
}

/// What the file behind a virtual disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualDiskKind {
    /// Not known.
    Unknown,
    /// An ISO image.
    Iso,
    /// A VHD.
    Vhd,
    /// A VHDX.
    Vhdx,
    /// A set of VHDs.
    VhdSet,
    /// Another vendor's, or a number that is not in the list.
    Other(u32, Uuid),
}

/// How wide pointers are in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerWidth {
    /// The program that asked was one of 32 bits.
    Bits32,
    /// The program that asked was one of 64 bits.
    Bits64,
}

/// What the pointers in an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointers {
    /// How wide they are.
    pub width: PointerWidth,
    /// The address of the answer's first byte; 0 in an answer that was rebased.
    pub base: u64,
}

impl PointerWidth {
    const fn bytes(self) -> usize {
        match self {
            PointerWidth::Bits32 => 4,
            PointerWidth::Bits64 => 8,
        }
    }

    const fn entry(self) -> usize {
        FIRST_POINTER + TEXTS.len() * self.bytes()
    }
}

impl Pointers {
    /// Puts offsets from the start of `answer` in the place of its addresses, so that it can be kept: what is then there is decoded with a
    /// base of 0. A pointer that leads elsewhere gets the highest number, which leads nowhere; null stays null. An
    /// answer of another version is left alone.
    pub fn rebase(self, answer: &mut [u8]) -> Pointers {
        let head = Fields::new(HEAD, answer);
        let version = head.u32(("Version", 0)).unwrap_or(0);
        let count = head.u32(("NumberEntries", 4)).unwrap_or(0);
        let len = u64::try_from(answer.len()).unwrap_or(u64::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let width = self.width.bytes();
        let rest = answer.get_mut(FIRST_ENTRY..).unwrap_or(&mut []);
        let entries = rest.chunks_exact_mut(self.width.entry()).take(count);
        for entry in entries.filter(|_| version == 2) {
            let pointers = entry.get_mut(FIRST_POINTER..).unwrap_or(&mut []);
            for place in pointers.chunks_exact_mut(width) {
                let offset = match address(place) {
                    0 => 0,
                    there => self
                        .offset(there)
                        .filter(|at| *at < len)
                        .unwrap_or(u64::MAX),
                };
                let offset = offset.to_le_bytes();
                for (byte, new) in place.iter_mut().zip(offset) {
                    *byte = new;
                }
            }
        }
        Pointers { base: 0, ..self }
    }

    fn offset(self, address: u64) -> Option<u64> {
        address.checked_sub(self.base)
    }
}

/// A pointer of either width.
fn address(place: &[u8]) -> u64 {
    place
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

impl Dependencies {
    /// Decodes a `STORAGE_DEPENDENCY_INFO` of version 2.
    ///
    /// # Errors
    /// When it is of another version, or a text lies outside of the answer or has no end.
    pub fn decode(bytes: &[u8], pointers: Pointers) -> Result<Dependencies, BadAnswer> {
        let head = Fields::new(HEAD, bytes);
        let version = head.u32(("Version", 0))?;
        if version != 2 {
            return Err(head.unexpected(("Version", 0), version.into(), "2"));
        }
        let count = head.u32(("NumberEntries", 4))?;
        let (each, missing) = head.list(ENTRY, FIRST_ENTRY, pointers.width.entry(), count);
        // Texts follow the entries.
        let entries_there = usize::try_from(count - missing).unwrap_or(usize::MAX);
        let first_text = entries_there
            .saturating_mul(pointers.width.entry())
            .saturating_add(FIRST_ENTRY);
        let entries = each.map(|entry| {
            let text = |n: usize| {
                let at = FIRST_POINTER + n * pointers.width.bytes();
                let name = TEXTS.get(n).copied().unwrap_or_default();
                let target = match pointers.width {
                    PointerWidth::Bits32 => entry.u32((name, at))?.into(),
                    PointerWidth::Bits64 => entry.u64((name, at))?,
                };
                if target == 0 {
                    return Ok(None);
                }
                let offset = pointers.offset(target);
                let offset = offset.and_then(|offset| usize::try_from(offset).ok());
                let offset = offset.filter(|offset| *offset >= first_text);
                pointed(bytes, offset).map_err(|problem| {
                    let len = bytes.len();
                    let outside = Problem::Outside { target, len };
                    entry.bad((name, at), problem.unwrap_or(outside))
                })
            };
            Ok(Dependency {
                flags: entry.u32(("DependencyTypeFlags", 0))?,
                kind: kind(
                    entry.u32(("VirtualStorageType.DeviceId", 8))?,
                    entry.guid(("VirtualStorageType.VendorId", 12))?,
                ),
                ancestor: entry.u32(("AncestorLevel", 28))?,
                device: text(0)?,
                host_volume: text(1)?,
                dependent_volume: text(2)?,
                path: text(3)?,
            })
        });
        Ok(Dependencies {
            entries: entries.collect::<Result<_, _>>()?,
            missing,
        })
    }
}

const fn kind(device: u32, vendor: Uuid) -> VirtualDiskKind {
    match device {
        0 => VirtualDiskKind::Unknown,
        1 if vendor.as_u128() == MICROSOFT.as_u128() => VirtualDiskKind::Iso,
        2 if vendor.as_u128() == MICROSOFT.as_u128() => VirtualDiskKind::Vhd,
        3 if vendor.as_u128() == MICROSOFT.as_u128() => VirtualDiskKind::Vhdx,
        4 if vendor.as_u128() == MICROSOFT.as_u128() => VirtualDiskKind::VhdSet,
        _ => VirtualDiskKind::Other(device, vendor),
    }
}

/// The text at `offset` of `answer`; `None` for an empty one. An error without a problem is an offset that leads nowhere.
fn pointed(answer: &[u8], offset: Option<usize>) -> Result<Option<String>, Option<Problem>> {
    let there = offset.and_then(|at| answer.get(at..));
    let there = there.filter(|there| !there.is_empty()).ok_or(None)?;
    let (text, _) = text(there).ok_or(Some(Problem::Unterminated))?;
    Ok((!text.is_empty()).then_some(text))
}
