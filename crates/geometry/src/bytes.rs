use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

use crate::short_text::ShortText;

/// A position or a length in bytes.
///
/// Arithmetic is checked: there is no `+`, so that an offset read from a hostile image cannot wrap unnoticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest position that can be named.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `n` bytes.
    #[must_use]
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// `n` KiB (1,024 bytes each); stops at [`Bytes::MAX`].
    #[must_use]
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1 << 10))
    }

    /// `n` MiB (1,048,576 bytes each); stops at [`Bytes::MAX`].
    #[must_use]
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1 << 20))
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self + other`, or `None` past 2⁶⁴ − 1.
    #[must_use]
    pub const fn checked_add(self, other: Bytes) -> Option<Bytes> {
        match self.0.checked_add(other.0) {
            Some(n) => Some(Bytes(n)),
            None => None,
        }
    }

    /// `self − other`, or `None` below zero.
    #[must_use]
    pub const fn checked_sub(self, other: Bytes) -> Option<Bytes> {
        match self.0.checked_sub(other.0) {
            Some(n) => Some(Bytes(n)),
            None => None,
        }
    }

    /// `self × n`, or `None` past 2⁶⁴ − 1.
    #[must_use]
    pub const fn checked_mul(self, n: u64) -> Option<Bytes> {
        match self.0.checked_mul(n) {
            Some(n) => Some(Bytes(n)),
            None => None,
        }
    }

    /// True when `self` is an integer multiple of `unit`.
    #[must_use]
    pub const fn is_multiple_of(self, unit: Unit) -> bool {
        crate::arithmetic::rem(self.0, unit.get()) == 0
    }

    /// Quotient and remainder of `self ÷ unit`.
    #[must_use]
    pub const fn div_rem(self, unit: Unit) -> (u64, Bytes) {
        let (quotient, rest) = crate::arithmetic::div_rem(self.0, unit.get());
        (quotient, Bytes(rest))
    }

    /// The length in its largest binary unit with at most two decimals, marked `≈` when that is not exact: `≈931.51 GiB`.
    #[must_use]
    pub fn rounded(self) -> String {
        let shift = match self.0 {
            0..1024 => return self.to_string(),
            n => (n.ilog2() / 10) * 10,
        };
        let scaled = u128::from(self.0) * 100;
        let half = 1_u128 << (shift - 1);
        let hundredths = (scaled + half) >> shift;
        let exact = scaled & ((1 << shift) - 1) == 0;
        let rounded = Bytes::new(u64::try_from((hundredths << shift) / 100).unwrap_or(u64::MAX));
        if exact {
            return rounded.to_string();
        }
        let unit = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][(shift / 10 - 1) as usize];
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        format!("≈{whole}.{rest:02} {unit}")
    }

    /// The bare number with thousands separators: `32,256`.
    #[must_use]
    pub const fn grouped(self) -> Grouped {
        Grouped(self.0)
    }
}

/// Writes the shortest exact form in binary units: `31.5 KiB`, `1 MiB`, `32,255 B`.
///
/// A fraction is used only when it is exact with at most two decimals; otherwise the next smaller unit is.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 6] = [
            ("EiB", 60),
            ("PiB", 50),
            ("TiB", 40),
            ("GiB", 30),
            ("MiB", 20),
            ("KiB", 10),
        ];
        for (name, shift) in UNITS {
            let (whole, rest) = (self.0 >> shift, self.0 & ((1 << shift) - 1));
            if whole == 0 {
                continue;
            }
            // rest < 2⁶⁰, so rest × 100 fits in 67 bits: do it in u128.
            let hundredths = u128::from(rest) * 100;
            if hundredths & ((1 << shift) - 1) != 0 {
                continue;
            }
            let hundredths = hundredths >> shift;
            let text = ShortText::new().grouped(whole);
            let text = match hundredths {
                0 => text,
                h if h % 10 == 0 => text.text(".").number(h / 10),
                h if h < 10 => text.text(".0").number(h),
                h => text.text(".").number(h),
            };
            return text.text(" ").text(name).fmt(f);
        }
        ShortText::new().grouped(self.0).text(" B").fmt(f)
    }
}

/// A number that is written with thousands separators; see [`Bytes::grouped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShortText::new().grouped(self.0).fmt(f)
    }
}

