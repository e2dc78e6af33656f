//! What each offset would cost recorded requests, on the grids of a stack or on any that are named.

mod replay;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::check::{CheckError, stacks};
use crate::geometry::{Bytes, Family, Grid, Map};
use crate::io::{OpenError, Target, TargetKind};
use crate::report::trace::{Boundary, Failure, Section, Trace};
use crate::sources::Overrides;
use crate::stack::{LayerId, LayerKind, Seen, Stack};

pub use replay::{ReplayError, replayed};
pub use straddle_trace::{
    Answer, ColumnMap, Counter, Event, FORMATS, Fault, Format, Input, JoinError, Options, PERIOD,
    Question, Record, STEP, Source, Statistics, TraceError, Translate, WireError, access, answer,
    records, scan,
};

/// What is asked of traces.
#[derive(Clone, Default)]
pub struct Asked {
    /// Files, folders of them, `-` for standard input.
    pub inputs: Vec<PathBuf>,
    /// Grids in recorded addresses, each with what crossing a boundary costs, for traces without a stack.
    pub grids: Vec<(Grid, Family)>,
    /// What the recorded devices rest on, as [`check`](crate::check()) takes it.
    pub stack: Option<PathBuf>,
    /// The layer of that stack that was recorded, where names do not tell.
    pub layer: Option<String>,
    /// What is known of the stack beyond what it says.
    pub overrides: Overrides,
    /// Where what was recorded begins today.
    pub start: Bytes,
    /// Recorded addresses count from there.
    pub is_relative: bool,
    /// Other places where it could begin.
    pub starts: Vec<Bytes>,
    /// Only these devices.
    pub only: Vec<String>,
    /// As many devices are looked at at every start.
    pub devices: usize,
    /// How traces are read.
    pub options: Options,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The stack cannot be had.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// There is no such layer in it.
    #[error("{0}")]
    Layer(String),
    /// Counts could not be kept.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing was counted from which this follows.
    #[error("units of {0} were not counted: name them where requests are counted")]
    Uncounted(Bytes),
    /// Nor read again.
    #[error("counts that were kept in a temporary file could not be read again: {0}")]
    Reread(io::Error),
}

/// Folders in folders, as far as somebody keeps traces.
const DEEPEST: usize = 16;

/// Reads traces, and says what their requests cost at each start.
///
/// # Errors
/// When there is no stack of that name, or no room for counts. What is wrong with an input is in the answer.
pub fn trace(asked: &Asked) -> Result<Trace, Error> {
    let below = asked
        .stack
        .as_deref()
        .map(|target| Below::new(target, asked))
        .transpose()?
        .map(Arc::new);
    let mut failures = Vec::new();
    let mut files = Vec::new();
    for input in &asked.inputs {
        find(input, 0, &mut files, &mut failures);
    }
    let inputs = files.iter().map(|file| match file {
        Opened::Target(name, target) => Input {
            name: name.clone(),
            source: Source::At(target, None),
        },
        Opened::Stdin => Input {
            name: "standard input".to_owned(),
            source: Source::Stream(Box::new(io::stdin())),
        },
    });
    let mut options = asked.options.clone();
    let grids = asked.grids.iter().map(|(grid, _)| grid.unit().get());
    options.periods = grids
        .chain(below.iter().flat_map(|below| below.units()))
        .collect();
    options.translate = below.clone().map(|below| below as Arc<dyn Translate>);
    let (mut statistics, refused) = scan(inputs.collect(), &options)?;
    failures.extend(refused.into_iter().map(|error| Failure {
        error: error.to_string(),
    }));
    if let Some(below) = &below {
        failures.extend(below.strangers(&statistics));
    }
    report(asked, below.as_deref(), &mut statistics, failures)
}

