//! From the records of a group to its volumes.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Source, Value};

use super::database::{Catalogue, Database};
use super::head::Head;
use super::record::{Component, Field, Partition};
use super::volume::Building;
use crate::volume::{Assembly, Below, Part};

/// Most layers of one group: far beyond what a database of the usual size can describe.
const MAX_NODES: usize = 4096;

/// What the parts of a group are known to be.
pub(super) struct Group<'a> {
    /// The member whose copy of the database is read.
    pub(super) reader: Part<'a>,
    pub(super) catalogue: Catalogue,
    database: Database,
    /// For each disk GUID, the member and where its data area begins.
    members: BTreeMap<String, (usize, Option<Bytes>)>,
    /// Sector of the disks.
    sector: SectorSize,
}

/// One piece of a volume's data below it.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) below: Below,
    pub(super) start: Bytes,
}

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let Some(group) = Group::read(parts)? else {
        return Ok(assembly);
    };
    let mut components: BTreeMap<u64, Vec<&Component>> = BTreeMap::new();
    for component in group.database.components.values() {
        components
            .entry(component.parent)
            .or_default()
            .push(component);
    }
    let mut partitions: BTreeMap<u64, Vec<&Partition>> = BTreeMap::new();
    for partition in &group.database.partitions {
        partitions
            .entry(partition.parent)
            .or_default()
            .push(partition);
    }
    let mut anomalies = group.database.anomalies.clone();
    anomalies.extend(group.overlaps());
    for volume in group.database.volumes.values() {
        let components = components.get(&volume.id).map_or(&[][..], Vec::as_slice);
        let needed = components.iter().map(|component| {
            let of = partitions.get(&component.id).map_or(0, Vec::len);
            of.saturating_add(1)
        });
        if assembly.nodes.len().saturating_add(needed.sum()) >= MAX_NODES {
            let detail =
                format!("more than {MAX_NODES} layers; the rest of the group is not looked at");
            anomalies.push(Anomaly::new(AnomalyKind::LimitReached, detail));
            break;
        }
        let building = Building::new(&group, volume, &mut assembly.nodes);
        let node = building.volume(components, &partitions);
        assembly.nodes.push(node);
    }
    // What concerns the whole group has no layer of its own: it is said once.
    if let Some(first) = assembly.nodes.first_mut() {
        first.layer.anomalies.splice(0..0, anomalies);
    }
    Ok(assembly)
}

impl<'a> Group<'a> {
    fn read(parts: &[Part<'a>]) -> Result<Option<Group<'a>>, ReadError> {
        let mut members = BTreeMap::new();
        let mut best: Option<(usize, Catalogue, SectorSize)> = None;
        let mut differ = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let Some(head) = Head::find(&part.window)? else {
                continue;
            };
            let start = head.data().map(Extent::start);
            members.insert(head.disk(), (index, start));
            let Ok(catalogue) = Catalogue::read(&part.window, &head)? else {
                continue;
            };
            if let Some((used, other, _)) = &best {
                let (a, b) = (other.committed(), catalogue.committed());
                if a != b {
                    let used = parts.get(*used).map_or("", |part| part.name);
                    let detail = format!(
                        "the copies of the database on {used} and {} are of transactions {a} and {b}; expected the same on all \
                         disks: the later one is used",
                        part.name
                    );
                    differ.push(Anomaly::new(AnomalyKind::CopiesDiffer, detail));
                }
                if a >= b {
                    continue;
                }
            }
            best = Some((index, catalogue, head.sector));
        }
        let Some((index, catalogue, sector)) = best else {
            return Ok(None);
        };
        let Some(reader) = parts.get(index).copied() else {
            return Ok(None);
        };
        let mut database = catalogue.records(&reader.window)?;
        database.anomalies.append(&mut differ);
        Ok(Some(Group {
            reader,
            catalogue,
            database,
            members,
            sector,
        }))
    }

    pub(super) fn source<T>(&self, field: &Field<T>) -> Source {
        self.reader.window.source(field.at, field.len)
    }

    pub(super) fn fact<T>(&self, field: &Field<T>, value: Value) -> Fact<Value> {
        self.reader.window.fact(value, field.at, field.len)
    }

    pub(super) fn bytes(&self, sectors: u64) -> Option<Bytes> {
        self.sector.sectors(sectors).bytes()
    }

    /// Where a partition lies; `Err` when that is no place.
    pub(super) fn run(&self, partition: &Partition) -> Result<Run, String> {
        let name = &partition.name.value;
        let Some(disk) = self.database.disks.get(&partition.disk) else {
            return Err(format!(
                "partition {name} lies on disk {}, which no record describes",
                partition.disk
            ));
        };
        let start = self.bytes(partition.start.value);
        let (below, data) = match self.members.get(&disk.guid) {
            Some((index, data)) => (Below::Part(*index), *data),
            // Only the disk itself knows where its data area begins.
            None => {
                let name = format!("{} ({})", disk.name, disk.guid);
                (Below::Missing(name), Some(Bytes::ZERO))
            }
        };
        let start = start.zip(data).and_then(|(start, data)| {
            let start = data.checked_add(start)?;
            start.checked_add(self.bytes(partition.size.value)?)?;
            Some(start)
        });
        let start = start.ok_or_else(|| {
            format!(
                "partition {name} is recorded as {} sectors from sector {}; expected an area below 2^64 bytes",
                partition.size.value, partition.start.value
            )
        })?;
        Ok(Run { below, start })
    }

    /// Partitions that share sectors.
    fn overlaps(&self) -> Vec<Anomaly> {
        const MAX: usize = 16;
        let mut order: Vec<&Partition> = self.database.partitions.iter().collect();
        order.sort_by_key(|partition| (partition.disk, partition.start.value));
        let mut found = Vec::new();
        let mut furthest: Option<(&Partition, u64)> = None;
        for partition in order {
            let end = partition.start.value.saturating_add(partition.size.value);
            let other = furthest.filter(|(other, _)| other.disk == partition.disk);
            if let Some((other, other_end)) = other
                && other_end > partition.start.value
                && found.len() < MAX
            {
                let detail = format!(
                    "partition {} starts at sector {} of the data area of its disk, inside {}, which ends at {other_end}",
                    partition.name.value, partition.start.value, other.name.value
                );
                let source = self.source(&partition.start);
                found.push(Anomaly::at(AnomalyKind::Overlap, detail, source));
            }
            if other.is_none_or(|(_, other_end)| other_end < end) {
                furthest = Some((partition, end));
            }
        }
        found
    }
}
