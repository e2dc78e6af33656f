//! Finds a file on an ext2, ext3 or ext4 filesystem.

use straddle_geometry::{Bytes, Extent};
use straddle_stack::{Oddity, OddityKind};

use super::NEEDS_RECOVERY;
use super::volume::{
    BLOCKS, COMPRESSED, COUNT, ENCRYPTED, EXTENTS, FLAGS, INLINE_DATA, Inode, Volume,
};
use crate::find::{Entry, Nearby, NodeKind, PathStyle, Tree, walk};
use crate::{FindError, FoundFile, Window};

const ROOT: u64 = 2;
/// Longest target of a symbolic link.
const LONGEST_LINK: u64 = 4096;

pub(super) fn find(window: &Window<'_>, path: &str) -> Result<FoundFile, FindError> {
    let volume = Volume::open(window)?;
    let (inode, path) = walk(&volume, PathStyle::Unix, path)?;
    if inode.has(COMPRESSED) {
        return Err(FindError::NotRead {
            detail: format!("`{path}` is compressed (e2compr), which is not read"),
        });
    }
    volume.describe(&inode, path)
}

impl Tree for Volume<'_> {
    type Node = Inode;

    fn root(&self) -> Result<Inode, FindError> {
        self.inode(ROOT)
    }

    fn kind(&self, node: &Inode) -> Result<NodeKind, FindError> {
        Ok(match node.mode >> 12 {
            0x8 => NodeKind::File,
            0x4 => NodeKind::Directory,
            0xa => NodeKind::Link(self.target(node)?),
            0x2 | 0x6 => NodeKind::Other("a device"),
            0x1 => NodeKind::Other("a named pipe"),
            0xc => NodeKind::Other("a socket"),
            _ => NodeKind::Other("of no known type"),
        })
    }

    fn look_up(
        &self,
        directory: &Inode,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<Entry<Inode>>, FindError> {
        let Some(number) = self.entry(directory, name, nearby)? else {
            return Ok(None);
        };
        let node = self.inode(number)?;
        let name = name.to_owned();
        Ok(Some(Entry { node, name }))
    }
}

impl Volume<'_> {
    /// Where a symbolic link leads: a short target is in the inode.
    fn target(&self, link: &Inode) -> Result<String, FindError> {
        let len = usize::try_from(link.size.min(LONGEST_LINK)).unwrap_or(0);
        if link.has(ENCRYPTED) {
            return Ok("an encrypted path".to_owned());
        }
        let inside = link.blocks().get(..len);
        if let Some(text) =
            inside.filter(|_| !link.has(EXTENTS) && (len < 60 || link.has(INLINE_DATA)))
        {
            return Ok(String::from_utf8_lossy(text).into_owned());
        }
        let mut text = vec![0; len];
        self.layout(link)?.content.fill(self.window, 0, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn describe(&self, inode: &Inode, path: String) -> Result<FoundFile, FindError> {
        let window = self.window;
        let field = |at: usize| inode.at.saturating_add(at as u64);
        let mut oddities = Vec::new();
        let mut odd = |kind, detail: String, at: u64| {
            oddities.push(Oddity::at(kind, detail, window.source(at, 4)));
        };
        let count = |n: u64| Bytes::new(n).grouped();
        if self.superblock.incompatible.get() & NEEDS_RECOVERY != 0 {
            let detail = "its filesystem has a journal that waits to be replayed: \
                 what is said here may be what was before the last changes";
            let at = super::SUPERBLOCK_AT
                + core::mem::offset_of!(super::Superblock, incompatible) as u64;
            odd(OddityKind::Pending, detail.to_owned(), at);
        }
        if inode.has(ENCRYPTED) {
            let detail = "it is encrypted: what lies at its places is not what a program reads";
            odd(OddityKind::Encrypted, detail.to_owned(), field(FLAGS));
        }
        let mut found = FoundFile {
            path,
            size: self.size_fact(inode),
            allocated: window.fact(Bytes::new(inode.allocated), field(COUNT), 4),
            segments: Vec::new(),
            placement: None,
            unwritten: Vec::new(),
            oddities: Vec::new(),
        };
        if inode.has(INLINE_DATA) {
            let detail = format!("its {} bytes lie in its inode", count(inode.size));
            odd(OddityKind::Inline, detail, field(FLAGS));
            let len = inode.size.min(inode.blocks().len() as u64);
            let place = Extent::new(Bytes::new(field(BLOCKS)), Bytes::new(len));
            found.placement = place
                .filter(|place| !place.is_empty())
                .map(|place| window.fact(place, field(BLOCKS), 16));
            found.oddities = oddities;
            return Ok(found);
        }
        let layout = self.layout(inode)?;
        found.segments = layout.content.into_segments(inode.size);
        found.unwritten = layout.unwritten;
        let located: u64 = found.segments.iter().map(|s| s.upper.len().get()).sum();
        let holes = inode.size.saturating_sub(located);
        if holes > 0 {
            let detail = format!("{} of {} bytes are holes", count(holes), count(inode.size));
            odd(OddityKind::Sparse, detail, field(BLOCKS));
        }
        if let (Some(first), Some((at, len))) = (found.segments.first(), layout.first) {
            let place = Extent::new(first.lower, first.upper.len());
            found.placement = place.map(|place| window.fact(place, at, len));
            if let Some(part) = found.unwritten.first() {
                let detail = format!(
                    "{} of {} bytes, the first at byte {}, have a place but were never written",
                    count(found.unwritten.iter().map(|p| p.len().get()).sum()),
                    count(inode.size),
                    part.start().grouped()
                );
                odd(OddityKind::Unwritten, detail, at);
            }
        }
        found.oddities = oddities;
        Ok(found)
    }
}
