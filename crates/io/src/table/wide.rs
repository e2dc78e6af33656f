//! The same answers with wide registers. That these functions are called on processors that have the instructions, and two stores of
//! a register to an array of its size, is all that has to be unsafe; whoever calls them has asked the processor.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_andnot_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi8,
    _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_set_epi32, _mm256_set_epi64x,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm512_add_epi8,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_castsi512_si128, _mm512_castsi512_si256,
    _mm512_cmpeq_epi8_mask, _mm512_cmpge_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_madd_epi16, _mm512_maddubs_epi16, _mm512_mask_cmpgt_epu8_mask, _mm512_mask_or_epi32,
    _mm512_maskz_add_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_sub_epi8, _mm512_mul_epu32,
    _mm512_packus_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_set_epi64,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_sub_epi8, _mm512_zextsi256_si512, _pext_u64,
};

use super::numbers::{MAX_COLUMNS, Numbers};
use super::places::{LINE_BREAK, each, one_by_one};

/// Which instructions a processor has, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// AVX-512 that moves bytes to any place: [`packing`] and [`numbers`], and all below.
    Packing,
    /// [`avx512`], and what is below.
    Avx512,
    Avx2,
}

impl Level {
    pub(super) fn of_this_processor() -> Option<Level> {
        let has_avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        if !has_avx2 {
            return None;
        }
        if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")) {
            return Some(Level::Avx2);
        }
        let can_move_bytes = is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        Some(match can_move_bytes {
            true => Level::Packing,
            false => Level::Avx512,
        })
    }
}

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
    each(part, from, separator, out, one_by_one, |chunk| {
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
    each(part, from, separator, out, one_by_one, |chunk| {
        found(chunk, one, other)
    })
}

/// The bits of those bytes of a chunk that are the one, and the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
fn found(chunk: &[u8; 64], one: __m512i, other: __m512i) -> (u64, u64) {
    let bytes = register(chunk);
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
    let is_break = _mm512_set1_epi32(LINE_BREAK.cast_signed());
    let write = |at: u32, mask: u64, breaks: u64, out: &mut [u32; 64]| {
        if mask.count_ones() > 16 {
            return one_by_one(at, mask, breaks, out);
        }
        let packed = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(mask, places));
        let all = _mm512_cvtepu8_epi32(packed);
        let all = _mm512_add_epi32(all, _mm512_set1_epi32(at.cast_signed()));
        let breaks = _pext_u64(breaks, mask) as u16;
        let all = _mm512_mask_or_epi32(all, breaks, all, is_break);
        // SAFETY: the array has four times as many bytes as the register, and a store that may lie anywhere is asked for.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), all) }
    };
    each(part, from, separator, out, write, |chunk| {
        found(chunk, one, other)
    })
}

/// A register of these bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn register(bytes: &[u8; 64]) -> __m512i {
    let word = |index| word(bytes, index);
    _mm512_set_epi64(
        word(7),
        word(6),
        word(5),
        word(4),
        word(3),
        word(2),
        word(1),
        word(0),
    )
}

