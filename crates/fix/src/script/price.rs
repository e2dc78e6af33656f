//! What scripts read and write, and the room that they need: the one place where steps, the headline of a plan, its time and the
//! scripts' own checks for room are priced.
//!
//! Counted is what their programs read and write of devices and files, to check and to compare too; not what a backup program does
//! less of because files do not fill a volume, and not what an array does by itself to synchronise.

use straddle_geometry::{Bytes, Map};
use straddle_stack::{LayerKind, Stack};

use crate::change::Change;
use crate::change::partitions::Partitions;
use crate::{How, Traffic};

/// Two pieces are kept while a partition is moved, and the copies of the table.
const PIECES: Bytes = Bytes::mib(64);

/// What the scripts read and write that carry out a change in this way.
pub(crate) fn of(stack: &Stack, change: &Change, how: How) -> Traffic {
    let bytes = how.bytes();
    match (how, change) {
        (How::InPlace | How::ByHand, _) => Traffic::default(),
        // Away and back, by a backup program.
        (How::Refill { .. }, _) => Traffic::times(bytes, 2, 2).in_room(bytes),
        (How::Move { .. } | How::Copy { .. }, Change::Partitions(partitions)) => {
            let moved = moved(partitions);
            match stack.layer(partitions.device).kind == LayerKind::Container {
                // Unpacked; then a new disk is made of it, and compared with it.
                true => moved.and(Traffic::times(bytes, 4, 2).in_room(doubled(bytes))),
                false => moved,
            }
        }
        // Converted, and compared with the old one.
        (How::Copy { .. }, _) => Traffic::times(bytes, 3, 1).in_room(bytes),
        (How::Move { .. }, Change::EncryptionSector(sector)) => {
            let map = &stack.layer(sector.layer).map;
            let start = match map {
                Map::Linear { start } => *start,
                _ => Bytes::ZERO,
            };
            Traffic::times(bytes, 1, 1).and(luks_header(start))
        }
        (How::Move { .. }, _) => Traffic::times(bytes, 1, 1),
        // As a stream, made twice to compare it.
        (How::Restore { .. }, Change::Pool(_)) => Traffic::times(bytes, 4, 2).in_room(bytes),
        // Copied and compared, away and back, as all that is restored.
        (How::Restore { .. }, Change::Payload(payload)) => Traffic::times(bytes, 6, 2)
            .in_room(bytes)
            .and(luks_header(payload.from.start())),
        (How::Restore { .. }, _) => Traffic::times(bytes, 6, 2).in_room(bytes),
    }
}

/// A LUKS header that is kept in a file; cryptsetup then writes over all of it, or, for old and new keys, over its key slots.
fn luks_header(len: Bytes) -> Traffic {
    Traffic::times(len, 1, 2).in_room(len)
}

fn doubled(bytes: Bytes) -> Bytes {
    bytes.checked_mul(2).unwrap_or(Bytes::MAX)
}

/// What moving partitions takes: `forward`, `keep` and `put` of the scripts.
pub(super) fn moved(partitions: &Partitions) -> Traffic {
    let changing = partitions.entries.iter().filter(|entry| entry.changes());
    let each = changing.map(|entry| match entry.shrinks() {
        // Kept and compared whole, put back and compared at its new length.
        true => Traffic::times(entry.from.len(), 3, 1)
            .and(Traffic::times(entry.to.len(), 3, 1))
            .in_room(entry.from.len()),
        // Its sum before and after, and by way of pieces in files.
        false => Traffic::times(entry.to.len(), 4, 2),
    });
    let pieces = Traffic::default().in_room(PIECES);
    each.fold(pieces, Traffic::and)
}

#[cfg(test)]
mod tests {
    use super::Traffic;
    use straddle_geometry::Bytes;

    #[test]
    fn what_is_read_and_written_adds_up_and_takes_the_time_of_half_of_it() {
        let moved = Traffic::times(Bytes::mib(1), 4, 2);
        let kept = Traffic::times(Bytes::mib(2), 6, 2).in_room(Bytes::mib(2));
        let both = moved.and(kept);
        assert_eq!(both.read, Bytes::mib(16));
        assert_eq!(both.written, Bytes::mib(6));
        assert_eq!(both.room, Bytes::mib(2));
        assert_eq!(both.copied(), Bytes::mib(11));
        let all = Traffic::times(Bytes::MAX, 4, 2);
        assert_eq!(all.read, Bytes::MAX);
    }
}
