//! md's write-intent bitmap: before a chunk is written to for the first time, its bit is set on every member.

use super::{Fragment, To};
use crate::kernel::Time;
use crate::model::{Model, Operation};
use crate::profile::{Key, Refusal, Section};

const CHUNK: Key = Key::bytes(
    "chunk",
    4096.0,
    1e12,
    "Bytes of the array that a bit stands for.",
)
.or(67_108_864.0, "mdadm's usual 64 MiB");
const PAGE: Key = Key::bytes(
    "page",
    512.0,
    65_536.0,
    "Bytes in which the bitmap is written; its last page only as far as it goes, in sectors of 512 bytes.",
)
.or(4096.0, "a page of memory");
const LAST_PAGE: Key = Key::bytes(
    "last_page",
    512.0,
    65_536.0,
    "Bytes that are written of the last page, where they are known. Without it, they follow from the array's size and the chunk.",
)
.optional();
const START: Key = Key::bytes(
    "start",
    0.0,
    1e12,
    "Where the bitmap begins on each member.",
)
.or(8192.0, "behind the superblock of version 1.2");
const DELAY: Key = Key::time(
    "delay",
    0.0,
    3600.0,
    "A bit is cleared so long after the last write to its chunk; until then, writes need not set it.",
)
.or(5.0, "md's default");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "bitmap",
    title: "md bitmap",
    keys: &[&CHUNK, &PAGE, &LAST_PAGE, &START, &DELAY],
};

/// Bytes of the bitmap's own superblock, in its first page.
const SUPERBLOCK: u64 = 256;
/// Most chunks.
const MAX: u64 = 1 << 21;

/// Bits of an array.
#[derive(Debug)]
pub(super) struct Bitmap {
    chunk: u64,
    page: u64,
    start: u64,
    /// Bytes of the whole bitmap that are written.
    len: u64,
    delay: Time,
    /// For each chunk, until when its bit is set.
    set: Vec<Time>,
}

impl Bitmap {
    pub(super) fn build(section: &Section, capacity: u64, member: u64) -> Result<Bitmap, Refusal> {
        let chunk = section.whole(&CHUNK);
        let chunks = capacity.div_ceil(chunk);
        if chunks > MAX {
            let least = capacity.div_ceil(MAX);
            let expected = format!("at least {least} bytes: an array has up to {MAX} chunks");
            return Err(section.refuse(&CHUNK, expected));
        }
        let page = section.whole(&PAGE);
        if !page.is_multiple_of(512) {
            return Err(section.refuse(&PAGE, "a multiple of 512 bytes"));
        }
        let bytes = SUPERBLOCK + chunks.div_ceil(8);
        let mut len = bytes.next_multiple_of(512);
        if section.optional(&LAST_PAGE).is_some() {
            let last = section.whole(&LAST_PAGE);
            if last > page || !last.is_multiple_of(512) {
                let expected = format!("a multiple of 512 bytes, at most a page's {page}");
                return Err(section.refuse(&LAST_PAGE, expected));
            }
            len = (bytes.div_ceil(page) - 1) * page + last;
        }
        let start = section.whole(&START);
        if start.saturating_add(len) > member {
            let expected = format!("room for {len} bytes on a member of {member}");
            return Err(section.refuse(&START, expected));
        }
        Ok(Bitmap {
            chunk,
            page,
            start,
            len,
            delay: section.time(&DELAY),
            set: vec![Time::ZERO; usize::try_from(chunks).unwrap_or(0)],
        })
    }

    /// Bytes that are written of a page.
    fn page(&self, number: u64) -> Operation {
        let at = number * self.page;
        // Where a length was given, bits may lie behind it: what is written then is the last page.
        let last = (self.len - 1) / self.page * self.page;
        let at = at.min(last);
        Operation::write(self.start + at, self.page.min(self.len - at))
    }

    /// A fragment goes down; if it writes to chunks whose bits are not set, they are written first.
    pub(super) fn mark(&mut self, now: Time, fragment: Fragment, out: &mut Vec<Fragment>) {
        let phase = fragment.phase * 2;
        if !fragment.operation.is_read() && fragment.to == To::Array {
            let first = fragment.operation.start / self.chunk;
            let last = (fragment.operation.end() - 1) / self.chunk;
            let mut written = None;
            for chunk in first..=last {
                let Some(set) = usize::try_from(chunk)
                    .ok()
                    .and_then(|at| self.set.get_mut(at))
                else {
                    continue;
                };
                let is_set = *set > now;
                *set = now + self.delay;
                let page = (SUPERBLOCK + chunk / 8) / self.page;
                if !is_set && written != Some(page) {
                    written = Some(page);
                    out.push(Fragment {
                        operation: self.page(page),
                        phase,
                        is_background: fragment.is_background,
                        to: To::EachMember,
                    });
                }
            }
        }
        out.push(Fragment {
            phase: phase + 1,
            ..fragment
        });
    }
}
