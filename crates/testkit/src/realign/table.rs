//! A disk from bytes whose partitions are moved: sectors at places that the bytes name, everything else zeroes, and the digests of
//! a GPT, which no fuzzer guesses, corrected.

use straddle_geometry::Bytes;
use straddle_io::{ReadAt, Reader};
use straddle_probe::{Limits, inspect};
use straddle_realign::{Intent, View, Wanted, intent};
use straddle_stack::{Layer, LayerId, LayerKind, Stack};

/// Bytes of a sector.
pub const SECTOR: usize = 512;
/// A number of a sector, and what it holds.
const RECORD: usize = 4 + SECTOR;
/// Longest disk.
const MAX_SECTORS: usize = 1 << 15;
/// Where partitions are moved to.
const GRID: u64 = 1 << 20;

/// The sectors of a disk that hold anything, as [`table`] takes them.
#[must_use]
pub fn sectors(disk: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, sector) in (0_u32..).zip(disk.chunks_exact(SECTOR)) {
        let is_last = (number as usize + 1) * SECTOR == disk.len();
        if is_last || sector.iter().any(|byte| *byte != 0) {
            out.extend(number.to_le_bytes());
            out.extend(sector);
        }
    }
    out
}

/// The disk that records make. The last of those in order says how long it is.
fn disk(records: &[u8]) -> Vec<u8> {
    let mut disk = Vec::new();
    for record in records.chunks_exact(RECORD) {
        let (number, sector) = record.split_at(4);
        let number = number.first_chunk().map(|raw| u32::from_le_bytes(*raw));
        let number = number.map_or(0, |number| number as usize % MAX_SECTORS);
        if disk.len() < (number + 1) * SECTOR {
            disk.resize((number + 1) * SECTOR, 0);
        }
        if let Some(into) = disk.get_mut(number * SECTOR..(number + 1) * SECTOR) {
            into.copy_from_slice(sector);
        }
    }
    let last = (disk.len() / SECTOR).saturating_sub(1);
    for number in [1, last] {
        seal(&mut disk, number);
    }
    disk
}

/// Gives a header of a GPT its digest, and that of its entries.
fn seal(disk: &mut [u8], number: usize) {
    let Some(header) = disk.get(number * SECTOR..(number + 1) * SECTOR) else {
        return;
    };
    if !header.starts_with(b"EFI PART") {
        return;
    }
    let figure = |at: usize| {
        let raw = header.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*raw)).ok()
    };
    let (first, count, each) = (figure(72), figure(80), figure(84));
    let (first, count, each) = (first.unwrap_or(0), count.unwrap_or(0), each.unwrap_or(0));
    let start = first.saturating_mul(SECTOR);
    let end = start.saturating_add(count.saturating_mul(each));
    let of_entries = disk.get(start..end).map(crc32fast::hash);
    let len = figure(12).filter(|len| (92..=SECTOR).contains(len));
    let Some(header) = disk.get_mut(number * SECTOR..(number + 1) * SECTOR) else {
        return;
    };
    if let Some(crc) = of_entries {
        header[88..92].copy_from_slice(&crc.to_le_bytes());
    }
    if let Some(len) = len {
        header[16..20].fill(0);
        let crc = crc32fast::hash(&header[..len]);
        header[16..20].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Starts of the partitions of a disk by their numbers.
fn starts(stack: &Stack, disk: LayerId) -> Vec<(u64, Bytes)> {
    let table = straddle_fix::change::partitions::Partitions::at_rest(stack, disk);
    let entries = table.map(|table| table.entries).unwrap_or_default();
    let mut starts: Vec<_> = entries
        .iter()
        .map(|entry| (entry.number, entry.from.start()))
        .collect();
    starts.sort_unstable();
    starts
}

fn read(bytes: &dyn ReadAt) -> (Stack, LayerId) {
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "disk"));
    inspect(
        &mut stack,
        base,
        &Reader::new(bytes),
        None,
        Limits::default(),
    );
    (stack, base)
}

/// Moves each partition of a disk of these bytes to the next MiB, where it can be. The number of those that could.
///
/// # Panics
/// When an edit is not of the bytes that are there, or when what is read afterwards is not what was intended.
pub fn table(records: &[u8]) -> usize {
    let disk = disk(records);
    let bytes: &[u8] = &disk;
    let (stack, base) = read(&bytes);
    if intent::disk(&stack, &["disk".to_owned()]) != Ok(base) {
        return 0;
    }
    let plan = straddle_fix::outline(&stack, &straddle_fix::Ask::default());
    let mut done = 0;
    let before = starts(&stack, base);
    for (number, start) in before.iter().take(16) {
        let wanted = Wanted {
            to: start.get().checked_next_multiple_of(GRID).map(Bytes::new),
            partitions: vec![*number],
        };
        let size = bytes.size();
        let intent = Intent::new(&stack, &plan, base, &bytes, size, &wanted, "disk");
        let Ok(intent) = intent else { continue };
        done += 1;
        for edit in intent.job.edits() {
            let at = usize::try_from(edit.at.get()).unwrap_or(usize::MAX);
            let there = disk.get(at..at.saturating_add(edit.before.len()));
            assert_eq!(there, Some(&*edit.before), "{}", edit.what);
            assert_eq!(edit.before.len(), edit.after.len(), "{}", edit.what);
        }
        let (after, base) = read(&View::new(&bytes, &intent.job, size));
        let mut expected = before.clone();
        for (other, start) in &mut expected {
            if other == number {
                *start = wanted.to.unwrap_or(*start);
            }
        }
        assert_eq!(starts(&after, base), expected, "partition {number}");
    }
    done
}
