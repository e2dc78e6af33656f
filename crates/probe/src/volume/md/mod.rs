//! Linux md: superblocks of versions 0.90, 1.0, 1.1 and 1.2, and the arrays of their members.
//!
//! Source: `md(4)`, `mdadm(8)`, Linux `include/uapi/linux/raid/md_p.h`; where members lie in an array, see
//! `straddle_geometry::Raid` and `zones.rs`.

mod assemble;
mod reshape;
mod seats;
mod superblock;
mod version0;
mod version1;
mod zones;

#[cfg(test)]
mod tests;

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};

use super::{Beside, Recognised, VolumeFormat};
use crate::Window;
use crate::record::Recorder;
use superblock::{Superblock, Version};

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "md",
    title: "member of an md array",
    min_size: 8192,
    // Two of four places are at the end.
    magics: &[],
    beside: Beside::Nothing,
    reads: "superblocks 0.90 (either byte order), 1.0, 1.1 and 1.2; arrays of all levels and layouts that md has, over members of \
            different sizes and data offsets, degraded, and while they are reshaped",
    refuses: "bitmaps, journals and bad-block lists, of which nothing depends on where data lie; external metadata (DDF, IMSM) are \
              formats of their own",
    verified: "mdadm and the kernel's md in the lab, block by block",
    recognise,
    assemble: assemble::assemble,
};

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let mut found = superblock::find(window)?.into_iter();
    let Some(first) = found.next() else {
        return Ok(None);
    };
    if is_of_a_partition(window, &first)? {
        return Ok(None);
    }
    let places = first.places;
    let mut say = Recorder::new(window, first.at);
    say.text(Key::Version, first.version.name(), places.magic);
    say.text(Key::SetUuid, first.uuid.clone(), places.uuid);
    if !first.name.is_empty() {
        say.text(Key::Label, first.name.clone(), places.name);
    }
    say.text(Key::Role, first.role.name(), places.number);
    say.text(
        Key::Level,
        Superblock::level_name(first.level),
        places.level,
    );
    say.count(Key::Events, first.events, places.events);
    if let Some(place) = places.data_offset {
        say.bytes(Key::DataOffset, first.data_offset.get(), place);
    }
    if let Some(place) = places.data_size {
        say.bytes(Key::DataSize, first.data_size.get(), place);
    }
    if let (Some(recovery), Some(place)) = (first.recovery, places.recovery) {
        say.bytes(Key::RecoveryOffset, recovery.get(), place);
    }
    for remark in &first.remarks {
        say.odd(remark.kind, remark.detail.clone(), remark.place);
    }
    if Extent::new(first.data_offset, first.data_size)
        .is_none_or(|data| !Extent::whole(window.size()).contains(data))
    {
        let detail = format!(
            "data of {} bytes from byte {} on end beyond the device, which has {}: md refuses it",
            first.data_size.grouped(),
            first.data_offset.grouped(),
            window.size().grouped()
        );
        let place = places.data_size.unwrap_or(places.used);
        say.odd(AnomalyKind::Damaged, detail, place);
    }
    for other in found {
        let detail = format!(
            "there is also a superblock of version {} at byte {}, of an array {}; this one, of version {}, is used: \
             `mdadm --zero-superblock --metadata={} DEVICE` takes the other away",
            other.version.name(),
            Bytes::new(other.at).grouped(),
            other.uuid,
            first.version.name(),
            other.version.name(),
        );
        say.odd(AnomalyKind::Ambiguous, detail, places.magic);
    }
    if is_unclear(window, &first) {
        let detail = "the superblock of version 0.90 at the end is in the right place for the whole disk too, and no size in it \
                      says for which; it is read as the partition's";
        say.odd(AnomalyKind::UnclearOwner, detail, places.magic);
    }
    Ok(Some(Recognised {
        detected: say.finish(),
        set: first.uuid,
        member: first.member,
        of: Some(u64::from(first.disks)),
    }))
}

/// A superblock of version 0.90 does not say where it stands. Found at the end of a disk with partitions, it is that of the
/// partition for which the place is right too, unless it uses more than there is before it in the partition: a table that
/// belonged to the array could not reach to where the array has ended.
fn is_of_a_partition(window: &Window<'_>, found: &Superblock) -> Result<bool, ReadError> {
    if !matches!(found.version, Version::V0 { .. }) {
        return Ok(false);
    }
    for table in crate::registry::TABLES {
        let Some(detected) = table.run(window)? else {
            continue;
        };
        return Ok(detected.children.iter().any(|child| {
            let extent = child.placement.value;
            let start = extent.start().get();
            let place = version0::place_of(extent.len().get());
            let fits = place.is_some_and(|place| found.used <= Bytes::new(place));
            start > 0 && fits && place.and_then(|place| place.checked_add(start)) == Some(found.at)
        }));
    }
    Ok(false)
}

/// True for a superblock of version 0.90 at the end of a partition that would be in its place for the whole disk too.
fn is_unclear(window: &Window<'_>, found: &Superblock) -> bool {
    let (start, whole) = (window.extent().start(), window.target_size());
    let of_whole = version0::place_of(whole.get());
    matches!(found.version, Version::V0 { .. })
        && found.used == Bytes::ZERO
        && start > Bytes::ZERO
        && start.get().checked_add(found.at) == of_whole
}
