//! Whether direct I/O permits an offset.

use straddle_geometry::{Bytes, Grid, Unit, both_ways};

use crate::target::Limits;
use straddle_workload::offset::Offset;

/// A request that direct I/O does not permit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPermitted {
    /// Because of where it would start.
    #[error(
        "offset {name} ({at}) is not a multiple of {unit}, which direct I/O needs here ({layer}): {arithmetic}; {hint}, or go through the page cache with --buffered (which measures memory, not storage)",
        at = both_ways(*offset),
        unit = both_ways(unit.bytes()),
        arithmetic = straddle_rules::division(*offset, Grid::new(*unit)),
        hint = instead(*offset, *unit),
    )]
    Offset {
        /// The offset as it was typed.
        name: String,
        /// Its value.
        offset: Bytes,
        /// What it has to be a multiple of.
        unit: Unit,
        /// Who asks for that.
        layer: &'static str,
    },
    /// Because of its length.
    #[error(
        "requests of {len} are not a multiple of {unit}, which direct I/O needs here ({layer}): {arithmetic}; take {least} or a multiple of it, or go through the page cache with --buffered (which measures memory, not storage)",
        len = both_ways(size.bytes()),
        unit = both_ways(unit.bytes()),
        arithmetic = straddle_rules::division(size.bytes(), Grid::new(*unit)),
        least = unit,
    )]
    Size {
        /// The length.
        size: Unit,
        /// What it has to be a multiple of.
        unit: Unit,
        /// Who asks for that.
        layer: &'static str,
    },
    /// Because of its distance from the one before it.
    #[error(
        "a stride of {len} is not a multiple of {unit}, which direct I/O needs here ({layer}): {arithmetic}; take {least} or a multiple of it, or go through the page cache with --buffered (which measures memory, not storage)",
        len = both_ways(stride.bytes()),
        unit = both_ways(unit.bytes()),
        arithmetic = straddle_rules::division(stride.bytes(), Grid::new(*unit)),
        least = unit,
    )]
    Stride {
        /// The distance.
        stride: Unit,
        /// What it has to be a multiple of.
        unit: Unit,
        /// Who asks for that.
        layer: &'static str,
    },
}

/// Whether direct I/O permits requests that lie so far apart.
///
/// # Errors
/// [`NotPermitted::Stride`] for the first that it does not permit.
pub fn check_strides(
    strides: impl IntoIterator<Item = Unit>,
    limits: Limits,
    layer: &'static str,
) -> Result<(), NotPermitted> {
    let unit = limits.offset;
    let wrong = |stride: &Unit| !stride.bytes().is_multiple_of(unit);
    match strides.into_iter().find(wrong) {
        Some(stride) => Err(NotPermitted::Stride {
            stride,
            unit,
            layer,
        }),
        None => Ok(()),
    }
}

/// The nearest offset that is permitted and still off every grid that is coarser than `unit`: an odd multiple of it.
/// Of two that are as near, the smaller, so that nothing but the offset changes.
fn nearest_odd(offset: Bytes, unit: Unit) -> Option<Bytes> {
    let (multiple, _) = offset.div_rem(unit);
    // `multiple` and its successor: one of them is odd, and so are the two around an even one.
    let candidates = [multiple.checked_sub(1), Some(multiple), Some(multiple + 1)];
    let odd = candidates.into_iter().flatten().filter(|n| n % 2 == 1);
    let places = odd.filter_map(|n| unit.bytes().checked_mul(n));
    places.min_by_key(|place| (place.get().abs_diff(offset.get()), *place))
}

/// `try 28K (28 KiB = 7 × 4 KiB), which is off every coarser grid just as well`.
fn instead(offset: Bytes, unit: Unit) -> String {
    match nearest_odd(offset, unit) {
        Some(place) => format!(
            "try {place} = {times} × {unit}, which is off a grid of {coarse} and of every larger power of two just as well",
            times = Bytes::new(place.div_rem(unit).0).grouped(),
            coarse = unit.checked_mul(2).unwrap_or(unit),
        ),
        None => format!("take a multiple of {unit}"),
    }
}

/// Whether direct I/O permits requests of `sizes` whose lattices start at `offsets`. Call it for direct I/O only; the page
/// cache permits everything.
///
/// `layer` says in words who asks for the limits.
///
/// # Errors
/// [`NotPermitted`] for the first that it does not permit.
pub fn check_offsets(
    offsets: &[Offset],
    sizes: &[Unit],
    limits: Limits,
    layer: &'static str,
) -> Result<(), NotPermitted> {
    let unit = limits.offset;
    if let Some(size) = sizes.iter().find(|size| !size.bytes().is_multiple_of(unit)) {
        return Err(NotPermitted::Size {
            size: *size,
            unit,
            layer,
        });
    }
    match offsets.iter().find(|o| !o.bytes.is_multiple_of(unit)) {
        Some(offset) => Err(NotPermitted::Offset {
            name: offset.name.clone(),
            offset: offset.bytes,
            unit,
            layer,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_workload::offset::parse_offsets;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    #[test]
    fn strides_are_multiples_of_what_direct_io_needs() {
        let check = |strides: &[u64]| {
            let strides = strides.iter().copied().map(unit);
            check_strides(strides, limits(4096), "the device")
        };
        assert_eq!(check(&[4096, 65_536]), Ok(()));
        let text = check(&[65_536, 10_240]).expect_err("2.5 times").to_string();
        assert!(
            text.starts_with("a stride of 10 KiB") && text.contains("4 KiB"),
            "{text}"
        );
    }

    fn limits(n: u64) -> Limits {
        Limits {
            memory: unit(n),
            offset: unit(n),
        }
    }

    #[test]
    fn what_direct_io_forbids_is_said_with_a_way_out() {
        let offsets = parse_offsets("64K,unaligned").expect("a list");
        let sizes = [unit(8192)];
        let check =
            |sizes: &[Unit], n| check_offsets(&offsets, sizes, limits(n), "the sector of sda");
        assert_eq!(check(&sizes, 512), Ok(()));
        let error = check(&sizes, 4096).expect_err("4K sectors");
        assert_eq!(
            error.to_string(),
            "offset unaligned (31.5 KiB = 63 sectors = 32,256 B) is not a multiple of 4 KiB = 8 sectors = 4,096 B, which direct I/O needs here (the sector of sda): \
             32,256 = 7 × 4,096 + 3,584; try 28 KiB = 7 × 4 KiB, which is off a grid of 8 KiB and of every larger power of two just as well, \
             or go through the page cache with --buffered (which measures memory, not storage)"
        );
        let error = check(&[unit(2048)], 4096).expect_err("short");
        assert!(
            error.to_string().starts_with("requests of 2 KiB"),
            "{error}"
        );
    }

    #[test]
    fn the_way_out_is_permitted_near_and_off_every_coarser_grid() {
        for step in [1, 512, 520, 4096] {
            for offset in 0..200 * 512_u64 {
                let place = nearest_odd(Bytes::new(offset), unit(step))
                    .expect("small")
                    .get();
                assert_eq!((place % step, place / step % 2), (0, 1));
                let best = (0..400_u64)
                    .map(|n| (2 * n + 1) * step)
                    .map(|p| p.abs_diff(offset))
                    .min();
                if step >= 512 {
                    assert_eq!(Some(place.abs_diff(offset)), best, "{offset} on {step}");
                }
            }
        }
    }
}
