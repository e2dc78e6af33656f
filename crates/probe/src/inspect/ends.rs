//! The ends of a window, where most metadata stand: each is fetched in one read.

use crate::Window;

/// Every superblock that is looked for lies in the first bytes of its volume, or in the block after 64 KiB (btrfs).
pub(super) const HEAD: u64 = 8192;

/// Where md 1.0, DDF and Intel Matrix have their metadata: the last blocks.
const TAIL: u64 = 12 << 10;

/// Fetches what stands at the end (md 1.0, DDF, Intel Matrix, the copy of a GPT) in one read.
pub(crate) fn prefetch_tail(window: &Window<'_>) {
    window.prefetch(window.size().get().saturating_sub(TAIL), TAIL);
}
