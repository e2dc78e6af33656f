//! A request on the grids below a layer: which units it touches, as it is, and as it would be from a boundary of all of them.

use straddle_geometry::{Bytes, Unit};

use super::block::{Picture, Ruler, RulerData, RulerGrid, RulerPanel, Table};
use super::chart::{LINE, Screen, length, line, lines, picture, room, short, text};
use crate::views::{View, ViewGrid};
use std::fmt::Write;

/// Height of what is drawn in a grid's row, and of the blanks above it.
const BAND: f64 = 16.0;
const GAP: f64 = 4.0;
const MARGIN: f64 = 8.0;
/// Most grids that are drawn.
const MOST: usize = 10;
/// Boundaries nearer to each other than this are not told apart.
const NEAREST: f64 = 3.0;

/// Sizes to choose from, in KiB.
const SIZES: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// How a request lies on one grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// The first unit, counted from the one that the layer begins in.
    pub(super) first: u128,
    /// The last.
    pub(super) last: u128,
    /// How many of them are covered in part only.
    pub(super) partial: u8,
}

/// Which units a request touches: `start` is where the layer begins in the unit.
pub(super) fn touched(start: u64, unit: Unit, offset: u64, size: u64) -> Touched {
    let unit = u128::from(unit.get());
    let from = u128::from(start) + u128::from(offset);
    let end = from + u128::from(size.max(1));
    let (first, last) = (from / unit, (end - 1) / unit);
    let (head, tail) = (from % unit != 0, end % unit != 0);
    let partial = if first == last {
        u8::from(head || tail)
    } else {
        u8::from(head) + u8::from(tail)
    };
    Touched {
        first,
        last,
        partial,
    }
}

/// The ruler of a layer; `None` where no grid below has the same boundaries throughout.
pub(super) fn ruler(view: &View, size: Option<Unit>) -> Option<Ruler> {
    let View {
        name: layer, grids, ..
    } = view;
    let mut drawn: Vec<(&ViewGrid, u64)> = Vec::new();
    for grid in grids {
        let Some(phase) = grid.phase else { continue };
        let alike = |(other, _): &(&ViewGrid, u64)| {
            other.unit == grid.unit && other.phase == grid.phase && other.role == grid.role
        };
        if !drawn.iter().any(alike) {
            let unit = grid.unit.get();
            drawn.push((grid, (unit - phase.get() % unit) % unit));
        }
    }
    // A preference that is at the boundaries of something else says nothing more.
    let others = drawn.clone();
    drawn.retain(|(grid, start)| {
        let is_preference = grid.role.ends_with("I/O size");
        let same = |(other, at): &(&ViewGrid, u64)| {
            !std::ptr::eq(*other, *grid) && other.unit == grid.unit && at == start
        };
        !(is_preference
            && others
                .iter()
                .any(|one| same(one) && !one.0.role.ends_with("I/O size")))
    });
    // From the page to the sector: the largest above.
    drawn.sort_by_key(|(grid, _)| std::cmp::Reverse((grid.unit, grid.layer)));
    drawn.truncate(MOST);
    let largest = drawn.first()?.0.unit.get();
    let smallest = drawn.last()?.0.unit.get();
    let size = size.map_or(64 << 10, Unit::get);
    let window = largest
        .saturating_mul(3)
        .min(size.saturating_mul(64))
        .max(size.saturating_mul(3));
    let mut sizes: Vec<u64> = SIZES.iter().map(|kib| kib << 10).chain([size]).collect();
    sizes.retain(|one| *one <= window);
    sizes.sort_unstable();
    sizes.dedup();
    let chosen = sizes.iter().position(|one| *one == size)?;
    let is_off = drawn.iter().any(|(_, start)| *start != 0);
    let titles: &[&str] = if is_off {
        &["as it is", "if it began on a boundary of all of them"]
    } else {
        &["as it is: on a boundary of all of them"]
    };
    let mut panels = Vec::new();
    let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); drawn.len()];
    let draw = |screen: Screen| {
        let scale = Scale::on(screen, window);
        let mut out = String::new();
        let mut top = 0.0;
        for (index, title) in titles.iter().enumerate() {
            let panel = Panel {
                title: format!("{layer}, {title}"),
                number: panels.len(),
                aligned: index > 0,
            };
            let bands;
            (top, bands) = scale.panel(&panel, &drawn, size, top, &mut out);
            for (row, band) in rows.iter_mut().zip(bands) {
                row.push((band, BAND));
            }
            panels.push(RulerPanel {
                left: scale.left,
                right: scale.right,
                aligned: panel.aligned,
            });
        }
        let end = format!(
            "{} from the start of {}",
            Bytes::new(window),
            short(layer, 24)
        );
        text(&mut out, scale.left, top + 8.0, "quiet", "0");
        text(&mut out, scale.right, top + 8.0, "quiet end", &end);
        picture(
            screen.width(),
            top + 20.0,
            &format!("A request of {} at the start of {layer}", Bytes::new(size)),
            "The boundaries of each grid, the request, and the units that it touches; the table has the same in figures",
            &out,
        )
    };
    let picture = Picture::drawn(draw);
    let starts: Vec<u64> = drawn.iter().map(|(_, start)| *start).collect();
    let table = table(layer, &drawn, &starts, size);
    let grids = drawn
        .iter()
        .zip(rows)
        .map(|((grid, start), rows)| RulerGrid {
            name: format!("{} of {}", grid.role, grid.of),
            unit: grid.unit.get().to_string(),
            size: grid.unit.to_string(),
            start: start.to_string(),
            rewrites: grid.rewrites,
            rows,
        });
    Some(Ruler {
        layer: layer.clone(),
        picture,
        table,
        data: RulerData {
            window: window.to_string(),
            panels,
            step: smallest.min(512).to_string(),
            sizes: sizes
                .iter()
                .map(|one| (one.to_string(), Bytes::new(*one).to_string()))
                .collect(),
            size: chosen,
            grids: grids.collect(),
        },
    })
}