/// A text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBytesError(String);

impl fmt::Display for ParseBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an exact number of bytes below 2^64; write it like 64K, 1MiB, 31.5K, 63s (512-byte sectors) or 32256",
            self.0
        )
    }
}

impl std::error::Error for ParseBytesError {}

/// Parses `32256`, `32,256`, `64K`, `1MiB`, `31.5K` and `63s` (512-byte sectors).
///
/// K, M, G, T, P, E mean binary units with or without `iB` or `B`, as storage tools use them. A fraction is accepted
/// when the result is a whole number of bytes. Case does not matter.
impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Bytes, ParseBytesError> {
        let fail = || ParseBytesError(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',' && c != '_')
            .unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(split);
        let multiplier: u64 = match suffix.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "s" => 512,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            "p" | "pb" | "pib" => 1 << 50,
            "e" | "eb" | "eib" => 1 << 60,
            _ => return Err(fail()),
        };
        let number: String = number.chars().filter(|c| *c != ',' && *c != '_').collect();
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        // Eighteen decimals keep 10^n within u64; more never give a whole number of bytes anyway.
        if whole.is_empty() || fraction.len() > 18 {
            return Err(fail());
        }
        let whole: u64 = whole.parse().map_err(|_| fail())?;
        let mut total = u128::from(whole) * u128::from(multiplier);
        if !fraction.is_empty() {
            let scale = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| fail())?);
            let part: u64 = fraction.parse().map_err(|_| fail())?;
            let scaled = u128::from(part) * u128::from(multiplier);
            if scaled % scale != 0 {
                return Err(fail());
            }
            total += scaled / scale;
        }
        u64::try_from(total).map(Bytes).map_err(|_| fail())
    }
}

/// The distance between two neighbouring boundaries of a grid, or two neighbouring requests; 1 to 2⁶² bytes.
///
/// The upper limit (4 EiB, far above any real unit) keeps every intermediate of the closed forms within 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(NonZeroU64);

impl Unit {
    /// The common physical sector of 4,096 bytes.
    pub const B4096: Unit = match Unit::new(4096) {
        Some(unit) => unit,
        None => unreachable!(),
    };

    /// 1 MiB, of which every partitioner since about 2010 begins partitions at multiples.
    pub const MIB: Unit = match Unit::new(1 << 20) {
        Some(unit) => unit,
        None => unreachable!(),
    };

    /// The largest unit.
    pub const MAX: Unit = match Unit::new(1 << 62) {
        Some(unit) => unit,
        None => unreachable!(),
    };

    /// `n` bytes; `None` for zero and above 2⁶².
    #[must_use]
    pub const fn new(n: u64) -> Option<Unit> {
        match NonZeroU64::new(n) {
            Some(nonzero) if n <= 1 << 62 => Some(Unit(nonzero)),
            _ => None,
        }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The same number as a length.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.get())
    }

    /// `self × n`; `None` for `n` = 0 or past 2⁶².
    #[must_use]
    pub const fn checked_mul(self, n: u64) -> Option<Unit> {
        match self.0.get().checked_mul(n) {
            Some(product) => Unit::new(product),
            None => None,
        }
    }
}

impl TryFrom<Bytes> for Unit {
    type Error = Bytes;

    /// Fails for zero and above 2⁶², giving the length back.
    fn try_from(bytes: Bytes) -> Result<Unit, Bytes> {
        Unit::new(bytes.0).ok_or(bytes)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.bytes(), f)
    }
}

/// The size of one logical block (LBA) in bytes: 512, 520, 528, 4096 …; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorSize(NonZeroU32);

impl SectorSize {
    /// The classical sector.
    pub const B512: SectorSize = match SectorSize::new(512) {
        Some(size) => size,
        None => unreachable!(),
    };
    /// The sector of 4K-native devices.
    pub const B4096: SectorSize = match SectorSize::new(4096) {
        Some(size) => size,
        None => unreachable!(),
    };

    /// `n` bytes; `None` for zero.
    #[must_use]
    pub const fn new(n: u32) -> Option<SectorSize> {
        match NonZeroU32::new(n) {
            Some(n) => Some(SectorSize(n)),
            None => None,
        }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The same size as a grid unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        Unit(NonZeroU64::from(self.0))
    }

