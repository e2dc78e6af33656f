//! What one member of an array is to the rest of the system.

use std::ops::AddAssign;
use straddle_geometry::Access;

use crate::kernel::Time;
use crate::profile::{Refusal, Section};

/// A request on its way through the layers: bytes `start` to `start + len` of whatever it has reached. `len` is not zero,
/// and the end lies below 2⁶³.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub(crate) access: Access,
    pub(crate) start: u64,
    pub(crate) len: u64,
}

impl Operation {
    pub(crate) fn read(start: u64, len: u64) -> Operation {
        Operation {
            access: Access::Read,
            start,
            len,
        }
    }

    pub(crate) fn write(start: u64, len: u64) -> Operation {
        Operation {
            access: Access::Write,
            start,
            len,
        }
    }

    /// The first byte behind it.
    #[inline]
    pub(crate) fn end(self) -> u64 {
        self.start + self.len
    }

    #[inline]
    pub(crate) fn is_read(self) -> bool {
        self.access == Access::Read
    }
}

/// Operations that ended, by the tickets that they were submitted with.
pub(crate) type Ended = Vec<u32>;

/// One member: a disk, a flash device, a server.
///
/// Each has one entry in the calendar, the time at which it next changes ([`Device::next`]). Whatever it does inside, it
/// never ends an operation before it was submitted, ends each exactly once, and its queue holds whatever was submitted.
pub(crate) trait Device: Sized + Send {
    /// Section of its parameters.
    const SECTION: &'static str;

    /// One member as its section of a profile says. `random` is a number of its own for each member and replicate, to turn platters by.
    fn build(section: &Section, random: u64) -> Result<Self, Refusal>;

    /// Another member as the same section says. What is the same for both may be shared.
    fn another(&self, section: &Section, random: u64) -> Result<Self, Refusal> {
        Self::build(section, random)
    }

    /// Bytes that it holds.
    fn capacity(&self) -> u64;

    /// Its logical sector: a workload whose requests are not whole ones is refused. 1 where any will do.
    fn sector(&self) -> u64 {
        1
    }

    /// An operation comes.
    fn submit(&mut self, now: Time, ticket: u32, operation: Operation);

    /// When something happens next; [`Time::NEVER`] when nothing does.
    fn next(&self) -> Time;

    /// It happens: `now` is [`Device::next`].
    fn advance(&mut self, now: Time, ended: &mut Ended);

    /// Operations that have not ended yet.
    fn queued(&self) -> u32;

    /// Bytes of writes that it has answered, or has room for, and not put where they stay: its store of work, and what that is
    /// called, in the plural. `None` without one.
    fn stored(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// What it has done since [`Device::forget`].
    fn tally(&self) -> Tally;

    /// How long its resources were busy since [`Device::forget`].
    fn uses(&self, now: Time, report: &mut dyn FnMut(Use));

    /// Counts from `now` on only.
    fn forget(&mut self, now: Time);

    /// What it reads first where a write covers it in part; `None` when it has nothing of the kind.
    fn granules(&self) -> Option<Granules> {
        None
    }
}

/// Physical sectors, indirection units: what a device writes only as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granules {
    /// Bytes of each; not zero.
    pub(crate) unit: u64,
    /// How far the device's first byte lies behind the beginning of one.
    pub(crate) shift: u64,
}

impl Granules {
    /// How many an operation touches, and how many of these it covers in part.
    #[inline]
    pub(crate) fn of(self, operation: Operation) -> (u64, u64) {
        let (start, end) = (operation.start + self.shift, operation.end() + self.shift);
        let (first, head, last, tail) = if self.unit.is_power_of_two() {
            let (bits, mask) = (self.unit.trailing_zeros(), self.unit - 1);
            (start >> bits, start & mask, (end - 1) >> bits, end & mask)
        } else {
            let unit = self.unit;
            (start / unit, start % unit, (end - 1) / unit, end % unit)
        };
        let (head, tail) = (u64::from(head != 0), u64::from(tail != 0));
        let partial = if first == last {
            head | tail
        } else {
            head + tail
        };
        (last - first + 1, partial)
    }
}

/// How long one of a member's resources was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// What it is, in the plural: `disks`, `dies`.
    pub(crate) resource: &'static str,
    /// How many of them the member has.
    pub(crate) count: u32,
    /// Time for which they were busy, all together.
    pub(crate) busy: Time,
}

/// What a member has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Operations submitted to it that read.
    pub(crate) reads: u64,
    /// Those that write.
    pub(crate) writes: u64,
    /// Bytes of both.
    pub(crate) bytes: u64,
    /// Bytes of those that write.
    pub(crate) written: u64,
    /// Granules (physical sectors, indirection units) that were written in part and therefore read first.
    pub(crate) granules_read: u64,
    /// Granules that operations covered in whole or in part, reads and writes.
    pub(crate) granules: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.written += other.written;
        self.granules_read += other.granules_read;
        self.granules += other.granules;
    }
}