/// The arithmetic of a request at the layer's first byte. The script writes the same for others.
fn table(layer: &str, grids: &[(&ViewGrid, u64)], starts: &[u64], size: u64) -> Table {
    let mut table = Table::new(
        format!("A request of {} at byte 0 of {layer}", Bytes::new(size)),
        &[
            "boundaries",
            "first unit",
            "last unit",
            ">units touched",
            ">of them in part",
            ">from a boundary: touched",
            ">in part",
        ],
    );
    for ((grid, _), start) in grids.iter().zip(starts) {
        let now = touched(*start, grid.unit, 0, size);
        let aligned = touched(0, grid.unit, 0, size);
        let quotient = |byte: u64, unit: u128| {
            let by = Bytes::new(grid.unit.get());
            format!(
                "⌊{} ÷ {}⌋ = {unit}",
                Bytes::new(byte).grouped(),
                by.grouped()
            )
        };
        table.row([
            format!("{} {}", grid.role, grid.unit),
            quotient(*start, now.first),
            quotient(start.saturating_add(size - 1), now.last),
            (now.last - now.first + 1).to_string(),
            now.partial.to_string(),
            (aligned.last - aligned.first + 1).to_string(),
            aligned.partial.to_string(),
        ]);
    }
    table
}

/// A row of grids.
struct Panel {
    title: String,
    /// Counted over both pictures.
    number: usize,
    /// Drawn as if the layer began on a boundary of every grid.
    aligned: bool,
}

/// From bytes of the layer to places.
struct Scale {
    window: u64,
    left: f64,
    right: f64,
    /// Whether names of grids stand above their rows, for want of room beside them.
    above: bool,
}

impl Scale {
    fn on(screen: Screen, window: u64) -> Scale {
        let above = screen == Screen::Narrow;
        Scale {
            window,
            left: if above { MARGIN } else { 216.0 },
            right: screen.width() - MARGIN,
            above,
        }
    }

    /// A panel that begins at `top`, with a request of this size at byte 0; where it ends, and where the band of each grid begins.
    fn panel(
        &self,
        panel: &Panel,
        drawn: &[(&ViewGrid, u64)],
        size: u64,
        top: f64,
        out: &mut String,
    ) -> (f64, Vec<f64>) {
        let label = if self.above { LINE } else { 0.0 };
        let row = label + GAP + BAND + 6.0;
        let room = room(self.right - MARGIN);
        let head = lines(out, (MARGIN, top + 20.0), "head", &panel.title, room);
        let from = top + 12.0 + length(head) * LINE;
        let bands: Vec<f64> = (0..drawn.len())
            .map(|index| from + length(index) * row + label + GAP)
            .collect();
        let start = |start: u64| if panel.aligned { 0 } else { start };
        for ((grid, phase), y) in drawn.iter().zip(&bands) {
            let name = format!("{} {}", grid.role, grid.unit);
            if self.above {
                text(out, self.right, y - 6.0, "end", &short(&name, room));
            } else {
                text(out, self.left - 8.0, y + 12.5, "end", &short(&name, 27));
            }
            self.boundaries(grid.unit.get(), start(*phase), *y, out);
        }
        let bottom = from + length(drawn.len()) * row;
        let _ = writeln!(out, "<g class=\"moved\" data-panel=\"{}\">", panel.number);
        for ((grid, phase), y) in drawn.iter().zip(&bands) {
            let start = start(*phase);
            let touched = touched(start, grid.unit, 0, size);
            self.units(touched, grid.unit, start, size, *y, out);
        }
        let first = bands.first().map_or(from, |y| y - GAP);
        let _ = writeln!(
            out,
            "<rect class=\"request\" x=\"{:.1}\" y=\"{first:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n</g>",
            self.left,
            self.width(size),
            bottom - first
        );
        (bottom + 12.0, bands)
    }

