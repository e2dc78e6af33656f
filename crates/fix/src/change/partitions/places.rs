//! Where partitions can lie: in their order, none to the left of where it is, so that data only ever move towards the end.

use straddle_geometry::{Bytes, Extent, Grid, SectorSize};

/// A partition that needs a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Where it lies.
    pub(super) from: Extent,
    /// True when it cannot stay there.
    pub(super) is_off: bool,
    /// True for one in the extended partition.
    pub(super) is_logical: bool,
}

/// What there is to divide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Where the last partition must have ended.
    pub(super) end: Bytes,
    /// What places are counted in.
    pub(super) sector: SectorSize,
    /// Where the extended partition lies.
    pub(super) extended: Option<Extent>,
}

/// A place for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// In the order of the slots.
    pub(super) to: Vec<Extent>,
    /// For the extended partition.
    pub(super) extended: Option<Extent>,
}

/// Places for all `slots`, which are in the order of their starts: each that is off goes to the next boundary of `grid` that is
/// free, and pushes on those behind it. With `cut`, the last gives up what there is no room for, if that is little. `None` when
/// it cannot be done.
pub(super) fn pack(slots: &[Slot], grid: Grid, room: &Room, cut: bool) -> Option<Places> {
    let one = room.sector.sectors(1).bytes()?;
    let mut free = Bytes::ZERO;
    let mut to = Vec::with_capacity(slots.len());
    let mut inside: Option<Bytes> = None;
    let mut extended = None;
    for (index, slot) in slots.iter().enumerate() {
        let from = slot.from.start();
        let old = room
            .extended
            .filter(|old| extended.is_none() && from >= old.start());
        if let (Some(old), None) = (old, inside) {
            inside = Some(old.start().max(free));
            free = free.max(old.start());
        }
        if slot.is_logical {
            // Before each logical partition lies the boot record that describes it.
            free = free.checked_add(one)?;
        } else if let (Some(old), Some(start)) = (old, inside) {
            let end = old.end().max(free).max(start.checked_add(one)?);
            extended = Some(Extent::new(start, end.checked_sub(start)?)?);
            free = end;
        }
        let start = if slot.is_off || from < free {
            grid.first_at_or_after(from.max(free)).ok()?
        } else {
            from
        };
        if !start.is_multiple_of(room.sector.unit()) {
            return None;
        }
        if let (true, Some(old), Some(first)) = (slot.is_logical, old, inside)
            && first > old.start()
            && !to.iter().any(|to: &Extent| to.start() >= first)
        {
            // Near what is in it: sfdisk may not take a table with a gap of 1 MiB there.
            inside = Some(first.max(start.checked_sub(NEAR).unwrap_or(first)));
        }
        let mut place = Extent::new(start, slot.from.len())?;
        if place.end() > room.end && place != slot.from {
            if !cut || index + 1 != slots.len() {
                return None;
            }
            place = shortened(slot.from.len(), start, room)?;
        }
        free = place.end();
        to.push(place);
    }
    if let (Some(old), None) = (room.extended, extended) {
        let start = inside.unwrap_or_else(|| old.start().max(free));
        let end = old.end().max(free).max(start.checked_add(one)?);
        extended = Some(Extent::new(start, end.checked_sub(start)?)?);
    }
    Some(Places { to, extended })
}

/// How far before its first logical partition an extended one begins when it must begin elsewhere.
const NEAR: Bytes = Bytes::kib(512);

/// From `start` to the end, in blocks of 4 KiB, which every filesystem can be made long.
fn shortened(len: Bytes, start: Bytes, room: &Room) -> Option<Extent> {
    let block = u64::from(room.sector.get()).max(4096);
    let rest = room.end.checked_sub(start)?.get();
    let rest = Bytes::new(rest - rest % block);
    let lost = len.checked_sub(rest)?;
    // Half a partition is no partition.
    let little = Bytes::new(len.get() / 64).max(Bytes::mib(4));
    Extent::new(start, rest).filter(|place| !place.is_empty() && lost <= little)
}

#[cfg(test)]
mod tests {
    use super::{Places, Room, Slot, pack};
    use proptest::prelude::*;
    use straddle_geometry::{Bytes, Extent, Grid, SectorSize, Unit};

    fn sectors(start: u64, len: u64) -> Extent {
        Extent::new(Bytes::new(start * 512), Bytes::new(len * 512)).expect("fits")
    }

    fn slot(start: u64, len: u64, is_off: bool, is_logical: bool) -> Slot {
        Slot {
            from: sectors(start, len),
            is_off,
            is_logical,
        }
    }

    fn room(end: u64, extended: Option<(u64, u64)>) -> Room {
        Room {
            end: Bytes::new(end * 512),
            sector: SectorSize::B512,
            extended: extended.map(|(start, len)| sectors(start, len)),
        }
    }

    fn every(bytes: u64) -> Grid {
        Grid::new(Unit::new(bytes).expect("not zero"))
    }

    fn starts(places: &Places) -> Vec<u64> {
        places.to.iter().map(|to| to.start().get() / 512).collect()
    }

    #[test]
    fn neighbours_are_pushed_only_as_far_as_they_must() {
        let slots = [
            slot(63, 2049, true, false),
            slot(4096, 2048, false, false),
            slot(8192, 100, false, false),
        ];
        let places = pack(&slots, every(1 << 20), &room(20_000, None), false).expect("room");
        assert_eq!(starts(&places), [2048, 6144, 8192]);
    }

