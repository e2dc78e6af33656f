//! Traces in JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use straddle_geometry::{Access, Bytes, Family};
use straddle_stack::GridRole;
use straddle_trace::{BadLine, DeviceAnswer, GridAnswer, Load, WindowAnswer};

use super::doubts::doubts;
use super::result::{Boundary, Failure, Section, Trace};

/// Name and version of the JSON document that `trace` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.trace/1";

/// What was read, and what its requests would cost at each start.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle trace")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of straddle that wrote it.
    straddle: &'static str,
    /// The files that were read.
    files: Vec<File<'a>>,
    /// Inputs that came to nothing.
    failures: &'a [Failure],
    /// Files in folders that are of no known recorder.
    passed_over: u64,
    /// What makes one doubt that a trace was read as it was meant.
    doubts: Vec<String>,
    /// The earliest and the latest time in nanoseconds, from wherever the recorder counts.
    span: Option<(u64, u64)>,
    /// One for each place in the stack, or one for all requests.
    places: Vec<Place<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct File<'a> {
    name: &'a str,
    /// Whose it is.
    format: &'static str,
    /// How it was packed.
    packing: Option<&'static str>,
    /// Bytes that were read, unpacked.
    bytes: u64,
    /// Requests in it.
    requests: u64,
    /// Other lines: headings, other events, summaries, blank ones.
    other: u64,
    /// Lines that were not understood.
    bad: u64,
    /// Those, by what is wrong with them.
    faults: BTreeMap<String, u64>,
    /// The first of them.
    first_bad: Vec<Bad<'a>>,
    /// How often a time is before the one above it.
    backwards: u64,
    /// Requests that lie nowhere in what is judged.
    elsewhere: u64,
    /// Pieces beyond the first of requests that lie in several.
    split: u64,
    /// The last line has no end.
    cut: bool,
    /// Why it was not read to its end.
    stopped: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Bad<'a> {
    /// Number of the line, or of the record, from 1.
    line: u64,
    /// Its first byte in the file.
    byte: u64,
    /// What is wrong with it.
    why: String,
    /// Its beginning.
    text: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Place<'a> {
    /// Where in the stack; none: wherever requests lie.
    name: Option<&'a str>,
    /// Where what was recorded begins today.
    start: Bytes,
    /// Whether recorded addresses have that in them.
    absolute: bool,
    /// Starts that differ by it are alike; none: there are too many to try all.
    common: Option<u64>,
    /// Requests of other steps that were left out.
    left_out: u64,
    /// All devices together.
    all: Device<'a>,
    /// Each of them, those with most requests first.
    #[schemars(with = "Vec<Device<'a>>")]
    devices: Devices<'a>,
    /// Over time.
    windows: Vec<Window>,
}

/// Devices, of which there may be a hundred thousand: each is made when it is written.
#[derive(Debug)]
struct Devices<'a>(&'a Section);

impl Serialize for Devices<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Devices(section) = self;
        let devices = section.answer.devices.iter();
        serializer.collect_seq(devices.map(|device| Device::of(&device, section)))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Device<'a> {
    /// Its name; none: all of them.
    name: Option<String>,
    /// Which step of its requests was recorded.
    step: Option<&'static str>,
    /// By direction.
    requests: Directions<u64>,
    /// Bytes that they move.
    bytes: Directions<u64>,
    /// Those that begin where the one before them ended.
    sequential: Directions<u64>,
    /// How many begin in each of the eight sectors of 4 KiB.
    sectors: [u64; 8],
    /// How many begin inside a sector.
    inside_sector: u64,
    /// The largest power of two up to 1 MiB of which all offsets and lengths are multiples.
    granularity: u64,
    /// The start at which fewest operations are to be done on all grids together.
    best: Option<u64>,
    /// What is done on each grid.
    grids: Vec<OnGrid<'a>>,
    /// Requests that cost more today than at the best start, the dearest first.
    dear: Vec<Kind>,
    /// Their extra operations may be more by this.
    dear_bound: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Directions<T> {
    read: T,
    write: T,
}