/// Says what requests that were counted before cost at each start, on the grids that are asked about: inputs and options say only what
/// they are called, and a stack would have had to be followed when they were counted.
///
/// # Errors
/// When a grid has a unit that was not counted, and when counts cannot be read again.
pub fn judged(statistics: &mut Statistics, asked: &Asked) -> Result<Trace, Error> {
    let units = asked.grids.iter().map(|(grid, _)| grid.unit());
    for unit in units {
        let is_counted = PERIOD.is_multiple_of(unit.get())
            || statistics.periods().any(|period| period == unit.get());
        if !is_counted {
            return Err(Error::Uncounted(unit.bytes()));
        }
    }
    report(asked, None, statistics, Vec::new())
}

fn report(
    asked: &Asked,
    below: Option<&Below>,
    statistics: &mut Statistics,
    failures: Vec<Failure>,
) -> Result<Trace, Error> {
    let mut sections = Vec::new();
    for question in questions(asked, below, statistics) {
        let answer = answer(statistics, &question.asked).map_err(Error::Reread)?;
        if answer.all.requests != [0, 0] {
            sections.push(Section {
                title: question.title,
                boundaries: question.boundaries,
                question: question.asked,
                answer,
            });
        }
    }
    let name = match asked.inputs.as_slice() {
        [only] if only.as_os_str() == "-" => "standard input".to_owned(),
        [only] => only.display().to_string(),
        several => format!("{} inputs", several.len()),
    };
    Ok(Trace {
        name,
        files: statistics.files().to_vec(),
        summaries: (0..statistics.files().len())
            .map(|file| statistics.file(file))
            .collect(),
        span: statistics.span(),
        sections,
        failures,
    })
}

enum Opened {
    Target(String, Target),
    Stdin,
}

fn find(path: &Path, depth: usize, files: &mut Vec<Opened>, failures: &mut Vec<Failure>) {
    let name = path.display().to_string();
    let mut fail = |error: String| failures.push(Failure { error });
    if path.as_os_str() == "-" {
        return files.push(Opened::Stdin);
    }
    if path.is_dir() {
        if depth >= DEEPEST {
            return fail(format!("{name}: more than {DEEPEST} folders deep"));
        }
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return fail(format!("{name}: {error}")),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            find(&entry.path(), depth + 1, files, failures);
        }
        return;
    }
    match Target::open(path) {
        Ok(target) if target.kind() == TargetKind::File => files.push(Opened::Target(name, target)),
        Ok(_) => fail(format!(
            "{name} is a block device; expected a file that a recorder wrote"
        )),
        Err(OpenError::WrongType { found, .. }) => {
            fail(format!(
                "{name} is {found}; expected a file that a recorder wrote, or `-` for standard input"
            ));
        }
        Err(error) => fail(error.to_string()),
    }
}

/// A question, and how its grids are called.
struct Titled {
    title: Option<String>,
    boundaries: Vec<Boundary>,
    asked: Question,
}

fn questions(asked: &Asked, below: Option<&Below>, statistics: &Statistics) -> Vec<Titled> {
    let Some(below) = below else {
        let boundary = |(grid, family): &(Grid, Family)| Boundary {
            role: None,
            layer: None,
            grid: *grid,
            family: *family,
        };
        return vec![Titled {
            title: None,
            boundaries: asked.grids.iter().map(boundary).collect(),
            asked: Question {
                grids: asked.grids.clone(),
                today: asked.start,
                is_absolute: !asked.is_relative,
                starts: other(&asked.starts, asked.start),
                only: asked.only.clone(),
                devices: asked.devices,
            },
        }];
    };
    let names: Vec<&str> = statistics
        .devices()
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    let places = below
        .places
        .iter()
        .filter(|place| names.contains(&place.name.as_str()));
    places.map(|place| below.question(place, asked)).collect()
}

/// Starts that are not today's.
fn other(starts: &[Bytes], today: Bytes) -> Vec<Bytes> {
    let others = starts.iter().filter(|start| **start != today);
    others.copied().collect()
}

/// Somewhere in the stack that requests lie in, and from which all grids below look the same everywhere.
#[derive(Clone, Debug)]
struct Place {
    /// As requests are named that lie there.
    name: String,
    layer: LayerId,
    /// Where it begins in the addresses of that layer, or the partition does that carries it.
    start: Bytes,
    /// The addresses of it, where it is a part of its layer only.
    part: Option<(u64, u64)>,
}

