//! Sizes and places as they are typed: the one reader of both, for all verbs.
//!
//! K, M, G are powers of two, as in fio and mdadm, and so are KiB, MiB, GiB; KB, MB, GB are powers of ten. A number without a unit
//! is bytes only where bytes can be meant: `--io 4096`, not `--stripe-unit 64`. Otherwise it is refused with what it could be.

use straddle::geometry::{Bytes, Extent, Unit};
use straddle::workload::offset::Offset;

use super::number::{Typed, either};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// What a size is for: it decides what a bare number may be, and what is absurd.
pub(super) struct Purpose {
    /// What is asked for, in a message.
    what: &'static str,
    min: u64,
    max: u64,
    /// Whether this number without a unit is a number of bytes.
    bare: fn(u64) -> bool,
    /// Units that a number without one may have, the likeliest first.
    meant: &'static [&'static str],
    /// An amount is rounded down to a byte, and may be a round number of tens; anything else lies on boundaries.
    is_amount: bool,
}

/// Requests.
const REQUEST: Purpose = Purpose {
    what: "a request size",
    min: 512,
    max: 64 * MIB,
    bare: in_sectors,
    meant: &["K", "M", "s"],
    is_amount: false,
};
const LOGICAL_SECTOR: Purpose = Purpose {
    what: "a logical sector",
    max: 64 * KIB,
    meant: &["K", "s"],
    ..REQUEST
};
const PHYSICAL_SECTOR: Purpose = Purpose {
    what: "a physical sector",
    max: MIB,
    ..LOGICAL_SECTOR
};
/// mdadm counts chunks in KiB and XFS counts stripe units in sectors, so a small number may be either.
const STRIPE_UNIT: Purpose = Purpose {
    what: "a stripe unit",
    min: 512,
    max: GIB,
    bare: |n| n >= 4096 && in_sectors(n),
    meant: &["K", "s", "M"],
    is_amount: false,
};
const FULL_STRIPE: Purpose = Purpose {
    what: "a full stripe",
    max: 64 * GIB,
    ..STRIPE_UNIT
};
/// `format /A:4096`, `mkfs -b 1024`: allocation units are given in bytes.
const ALLOCATION_UNIT: Purpose = Purpose {
    what: "an allocation unit",
    min: 512,
    max: 256 * MIB,
    bare: in_sectors,
    meant: &["K", "s", "M"],
    is_amount: false,
};
const STRIDE: Purpose = Purpose {
    what: "a distance between requests",
    min: 512,
    max: TIB,
    bare: in_sectors,
    meant: &["K", "M", "s"],
    is_amount: false,
};
const CACHE: Purpose = Purpose {
    what: "a cache",
    min: 64 * KIB,
    max: 16 * TIB,
    bare: |n| n >= MIB,
    meant: &["M", "G"],
    is_amount: true,
};
const DATA: Purpose = Purpose {
    what: "an amount of data",
    min: MIB,
    max: 1 << 60,
    meant: &["GB", "GiB", "TB", "MB"],
    ..CACHE
};
const WORKING_SET: Purpose = Purpose {
    what: "a working set",
    min: 512,
    max: 1 << 60,
    meant: &["G", "M", "GB"],
    ..CACHE
};
const GROWTH: Purpose = Purpose {
    what: "a length to add",
    min: 512,
    max: 1 << 50,
    meant: &["M", "G", "s"],
    ..CACHE
};
/// No partition starts below sector 34, the first that GPT leaves free. Above, a number of bytes is a multiple of 4 KiB, or of the 63
/// sectors of a track: 206848 and 1026048 are none, and are sectors as tools print them.
const START: Purpose = Purpose {
    what: "an offset",
    min: 0,
    max: 1 << 50,
    bare: |n| n == 0 || n >= 34 * 512 && (n.is_multiple_of(4096) || n.is_multiple_of(63 * 512)),
    meant: &["s", "K", "M"],
    is_amount: false,
};
/// Any byte at all.
const PLACE: Purpose = Purpose {
    what: "a place",
    max: u64::MAX,
    bare: |_| true,
    ..START
};
const LENGTH: Purpose = Purpose {
    what: "a length",
    min: 1,
    max: Unit::MAX.get(),
    ..REQUEST
};
/// A parameter of a profile, whose limits the profile checks.
pub(super) const PARAMETER: Purpose = Purpose {
    what: "a size",
    min: 0,
    max: 1 << 60,
    bare: |n| n == 0 || n >= 4096 && in_sectors(n) || n >= MIB,
    meant: &["K", "s", "M"],
    is_amount: false,
};
/// One of them that is as large as a disk.
pub(super) const CAPACITY: Purpose = Purpose {
    bare: |n| n == 0 || n >= MIB,
    meant: &["G", "GB", "M", "T"],
    is_amount: true,
    ..PARAMETER
};

