//! What software above the array does to requests: block maps, limits on their length, journals, bitmaps.
//!
//! Each layer turns one operation into fragments. Fragments of a later phase start when all of the earlier one have ended;
//! those in the background hold nothing up. See `docs/models/soft.md`.

pub(crate) mod bitmap;
pub(crate) mod blocks;
mod fragment;
pub(crate) mod host;
pub(crate) mod integrity;

pub(crate) use self::fragment::{Fragment, To};

use self::bitmap::Bitmap;
use self::blocks::Blocks;
use self::integrity::Integrity;
use super::device::Operation;
use crate::kernel::Time;
use crate::profile::{Profile, Refusal};

/// The software layers of a system, highest first.
#[derive(Debug)]
pub(crate) struct Soft {
    capacity: u64,
    blocks: Option<Blocks>,
    /// Longest request that goes down.
    longest: Option<u64>,
    integrity: Option<Integrity>,
    bitmap: Option<Bitmap>,
    // Buffers, so that a run does not allocate.
    pieces: Vec<Operation>,
    fragments: Vec<Fragment>,
}

impl Soft {
    /// As the profile says, on an array that holds `capacity` bytes and whose members hold `member` bytes each.
    pub(crate) fn build(profile: &Profile, capacity: u64, member: u64) -> Result<Soft, Refusal> {
        let bitmap = profile
            .section(bitmap::MODEL.section)
            .map(|section| Bitmap::build(section, capacity, member))
            .transpose()?;
        let integrity = profile
            .section(integrity::MODEL.section)
            .map(|section| Integrity::build(section, capacity))
            .transpose()?;
        let capacity = integrity.as_ref().map_or(capacity, Integrity::capacity);
        let blocks = profile
            .section(blocks::MODEL.section)
            .map(|section| Blocks::build(section, capacity))
            .transpose()?;
        Ok(Soft {
            capacity: blocks.as_ref().map_or(capacity, Blocks::capacity),
            blocks,
            longest: profile.section(host::MODEL.section).map(host::longest),
            integrity,
            bitmap,
            pieces: Vec::new(),
            fragments: Vec::new(),
        })
    }

    /// Bytes that the host sees.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// True when requests pass unchanged.
    pub(crate) fn is_absent(&self) -> bool {
        self.blocks.is_none()
            && self.longest.is_none()
            && self.integrity.is_none()
            && self.bitmap.is_none()
    }

    /// What becomes of a host's operation, in phases that ascend.
    pub(crate) fn translate(&mut self, now: Time, operation: Operation, out: &mut Vec<Fragment>) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        match &self.blocks {
            Some(blocks) => blocks.map(operation, &mut pieces),
            None => pieces.push(operation),
        }
        let mut fragments = std::mem::take(&mut self.fragments);
        fragments.clear();
        for piece in &pieces {
            host::split(*piece, self.longest, |operation| {
                match &mut self.integrity {
                    Some(integrity) => integrity.map(operation, &mut fragments),
                    None => fragments.push(Fragment {
                        operation,
                        phase: 0,
                        is_background: false,
                        to: To::Array,
                    }),
                }
            });
        }
        match &mut self.bitmap {
            Some(bitmap) => {
                for fragment in &fragments {
                    bitmap.mark(now, *fragment, out);
                }
            }
            None => out.extend_from_slice(&fragments),
        }
        if out.len() > 1 {
            out.sort_by_key(|fragment| fragment.phase);
        }
        self.pieces = pieces;
        self.fragments = fragments;
    }
}

#[cfg(test)]
mod tests;
