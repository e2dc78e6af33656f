//! What is said about a machine's storage before it is a stack: things, what they are called, and what each lies on.
//!
//! Tools describe the same disk by different names: `Disk 0`, `\\.\PHYSICALDRIVE0`, a serial number, `C:`. Whoever reads
//! them (captured text now, a live source later) only notes [`Thing`]s with all the [`Name`]s that were said; the
//! inventory joins things that share a name, compares what is said twice, and builds the stack.

mod bounds;
mod build;
mod facts;
mod groups;
mod held;
mod lower;
mod merge;
mod name;
mod partitions;
mod raid;
mod relation;
mod said;
mod thing;

#[cfg(test)]
mod tests;

pub(crate) use bounds::{MAX_BELOW, MAX_FACTS, MAX_NAMES};
pub use lower::{Extents, Piece, Raid, RaidMember};
pub use name::{Name, Space};
pub use said::{Inventory, MAX_THINGS, Mark};
pub use thing::{InBlocks, Placing, Thing};

use straddle_stack::Stack;

use crate::Overrides;

impl Inventory {
    /// The stack that all of it describes.
    #[must_use]
    pub fn stack(self, overrides: &Overrides) -> Stack {
        build::stack(merge::joined(self), overrides)
    }
}
