//! What is moved, and where to: what a plan of `fix` proposes for one disk, or a place that somebody names.

use straddle_fix::change::Change;
use straddle_fix::change::partitions::{Entry, Partitions};
use straddle_fix::{Plan, Step};
use straddle_geometry::{Bytes, Extent, both_ways};
use straddle_io::ReadAt;
use straddle_stack::{LayerId, LayerKind, Source, Stack};

use crate::job::Job;
use crate::table::{Layout, job};
use crate::{Refusal, contents, follow_up};

/// What somebody wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Where the partition is to start; the place that `fix` proposes where it is not said.
    pub to: Option<Bytes>,
    /// Only these partitions, by their numbers; all that are misaligned where there are none.
    pub partitions: Vec<u64>,
}

/// A move that was worked out, and nothing of it done.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The disk: a layer whose addresses the job is in.
    pub disk: LayerId,
    /// What becomes of each partition.
    pub partitions: Partitions,
    /// What is written.
    pub job: Job,
    /// What should be known before.
    pub notes: Vec<String>,
    /// What is to be done afterwards, by hand.
    pub follow_ups: Vec<String>,
}

impl Intent {
    /// Works out how the disk that `bytes` are becomes what is wanted; it will be `size` long. `name` is what commands call it.
    ///
    /// # Errors
    /// When it cannot be done, or should not be.
    pub fn new(
        stack: &Stack,
        plan: &Plan,
        disk: LayerId,
        bytes: &dyn ReadAt,
        size: Bytes,
        wanted: &Wanted,
        name: &str,
    ) -> Result<Intent, Refusal> {
        let partitions = partitions(stack, plan, disk, wanted)?;
        let layout = Layout::of(&partitions, size)?;
        let mut notes = Vec::new();
        for place in layout.moved() {
            let entry = partitions
                .entries
                .iter()
                .find(|entry| entry.number == place.number);
            let format = entry.and_then(|entry| entry.filesystem.as_deref());
            notes.extend(contents::check(bytes, place.number, place.from, format)?);
        }
        let follow_ups = follow_up::of(bytes, &layout, name)?;
        let job = job(bytes, &layout)?;
        Ok(Intent {
            disk,
            partitions,
            job,
            notes,
            follow_ups,
        })
    }

    /// The partitions that move.
    pub fn moved(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.partitions.entries.iter();
        entries.filter(|entry| entry.from.start() != entry.to.start())
    }
}

/// True when these steps move partitions of a target, none becomes shorter, and all have bytes to move, which those of a disk that
/// is only described have not. `names` are what the target is called.
#[must_use]
pub fn is_for(stack: &Stack, steps: &[Step], names: &[String]) -> bool {
    let Ok(disk) = disk(stack, names) else {
        return false;
    };
    let mut steps = steps.iter().filter(|step| step.layer == disk);
    let Some(planned) = steps.find_map(|step| step.change.partitions()) else {
        return false;
    };
    let has_bytes = |entry: &Entry| {
        let place = stack.layer(entry.layer).placement.as_ref();
        place.is_some_and(|place| matches!(place.source, Source::Image(_)))
    };
    let mut moved = planned.entries.iter().filter(|entry| entry.changes());
    let is_any = moved.clone().next().is_some();
    is_any && moved.all(|entry| has_bytes(entry) && !entry.shrinks())
}

/// The disk that a target is, seen from inside: the one on which partitions lie. `names` are what the target is called.
///
/// # Errors
/// When the target has no table of partitions, or it lies in something that is not opened here.
pub fn disk(stack: &Stack, names: &[String]) -> Result<LayerId, Refusal> {
    let is_divided = |id: &LayerId| {
        let mut above = stack.above(*id).map(|id| stack.layer(id));
        above.any(|layer| layer.kind == LayerKind::Partition)
    };
    let divided: Vec<LayerId> = stack.iter().map(|(id, _)| id).filter(is_divided).collect();
    let is_target = |id: LayerId| {
        let layer = &stack.layer(id).name;
        let mut names = names.iter();
        names.any(|name| name == layer || name.strip_prefix("/dev/") == Some(layer))
    };
    let found = divided.iter().copied().find(|id| {
        let layer = stack.layer(*id);
        let is_inside =
            layer.kind == LayerKind::Container && layer.below.iter().any(|below| is_target(*below));
        is_target(*id) || is_inside
    });
    let found = found.or(match divided.as_slice() {
        [only] if stack.layer(*only).below.is_empty() => Some(*only),
        _ => None,
    });
    found.ok_or_else(|| match divided.first() {
        None => Refusal::new(
            "no partition table was found in the target, so there is nothing to move",
            "`straddle fix` plans what else can be done",
        ),
        Some(first) => Refusal::new(
            format_args!(
                "the partitions are in {}, which lies inside the target",
                stack.layer(*first).name
            ),
            "name the device or file that the table is on",
        ),
    })
}

