//! The parameters of a cache.

use crate::model::Model;
use crate::profile::Key;

/// Most pages of a cache: what bounds its memory here.
pub(super) const MAX_PAGES: u64 = 1 << 19;

pub(super) const SIZE: Key = Key::bytes("size", 65_536.0, 1e12, "Bytes of data that it holds.");
pub(super) const PAGE: Key = Key::bytes(
    "page",
    512.0,
    65_536.0,
    "Bytes of a page, what is kept or given up at once; a power of two. At most 524,288 pages.",
);
pub(super) const WRITE: Key = Key::word(
    "write",
    &["back", "through"],
    "Whether a write is answered when it is in the cache, or when it is in the array.",
)
.or_word("back", "the reason for which arrays have a cache");
pub(super) const READ: Key = Key::word(
    "read",
    &["on", "off"],
    "Whether what was read, and what was destaged, is kept for later reads.",
)
.or_word(
    "off",
    "random reads of far more than the cache holds gain nothing",
);
pub(super) const PARTIAL: Key = Key::word(
    "partial",
    &["sectors", "backfill"],
    "What happens to a page of which only a part was written: that part alone is destaged, or the rest is read first and \
     the whole page destaged.",
)
.or_word("sectors", "nothing is read without need");
pub(super) const HIGH: Key = Key::number(
    "high",
    0.001,
    1.0,
    "of the pages",
    "High-water mark: when so many pages wait to be destaged, further writes wait for room.",
)
.or(0.8, "room is left for reads");
pub(super) const LOW: Key = Key::number(
    "low",
    0.0,
    1.0,
    "of the pages",
    "Low-water mark: so many pages may stay without being destaged.",
)
.or(0.0, "what is dirty is destaged at once");
pub(super) const DESTAGES: Key = Key::count(
    "destages",
    1.0,
    65_536.0,
    "Destages under way at once; each is one run of adjacent pages. More of them let members choose what is near.",
);
pub(super) const IDLE: Key = Key::time(
    "idle",
    0.0,
    3600.0,
    "After so long without a command, what is left below the low-water mark is destaged too.",
)
.optional();
pub(super) const MIRROR: Key = Key::time(
    "mirror",
    0.0,
    1.0,
    "Time from when a write is in the cache until it is answered: a copy to the other controller, for one. It occupies nothing.",
)
.or(0.0, "a single controller has nothing to copy to");
pub(super) const READ_AHEAD: Key = Key::bytes(
    "read_ahead",
    0.0,
    1e9,
    "Bytes read ahead of a sequential stream of reads.",
)
.or(0.0, "nothing is read before it is asked for");
pub(super) const STREAMS: Key = Key::count(
    "streams",
    1.0,
    1024.0,
    "Sequential streams that are told apart; the one that was idle longest is forgotten for a new one.",
)
.or(16.0, "as many as a few backups at once need");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "cache",
    title: "Cache",
    keys: &[
        &SIZE,
        &PAGE,
        &WRITE,
        &READ,
        &PARTIAL,
        &HIGH,
        &LOW,
        &DESTAGES,
        &IDLE,
        &MIRROR,
        &READ_AHEAD,
        &STREAMS,
    ],
};
