//! Whether it is proven that nothing lies on a disk.

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

/// Most that is read to prove it: a blank disk of this size takes a fraction of a second.
const MAX: u64 = 256 << 20;
/// Most holes and pieces that are passed.
const MAX_STEPS: usize = 1 << 18;
/// A disk that is not blank shows it here, as a rule.
const FIRST: usize = 4096;
const PIECE: usize = 1 << 20;

/// The byte that fills everything from `start` on, 0x00 or 0xFF; `None` where there is another one, where a part cannot be read,
/// or where so much would have to be read that it is not known.
pub(super) fn filled_with(bytes: &dyn ReadAt, start: Bytes) -> Option<u8> {
    let size = bytes.size().get();
    let mut at = start.get();
    let mut all: Option<u8> = None;
    let mut spent = 0;
    let mut buffer = vec![0; FIRST];
    for _ in 0..MAX_STEPS {
        let data = bytes.data_from(Bytes::new(at)).get().min(size);
        if data > at && *all.get_or_insert(0) != 0 {
            return None;
        }
        at = data;
        if at >= size {
            return all;
        }
        let read = bytes.read_at(Bytes::new(at), &mut buffer).ok()?;
        let part = buffer.get(..read).filter(|part| !part.is_empty())?;
        let first = *all.get_or_insert(part[0]);
        // Each byte is the one before it: memcmp is many times faster than a loop over bytes, without optimisation above all.
        let is_even = part[0] == first && part[1..] == part[..part.len() - 1];
        if !matches!(first, 0x00 | 0xff) || !is_even {
            return None;
        }
        let read = u64::try_from(read).ok()?;
        at += read;
        spent += read;
        if spent > MAX {
            return None;
        }
        buffer.resize(PIECE, 0);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;

    #[test]
    fn one_byte_anywhere_is_enough() {
        for fill in [0x00, 0xff] {
            let mut bytes = vec![fill; (2 << 20) + 77];
            assert_eq!(filled_with(&bytes, Bytes::ZERO), Some(fill));
            for at in [0, 511, FIRST, FIRST + PIECE, bytes.len() - 1] {
                bytes[at] ^= 0x10;
                assert_eq!(filled_with(&bytes, Bytes::ZERO), None, "{at}");
                bytes[at] ^= 0x10;
            }
        }
        assert_eq!(filled_with(&vec![0x55; 512], Bytes::ZERO), None);
        assert_eq!(filled_with(&Vec::new(), Bytes::ZERO), None);
    }

    /// A terabyte of nothing, with one byte at the end.
    struct Sparse(u8);

    impl ReadAt for Sparse {
        fn size(&self) -> Bytes {
            Bytes::new(1 << 40)
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
            assert_eq!(offset.get(), (1 << 40) - 1, "holes are not read");
            buf[0] = self.0;
            Ok(1)
        }
        fn data_from(&self, offset: Bytes) -> Bytes {
            offset.max(Bytes::new((1 << 40) - 1))
        }
    }

    #[test]
    fn holes_are_passed_and_are_zero() {
        assert_eq!(filled_with(&Sparse(0), Bytes::ZERO), Some(0));
        assert_eq!(filled_with(&Sparse(0xff), Bytes::ZERO), None);
        assert_eq!(filled_with(&Sparse(1), Bytes::ZERO), None);
    }

    /// Ones without end, as a device may have them.
    struct Endless;

    impl ReadAt for Endless {
        fn size(&self) -> Bytes {
            Bytes::new(1 << 50)
        }
        fn read_at(&self, _: Bytes, buf: &mut [u8]) -> io::Result<usize> {
            buf.fill(0xff);
            Ok(buf.len())
        }
    }

    #[test]
    fn what_would_take_too_long_is_not_known() {
        assert_eq!(filled_with(&Endless, Bytes::ZERO), None);
    }

    proptest! {
        #[test]
        fn agrees_with_looking_at_every_byte(fill in prop::sample::select(vec![0_u8, 0xff, 7]), len in 1_usize..20_000, start in 0_usize..20_000, odd in prop::option::of(0_usize..20_000)) {
            let mut bytes = vec![fill; len];
            if let Some(byte) = odd.and_then(|at| bytes.get_mut(at)) {
                *byte = 0x33;
            }
            let rest = bytes.get(start..).unwrap_or_default();
            let expected = rest.first().copied().filter(|first| matches!(first, 0 | 0xff) && rest.iter().all(|byte| byte == first));
            let got = filled_with(&bytes, Bytes::new(u64::try_from(start).expect("small")));
            prop_assert_eq!(got, expected);
        }
    }
}
