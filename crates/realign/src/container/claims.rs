//! Whether the blocks of a table lie apart from each other and from the tables, inside their file.
//!
//! To read a disk it is enough that its table is found; to write it, each block must be the only owner of its bytes. So all entries
//! are looked at, not the first thousands. Blocks in ascending order cannot lie over each other, which is how nearly every file is
//! written; those of another are entered into one slot for each block's length of the file: of two that lie apart no two start in the
//! same slot.

use std::ops::Range;

use straddle_geometry::{BlockTable, Bytes, Extent, Gap, Segment, Sink, TableError, entry};

/// Most slots: with 4 bytes each, 256 MiB. That is a file of 4 TiB with blocks of 64 KiB.
const MAX_SLOTS: u64 = 1 << 26;

/// What is known of where blocks may lie.
pub(super) struct Rules<'a> {
    /// What stands in front of the data of a block and belongs to it.
    pub(super) front: u64,
    /// Size of the file.
    pub(super) file: u64,
    /// Structures that no block may lie over: name and place, in the order of their starts and apart from each other.
    pub(super) taken: &'a [(&'static str, Range<u64>)],
}

/// Looks at every block of `table`, and says where the last one in the file ends.
///
/// # Errors
/// What is wrong with the first that is wrong, as the second half of a sentence.
pub(super) fn check(table: &dyn BlockTable, rules: &Rules<'_>) -> Result<u64, TableError> {
    let len = table.block().get().saturating_add(rules.front);
    let mut claims = Claims {
        rules,
        block: table.block().get(),
        len,
        highest: 0,
        is_ascending: true,
        slots: None,
        fault: None,
    };
    let whole = Extent::whole(table.size());
    table.stream(whole, &mut claims)?;
    if claims.fault.is_none() && !claims.is_ascending {
        let slots = rules.file.div_ceil(len);
        if slots > MAX_SLOTS || u32::try_from(len).is_err() {
            return Err(format!(
                "its blocks are in no order, and there are more than the {} for which can be told whether they lie apart",
                Bytes::new(MAX_SLOTS).grouped()
            )
            .into());
        }
        claims.slots = Some(vec![0; usize::try_from(slots)?]);
        table.stream(whole, &mut claims)?;
    }
    claims
        .fault
        .map_or(Ok(claims.highest), |fault| Err(fault.into()))
}

struct Claims<'a> {
    rules: &'a Rules<'a>,
    block: u64,
    /// Of a block with what stands in front of it.
    len: u64,
    highest: u64,
    is_ascending: bool,
    /// For each length of a block where in it one starts, plus 1.
    slots: Option<Vec<u32>>,
    fault: Option<String>,
}

impl Claims<'_> {
    fn claim(&mut self, upper: u64, data: u64) {
        if self.fault.is_some() {
            return;
        }
        self.fault = self.look(upper, data).err();
    }

    fn look(&mut self, upper: u64, data: u64) -> Result<(), String> {
        let grouped = |n: u64| Bytes::new(n).grouped();
        let say = |what: String| format!("the block at byte {} of the disk {what}", grouped(upper));
        let start = data.checked_sub(self.rules.front);
        let start = start.ok_or_else(|| say("lies before its file".to_owned()))?;
        let end = start.saturating_add(self.len);
        if let Some(slots) = &mut self.slots {
            let shares = || {
                say(format!(
                    "at byte {} of the file lies over another",
                    grouped(data)
                ))
            };
            let slot = usize::try_from(start / self.len).unwrap_or(usize::MAX);
            let within = u32::try_from(start % self.len).unwrap_or(u32::MAX);
            let at = |slots: &[u32], slot: Option<usize>| {
                let found = slots.get(slot?).copied()?;
                found.checked_sub(1)
            };
            let before = at(slots, slot.checked_sub(1)).is_some_and(|other| other > within);
            let after = at(slots, slot.checked_add(1)).is_some_and(|other| other < within);
            match slots.get_mut(slot) {
                Some(free) if *free == 0 && !before && !after => *free = within.saturating_add(1),
                _ => return Err(shares()),
            }
            return Ok(());
        }
        // Some writers leave out the end of the last block of a file.
        if data >= self.rules.file {
            return Err(say(format!(
                "lies at byte {} of the file, which ends at {}",
                grouped(data),
                grouped(self.rules.file)
            )));
        }
        let taken = self.rules.taken;
        let next = taken.partition_point(|(_, place)| place.end <= start);
        if let Some((what, place)) = taken.get(next)
            && place.start < end
        {
            return Err(say(format!(
                "at byte {} of the file lies over {what} at byte {}",
                grouped(data),
                grouped(place.start)
            )));
        }
        self.is_ascending &= start >= self.highest;
        self.highest = self.highest.max(end);
        Ok(())
    }
}