fn partitions(
    stack: &Stack,
    plan: &Plan,
    disk: LayerId,
    wanted: &Wanted,
) -> Result<Partitions, Refusal> {
    let at_rest = Partitions::at_rest(stack, disk).filter(|table| !table.entries.is_empty());
    let Some(at_rest) = at_rest else {
        return Err(Refusal::new(
            "the disk has no partitions",
            "`straddle check` says what was found",
        ));
    };
    let numbers = || {
        let numbers = at_rest.entries.iter().map(|entry| entry.number.to_string());
        numbers.collect::<Vec<_>>().join(", ")
    };
    for number in &wanted.partitions {
        if !at_rest.entries.iter().any(|entry| entry.number == *number) {
            return Err(Refusal::new(
                format_args!("there is no partition {number}"),
                format_args!("the disk has {}", numbers()),
            ));
        }
    }
    match wanted.to {
        Some(to) => placed(at_rest, to, &wanted.partitions),
        None => proposed(plan, disk, at_rest, &wanted.partitions),
    }
}

/// One partition at the place that somebody names.
fn placed(mut table: Partitions, to: Bytes, numbers: &[u64]) -> Result<Partitions, Refusal> {
    let number = match (numbers, table.entries.as_slice()) {
        ([only], _) => *only,
        ([], [only]) => only.number,
        _ => {
            return Err(Refusal::new(
                "--to is the start of one partition, and there are several",
                "name one with --partition",
            ));
        }
    };
    for entry in table
        .entries
        .iter_mut()
        .filter(|entry| entry.number == number)
    {
        if entry.from.start() == to {
            return Err(Refusal::nothing_to_do(
                format_args!("partition {number} starts at {} already", both_ways(to)),
                "nothing is to be done",
            ));
        }
        entry.to = Extent::new(to, entry.from.len()).ok_or_else(|| {
            Refusal::new(
                format_args!("partition {number} would end beyond 2⁶⁴ bytes"),
                "choose a lower start",
            )
        })?;
    }
    Ok(table)
}

/// What a plan proposes for this disk, for the partitions that are wanted.
fn proposed(
    plan: &Plan,
    disk: LayerId,
    at_rest: Partitions,
    numbers: &[u64],
) -> Result<Partitions, Refusal> {
    let steps = plan.steps.iter().chain(&plan.optional);
    let step = steps
        .filter(|step| step.layer == disk)
        .find(|step| matches!(step.change, Change::Partitions(_)));
    let Some((step, planned)) = step.and_then(|step| Some((step, step.change.partitions()?)))
    else {
        return Err(Refusal::nothing_to_do(
            "every partition is aligned to all boundaries that are known",
            "nothing is to be done; --to N --partition N moves one all the same",
        ));
    };
    if !planned.entries.iter().any(Entry::changes) {
        let why = match step.blockers.as_slice() {
            [] => "no place was found".to_owned(),
            blockers => blockers.join("; "),
        };
        return Err(Refusal::new(
            why,
            "`straddle fix` has the whole plan; an image can be made longer (--grow)",
        ));
    }
    if numbers.is_empty() {
        return Ok(planned.clone());
    }
    let mut table = at_rest;
    table.extended.clone_from(&planned.extended);
    for entry in &mut table.entries {
        let place = planned
            .entries
            .iter()
            .find(|other| other.number == entry.number);
        if let Some(place) = place.filter(|_| numbers.contains(&entry.number)) {
            entry.to = place.to;
        }
    }
    if !table.entries.iter().any(Entry::changes) {
        return Err(Refusal::nothing_to_do(
            "the partitions that were named are aligned",
            "leave --partition out to move those that are not, or say where to with --to",
        ));
    }
    Ok(table)
}
