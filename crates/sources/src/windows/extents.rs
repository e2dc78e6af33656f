//! Where a file lies on its volume.

use straddle_geometry::{Extent, SectorSize, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Interval, Key, Value};

use super::answer::{
    FilesystemSize, NtfsVolume, RefsVolume, RetrievalPointers, is_compressed, pointer_base,
};
use super::asked::{Asked, said};
use super::machine::Machine;
use super::question::{Ask, Of};
use crate::inventory::{Placing, Thing};

/// Most pieces of a file that are followed one by one.
const MAX_PIECES: usize = 1 << 16;

/// Places a file on its volume, which has this GUID path, by the extents that its filesystem tells.
pub(super) fn place(machine: Machine<'_>, volume: &str, path: &str, thing: &mut Thing) {
    thing.placing = Placing::Unknown;
    let of_volume = Asked {
        machine,
        of: Of::Volume(volume.to_owned()),
    };
    let of_file = Asked {
        machine,
        of: Of::File(path.to_owned()),
    };
    let Some((cluster, sector)) = sizes(&of_volume, thing) else {
        missing(
            thing,
            "its filesystem does not say how long its clusters are",
        );
        return;
    };
    let compressed = of_file.get(thing, Ask::Compression, is_compressed);
    let found = match of_file.try_get(thing, Ask::Pointers, RetrievalPointers::decode) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        // What is that small lies in the file's own record.
        Err(why) if why.is_end_of_file() => {
            remark(
                thing,
                AnomalyKind::Inline,
                "it has no clusters of its own: its data are in its file record",
            );
            return;
        }
        Err(why) => {
            missing(thing, format!("its extents are not known: {why}"));
            return;
        }
    };
    let base = of_file.get(thing, Ask::PointerBase, |bytes| pointer_base(bytes, sector));
    let base = base.unwrap_or_default();
    let mut pieces = Vec::new();
    for run in found.runs.iter().take(MAX_PIECES) {
        let (Some(in_file), Some(there)) = (run.in_file(cluster), run.on_volume(cluster, base))
        else {
            continue;
        };
        pieces.push((in_file.start(), in_file.len(), 0, there.start()));
    }
    let holes = found.runs.iter().filter(|run| run.lcn.is_none()).count();
    if compressed == Some(true) {
        // What lies in its clusters are not its bytes.
        pieces.clear();
        let detail = "it is compressed: its bytes lie in no cluster one by one";
        remark(thing, AnomalyKind::Compressed, detail);
    } else if holes > 0 {
        let detail = match compressed {
            Some(_) => format!("{holes} holes, which lie nowhere"),
            None => format!(
                "{holes} runs without clusters: holes, or what compression saved; they lie nowhere"
            ),
        };
        remark(thing, AnomalyKind::Sparse, detail);
    }
    if found.missing > 0 || found.runs.len() > MAX_PIECES {
        missing(thing, "it has more extents than were followed");
    }
    let count = u64::try_from(pieces.len()).unwrap_or(u64::MAX);
    let text = format!("{count} extents");
    thing.set(Key::Extents, said(Ask::Pointers, Value::Count(count), text));
    // Holes are a part of its length, the last one, too.
    let ends = found.runs.iter().filter_map(|run| run.in_file(cluster));
    let end = ends.map(Extent::end).max();
    if let Some(end) = end {
        let text = format!("clusters up to {}", end.get());
        thing.size = Some(said(Ask::Pointers, Interval::exact(end), text));
    }
    if !pieces.is_empty() {
        thing.placing = Placing::Segments(pieces);
    }
}

/// Length of a cluster and of a sector of the volume.
fn sizes(asked: &Asked<'_>, thing: &mut Thing) -> Option<(Unit, SectorSize)> {
    if let Some(ntfs) = asked.get(thing, Ask::Ntfs, NtfsVolume::decode) {
        return Some((ntfs.cluster, ntfs.sectors.size));
    }
    if let Some(refs) = asked.get(thing, Ask::Refs, RefsVolume::decode) {
        return Some((refs.cluster, refs.sectors.size));
    }
    let size = asked.get(thing, Ask::Size, FilesystemSize::decode)?;
    Some((size.cluster, size.sector))
}

fn missing(thing: &mut Thing, why: impl Into<String>) {
    remark(thing, AnomalyKind::Missing, why);
}

fn remark(thing: &mut Thing, kind: AnomalyKind, detail: impl Into<String>) {
    thing.remarks.push(Anomaly::new(kind, detail.into()));
}
