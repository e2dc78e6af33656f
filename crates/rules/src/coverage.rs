//! Whether a check compared a start with anything at all: silence about what was not looked at is no answer.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use straddle_stack::{
    AnomalyKind, GridRole, Key, Layer, LayerId, LayerKind, Stack, Trust, Value, disk_of,
    is_whole_disk,
};

use crate::commands::{self, Lack};
use crate::context::{is_extended, platform_of};
use crate::shared::said::{Said, is_said_to_be_aligned};
use crate::shared::vdev_sector::{is_zfs, members};
use crate::{Code, Context, Family, Finding, Severity, Supply, codes};

/// What a check of a stack rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "checked")]
pub enum Coverage {
    /// Starts of partitions, volumes, files and the like were compared with the boundaries below them.
    Starts {
        /// How many.
        starts: usize,
    },
    /// No start, but units that do not fit each other: a finding prices that.
    Units,
    /// There is provably nothing that could be off: what was looked at is empty.
    Blank {
        /// How that is known.
        because: Cow<'static, str>,
    },
    /// No start of anything was checked, so that no finding says nothing.
    Nothing {
        /// Why.
        why: Why,
        /// What to capture, or to do, next.
        next: Vec<String>,
    },
}

/// Why no start was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// No partition table, filesystem, array or virtual disk was recognised in it.
    Unrecognised,
    /// What it is was recognised, but what lies in it could not be read.
    Unreadable,
    /// What was captured says of nothing where it begins.
    NoStart,
    /// Every start in what was captured is a rounded figure, and what it can mean lies on boundaries and off them.
    Rounded,
    /// Text in which the output of no known tool was found.
    NoOutput,
    /// Text that mentions what tools print, far down in something else.
    Mention,
    /// Text in which the tools say that they were not let.
    Refused,
    /// Logs, counters or results: `evidence` reads them.
    Evidence,
    /// A recorded trace: `trace` reads it.
    Trace,
    /// A job file of fio: `bench` runs it.
    JobFile,
    /// A document of this program: `report` reads it.
    Document,
}

impl Why {
    /// The words for it, which follow "nothing was checked:".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Why::Unrecognised => "no format that is read was recognised in it",
            Why::Unreadable => "what lies in it could not be read",
            Why::NoStart => "it tells of nothing where it begins",
            Why::Rounded => "its starts are rounded figures, which may be on a boundary or off it",
            Why::NoOutput => "no output of a known tool was found in it",
            Why::Mention => {
                "it mentions what tools print, far down, and was not named; named, it is read"
            }
            Why::Refused => "the system let the tools in it read nothing",
            Why::Evidence => "it is a log, counters or results, which `straddle evidence` reads",
            Why::Trace => "it is a trace of requests, which `straddle trace` reads",
            Why::JobFile => "it is a job file of fio, which `straddle bench` runs",
            Why::Document => "it is a document of straddle, which `straddle report` reads",
        }
    }
}

impl Coverage {
    /// That of a file of which nothing is known.
    #[must_use]
    pub fn of_nothing_known(why: Why) -> Coverage {
        let next = match why {
            Why::NoOutput => starts_anywhere(),
            Why::Refused => vec![
                "the same command as root (`sudo`)".to_owned(),
                "in a prompt that is run as administrator (Windows)".to_owned(),
            ],
            Why::Evidence | Why::Trace | Why::JobFile | Why::Document => Vec::new(),
            why => next(&Stack::new(), why),
        };
        Coverage::Nothing { why, next }
    }

    /// Why nothing was checked, where that is so.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        match self {
            Coverage::Nothing { why, .. } => Some(*why),
            Coverage::Starts { .. } | Coverage::Units | Coverage::Blank { .. } => None,
        }
    }
}

