//! Sizes and places as they are typed.

use straddle::geometry::{Bytes, Extent, Unit};

/// A place: `0`, `8K`, `63s`.
pub(super) fn offset(text: &str) -> Result<Bytes, String> {
    straddle::typed::offset(text)
}

/// An offset, and a length or one byte: `64K`, `64K+8K`.
pub(super) fn extent(text: &str) -> Result<Extent, String> {
    let (start, len) = text.split_once('+').unwrap_or((text, "1"));
    let (start, len) = (offset(start)?, unit(len)?);
    Extent::new(start, len.bytes()).ok_or_else(|| format!("`{text}` ends past 2⁶⁴ bytes"))
}

/// A size above zero: `64K`, `1MiB`, `31.5K`, `63s`, `32256`.
pub(super) fn unit(text: &str) -> Result<Unit, String> {
    straddle::typed::unit(text)
}

/// A logical sector: a size that fits 32 bits.
pub(super) fn sector(text: &str) -> Result<Unit, String> {
    let size = unit(text)?;
    match u32::try_from(size.get()) {
        Ok(_) => Ok(size),
        Err(_) => Err(format!(
            "`{text}` is too large for a logical sector; expected 512, 520, 528, 4096 or the like"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_zero_are_refused_in_words() {
        assert_eq!(
            unit("0"),
            Err("`0` is not between 1 byte and 4 EiB".to_owned())
        );
        assert_eq!(unit("63s"), Ok(Unit::new(32_256).expect("not zero")));
        assert!(sector("8G").is_err());
    }
}
