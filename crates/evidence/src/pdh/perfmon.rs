//! Performance Monitor of Windows: LogicalDisk and PhysicalDisk.

use super::counters::{self, Object, counter};
use super::{Meaning, Path};
use crate::format::{Format, Shape};
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "perfmon",
    commands: &["relog -f CSV", "relog -f TSV", "typeperf", "Export-Counter"],
    says: "latency, rates, sizes, queue length and utilization of disks and volumes over time",
    shape: Shape::Lines {
        marks: &["(pdh", "disk("],
        begins: |line, notes| super::begins(line, notes, meaning, is_strange),
    },
};

/// What a counter of a disk or a volume is; `None` for other counters, and for all disks together.
pub(super) fn meaning(path: &Path<'_>) -> Option<Meaning> {
    let (quantity, factor) = counter(path.counter)?;
    let subject = subject(path.object, path.instance)?;
    Some(Meaning {
        subject,
        quantity,
        factor,
    })
}

/// Whether a counter of a disk or a volume is called by a name that is not known, and no share or size.
fn is_strange(path: &Path<'_>) -> bool {
    let name = path.counter;
    let is_space = name.contains('%') || name.to_ascii_lowercase().contains("megabyte");
    !is_space && counter(name).is_none() && subject(path.object, path.instance).is_some()
}

fn subject(object: &str, instance: &str) -> Option<Subject> {
    if instance.eq_ignore_ascii_case("_total") {
        return None;
    }
    let (first, rest) = instance.split_once(' ').unwrap_or((instance, ""));
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let letter = |word: &str| word.len() == 2 && word.ends_with(':') && word.is_char_boundary(1);
    let volume = || Subject::volume(&upper_letter(instance));
    match counters::object(object) {
        Some(Object::Physical) => Some(Subject::disk(first)),
        Some(Object::Logical) => Some(volume()),
        // In other letters the instance tells what it is. What counts something else of a volume has a name in English.
        None if object.is_ascii() => None,
        None if is_number && rest.split_whitespace().all(letter) => Some(Subject::disk(first)),
        None => {
            let is_volume =
                instance.get(..2).is_some_and(letter) || instance.starts_with("HarddiskVolume");
            is_volume.then(volume)
        }
    }
}

/// `e:` is `E:`.
fn upper_letter(instance: &str) -> String {
    match instance.split_once(':') {
        Some((letter, rest)) if letter.len() == 1 => format!("{}:{rest}", letter.to_uppercase()),
        _ => instance.to_owned(),
    }
}
