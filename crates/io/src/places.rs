//! Where separators and line breaks stand in a text, sixty-four bytes at a time: most of what reading a table costs.
//!
//! Four ways to the same answer: with AVX-512 that packs bytes, with AVX-512, with AVX2, and with 64-bit words on every other
//! processor. Which one is taken is asked of the processor once for each text. The first three are code that is compiled for
//! instructions that not every processor has; that they are called on those that have them, and one store of a register to an array
//! of its size, is all that has to be unsafe.

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
        if is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("bmi2")
        {
            // SAFETY: the processor has the instructions that the function is compiled for, as was just asked.
            return unsafe { wide::packing(part, from, separator, out) };
        }
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi1") {
            // SAFETY: the processor has the instructions that the function is compiled for, as was just asked.
            return unsafe { wide::avx512(part, from, separator, out) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
            // SAFETY: as above.
            return unsafe { wide::avx2(part, from, separator, out) };
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
fn each(
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
fn one_by_one(at: u32, mut mask: u64, breaks: u64, found: &mut [u32; 64]) {
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

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod wide {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x,
        _mm256_set1_epi8, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask,
        _mm512_cvtepu8_epi32, _mm512_mask_or_epi32, _mm512_maskz_compress_epi8, _mm512_set_epi64,
        _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512, _pext_u64,
    };

    /// Words of a chunk, for registers that are filled without pointers; the compiler makes one load of them.
    #[inline(always)]
    fn word(chunk: &[u8; 64], index: usize) -> i64 {
        let (words, _) = chunk.as_chunks::<8>();
        i64::from_le_bytes(words[index])
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx2(part: &[u8], from: usize, separator: u8, out: &mut [u32]) -> usize {
        let (one, other) = (
            _mm256_set1_epi8(separator.cast_signed()),
            _mm256_set1_epi8(b'\n'.cast_signed()),
        );
        let half = |bytes: __m256i, what: __m256i| {
            let found = _mm256_cmpeq_epi8(bytes, what);
            u64::from(_mm256_movemask_epi8(found).cast_unsigned())
        };
        super::each(part, from, separator, out, super::one_by_one, |chunk| {
            let word = |index| word(chunk, index);
            let low = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
            let high = _mm256_set_epi64x(word(7), word(6), word(5), word(4));
            let both = |what| half(low, what) | half(high, what) << 32;
            (both(one), both(other))
        })
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx512(part: &[u8], from: usize, separator: u8, out: &mut [u32]) -> usize {
        let (one, other) = (
            _mm512_set1_epi8(separator.cast_signed()),
            _mm512_set1_epi8(b'\n'.cast_signed()),
        );
        super::each(part, from, separator, out, super::one_by_one, |chunk| {
            found(chunk, one, other)
        })
    }

    /// The bits of those bytes of a chunk that are the one, and the other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
    fn found(chunk: &[u8; 64], one: __m512i, other: __m512i) -> (u64, u64) {
        let word = |index| word(chunk, index);
        let bytes = _mm512_set_epi64(
            word(7),
            word(6),
            word(5),
            word(4),
            word(3),
            word(2),
            word(1),
            word(0),
        );
        (
            _mm512_cmpeq_epi8_mask(bytes, one),
            _mm512_cmpeq_epi8_mask(bytes, other),
        )
    }

    /// How often a table has a separator in sixty-four bytes differs from line to line, so a loop over them is left at another turn
    /// each time, which the processor cannot foresee. Here up to sixteen are written at once, however many there are.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn packing(part: &[u8], from: usize, separator: u8, out: &mut [u32]) -> usize {
        let (one, other) = (
            _mm512_set1_epi8(separator.cast_signed()),
            _mm512_set1_epi8(b'\n'.cast_signed()),
        );
        let eight = |from: u8| i64::from_le_bytes(std::array::from_fn(|n| from + n as u8));
        let places = _mm512_set_epi64(
            eight(56),
            eight(48),
            eight(40),
            eight(32),
            eight(24),
            eight(16),
            eight(8),
            eight(0),
        );
        let is_break = _mm512_set1_epi32(super::LINE_BREAK.cast_signed());
        let write = |at: u32, mask: u64, breaks: u64, out: &mut [u32; 64]| {
            if mask.count_ones() > 16 {
                return super::one_by_one(at, mask, breaks, out);
            }
            let packed = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(mask, places));
            let all = _mm512_cvtepu8_epi32(packed);
            let all = _mm512_add_epi32(all, _mm512_set1_epi32(at.cast_signed()));
            let breaks = _pext_u64(breaks, mask) as u16;
            let all = _mm512_mask_or_epi32(all, breaks, all, is_break);
            // SAFETY: the array has four times as many bytes as the register, and a store that may lie anywhere is asked for.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), all) }
        };
        super::each(part, from, separator, out, write, |chunk| {
            found(chunk, one, other)
        })
    }
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
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
                // SAFETY: the processor has AVX2, as was just asked.
                let found = unsafe { wide::avx2(part, from, separator, &mut out) };
                prop_assert_eq!(&out[..found], &expected[..]);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi1") {
                // SAFETY: the processor has AVX-512, as was just asked.
                let found = unsafe { wide::avx512(part, from, separator, &mut out) };
                prop_assert_eq!(&out[..found], &expected[..]);
            }
        }
    }
}
