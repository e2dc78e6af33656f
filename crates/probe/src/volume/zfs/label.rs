//! The four labels of a vdev, and the ring of uberblocks in each.
//!
//! ```text
//! one label, 256 KiB
//!   0        8 KiB left blank, 8 KiB for a boot loader
//!   16 KiB   112 KiB: the configuration, a name-value list; its last 40 bytes are magic and checksum
//!   128 KiB  128 KiB: a ring of uberblocks of 2^ashift bytes each, 1 KiB at least and 8 KiB at most
//! ```
//!
//! Two labels stand at the beginning of the device and two at the end of its size rounded down to 256 KiB. They are written in
//! turns, so that after a crash one pair is whole.

use straddle_geometry::Bytes;
use straddle_io::ReadError;

use super::nvlist::{self, Lists, MAGICS, Problem};
use crate::Window;

/// Length of a label.
pub(super) const LABEL: u64 = 256 << 10;
/// Where the configuration lies in a label.
const CONFIG: u64 = 16 << 10;
/// Its length with magic and checksum.
const CONFIG_LEN: usize = 112 << 10;
/// Where the uberblocks lie in a label, and their length.
const RING: u64 = 128 << 10;
const RING_LEN: u64 = 128 << 10;
/// Most configurations fit into this; more is read when one does not.
const FIRST_READ: usize = 8 << 10;
/// Magic and checksum at the end of what is sealed.
const SEAL: usize = 40;
const SEAL_MAGIC: u64 = 0x0210_da7a_b10c_7a11;
const UBERBLOCK_MAGIC: u64 = 0x00ba_b10c;

/// A label that has a configuration.
pub(super) struct Label {
    /// Which of the four: 0 to 3.
    pub(super) number: usize,
    /// Where it lies in the window.
    pub(super) at: u64,
    /// What it says.
    pub(super) lists: Lists,
}

impl Label {
    /// Where the value of a pair lies in the window.
    pub(super) fn place(&self, pair: &nvlist::Pair) -> (u64, usize) {
        let at = u64::try_from(pair.at.0).unwrap_or(u64::MAX);
        let at = self.at.saturating_add(CONFIG).saturating_add(at);
        (at, pair.at.1.min(16))
    }

    /// Where its configuration begins in the window.
    pub(super) fn config_at(&self) -> u64 {
        self.at.saturating_add(CONFIG)
    }

    /// The transaction group in which it was written; spares and caches have none.
    pub(super) fn txg(&self) -> u64 {
        self.lists.number(0, "txg").map_or(0, |(txg, _)| txg)
    }
}

/// What was found in the four places.
#[derive(Default)]
pub(super) struct Labels {
    /// Those that can be read, in their order.
    pub(super) sound: Vec<Label>,
    /// Those that begin like one and cannot: number, place, why.
    pub(super) broken: Vec<(usize, u64, String)>,
}

impl Labels {
    /// The one that was written last; of several the first.
    pub(super) fn newest(&self) -> Option<&Label> {
        let newest = self.sound.iter().map(Label::txg).max()?;
        self.sound.iter().find(|label| label.txg() == newest)
    }
}

/// Where the labels of a window lie; `None` when it is too small for them.
pub(super) fn places(size: Bytes) -> Option<[u64; 4]> {
    let end = size.get() & !(LABEL - 1);
    let third = end.checked_sub(2 * LABEL).filter(|at| *at >= 2 * LABEL)?;
    Some([0, LABEL, third, third + LABEL])
}

