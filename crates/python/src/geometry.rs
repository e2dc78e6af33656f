//! Exact arithmetic on requests and grids.

use pyo3::prelude::*;
use straddle::geometry::{Grid, Lattice, Ratio};

use crate::arguments::{Size, wrong};

type Fraction = (u64, u64);

const fn fraction(ratio: Ratio) -> Fraction {
    let ratio = ratio.lowest_terms();
    (ratio.numerator(), ratio.denominator())
}

/// Mean crossings, the share that straddles and the mean of granules covered in part, as numerator and denominator; the most granules.
#[pyfunction]
pub(crate) fn crossings(
    start: Size,
    step: Size,
    length: Size,
    unit: Size,
    phase: Size,
) -> PyResult<(Fraction, Fraction, Fraction, u64)> {
    let lattice = Lattice::new(start.offset()?, step.unit()?, length.unit()?);
    let found = lattice.crossings(Grid::with_phase(unit.unit()?, phase.offset()?));
    Ok((
        fraction(found.mean),
        fraction(found.straddling),
        fraction(found.partial),
        found.worst_units,
    ))
}

/// The first byte at or behind `offset` at which all units have a boundary.
#[pyfunction]
pub(crate) fn first_aligned(offset: Size, units: Vec<Size>) -> PyResult<u64> {
    let grids: PyResult<Vec<Grid>> = units
        .iter()
        .map(|unit| unit.unit().map(Grid::new))
        .collect();
    let grid = Grid::intersect_all(grids?).map_err(|error| wrong(error.to_string()))?;
    let first = grid.first_at_or_after(offset.offset()?);
    Ok(first.map_err(|error| wrong(error.to_string()))?.get())
}
