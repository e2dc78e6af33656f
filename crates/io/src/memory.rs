//! What the static binary copies and compares bytes with. musl copies every length with one string instruction, which takes a processor
//! dozens of steps to begin, and compares byte by byte; most copies of a reader of text or of a decoder are of a few bytes, and took a
//! third to two thirds of its time.
//!
//! The linker is told (`--wrap`, in the command's build script) to take `__wrap_memcpy` for `memcpy` and so on. They have names of their
//! own so that the compiler does not take them for what it knows of `memcpy`: it may make a call of that out of its body.
//!
//! Only SSE2, which each such processor has; no length is copied in a loop that the compiler would make a call of.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_storeu_si128,
};

/// From about here on the string instruction is the quicker one: by a tenth with 4 KiB, by half with 16 KiB; with 1 KiB it takes twice as
/// long (a Xeon of 2023, in its first cache).
const LONG: usize = 2048;

/// # Safety
/// What `memcpy` asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: what overlaps nowhere may also overlap.
    unsafe { copy(to, from, length) };
    to
}

/// # Safety
/// What `memmove` asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the same is asked for here.
    unsafe { copy(to, from, length) };
    to
}

/// # Safety
/// What `memcmp` asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    // SAFETY: the same is asked for here.
    unsafe { compare(one, other, length) }
}

/// # Safety
/// What `bcmp` asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_bcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    // SAFETY: the same is asked for here.
    unsafe { compare(one, other, length) }
}

/// # Safety
/// `T` is a number, and lies at `at`.
#[inline(always)]
unsafe fn get<T>(at: *const u8) -> T {
    // SAFETY: promised by the caller.
    unsafe { at.cast::<T>().read_unaligned() }
}

/// # Safety
/// There is room for a `T` at `at`.
#[inline(always)]
unsafe fn put<T>(at: *mut u8, value: T) {
    // SAFETY: promised by the caller.
    unsafe { at.cast::<T>().write_unaligned(value) }
}

/// Sixteen bytes.
///
/// # Safety
/// They lie at `at`.
#[inline(always)]
unsafe fn load(at: *const u8) -> __m128i {
    // SAFETY: promised by the caller.
    unsafe { _mm_loadu_si128(at.cast()) }
}

/// Sixteen bytes.
///
/// # Safety
/// There is room for them at `at`.
#[inline(always)]
unsafe fn store(at: *mut u8, value: __m128i) {
    // SAFETY: promised by the caller.
    unsafe { _mm_storeu_si128(at.cast(), value) }
}

/// # Safety
/// `length` bytes may be read at `from` and written at `to`; they may overlap.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: no access is outside of the first `length` bytes. All that a step writes over has been read: the first and the last bytes
    // before anything is written, the rest in the direction in which the writes stay behind the reads.
    unsafe {
        match length {
            0 => {}
            1 => put(to, get::<u8>(from)),
            2..4 => {
                let last = get::<u16>(from.add(length - 2));
                put(to, get::<u16>(from));
                put(to.add(length - 2), last);
            }
            4..8 => {
                let last = get::<u32>(from.add(length - 4));
                put(to, get::<u32>(from));
                put(to.add(length - 4), last);
            }
            8..16 => {
                let last = get::<u64>(from.add(length - 8));
                put(to, get::<u64>(from));
                put(to.add(length - 8), last);
            }
            16..=32 => {
                let last = load(from.add(length - 16));
                store(to, load(from));
                store(to.add(length - 16), last);
            }
            33..=64 => {
                let second = load(from.add(16));
                let last_but_one = load(from.add(length - 32));
                let last = load(from.add(length - 16));
                store(to, load(from));
                store(to.add(16), second);
                store(to.add(length - 32), last_but_one);
                store(to.add(length - 16), last);
            }
            _ => {
                let (forward, backward) = (
                    to.addr().wrapping_sub(from.addr()),
                    from.addr().wrapping_sub(to.addr()),
                );
                if length >= LONG && forward >= length && backward >= length {
                    string(to, from, length);
                } else if forward >= length {
                    ascending(to, from, length);
                } else {
                    descending(to, from, length);
                }
            }
        }
    }
}