/// True when a configuration begins in the label at `at`.
pub(super) fn has_magic(window: &Window<'_>, at: u64) -> Result<bool, ReadError> {
    for magic in &MAGICS {
        if window.matches(at.saturating_add(CONFIG), magic)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads the labels at these places.
pub(super) fn read(window: &Window<'_>, places: [u64; 4]) -> Result<Labels, ReadError> {
    let mut labels = Labels::default();
    for (number, at) in places.into_iter().enumerate() {
        if !has_magic(window, at)? {
            continue;
        }
        let mut bytes = vec![0; FIRST_READ];
        window.fill(at + CONFIG, &mut bytes)?;
        let mut parsed = nvlist::parse(&bytes);
        if parsed == Err(Problem::Cut) {
            bytes.resize(CONFIG_LEN - SEAL, 0);
            window.fill(at + CONFIG, &mut bytes)?;
            parsed = nvlist::parse(&bytes);
        }
        match parsed {
            Ok(lists) => labels.sound.push(Label { number, at, lists }),
            Err(Problem::Cut) => {
                let detail = "its configuration goes on behind the label's end".to_owned();
                labels.broken.push((number, at, detail));
            }
            Err(Problem::Wrong(place, what)) => {
                let detail = format!("its configuration, at byte {place}: {what}");
                labels.broken.push((number, at, detail));
            }
        }
    }
    Ok(labels)
}

/// The checksum that sealed bytes have, and the one that they should have; `None` when they are not sealed. `at` is where
/// they lie on the device: it stands in the place of the checksum when that is computed.
fn seal(sealed: &mut [u8], at: u64) -> Option<([u64; 4], [u64; 4])> {
    let (_, seal) = sealed.split_last_chunk_mut::<SEAL>()?;
    let word = |bytes: &[u8], big: bool| {
        let fold = |n, byte: &u8| n << 8 | u64::from(*byte);
        if big {
            bytes.iter().fold(0, fold)
        } else {
            bytes.iter().rev().fold(0, fold)
        }
    };
    let (magic, checksum) = seal.split_at_mut(8);
    // The writer's byte order shows in the magic.
    let big = match (word(magic, false), word(magic, true)) {
        (SEAL_MAGIC, _) => false,
        (_, SEAL_MAGIC) => true,
        _ => return None,
    };
    let mut found = [0; 4];
    for (found, bytes) in found.iter_mut().zip(checksum.chunks_exact(8)) {
        *found = word(bytes, big);
    }
    checksum.fill(0);
    let own = if big {
        at.to_be_bytes()
    } else {
        at.to_le_bytes()
    };
    if let Some(first) = checksum.first_chunk_mut() {
        *first = own;
    }
    let digest = hmac_sha256::Hash::hash(sealed);
    let mut expected = [0; 4];
    for (expected, bytes) in expected.iter_mut().zip(digest.chunks_exact(8)) {
        *expected = bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    }
    Some((found, expected))
}

/// Where the checksum of a label's configuration stands, and what is wrong with it, if anything is.
pub(super) fn wrong_seal(
    window: &Window<'_>,
    label: &Label,
) -> Result<Option<(u64, String)>, ReadError> {
    let at = label.config_at();
    let mut sealed = vec![0; CONFIG_LEN];
    window.fill(at, &mut sealed)?;
    let stands = at + u64::try_from(CONFIG_LEN - SEAL).unwrap_or(0);
    Ok(match seal(&mut sealed, at) {
        None => Some((
            stands,
            format!(
                "label {} has no magic before its checksum; expected {SEAL_MAGIC:#018x}",
                label.number
            ),
        )),
        Some((found, expected)) if found != expected => Some((
            stands + 8,
            format!(
                "label {} has the checksum {}; its bytes give {}",
                label.number,
                hex(found),
                hex(expected)
            ),
        )),
        Some(_) => None,
    })
}

fn hex(words: [u64; 4]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:x}")).collect();
    words.join(":")
}

/// The newest uberblock of a ring.
pub(super) struct Uberblock {
    pub(super) txg: u64,
    /// Where its transaction group stands in the window.
    pub(super) txg_at: u64,
}

/// The newest uberblock in the ring of `label` whose checksum is right.
pub(super) fn newest_uberblock(
    window: &Window<'_>,
    label: &Label,
    ashift: u32,
) -> Result<Option<Uberblock>, ReadError> {
    let step = 1_u64 << ashift.clamp(10, 13);
    let mut found: Vec<(u64, u64)> = Vec::new();
    for slot in 0..RING_LEN / step {
        let at = label.at + RING + slot * step;
        let mut head = [0_u8; 24];
        window.fill(at, &mut head)?;
        let word = |index: usize, big: bool| {
            let bytes = head.get(index * 8..index * 8 + 8).unwrap_or(&[]);
            let fold = |n, byte: &u8| n << 8 | u64::from(*byte);
            if big {
                bytes.iter().fold(0, fold)
            } else {
                bytes.iter().rev().fold(0, fold)
            }
        };
        for big in [false, true] {
            if word(0, big) == UBERBLOCK_MAGIC {
                found.push((word(2, big), at));
            }
        }
    }
    found.sort_unstable();
    // A crash while one is written leaves the one before it; more than a few broken ones are no ring.
    for (txg, at) in found.into_iter().rev().take(4) {
        let len = usize::try_from(step).unwrap_or(0);
        let mut sealed = vec![0; len];
        window.fill(at, &mut sealed)?;
        if let Some((found, expected)) = seal(&mut sealed, at)
            && found == expected
        {
            let txg_at = at + 16;
            return Ok(Some(Uberblock { txg, txg_at }));
        }
    }
    Ok(None)
}