impl Sink for Claims<'_> {
    fn blocks(&mut self, first: Bytes, _: usize, lower: &[u64]) {
        let mut upper = first.get();
        for place in lower {
            match entry::gap(*place) {
                None => self.claim(upper, *place),
                Some(Gap::Packed) => self.packed(upper),
                Some(_) => {}
            }
            upper = upper.saturating_add(self.block);
        }
    }

    fn piece(&mut self, piece: Segment) {
        self.claim(piece.upper.start().get(), piece.lower.get());
    }

    fn gap(&mut self, upper: Extent, gap: Gap) {
        if gap == Gap::Packed {
            self.packed(upper.start().get());
        }
    }
}

impl Claims<'_> {
    fn packed(&mut self, upper: u64) {
        let at = Bytes::new(upper).grouped();
        self.fault.get_or_insert_with(|| {
            format!("the block at byte {at} of the disk is compressed, and has no place that could be written")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use straddle_geometry::{Place, Unit};

    /// A table in memory.
    #[derive(Debug)]
    struct Table(Vec<u64>);

    impl BlockTable for Table {
        fn block(&self) -> Unit {
            Unit::new(8).expect("not zero")
        }
        fn size(&self) -> Bytes {
            Bytes::new(self.0.len() as u64 * 8)
        }
        fn parent(&self) -> Option<usize> {
            None
        }
        fn locate(&self, _: Bytes) -> Result<Place, TableError> {
            Err("not asked".into())
        }
        fn stream(&self, _: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
            sink.blocks(Bytes::ZERO, 0, &self.0);
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn agrees_with_looking_at_every_pair(
            starts in proptest::collection::vec(prop_oneof![3 => 0_u64..120, 1 => Just(entry::ABSENT)], 0..9),
            taken in 0_u64..100,
        ) {
            let table = Table(starts.clone());
            let rules = Rules { front: 2, file: 110, taken: &[("the table", taken..taken + 5)] };
            let found = check(&table, &rules);
            let all: Vec<u64> = starts.into_iter().filter(|start| *start != entry::ABSENT).collect();
            let apart = |a: u64, la: u64, b: u64, lb: u64| a + la <= b || b + lb <= a;
            let is_sound = all.iter().enumerate().all(|(n, a)| {
                *a >= 2 && *a < 110 && apart(a - 2, 10, taken, 5)
                    && all[n + 1..].iter().all(|b| apart(*a, 10, *b, 10))
            });
            prop_assert_eq!(found.is_ok(), is_sound, "{:?}", found);
        }
    }

    #[test]
    fn what_is_compressed_is_refused() {
        let rules = Rules {
            front: 0,
            file: 100,
            taken: &[],
        };
        let error = check(&Table(vec![8, entry::PACKED]), &rules).expect_err("packed");
        assert!(
            error
                .to_string()
                .contains("byte 8 of the disk is compressed"),
            "{error}"
        );
        assert!(check(&Table(vec![entry::ZERO, 8, entry::ABSENT, 0]), &rules).is_ok());
    }
}