/// The stack below what was recorded.
struct Below {
    stack: Stack,
    /// The layer that all devices are, where it was named.
    layer: Option<LayerId>,
    places: Vec<Place>,
    /// Places by layer.
    of: BTreeMap<LayerId, Vec<usize>>,
}

impl Below {
    fn new(target: &Path, asked: &Asked) -> Result<Below, Error> {
        let found = stacks(&[target.to_path_buf()], asked.overrides.clone(), true);
        let found = found.map_err(|(_, error)| error)?;
        let Some((_, stack)) = found.into_iter().next() else {
            let target = target.display();
            return Err(Error::Layer(format!(
                "{target}: no storage stack was recognised in it; `straddle check {target}` says what is read"
            )));
        };
        let mut below = Below {
            stack,
            layer: None,
            places: Vec::new(),
            of: BTreeMap::new(),
        };
        if let Some(name) = &asked.layer {
            let layer = below.named(name);
            if layer.is_none() {
                let names: Vec<&str> = below
                    .stack
                    .iter()
                    .map(|(_, layer)| layer.name.as_str())
                    .collect();
                return Err(Error::Layer(format!(
                    "no layer is called `{name}`; there are {}",
                    names.join(", ")
                )));
            }
            below.layer = layer;
        }
        let ids: Vec<LayerId> = below.stack.iter().map(|(id, _)| id).collect();
        for id in ids {
            below.enter(id);
        }
        Ok(below)
    }

    fn named(&self, name: &str) -> Option<LayerId> {
        let short = |name: &str| name.strip_prefix("/dev/").unwrap_or(name).to_owned();
        let is = |(_, layer): &(LayerId, &crate::stack::Layer)| short(&layer.name) == short(name);
        self.stack.iter().find(is).map(|(id, _)| id)
    }

    /// Enters the places that requests of a layer lie in: its partitions and what is outside of them, or itself.
    fn enter(&mut self, id: LayerId) {
        if self.is_torn(id) {
            return;
        }
        let layer = self.stack.layer(id);
        let mut places = Vec::new();
        for above in self.stack.above(id) {
            let upper = self.stack.layer(above);
            if upper.kind == LayerKind::Partition
                && let Some(placement) = &upper.placement
            {
                let (start, end) = (placement.value.start(), placement.value.end());
                places.push(Place {
                    name: format!("{} of {}", upper.name, layer.name),
                    layer: id,
                    start,
                    part: Some((start.get(), end.get())),
                });
            }
        }
        // The partition that carries a layer is what can be moved.
        let start = self.carrier(id).unwrap_or_default();
        places.push(Place {
            name: layer.name.clone(),
            layer: id,
            start,
            part: None,
        });
        for place in places {
            self.of.entry(id).or_default().push(self.places.len());
            self.places.push(place);
        }
    }

    /// Where the nearest partition at or below a layer begins.
    fn carrier(&self, id: LayerId) -> Option<Bytes> {
        let layer = self.stack.layer(id);
        if layer.kind == LayerKind::Partition {
            return layer
                .placement
                .as_ref()
                .map(|placement| placement.value.start());
        }
        match layer.below.as_slice() {
            [only] if matches!(layer.map, Map::Linear { .. }) => self.carrier(*only),
            _ => None,
        }
    }

    /// Whether grids below look different from place to place.
    fn is_torn(&self, id: LayerId) -> bool {
        let seen = self.stack.grids_seen_from(id);
        let layer = self.stack.layer(id);
        seen.iter().any(|grid| matches!(grid.seen, Seen::Pieces(_)))
            || matches!(layer.map, Map::Segments(_) | Map::Blocks(_))
    }

    /// Recorded devices that are none of its layers.
    fn strangers(&self, statistics: &Statistics) -> Option<Failure> {
        let is_place = |name: &str| self.places.iter().any(|place| place.name == name);
        let names = statistics
            .devices()
            .iter()
            .map(|device| device.name.as_str());
        let mut names: Vec<&str> = names.filter(|name| !is_place(name)).collect();
        names.dedup();
        let layers: Vec<&str> = self
            .stack
            .iter()
            .map(|(_, layer)| layer.name.as_str())
            .collect();
        (!names.is_empty()).then(|| Failure {
            error: format!(
                "no layer of the stack is called {}; say with --layer which one was recorded: {}",
                names.join(", "),
                layers.join(", ")
            ),
        })
    }

