//! The volumes of a set.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Rotation};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact};

use super::layout::{self, Disk, FAILED, Header, Map, MapOf, Mpb, Slot, Volume, VolumeOf, wide};
use crate::record::{place, printable};
use crate::volume::firmware::{Column, Described, Shape, room};
use crate::volume::{Assembly, Below, Part};

/// [`Volume::migration`], where [`Volume::migrating`] is set.
const GENERAL_MIGRATION: u8 = 3;
/// [`Volume::dirty`]: it was not shut down.
const DIRTY: u8 = 1;

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut all = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        if let Some(place) = layout::find(&part.window)? {
            all.push((index, Mpb::read(&part.window, place)?));
        }
    }
    let mut assembly = Assembly::default();
    // The newest; of equals one that is not damaged, and of those the first.
    let newest = all
        .iter()
        .rev()
        .max_by_key(|(_, mpb)| (mpb.damage.is_empty(), mpb.header.generation.get()));
    let Some((chosen, mpb)) = newest else {
        return Ok(assembly);
    };
    let mut anomalies = disagreements(parts, &all, (*chosen, mpb));
    let (disks, mut guess) = disks_of(mpb, parts);
    for of in &mpb.volumes {
        let mut described = describe(mpb, of, &disks, parts);
        // What concerns the set is said once, of its first volume.
        described.anomalies.append(&mut anomalies);
        // Which copy is which does not matter.
        if described.shape != Shape::Mirror {
            described.anomalies.extend(guess.take());
        }
        assembly.nodes.push(described.node());
    }
    Ok(assembly)
}

