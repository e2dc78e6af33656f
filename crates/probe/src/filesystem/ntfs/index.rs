//! NTFS directories: a B+-tree of file names, sorted by their upper-case forms.
//!
//! ```text
//! $INDEX_ROOT   0  0x30: names (4)     block   0  "INDX"              node   0  where the entries are (4)
//!               8  bytes a block (4)           4  fixups (2, 2)              4  where they end (4)
//!              16  node                       16  its own address (8)
//!                                             24  node
//!
//! entry   0  reference to the record (8)      name  56  flags (4)
//!         8  length (2)                             64  letters (1)
//!        10  length of the name's structure (2)     65  kind: 2 is a short name for DOS (1)
//!        12  1: a node below, 2: the last (2)       66  the name, UTF-16
//!        16  the name's structure
//!      last 8 bytes: address of the node below
//! ```
//!
//! Addresses of blocks count clusters, or 512 bytes when a block is smaller than a cluster. The bitmap of blocks is not
//! needed: what the tree does not lead to is not part of it.
//!
//! Source: Linux-NTFS documentation, "Directory", "Index record".

use super::record::{Record, undo_fixups};
use super::volume::{LARGEST_RECORD, Volume};
use super::{u16_at, u32_at};
use crate::filesystem::content::Content;
use crate::find::{Flaw, Nearby};
use crate::{FindError, Window};
use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::U64;

const INDEX_ROOT: u32 = 0x90;
const INDEX_ALLOCATION: u32 = 0xa0;
/// `$I30`: the index of names.
const NAMES: &[u8] = b"$\0I\x003\x000\0";
const NAME_ATTRIBUTE: u32 = 0x30;

/// A tree that branches as little as it can has fewer levels than this for 2^48 names.
const MAX_DEPTH: usize = 32;

const NODE_BELOW: usize = 1;
const LAST: usize = 2;
const ENTRY: usize = 16;
const NAME_LETTERS: usize = 64;
const NAME_KIND: usize = 65;
const NAME: usize = 66;
const DOS_NAME: u8 = 2;

/// What a search is for.
struct Wanted {
    name: Vec<u16>,
    /// Upper-case.
    upper: Vec<u16>,
    /// Only the name in this very case will do.
    exactly: bool,
}

/// Where a node leads.
enum Step {
    Found { reference: u64, name: String },
    Below(u64),
    Absent,
}

/// A node of the tree: in the root attribute, or in a block.
struct Node {
    bytes: Vec<u8>,
    /// Where the header of the node is in `bytes`.
    header: usize,
    /// Where the bytes are in the window.
    at: u64,
}