/// What the rules had to look at, and what they found.
#[must_use]
pub fn coverage(context: &Context<'_>, findings: &[Finding]) -> Coverage {
    let layers = context.stack.iter();
    let starts = layers.filter(|(id, layer)| {
        has_start(context, *id, layer) && !is_undecided(*id, layer, findings)
    });
    let starts = starts.count();
    if starts > 0 {
        return Coverage::Starts { starts };
    }
    if findings.iter().any(says_more_than_what_is_missing) {
        return Coverage::Units;
    }
    let stack = context.stack;
    if let Some(because) = emptiness(stack) {
        return Coverage::Blank { because };
    }
    let mut roots = stack.roots();
    let is_text = roots.any(|root| !platform_of(stack, root).is_empty());
    let mut layers = stack.iter().map(|(_, layer)| layer);
    let is_told = |layer: &Layer| layer.below.is_empty() && layer.attributes.is_empty();
    let failed = |layer: &Layer| {
        let unreadable = |kind| matches!(kind, AnomalyKind::Unreadable | AnomalyKind::Missing);
        layer.kind == LayerKind::Container || layer.anomalies.iter().any(|o| unreadable(o.kind))
    };
    // The output of a tool was found, and tells of no disk: `1 aligned`.
    if stack.iter().next().is_none() {
        return Coverage::Nothing {
            why: Why::NoStart,
            next: starts_anywhere(),
        };
    }
    let is_rounded = |layer: &Layer| layer.attribute(Key::StartShown).is_some();
    let why = if layers.clone().any(is_rounded) {
        Why::Rounded
    } else if is_text {
        Why::NoStart
    } else if layers.clone().any(failed) {
        Why::Unreadable
    } else if layers.all(is_told) {
        Why::Unrecognised
    } else {
        Why::NoStart
    };
    Coverage::Nothing {
        why,
        next: next(stack, why),
    }
}

/// Degraded, reshaping, incomplete or unfinished.
const ABOUT_STATES: [Code; 6] = [
    codes::DEGRADED_ARRAY,
    codes::RESHAPING_ARRAY,
    codes::MEMBERS_DISAGREE,
    codes::PARTLY_GIVEN,
    codes::FIRMWARE_ARRAY_STATE,
    codes::UNFINISHED_ENCRYPTION,
];

/// Whether a finding is about how layers fit each other: not about the state that an array is in, nor about what was read, and how
/// well.
fn says_more_than_what_is_missing(finding: &Finding) -> bool {
    let is_state =
        ABOUT_STATES.contains(&finding.code) || finding.code.family() == Some(Family::Facts);
    !is_state && finding.severity > Severity::Note || !finding.worst_price().is_zero()
}

/// Where partitioning programs have put partitions since 2008, and people put the first one before.
const USUAL: u64 = 1 << 20;
const USUAL_BY_HAND: u64 = 64 << 10;

/// Whether a start is a rounded figure that may be on a boundary or off it (STR904), and that no usual start explains: `32 KB`, `126GB`,
/// but not `1024 KB`.
fn is_undecided(id: LayerId, layer: &Layer, findings: &[Finding]) -> bool {
    let open = |finding: &Finding| finding.code == codes::ROUNDED_FACT && finding.layer == id;
    let Some(Value::Between(shown)) = layer.attribute(Key::StartShown).map(|fact| &fact.value)
    else {
        return false;
    };
    let (from, to) = (shown.from().get(), shown.to().get());
    let usual = if to < USUAL { USUAL_BY_HAND } else { USUAL };
    let is_usual = to - from <= 2 * USUAL && from.next_multiple_of(usual) <= to;
    !is_usual && findings.iter().any(open)
}

/// Whether the place of a layer's first byte is known, and a boundary below it.
fn has_start(context: &Context<'_>, id: LayerId, layer: &Layer) -> bool {
    if is_extended(layer) {
        return false;
    }
    let stack = context.stack;
    if layer.below.is_empty() {
        // Where data, or the first extent of a physical volume, begins on a device itself.
        let offset = layer
            .attribute(Key::DataOffset)
            .or(layer.attribute(Key::FirstExtent));
        // In a partition, that lies where nobody knows.
        return offset.is_some_and(|fact| fact.trust < Trust::Assumed)
            && disk_of(kernel_name(layer)).is_none();
    }
    // The first physical extent of a volume group on an array is compared with the array's own units (STR604).
    let has_own = |role| {
        let grid = layer.grid(role);
        grid.is_some_and(|fact| fact.trust < Trust::Assumed)
    };
    if layer.attribute(Key::FirstExtent).is_some() && has_own(GridRole::StripeUnit) {
        return true;
    }
    // A rounded start is compared with every boundary that it can have (STR904).
    if layer.attribute(Key::StartShown).is_some() {
        return true;
    }
    if is_said_to_be_aligned(stack, layer) {
        return true;
    }
    // And so is what is said to be off (STR101, STR206, STR602).
    if Said::of(context, id, layer).is_some_and(|said| said.is_off()) {
        return true;
    }
    // What a vdev of ZFS takes for a sector says where blocks may begin (STR613).
    let is_said = |layer: &Layer, role| {
        layer
            .grid(role)
            .is_some_and(|fact| fact.trust < Trust::Assumed)
    };
    if is_zfs(layer) && is_said(layer, GridRole::AllocationUnit) {
        let physical = |id: &LayerId| is_said(stack.layer(*id), GridRole::PhysicalSector);
        if members(context, id).iter().any(physical) {
            return true;
        }
    }
    // Where data begin on a whole disk (STR206).
    let is_whole = |id: &LayerId| is_whole_disk(kernel_name(stack.layer(*id)));
    let offset = layer.attribute(Key::DataOffset);
    if offset.is_some_and(|fact| fact.trust < Trust::Assumed) && layer.below.iter().all(is_whole) {
        return true;
    }
    let mut grids = context.seen(id).iter();
    if !grids.any(|grid| grid.layer != id) {
        return false;
    }
    if platform_of(stack, id).is_empty() {
        return true;
    }
    let is_said_to_be = |id: LayerId| {
        let layer = stack.layer(id);
        is_said_to_be_aligned(stack, layer) || Said::of(context, id, layer).is_some()
    };
    // Text may name a disk, or anything else, without a word on what it is. A partition says so itself, and what is recorded of
    // its start is exact even where its sectors are assumed to have 512 bytes.
    match layer.kind {
        LayerKind::Partition => layer.placement.is_some(),
        _ => {
            is_placed(layer)
                // A disk begins at its first byte, whatever else is not known of it.
                && stack
                    .foundations(id)
                    .iter()
                    .all(|id| is_whole(id) || is_placed(stack.layer(*id)) || is_said_to_be(*id))
        }
    }
}

