use crate::{Access, Bytes, Grid, Lattice, Ratio};

/// What crossing a boundary of a grid costs. The two are kept apart everywhere: they hurt for different reasons and
/// are cured by different means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// The request is split: one operation becomes several, possibly on several spindles. Reads and writes alike.
    Splitting,
    /// A granule that is written only in part must first be read: read-modify-write. Reads merely touch one more.
    ReadModifyWrite,
}

/// What a stream of requests costs on a grid, beside what it would cost if it started on a boundary.
///
/// Operations are counted in granules: each granule touched is one operation, and each granule that a write covers in
/// part is one more (its read). They are back-end operations for a stripe unit; for a sector they are sectors moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Mean operations per request as the requests lie now.
    pub now: Ratio,
    /// Mean operations per request if the first request started on a boundary.
    pub aligned: Ratio,
    /// Extra operations, relative to `aligned`: `now ÷ aligned − 1`. Zero when moving would gain nothing.
    pub extra: Ratio,
}

impl Family {
    /// Mean operations per request of `requests` on `grid`, reads and writes priced by this family's mechanism.
    ///
    /// `None` when the exact figure does not fit in 64 bits.
    #[must_use]
    pub fn operations(self, requests: Lattice, grid: Grid, access: Access) -> Option<Ratio> {
        let touched = requests.mean_units(grid);
        match (self, access) {
            (Family::ReadModifyWrite, Access::Write) => {
                let partial = requests.partial(grid);
                // Both have the unit as denominator; adding numerators keeps the usual case exact without reducing.
                match touched.numerator().checked_add(partial.numerator()) {
                    Some(sum) => Ratio::new(sum, touched.denominator()),
                    None => touched.checked_add(partial),
                }
            }
            _ => Some(touched),
        }
    }

    /// What `requests` cost on `grid` now, and beside the same requests starting on a boundary.
    ///
    /// `None` when an exact figure does not fit in 64 bits.
    #[must_use]
    pub fn price(self, requests: Lattice, grid: Grid, access: Access) -> Option<Price> {
        let now = self.operations(requests, grid, access)?;
        let on_grid = requests.starting_at(Bytes::ZERO);
        let aligned = self.operations(on_grid, Grid::new(grid.unit()), access)?;
        Some(Price {
            now,
            aligned,
            extra: extra(now, aligned)?,
        })
    }
}

/// `now ÷ aligned − 1`, or zero.
fn extra(now: Ratio, aligned: Ratio) -> Option<Ratio> {
    // Same denominator (the unit): (a − b)/b needs no wide arithmetic.
    if now.denominator() == aligned.denominator() {
        return Ratio::new(
            now.numerator().saturating_sub(aligned.numerator()),
            aligned.numerator(),
        );
    }
    now.saturating_sub(aligned)?.checked_div(aligned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use proptest::prelude::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    fn extra_at(start: u64, io: u64, grid: u64, family: Family, access: Access) -> String {
        let requests = Lattice::back_to_back(Bytes::new(start), unit(io));
        family
            .price(requests, Grid::new(unit(grid)), access)
            .expect("small")
            .extra
            .to_string()
    }

    #[test]
    fn one_sector_write_becomes_four_operations() {
        // Two reads and two writes instead of one write.
        assert_eq!(
            extra_at(32_256, 4096, 4096, Family::ReadModifyWrite, Access::Write),
            "300%"
        );
        // Three sectors instead of two, two of them read first: 5 operations instead of 2.
        assert_eq!(
            extra_at(32_256, 8192, 4096, Family::ReadModifyWrite, Access::Write),
            "150%"
        );
        // A read touches one more sector.
        assert_eq!(
            extra_at(32_256, 4096, 4096, Family::ReadModifyWrite, Access::Read),
            "100%"
        );
    }

    #[test]
    fn splitting_is_relative_to_what_an_aligned_request_needs() {
        let splits = |start, io| extra_at(start, io, 65_536, Family::Splitting, Access::Read);
        assert_eq!(splits(32_256, 8192), "12.5%");
        assert_eq!(splits(32_256, 65_536), "100%");
        // 1 MiB needs 16 stripe units anyway; off the grid it needs 17.
        assert_eq!(splits(32_256, 1 << 20), "6.25%");
        assert_eq!(splits(32_768, 32_768), "0%");
    }

    #[test]
    fn a_request_smaller_than_the_granule_pays_even_when_aligned_so_moving_gains_nothing() {
        assert_eq!(
            extra_at(4096, 4096, 16_384, Family::ReadModifyWrite, Access::Write),
            "0%"
        );
    }

    proptest! {
        #[test]
        fn a_stream_that_starts_on_a_boundary_has_no_extra_cost(k in 0_u64..100, u in 1_u64..100, io in 1_u64..200) {
            for family in [Family::Splitting, Family::ReadModifyWrite] {
                for access in [Access::Read, Access::Write] {
                    let requests = Lattice::back_to_back(Bytes::new(k * u), unit(io));
                    let price = family.price(requests, Grid::new(unit(u)), access).expect("small");
                    prop_assert!(price.extra.is_zero());
                    prop_assert_eq!(price.now, price.aligned);
                }
            }
        }
    }
}
