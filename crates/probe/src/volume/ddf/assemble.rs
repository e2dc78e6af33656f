//! The virtual disks of a set.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Copies, FarCopies, FarSets, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact};

use super::layout::{self, At, Ddf, DiskEntry, Header, Record, RecordOf, VolumeEntry};
use super::levels::{data_members, level};
use super::{disk_state, guid};
use crate::record::{place, printable};
use crate::volume::firmware::{Column, Described, Shape, room};
use crate::volume::{Assembly, Below, Part};

/// Most virtual disks that are described, basic ones counted: twice what the largest lists of usual controllers hold.
const MAX_VOLUMES: usize = 512;
/// Most members that all of them together may name.
const MAX_COLUMNS: usize = 8192;

/// md's number for two far copies.
const MD_FAR_2: u64 = 0x201;

type Guid = [u8; 24];

/// A configuration record and the member that it was read from.
struct Said<'s, 'a> {
    ddf: &'s Ddf<'a>,
    of: RecordOf,
}

/// Everything that the members say together.
struct Set<'s, 'a> {
    parts: &'s [Part<'a>],
    /// For each reference the member that it is.
    members: BTreeMap<u32, usize>,
    disks: BTreeMap<u32, At<DiskEntry>>,
    /// How many blocks each disk gives to each virtual disk, by its own record.
    blocks: BTreeMap<(Guid, u32), u64>,
    /// Who wrote it: md has a layout of its own.
    is_md: bool,
}

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut all = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let Some(anchor) = layout::find(&part.window)? else {
            continue;
        };
        if let Some(ddf) = Ddf::read(&part.window, anchor)? {
            all.push((index, ddf));
        }
    }
    let mut assembly = Assembly::default();
    let sequence = |ddf: &Ddf<'_>| ddf.header.read.sequence.get();
    let newest = all
        .iter_mut()
        .rev()
        .max_by_key(|(_, ddf)| (ddf.damage.is_empty(), sequence(ddf)));
    let Some((chosen, newest)) = newest else {
        return Ok(assembly);
    };
    let (disks, entries, chosen) = (newest.disks()?, newest.volumes()?, *chosen);
    let mut records = Vec::with_capacity(all.len());
    for (_, ddf) in &mut all {
        records.push(ddf.records()?);
    }
    let mut anomalies = disagreements(parts, &all, chosen);
    let mut set = Set {
        parts,
        members: BTreeMap::new(),
        disks,
        blocks: BTreeMap::new(),
        is_md: false,
    };
    let mut volumes: BTreeMap<Guid, BTreeMap<u8, Said<'_, '_>>> = BTreeMap::new();
    for ((index, ddf), records) in all.iter().zip(records) {
        set.is_md |= ddf.header.read.guid.starts_with(b"Linux-MD");
        if let Some((_, reference)) = ddf.own {
            set.members.entry(reference).or_insert(*index);
        }
        for of in records {
            let read = &of.record.read;
            if let Some((_, own)) = ddf.own {
                set.blocks.insert((read.guid, own), read.blocks.get());
            }
            let basic = volumes.entry(read.guid).or_default();
            let number = read.secondary_number;
            let older = basic
                .get(&number)
                .is_some_and(|said| said.of.record.read.sequence.get() >= read.sequence.get());
            if !older {
                basic.insert(number, Said { ddf, of });
            }
        }
    }
    // In the order of the list of virtual disks; those that it lacks at the end.
    let mut order: Vec<(u64, Guid)> = volumes
        .keys()
        .map(|guid| (entries.get(guid).map_or(u64::MAX, |entry| entry.at), *guid))
        .collect();
    order.sort_unstable();
    let entry_ddf = all.iter().find(|(index, _)| *index == chosen);
    let mut columns = 0_usize;
    for (_, guid) in order {
        let Some(basic) = volumes.get(&guid) else {
            continue;
        };
        let more: usize = basic.values().map(|said| said.of.elements.len()).sum();
        columns = columns.saturating_add(more);
        let nodes = assembly.nodes.len().saturating_add(basic.len()) + 1;
        if columns > MAX_COLUMNS || nodes > MAX_VOLUMES {
            let detail = format!(
                "the set has more than {MAX_VOLUMES} virtual disks, or more than {MAX_COLUMNS} members of them: the rest is not looked at"
            );
            if let Some(node) = assembly.nodes.last_mut() {
                let odd = Anomaly::new(AnomalyKind::LimitReached, detail);
                node.layer.anomalies.push(odd);
            }
            break;
        }
        let entry = entries.get(&guid).zip(entry_ddf);
        let states = entry.map(|(entry, (_, ddf))| states(entry, ddf));
        let whole = Whole {
            name: name(entry.map(|(entry, _)| entry), assembly.nodes.len()),
            states: states.unwrap_or_default(),
            // What concerns the set is said once, of its first virtual disk.
            anomalies: std::mem::take(&mut anomalies),
        };
        set.add(whole, basic, &mut assembly);
    }
    Ok(assembly)
}

