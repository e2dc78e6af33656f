use crate::Bytes;

/// A run of bytes: where it starts and how long it is. Its end never exceeds 2⁶⁴ − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    start: Bytes,
    len: Bytes,
}

impl Extent {
    /// `len` bytes from `start`; `None` when the end would not fit in 64 bits.
    #[must_use]
    pub const fn new(start: Bytes, len: Bytes) -> Option<Extent> {
        match start.checked_add(len) {
            Some(_) => Some(Extent { start, len }),
            None => None,
        }
    }

    /// `len` bytes from the beginning.
    #[must_use]
    pub const fn whole(len: Bytes) -> Extent {
        Extent {
            start: Bytes::ZERO,
            len,
        }
    }

    /// First byte.
    #[must_use]
    pub const fn start(self) -> Bytes {
        self.start
    }

    /// Number of bytes.
    #[must_use]
    pub const fn len(self) -> Bytes {
        self.len
    }

    /// True when it holds no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len.get() == 0
    }

    /// First byte after the extent.
    #[must_use]
    pub const fn end(self) -> Bytes {
        // Cannot overflow: checked when the extent was made.
        Bytes::new(self.start.get() + self.len.get())
    }

    /// True when at least one byte belongs to both.
    #[must_use]
    pub fn overlaps(self, other: Extent) -> bool {
        self.start < other.end()
            && other.start < self.end()
            && !self.is_empty()
            && !other.is_empty()
    }

    /// True when every byte of `other` belongs to `self`.
    #[must_use]
    pub fn contains(self, other: Extent) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(start: u64, len: u64) -> Extent {
        Extent::new(Bytes::new(start), Bytes::new(len)).expect("fits")
    }

    proptest! {
        #[test]
        fn overlap_and_containment_match_enumeration(a in 0_u64..20, n in 0_u64..8, b in 0_u64..20, m in 0_u64..8) {
            let (x, y) = (extent(a, n), extent(b, m));
            let inside = |p: u64, e: Extent| (e.start().get()..e.end().get()).contains(&p);
            prop_assert_eq!(x.overlaps(y), (0..40).any(|p| inside(p, x) && inside(p, y)));
            if m > 0 {
                prop_assert_eq!(x.contains(y), (b..b + m).all(|p| inside(p, x)));
            }
        }
    }

    #[test]
    fn an_extent_past_the_end_of_the_world_does_not_exist() {
        assert_eq!(Extent::new(Bytes::new(1), Bytes::MAX), None);
        assert!(Extent::new(Bytes::ZERO, Bytes::MAX).is_some());
    }
}