/// # Safety
/// As [`copy`], of more than eight bytes that overlap nowhere.
#[inline(always)]
unsafe fn string(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: words up to the last whole one, and the last eight bytes once more; the direction is forward on every call.
    unsafe {
        let last = get::<u64>(from.add(length - 8));
        asm!(
            "rep movsq",
            inout("rcx") length / 8 => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
        put(to.add(length - 8), last);
    }
}

/// # Safety
/// As [`copy`], of more than 64 bytes; `to` does not begin within `from`.
#[inline(always)]
unsafe fn ascending(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: whole pieces of 64 bytes while more than that is left; the rest is the last 64 bytes, read at the beginning.
    unsafe {
        let tail = from.add(length - 64);
        let last = (
            load(tail),
            load(tail.add(16)),
            load(tail.add(32)),
            load(tail.add(48)),
        );
        let mut at = 0;
        while at + 64 < length {
            piece(to.add(at), from.add(at));
            at += 64;
        }
        four(to.add(length - 64), last);
    }
}

/// # Safety
/// As [`copy`], of more than 64 bytes; `from` does not begin within `to`.
#[inline(always)]
unsafe fn descending(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: whole pieces of 64 bytes from the end while more than that is left; the rest is the first 64 bytes, read at the beginning.
    unsafe {
        let first = (
            load(from),
            load(from.add(16)),
            load(from.add(32)),
            load(from.add(48)),
        );
        let mut at = length;
        while at > 64 {
            at -= 64;
            piece(to.add(at), from.add(at));
        }
        four(to, first);
    }
}

/// # Safety
/// As [`copy`], of 64 bytes.
#[inline(always)]
unsafe fn piece(to: *mut u8, from: *const u8) {
    // SAFETY: 64 bytes.
    unsafe {
        four(
            to,
            (
                load(from),
                load(from.add(16)),
                load(from.add(32)),
                load(from.add(48)),
            ),
        );
    }
}

/// # Safety
/// There is room for 64 bytes at `to`.
#[inline(always)]
unsafe fn four(to: *mut u8, bytes: (__m128i, __m128i, __m128i, __m128i)) {
    // SAFETY: 64 bytes.
    unsafe {
        store(to, bytes.0);
        store(to.add(16), bytes.1);
        store(to.add(32), bytes.2);
        store(to.add(48), bytes.3);
    }
}

/// # Safety
/// `length` bytes may be read at both.
#[inline(always)]
unsafe fn compare(one: *const u8, other: *const u8, length: usize) -> i32 {
    // SAFETY: no access is outside of the first `length` bytes.
    unsafe {
        match length {
            0 => 0,
            1 => i32::from(get::<u8>(one)) - i32::from(get::<u8>(other)),
            2..4 => {
                let of = |at: *const u8| {
                    u32::from(get::<u16>(at).swap_bytes()) << 8
                        | u32::from(get::<u8>(at.add(length - 1)))
                };
                order(of(one), of(other))
            }
            4..8 => {
                let of = |at: *const u8| {
                    u64::from(get::<u32>(at).swap_bytes()) << 32
                        | u64::from(get::<u32>(at.add(length - 4)).swap_bytes())
                };
                order(of(one), of(other))
            }
            8..16 => {
                let of = |at: *const u8| {
                    u128::from(get::<u64>(at).swap_bytes()) << 64
                        | u128::from(get::<u64>(at.add(length - 8)).swap_bytes())
                };
                order(of(one), of(other))
            }
            _ => {
                let mut at = 0;
                loop {
                    let unequal =
                        !_mm_movemask_epi8(_mm_cmpeq_epi8(load(one.add(at)), load(other.add(at))))
                            & 0xffff;
                    if unequal != 0 {
                        let first = at + unequal.trailing_zeros() as usize;
                        return i32::from(get::<u8>(one.add(first)))
                            - i32::from(get::<u8>(other.add(first)));
                    }
                    if at + 16 == length {
                        return 0;
                    }
                    // What the last sixteen bytes share with those before is equal.
                    at = (at + 16).min(length - 16);
                }
            }
        }
    }
}

#[inline(always)]
fn order<T: Ord>(one: T, other: T) -> i32 {
    one.cmp(&other) as i32
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{__wrap_bcmp, __wrap_memcmp, __wrap_memcpy, __wrap_memmove, LONG};

    /// Different at each place of a period that no size of a step divides.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    fn moves(length: usize, from: usize, to: usize, whole: usize) {
        let mut expected = bytes(whole);
        expected.copy_within(from..from + length, to);
        let mut found = bytes(whole);
        let start = found.as_mut_ptr();
        // SAFETY: both ranges lie within `found`.
        let returned = unsafe { __wrap_memmove(start.add(to), start.add(from), length) };
        assert_eq!(returned, start.wrapping_add(to));
        assert_eq!(found, expected, "{length} bytes from {from} to {to}");
    }

    #[test]
    fn every_short_length_is_moved_over_every_overlap() {
        for length in 0..=200 {
            for distance in 0..=length + 1 {
                moves(length, 3, 3 + distance, 512);
                moves(length, 3 + distance, 3, 512);
            }
        }
    }

    #[test]
    fn lengths_about_every_change_of_means_are_moved() {
        for length in [LONG - 1, LONG, LONG + 1, LONG + 7, 3 * LONG + 5] {
            for distance in [0, 1, 15, 16, 63, 64, 65, length - 1, length, length + 1] {
                moves(length, 3, 3 + distance, 2 * length + 9);
                moves(length, 3 + distance, 3, 2 * length + 9);
            }
        }
    }

    /// Two pages between two that must not be touched.
    struct Fenced {
        at: *mut u8,
    }

    const PAGE: usize = 4096;

    impl Fenced {
        fn new() -> Self {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: new memory, of which the ends are taken away.
            let at = unsafe {
                let at = libc::mmap(std::ptr::null_mut(), 4 * PAGE, access, flags, -1, 0);
                assert_ne!(at, libc::MAP_FAILED);
                for fence in [0, 3 * PAGE] {
                    assert_eq!(libc::mprotect(at.add(fence), PAGE, libc::PROT_NONE), 0);
                }
                at
            };
            Self {
                at: at.cast::<u8>().wrapping_add(PAGE),
            }
        }

        fn first(&self) -> *mut u8 {
            self.at
        }

        fn last(&self, length: usize) -> *mut u8 {
            self.at.wrapping_add(2 * PAGE - length)
        }
    }

    #[test]
    fn nothing_beside_the_bytes_is_touched() {
        let (from, to) = (Fenced::new(), Fenced::new());
        for length in (0..=300).chain(LONG - 2..LONG + 70) {
            for (from, to) in [
                (from.first(), to.last(length)),
                (from.last(length), to.first()),
            ] {
                // SAFETY: both have this length.
                unsafe {
                    from.write_bytes(7, length);
                    to.write_bytes(9, length);
                    __wrap_memcpy(to, from, length);
                    assert_eq!(__wrap_memcmp(from, to, length), 0);
                    assert_eq!(__wrap_bcmp(from, to, length), 0);
                    assert_eq!(std::slice::from_raw_parts(to, length), vec![7; length]);
                }
            }
        }
    }

    #[test]
    fn the_first_byte_that_differs_decides() {
        for length in 1..=100 {
            for place in 0..length {
                for also in [place, length - 1] {
                    let (mut one, mut other) = (bytes(length), bytes(length));
                    (one[place], other[place]) = (0x7f, 0x80);
                    if also != place {
                        (one[also], other[also]) = (9, 1);
                    }
                    // SAFETY: both have this length.
                    let (there, back, same) = unsafe {
                        (
                            __wrap_memcmp(one.as_ptr(), other.as_ptr(), length),
                            __wrap_memcmp(other.as_ptr(), one.as_ptr(), length),
                            __wrap_bcmp(one.as_ptr(), one.clone().as_ptr(), length),
                        )
                    };
                    assert!(there < 0 && back > 0, "byte {place} of {length}");
                    assert_eq!(same, 0);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn copies_are_what_was_copied(from in vec(any::<u8>(), 0..6000), skip in 0_usize..70) {
            let from = &from[skip.min(from.len())..];
            let mut to = vec![0xa5; from.len() + 64];
            // SAFETY: there is room, between two margins.
            unsafe { __wrap_memcpy(to.as_mut_ptr().add(32), from.as_ptr(), from.len()) };
            prop_assert_eq!(&to[32..32 + from.len()], from);
            prop_assert!(to[..32].iter().chain(&to[32 + from.len()..]).all(|&byte| byte == 0xa5));
        }

        #[test]
        fn comparisons_are_those_of_slices(one in vec(0_u8..3, 0..80), other in vec(0_u8..3, 0..80), shared in vec(any::<u8>(), 0..200)) {
            let length = one.len().min(other.len());
            let (one, other) = ([&shared[..], &one[..length]].concat(), [&shared[..], &other[..length]].concat());
            // SAFETY: both have this length.
            let (order, unequal) = unsafe {
                (
                    __wrap_memcmp(one.as_ptr(), other.as_ptr(), one.len()),
                    __wrap_bcmp(one.as_ptr(), other.as_ptr(), one.len()),
                )
            };
            prop_assert_eq!(order.cmp(&0), one.iter().cmp(other.iter()));
            prop_assert_eq!(unequal != 0, one != other);
        }
    }
}
