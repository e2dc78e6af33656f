//! RAID levels: how they deal chunks to members, and the maps and grids that follow. A live host and captured text both
//! build arrays from this.
//!
//! Layouts: `md(4)` and `drivers/md/raid10.c`.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Extent, Grid, Map, Raid, RaidLayout, Segment, Striping, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, Seen, Stack, Value};

/// A member of an array.
pub(crate) struct Member {
    /// Its place among the members, from 0.
    pub(crate) slot: usize,
    /// What it is.
    pub(crate) layer: LayerId,
    /// Where its data starts.
    pub(crate) offset: Bytes,
    /// How that is known.
    pub(crate) said: Fact<Bytes>,
    /// How much of it the array uses.
    pub(crate) size: Option<Bytes>,
}

/// The map of a layer whose addresses are known to reach the layers below, but not where.
pub(crate) fn nowhere() -> Map {
    Map::Segments(Vec::new())
}

/// How a level deals chunks to members, as far as alignment is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Every chunk once, in turn.
    Striped,
    /// RAID 10 whose copies lie side by side in the same row; this many.
    Near(u64),
    /// RAID 10 whose first copies are dealt over all members like RAID 0 and whose others lie further down.
    Far(u64),
    /// Parity on this many members of every stripe.
    Parity(u64),
    /// Every member holds everything.
    Mirror,
    /// One member after the other.
    Concatenated,
    /// Something else.
    Other,
}

impl Shape {
    pub(crate) fn of(level: &str, layout: Option<u64>, count: u64) -> Shape {
        match level {
            "raid0" => Shape::Striped,
            "raid1" => Shape::Mirror,
            "linear" => Shape::Concatenated,
            "raid4" | "raid5" => Shape::Parity(1),
            "raid6" => Shape::Parity(2),
            "raid10" => {
                let layout = layout.unwrap_or(0x102);
                match (layout & 0xff, layout >> 8 & 0xff) {
                    (near, 1) if near > 0 && count > 0 && count.is_multiple_of(near) => {
                        Shape::Near(near)
                    }
                    (1, far) if far > 1 => Shape::Far(far),
                    _ => Shape::Other,
                }
            }
            _ => Shape::Other,
        }
    }

    pub(crate) fn data_members(self, count: u64) -> Option<u64> {
        let data = match self {
            Shape::Striped => count,
            Shape::Near(copies) => count / copies,
            // Reads go to all members, writes reach each chunk's copies elsewhere.
            Shape::Far(_) => count,
            Shape::Parity(parity) => count.checked_sub(parity)?,
            Shape::Mirror | Shape::Concatenated | Shape::Other => return None,
        };
        (data > 0).then_some(data)
    }

    fn arithmetic(self, count: u64) -> String {
        match self {
            Shape::Near(copies) => format!("{count} ÷ {copies} copies"),
            Shape::Parity(parity) => format!("{count} − {parity} parity"),
            _ => "all".to_owned(),
        }
    }
}

/// What is said of an array besides its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    /// Level: `raid5`.
    pub(crate) level: &'a str,
    /// Layout as md counts it.
    pub(crate) layout: Option<u64>,
    /// Number of members that it is meant to have.
    pub(crate) count: u64,
    /// Chunk.
    pub(crate) chunk: Option<Unit>,
    /// How much of each member it uses.
    pub(crate) used: Option<Bytes>,
}

impl Said<'_> {
    /// How it deals chunks to members.
    pub(crate) fn shape(&self) -> Shape {
        Shape::of(self.level, self.layout, self.count)
    }

    /// Copies or parity, and the unit by which they go around; `None` for levels without, and where that is not known.
    fn redundancy(&self) -> Option<(RaidLayout, Unit)> {
        let (level, usual) = match self.level {
            "raid1" => (1, 0),
            "raid4" => (4, 0),
            "raid5" => (5, 2),
            "raid6" => (6, 2),
            "raid10" => (10, 0x102),
            _ => return None,
        };
        // A mirror has no chunk.
        let unit = self.chunk.or((level == 1).then_some(Unit::B4096))?;
        let columns = usize::try_from(self.count).ok()?;
        let number = self.layout.unwrap_or(usual);
        // How much is used matters to far copies alone.
        let far = level == 10 && number >> 8 & 0xff > 1 && number >> 16 & 1 == 0;
        let used = self.used.or((!far).then_some(Bytes::ZERO))?;
        Some((
            RaidLayout::from_md(level, number, columns, unit, used)?,
            unit,
        ))
    }

    /// True when the map has a column for each member that the array is meant to have, present or not.
    pub(crate) fn has_columns(&self) -> bool {
        self.redundancy()
            .is_some_and(|(layout, _)| layout != RaidLayout::Mirror)
    }

    /// The map over `members`, which are in the order of their places.
    pub(crate) fn map(&self, members: &[Member]) -> Map {
        let starts: Vec<Bytes> = members.iter().map(|member| member.offset).collect();
        let all = u64::try_from(starts.len()).is_ok_and(|found| found == self.count);
        if starts.is_empty() {
            return nowhere();
        }
        match (self.redundancy(), self.shape(), self.chunk) {
            (Some((layout, unit)), ..) if all || layout == RaidLayout::Mirror => Map::Raid(Raid {
                layout,
                unit,
                starts,
            }),
            (_, Shape::Concatenated, _) => concatenated(members).unwrap_or_else(nowhere),
            (None, Shape::Striped, Some(unit)) if all => {
                // RAID 0 over members of different sizes goes on with fewer columns once the smallest is full.
                let rows = |member: &Member| member.size.map(|size| size.div_rem(unit).0);
                let mut pairs = members.windows(2);
                if pairs.all(|pair| rows(&pair[0]) == rows(&pair[1])) {
                    Map::Striped(Striping { unit, starts })
                } else {
                    nowhere()
                }
            }
            // Where the far copies lie is not known; where the first are is.
            (None, Shape::Far(_), Some(unit)) if all => Map::Striped(Striping { unit, starts }),
            _ => nowhere(),
        }
    }
}