/// What is known of a virtual disk beside its records.
struct Whole {
    name: String,
    states: Vec<Fact<String>>,
    anomalies: Vec<Anomaly>,
}

impl Set<'_, '_> {
    /// Adds a virtual disk, after the basic ones that it consists of where those are layers of their own.
    fn add(&self, whole: Whole, basic: &BTreeMap<u8, Said<'_, '_>>, assembly: &mut Assembly) {
        let Some(first) = basic.values().next() else {
            return;
        };
        let record = &first.of.record.read;
        let count = usize::from(record.secondary_elements).max(1);
        if count == 1 {
            let mut described = self.basic(first, &whole.name, true);
            described.states = whole.states;
            described.anomalies.extend(whole.anomalies);
            assembly.nodes.push(described.node());
            return;
        }
        let mut parts = Vec::new();
        for number in 0..count {
            let found = u8::try_from(number).ok().and_then(|n| basic.get(&n));
            let name = format!("{} part {number}", whole.name);
            parts.push(found.map(|said| self.basic(said, &name, false)).ok_or(name));
        }
        let described = match striped_mirrors(first, &parts) {
            Some(described) => described,
            None => secondary(first, parts, assembly),
        };
        let mut described = Described {
            name: whole.name,
            states: whole.states,
            ..described
        };
        described.anomalies.extend(whole.anomalies);
        assembly.nodes.push(described.node());
    }

