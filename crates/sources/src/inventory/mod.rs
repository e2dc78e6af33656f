//! What is said about a machine's storage before it is a stack: things, what they are called, and what each lies on.
//!
//! Tools describe the same disk by different names: `Disk 0`, `\\.\PHYSICALDRIVE0`, a serial number, `C:`. Whoever reads
//! them (captured text now, a live source later) only notes [`Thing`]s with all the [`Name`]s that were said; the
//! inventory joins things that share a name, holds what is said twice against each other, and builds the stack.

mod build;
mod merge;
mod name;
mod partitions;
mod thing;

pub use name::{Name, Space};
pub use thing::{Placing, Thing};

use straddle_stack::{Oddity, Stack};

use crate::Overrides;

/// Most things of one inventory. A server has hundreds; a forged text has no say in how much memory is taken.
pub const MOST_THINGS: usize = 1 << 13;

/// Everything said about one machine.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Its name, where something says it.
    pub host: Option<String>,
    /// System whose tools spoke: `windows`, `linux`, `esxi`, `raid`.
    pub platform: Option<&'static str>,
    things: Vec<Thing>,
    /// What is odd about the texts themselves rather than about one thing.
    pub remarks: Vec<Oddity>,
}

impl Inventory {
    /// Adds a thing. Beyond [`MOST_THINGS`] it is dropped, and false is returned.
    pub fn add(&mut self, thing: Thing) -> bool {
        let room = self.things.len() < MOST_THINGS;
        if room {
            self.things.push(thing);
        }
        room
    }

    /// What has been said so far.
    #[must_use]
    pub fn things(&self) -> &[Thing] {
        &self.things
    }

    /// Adds everything that another text says about the same machine.
    pub fn append(&mut self, other: Inventory) {
        self.host = self.host.take().or(other.host);
        self.platform = self.platform.or(other.platform);
        for thing in other.things {
            self.add(thing);
        }
        self.remarks.extend(other.remarks);
    }

    /// The stack that all of it describes.
    #[must_use]
    pub fn stack(self, overrides: &Overrides) -> Stack {
        build::stack(merge::joined(self), overrides)
    }
}