impl Volume<'_> {
    /// Looks up a name: in this very case, and if there is none, in any. Returns the reference to its record and the name
    /// as the directory has it.
    pub(super) fn entry(
        &self,
        directory: &Record,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<(u64, String)>, FindError> {
        let name: Vec<u16> = name.encode_utf16().collect();
        let upper = self.uppers(&name)?;
        let mut wanted = Wanted {
            name,
            upper,
            exactly: true,
        };
        let index = Index::of(self, directory)?;
        for exactly in [true, false] {
            wanted.exactly = exactly;
            let found = index.search(self, &wanted, nearby)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn uppers(&self, name: &[u16]) -> Result<Vec<u16>, FindError> {
        name.iter().map(|unit| self.upper(*unit)).collect()
    }
}

/// The index of a directory.
struct Index {
    root: Node,
    blocks: Content,
    block: u64,
    /// What the address of a block is multiplied by.
    unit: u64,
}

impl Index {
    fn of(volume: &Volume<'_>, directory: &Record) -> Result<Index, FindError> {
        let root = volume.stream(directory, INDEX_ROOT, NAMES)?;
        let Some((at, bytes)) = root.and_then(|root| root.resident) else {
            let flaw = Flaw::new(0, "a directory without $INDEX_ROOT", "one in the record");
            return Err(volume.flaw(directory.number, flaw));
        };
        let flaw = |flaw: Flaw| flaw.inside(volume.window, at, "$INDEX_ROOT");
        if u32_at(&bytes, 0) != Some(NAME_ATTRIBUTE) {
            return Err(flaw(Flaw::new(
                0,
                "an index of other things",
                "one of names, 0x30",
            )));
        }
        let block = u64::from(u32_at(&bytes, 8).unwrap_or(0));
        if !block.is_power_of_two() || !(512..=LARGEST_RECORD).contains(&block) {
            let found = format!("blocks of {block} bytes");
            let expected = "a power of two from 512 bytes to 64 KiB";
            return Err(flaw(Flaw::new(8, found, expected)));
        }
        let blocks = volume.stream(directory, INDEX_ALLOCATION, NAMES)?;
        let cluster = volume.geometry.cluster;
        Ok(Index {
            root: Node {
                bytes,
                header: 16,
                at,
            },
            blocks: blocks.map(|blocks| blocks.content).unwrap_or_default(),
            block,
            unit: if cluster <= block { cluster } else { 512 },
        })
    }

    /// Descends from the root.
    fn search(
        &self,
        volume: &Volume<'_>,
        wanted: &Wanted,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<(u64, String)>, FindError> {
        let mut below: Option<Node> = None;
        for _ in 0..MAX_DEPTH {
            let node = below.as_ref().unwrap_or(&self.root);
            match node.step(volume, wanted, nearby)? {
                Step::Found { reference, name } => return Ok(Some((reference, name))),
                Step::Absent => return Ok(None),
                Step::Below(address) => {
                    let from = node.at;
                    below = Some(self.node(volume, address, from)?);
                }
            }
        }
        Err(FindError::Limit {
            what: "levels of a directory's tree".to_owned(),
            limit: MAX_DEPTH as u64,
        })
    }

    /// Reads the block with the given address; `from` is the node that leads there.
    fn node(&self, volume: &Volume<'_>, address: u64, from: u64) -> Result<Node, FindError> {
        let offset = address.checked_mul(self.unit);
        let place = offset.and_then(|offset| Some((offset, self.blocks.locate(offset)?.0)));
        let Some((offset, at)) = place else {
            let found = format!("a node below at address {address}");
            let expected = format!("one in {} bytes of blocks", self.blocks.end());
            return Err(Flaw::new(0, found, expected).inside(volume.window, from, "index node"));
        };
        let mut bytes = vec![0; usize::try_from(self.block).unwrap_or(0)];
        self.blocks.fill(volume.window, offset, &mut bytes)?;
        let flaw = |flaw: Flaw| flaw.inside(volume.window, at, "index block");
        undo_fixups(&mut bytes, b"INDX").map_err(flaw)?;
        match u64_at(&bytes, 16) {
            Some(own) if own == address => Ok(Node {
                bytes,
                header: 24,
                at,
            }),
            own => {
                let found = format!("a block for address {}", own.unwrap_or(0));
                Err(flaw(Flaw::new(16, found, format!("{address}, its own"))))
            }
        }
    }
}

impl Node {
    fn flaw(&self, window: &Window<'_>, at: usize, found: &str, expected: &str) -> FindError {
        Flaw::new(at, found, expected).inside(window, self.at, "index node")
    }

    /// Looks for the first entry that is not before the name.
    fn step(
        &self,
        volume: &Volume<'_>,
        wanted: &Wanted,
        nearby: &mut Nearby<'_>,
    ) -> Result<Step, FindError> {
        let window = volume.window;
        let bound = |at| {
            let value = usize::try_from(u32_at(&self.bytes, self.header + at)?).ok()?;
            value.checked_add(self.header)
        };
        let entries = bound(0).zip(bound(4));
        let Some((mut at, end)) = entries.filter(|(_, end)| *end <= self.bytes.len()) else {
            let expected = "entries inside the node";
            return Err(self.flaw(window, self.header, "bounds behind its end", expected));
        };
        // Every entry has at least 16 bytes, so the loop ends with the node.
        loop {
            let len = at.checked_add(8).and_then(|at| u16_at(&self.bytes, at));
            let stop = len.and_then(|len| at.checked_add(len));
            let whole = stop.filter(|stop| *stop <= end && *stop >= at + ENTRY);
            let entry = whole.and_then(|stop| self.bytes.get(at..stop));
            let (Some(stop), Some(entry)) = (whole, entry) else {
                let expected = "16 bytes or more, up to a last entry inside the node";
                return Err(self.flaw(window, at, "no whole entry", expected));
            };
            let flags = u16_at(entry, 12).unwrap_or(LAST);
            let order = if flags & LAST != 0 {
                std::cmp::Ordering::Greater
            } else {
                let units = name_of(entry).ok_or_else(|| {
                    self.flaw(window, at, "a name cut short", "one inside its entry")
                })?;
                let order = volume.compare(&units, wanted)?;
                let name = String::from_utf16_lossy(&units);
                if order.is_eq() {
                    let reference = u64_at(entry, 0).unwrap_or(0);
                    return Ok(Step::Found { reference, name });
                }
                if entry.get(ENTRY + NAME_KIND) != Some(&DOS_NAME) {
                    nearby.offer(&name);
                }
                order
            };
            if order.is_gt() {
                if flags & NODE_BELOW == 0 {
                    return Ok(Step::Absent);
                }
                let address = entry.len().checked_sub(8).and_then(|at| u64_at(entry, at));
                return Ok(address.map_or(Step::Absent, Step::Below));
            }
            at = stop;
        }
    }
}

impl Volume<'_> {
    /// How a name of the directory compares to the one that is looked for.
    fn compare(&self, name: &[u16], wanted: &Wanted) -> Result<std::cmp::Ordering, FindError> {
        for (have, want) in name.iter().zip(&wanted.upper) {
            let order = self.upper(*have)?.cmp(want);
            if order.is_ne() {
                return Ok(order);
            }
        }
        let order = name.len().cmp(&wanted.upper.len());
        if order.is_ne() || !wanted.exactly {
            return Ok(order);
        }
        Ok(name.cmp(&wanted.name))
    }
}

fn name_of(entry: &[u8]) -> Option<Vec<u16>> {
    let letters = usize::from(*entry.get(ENTRY + NAME_LETTERS)?);
    let bytes = entry.get(ENTRY + NAME..ENTRY + NAME + 2 * letters)?;
    let (pairs, _) = bytes.as_chunks();
    Some(pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let (value, _) = U64::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(value.get())
}
