use std::fmt;

/// A text of at most 64 bytes, put together without an allocation: numbers are what reports are made of, thousands to
/// a page.
pub(crate) struct ShortText {
    bytes: [u8; ShortText::ROOM],
    len: usize,
}

impl ShortText {
    /// Enough for the longest number of 128 bits (39 digits), its sign of rounding and its unit.
    const ROOM: usize = 64;

    pub(crate) const fn new() -> ShortText {
        ShortText {
            bytes: [0; ShortText::ROOM],
            len: 0,
        }
    }

    /// Adds a text; what finds no room is left out.
    pub(crate) fn text(mut self, text: &str) -> ShortText {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + text.len()) {
            room.copy_from_slice(text.as_bytes());
            self.len += text.len();
        }
        self
    }

    /// Adds a number in decimal.
    pub(crate) fn number(self, n: u128) -> ShortText {
        self.digits(n, false)
    }

    /// Adds a number with thousands separators.
    pub(crate) fn grouped(self, n: u64) -> ShortText {
        self.digits(u128::from(n), true)
    }

    fn digits(self, n: u128, separated: bool) -> ShortText {
        let mut reversed = [0; 56];
        let (mut len, mut count) = (0, 0);
        let mut put = |byte| {
            if let Some(room) = reversed.get_mut(len) {
                *room = byte;
                len += 1;
            }
        };
        // Division of 64 bits is many times faster, and nearly every number fits.
        let (mut wide, mut narrow) = (n, u64::try_from(n).unwrap_or(0));
        loop {
            let digit = if wide > u128::from(u64::MAX) {
                let digit = wide % 10;
                wide /= 10;
                narrow = u64::try_from(wide).unwrap_or(0);
                u8::try_from(digit).unwrap_or(0)
            } else {
                let digit = narrow % 10;
                narrow /= 10;
                wide = u128::from(narrow);
                u8::try_from(digit).unwrap_or(0)
            };
            if separated && count > 0 && count % 3 == 0 {
                put(b',');
            }
            put(b'0' + digit);
            count += 1;
            if wide == 0 {
                break;
            }
        }
        reversed[..len].reverse();
        // ASCII digits and commas are UTF-8.
        let text = std::str::from_utf8(&reversed[..len]).unwrap_or("");
        self.text(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        // Only whole texts were added.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

/// As a `str` is written: padded and cut as the format asks.
impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_library(n: u128, small: u64) {
            for n in [n, n >> 64, u128::from(small % 2000)] {
                prop_assert_eq!(ShortText::new().number(n).to_string(), n.to_string());
            }
            let grouped = ShortText::new().grouped(small).to_string();
            prop_assert_eq!(grouped.replace(',', ""), small.to_string());
            let groups: Vec<&str> = grouped.split(',').collect();
            prop_assert!(groups.iter().skip(1).all(|g| g.len() == 3));
            prop_assert!((1..=3).contains(&groups[0].len()));
        }
    }

    #[test]
    fn the_longest_texts_fit() {
        let longest = ShortText::new().text("≈").number(u128::MAX).text(".99%");
        assert_eq!(longest.as_str(), format!("≈{}.99%", u128::MAX));
        let grouped = ShortText::new().grouped(u64::MAX).text(" B");
        assert_eq!(grouped.as_str(), "18,446,744,073,709,551,615 B");
        assert_eq!(ShortText::new().grouped(0).as_str(), "0");
    }
}