/// Numbers of rows of at most sixty-four bytes, a row at a time: its bytes are one register, out of which the last sixteen digits of each
/// number, and those of the first column that are before them, are taken to a quarter of another one. There they are all made pairs,
/// fours, eights and sixteens.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn numbers(
    text: &[u8],
    begin: usize,
    ends: &[u32],
    numbers: &Numbers,
    out: &mut [[u64; 3]],
) -> usize {
    let Numbers {
        count,
        columns: [a, b, c],
    } = *numbers;
    let quarters = [a, a, b, c];
    let of = |value: &dyn Fn(usize, usize) -> usize| {
        let bytes = std::array::from_fn(|n| value(n / 16, n % 16) as u8);
        register(&bytes)
    };
    // Where in a register of eight ends the lowest byte of that of a column lies, and of the one before it.
    let end_of = of(&|quarter, _| 4 * quarters[quarter]);
    let before = of(&|quarter, _| quarters[quarter].wrapping_sub(1).wrapping_mul(4));
    let is_behind = (0..4).fold(0_u64, |mask, quarter| {
        mask | if quarters[quarter] == 0 {
            0
        } else {
            0xffff << (16 * quarter)
        }
    });
    let from_end = of(&|quarter, n| n.wrapping_sub(if quarter == 0 { 32 } else { 16 }));
    // Three digits before sixteen others are always within 64 bits.
    let most = of(&|quarter, _| if quarter < 2 { 19 } else { 16 });
    let (one, zero, nine) = (
        _mm512_set1_epi8(1),
        _mm512_set1_epi8(0x30),
        _mm512_set1_epi8(9),
    );
    let tens = _mm512_set1_epi16(0x010a);
    let hundreds = _mm512_set1_epi32(0x0001_0064);
    let thousands = _mm512_set1_epi32(0x0001_2710);
    let halves = _mm512_set1_epi64(100_000_000);
    let firsts = _mm512_set_epi64(0, 0, 0, 0, 6, 4, 2, 0);
    let line_break = _mm256_set1_epi32(LINE_BREAK.cast_signed());
    let is_row = (1 << count) - 1;
    let mut begin = begin;
    for (row, out) in out.iter_mut().enumerate() {
        let Some(ends) = ends
            .get(row * count..)
            .and_then(<[u32]>::first_chunk::<MAX_COLUMNS>)
        else {
            return row;
        };
        let Some(bytes) = text.get(begin..).and_then(<[u8]>::first_chunk::<64>) else {
            return row;
        };
        let end = (ends[count - 1] & !LINE_BREAK) as usize;
        let [e0, e1, e2, e3, e4, e5, e6, e7] = ends.map(u32::cast_signed);
        let all = _mm256_set_epi32(e7, e6, e5, e4, e3, e2, e1, e0);
        let breaks = _mm256_movemask_ps(_mm256_castsi256_ps(all)) & is_row;
        let begin_32 = _mm256_set1_epi32(begin as i32);
        let within = _mm256_sub_epi32(_mm256_andnot_si256(line_break, all), begin_32);
        let within = _mm512_zextsi256_si512(within);
        let to = _mm512_permutexvar_epi8(end_of, within);
        let from = _mm512_permutexvar_epi8(before, within);
        let from = _mm512_maskz_add_epi8(is_behind, from, one);
        let len = _mm512_sub_epi8(_mm512_sub_epi8(to, from), one);
        let fits = _mm512_cmplt_epu8_mask(len, most);
        let from_where = _mm512_add_epi8(to, from_end);
        let is_digit = _mm512_cmpge_epi8_mask(from_where, from);
        let digits = _mm512_permutexvar_epi8(from_where, register(bytes));
        let digits = _mm512_maskz_sub_epi8(is_digit, digits, zero);
        let others = _mm512_mask_cmpgt_epu8_mask(is_digit, digits, nine);
        let is_usual = breaks == 1 << (count - 1)
            && end.wrapping_sub(begin) <= 64
            && others == 0
            && fits == u64::MAX;
        if !is_usual {
            return row;
        }
        let pairs = _mm512_maddubs_epi16(digits, tens);
        let fours = _mm512_madd_epi16(pairs, hundreds);
        let fours = _mm512_packus_epi32(fours, fours);
        let eights = _mm512_madd_epi16(fours, thousands);
        let sixteens = _mm512_mul_epu32(eights, halves);
        let sixteens = _mm512_add_epi64(sixteens, _mm512_srli_epi64(eights, 32));
        let four = _mm512_castsi512_si256(_mm512_permutexvar_epi64(firsts, sixteens));
        let mut found = [0_u64; 4];
        // SAFETY: the array has as many bytes as the register, and a store that may lie anywhere is asked for.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), four) };
        *out = [
            found[0] * 10_000_000_000_000_000 + found[1],
            found[2],
            found[3],
        ];
        begin = end + 1;
    }
    out.len()
}