/// Whole sectors of 512, 520 or 528 bytes.
fn in_sectors(n: u64) -> bool {
    n > 0
        && [512, 520, 528]
            .iter()
            .any(|sector| n.is_multiple_of(*sector))
}

/// A unit: its bytes, and whether it is a power of ten.
fn unit_of(name: &str) -> Option<(u64, bool)> {
    let binary = |shift: u32| Some((1_u64 << shift, false));
    let decimal = |power: u32| Some((10_u64.pow(power), true));
    match name.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => binary(0),
        "s" | "sector" | "sectors" => binary(9),
        "k" | "ki" | "kib" => binary(10),
        "m" | "mi" | "mib" => binary(20),
        "g" | "gi" | "gib" => binary(30),
        "t" | "ti" | "tib" => binary(40),
        "p" | "pi" | "pib" => binary(50),
        "e" | "ei" | "eib" => binary(60),
        "kb" => decimal(3),
        "mb" => decimal(6),
        "gb" => decimal(9),
        "tb" => decimal(12),
        "pb" => decimal(15),
        "eb" => decimal(18),
        _ => None,
    }
}

/// The binary unit that is spelled like a decimal one: `K` for `KB`.
fn binary_of(unit: &str) -> (String, String) {
    let letter = unit.get(..1).unwrap_or_default().to_ascii_uppercase();
    (letter.clone(), letter + "iB")
}

impl Purpose {
    /// Reads a size.
    pub(super) fn read(&self, text: &str) -> Result<Bytes, String> {
        let text = text.trim();
        let (exact, is_rounded) = match text.strip_prefix('≈') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        if is_rounded && !self.is_amount {
            return Err(format!(
                "`{text}` is a rounded figure, and {} is exact; give the exact one",
                self.what
            ));
        }
        let Some(typed) = Typed::read(exact) else {
            return Err(not_a_size(text));
        };
        if typed.unit.is_empty() {
            return self.without_unit(text, typed);
        }
        let Some((factor, is_decimal)) = unit_of(typed.unit) else {
            return Err(not_a_size(text));
        };
        let value = typed.times(u128::from(factor));
        let Some((Ok(bytes), is_whole)) = value.map(|(n, whole)| (u64::try_from(n), whole)) else {
            return Err(format!("`{text}` is larger than 2^64 bytes"));
        };
        if !is_whole && !self.is_amount {
            return Err(format!(
                "`{text}` is not a whole number of bytes; write it like 64K, 31.5K, 63s (512-byte sectors) or 32256B"
            ));
        }
        if is_decimal && !self.is_amount && !bytes.is_multiple_of(4096) {
            return Err(self.not_binary(text, typed, bytes));
        }
        self.in_range(text, bytes)
    }

    /// The same, above zero.
    pub(super) fn unit(&self, text: &str) -> Result<Unit, String> {
        let bytes = self.read(text)?;
        Unit::try_from(bytes).map_err(|bytes| self.out_of_range(text, bytes.get()))
    }

    fn without_unit(&self, text: &str, typed: Typed<'_>) -> Result<Bytes, String> {
        let number = typed.whole();
        if let Some(bytes) = number
            && (bytes == 0 || bytes > self.max || (self.bare)(bytes))
        {
            return self.in_range(text, bytes);
        }
        let parts: Vec<String> = self
            .meant
            .iter()
            .chain(&["B"])
            .filter_map(|unit| {
                let typed = format!("{}{unit}", typed.number);
                let bytes = self.read(&typed).ok()?;
                let fits = self.is_amount || bytes.get().is_multiple_of(512);
                let shown = match *unit {
                    "s" => bytes.to_string(),
                    _ => format!("{} B", bytes.grouped()),
                };
                (fits && bytes != Bytes::ZERO).then(|| format!("{typed} ({shown})"))
            })
            .collect();
        if parts.is_empty() {
            return Err(match number {
                Some(bytes) if bytes < self.min => self.out_of_range(text, bytes),
                _ => not_a_size(text),
            });
        }
        Err(format!(
            "`{text}` has no unit; as {} it could be {}",
            self.what,
            either(&parts)
        ))
    }

    fn in_range(&self, text: &str, bytes: u64) -> Result<Bytes, String> {
        match (self.min..=self.max).contains(&bytes) {
            true => Ok(Bytes::new(bytes)),
            false => Err(self.out_of_range(text, bytes)),
        }
    }

    fn out_of_range(&self, text: &str, bytes: u64) -> String {
        format!(
            "`{text}` is {}; expected {} from {} to {}",
            Bytes::new(bytes).rounded(),
            self.what,
            Bytes::new(self.min),
            Bytes::new(self.max)
        )
    }

