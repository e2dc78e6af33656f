//! The layers of a stack as boxes: each above what it lies on, to scale where that is known.

use straddle_geometry::Bytes;

use super::block::Picture;
use super::chart::{Screen, length, picture, room, short, text};
use super::read::Layer;
use std::fmt::Write;

const ROW: f64 = 40.0;
const GAP: f64 = 8.0;
const MARGIN: f64 = 8.0;
/// A box that is narrower cannot be seen.
const LEAST: f64 = 6.0;
/// Of more layers, those that are left out are said.
const MOST: usize = 60;

/// Where a layer is drawn.
#[derive(Clone, Copy)]
struct Place {
    left: f64,
    width: f64,
    /// Rows from the ground.
    level: usize,
}

/// The picture.
pub(super) fn draw(target: &str, stack: &[Layer]) -> Picture {
    Picture::drawn(|screen| on(screen, target, stack))
}

fn on(screen: Screen, target: &str, stack: &[Layer]) -> String {
    let shown = stack.get(..stack.len().min(MOST)).unwrap_or(stack);
    let right = screen.width() - MARGIN;
    let places = places(shown, right);
    let levels = places
        .iter()
        .map(|place| place.level + 1)
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    let mut said = Vec::new();
    for (layer, place) in shown.iter().zip(&places) {
        let y = MARGIN + length(levels - 1 - place.level) * (ROW + GAP);
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"layer\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW}\" rx=\"3\"/>",
            crate::escape::xml(&words(layer)),
            place.left,
            place.width
        );
        // The name stands in the box, or behind it where that is too narrow and there is room.
        let inside = room(place.width - 8.0);
        let behind = place.left + place.width;
        let next = places
            .iter()
            .filter(|other| other.level == place.level && other.left >= behind)
            .map(|other| other.left);
        let outside = room(next.fold(right, f64::min) - behind - 8.0);
        let name = layer.name.chars().count();
        let (x, room) = if inside >= name.min(outside) {
            (place.left + 5.0, inside)
        } else {
            (behind + 5.0, outside)
        };
        if room >= 3 {
            text(&mut out, x, y + 17.0, "head", &short(&layer.name, room));
            text(&mut out, x, y + 33.0, "quiet", &short(&under(layer), room));
        }
        out.push_str("</g>\n");
        said.push(words(layer));
    }
    let mut height = MARGIN * 2.0 + length(levels) * (ROW + GAP) - GAP;
    if shown.len() < stack.len() {
        let more = format!(
            "and {} layers more: see the table",
            stack.len() - shown.len()
        );
        text(&mut out, MARGIN, height + 12.0, "quiet", &more);
        height += 20.0;
    }
    picture(
        screen.width(),
        height.max(ROW),
        &format!("The layers of {target}"),
        &said.join("; "),
        &out,
    )
}

fn under(layer: &Layer) -> String {
    let kind = layer.format.as_deref().unwrap_or(&layer.kind);
    match layer.start() {
        Some(start) => format!("{kind}, starts at {start}"),
        None => kind.to_owned(),
    }
}

fn words(layer: &Layer) -> String {
    let size = layer
        .size
        .as_ref()
        .map(|size| format!(", {}", size.value.rounded()));
    format!(
        "{}: {}{}",
        layer.name,
        under(layer),
        size.unwrap_or_default()
    )
}

fn places(stack: &[Layer], right: f64) -> Vec<Place> {
    let ground = stack
        .iter()
        .filter(|layer| layer.below.is_empty())
        .count()
        .max(1);
    let each = (right - MARGIN - GAP * length(ground - 1)) / length(ground);
    let mut next = 0;
    let mut out: Vec<Place> = Vec::new();
    for layer in stack {
        let below: Vec<Place> = layer
            .below
            .iter()
            .filter_map(|index| out.get(*index).copied())
            .collect();
        let place = match below.as_slice() {
            [] => {
                let left = MARGIN + length(next) * (each + GAP);
                next += 1;
                Place {
                    left,
                    width: each.max(LEAST),
                    level: 0,
                }
            }
            [one] => within(
                layer,
                stack.get(layer.below.first().copied().unwrap_or(0)),
                *one,
            ),
            several => {
                let left = several.iter().map(|p| p.left).fold(f64::INFINITY, f64::min);
                let right = several.iter().map(|p| p.left + p.width).fold(0.0, f64::max);
                let level = several.iter().map(|p| p.level).max().unwrap_or(0) + 1;
                Place {
                    left,
                    width: right - left,
                    level,
                }
            }
        };
        out.push(place);
    }
    spread(&mut out);
    out
}

/// A layer in the one below, in proportion.
fn within(layer: &Layer, below: Option<&Layer>, on: Place) -> Place {
    let whole = Place {
        level: on.level + 1,
        ..on
    };
    let len = layer
        .placement
        .as_ref()
        .map(|placement| placement.value.len)
        .filter(|len| *len > Bytes::ZERO)
        .or(layer.size.as_ref().map(|size| size.value));
    let total = below
        .and_then(|below| below.size.as_ref())
        .map(|size| size.value);
    let (Some(start), Some(len), Some(total)) = (layer.start(), len, total) else {
        return whole;
    };
    if total == Bytes::ZERO {
        return whole;
    }
    let share = |bytes: Bytes| (float(bytes) / float(total)).clamp(0.0, 1.0);
    let left = on.left + share(start) * on.width;
    let width = (share(len) * on.width).max(LEAST).min(on.width);
    Place {
        left: left.min(on.left + on.width - width),
        width,
        level: on.level + 1,
    }
}

/// Moves boxes that would lie on each other in one row a row up.
fn spread(places: &mut [Place]) {
    for index in 0..places.len() {
        let (before, rest) = places.split_at_mut(index);
        let Some(place) = rest.first_mut() else {
            return;
        };
        while before.iter().any(|other| {
            other.level == place.level
                && other.left + other.width > place.left + 1.0
                && place.left + place.width > other.left + 1.0
        }) {
            place.level += 1;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn float(bytes: Bytes) -> f64 {
    bytes.get() as f64
}
