use straddle_geometry::Access;

/// Which requests are counted together. Keys are in order of device, window, direction, place and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Device (20 bits), window (43 bits), direction (1 bit).
    who: u64,
    /// Place and length, 32 bits each.
    shape: u64,
}

/// As many devices are told apart.
pub(crate) const MAX_DEVICES: usize = 1 << 20;
/// Number of the last window: milliseconds since 1970 go that far.
pub(crate) const MAX_WINDOW: u64 = (1 << 43) - 1;

/// Where in a key the number of the page of 4 KiB begins.
const PAGE: u32 = 32 + 12;

impl Key {
    /// `device` is below [`MAX_DEVICES`], `window` at most [`MAX_WINDOW`], `place` and `len` are below 4 GiB.
    #[inline]
    pub(crate) const fn new(device: u32, window: u64, access: Access, place: u64, len: u64) -> Key {
        Key {
            who: (device as u64) << 44 | window << 1 | matches!(access, Access::Write) as u64,
            shape: place << 32 | len,
        }
    }

    /// The number of the device.
    #[must_use]
    pub const fn device(self) -> u32 {
        (self.who >> 44) as u32
    }

    /// Which stretch of time.
    #[must_use]
    pub const fn window(self) -> u64 {
        (self.who >> 1) & MAX_WINDOW
    }

    /// Read or write.
    #[must_use]
    pub const fn access(self) -> Access {
        match self.who & 1 {
            0 => Access::Read,
            _ => Access::Write,
        }
    }

    /// The first byte, modulo the period.
    #[must_use]
    pub const fn place(self) -> u64 {
        self.shape >> 32
    }

    /// The length in bytes.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.shape & 0xffff_ffff
    }

    /// The key of the page of 4 KiB in the first of 256, and which page it is.
    #[inline]
    pub(crate) const fn page(self) -> (Key, usize) {
        let key = Key {
            shape: self.shape & !(0xff << PAGE),
            ..self
        };
        (key, (self.shape >> PAGE & 0xff) as usize)
    }

    /// That of another page, by its number, of the first of 256.
    pub(crate) const fn with_page(self, page: usize) -> Key {
        Key {
            shape: self.shape | (page as u64) << PAGE,
            ..self
        }
    }

    /// The same of another device.
    pub(crate) const fn of_device(self, device: u32) -> Key {
        Key {
            who: (device as u64) << 44 | (self.who & ((1 << 44) - 1)),
            ..self
        }
    }

    pub(crate) const fn words(self) -> [u64; 2] {
        [self.who, self.shape]
    }

    pub(crate) const fn from_words(who: u64, shape: u64) -> Key {
        Key { who, shape }
    }

    /// Both words folded by one wide multiplication: keys differ in few bits, and those lie anywhere.
    #[inline]
    pub(crate) const fn digest(self) -> u64 {
        let (who, shape) = (
            self.who ^ 0xa076_1d64_78bd_642f,
            self.shape ^ 0xe703_7ed1_a0b4_28db,
        );
        let product = who as u128 * shape as u128;
        let folded = (product >> 64) as u64 ^ product as u64;
        folded.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_holds_what_it_was_made_of(device in 0_u32..1 << 20, window in 0_u64..1 << 43, is_write: bool, place: u32, len: u32) {
            let access = if is_write { Access::Write } else { Access::Read };
            let key = Key::new(device, window, access, place.into(), len.into());
            prop_assert_eq!((key.device(), key.window(), key.access()), (device, window, access));
            prop_assert_eq!((key.place(), key.length()), (u64::from(place), u64::from(len)));
            let [who, shape] = key.words();
            prop_assert_eq!(Key::from_words(who, shape), key);
            prop_assert_eq!(key.of_device(7), Key::new(7, window, access, place.into(), len.into()));
        }
    }
}
