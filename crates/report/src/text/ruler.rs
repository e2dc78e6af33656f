//! A small ruler: where requests fall against the boundaries of a grid.
//!
//! ```text
//! 64 KiB stripe units  |───────────────|───────────────|───────────────|
//! 64 KiB requests      ·······[=======X=======][=======X=======][======
//! ```

use std::fmt::Write;

use straddle_geometry::{Bytes, Grid};
use straddle_rules::{Finding, PriceRow};
use straddle_stack::Seen;

use super::style::{ERROR, FRAME, GOOD, STRONG, paint};
use crate::Checked;
use crate::escape::terminal;

/// Columns of the drawing.
const COLUMNS: u64 = 64;
/// Fewest columns in which a request can be told from its neighbours.
const REQUEST_COLUMNS: u64 = 4;

/// Draws the worst priced finding whose layer starts off the grid; nothing when there is none.
pub(super) fn render(checked: &Checked, out: &mut String) {
    for finding in &checked.findings {
        if ruler(checked, finding, out).is_some() {
            return;
        }
    }
}

fn ruler(checked: &Checked, finding: &Finding, out: &mut String) -> Option<()> {
    let prices = finding.prices.as_ref()?;
    let row = prices
        .rows
        .iter()
        .filter(|row| !row.straddling.is_zero())
        .max_by_key(|row| (row.extra, row.io))?;
    let layer = checked.stack.layer(finding.layer);
    let seen = checked.stack.grids_seen_from(finding.layer);
    let grid = seen
        .iter()
        .filter(|g| g.layer != finding.layer && g.role == prices.role)
        .find_map(|g| match g.seen {
            Seen::Uniform(grid) if grid.unit() == prices.unit => Some(grid),
            _ => None,
        })?;
    // On the grid, only files that begin somewhere in the layer can pay; the ruler shows the layer itself.
    if grid.contains(Bytes::ZERO) {
        return None;
    }
    let drawing = draw(grid, row)?;
    let title = format!(
        "{}, requests of {} against {} boundaries",
        layer.name,
        row.io,
        prices.role.name()
    );
    let _ = writeln!(out, "\n{}", paint(STRONG, terminal(&title)));
    let (apart, requests) = (
        format!("{} apart", prices.unit),
        format!("{} requests", row.io),
    );
    let width = apart.len().max(requests.len());
    let _ = writeln!(
        out,
        "{apart:<width$}  {}",
        paint(FRAME, &drawing.boundaries)
    );
    let _ = writeln!(out, "{requests:<width$}  {}", drawing.requests);
    Some(())
}

struct Drawing {
    boundaries: String,
    requests: String,
}

/// Draws a window around the first boundary at or after the start of the layer.
fn draw(grid: Grid, row: &PriceRow) -> Option<Drawing> {
    let (unit, io) = (grid.unit().get(), row.io.get());
    // Wide enough for two or three of the larger thing, narrow enough to tell the smaller ones apart.
    let wide = unit.max(io).checked_mul(3)?;
    let narrow = io
        .checked_mul(COLUMNS / REQUEST_COLUMNS)?
        .min(unit.saturating_mul(COLUMNS / 2));
    let span = wide.min(narrow).max(COLUMNS);
    let first = grid.first_at_or_after(Bytes::ZERO).ok()?.get();
    // Seen from the layer's byte 0; the window begins a little before the first boundary, at most at byte 0.
    let lead = span / 4;
    // Units of a few bytes: more boundaries than columns.
    if span / unit > COLUMNS {
        return None;
    }
    let from = first.saturating_sub(lead);
    let column_of = |byte: u64| {
        usize::try_from(u128::from(byte - from) * u128::from(COLUMNS) / u128::from(span)).ok()
    };
    let end = from.checked_add(span)?;
    let mut boundaries: Vec<char> = vec!['─'; usize::try_from(COLUMNS).ok()? + 1];
    let mut at = first;
    while at <= end {
        *boundaries.get_mut(column_of(at)?)? = '|';
        at = at.checked_add(unit)?;
    }
    let mut requests = String::new();
    let mut request = from.div_ceil(io).checked_mul(io)?;
    if request > from {
        requests.push_str(&" ".repeat(column_of(request)?));
    }
    while request < end {
        let next = request.checked_add(io)?;
        let (left, right) = (column_of(request)?, column_of(next.min(end))?);
        let crossed = grid.first_at_or_after(Bytes::new(request + 1)).ok()?.get();
        let straddles = crossed < next;
        let width = right.saturating_sub(left);
        let mut cells: Vec<char> = vec!['='; width];
        if let Some(cell) = cells.first_mut() {
            *cell = '[';
        }
        if next <= end
            && let Some(cell) = cells.last_mut()
        {
            *cell = ']';
        }
        if straddles && crossed < end {
            let mut boundary = crossed;
            while boundary < next.min(end) {
                if let Some(cell) = cells.get_mut(column_of(boundary)? - left) {
                    *cell = 'X';
                }
                boundary = boundary.checked_add(unit)?;
            }
        }
        let style = if straddles { ERROR } else { GOOD };
        requests.push_str(&paint(style, cells.iter().collect::<String>()));
        request = next;
    }
    Some(Drawing {
        boundaries: boundaries.into_iter().collect(),
        requests,
    })
}

#[cfg(test)]
mod tests {
    use super::super::style::without_styles;
    use super::*;
    use straddle_geometry::{Ratio, Unit};

    fn drawn(unit: u64, start: u64, io: u64) -> (String, String) {
        let unit = Unit::new(unit).expect("not zero");
        let row = row(io);
        let drawing = draw(Grid::new(unit).seen_from(Bytes::new(start)), &row).expect("draws");
        (drawing.boundaries, without_styles(&drawing.requests))
    }

    #[test]
    fn every_boundary_inside_a_request_is_marked_below_it() {
        let (boundaries, requests) = drawn(65_536, 32_256, 65_536);
        assert_eq!(
            boundaries,
            "──────────|─────────────────────|────────────────────|───────────"
        );
        assert_eq!(
            requests,
            "[=========X=========][==========X========][==========X=========]"
        );
    }

    #[test]
    fn requests_that_fit_between_boundaries_are_not_marked() {
        let (boundaries, requests) = drawn(65_536, 65_536, 8192);
        assert!(boundaries.starts_with('|'));
        assert!(!requests.contains('X'), "{requests}");
        assert_eq!(requests.matches('[').count(), 16);
    }

    #[test]
    fn any_shape_can_be_drawn() {
        for unit in [1, 512, 520, 4096, 196_608, 1 << 40, 1 << 62] {
            for io in [1, 512, 4096, 1 << 20, 1 << 50] {
                for start in [0, 63 * 512, 1 << 20] {
                    let u = Unit::new(unit).expect("not zero");
                    let row = row(io);
                    if let Some(drawing) = draw(Grid::new(u).seen_from(Bytes::new(start)), &row) {
                        assert_eq!(drawing.boundaries.chars().count(), 65);
                    }
                }
            }
        }
    }

    /// Requests of one size, all of which straddle.
    fn row(io: u64) -> PriceRow {
        PriceRow {
            io: Unit::new(io).expect("not zero"),
            straddling: Ratio::ONE,
            straddling_aligned: Ratio::ZERO,
            read_now: Ratio::ONE,
            read_aligned: Ratio::ONE,
            write_now: Ratio::ONE,
            write_aligned: Ratio::ONE,
            extra: Ratio::ONE,
        }
    }
}