    #[test]
    fn the_last_gives_up_what_there_is_no_room_for() {
        let slots = [slot(63, 40_000, true, false)];
        let tight = room(40_063, None);
        assert_eq!(pack(&slots, every(4096), &tight, false), None);
        let places = pack(&slots, every(4096), &tight, true).expect("room");
        // 40,063 − 64 sectors, in blocks of 8.
        assert_eq!(places.to, [sectors(64, 39_992)]);
        assert_eq!(pack(&slots, every(16 << 20), &tight, true), None);
    }

    #[test]
    fn logical_partitions_stay_inside_and_keep_a_sector_for_their_boot_record() {
        let slots = [
            slot(63, 40_000, true, false),
            slot(40_126, 20_000, true, true),
            slot(60_189, 20_000, true, true),
            slot(90_000, 5000, false, false),
        ];
        let limits = room(131_072, Some((40_063, 49_937)));
        let places = pack(&slots, every(1 << 20), &limits, false).expect("room");
        assert_eq!(starts(&places), [2048, 43_008, 63_488, 90_000]);
        assert_eq!(places.extended, Some(sectors(42_048, 47_952)));
        // Without room for the boot record the next boundary is taken.
        let slots = [slot(2047, 2048, true, true), slot(4096, 2048, true, true)];
        let limits = room(131_072, Some((1, 20_000)));
        let places = pack(&slots, every(1 << 20), &limits, false).expect("room");
        assert_eq!(starts(&places), [2048, 6144]);
        assert_eq!(places.extended, Some(sectors(1, 20_000)));
    }

    #[test]
    fn an_extended_partition_grows_with_what_is_in_it_and_pushes() {
        let slots = [slot(2049, 4096, true, true), slot(6200, 2048, false, false)];
        let limits = room(131_072, Some((2000, 4145)));
        let places = pack(&slots, every(1 << 20), &limits, false).expect("room");
        assert_eq!(starts(&places), [4096, 8192]);
        assert_eq!(places.extended, Some(sectors(2000, 6192)));
    }

    #[test]
    fn an_empty_extended_partition_is_kept() {
        let limits = room(131_072, Some((5000, 4000)));
        let slots = [slot(63, 4937, true, false)];
        let places = pack(&slots, every(1 << 20), &limits, false).expect("room");
        assert_eq!(starts(&places), [2048]);
        assert_eq!(places.extended, Some(sectors(6985, 2015)));
    }

    /// The smallest start that is on all grids, by trying each sector.
    fn tried(grids: &[Grid], sector: u64, after: u64, most: u64) -> Option<u64> {
        let first = after.div_ceil(sector) * sector;
        (0..most)
            .map(|n| first + n * sector)
            .find(|at| grids.iter().all(|grid| grid.contains(Bytes::new(*at))))
    }

    #[test]
    fn the_smallest_common_start_is_that_of_trying_all() {
        for sector in [512, 520, 528, 4096] {
            for members in [3, 5, 6, 7, 11] {
                for unit in [16 << 10, 64 << 10, 96 << 10, 520 * 8, 528 * 8] {
                    for shift in [0, 7 * sector] {
                        let grid = |unit: u64| {
                            let unit = Unit::new(unit).expect("not zero");
                            Grid::with_phase(unit, Bytes::new(shift % unit.get()))
                        };
                        let grids = [
                            Grid::new(Unit::new(sector).expect("not zero")),
                            grid(unit),
                            grid(unit * members),
                        ];
                        let found = Grid::intersect_all(grids)
                            .ok()
                            .and_then(|grid| grid.first_at_or_after(Bytes::new(63 * sector)).ok());
                        let by_hand = tried(&grids, sector, 63 * sector, 400_000);
                        assert_eq!(
                            found.map(Bytes::get),
                            by_hand,
                            "{members} × {unit}, sectors of {sector}, shifted by {shift}"
                        );
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn places_are_on_the_grid_apart_and_never_to_the_left(
            gaps in prop::collection::vec((0_u64..3000, 1_u64..5000, any::<bool>()), 1..7),
            members in prop::sample::select(vec![1_u64, 3, 5, 6, 7, 11]),
            logical in any::<bool>(),
        ) {
            let mut at = 63;
            let mut slots = Vec::new();
            for (index, (gap, len, off)) in gaps.iter().enumerate() {
                at += gap + 1;
                slots.push(slot(at, *len, *off, logical && index > 0));
                at += len;
            }
            let extended = slots.get(1).filter(|_| logical).map(|first| {
                let start = first.from.start().get() / 512 - 1;
                (start, at - start)
            });
            let grid = every((64 << 10) * members);
            let limits = room(at + 40_000, extended);
            let Some(places) = pack(&slots, grid, &limits, false) else {
                // Each of at most 7 is pushed on by less than two units.
                prop_assert!(7 * 2 * 128 * members + 63 > 12_000);
                return Ok(());
            };
            let mut free = Bytes::ZERO;
            for (slot, to) in slots.iter().zip(&places.to) {
                prop_assert!(to.start() >= slot.from.start() && to.start() >= free);
                prop_assert!(*to == slot.from || grid.contains(to.start()));
                prop_assert!(!slot.is_off || grid.contains(to.start()));
                prop_assert_eq!(to.len(), slot.from.len());
                if slot.is_logical {
                    let around = places.extended.expect("there was one");
                    prop_assert!(around.contains(*to) && around.start() < to.start());
                    prop_assert!(to.start().get() >= free.get() + 512);
                }
                free = to.end();
            }
            prop_assert!(free <= limits.end);
        }
    }
}
