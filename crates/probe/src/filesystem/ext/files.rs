//! Finds a file on an ext2, ext3 or ext4 filesystem.

use straddle_geometry::{Bytes, Extent};
use straddle_stack::{Anomaly, AnomalyKind};

use super::NEEDS_RECOVERY;
use super::volume::{
    BLOCKS, COMPRESSED, COUNT, ENCRYPTED, EXTENTS, FLAGS, INLINE_DATA, Inode, Volume,
};
use crate::find::{Entry, Nearby, NodeKind, PathStyle, Tree, walk};
use crate::{FindError, FoundFile, Window};

const ROOT: u64 = 2;
/// Longest target of a symbolic link.
const MAX_LINK: u64 = 4096;

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
        NodeKind::of_mode(node.mode, || self.target(node))
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
        let len = usize::try_from(link.size.min(MAX_LINK)).unwrap_or(0);
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
        let mut anomalies = Vec::new();
        let mut odd = |kind, detail: String, at: u64| {
            anomalies.push(Anomaly::at(kind, detail, window.source(at, 4)));
        };
        if self.superblock.incompatible.get() & NEEDS_RECOVERY != 0 {
            let detail = "its filesystem has a journal that waits to be replayed: \
                 what is said here may be what was before the last changes";
            let at = super::SUPERBLOCK_AT
                + core::mem::offset_of!(super::Superblock, incompatible) as u64;
            odd(AnomalyKind::Pending, detail.to_owned(), at);
        }
        if inode.has(ENCRYPTED) {
            let detail = "it is encrypted: what lies at its places is not what a program reads";
            odd(AnomalyKind::Encrypted, detail.to_owned(), field(FLAGS));
        }
        let size = self.size_fact(inode);
        let allocated = window.fact(Bytes::new(inode.allocated), field(COUNT), 4);
        if !inode.has(INLINE_DATA) {
            let layout = self.layout(inode)?;
            return Ok(layout.found(window, path, size, allocated, anomalies));
        }
        let detail = format!("its {} bytes lie in its inode", size.value.grouped());
        odd(AnomalyKind::Inline, detail, field(FLAGS));
        let len = inode.size.min(inode.blocks().len() as u64);
        let place = Extent::new(Bytes::new(field(BLOCKS)), Bytes::new(len));
        let place = place.filter(|place| !place.is_empty());
        Ok(FoundFile {
            path,
            size,
            allocated,
            segments: Vec::new(),
            placement: place.map(|place| window.fact(place, field(BLOCKS), 16)),
            unwritten: Vec::new(),
            anomalies,
        })
    }
}