/// Whether captured text says where a layer begins, or what disk it is.
fn is_placed(layer: &Layer) -> bool {
    if layer.below.is_empty() {
        let sector = layer.grid(GridRole::PhysicalSector);
        let is_described =
            layer.size.is_some() && sector.is_some_and(|fact| fact.trust < Trust::Assumed);
        return is_described || layer.attribute(Key::DataOffset).is_some();
    }
    match layer.kind {
        // It begins with what it fills.
        LayerKind::Filesystem => true,
        LayerKind::Partition => layer.placement.is_some(),
        _ => layer
            .placement
            .as_ref()
            .is_some_and(|fact| fact.trust < Trust::Assumed),
    }
}

/// The kernel's name of a device, without what stands before it: `device sda`, `mapper/data`.
fn kernel_name(device: &Layer) -> &str {
    device
        .name
        .rsplit(['/', ' '])
        .next()
        .unwrap_or(&device.name)
}

/// How it is known that nothing lies anywhere.
fn emptiness(stack: &Stack) -> Option<Cow<'static, str>> {
    let mut because = None;
    for root in stack.roots() {
        let mut here = root;
        // A virtual disk that nothing was written to yet.
        loop {
            let layer = stack.layer(here);
            if let Some(text) = layer.text(Key::Blank) {
                because = because.or(Some(text));
                break;
            }
            here = stack.above(here).next()?;
        }
    }
    because.map(|text| Cow::Owned(text.to_owned()))
}

fn next(stack: &Stack, why: Why) -> Vec<String> {
    let platform = stack
        .roots()
        .map(|root| platform_of(stack, root))
        .find(|p| !p.is_empty());
    match (platform, why) {
        // A RAID controller's tool runs on any of them, and knows nothing of partitions.
        (Some("raid"), _) => ["windows", "linux", "esxi"]
            .into_iter()
            .flat_map(starts_of)
            .collect(),
        (Some("linux"), _)
            if stack
                .iter()
                .any(|(_, layer)| layer.kind == LayerKind::Array) =>
        {
            let members = "mdadm --examine MEMBER (where data begin on each member of an array)";
            std::iter::once(members.to_owned())
                .chain(starts_of("linux"))
                .collect()
        }
        (Some(platform), _) => starts_of(platform).collect(),
        (None, Why::Unreadable) => vec!["what STR903 or the note of the format says".to_owned()],
        (None, _) => vec![
            "an image of the whole disk, from its first sector on".to_owned(),
            "`--as file` for the place of the file itself on this machine".to_owned(),
        ],
    }
}

/// The commands that print starts, where the system is not known.
fn starts_anywhere() -> Vec<String> {
    ["windows", "linux"]
        .into_iter()
        .flat_map(starts_of)
        .collect()
}

/// The commands that print starts on a system, but for those that only very old ones need.
fn starts_of(platform: &str) -> impl Iterator<Item = String> + use<> {
    let line = |supply: &Supply| format!("{} ({})", supply.command, supply.systems);
    let mut lines: Vec<String> = commands::for_fact(Lack::Start, platform)
        .map(line)
        .collect();
    lines.drain(..lines.len().saturating_sub(2));
    lines.into_iter()
}