    /// A basic virtual disk.
    fn basic(&self, said: &Said<'_, '_>, name: &str, is_whole: bool) -> Described {
        let Said { ddf, of } = said;
        let (at, record) = (of.record.at, &of.record.read);
        let block = block_of(ddf, record);
        let (level, mut shape) = level(record);
        let columns: Vec<Column> = of
            .elements
            .iter()
            .enumerate()
            .map(|(index, (reference, start))| {
                let start = Bytes::new(block).checked_mul(*start).unwrap_or(Bytes::MAX);
                let below = self.below(*reference);
                Column {
                    room: room(self.parts, &below),
                    below,
                    start: ddf.window.fact(start, of.start_at(index), 8),
                }
            })
            .collect();
        let used = Bytes::new(block).checked_mul(record.blocks.get());
        if let Shape::Concatenated(lens) = &mut shape {
            let len = |reference: &u32| {
                let blocks = self.blocks.get(&(record.guid, *reference));
                let blocks = blocks.copied().unwrap_or(record.blocks.get());
                Bytes::new(block).checked_mul(blocks).unwrap_or(Bytes::MAX)
            };
            lens.extend(of.elements.iter().map(|(reference, _)| len(reference)));
        }
        let unit = 1_u64
            .checked_shl(u32::from(record.stripe))
            .and_then(|blocks| blocks.checked_mul(block));
        let unit = ddf.fact(unit.unwrap_or(0), at, place!(Record.stripe));
        if let (true, Shape::Copies(copies), Some(used), Some(unit)) =
            (self.is_md, &mut shape, used, Unit::new(unit.value))
            && copies.far > 1
            // What md calls "far" and writes down as "offset".
            && let Some(far) = Copies::from_md(MD_FAR_2, columns.len(), unit, used)
        {
            *copies = far;
        }
        let computed = used.zip(Unit::new(unit.value));
        let computed = computed.and_then(|(used, unit)| shape.capacity(columns.len(), unit, used));
        let recorded = match record.size.get() {
            0 | u64::MAX => None,
            size => Bytes::new(block).checked_mul(size),
        };
        let size = match (recorded, computed) {
            // Of a part it is unclear whether it is its own size or that of the whole.
            (Some(size), _) if is_whole => Some(ddf.fact(size, at, place!(Record.size))),
            (_, Some(size)) => Some(Fact::derived(size, "blocks of each member × data members")),
            _ => None,
        };
        Described {
            name: name.to_owned(),
            metadata: ddf.fact("SNIA DDF", ddf.header.at, place!(Header.guid)),
            level: ddf.fact(level, at, place!(Record.level)),
            shape,
            unit: Some(unit),
            columns,
            used,
            size,
            states: Vec::new(),
            anomalies: Vec::new(),
            is_whole,
        }
    }

    fn below(&self, reference: u32) -> Below {
        let entry = self.disks.get(&reference);
        let name = match entry {
            Some(entry) => {
                let serial = readable(&entry.read.guid);
                format!("disk {reference:08x} {serial}")
                    .trim_end()
                    .to_owned()
            }
            None => format!("disk {reference:08x}"),
        };
        let state = entry.and_then(|entry| disk_state(entry.read.state.get()));
        match (self.members.get(&reference), state) {
            (Some(index), None) => Below::Part(*index),
            // What lies there is not, or not yet, what belongs there.
            (Some(_), Some(state)) => Below::Missing(format!("{name} ({state})")),
            (None, _) => Below::Missing(name),
        }
    }
}

/// The part of a disk's GUID behind the vendor, where it is a serial number in letters.
fn readable(guid: &Guid) -> String {
    let serial = guid.get(8..).unwrap_or(&[]);
    let end = serial.iter().position(|byte| matches!(byte, 0 | 0xff));
    let serial = serial.get(..end.unwrap_or(serial.len())).unwrap_or(&[]);
    let text = String::from_utf8_lossy(serial);
    let is_text = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if is_text {
        text.trim().to_owned()
    } else {
        String::new()
    }
}

/// Mirrors of equal size under a striping or spanning secondary level: one RAID 10, as md sees it.
fn striped_mirrors(first: &Said<'_, '_>, parts: &[Result<Described, String>]) -> Option<Described> {
    let record = &first.of.record.read;
    if !matches!(record.secondary_level, STRIPED | SPANNED) {
        return None;
    }
    let whole: Vec<&Described> = parts.iter().filter_map(|part| part.as_ref().ok()).collect();
    let copies = first.of.elements.len();
    let alike = whole.iter().all(|part| {
        part.shape == Shape::Mirror
            && part.columns.len() == copies
            && part.used == whole.first().and_then(|f| f.used)
    });
    if !alike || copies == 0 {
        return None;
    }
    let ddf = first.ddf;
    let at = first.of.record.at;
    let mut columns = Vec::new();
    for part in parts {
        match part {
            Ok(part) => columns.extend(part.columns.iter().cloned()),
            Err(name) => columns.extend((0..copies).map(|index| {
                Column {
                    below: Below::Missing(format!("{name}, disk {index}")),
                    // Every member gives as much, as a rule from the same place on.
                    start: Fact::assumed(
                        whole
                            .first()
                            .and_then(|f| f.columns.first())
                            .map_or(Bytes::ZERO, |c| c.start.value),
                        "as on the other members: those of this part were not given",
                    ),
                    room: None,
                }
            })),
        }
    }
    let (used, unit) = whole.first().map(|part| (part.used, part.unit.clone()))?;
    let shape = Shape::Copies(Copies {
        near: copies,
        far: 1,
        distance: FarCopies::NextRow,
        sets: FarSets::All,
    });
    let known = used.zip(unit.as_ref().and_then(|unit| Unit::new(unit.value)));
    let size = known.and_then(|(used, unit)| shape.capacity(columns.len(), unit, used));
    Some(Described {
        name: String::new(),
        metadata: ddf.fact("SNIA DDF", ddf.header.at, place!(Header.guid)),
        level: ddf.fact("raid10", at, place!(Record.secondary_level)),
        shape,
        unit,
        columns,
        used,
        size: size.map(|size| Fact::derived(size, "blocks of each member × mirrors")),
        states: Vec::new(),
        anomalies: Vec::new(),
        is_whole: true,
    })
}