    /// Units of all grids that are judged.
    fn units(&self) -> impl Iterator<Item = u64> {
        let layers = self.of.keys();
        layers
            .flat_map(|id| boundaries(&self.stack, *id))
            .map(|boundary| boundary.grid.unit().get())
    }

    fn question(&self, place: &Place, asked: &Asked) -> Titled {
        let boundaries = boundaries(&self.stack, place.layer);
        Titled {
            title: Some(place.name.clone()),
            asked: Question {
                grids: boundaries
                    .iter()
                    .map(|boundary| (boundary.grid, boundary.family))
                    .collect(),
                today: place.start,
                is_absolute: true,
                starts: other(&asked.starts, place.start),
                only: vec![place.name.clone()],
                devices: 0,
            },
            boundaries,
        }
    }

    /// Pieces of an extent of a layer.
    fn pieces(&self, id: LayerId, start: u64, len: u64, piece: &mut dyn FnMut(&[u8], u64, u64)) {
        let (mut at, end) = (start, start + len);
        if let Some(places) = self.of.get(&id) {
            while at < end {
                let (name, next) = self.part(places, at, end);
                piece(name.as_bytes(), at, next - at);
                at = next;
            }
            return;
        }
        let layer = self.stack.layer(id);
        while at < end {
            let Some(location) = layer.map.locate(Bytes::new(at)) else {
                // It lies nowhere: as far as the next sector.
                at = (at / STEP + 1) * STEP;
                continue;
            };
            let run = location.run.get().min(end - at);
            if let Some(below) = layer.below.get(location.target) {
                self.pieces(*below, location.offset.get(), run, piece);
            }
            at += run;
        }
    }

    /// The place of an address, and where the next one begins, or `end`.
    fn part(&self, places: &[usize], at: u64, end: u64) -> (&str, u64) {
        let mut next = end;
        let mut whole = "";
        for place in places.iter().filter_map(|place| self.places.get(*place)) {
            match place.part {
                Some((from, to)) if (from..to).contains(&at) => return (&place.name, to.min(end)),
                Some((from, _)) if from > at => next = next.min(from),
                Some(_) => {}
                None => whole = &place.name,
            }
        }
        (whole, next)
    }
}

impl Translate for Below {
    fn translate(
        &self,
        device: &[u8],
        start: u64,
        len: u64,
        piece: &mut dyn FnMut(&[u8], u64, u64),
    ) -> bool {
        let layer = self
            .layer
            .or_else(|| self.named(std::str::from_utf8(device).ok()?));
        match layer {
            Some(layer) => {
                self.pieces(layer, start, len, piece);
                true
            }
            None => false,
        }
    }
}

/// Grids that a layer sees, each once: those that can be counted, and that are not one sector.
fn boundaries(stack: &Stack, id: LayerId) -> Vec<Boundary> {
    let mut boundaries: Vec<Boundary> = Vec::new();
    for seen in stack.grids_seen_from(id) {
        let Seen::Uniform(grid) = seen.seen else {
            continue;
        };
        let unit = grid.unit().get();
        let is_counted = unit > STEP && unit.is_multiple_of(STEP) && unit <= MAX_UNIT;
        let is_new = boundaries
            .iter()
            .all(|known| (known.grid, known.family) != (grid, seen.role.family()));
        if is_counted && is_new {
            boundaries.push(Boundary {
                role: Some(seen.role),
                layer: Some(stack.layer(seen.layer).name.clone()),
                grid,
                family: seen.role.family(),
            });
        }
    }
    boundaries.sort_by_key(|boundary| boundary.grid.unit());
    boundaries
}

/// Larger units have a distribution that is none: hardly two requests begin at the same place.
const MAX_UNIT: u64 = 64 << 20;