impl<T> Directions<T> {
    fn of(pair: [T; 2]) -> Directions<T> {
        let [read, write] = pair;
        Directions { read, write }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct OnGrid<'a> {
    /// Distance between boundaries.
    unit: u64,
    /// The first boundary at or after address 0.
    phase: u64,
    /// What the boundaries are.
    role: Option<GridRole>,
    /// The layer that contributes them.
    layer: Option<&'a str>,
    /// True where what a write covers in part is read first.
    read_modify_write: bool,
    today: At,
    /// At each start that was asked about.
    starts: Vec<At>,
    best: Option<At>,
}

/// What is done at one start.
#[derive(Debug, Serialize, JsonSchema)]
struct At {
    /// Where the data begin.
    start: u64,
    loads: Directions<OnStart>,
    /// Requests that straddle, as a share of all.
    straddling: Option<f64>,
    /// Operations more than at the best start, relative to those.
    extra: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OnStart {
    requests: u64,
    /// Those with a boundary inside.
    straddling: u64,
    /// Units that they touch.
    units: u64,
    /// Units that they cover in part.
    in_part: u64,
    operations: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Kind {
    direction: &'static str,
    /// The first byte, modulo 4 KiB.
    place: u64,
    length: u64,
    requests: u64,
    /// Operations that they would not need at the best start, on all grids together whose units divide 1 MiB.
    extra: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Window {
    /// When it begins, in nanoseconds.
    from: u64,
    requests: Directions<u64>,
    /// By grid: operations today, and at the best start.
    operations: Vec<(u64, Option<u64>)>,
}

pub(super) const fn direction(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

impl<'a> Document<'a> {
    /// The document.
    #[must_use]
    pub fn new(trace: &'a Trace) -> Document<'a> {
        let files = trace.files.iter().zip(&trace.summaries);
        Document {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            files: files
                .map(|(file, summary)| File {
                    name: &file.name,
                    format: file.format,
                    packing: file.packing,
                    bytes: summary.bytes,
                    requests: summary.counts.requests,
                    other: summary.counts.other,
                    bad: summary.counts.bad,
                    faults: summary
                        .faults
                        .iter()
                        .map(|(fault, count)| (fault.says(), *count))
                        .collect(),
                    first_bad: summary.bad.iter().map(Bad::of).collect(),
                    backwards: summary.times.map_or(0, |times| times.backwards),
                    elsewhere: summary.elsewhere,
                    split: summary.split,
                    cut: summary.is_open,
                    stopped: file.stopped.as_deref(),
                })
                .collect(),
            failures: &trace.failures,
            passed_over: trace.passed_over,
            doubts: doubts(trace),
            span: trace.span,
            places: trace.sections.iter().map(Place::of).collect(),
        }
    }
}

impl<'a> Bad<'a> {
    fn of(bad: &'a BadLine) -> Bad<'a> {
        Bad {
            line: bad.line,
            byte: bad.at,
            why: bad.fault.says(),
            text: &bad.text,
        }
    }
}

impl<'a> Place<'a> {
    fn of(section: &'a Section) -> Place<'a> {
        let answer = &section.answer;
        Place {
            name: section.title.as_deref(),
            start: section.question.today,
            absolute: section.question.is_absolute,
            common: answer.common,
            left_out: answer.left_out,
            all: Device::of(&answer.all, section),
            devices: Devices(section),
            windows: answer
                .windows
                .iter()
                .map(|window| Window::of(window, &answer.all))
                .collect(),
        }
    }
}

impl<'a> Device<'a> {
    fn of(device: &DeviceAnswer, section: &'a Section) -> Device<'a> {
        let most = device.dear.most(10);
        let best = device.best.or(section.answer.all.best);
        let grids = section.boundaries.iter().zip(&device.grids);
        Device {
            name: device.device.as_ref().map(|device| device.name.clone()),
            step: device.device.as_ref().map(|device| device.event.name()),
            requests: Directions::of(device.requests),
            bytes: Directions::of(device.bytes),
            sequential: Directions::of(device.sequential),
            sectors: device.sectors,
            inside_sector: device.inside,
            granularity: device.granularity,
            best: device.best,
            grids: grids
                .map(|(boundary, grid)| OnGrid::of(boundary, grid, section, best))
                .collect(),
            dear: most
                .iter()
                .map(|(shape, cost)| Kind {
                    direction: direction(shape.access),
                    place: shape.place,
                    length: shape.len,
                    requests: cost.requests,
                    extra: cost.extra,
                })
                .collect(),
            dear_bound: device.dear.bound,
        }
    }
}

impl<'a> OnGrid<'a> {
    fn of(
        boundary: &'a Boundary,
        grid: &GridAnswer,
        section: &Section,
        best: Option<u64>,
    ) -> OnGrid<'a> {
        let starts = section.question.starts.iter().zip(&grid.starts);
        OnGrid {
            unit: grid.grid.unit().get(),
            phase: grid.grid.phase().get(),
            role: boundary.role,
            layer: boundary.layer.as_deref(),
            read_modify_write: grid.family == Family::ReadModifyWrite,
            today: At::of(section.question.today.get(), &grid.today, grid),
            starts: starts
                .map(|(start, loads)| At::of(start.get(), loads, grid))
                .collect(),
            best: grid
                .best
                .as_ref()
                .zip(best)
                .map(|(loads, start)| At::of(start, loads, grid)),
        }
    }
}

impl At {
    fn of(start: u64, loads: &[Load; 2], grid: &GridAnswer) -> At {
        let on = |access: Access, load: Load| OnStart {
            requests: load.requests,
            straddling: load.straddling,
            units: load.granules,
            in_part: load.partial,
            operations: load.operations(grid.family, access),
        };
        At {
            start,
            loads: Directions {
                read: on(Access::Read, loads[0]),
                write: on(Access::Write, loads[1]),
            },
            straddling: GridAnswer::straddling(loads),
            extra: grid.extra(loads),
        }
    }
}

impl Window {
    fn of(window: &WindowAnswer, all: &DeviceAnswer) -> Window {
        let grids = window.grids.iter().zip(&all.grids);
        Window {
            from: window.from,
            requests: Directions::of(window.requests),
            operations: grids
                .map(|((today, best), grid)| {
                    let best = best.as_ref().map(|best| grid.operations(best));
                    (grid.operations(today), best)
                })
                .collect(),
        }
    }
}
