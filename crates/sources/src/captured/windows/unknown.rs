//! Partitions of disks that nothing names.

use straddle_stack::AnomalyKind;

use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::captured::windows::unknown_disk;
use crate::inventory::Name;

/// The disk of partitions in one list that does not name it. Where numbers or places begin again, another one does.
#[derive(Default)]
pub(in crate::captured) struct Unknown {
    name: Option<Name>,
    numbers: Vec<u64>,
    last: u64,
}

/// Most partitions of a disk whose numbers are remembered.
const MAX_NUMBERS: usize = 128;

impl Unknown {
    /// The disk of the partition with this number, if it has one, that starts here; and remarks once that nothing says which.
    pub(in crate::captured) fn disk(
        &mut self,
        number: Option<u64>,
        start: u64,
        line: &Line<'_>,
        notes: &mut Notes<'_>,
    ) -> Name {
        let again = number.is_some_and(|n| self.numbers.contains(&n)) || start < self.last;
        let name = match self.name.take().filter(|_| !again) {
            Some(name) => name,
            None => {
                let detail = "nothing says on which disk these partitions lie; include its number in the capture";
                notes.remark(AnomalyKind::Missing, detail, line);
                self.numbers.clear();
                unknown_disk(line, notes)
            }
        };
        self.last = start;
        let room = self.numbers.len() < MAX_NUMBERS;
        self.numbers.extend(number.filter(|_| room));
        self.name = Some(name.clone());
        name
    }
}