    /// A power of ten where only a power of two can be meant.
    fn not_binary(&self, text: &str, typed: Typed<'_>, bytes: u64) -> String {
        let (short, long) = binary_of(typed.unit);
        let meant = unit_of(&short)
            .and_then(|(factor, _)| typed.times(u128::from(factor)))
            .and_then(|(bytes, _)| u64::try_from(bytes).ok())
            .map_or_else(String::new, |bytes| {
                format!(" ({} B)", Bytes::new(bytes).grouped())
            });
        let (number, what, unit) = (typed.number, self.what, typed.unit);
        format!(
            "`{text}` is {} B, as {unit} is a power of ten; for {what}, did you mean {number}{short} or {number}{long}{meant}?",
            Bytes::new(bytes).grouped()
        )
    }
}

fn not_a_size(text: &str) -> String {
    format!(
        "`{text}` is not a size; write it like 64K, 1MiB, 31.5K, 63s (512-byte sectors), 2.4TB or 32256B"
    )
}

/// A request: `4096`, `8K`.
pub(super) fn request(text: &str) -> Result<Unit, String> {
    REQUEST.unit(text)
}

pub(super) fn logical_sector(text: &str) -> Result<Unit, String> {
    LOGICAL_SECTOR.unit(text)
}

pub(super) fn physical_sector(text: &str) -> Result<Unit, String> {
    PHYSICAL_SECTOR.unit(text)
}

pub(super) fn stripe_unit(text: &str) -> Result<Unit, String> {
    STRIPE_UNIT.unit(text)
}

pub(super) fn full_stripe(text: &str) -> Result<Unit, String> {
    FULL_STRIPE.unit(text)
}

pub(super) fn allocation_unit(text: &str) -> Result<Unit, String> {
    ALLOCATION_UNIT.unit(text)
}

/// The distance from the start of a request to that of the next.
pub(super) fn stride(text: &str) -> Result<Unit, String> {
    STRIDE.unit(text)
}

pub(super) fn cache(text: &str) -> Result<Unit, String> {
    CACHE.unit(text)
}

/// An amount of data to move: `500G`, `2.4TB`.
pub(super) fn data(text: &str) -> Result<Unit, String> {
    DATA.unit(text)
}

pub(super) fn working_set(text: &str) -> Result<Unit, String> {
    WORKING_SET.unit(text)
}

/// A length that a disk grows by.
pub(super) fn growth(text: &str) -> Result<Unit, String> {
    GROWTH.unit(text)
}

/// Where a partition starts: `1MiB`, `2048s`, `0`.
pub(super) fn start(text: &str) -> Result<Bytes, String> {
    START.read(text)
}

/// Where a partition starts that is tried out, by the name that it was given: `unaligned` (sector 63), `64K`.
pub(super) fn offset(text: &str) -> Result<Offset, String> {
    let name = text.trim();
    if name.is_empty() {
        return Err(
            "an offset is empty; write the list like unaligned,64K,128K,1M (no commas inside numbers)".to_owned(),
        );
    }
    let bytes = match name.eq_ignore_ascii_case("unaligned") {
        true => Offset::UNALIGNED,
        false => {
            start(name).map_err(|error| format!("{error}; `unaligned` stands for sector 63"))?
        }
    };
    Ok(Offset {
        name: name.to_owned(),
        bytes,
    })
}

