//! What a container format is, and what it gives of a file that is one.

use std::sync::Arc;
use straddle_geometry::{BlockTable, Bytes, Extent};
use straddle_io::{ReadAt, ReadError};
use straddle_stack::{Fact, Source};

use crate::{Detected, Magic, Window};

/// One container format: how it is recognised and opened.
pub struct Format {
    /// Its usual name: `qcow2`, `vhd`.
    pub name: &'static str,
    /// What of it is read, for the documentation; empty when it is only named.
    pub reads: &'static str,
    /// What of it is named and not followed.
    pub refuses: &'static str,
    /// Any one of these must match, or one of `tail`, before [`Format::open`] is called.
    pub magics: &'static [Magic],
    /// The same, with offsets counted back from the end of the file.
    pub tail: &'static [Magic],
    /// Reads it. `Ok(None)` when, on a closer look, it is something else.
    pub open: fn(&Opening<'_>) -> Result<Option<Container>, ReadError>,
}

/// A file that may be a container.
pub struct Opening<'a> {
    /// The whole file through the bounded reader: for headers and descriptors, whose bytes become evidence.
    pub window: Window<'a>,
    /// The file itself: for tables, which are read when they are asked, long after the headers.
    pub file: Arc<dyn ReadAt>,
}

/// A container that was recognised.
#[derive(Debug)]
pub struct Container {
    /// What it says about itself: variant, attributes, the grids of the virtual disk (in its own addresses), anomalies.
    pub detected: Detected,
    /// The virtual disk; `None` when the format is one that is named but not followed, or its headers are beyond use. An
    /// anomaly then says why.
    pub disk: Option<Disk>,
}

/// The disk that a container holds.
#[derive(Debug)]
pub struct Disk {
    /// Its size, as the guest sees it.
    pub size: Fact<Bytes>,
    /// How its addresses reach the files. Target 0 is the container's own file, target n the n-th of `references`.
    pub content: Content,
    /// Other files that it needs.
    pub references: Vec<Reference>,
    /// Names that a child records to know its parent again, such as a UUID; lower case, without braces.
    pub identities: Vec<String>,
}

/// How the addresses of a virtual disk reach files.
#[derive(Debug)]
pub enum Content {
    /// In one piece; the provenance is the field that says where it starts, or what it is derived from.
    Linear(Fact<Extent>),
    /// Block by block.
    Blocks(Arc<dyn BlockTable>),
    /// Several files, or parts of files, one after another. What a part's own table calls absent lies in the parent of
    /// the whole, at the address of the whole disk: the parts of a VMDK snapshot name no parent of their own.
    Extents(Vec<ExtentOf>),
}

/// A part of a disk that consists of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentOf {
    /// Its length.
    pub len: Bytes,
    /// The target and where it starts there; `None` when it reads as zeroes.
    pub lies: Option<(usize, Bytes)>,
}

/// Another file that a container needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What for.
    pub role: Role,
    /// Where it may be, in the order in which to look; as the container writes it, with `/` between folders. Relative
    /// names count from the folder of the container.
    pub names: Vec<String>,
    /// What is to be found there.
    pub opens_as: OpensAs,
    /// The identity that it must have; see [`Disk::identities`].
    pub expects: Option<String>,
    /// The field that names it.
    pub source: Source,
}

/// What a [`Reference`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Holds what is absent here, at the same addresses of its disk.
    Parent,
    /// Holds a part of the disk.
    Part,
}

impl Role {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Parent => "parent",
            Role::Part => "data file",
        }
    }
}

/// How the file of a [`Reference`] is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpensAs {
    /// Its bytes are the disk, whatever they look like.
    Raw,
    /// A container of the format with this name.
    Format(&'static str),
    /// Whatever it is recognised as; raw when it is nothing known.
    Any,
}

impl Container {
    /// One that was recognised and cannot be followed; an anomaly in `detected` says why.
    #[must_use]
    pub fn unusable(detected: Detected) -> Container {
        Container {
            detected,
            disk: None,
        }
    }
}

impl Format {
    /// True when one of the format's magics stands in the window.
    ///
    /// # Errors
    /// [`ReadError`] when bytes that must be looked at cannot be read.
    pub fn has_magic(&self, window: &Window<'_>) -> Result<bool, ReadError> {
        for magic in self.magics {
            if window.matches(magic.offset, magic.bytes)? {
                return Ok(true);
            }
        }
        for magic in self.tail {
            let at = window.size().get().checked_sub(magic.offset);
            if let Some(at) = at
                && window.matches(at, magic.bytes)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
