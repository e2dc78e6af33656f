//! Performance Monitor of Windows: LogicalDisk and PhysicalDisk.

use straddle_stack::activity::Quantity;

use super::counters::counter;
use super::{Factor, Meaning, Path};
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
    const PHYSICAL: [&str; 8] = [
        "physicaldisk",
        "physikalischer datenträger",
        "disque physique",
        "disco físico",
        "disco fisico",
        "физический диск",
        "物理ディスク",
        "实际磁盘",
    ];
    const LOGICAL: [&str; 8] = [
        "logicaldisk",
        "logischer datenträger",
        "disque logique",
        "disco lógico",
        "disco logico",
        "логический диск",
        "論理ディスク",
        "逻辑磁盘",
    ];
    if instance.eq_ignore_ascii_case("_total") {
        return None;
    }
    let object = object.to_lowercase();
    let (first, rest) = instance.split_once(' ').unwrap_or((instance, ""));
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let letter = |word: &str| word.len() == 2 && word.ends_with(':') && word.is_char_boundary(1);
    // Names in other languages: the instance tells what it is.
    let physical = PHYSICAL.contains(&&*object) || is_number && rest.split_whitespace().all(letter);
    let logical = LOGICAL.contains(&&*object);
    if physical && !logical {
        return Some(Subject::disk(first));
    }
    let shaped = instance.get(..2).is_some_and(letter) || instance.starts_with("HarddiskVolume");
    (logical || shaped).then(|| Subject::volume(&upper_letter(instance)))
}

/// `e:` is `E:`.
fn upper_letter(instance: &str) -> String {
    match instance.split_once(':') {
        Some((letter, rest)) if letter.len() == 1 => format!("{}:{rest}", letter.to_uppercase()),
        _ => instance.to_owned(),
    }
}

/// The quantities that are given as a share of time.
pub(super) const IDLE: (Quantity, Factor) = (Quantity::Utilization, Factor::Idle);