/// Members whose metadata are older than those that are used, or of another branch of the set.
fn disagreements(
    parts: &[Part<'_>],
    all: &[(usize, Mpb<'_>)],
    (chosen, mpb): (usize, &Mpb<'_>),
) -> Vec<Anomaly> {
    let name = |index: usize| parts.get(index).map_or("", |part| part.name);
    let differs = |other: &Mpb<'_>| {
        other.header.generation != mpb.header.generation || other.header.family != mpb.header.family
    };
    all.iter()
        .filter(|(_, other)| differs(other))
        .map(|(index, other)| {
            let said = |mpb: &Mpb<'_>| {
                let (generation, family) = (mpb.header.generation, mpb.header.family);
                format!("generation {} of family {family:08x}", generation.get())
            };
            let detail = format!(
                "{} has {}, {} has {}: those of {} are used, and what {} holds may be out of date",
                name(*index),
                said(other),
                name(chosen),
                said(mpb),
                name(chosen),
                name(*index)
            );
            Anomaly::between(
                AnomalyKind::MembersDiffer,
                detail,
                other.source(0, place!(Header.generation)),
                mpb.source(0, place!(Header.generation)),
            )
        })
        .collect()
}

/// For each entry of the table of disks the member that it is, and a word where that is a guess.
fn disks_of(mpb: &Mpb<'_>, parts: &[Part<'_>]) -> (Vec<Option<usize>>, Option<Anomaly>) {
    let serials: Vec<String> = mpb.disks.iter().map(|disk| serial(&disk.read)).collect();
    let mut disks = vec![None; mpb.disks.len()];
    let mut free: Vec<usize> = (0..parts.len()).collect();
    for (entry, serial) in disks.iter_mut().zip(&serials) {
        let found = free.iter().position(|index| {
            parts
                .get(*index)
                .is_some_and(|part| is_called(part, serial))
        });
        *entry = found.map(|at| free.remove(at));
    }
    let mut guessed = Vec::new();
    let mut rest = free.into_iter();
    for ((entry, disk), serial) in disks.iter_mut().zip(&mpb.disks).zip(&serials) {
        if entry.is_some() || disk.read.status.get() & FAILED != 0 {
            continue;
        }
        let Some(index) = rest.next() else { break };
        *entry = Some(index);
        if let Some(part) = parts.get(index) {
            guessed.push(format!("{} as {serial}", part.name));
        }
    }
    let odd = (!guessed.is_empty()).then(|| {
        let detail = format!(
            "the metadata name disks by serial number only, and that of these is not known: they are taken in the order given ({}); \
             where data lie on which member holds only if that is right. Call images by the serial number",
            guessed.join(", ")
        );
        let first = mpb.disks.first().map(|disk| disk.at);
        match first {
            Some(at) => Anomaly::at(
                AnomalyKind::Missing,
                detail,
                mpb.source(at, place!(Disk.serial)),
            ),
            None => Anomaly::new(AnomalyKind::Missing, detail),
        }
    });
    (disks, odd)
}

/// True when a device has this serial number, or is called by it: `2000.img`, `sda`.
fn is_called(part: &Part<'_>, serial: &str) -> bool {
    if let Some(own) = part.serial {
        // Longer ones are recorded by their end.
        let own: String = own.chars().filter(|c| !c.is_whitespace()).collect();
        return !serial.is_empty() && own.ends_with(serial);
    }
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let file = part.name.rsplit('/').next().unwrap_or(part.name);
    let (name, serial) = (words(file), words(serial));
    !serial.is_empty() && name.windows(serial.len()).any(|window| window == serial)
}

/// Its serial number; that of a disk which is gone is written with `:0` behind it.
fn serial(disk: &Disk) -> String {
    let serial = printable(&disk.serial);
    let serial = serial.trim();
    serial.strip_suffix(":0").unwrap_or(serial).to_owned()
}

fn describe(
    mpb: &Mpb<'_>,
    of: &VolumeOf,
    disks: &[Option<usize>],
    parts: &[Part<'_>],
) -> Described {
    let VolumeOf {
        volume,
        now,
        before,
    } = of;
    let (at, map) = (now.map.at, &now.map.read);
    let (level, shape) = level(mpb, of);
    let start = mpb.sectors(wide(map.start, map.start_high));
    let start = mpb.fact(start.unwrap_or(Bytes::MAX), at, place!(Map.start));
    let strip = mpb.sectors(u64::from(map.strip.get())).map(Bytes::get);
    let columns = now.disks.iter().enumerate().map(|(slot, entry)| {
        let was_stale = before
            .as_ref()
            .and_then(|before| before.disks.get(slot))
            .is_some_and(|entry| entry.stale);
        let below = below(mpb, entry, was_stale, disks);
        Column {
            room: room(parts, &below),
            below,
            start: start.clone(),
        }
    });
    let size = mpb.sectors(wide(volume.read.size, volume.read.size_high));
    let stripes = wide(map.stripes, map.stripes_high);
    Described {
        name: name(&volume.read, mpb, volume.at),
        metadata: mpb.fact("Intel Matrix RAID (IMSM)", 0, place!(Header.signature)),
        level: mpb.fact(level, at, place!(Map.level)),
        unit: (level != "raid1").then(|| mpb.fact(strip.unwrap_or(0), at, place!(Map.strip))),
        columns: columns.collect(),
        used: stripes
            .checked_mul(u64::from(map.strip.get()))
            .and_then(|sectors| mpb.sectors(sectors)),
        size: size.map(|size| mpb.fact(size, volume.at, place!(Volume.size))),
        states: states(mpb, of),
        anomalies: Vec::new(),
        is_whole: true,
        shape,
    }
}

/// Its own name; a volume without one is called by its place in the metadata.
fn name(volume: &Volume, mpb: &Mpb<'_>, at: usize) -> String {
    let name = printable(&volume.name).trim().to_owned();
    if !name.is_empty() {
        return name;
    }
    let index = mpb.volumes.iter().position(|of| of.volume.at == at);
    format!("IMSM volume {}", index.unwrap_or(0))
}

fn level(mpb: &Mpb<'_>, of: &VolumeOf) -> (&'static str, Shape) {
    let map = &of.now.map.read;
    let (level, shape) = match (map.level, map.members) {
        (0, _) => ("raid0", Shape::Striped),
        (1, ..=2) => ("raid1", Shape::Mirror),
        // Before the level 10 had a number of its own, it was a mirror of more than two disks.
        (1 | 10, members) if members % 2 == 0 => ("raid10", Shape::NEAR_2),
        (5, _) => ("raid5", Shape::Parity(Rotation::LeftAsymmetric)),
        (other, members) => {
            let why = format!(
                "level {other} over {members} members: expected 0, 1, 5, or 10 over an even number; its map is not known"
            );
            ("unknown", Shape::Unmapped(why.into()))
        }
    };
    let Some(before) = &of.before else {
        return (level, shape);
    };
    let is_same = |a: &MapOf, b: &MapOf| {
        let (a, b) = (&a.map.read, &b.map.read);
        let start = |map: &Map| wide(map.start, map.start_high);
        (a.level, a.members, a.strip, start(a)) == (b.level, b.members, b.strip, start(b))
    };
    if of.volume.read.migration != GENERAL_MIGRATION || is_same(&of.now, before) {
        return (level, shape);
    }
    let strip = |of: &MapOf| {
        let strip = mpb.sectors(u64::from(of.map.read.strip.get()));
        format!(
            "level {}, {} members, strips of {}",
            of.map.read.level,
            of.map.read.members,
            strip.unwrap_or(Bytes::MAX)
        )
    };
    let why = format!(
        "it is migrating from {} to {}: until that is done, part of it has the one geometry and part the other",
        strip(before),
        strip(&of.now)
    );
    (level, Shape::Unmapped(Cow::Owned(why)))
}

fn below(mpb: &Mpb<'_>, slot: &Slot, was_stale: bool, disks: &[Option<usize>]) -> Below {
    let Some(disk) = mpb.disks.get(slot.disk) else {
        return Below::Missing(format!("disk {} of the metadata", slot.disk));
    };
    let serial = match serial(&disk.read) {
        none if none.is_empty() => format!("disk {} of the metadata", slot.disk),
        serial => format!("disk {serial}"),
    };
    let is_current = !slot.stale && !was_stale && disk.read.status.get() & FAILED == 0;
    match disks.get(slot.disk) {
        Some(Some(index)) if is_current => Below::Part(*index),
        // What lies there is not, or not yet, what belongs there.
        Some(Some(_)) => Below::Missing(format!("{serial} (failed or being rebuilt)")),
        _ => Below::Missing(serial),
    }
}

/// Everything that is not well with a volume; `optimal` when nothing is.
fn states(mpb: &Mpb<'_>, of: &VolumeOf) -> Vec<Fact<String>> {
    let mut states = Vec::new();
    let volume = &of.volume;
    let is = of.before.as_ref().unwrap_or(&of.now);
    let map_state = match is.map.read.state {
        0 => None,
        1 => Some("not initialised"),
        2 => Some("degraded"),
        3 => Some("failed"),
        _ => Some("unknown"),
    };
    let state_fact = |text: &str| mpb.fact(text.to_owned(), is.map.at, place!(Map.state));
    states.extend(map_state.map(state_fact));
    if volume.read.migrating != 0 {
        let what = match volume.read.migration {
            0 => "initialising",
            1 => "rebuilding",
            2 => "verifying",
            GENERAL_MIGRATION => "migrating",
            4 => "changing its state",
            5 => "repairing",
            _ => "changing",
        };
        states.push(mpb.fact(what.to_owned(), volume.at, place!(Volume.migration)));
    }
    if volume.read.dirty & DIRTY != 0 {
        states.push(mpb.fact("dirty".to_owned(), volume.at, place!(Volume.dirty)));
    }
    if states.is_empty() {
        states.push(state_fact("optimal"));
    }
    states
}
