//! Units and places as they are typed, wherever that is: on a command line or in a call from another language.

use crate::geometry::{Bytes, Family, Grid, ParseBytesError, Unit};
use crate::trace::STEP;

/// Units on which recorded requests are judged where none are named.
pub const UNITS: &str = "4K,16K,64K,128K,256K,1M";
/// Places where data could begin, where none are named.
pub const OFFSETS: &str = "63s,32K,64K,128K,256K,512K,1M";

/// Units up to this have mostly to be written whole: sectors, flash pages, indirection units.
const SPLIT_FROM: u64 = 64 << 10;
/// A larger unit has no distribution that could be kept.
const MAX_UNIT: u64 = 64 << 20;

/// A size above zero: `64K`, `1MiB`, `31.5K`, `63s`, `32256`.
///
/// # Errors
/// What is wrong with it.
pub fn unit(text: &str) -> Result<Unit, String> {
    let bytes: Bytes = text
        .parse()
        .map_err(|error: ParseBytesError| error.to_string())?;
    Unit::try_from(bytes).map_err(|_| format!("`{text}` is not between 1 byte and 4 EiB"))
}

/// A place: `0`, `8K`, `63s`.
///
/// # Errors
/// What is wrong with it.
pub fn offset(text: &str) -> Result<Bytes, String> {
    text.parse()
        .map_err(|error: ParseBytesError| error.to_string())
}

/// A place at a sector: shifts are counted in sectors.
///
/// # Errors
/// What is wrong with it.
pub fn start(text: &str) -> Result<Bytes, String> {
    at_a_sector(text, offset)
}

/// The same, with another reader of places.
///
/// # Errors
/// What is wrong with it.
pub fn at_a_sector(
    text: &str,
    offset: impl Fn(&str) -> Result<Bytes, String>,
) -> Result<Bytes, String> {
    let start = offset(text)?;
    match start.get().is_multiple_of(STEP) {
        true => Ok(start),
        false => Err(format!(
            "`{text}` is not a multiple of {STEP} bytes, and nothing on a disk begins there"
        )),
    }
}

/// A unit below recorded requests, and what crossing a boundary costs: `4K`, `64K:rmw`, `192K:split`.
///
/// # Errors
/// What is wrong with it.
pub fn grid(text: &str) -> Result<(Grid, Family), String> {
    grid_of(text, unit)
}

/// The same, with another reader of units.
///
/// # Errors
/// What is wrong with it.
pub fn grid_of(
    text: &str,
    unit: impl Fn(&str) -> Result<Unit, String>,
) -> Result<(Grid, Family), String> {
    let (size, family) = match text.split_once(':') {
        None => (text, None),
        Some((size, "rmw")) => (size, Some(Family::ReadModifyWrite)),
        Some((size, "split")) => (size, Some(Family::Splitting)),
        Some((_, other)) => return Err(format!("`:{other}` is neither `:rmw` nor `:split`")),
    };
    let unit = unit(size)?;
    let bytes = unit.get();
    if !bytes.is_multiple_of(STEP) || bytes > MAX_UNIT {
        return Err(format!(
            "`{size}` is not a multiple of {STEP} bytes up to 64 MiB"
        ));
    }
    let usual = match bytes < SPLIT_FROM {
        true => Family::ReadModifyWrite,
        false => Family::Splitting,
    };
    Ok((Grid::new(unit), family.unwrap_or(usual)))
}
