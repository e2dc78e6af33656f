//! Where requests lie: a lattice that is shifted by an offset, in place of a partition that is moved.

mod base;
mod devices;
mod ground;
mod offsets;
mod standing;
mod warn;

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Lattice, Price, Unit, both_ways, lcm};
use straddle_stack::{GridRole, LayerId};
use straddle_workload::offset::Offset;

use crate::plan::Plan;
use crate::target::Limits;
use crate::validity::Warning;
use base::Choice;
use ground::Look;

pub use devices::{Devices, devices_below};
pub use ground::Ground;
pub use offsets::{NotPermitted, check_offsets, check_strides};

/// Which part of a file or device requests may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The byte of the file or device that offset 0 stands for: a place that lies on all known grids at once, or as near
    /// to that as the file permits.
    pub base: Bytes,
    /// Bytes that requests of one offset are spread over. The lattice of an offset starts at `base + offset` and ends
    /// within this many bytes of there.
    pub len: Bytes,
}

impl Region {
    /// What requests at `offset` may touch; `None` past the largest address.
    #[must_use]
    pub fn at(self, offset: Bytes) -> Option<Extent> {
        Extent::new(self.base.checked_add(offset)?, self.len)
    }
}

/// How an offset stands on one grid of the stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// What the boundaries are.
    pub role: GridRole,
    /// The layer that contributes them: its index in the stack, and its name.
    pub layer: LayerId,
    /// Its name.
    pub layer_name: String,
    /// Their distance.
    pub unit: Unit,
    /// Bytes from a boundary to the first request; `None` when that differs from piece to piece of a fragmented file.
    pub phase: Option<Bytes>,
    /// What requests of a size cost there, for each request size of the plan: reads and writes.
    pub prices: Vec<SizePrice>,
}

/// What requests of one size cost on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizePrice {
    /// The request size.
    pub size: Unit,
    /// Distance from one request to the next; absent where each begins at the end of the one before it, or may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<Unit>,
    /// Of a read; `None` when it is not known, as for requests with a stride in a file of several pieces.
    pub read: Option<Price>,
    /// Of a write.
    pub write: Option<Price>,
}

/// Where the requests of one offset lie.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Placed {
    /// The offset.
    pub offset: Offset,
    /// Address of its first request on the lowest layer to which one path leads, and that layer's name.
    pub device: Option<(String, Bytes)>,
    /// On every known grid, highest layer first.
    pub standings: Vec<Standing>,
    /// Offsets with the same number stand alike on every known grid: a difference between them is noise, or a grid that
    /// nobody knows of.
    pub class: usize,
}

/// Requests of one size, and how far apart they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spacing {
    /// Length of each.
    pub size: Unit,
    /// From the beginning of one to that of the next; `None` where they lie end to end.
    pub stride: Option<Unit>,
}

impl Spacing {
    /// From the beginning of a request to that of the next.
    #[must_use]
    pub fn step(self) -> Unit {
        self.stride.unwrap_or(self.size)
    }

    /// The requests, if the first lies there.
    fn from(self, start: Bytes) -> Lattice {
        Lattice::new(start, self.step(), self.size)
    }
}

impl From<Unit> for Spacing {
    /// End to end.
    fn from(size: Unit) -> Spacing {
        Spacing { size, stride: None }
    }
}

/// What is to be placed, and in how much room.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Offsets; the first is the baseline.
    pub offsets: &'a [Offset],
    /// Every kind of request of the plan; see [`requests_of`].
    pub requests: &'a [Spacing],
    /// Bytes that requests of one offset are to be spread over; `None` is as many as there is room for.
    pub span: Option<Bytes>,
    /// Length of the target.
    pub size: Bytes,
    /// What requests have to be aligned to: a unit of 1 through the page cache.
    pub limits: Limits,
}

/// Where a plan's requests lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The part of the target that requests may touch.
    pub region: Region,
    /// Each offset of the plan, in its order.
    pub places: Vec<Placed>,
    /// What is wrong with the place: nothing known below, fragments, or no place on all grids at once.
    pub warnings: Vec<Warning>,
}

/// Why a plan has no place in a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It is too short.
    #[error(
        "the target has {size}; offset {offset} with {span} for its requests needs {least}; make it that long, or ask for a smaller span or smaller offsets",
        size = both_ways(*size),
        span = both_ways(*span),
        least = both_ways(*least),
    )]
    TooSmall {
        /// Its length.
        size: Bytes,
        /// The least length that does.
        least: Bytes,
        /// The largest offset, as it was typed.
        offset: String,
        /// The bytes for requests.
        span: Bytes,
    },
    /// There is no room for a whole number of requests of every size.
    #[error(
        "a span of {span} does not hold a whole number of requests of all sizes; expected at least {least}, the least common multiple of {sizes}; ask for a larger span or fewer sizes"
    )]
    SpanTooSmall {
        /// What was asked for.
        span: Bytes,
        /// The least that does.
        least: Bytes,
        /// The sizes, or strides where there are some, in words.
        sizes: String,
    },
    /// There is nothing to place, or an end past 2⁶⁴ bytes.
    #[error("{0}")]
    NoPlace(&'static str),
}