const STRIPED: u8 = 0;
const MIRRORED: u8 = 1;
const CONCATENATED: u8 = 2;
const SPANNED: u8 = 3;

/// A secondary level over basic virtual disks that are layers of their own.
fn secondary(
    first: &Said<'_, '_>,
    parts: Vec<Result<Described, String>>,
    assembly: &mut Assembly,
) -> Described {
    let Said { ddf, of } = first;
    let (at, record) = (of.record.at, &of.record.read);
    let mut columns = Vec::new();
    let mut sizes = Vec::new();
    let mut widths = Vec::new();
    for part in parts {
        let below = match part {
            Ok(part) => {
                sizes.push(part.size.as_ref().map(|size| size.value));
                let data = data_members(&part.shape, part.columns.len());
                let unit = part.unit.as_ref().map(|unit| unit.value);
                widths.push(data.and_then(|data| unit?.checked_mul(u64::try_from(data).ok()?)));
                assembly.nodes.push(part.node());
                Below::Node(assembly.nodes.len() - 1)
            }
            Err(name) => Below::Missing(name),
        };
        columns.push(Column {
            below,
            start: Fact::derived(Bytes::ZERO, "a basic virtual disk has nothing in front"),
            room: None,
        });
    }
    let alike = |all: &[Option<u64>]| {
        let first = all.first().copied().flatten()?;
        all.iter().all(|one| *one == Some(first)).then_some(first)
    };
    let bytes: Vec<Option<u64>> = sizes.iter().map(|s| s.map(Bytes::get)).collect();
    let (width, each) = (alike(&widths), alike(&bytes));
    let count = u64::try_from(columns.len()).unwrap_or(u64::MAX);
    let all = each.and_then(|each| each.checked_mul(count));
    let unmapped = |why: &'static str| Shape::Unmapped(why.into());
    let (level, shape, size) = match record.secondary_level {
        MIRRORED => ("raid1", Shape::Mirror, each),
        STRIPED | SPANNED if width.is_some() && each.is_some() => ("raid0", Shape::Striped, all),
        CONCATENATED if sizes.len() == columns.len() && bytes.iter().all(Option::is_some) => {
            let lens: Vec<Bytes> = sizes.into_iter().flatten().collect();
            let sum = lens
                .iter()
                .try_fold(0_u64, |sum, len| sum.checked_add(len.get()));
            ("linear", Shape::Concatenated(lens), sum)
        }
        STRIPED | SPANNED => (
            "raid0",
            unmapped(
                "its parts differ in width or size, or one is missing: where its data lie on which part is not known",
            ),
            None,
        ),
        CONCATENATED => (
            "linear",
            unmapped(
                "a part before others is missing or of unknown size: where its data lie is not known",
            ),
            None,
        ),
        _ => (
            "unknown",
            unmapped("a secondary level that is not known here"),
            None,
        ),
    };
    Described {
        name: String::new(),
        metadata: ddf.fact("SNIA DDF", ddf.header.at, place!(Header.guid)),
        level: ddf.fact(level, at, place!(Record.secondary_level)),
        shape,
        unit: width.map(|width| Fact::derived(width, "a whole stripe of each basic virtual disk")),
        columns,
        used: None,
        size: size.map(|size| Fact::derived(Bytes::new(size), "its basic virtual disks")),
        states: Vec::new(),
        anomalies: Vec::new(),
        is_whole: true,
    }
}

