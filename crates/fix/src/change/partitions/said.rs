//! What is known of partitions from what tools printed of them, where that is less than a table says.

use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{Key, Layer, LayerId, Value};

use crate::Situation;

/// Format of the table: what is said of it, or what the types of its partitions belong to. Tools of Windows say of a GPT that it
/// is one, and nothing of the other.
pub(super) fn table<'a>(device: &'a Layer, partitions: &[(LayerId, &Layer)]) -> Option<&'a str> {
    let of_types = || {
        let mut types = partitions
            .iter()
            .filter_map(|(_, layer)| layer.text(Key::PartitionType));
        match types.next() {
            Some(kind) => Some(if kind.len() > 2 { "gpt" } else { "mbr" }),
            None => (device.text(Key::Platform) == Some("windows")).then_some("mbr"),
        }
    };
    device.text(Key::PartitionTable).or_else(of_types)
}

/// The least that a rounded size can mean, in whole sectors.
pub(super) fn shown(layer: &Layer) -> Option<Bytes> {
    match &layer.attribute(Key::SizeShown)?.value {
        Value::Between(size) => {
            let (sectors, _) = size.from().div_rem(SectorSize::B512.unit());
            SectorSize::B512.sectors(sectors).bytes()
        }
        _ => None,
    }
}

/// The size of a device that is only known rounded: the least that it can be, and no less than where its partitions end.
pub(super) fn size(device: &Layer, partitions: &[(LayerId, &Layer)]) -> Option<Bytes> {
    let least = shown(device)?;
    let Value::Between(size) = &device.attribute(Key::SizeShown)?.value else {
        return Some(least);
    };
    let placements = partitions
        .iter()
        .filter_map(|(_, layer)| layer.placement.as_ref());
    let ends = placements.map(|placement| placement.value.end());
    let end = ends.max().filter(|end| *end <= size.to());
    Some(end.map_or(least, |end| end.max(least)))
}

/// The number in what Windows calls a partition: 2 of `disk 1 partition 2` and of `partition 2 (E:) of vmware virtual disk`.
/// WMI counts from 0, and only those that hold something: `partition #0`.
pub(super) fn named_number(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once("partition ")?;
    let (counted, rest) = match rest.strip_prefix('#') {
        Some(rest) => (1, rest),
        None => (0, rest),
    };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse::<u64>().ok()?.checked_add(counted)
}

/// Type of the partition that a machine starts from by its own firmware.
const EFI: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";

/// Whether Windows runs from a partition of `device`, or starts from it, by all that was captured: it is drive C, or the first partition of
/// disk 0 of which no letter is known.
pub(super) fn runs_windows(
    device: &Layer,
    (id, partition): (LayerId, &Layer),
    situation: &Situation<'_>,
) -> bool {
    if device.text(Key::Platform) != Some("windows") {
        return false;
    }
    // The EFI system partition.
    let kind = partition.text(Key::PartitionType);
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(EFI)) {
        return true;
    }
    let mut names: Vec<&str> = Vec::new();
    for layer in situation
        .children(id)
        .map(|(_, layer)| layer)
        .chain([partition])
    {
        names.extend(
            [Key::MountPoint, Key::DriveLetter]
                .map(|key| layer.text(key))
                .into_iter()
                .flatten(),
        );
        names.push(&layer.name);
    }
    let letters = names.iter().filter(|name| is_letter(name));
    let mut letters = letters.peekable();
    if letters.peek().is_some() {
        return letters.any(|name| name.starts_with(['C', 'c']));
    }
    let first = situation.partitions(situation.stack.only_below(id).unwrap_or(id));
    device.name == "disk 0" && first.first().is_some_and(|(first, _)| *first == id)
}

/// `E:`, and nothing else.
fn is_letter(name: &str) -> bool {
    let name = name.trim_end_matches('\\');
    matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}