/// Every request size of a plan, smallest first.
#[must_use]
pub fn sizes_of(plan: &Plan) -> Vec<Unit> {
    let cells = plan.cells.iter();
    let mut sizes: Vec<Unit> = cells
        .flat_map(|cell| cell.sizes.iter().map(|(size, _)| *size))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Every kind of request of a plan, smallest first.
#[must_use]
pub fn requests_of(plan: &Plan) -> Vec<Spacing> {
    let cells = plan.cells.iter();
    let mut requests: Vec<Spacing> = cells
        .flat_map(|cell| {
            let stride = cell.stride();
            let sizes = cell.sizes.iter();
            sizes.map(move |(size, _)| Spacing {
                size: *size,
                stride: stride.filter(|stride| stride != size),
            })
        })
        .collect();
    requests.sort_unstable();
    requests.dedup();
    requests
}

/// A length of a new file in which a plan finds its place whatever the grids below are, as long as the file is in one piece
/// and its grids meet within 64 MiB: what is skipped to reach a base, the largest offset, and the span.
///
/// Where a filesystem has less, half of what is left beside span and offset is for finding a place: grids meet within a few MiB as a rule,
/// and where they do not, the place that is found says so.
///
/// # Errors
/// [`PlaceError::SpanTooSmall`], and [`PlaceError::NoPlace`] past 2⁶⁴ bytes.
pub fn room_for(
    offsets: &[Offset],
    requests: &[Spacing],
    span: Bytes,
    left: Option<Bytes>,
) -> Result<Bytes, PlaceError> {
    let len = whole_span(requests, span)?;
    let largest = offsets.iter().map(|offset| offset.bytes).max();
    let needed = len.checked_add(largest.unwrap_or(Bytes::ZERO));
    let needed = needed.ok_or(PAST_THE_END)?;
    let rest = left.and_then(|left| left.checked_sub(needed));
    // In whole MiB.
    let half = rest.map(|rest| Bytes::mib(rest.get() >> 21));
    let most = base::MAX_SKIPPED.bytes();
    let skipped = half.map_or(most, |half| half.min(most));
    needed.checked_add(skipped).ok_or(PAST_THE_END)
}

const PAST_THE_END: PlaceError =
    PlaceError::NoPlace("the offsets and the span reach past 2^64 bytes; ask for smaller ones");

/// The least common multiple of all distances.
fn common_step(requests: &[Spacing]) -> Result<Unit, PlaceError> {
    let mut steps = requests.iter().map(|request| request.step());
    let first = steps.next().ok_or(PlaceError::NoPlace(
        "the plan has no request size; name at least one",
    ))?;
    steps
        .try_fold(first, |common, step| {
            lcm(common.get(), step.get()).and_then(Unit::new)
        })
        .ok_or(PlaceError::NoPlace(
            "the request sizes have no common multiple below 2^62 bytes; take sizes that divide each other",
        ))
}

/// `span` rounded down so that every size, or its stride, divides it.
fn whole_span(requests: &[Spacing], span: Bytes) -> Result<Bytes, PlaceError> {
    let common = common_step(requests)?;
    let (count, rest) = span.div_rem(common);
    if count == 0 {
        let mut sizes: Vec<String> = requests.iter().map(|r| r.step().to_string()).collect();
        sizes.dedup();
        return Err(PlaceError::SpanTooSmall {
            span,
            least: common.bytes(),
            sizes: sizes.join(", "),
        });
    }
    Ok(span.checked_sub(rest).unwrap_or(span))
}

/// Finds the place of a plan in a target, and how each offset stands there on every known grid. How the base is chosen is
/// said in `place/base.rs`.
///
/// `ground` is the target in the stack that `check` sees; `None` where there is none. Without any known grid the base is 0,
/// and every offset is a class of its own.
///
/// # Errors
/// [`PlaceError`] when it does not fit.
pub fn place(ground: Option<Ground<'_>>, wanted: &Wanted<'_>) -> Result<Placement, PlaceError> {
    let common = common_step(wanted.requests)?;
    let largest = wanted
        .offsets
        .iter()
        .max_by_key(|offset| offset.bytes)
        .ok_or(PlaceError::NoPlace(
            "the plan has no offset; name at least one",
        ))?;
    let grids = ground.map(|ground| ground.grids()).unwrap_or_default();
    let (looks, roles): (Vec<Look>, Vec<GridRole>) = grids
        .iter()
        .filter_map(|grid| Some((Look::of(grid)?, grid.role)))
        .unzip();
    let costs: Vec<_> = looks
        .iter()
        .zip(&roles)
        .map(|(look, role)| standing::worst_cost(role.family(), look.unit, wanted.requests))
        .collect();
    let stretches = ground::stretches(&looks, wanted.size);
    let choose = |len: Bytes| {
        let window = largest.bytes.checked_add(len).ok_or(PAST_THE_END)?;
        let choice = Choice {
            looks: &looks,
            costs: &costs,
            stretches: &stretches,
            permitted: wanted.limits.offset,
            window,
            size: wanted.size,
        };
        choice.base().map_err(|least| PlaceError::TooSmall {
            size: wanted.size,
            least,
            offset: largest.name.clone(),
            span: len,
        })
    };
    let len = match wanted.span {
        Some(span) => whole_span(wanted.requests, span)?,
        None => {
            // As much as is left behind the first place that would do for the least.
            let first = choose(common.bytes())?;
            let taken = first.at.checked_add(largest.bytes).ok_or(PAST_THE_END)?;
            let left = wanted.size.checked_sub(taken).unwrap_or(Bytes::ZERO);
            whole_span(wanted.requests, left)?
        }
    };
    let base = choose(len)?;
    let region = Region { base: base.at, len };
    let places = standing::places(ground, &grids, wanted, region)?;
    let mut warnings = Vec::new();
    if grids.is_empty() {
        warnings.push(warn::unknown(ground));
    }
    let scene = warn::Scene {
        ground,
        grids: &grids,
        looks: &looks,
        costs: &costs,
        stretches: &stretches,
        wanted,
        region,
    };
    warnings.extend(scene.misplaced(&base));
    warnings.extend(scene.fragmented());
    Ok(Placement {
        region,
        places,
        warnings,
    })
}