/// Block size of a virtual disk: its own since revision 2.0, that of the disk before.
fn block_of(ddf: &Ddf<'_>, record: &Record) -> u64 {
    let own = u64::from(record.block.get());
    let is_size = own.is_power_of_two() && (512..=4096).contains(&own);
    if is_size { own } else { ddf.block }
}

/// Members whose headers are older than the one whose lists are used.
fn disagreements(parts: &[Part<'_>], all: &[(usize, Ddf<'_>)], chosen: usize) -> Vec<Anomaly> {
    let name = |index: usize| parts.get(index).map_or("", |part| part.name);
    let Some((_, used)) = all.iter().find(|(index, _)| *index == chosen) else {
        return Vec::new();
    };
    let sequence = |ddf: &Ddf<'_>| {
        let sequence = ddf.header.read.sequence.get();
        ddf.fact(sequence, ddf.header.at, place!(Header.sequence))
    };
    let newest = sequence(used);
    all.iter()
        .map(|(index, ddf)| (*index, sequence(ddf)))
        .filter(|(_, own)| own.value != newest.value)
        .map(|(index, own)| {
            let detail = format!(
                "the metadata of {} have sequence number {}, those of {} have {}: the latter are used, and what {} holds may be out of date",
                name(index),
                own.value,
                name(chosen),
                newest.value,
                name(index)
            );
            Anomaly::between(AnomalyKind::MembersDiffer, detail, own.source, newest.source.clone())
        })
        .collect()
}

fn name(entry: Option<&At<VolumeEntry>>, index: usize) -> String {
    let text = entry.map(|entry| printable(&entry.read.name));
    let text = text.map(|text| text.trim_matches(['\u{fffd}', ' ']).to_owned());
    match (text.filter(|text| !text.is_empty()), entry) {
        (Some(text), _) => text,
        (None, Some(entry)) => format!("virtual disk {}", guid(&entry.read.guid)),
        (None, None) => format!("virtual disk {index}"),
    }
}

/// Everything that is not well with a virtual disk; `optimal` when nothing is.
fn states(entry: &At<VolumeEntry>, ddf: &Ddf<'_>) -> Vec<Fact<String>> {
    const MORPHING: u8 = 8;
    const INCONSISTENT: u8 = 16;
    let read = &entry.read;
    let fact = |text: &str| ddf.fact(text.to_owned(), entry.at, place!(VolumeEntry.state));
    let mut states = Vec::new();
    let word = match read.state & 7 {
        0 => None,
        1 => Some("degraded"),
        2 => Some("deleted"),
        3 => Some("missing"),
        4 => Some("failed"),
        5 => Some("partially optimal"),
        6 => Some("offline"),
        _ => Some("unknown"),
    };
    states.extend(word.map(fact));
    if read.state & MORPHING != 0 {
        states.push(fact("migrating"));
    }
    if read.state & INCONSISTENT != 0 {
        states.push(fact("dirty"));
    }
    let place = place!(VolumeEntry.initialised);
    match read.initialised & 3 {
        0 => states.push(ddf.fact("not initialised".to_owned(), entry.at, place)),
        1 => states.push(ddf.fact("initialising".to_owned(), entry.at, place)),
        _ => {}
    }
    if states.is_empty() {
        states.push(fact("optimal"));
    }
    states
}
