//! Finds a file on an XFS filesystem.

use straddle_geometry::{Bytes, Extent};
use straddle_stack::{Anomaly, AnomalyKind};

use super::volume::{BLOCKS, Format, Inode, SIZE, Volume};
use crate::find::{Entry, Nearby, NodeKind, PathStyle, Tree, walk};
use crate::{FindError, FoundFile, Window};

/// Longest target of a symbolic link.
const MAX_LINK: u64 = 1024;
/// From version 5, a target outside the inode has a header.
const LINK_MAGIC: &[u8] = b"XSLM";
const LINK_HEADER: usize = 56;

pub(super) fn find(window: &Window<'_>, path: &str) -> Result<FoundFile, FindError> {
    let volume = Volume::open(window)?;
    let (inode, path) = walk(&volume, PathStyle::Unix, path)?;
    volume.describe(&inode, path)
}

impl Tree for Volume<'_> {
    type Node = Inode;

    fn root(&self) -> Result<Inode, FindError> {
        self.inode(self.superblock.root_inode.get())
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
    /// Where a symbolic link leads.
    fn target(&self, link: &Inode) -> Result<String, FindError> {
        let len = usize::try_from(link.size.min(MAX_LINK)).unwrap_or(0);
        if link.format == Format::Local {
            let text = link.fork.get(..len).unwrap_or(&link.fork);
            return Ok(String::from_utf8_lossy(text).into_owned());
        }
        let mut bytes = vec![0; len + LINK_HEADER];
        self.layout(link)?
            .content
            .fill(self.window, 0, &mut bytes)?;
        let skipped = if bytes.starts_with(LINK_MAGIC) {
            LINK_HEADER
        } else {
            0
        };
        let text = bytes.get(skipped..skipped + len).unwrap_or(&[]);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn describe(&self, inode: &Inode, path: String) -> Result<FoundFile, FindError> {
        let window = self.window;
        let field = |at: usize| inode.at.saturating_add(at as u64);
        let size = window.fact(Bytes::new(inode.size), field(SIZE), 8);
        let allocated = Bytes::new(inode.blocks.saturating_mul(self.block));
        let allocated = window.fact(allocated, field(BLOCKS), 8);
        let mut anomalies = Vec::new();
        if inode.format != Format::Local && !inode.is_realtime {
            let layout = self.layout(inode)?;
            return Ok(layout.found(window, path, size, allocated, anomalies));
        }
        let mut placement = None;
        if inode.is_realtime {
            let detail = "its data is on the realtime device";
            let source = window.source(field(90), 2);
            anomalies.push(Anomaly::at(AnomalyKind::Elsewhere, detail, source));
        } else {
            let detail = format!("its {} bytes lie in its inode", size.value.grouped());
            let source = window.source(field(5), 1);
            anomalies.push(Anomaly::at(AnomalyKind::Inline, detail, source));
            let len = inode.size.min(inode.fork.len() as u64);
            let place = Extent::new(Bytes::new(field(inode.fork_at)), Bytes::new(len));
            placement = place
                .filter(|place| !place.is_empty())
                .map(|place| window.fact(place, field(inode.fork_at), 16));
        }
        Ok(FoundFile {
            path,
            size,
            allocated,
            segments: Vec::new(),
            placement,
            unwritten: Vec::new(),
            anomalies,
        })
    }
}
