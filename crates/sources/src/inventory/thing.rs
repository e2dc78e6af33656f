use std::borrow::Cow;
use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{
    Anomaly, Attribute, Fact, GridFact, GridRole, Interval, Key, LayerKind, Value,
};

use super::{Extents, MAX_FACTS, MAX_NAMES, Name, Raid};

/// Something that a text speaks of: a disk, a partition, a filesystem, an array.
#[derive(Clone, Debug)]
pub struct Thing {
    /// What it is.
    pub kind: LayerKind,
    /// What to call it on screen: `disk 0`, `sda1`.
    pub title: String,
    /// The machine that it is of, where one text is about several.
    pub machine: Option<String>,
    /// Its format: `ntfs`, `raid5`, `crypt`.
    pub format: Option<Fact<Cow<'static, str>>>,
    /// What it is called. Things that share one are joined.
    pub names: Vec<Name>,
    /// What it lies on, in the order that `placing` counts them in.
    pub on: Vec<Name>,
    /// How its addresses reach those.
    pub placing: Placing,
    /// Its length.
    pub size: Option<Fact<Interval>>,
    /// Where it starts in the one thing that it lies on. A partition must have one to be placed; anything else without one
    /// starts at 0.
    pub start: Option<Fact<Interval>>,
    /// Its grids, in its own addresses.
    pub grids: Vec<GridFact>,
    /// Grids that it repeats from what it lies on: they count where nothing describes that.
    pub passed_on: Vec<GridFact>,
    /// Grids of which only the number of its logical sectors was said.
    pub in_blocks: Vec<InBlocks>,
    /// What else is said about it.
    pub attributes: Vec<Attribute>,
    /// What is odd about what was said.
    pub remarks: Vec<Anomaly>,
    /// File and order in which it was read: what is said twice in one file is not a contradiction between captures.
    pub file: u32,
}

/// A grid in logical sectors: another text may say how long one is.
#[derive(Clone, Debug)]
pub struct InBlocks {
    /// What the boundaries are.
    pub role: GridRole,
    /// The unit.
    pub count: Fact<u64>,
    /// Where the first boundary lies.
    pub phase: u64,
}

/// How the addresses of a thing reach what it lies on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// As a whole, `start` bytes into the one below; a mirror into the first.
    #[default]
    Linear,
    /// In turns of one stripe unit over all below, from these places.
    Striped {
        /// Stripe unit.
        unit: Unit,
        /// Where each one's data starts; all from 0 when it is shorter than the list below.
        starts: Vec<Bytes>,
    },
    /// In pieces: place in it, length, number of the thing below, place there.
    Segments(Vec<(Bytes, Bytes, usize, Bytes)>),
    /// As a RAID level deals chunks to members.
    Raid(Box<Raid>),
    /// In extents of an LVM volume group.
    Extents(Box<Extents>),
    /// In chunks that the one below deals out, in any order.
    Chunks,
    /// In a way that was not said, or that has no closed form.
    Unknown,
}

impl Thing {
    /// True when more is known of it than one name, which is no evidence of anything: a value, what it lies on, that two names are one thing.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.size.is_some()
            || self.start.is_some()
            || !self.grids.is_empty()
            || !self.passed_on.is_empty()
            || !self.in_blocks.is_empty()
            || !self.attributes.is_empty()
            || self.format.is_some()
            || self.names.len() > 1
            || !self.on.is_empty()
            || !matches!(self.placing, Placing::Linear)
    }

    /// A thing about which nothing is known yet but one name.
    #[must_use]
    pub fn new(kind: LayerKind, title: impl Into<String>, name: Name) -> Thing {
        Thing {
            kind,
            title: title.into(),
            machine: None,
            format: None,
            names: vec![name],
            on: Vec::new(),
            placing: Placing::Linear,
            size: None,
            start: None,
            grids: Vec::new(),
            passed_on: Vec::new(),
            in_blocks: Vec::new(),
            attributes: Vec::new(),
            remarks: Vec::new(),
            file: 0,
        }
    }

    /// Makes it a thing of this machine: it is called so, and by no name that another machine's thing has.
    pub fn of_machine(&mut self, machine: &str) {
        self.title = format!("{} of {machine}", self.title);
        self.machine = Some(machine.to_owned());
        let mut names: Vec<&mut Name> = self.names.iter_mut().chain(&mut self.on).collect();
        match &mut self.placing {
            Placing::Raid(raid) => names.extend(raid.members.iter_mut().map(|m| &mut m.name)),
            Placing::Extents(it) => names.extend(it.pieces.iter_mut().map(|p| &mut p.on)),
            _ => {}
        }
        for name in names {
            *name = name.clone().of_machine(machine);
        }
    }

    /// Adds another name of it.
    #[must_use]
    pub fn named(mut self, name: Name) -> Thing {
        if !name.text.is_empty() && self.names.len() <= MAX_NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
        self
    }

    /// Adds what it lies on.
    #[must_use]
    pub fn on(mut self, name: Name) -> Thing {
        self.on.push(name);
        self
    }

    /// Adds a grid that starts at its beginning.
    pub fn grid(&mut self, role: GridRole, unit: Fact<Unit>) {
        self.grids.push(GridFact {
            role,
            grid: unit.map(Grid::new),
        });
    }

    /// Adds an attribute.
    pub fn set(&mut self, key: Key, value: Fact<Value>) {
        // One more than are kept, which tells that there were more.
        if self.attributes.len() <= MAX_FACTS {
            self.attributes.push(Attribute { key, value });
        }
    }

    /// Adds a text attribute, unless it is empty.
    pub fn set_text(&mut self, key: Key, text: Fact<String>) {
        if !text.value.is_empty() {
            self.set(key, text.map(|text| Value::Text(text.into())));
        }
    }
}
