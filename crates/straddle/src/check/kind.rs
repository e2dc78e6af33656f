//! What a target can be, and what decides.

/// What a target is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A disk image by itself.
    Image,
    /// A file with extents on this machine's disks.
    File,
    /// What tools printed on some machine.
    Text,
    /// A host that `straddle capture` wrote down.
    Capture,
    /// A host of which a support tool collected what its commands print.
    Support,
    /// An archive, or a packed file: what is in it counts.
    Archive,
    /// The filesystem that a directory lies on.
    Place,
    /// What lies in a directory.
    Collection,
}

/// A kind of target, as it is documented.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The kind.
    pub kind: Kind,
    /// What is typed after `--as`.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// What decides that a target is one.
    pub told_by: &'static str,
}

/// All kinds. Where several fit, the first that the content shows is taken, in the order of the page on targets.
pub const KINDS: &[About] = &[
    About {
        kind: Kind::Image,
        name: "image",
        title: "a disk image, raw or a virtual disk",
        told_by: "a partition table, a filesystem, a member of an array or of a volume group, or the header of a virtual disk in it",
    },
    About {
        kind: Kind::File,
        name: "file",
        title: "a file on this machine: its extents, the filesystem and the disks below",
        told_by: "a file that was named and is nothing else, such as a database's",
    },
    About {
        kind: Kind::Text,
        name: "text",
        title: "text: what tools printed on some machine",
        told_by: "text in which the output of a known tool is found, with a value in it",
    },
    About {
        kind: Kind::Capture,
        name: "capture",
        title: "a host, captured by `straddle capture`",
        told_by: "an archive or a directory with sys/block or .straddle/ at its top, or text with a path of these in each line",
    },
    About {
        kind: Kind::Support,
        name: "support",
        title: "a host, in what a support tool collected or wrote of it: sosreport, supportconfig, vm-support, pvereport, msinfo32, the scripts in collect/",
        told_by: "the names of its members, such as sos_commands/; of a text, the titles that only that program writes",
    },
    About {
        kind: Kind::Archive,
        name: "archive",
        title: "what lies in a tar archive, an OVA or a packed file",
        told_by: "the header of a tar archive, or of gzip, bzip2, xz or zstd",
    },
    About {
        kind: Kind::Place,
        name: "place",
        title: "the filesystem that a directory lies on, down to the disks, and its largest files",
        told_by: "a directory in which no image, capture or host lies",
    },
    About {
        kind: Kind::Collection,
        name: "collection",
        title: "the images, captures and hosts that lie in a directory",
        told_by: "a directory in which one of these lies",
    },
];

impl Kind {
    /// The kind that is typed so.
    #[must_use]
    pub fn named(name: &str) -> Option<Kind> {
        let about = KINDS.iter().find(|about| about.name == name)?;
        Some(about.kind)
    }

    /// What is typed after `--as`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let about = KINDS.iter().find(|about| about.kind == self);
        about.map_or("", |about| about.name)
    }
}
