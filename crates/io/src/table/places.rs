//! Where separators and line breaks stand in a text, sixty-four bytes at a time.

#[cfg(target_arch = "x86_64")]
use super::wide::{self, Level};

/// Set in the place of a line break.
pub const LINE_BREAK: u32 = 1 << 31;

/// Writes the places in `text[from..to]` of every `separator` and line break to `out`, those of line breaks with [`LINE_BREAK`], and
/// gives their number. Bounds beyond the text are its end, and places from 2³¹ on are not told: a text is a block of a file.
///
/// # Panics
/// When `out` has less room than [`room`] says.
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn places(text: &[u8], from: usize, to: usize, separator: u8, out: &mut [u32]) -> usize {
    let to = to.min(text.len()).min(LINE_BREAK as usize);
    let Some(part) = text.get(from..to) else {
        return 0;
    };
    #[cfg(target_arch = "x86_64")]
    {
        match wide::Level::of_this_processor() {
            Some(Level::Packing) => {
                // SAFETY: the processor has the instructions that it is compiled for, as was just asked.
                return unsafe { wide::packing(part, from, separator, out) };
            }
            Some(Level::Avx512) => {
                // SAFETY: as above.
                return unsafe { wide::avx512(part, from, separator, out) };
            }
            Some(Level::Avx2) => {
                // SAFETY: as above.
                return unsafe { wide::avx2(part, from, separator, out) };
            }
            None => {}
        }
    }
    each(part, from, separator, out, one_by_one, |chunk| {
        words(chunk, separator)
    })
}

/// How much room the places of so many bytes need: one for each, and some to write beyond the last.
#[must_use]
pub const fn room(bytes: usize) -> usize {
    bytes + 64
}

/// Goes over the chunks, each of which comes to a bit for each separator, and one for each line break.
#[inline(always)]
pub(super) fn each(
    part: &[u8],
    from: usize,
    separator: u8,
    out: &mut [u32],
    write: impl Fn(u32, u64, u64, &mut [u32; 64]),
    masks: impl Fn(&[u8; 64]) -> (u64, u64),
) -> usize {
    let (chunks, rest) = part.as_chunks::<64>();
    let mut at = place(from);
    let mut used = 0;
    for chunk in chunks {
        let (separators, breaks) = masks(chunk);
        let mask = separators | breaks;
        // A window of a length that is known needs no look at its bounds.
        let found: &mut [u32; 64] = out[used..]
            .first_chunk_mut()
            .expect("room for a place of each byte");
        write(at, mask, breaks, found);
        let count = mask.count_ones() as usize;
        used += count;
        at += 64;
    }
    for (index, byte) in (0..).zip(rest) {
        let is_break = match *byte {
            b'\n' => LINE_BREAK,
            byte if byte == separator => 0,
            _ => continue,
        };
        out[used] = (at + index) | is_break;
        used += 1;
    }
    used
}

/// Writes the places of the bits of a chunk.
#[inline(always)]
pub(super) fn one_by_one(at: u32, mut mask: u64, breaks: u64, found: &mut [u32; 64]) {
    let mut count = 0;
    while mask != 0 {
        let bit = mask.trailing_zeros();
        let is_break = (breaks >> bit) & 1;
        found[count & 63] = (at + bit) | (is_break as u32) << 31;
        mask &= mask - 1;
        count += 1;
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Eight bytes at a time.
#[inline]
fn words(chunk: &[u8; 64], separator: u8) -> (u64, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The highest bit of each byte that is zero, exactly: no carry leaves a byte.
    let zeros = |v: u64| !(((v & LOW) + LOW) | v | LOW);
    // Gathers the highest bits of all bytes in the highest byte.
    let bits = |found: u64| (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let (words, _) = chunk.as_chunks::<8>();
    let (mut separators, mut breaks) = (0, 0);
    for (index, eight) in words.iter().enumerate() {
        let v = u64::from_le_bytes(*eight);
        separators |= bits(zeros(v ^ (ONES * u64::from(separator)))) << (8 * index);
        breaks |= bits(zeros(v ^ (ONES * u64::from(b'\n')))) << (8 * index);
    }
    (separators, breaks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(text: &[u8], from: usize, to: usize, separator: u8) -> Vec<u32> {
        let found = text.iter().enumerate().take(to).skip(from);
        found
            .filter(|(_, byte)| **byte == separator || **byte == b'\n')
            .map(|(at, byte)| place(at) | if *byte == b'\n' { LINE_BREAK } else { 0 })
            .collect()
    }

    #[cfg(target_arch = "x86_64")]
    type Way = unsafe fn(&[u8], usize, u8, &mut [u32]) -> usize;

    proptest! {
        #[test]
        #[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
        fn each_place_is_found_once_in_every_way(
            text in proptest::collection::vec(prop_oneof![Just(b','), Just(b'\n'), Just(b'\xac'), any::<u8>()], 0..400),
            from in 0_usize..420,
            to in 0_usize..420,
            separator in prop_oneof![Just(b','), Just(b' '), any::<u8>()],
        ) {
            let expected = expected(&text, from, to, separator);
            let mut out = vec![0; room(text.len())];
            let found = places(&text, from, to, separator, &mut out);
            prop_assert_eq!(&out[..found], &expected[..]);
            let part = text.get(from..to.min(text.len())).unwrap_or_default();
            let found = each(part, from, separator, &mut out, one_by_one, |chunk| words(chunk, separator));
            prop_assert_eq!(&out[..found], &expected[..]);
            #[cfg(target_arch = "x86_64")]
            for (level, way) in [
                (Level::Packing, wide::packing as Way),
                (Level::Avx512, wide::avx512),
                (Level::Avx2, wide::avx2),
            ] {
                if Level::of_this_processor().is_none_or(|has| has > level) {
                    continue;
                }
                // SAFETY: the processor has the instructions, as was just asked.
                let found = unsafe { way(part, from, separator, &mut out) };
                prop_assert_eq!(&out[..found], &expected[..]);
            }
        }
    }
}
