//! Finds a file on an NTFS volume.

use straddle_geometry::{Bytes, Extent, Segment};
use straddle_stack::{Anomaly, AnomalyKind};

use super::record::Record;
use super::u32_at;
use super::volume::{DATA, ENCRYPTED, Stream, Volume};
use crate::find::{Entry, Nearby, NodeKind, PathStyle, Tree, walk};
use crate::{FindError, FoundFile, Window};

const ROOT_RECORD: u64 = 5;
const REPARSE_POINT: u32 = 0xc0;
/// Reparse tags with this bit stand for another name: junctions, symbolic links, mount points.
const ANOTHER_NAME: u32 = 0x2000_0000;

/// Reparse tags of files whose data is kept by something else, and what that is.
const KEPT_ELSEWHERE: [(u32, &str); 3] = [
    (0x8000_0013, "the deduplication store"),
    (0x8000_0017, "Windows' overlay filter, which compresses it"),
    (0x9000_001a, "OneDrive, in the cloud"),
];

pub(super) fn find(window: &Window<'_>, path: &str) -> Result<FoundFile, FindError> {
    let volume = Volume::open(window)?;
    let (record, path) = walk(&volume, PathStyle::Windows, path)?;
    let Some(data) = volume.stream(&record, DATA, &[])? else {
        let what = "a record without data";
        return Err(FindError::NotAFile { path, what });
    };
    let mut anomalies = Vec::new();
    let reparse = volume.reparse_tag(&record)?;
    if let Some((at, tag)) = reparse {
        let known = KEPT_ELSEWHERE.iter().find(|(known, _)| *known == tag);
        let keeper = known.map_or("a filter driver", |(_, keeper)| keeper);
        let detail = format!("its data is kept by {keeper} (reparse tag {tag:#010x})");
        let source = window.source(at, 4);
        anomalies.push(Anomaly::at(AnomalyKind::Elsewhere, detail, source));
    }
    Ok(describe(window, data, path, anomalies))
}

impl Tree for Volume<'_> {
    type Node = Record;

    fn root(&self) -> Result<Record, FindError> {
        self.record(ROOT_RECORD)
    }

    fn kind(&self, node: &Record) -> Result<NodeKind, FindError> {
        if let Some((_, tag)) = self.reparse_tag(node)?
            && tag & ANOTHER_NAME != 0
        {
            return Ok(NodeKind::Link(format!(
                "elsewhere (reparse tag {tag:#010x})"
            )));
        }
        Ok(if node.is_directory {
            NodeKind::Directory
        } else {
            NodeKind::File
        })
    }

    fn look_up(
        &self,
        directory: &Record,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<Entry<Record>>, FindError> {
        let Some((reference, name)) = self.entry(directory, name, nearby)? else {
            return Ok(None);
        };
        let node = self.referred(reference)?;
        Ok(Some(Entry { node, name }))
    }
}

impl Volume<'_> {
    /// The tag of a reparse point, and where it is in the window.
    fn reparse_tag(&self, record: &Record) -> Result<Option<(u64, u32)>, FindError> {
        let Some(stream) = self.stream(record, REPARSE_POINT, &[])? else {
            return Ok(None);
        };
        if let Some((at, value)) = stream.resident {
            return Ok(u32_at(&value, 0).map(|tag| (at, tag)));
        }
        let mut tag = [0; 4];
        stream.content.fill(self.window, 0, &mut tag)?;
        let at = stream.content.locate(0).map_or(0, |(at, _)| at);
        Ok(Some((at, u32::from_le_bytes(tag))))
    }
}

fn describe(
    window: &Window<'_>,
    data: Stream,
    path: String,
    mut anomalies: Vec<Anomaly>,
) -> FoundFile {
    let fact = |value, (at, len): (u64, usize)| window.fact(Bytes::new(value), at, len);
    let mut odd = |kind, detail: String, (at, len): (u64, usize)| {
        anomalies.push(Anomaly::at(kind, detail, window.source(at, len)));
    };
    let count = |n: u64| Bytes::new(n).grouped();
    let size = fact(data.size, data.size_field());
    let allocated = fact(data.allocated, data.allocated_field());
    let flags = data.flags_field();
    let of = |part: u64| format!("{} of {} bytes", count(part), count(data.size));
    if data.is_compressed() {
        let detail = if data.compressed == 0 {
            "it is marked as compressed, but no part of it is".to_owned()
        } else {
            format!("{} are in compressed units", of(data.compressed))
        };
        odd(AnomalyKind::Compressed, detail, flags);
    }
    if data.holes > 0 {
        odd(
            AnomalyKind::Sparse,
            format!("{} are holes", of(data.holes)),
            flags,
        );
    }
    if data.flags & ENCRYPTED != 0 {
        let detail = "it is encrypted: what lies at its places is not what a program reads";
        odd(AnomalyKind::Encrypted, detail.to_owned(), flags);
    }
    let mut placement = None;
    if let Some((at, _)) = data.resident {
        let detail = format!(
            "its {} bytes lie in its record of the MFT",
            count(data.size)
        );
        odd(AnomalyKind::Inline, detail, data.flags_field());
        let place = Extent::new(Bytes::new(at), Bytes::new(data.size));
        placement = place
            .filter(|place| !place.is_empty())
            .map(|place| window.fact(place, at, 16));
    }
    let (initialized, initialized_field) = (data.initialized, data.initialized_field());
    let (whole, first_run) = (data.size, data.first_run);
    let segments = data.content.into_segments(whole);
    let unwritten = unwritten(&segments, initialized);
    if !unwritten.is_empty() {
        let detail = format!(
            "it is initialised up to byte {} of {}; the rest reads as zeroes",
            count(initialized),
            count(whole)
        );
        odd(AnomalyKind::Unwritten, detail, initialized_field);
    }
    if let (Some(first), Some((at, len))) = (segments.first(), first_run) {
        let place = Extent::new(first.lower, first.upper.len());
        placement = place.map(|place| window.fact(place, at, len));
    }
    FoundFile {
        path,
        size,
        allocated,
        segments,
        placement,
        unwritten,
        anomalies,
    }
}

/// The parts of the segments from byte `from` of the file on.
fn unwritten(segments: &[Segment], from: u64) -> Vec<Extent> {
    let from = Bytes::new(from);
    let behind = segments.iter().filter(|s| s.upper.end() > from);
    behind
        .filter_map(|s| {
            let start = s.upper.start().max(from);
            Extent::new(start, s.upper.end().checked_sub(start)?)
        })
        .collect()
}
