use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Access, Bytes, Family, Grid, Lattice, Ratio, Unit};
use straddle_stack::{GridRole, Seen};

/// What being off a grid costs, for each request size asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Prices {
    /// What the boundaries are.
    pub role: GridRole,
    /// Distance between them.
    pub unit: Unit,
    /// One row per request size, in the order asked for.
    pub rows: Vec<PriceRow>,
    /// Requests of exactly one unit, when that size was not asked for: the worst case, not counted in the severity.
    pub at_unit: Option<PriceRow>,
    /// Request sizes asked for whose price is not known: an exact figure exceeds 64 bits, or the blocks of a virtual disk
    /// were not counted for so odd a size.
    pub left_out: Vec<Unit>,
}

/// The price for one request size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PriceRow {
    /// Request size.
    pub io: Unit,
    /// Fraction of requests that straddle a boundary.
    pub straddling: Ratio,
    /// Fraction that would straddle if the requests started on a boundary.
    pub straddling_aligned: Ratio,
    /// Mean operations per read now.
    pub read_now: Ratio,
    /// Mean operations per read when aligned.
    pub read_aligned: Ratio,
    /// Mean operations per write now, reads of partly written granules included.
    pub write_now: Ratio,
    /// Mean operations per write when aligned.
    pub write_aligned: Ratio,
    /// Extra operations, relative to aligned; the worse of reading and writing.
    pub extra: Ratio,
}

impl PriceRow {
    /// The price of `io`-sized requests that lie end to end from `start`.
    fn of(role: GridRole, unit: Unit, seen: &Seen, start: Bytes, io: Unit) -> Option<PriceRow> {
        let requests = Lattice::back_to_back(start, io);
        let family: Family = role.family();
        let read = seen.price(family, requests, Access::Read)?;
        let write = seen.price(family, requests, Access::Write)?;
        let straddling_aligned = match seen {
            Seen::Uniform(grid) => requests.starting_at(grid.phase()).straddling(*grid),
            Seen::Pieces(_) => requests
                .starting_at(Bytes::ZERO)
                .straddling(Grid::new(unit)),
        };
        Some(PriceRow {
            io,
            straddling: seen.straddling(requests)?,
            straddling_aligned,
            read_now: read.now,
            read_aligned: read.aligned,
            write_now: write.now,
            write_aligned: write.aligned,
            extra: read.extra.max(write.extra),
        })
    }
}

impl Prices {
    /// Prices requests of the sizes `ios` that lie end to end from `start` of the layer that sees the grid as `seen`.
    ///
    #[must_use]
    pub fn of(role: GridRole, unit: Unit, seen: &Seen, start: Bytes, ios: &[Unit]) -> Prices {
        let row = |io| PriceRow::of(role, unit, seen, start, io);
        let at_unit = if ios.contains(&unit) { None } else { row(unit) };
        let mut rows = Vec::with_capacity(ios.len());
        let mut left_out = Vec::new();
        for io in ios {
            match row(*io) {
                Some(row) => rows.push(row),
                None => left_out.push(*io),
            }
        }
        Prices {
            role,
            unit,
            rows,
            at_unit,
            left_out,
        }
    }

    /// Prices requests of files that may begin at any allocation unit: one every `step` bytes from address 0, beside
    /// the same requests laid end to end from a boundary.
    ///
    /// Only sizes above `step` are priced: smaller ones stay inside an allocation unit.
    #[must_use]
    pub fn anywhere(role: GridRole, seen: Grid, step: Unit, ios: &[Unit]) -> Prices {
        let row = |io: Unit| {
            let family = role.family();
            let requests = Lattice::new(Bytes::ZERO, step, io);
            let best = Lattice::back_to_back(seen.phase(), io);
            let on = |lattice, access| family.operations(lattice, seen, access);
            let row = PriceRow {
                io,
                straddling: requests.straddling(seen),
                straddling_aligned: best.straddling(seen),
                read_now: on(requests, Access::Read)?,
                read_aligned: on(best, Access::Read)?,
                write_now: on(requests, Access::Write)?,
                write_aligned: on(best, Access::Write)?,
                extra: Ratio::ZERO,
            };
            let extra = |now: Ratio, aligned| now.saturating_sub(aligned)?.checked_div(aligned);
            let read = extra(row.read_now, row.read_aligned)?;
            let write = extra(row.write_now, row.write_aligned)?;
            Some(PriceRow {
                extra: read.max(write),
                ..row
            })
        };
        let rows = ios.iter().filter(|io| **io > step);
        Prices {
            role,
            unit: seen.unit(),
            rows: rows.filter_map(|io| row(*io)).collect(),
            at_unit: None,
            left_out: Vec::new(),
        }
    }

    /// The worst price among the sizes asked for.
    #[must_use]
    pub fn worst(&self) -> Ratio {
        self.rows
            .iter()
            .map(|row| row.extra)
            .max()
            .unwrap_or(Ratio::ZERO)
    }
}
