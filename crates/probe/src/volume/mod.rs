//! Volume managers, arrays and encryption: what a device says of the whole that it is a member of.
//!
//! A format is asked twice. [`VolumeFormat::recognise`] looks at one device and says what set it belongs to; when all devices
//! have been looked at, those of one set go together to [`VolumeFormat::assemble`], which describes the layers above them.
//! A payload on one device (LUKS, a bcache backing device) is a set of one member.

pub(crate) mod asm;
pub mod bcache;
pub mod bitlocker;
pub mod ddf;
mod firmware;
pub mod imsm;
pub mod integrity;
pub(crate) mod ldm;
pub mod luks;
pub mod lvm2;
pub mod md;
pub(crate) mod spaces;
pub mod verity;
pub(crate) mod vmfs;
pub mod zfs;

use straddle_geometry::Extent;
use straddle_io::ReadError;
use straddle_stack::{Layer, LayerId};

use crate::{Detected, Magic, Window};

/// One format of volume managers, arrays or encryption.
pub struct VolumeFormat {
    /// Its usual name: `lvm2`, `md`, `luks`.
    pub name: &'static str,
    /// What a device with it is called: `LVM2 physical volume`.
    pub title: &'static str,
    /// What of it is read, for the documentation.
    pub reads: &'static str,
    /// What of it is named and not followed, for the documentation; empty when there is nothing.
    pub refuses: &'static str,
    /// The tools and kernels that its tests compare it with, for the documentation.
    pub verified: &'static str,
    /// Smallest window that can hold it, in bytes.
    pub min_size: u64,
    /// Any one of these must match before [`VolumeFormat::recognise`] is called; empty: it is always called, because the
    /// metadata stand at the end.
    pub magics: &'static [Magic],
    /// What else is looked for in a window that has it.
    pub beside: Beside,
    /// Says what set a device belongs to. `Ok(None)` when, on a closer look, it is something else.
    pub recognise: fn(&Window<'_>) -> Result<Option<Recognised>, ReadError>,
    /// Describes what the members of one set make together. Each member is there once, in the order in which it was found;
    /// some may be missing.
    pub assemble: fn(&[Part<'_>]) -> Result<Assembly, ReadError>,
}

/// What else is looked for in the window of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing: whatever else matches belongs to what is on the whole.
    Nothing,
    /// Nothing either; and it is not looked for on a device that is divided into partitions, the first of which lies where its
    /// metadata would.
    NoTable,
    /// A partition table: the members' own (LDM).
    Table {
        /// Types of those of its partitions that only stand for what the members make together: nothing is looked for in
        /// them, and they are no places of data.
        stand_ins: &'static [&'static str],
    },
}

/// What a device says of itself as a member.
#[derive(Clone, Debug, Default)]
pub struct Recognised {
    /// Facts about the member, in its own addresses; they become those of its layer.
    pub detected: Detected,
    /// Which whole it belongs to; the same on all members, and on nothing else. Empty where it is a whole by itself: two of
    /// those that look alike, copies of one image, are two wholes.
    pub set: String,
    /// Which of the members it is; no two members have the same. Empty where the metadata are the same on all members and
    /// do not say: every device is then one of its own.
    pub member: String,
    /// How many members the whole has, where that is known.
    pub of: Option<u64>,
}

/// A member of a set, for [`VolumeFormat::assemble`].
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Its bytes.
    pub window: Window<'a>,
    /// What its layer is called.
    pub name: &'a str,
    /// Serial number of the device, where that is known: some metadata tell members apart by nothing else.
    pub serial: Option<&'a str>,
}

/// The layers that the members of a set make.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// Lowest first: a node may rest on those before it.
    pub nodes: Vec<Node>,
}

/// One layer of an [`Assembly`].
#[derive(Clone, Debug)]
pub struct Node {
    /// The layer; its `below` is filled in from the node's.
    pub layer: Layer,
    /// What it rests on, in the order of the targets of its map.
    pub below: Vec<Below>,
    /// What is on it.
    pub holds: Holds,
}

/// What a node rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Below {
    /// The member with this index.
    Part(usize),
    /// The node with this index, which comes earlier.
    Node(usize),
    /// A member that was not given; what the metadata call it.
    Missing(String),
}

/// What is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Anything: a partition table, a filesystem, another member. It is read through the node's map and looked into.
    Volume,
    /// Nothing that can be read (encrypted, a pool, parts of other nodes).
    Nothing,
}

/// A member that an inspection came upon.
#[derive(Clone)]
pub struct Member {
    /// The layer that it is.
    pub layer: LayerId,
    /// Where it lies in the bytes that were inspected.
    pub extent: Extent,
    /// Its format.
    pub format: &'static VolumeFormat,
    /// See [`Recognised::set`].
    pub set: String,
    /// See [`Recognised::member`].
    pub member: String,
    /// See [`Recognised::of`].
    pub of: Option<u64>,
}

impl VolumeFormat {
    /// Tries this format on a window.
    ///
    /// # Errors
    /// [`ReadError`] when bytes that must be looked at cannot be read.
    pub fn run(&self, window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
        if window.size().get() < self.min_size {
            return Ok(None);
        }
        let mut may_be = self.magics.is_empty();
        for magic in self.magics {
            may_be = may_be || window.matches(magic.offset, magic.bytes)?;
        }
        if may_be {
            (self.recognise)(window)
        } else {
            Ok(None)
        }
    }
}