/// An offset, and a length or one byte: `64K`, `64K+8K`.
pub(super) fn extent(text: &str) -> Result<Extent, String> {
    let (start, len) = match text.split_once('+') {
        Some((start, len)) => (start, LENGTH.unit(len)?.bytes()),
        None => (text, Bytes::new(1)),
    };
    let start = PLACE.read(start)?;
    Extent::new(start, len).ok_or_else(|| format!("`{text}` ends past 2⁶⁴ bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(purpose: &Purpose, text: &str) -> String {
        purpose.read(text).expect_err(text)
    }

    #[test]
    fn every_unit_is_read_in_every_form_that_is_printed() {
        for (text, bytes) in [
            ("63s", 32_256),
            ("31.5 KiB", 32_256),
            ("32,256 B", 32_256),
            ("63 sectors", 32_256),
            ("1,028 KiB", 1_052_672),
            ("64k", 65_536),
            ("1mib", 1 << 20),
            ("0", 0),
        ] {
            assert_eq!(start(text), Ok(Bytes::new(bytes)), "{text}");
        }
        for (text, bytes) in [
            ("2.4TB", 2_400_000_000_000),
            ("42.9 GB", 42_900_000_000),
            ("40.0 GiB", 40 << 30),
            ("500G", 500 << 30),
            ("1073741824", 1 << 30),
            ("≈931.51 GiB", 1_000_201_246_474),
        ] {
            assert_eq!(data(text).map(Unit::get), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_bytes_only_where_bytes_can_be_meant() {
        let get = |read: Result<Unit, String>| read.map(Unit::get);
        assert_eq!(get(request("4096")), Ok(4096));
        assert_eq!(get(stripe_unit("65536")), Ok(65_536));
        assert_eq!(get(allocation_unit("1024")), Ok(1024));
        assert_eq!(get(logical_sector("520")), Ok(520));
        assert_eq!(get(physical_sector("4096")), Ok(4096));
        assert_eq!(start("32256"), Ok(Bytes::new(32_256)));
        assert_eq!(start("1048576"), Ok(Bytes::new(1 << 20)));
        assert_eq!(
            said(&STRIPE_UNIT, "64"),
            "`64` has no unit; as a stripe unit it could be 64K (65,536 B), 64s (32 KiB) or 64M (67,108,864 B)"
        );
        assert_eq!(
            said(&STRIPE_UNIT, "512"),
            "`512` has no unit; as a stripe unit it could be 512K (524,288 B), 512s (256 KiB), 512M (536,870,912 B) or 512B (512 B)"
        );
        assert_eq!(
            said(&START, "2048"),
            "`2048` has no unit; as an offset it could be 2048s (1 MiB), 2048K (2,097,152 B), 2048M (2,147,483,648 B) or 2048B (2,048 B)"
        );
        for sectors in ["63", "34", "206848", "1026048", "206847"] {
            assert!(said(&START, sectors).contains(&format!("could be {sectors}s (")));
        }
        assert_eq!(
            said(&DATA, "500"),
            "`500` has no unit; as an amount of data it could be 500GB (500,000,000,000 B), 500GiB (536,870,912,000 B), 500TB (500,000,000,000,000 B) or 500MB (500,000,000 B)"
        );
        assert_eq!(
            said(&REQUEST, "8"),
            "`8` has no unit; as a request size it could be 8K (8,192 B), 8M (8,388,608 B) or 8s (4 KiB)"
        );
    }

    #[test]
    fn zero_and_absurd_sizes_are_refused() {
        assert_eq!(
            said(&STRIPE_UNIT, "1000000000000"),
            "`1000000000000` is ≈931.32 GiB; expected a stripe unit from 512 B to 1 GiB"
        );
        assert_eq!(
            said(&REQUEST, "1G"),
            "`1G` is 1 GiB; expected a request size from 512 B to 64 MiB"
        );
        for purpose in [
            &REQUEST,
            &LOGICAL_SECTOR,
            &PHYSICAL_SECTOR,
            &STRIPE_UNIT,
            &FULL_STRIPE,
            &ALLOCATION_UNIT,
            &STRIDE,
            &CACHE,
            &DATA,
            &WORKING_SET,
            &GROWTH,
            &LENGTH,
        ] {
            for text in ["0", "0K", "0 B"] {
                assert!(said(purpose, text).starts_with(&format!("`{text}` is 0 B; expected")));
            }
            for text in [
                "",
                "K",
                "-1",
                "8Q",
                "1.2.3K",
                "1,5G",
                "16E",
                "99999999E",
                "9".repeat(50).as_str(),
            ] {
                said(purpose, text);
            }
        }
    }

    #[test]
    fn powers_of_ten_are_powers_of_ten() {
        assert_eq!(data("1GB").map(Unit::get), Ok(1_000_000_000));
        assert_eq!(data("1GiB").map(Unit::get), Ok(1 << 30));
        assert_eq!(request("8.192KB").map(Unit::get), Ok(8192));
        assert_eq!(
            said(&STRIPE_UNIT, "64KB"),
            "`64KB` is 64,000 B, as KB is a power of ten; for a stripe unit, did you mean 64K or 64KiB (65,536 B)?"
        );
        assert!(said(&START, "1MB").contains("did you mean 1M or 1MiB (1,048,576 B)?"));
    }

    #[test]
    fn extents_are_a_place_and_a_length() {
        let read = |text| extent(text).map(|extent| (extent.start().get(), extent.len().get()));
        assert_eq!(read("61440"), Ok((61_440, 1)));
        assert_eq!(read("63"), Ok((63, 1)), "any byte can be asked for");
        assert_eq!(read("60K+8K"), Ok((61_440, 8192)));
        assert_eq!(read("4096+4096"), Ok((4096, 4096)));
        for text in ["60K+0", "8K+", "16E+16E", "+8K", "60K+8", "1+"] {
            extent(text).expect_err(text);
        }
    }

    #[test]
    fn offsets_keep_the_name_they_were_given() {
        let unaligned = offset("unaligned").expect("is known");
        assert_eq!(unaligned.bytes, Bytes::new(32_256));
        let sectors = offset("63s").expect("63 sectors");
        assert_eq!(
            (sectors.name.as_str(), sectors.bytes),
            ("63s", unaligned.bytes)
        );
        offset("aligned").expect_err("which?");
        offset(" ").expect_err("nothing");
    }
}
