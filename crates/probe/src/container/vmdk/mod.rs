//! VMDK, the format of VMware: a text that describes the disk, and files that hold its parts.
//!
//! ```text
//! "# Disk DescriptorFile"   descriptor: the disk consists of the files that it names     disk.rs, descriptor.rs
//! "KDMV"                    hosted sparse extent, with or without a descriptor inside    hosted.rs
//! "COWD"                    sparse extent of ESX (vmfsSparse, snapshots)                 cowd.rs
//! 0x00000000cafebabe        seSparse: named, not followed
//! anything                  flat extent: its bytes are those of the disk
//! ```
//!
//! Both sparse extents keep grains, usually of 64 KiB (512 bytes on ESX), through a directory of tables: grains.rs.
//!
//! Sources: VMware "Virtual Disk Format 1.1" and "5.0" technical notes; QEMU `block/vmdk.c` and libvmdk's format
//! documentation (facts only).

mod cowd;
mod descriptor;
mod disk;
mod grains;
mod hosted;
mod survey;
#[cfg(test)]
mod tests;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};

use super::{Container, Format, Opening};
use crate::Magic;
use crate::record::{Place, Recorder};

const HOSTED: &[u8] = b"KDMV";
const COWD: &[u8] = b"COWD";
const SE_SPARSE: &[u8] = &[0xbe, 0xba, 0xfe, 0xca, 0, 0, 0, 0];

pub(crate) static FORMAT: Format = Format {
    name: "vmdk",
    reads: "monolithicSparse, monolithicFlat, twoGbMaxExtentSparse and -Flat, vmfs, vmfsSparse, streamOptimized; descriptors of many parts; snapshots and clones",
    refuses: "seSparse; raw device mappings and parts that are devices; streams cut short",
    magics: &[
        Magic {
            offset: 0,
            bytes: HOSTED,
        },
        Magic {
            offset: 0,
            bytes: b"# Disk DescriptorFile",
        },
        Magic {
            offset: 0,
            bytes: COWD,
        },
        Magic {
            offset: 0,
            bytes: SE_SPARSE,
        },
    ],
    tail: &[],
    open,
};

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    if window.matches(0, HOSTED)? {
        return hosted::open(opening);
    }
    if window.matches(0, COWD)? {
        return cowd::open(opening);
    }
    if window.matches(0, SE_SPARSE)? {
        let mut record = Recorder::new(window, 0);
        let magic = Place::new(0, SE_SPARSE.len());
        record.text(Key::Subformat, "seSparse", magic);
        let detail = "a seSparse extent, whose layout VMware has not published; it is not followed. \
                      `vmkfstools -i DISK.vmdk -d thin COPY.vmdk` on the ESXi host makes one that can be";
        record.odd(AnomalyKind::Unreadable, detail, magic);
        return Ok(Some(Container::unusable(record.finish())));
    }
    disk::open(opening)
}

/// `place` of a structure that lies at byte `by`.
fn moved(place: Place, by: u64) -> Place {
    let by = usize::try_from(by).unwrap_or(usize::MAX);
    Place::new(place.offset.saturating_add(by), place.len)
}