    /// `count` sectors of this size.
    #[must_use]
    pub const fn sectors(self, count: u64) -> Sectors {
        Sectors { count, size: self }
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", Grouped(u64::from(self.0.get())))
    }
}

/// A count of sectors that knows how big its sectors are; a position (LBA) or a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sectors {
    /// How many.
    pub count: u64,
    /// How big each is.
    pub size: SectorSize,
}

impl Sectors {
    /// The same position or length in bytes; `None` past 2⁶⁴ − 1.
    #[must_use]
    pub const fn bytes(self) -> Option<Bytes> {
        Bytes::new(self.count).checked_mul(self.size.0.get() as u64)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} × {}",
            Grouped(self.count),
            Grouped(u64::from(self.size.get()))
        )
    }
}

/// A place or a length every way that tools show it: `31.5 KiB = 63 sectors = 32,256 B`.
#[must_use]
pub fn both_ways(bytes: Bytes) -> String {
    let (sectors, rest) = Unit::new(512).map_or((0, bytes), |unit| bytes.div_rem(unit));
    let plain = format!("{} B", bytes.grouped());
    let short = bytes.to_string();
    let mut out = if short == plain {
        String::new()
    } else {
        format!("{short} = ")
    };
    if rest == Bytes::ZERO && sectors > 0 {
        let s = if sectors == 1 { "" } else { "s" };
        out.push_str(&format!("{} sector{s} = ", Bytes::new(sectors).grouped()));
    }
    out + &plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_print_in_the_largest_exact_unit() {
        let cases = [
            (0, "0 B"),
            (511, "511 B"),
            (1 << 10, "1 KiB"),
            (32_256, "31.5 KiB"),
            (32_255, "32,255 B"),
            (1 << 20, "1 MiB"),
            ((1 << 20) + (1 << 18), "1.25 MiB"),
            ((1 << 20) + 4096, "1,028 KiB"),
            (16_773_120, "16,380 KiB"),
            (u64::MAX, "18,446,744,073,709,551,615 B"),
        ];
        for (n, text) in cases {
            assert_eq!(Bytes::new(n).to_string(), text);
        }
    }

    #[test]
    fn rounded_sizes_say_that_they_are() {
        let cases = [
            (0, "0 B"),
            (1000, "1,000 B"),
            (1 << 20, "1 MiB"),
            (976_757_276 << 10, "≈931.51 GiB"),
            (u64::MAX, "≈16.00 EiB"),
        ];
        for (n, text) in cases {
            assert_eq!(Bytes::new(n).rounded(), text);
        }
    }

    #[test]
    fn sizes_parse_as_people_write_them() {
        let cases = [
            ("32256", 32_256),
            ("32,256", 32_256),
            ("64K", 65_536),
            ("64k", 65_536),
            ("1MiB", 1 << 20),
            ("1 MB", 1 << 20),
            ("31.5K", 32_256),
            ("63s", 32_256),
            ("1.50KiB", 1_536),
            ("15.99609375M", 16_773_120),
            ("16E", 0),
            ("0.3K", 0),
            ("", 0),
            ("K", 0),
            ("-1", 0),
            ("1.2.3K", 0),
            ("12Q", 0),
        ];
        for (text, n) in cases {
            let want = (n != 0).then_some(Bytes::new(n));
            assert_eq!(text.parse::<Bytes>().ok(), want, "{text}");
        }
        assert_eq!("0".parse::<Bytes>(), Ok(Bytes::ZERO));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(n: u64) {
            prop_assert_eq!(Bytes::new(n).to_string().parse::<Bytes>(), Ok(Bytes::new(n)));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Bytes>();
        }
    }

    #[test]
    fn sectors_know_their_size() {
        assert_eq!(
            SectorSize::B512.sectors(63).bytes(),
            Some(Bytes::new(32_256))
        );
        assert_eq!(SectorSize::B4096.sectors(u64::MAX).bytes(), None);
        let odd = SectorSize::new(520).expect("not zero");
        assert_eq!(odd.sectors(63).bytes(), Some(Bytes::new(32_760)));
    }
}
