//! Where separators and line breaks stand in a text, sixty-four bytes at a time: most of what reading a table costs.
//!
//! Three ways to the same answer: with AVX-512, with AVX2, and with 64-bit words on every other processor. Which one is taken is
//! asked of the processor once for each text. The first two are safe code that is compiled for instructions that not every
//! processor has; that they are called on those that have them is all that has to be unsafe.

/// Appends the places in `text[from..to]` of every `separator` and line break to `out`. Bounds beyond the text are its end, and
/// places beyond 2³² − 1 are not told: a text is a block of a file.
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn places(text: &[u8], from: usize, to: usize, separator: u8, out: &mut Vec<u32>) {
    let to = to.min(text.len()).min(u32::MAX as usize);
    let Some(part) = text.get(from..to) else {
        return;
    };
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi1") {
            // SAFETY: the processor has the instructions that the function is compiled for, as was just asked.
            return unsafe { wide::avx512(part, from, separator, out) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
            // SAFETY: as above.
            return unsafe { wide::avx2(part, from, separator, out) };
        }
    }
    each(part, from, separator, out, |chunk| words(chunk, separator));
}

/// Goes over the chunks, each of which comes to a bit for each byte that is looked for.
#[inline(always)]
fn each(
    part: &[u8],
    from: usize,
    separator: u8,
    out: &mut Vec<u32>,
    mask: impl Fn(&[u8; 64]) -> u64,
) {
    let (chunks, rest) = part.as_chunks::<64>();
    let mut found = [0_u32; 64];
    let mut at = place(from);
    for chunk in chunks {
        let mut mask = mask(chunk);
        let mut count = 0;
        while mask != 0 {
            found[count & 63] = at + mask.trailing_zeros();
            mask &= mask - 1;
            count += 1;
        }
        out.extend_from_slice(&found[..count]);
        at += 64;
    }
    for (index, byte) in (0..).zip(rest) {
        if *byte == separator || *byte == b'\n' {
            out.push(at + index);
        }
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x,
        _mm256_set1_epi8, _mm512_cmpeq_epi8_mask, _mm512_set_epi64, _mm512_set1_epi8,
    };

    /// Words of a chunk, for registers that are filled without pointers; the compiler makes one load of them.
    #[inline(always)]
    fn word(chunk: &[u8; 64], index: usize) -> i64 {
        let (words, _) = chunk.as_chunks::<8>();
        i64::from_le_bytes(words[index])
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx2(part: &[u8], from: usize, separator: u8, out: &mut Vec<u32>) {
        let (one, other) = (
            _mm256_set1_epi8(separator.cast_signed()),
            _mm256_set1_epi8(b'\n'.cast_signed()),
        );
        let half = |bytes: __m256i| {
            let found = _mm256_or_si256(
                _mm256_cmpeq_epi8(bytes, one),
                _mm256_cmpeq_epi8(bytes, other),
            );
            u64::from(_mm256_movemask_epi8(found).cast_unsigned())
        };
        super::each(part, from, separator, out, |chunk| {
            let word = |index| word(chunk, index);
            let low = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
            let high = _mm256_set_epi64x(word(7), word(6), word(5), word(4));
            half(low) | half(high) << 32
        });
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx512(part: &[u8], from: usize, separator: u8, out: &mut Vec<u32>) {
        let (one, other) = (
            _mm512_set1_epi8(separator.cast_signed()),
            _mm512_set1_epi8(b'\n'.cast_signed()),
        );
        super::each(part, from, separator, out, |chunk| {
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
            _mm512_cmpeq_epi8_mask(bytes, one) | _mm512_cmpeq_epi8_mask(bytes, other)
        });
    }
}

/// Eight bytes at a time.
#[inline]
fn words(chunk: &[u8; 64], separator: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The highest bit of each byte that is zero, exactly: no carry leaves a byte.
    let zeros = |v: u64| !(((v & LOW) + LOW) | v | LOW);
    let (words, _) = chunk.as_chunks::<8>();
    let mut mask = 0;
    for (index, eight) in words.iter().enumerate() {
        let v = u64::from_le_bytes(*eight);
        let found = zeros(v ^ (ONES * u64::from(separator))) | zeros(v ^ (ONES * u64::from(b'\n')));
        // Gathers the highest bits of all bytes in the highest byte.
        let bits = (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * index);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_by_one(text: &[u8], from: usize, to: usize, separator: u8) -> Vec<u32> {
        let found = text.iter().enumerate().take(to).skip(from);
        found
            .filter(|(_, byte)| **byte == separator || **byte == b'\n')
            .map(|(at, _)| place(at))
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
            let expected = one_by_one(&text, from, to, separator);
            let mut found = Vec::new();
            places(&text, from, to, separator, &mut found);
            prop_assert_eq!(&found, &expected);
            let part = text.get(from..to.min(text.len())).unwrap_or_default();
            let mut by_words = Vec::new();
            each(part, from, separator, &mut by_words, |chunk| words(chunk, separator));
            prop_assert_eq!(&by_words, &expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
                let mut by_halves = Vec::new();
                // SAFETY: the processor has AVX2, as was just asked.
                unsafe { wide::avx2(part, from, separator, &mut by_halves) };
                prop_assert_eq!(&by_halves, &expected);
            }
        }
    }
}
