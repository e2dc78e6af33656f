//! A volume group as its text describes it: physical volumes, logical volumes and their segments.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Unit};

use super::text::{Node, ROOT, Tree};

/// Sizes in the text are in sectors of this many bytes.
pub(super) const SECTOR: u64 = 512;

/// A volume group.
pub(super) struct Group {
    pub(super) tree: Tree,
    pub(super) section: Node,
    pub(super) name: String,
    pub(super) id: String,
    /// Revision of the metadata.
    pub(super) revision: u64,
    /// Length of an extent.
    pub(super) extent: Option<Unit>,
    pub(super) physical: Vec<Physical>,
    pub(super) logical: Vec<Logical>,
    physical_names: BTreeMap<String, usize>,
    logical_names: BTreeMap<String, usize>,
}

/// A physical volume.
pub(super) struct Physical {
    pub(super) id: String,
    /// Where its first extent lies, in sectors.
    pub(super) start: u64,
    /// Number of its extents.
    pub(super) count: u64,
    pub(super) section: Node,
}

/// A logical volume.
pub(super) struct Logical {
    pub(super) name: String,
    pub(super) is_visible: bool,
    /// By first extent.
    pub(super) segments: Vec<Segment>,
    pub(super) section: Node,
}

/// A run of extents of a logical volume.
pub(super) struct Segment {
    /// First extent, and how many.
    pub(super) start: u64,
    pub(super) count: u64,
    /// How they lie below: `striped`, `raid5_ls`; without the flags that may follow.
    pub(super) kind: String,
    pub(super) section: Node,
}

/// What a part of a segment lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lower {
    Physical(usize),
    Logical(usize),
}

impl Group {
    /// The group that a text is about; `None` when it is about none.
    pub(super) fn of(tree: Tree) -> Option<Group> {
        let section = tree
            .children(ROOT)
            .find(|node| tree.is_section(*node) && tree.number(*node, "seqno").is_some())?;
        let extent = tree.number(section, "extent_size");
        let extent = extent.and_then(|sectors| Unit::new(sectors.checked_mul(SECTOR)?));
        let sections = |name| -> Vec<Node> {
            let list = tree.get(section, name);
            let all = list.map(|list| tree.children(list).filter(|node| tree.is_section(*node)));
            all.map(Iterator::collect).unwrap_or_default()
        };
        let (mut physical, mut physical_names) = (Vec::new(), BTreeMap::new());
        for node in sections("physical_volumes") {
            physical_names.insert(tree.name(node), physical.len());
            physical.push(Physical {
                id: tree.text(node, "id").unwrap_or_default(),
                start: tree.number(node, "pe_start").unwrap_or(0),
                count: tree.number(node, "pe_count").unwrap_or(0),
                section: node,
            });
        }
        let (mut logical, mut logical_names) = (Vec::new(), BTreeMap::new());
        for node in sections("logical_volumes") {
            logical_names.insert(tree.name(node), logical.len());
            logical.push(Logical {
                name: tree.name(node),
                is_visible: tree.has(node, "status", "VISIBLE"),
                segments: segments(&tree, node),
                section: node,
            });
        }
        Some(Group {
            section,
            name: tree.name(section),
            id: tree.text(section, "id")?,
            revision: tree.number(section, "seqno")?,
            extent,
            physical,
            logical,
            physical_names,
            logical_names,
            tree,
        })
    }

    /// The length of this many extents.
    pub(super) fn length(&self, extents: u64) -> Option<Bytes> {
        self.extent?.bytes().checked_mul(extents)
    }

    /// What is called so: a physical volume sooner than a logical one.
    pub(super) fn find(&self, name: &str) -> Option<Lower> {
        let physical = self.physical_names.get(name).copied().map(Lower::Physical);
        physical.or_else(|| self.find_logical(name).map(Lower::Logical))
    }

    pub(super) fn find_logical(&self, name: &str) -> Option<usize> {
        self.logical_names.get(name).copied()
    }

    /// The logical volume that an entry of a segment names.
    pub(super) fn named(&self, segment: &Segment, key: &str) -> Option<usize> {
        self.find_logical(&self.tree.text(segment.section, key)?)
    }

    /// The physical volume with this identifier.
    pub(super) fn physical_of(&self, id: &str) -> Option<&Physical> {
        self.physical.iter().find(|physical| physical.id == id)
    }

    /// The first segment of a logical volume, when it is of this kind.
    pub(super) fn only(&self, logical: usize, kind: &str) -> Option<&Segment> {
        let first = self.logical.get(logical)?.segments.first()?;
        (first.kind == kind).then_some(first)
    }
}

fn segments(tree: &Tree, logical: Node) -> Vec<Segment> {
    let mut out: Vec<Segment> = tree
        .children(logical)
        .filter(|node| tree.is_section(*node))
        .filter_map(|node| {
            let kind = tree.text(node, "type")?;
            let kind = kind.split('+').next().unwrap_or_default().to_owned();
            Some(Segment {
                start: tree.number(node, "start_extent")?,
                count: tree.number(node, "extent_count")?,
                kind,
                section: node,
            })
        })
        .collect();
    out.sort_by_key(|segment| segment.start);
    out
}