pub(crate) fn concatenated(members: &[Member]) -> Option<Map> {
    let mut at = Bytes::ZERO;
    let mut segments = Vec::new();
    for (target, member) in members.iter().enumerate() {
        let upper = Extent::new(at, member.size?)?;
        at = upper.end();
        segments.push(Segment {
            upper,
            target,
            lower: member.offset,
        });
    }
    Map::segments(segments)
}

/// The name of a layout as mdadm prints it.
pub(crate) fn layout_name(level: &str, layout: u64) -> Option<Cow<'static, str>> {
    // How far apart copies are is no part of the name, and neither is the number of columns.
    let said = Said {
        level,
        layout: Some(layout),
        count: 1 << 8,
        chunk: Some(Unit::B4096),
        used: Some(Bytes::ZERO),
    };
    match level {
        "raid5" | "raid6" | "raid10" => Some(said.redundancy()?.0.name()),
        _ => None,
    }
}

/// Adds the stripe unit, and for parity levels the full stripe, which is what a small write is rewritten within.
pub(crate) fn add_stripes(layer: &mut Layer, shape: Shape, chunk: &Fact<Unit>, count: u64) {
    if matches!(shape, Shape::Mirror | Shape::Concatenated) {
        return;
    }
    layer.add_grid(GridRole::StripeUnit, chunk.clone().map(Grid::new));
    let Some(data) = shape.data_members(count) else {
        return;
    };
    let derived = |text: String| Fact::derived(Value::Count(data), text);
    layer.set(
        Key::DataMembers,
        derived(format!("{} of {count} members", shape.arithmetic(count))),
    );
    if let Shape::Parity(_) = shape
        && let Some(full) = chunk.value.checked_mul(data)
    {
        let from = format!("{data} data members × {} B", chunk.value.bytes().grouped());
        layer.add_grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
    }
}

/// Where the map has no closed form, the sectors below still show through chunks that all start alike.
pub(crate) fn carry_up(stack: &Stack, layer: &mut Layer, chunk: Unit, members: &[Member]) {
    let starts = members.iter().map(|member| member.offset).collect();
    let layers: Vec<LayerId> = members.iter().map(|member| member.layer).collect();
    carry_through(stack, layer, chunk, starts, &layers);
}

/// Adds the grids of the layers below as they look through pieces of `unit` bytes that lie at multiples of `unit`
/// from `starts`, in whatever order.
pub(crate) fn carry_through(
    stack: &Stack,
    layer: &mut Layer,
    unit: Unit,
    starts: Vec<Bytes>,
    below: &[LayerId],
) {
    let map = Map::Striped(Striping { unit, starts });
    let Some(first) = below.first() else { return };
    for seen in stack.grids_seen_from(*first) {
        let Seen::Uniform(grid) = seen.seen else {
            continue;
        };
        let alike = below.iter().all(|other| {
            other == first
                || stack
                    .grids_seen_from(*other)
                    .iter()
                    .any(|g| g.role == seen.role && g.seen == Seen::Uniform(grid))
        });
        let role = seen.role;
        if !alike || layer.grid(role).is_some() {
            continue;
        }
        if let Some(grid) = map.project_up(grid) {
            let name = &stack.layer(seen.layer).name;
            let from = format!(
                "{} of {name}, seen through pieces of {} B",
                role.name(),
                unit.bytes().grouped()
            );
            // What rests on an assumption is no better than that.
            let mut fact = Fact::derived(grid, from);
            fact.trust = fact.trust.max(seen.fact.trust);
            layer.add_grid(role, fact);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_names_that_mdadm_gives_them() {
        assert_eq!(layout_name("raid5", 2).as_deref(), Some("left-symmetric"));
        assert_eq!(layout_name("raid10", 0x102).as_deref(), Some("near=2"));
        assert_eq!(layout_name("raid10", 0x201).as_deref(), Some("far=2"));
        assert_eq!(layout_name("raid10", 0x1_0201).as_deref(), Some("offset=2"));
        assert_eq!(layout_name("raid6", 99), None);
    }

    #[test]
    fn only_layouts_that_are_plain_stripes_are_called_so() {
        let shape = |layout, count| Shape::of("raid10", Some(layout), count);
        assert_eq!(shape(0x102, 6), Shape::Near(2));
        assert_eq!(shape(0x102, 5), Shape::Other);
        assert_eq!(shape(0x201, 5), Shape::Far(2));
        assert_eq!(shape(0x1_0201, 6), Shape::Far(2));
        assert_eq!(shape(0, 6), Shape::Other);
        assert_eq!(Shape::of("raid6", None, 6).data_members(6), Some(4));
        assert_eq!(Shape::of("raid6", None, 2).data_members(2), None);
    }
}