    #[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
    fn width(&self, bytes: u64) -> f64 {
        (bytes as f64 / self.window as f64).min(1.0) * (self.right - self.left)
    }

    fn boundaries(&self, unit: u64, start: u64, top: f64, out: &mut String) {
        let bottom = top + BAND;
        line(out, "grid", (self.left, bottom), (self.right, bottom));
        if self.width(unit) < NEAREST {
            let _ = writeln!(
                out,
                "<rect class=\"fine\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAND}\"/>",
                self.left,
                self.right - self.left
            );
            return;
        }
        let mut path = String::new();
        let mut at = (unit - start % unit) % unit;
        while at <= self.window {
            let x = self.left + self.width(at);
            let _ = write!(path, "M{x:.1} {top:.1}V{bottom:.1}");
            let Some(next) = at.checked_add(unit) else {
                break;
            };
            at = next;
        }
        let _ = writeln!(out, "<path class=\"bound\" d=\"{path}\"/>");
    }

    /// The units that a request at byte 0 touches.
    fn units(&self, touched: Touched, unit: Unit, start: u64, size: u64, y: f64, out: &mut String) {
        let (unit, start) = (u128::from(unit.get()), u128::from(start));
        let bytes = |at: u128| u64::try_from(at.saturating_sub(start)).unwrap_or(u64::MAX);
        let end = start + u128::from(size);
        let mut rect = |class: &str, first: u128, last: u128| {
            let (from, to) = (
                self.width(bytes(first * unit)),
                self.width(bytes((last + 1) * unit)),
            );
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAND}\"/>",
                self.left + from,
                (to - from).max(0.5)
            );
        };
        let (mut first, mut last) = (touched.first, touched.last);
        if first * unit < start || (first == last && end % unit != 0) {
            rect("part", first, first);
            first += 1;
        }
        if first <= last && end % unit != 0 {
            rect("part", last, last);
            if last == 0 {
                return;
            }
            last -= 1;
        }
        if first <= last {
            rect("whole", first, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Grid;

    /// Counted unit by unit, with geometry's own boundaries.
    fn counted(start: u64, unit: u64, offset: u64, size: u64) -> (u64, u64) {
        let grid = Grid::new(Unit::new(unit).expect("not zero")).seen_from(Bytes::new(start));
        let (mut touched, mut partial, mut at) = (0, 0, offset);
        while at < offset + size {
            let next = grid
                .first_at_or_after(Bytes::new(at + 1))
                .expect("fits")
                .get();
            let end = next.min(offset + size);
            touched += 1;
            partial += u64::from(!grid.contains(Bytes::new(at)) || end != next);
            at = end;
        }
        (touched, partial)
    }

    #[test]
    fn what_a_request_touches_is_what_geometry_counts() {
        for unit in [1, 3, 512, 4096, 65_536] {
            for start in [0, 1, 511, 3584, 32_256] {
                for offset in [0, 1, 512, 4096, 33_280] {
                    for size in [1, 511, 512, 4096, 65_536, 70_000] {
                        let start = start % unit;
                        let found =
                            touched(start, Unit::new(unit).expect("not zero"), offset, size);
                        let units = u64::try_from(found.last - found.first + 1).expect("few");
                        assert_eq!(
                            (units, u64::from(found.partial)),
                            counted(start, unit, offset, size),
                            "{unit} {start} {offset} {size}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn addresses_of_64_bits_do_not_overflow() {
        let unit = Unit::new(1 << 62).expect("not zero");
        let found = touched((1 << 62) - 1, unit, u64::MAX, u64::MAX);
        assert_eq!((found.first, found.last, found.partial), (4, 8, 2));
    }
}
