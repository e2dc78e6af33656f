//! A storage stack reduced to what a simulation needs: where partitions and volumes begin, on what, and what that is.
//!
//! A stack comes from a source of facts or from a document that `straddle check --format json` printed. Both are read in
//! the same way, as that document: what is printed is what counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use straddle_geometry::{Bytes, lcm};
use straddle_stack::Stack;

use crate::decision::{self, Work};
use crate::profile::{Kind, Origin, Profile, Refusal, value};

mod document;
mod propose;

use document::{Fact, Layer, Map};
pub use propose::Proposal;

/// Longest document that is read, in bytes.
pub const MAX_LEN: u64 = 64 << 20;

/// What a simulation needs to know of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Partitions and volumes that hold data, in the order of the stack.
    pub places: Vec<Place>,
}

/// A figure of a stack, and how it is known there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<T> {
    /// The figure.
    pub value: T,
    /// Where it was found, in words.
    pub from: String,
}

/// Something that holds data, and what it lies on.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What it is called: `partition 1`, `sdc1`.
    pub name: String,
    /// The array or device that it lies on, whose addresses `offset` counts.
    pub base: String,
    /// Where it begins there.
    pub offset: Known<Bytes>,
    /// How long it is.
    pub length: Option<Known<Bytes>>,
    /// The filesystem on it.
    pub filesystem: Option<String>,
    /// What that allocates at once.
    pub allocation_unit: Option<Known<Bytes>>,
    /// What the medium rewrites as a whole, where the stack says so and does not assume it.
    pub physical_sector: Option<Known<Bytes>>,
    /// Bytes on one member before the next takes over.
    pub stripe_unit: Option<Known<Bytes>>,
    /// Spinning disks or not.
    pub rotational: Option<bool>,
    /// The model of the device.
    pub model: Option<String>,
    /// How it is attached: `sata`, `nvme`.
    pub transport: Option<String>,
    /// The block of the virtual disk that it lies in.
    pub container_block: Option<Known<Bytes>>,
    /// The system that all of it was captured on, where that is known.
    pub platform: Option<String>,
    /// Size of the virtual disk that it lies in, of which a new file is made.
    pub container: Option<Bytes>,
    /// Whether it would have to become shorter to be aligned: it is the last, and ends where there is no more room.
    pub is_without_room: bool,
    /// Its base is a device to the host: what stripes it has are below that, in an adapter or a storage array.
    pub is_on_device: bool,
    /// Figures for a profile, as `section.key` and what it is.
    pub settings: Vec<Setting>,
}

/// A figure of a stack that stands for one of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// `section.key`.
    pub path: String,
    /// Its value, as in a profile.
    pub value: toml::Value,
    /// Where it was found, in words.
    pub from: String,
}

/// A figure of the stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Taken {
    /// `section.key` of the profile.
    pub path: String,
    /// What the stack says.
    pub value: String,
    /// Where it says so.
    pub from: String,
    /// Why the profile's own figure was kept; `null` when the stack's took its place.
    pub refused: Option<String>,
}

impl Outline {
    /// Of a stack.
    ///
    /// # Errors
    /// A stack without anything that holds data.
    pub fn of(name: &str, stack: &Stack) -> Result<Outline, Refusal> {
        let refuse = |error: serde_json::Error| Refusal::new(name, error, "a stack");
        let value = serde_json::to_value(stack).map_err(refuse)?;
        let layers: Vec<Layer> = Vec::deserialize(value).map_err(refuse)?;
        outline(name, &layers)
    }

    /// Of what `straddle check --format json` printed, all targets together.
    ///
    /// # Errors
    /// Text that is no such document, or nothing in it that holds data.
    pub fn read(name: &str, text: &str) -> Result<Outline, Refusal> {
        let mut places = Vec::new();
        for target in document::targets(name, text)? {
            // A target without data is no failure as long as another has some.
            places.extend(outline(name, &target).map_or(Vec::new(), |outline| outline.places));
        }
        if places.is_empty() {
            return Err(nothing(name));
        }
        Ok(Outline { places })
    }

    /// The place that is called so, or all of them.
    ///
    /// # Errors
    /// None is called so, or several are.
    pub fn find(&self, name: &str) -> Result<&Place, Refusal> {
        let is_called = |place: &&Place| {
            place.name == name || place.name.ends_with(&format!(" {name}")) || place.path() == name
        };
        let mut found = self.places.iter().filter(is_called);
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => Err(Refusal::new("--partition", name, self.names())),
            (Some(_), Some(_)) => Err(Refusal::new(
                "--partition",
                format!("{name}, which several are called"),
                self.names(),
            )),
        }
    }

    /// Those that do not begin on a boundary that is known; all of them when there are none.
    #[must_use]
    pub fn in_question(&self) -> Vec<&Place> {
        let misaligned: Vec<&Place> = self.places.iter().filter(|p| !p.is_aligned()).collect();
        if misaligned.is_empty() {
            return self.places.iter().collect();
        }
        misaligned
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.places.iter().map(Place::path).collect();
        names.join(", ")
    }
}

impl Place {
    /// `sdc1 on sdc`.
    #[must_use]
    pub fn path(&self) -> String {
        if self.name == self.base {
            return self.name.clone();
        }
        format!("{} on {}", self.name, self.base)
    }

    /// True when it begins on a boundary of the stripe unit and of the physical sector; what is not known of them is taken
    /// for the usual, 64 KiB and 4 KiB.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        let unit = |known: &Option<Known<Bytes>>, usual: u64| {
            known
                .as_ref()
                .map_or(usual, |known| known.value.get())
                .max(1)
        };
        let at = self.offset.value.get();
        at.is_multiple_of(unit(&self.stripe_unit, 64 << 10))
            && at.is_multiple_of(unit(&self.physical_sector, 4096))
    }

    /// What moving it takes: `data` where that is given, else the partition or the virtual disk that it lies in.
    #[must_use]
    pub fn work(&self, data: Option<Bytes>, rate: f64) -> Work {
        let length = self.length.as_ref().map(|length| length.value);
        // A virtual disk is unpacked and packed again around the move, which takes as long for each of its bytes.
        let whole = self.container.unwrap_or(Bytes::ZERO);
        let length = length.and_then(|length| length.checked_add(whole));
        Work {
            data: data.or(length),
            passes: match self.container {
                Some(_) => decision::MOVED,
                None => match decision::passes(self.platform.as_deref()) {
                    decision::MOVED if self.is_without_room => decision::SHORTENED,
                    passes => passes,
                },
            },
            rate,
        }
    }

    /// A profile with what the stack says in place of what the profile says, and what became of each figure.
    #[must_use]
    pub fn apply(&self, profile: Profile) -> (Profile, Vec<Taken>) {
        let has_part = |setting: &&Setting| {
            let section = setting.path.split('.').next().unwrap_or("");
            matches!(section, "array" | "blocks") || profile.section(section).is_some()
        };
        // Together if they go together: six members may be too few for one level, and even for another.
        let mut all = self
            .settings
            .iter()
            .filter(|setting| setting.path.starts_with("array."));
        let together = all.try_fold(profile.clone(), put);
        let together = together.and_then(|changed| sound(&changed).map(|()| changed));
        let mut out = together.as_ref().unwrap_or(&profile).clone();
        let mut taken = Vec::new();
        for setting in &self.settings {
            let is_in = together.is_ok() && setting.path.starts_with("array.");
            let refused = match has_part(&setting) {
                false => Some("the profile has no such part".to_owned()),
                true if is_in => None,
                true => {
                    let changed = put(out.clone(), setting);
                    match changed.and_then(|changed| sound(&changed).map(|()| changed)) {
                        Ok(changed) => {
                            out = changed;
                            None
                        }
                        Err(refusal) => Some(format!("expected {}", refusal.expected)),
                    }
                }
            };
            taken.push(Taken {
                path: setting.path.clone(),
                value: shown(&setting.value),
                from: setting.from.clone(),
                refused,
            });
        }
        (out, taken)
    }
}

fn put(profile: Profile, setting: &Setting) -> Result<Profile, Refusal> {
    let origin = Origin::Stack(setting.from.clone());
    profile.with(&setting.path, &setting.value, origin)
}

fn sound(profile: &Profile) -> Result<(), Refusal> {
    crate::system::check(&profile.complete()?)
}

fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(whole) => Bytes::new(whole.unsigned_abs()).grouped().to_string(),
        other => other.to_string(),
    }
}

fn nothing(name: &str) -> Refusal {
    Refusal::new(
        name,
        "no partition, volume or filesystem in it",
        "a target of `straddle check` that holds data",
    )
}

/// True for what blocks are stored on.
fn is_block(layer: &Layer) -> bool {
    matches!(
        layer.kind.as_str(),
        "device" | "array" | "volume" | "encryption" | "partition" | "container"
    )
}

fn outline(name: &str, layers: &[Layer]) -> Result<Outline, Refusal> {
    let above = |id: usize| {
        let rests = move |layer: &&Layer| layer.below.contains(&id);
        layers.iter().filter(rests)
    };
    // What carries blocks, directly or through a filesystem and a file on it: a virtual disk's host is not its guest.
    let mut carries = vec![false; layers.len()];
    for (id, layer) in layers.iter().enumerate().rev() {
        let does = is_block(layer) || carries.get(id).copied().unwrap_or(false);
        for below in layer.below.iter().filter(|below| **below < id) {
            if let Some(carries) = carries.get_mut(*below) {
                *carries |= does;
            }
        }
    }
    let is_topmost = |id: usize| carries.get(id) == Some(&false);
    let holds_data = |layer: &Layer, id: usize| {
        is_block(layer)
            && is_topmost(id)
            && layer.flag("holds-partitions") != Some(true)
            && layer.attribute("holds-partitions").is_none()
    };
    let numbered = || layers.iter().enumerate();
    let mut found: Vec<usize> = numbered()
        .filter(|(id, layer)| holds_data(layer, *id))
        .map(|(id, _)| id)
        .collect();
    // A disk with nothing on it is one place too many, unless there is nothing else.
    let is_used = |id: &usize| !layers[*id].below.is_empty() || above(*id).next().is_some();
    if found.iter().any(is_used) {
        found.retain(is_used);
    }
    let places: Vec<Place> = found
        .into_iter()
        .filter_map(|id| place(layers, id))
        .collect();
    if places.is_empty() {
        return Err(nothing(name));
    }
    Ok(Outline { places })
}

/// The layer with the stripes below, and where address 0 of a layer lies in it.
fn descend(layers: &[Layer], id: usize) -> Option<(usize, u64)> {
    let (mut here, mut at) = (id, 0_u64);
    loop {
        let layer = layers.get(here)?;
        let ends = layer.kind == "array" || layer.grid("stripe-unit").is_some();
        let (target, start) = match &layer.map {
            Some(Map::Linear { start }) if !ends => (0, at.checked_add(*start)?),
            Some(Map::Segments { first_segments }) if !ends => {
                let within = |segment: &&document::Segment| {
                    let upper = &segment.upper;
                    upper.start <= at && at - upper.start < upper.len
                };
                let segment = first_segments.iter().find(within)?;
                let within = at - segment.upper.start;
                (segment.target, segment.lower.checked_add(within)?)
            }
            // Blocks may lie anywhere; an array and a device are where addresses of the model begin.
            _ => return Some((here, at)),
        };
        let below = *layer.below.get(target)?;
        // A document may say anything; a stack has smaller numbers below.
        if below >= here {
            return None;
        }
        (here, at) = (below, start);
    }
}

/// Whether a partition is the last of its disk, and would not fit behind its new start, where all that are off the boundaries
/// of the disk go to the next free one. The places that `fix` gives them follow the same rule.
fn is_without_room(layers: &[Layer], id: usize) -> bool {
    let room = || -> Option<(u64, u64)> {
        let below = *layers.get(id)?.below.first()?;
        let disk = layers.get(below)?;
        let sector = disk.grid("logical-sector").map_or(512, |unit| unit.value);
        // The copy of a GPT lies at the end: 16 KiB of entries and a sector.
        let table = disk.text("partition-table").map(|(table, _)| table);
        let copy = match table.as_deref() {
            Some("gpt") => (16 << 10) + sector,
            _ => 0,
        };
        let end = disk.size.as_ref()?.value.checked_sub(copy)?;
        let units = [
            "physical-sector",
            "indirection-unit",
            "stripe-unit",
            "full-stripe",
        ];
        let units = units.iter().filter_map(|role| disk.grid(role));
        let unit = units.map(|unit| unit.value).try_fold(sector, lcm)?;
        let beside = layers.iter().enumerate();
        let beside = beside
            .filter(|(_, layer)| layer.kind == "partition" && layer.below.first() == Some(&below));
        let mut all: Vec<(u64, u64, usize)> = beside
            .filter_map(|(id, layer)| match (&layer.map, &layer.size) {
                (Some(Map::Linear { start }), Some(len)) => Some((*start, len.value, id)),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        let (_, _, last) = all.last()?;
        let mut free = 0_u64;
        for (start, len, _) in &all {
            free = start
                .max(&free)
                .checked_next_multiple_of(unit)?
                .checked_add(*len)?;
        }
        (*last == id).then_some((free, end))
    };
    room().is_some_and(|(free, end)| free > end)
}

fn place(layers: &[Layer], id: usize) -> Option<Place> {
    let layer = layers.get(id)?;
    let (base_id, offset) = descend(layers, id)?;
    let base = layers.get(base_id)?;
    let bytes = |fact: &Fact<u64>| Known {
        value: Bytes::new(fact.value),
        from: fact.from(),
    };
    let filesystem = layers
        .iter()
        .find(|above| above.kind == "filesystem" && above.below.contains(&id));
    let from = layer.placement.as_ref().map_or_else(
        || "it begins where what it lies on begins".to_owned(),
        Fact::from,
    );
    // What the members of an array are, the array's own layer need not say.
    let member = base.below.first().and_then(|below| layers.get(*below));
    let either = |of: &dyn Fn(&Layer) -> Option<Fact<u64>>| {
        let fact = of(base).or_else(|| member.and_then(of));
        fact.filter(Fact::is_known)
    };
    let physical = either(&|layer| layer.grid("physical-sector"));
    let flag = |name: &str| {
        base.flag(name)
            .or_else(|| member.and_then(|m| m.flag(name)))
    };
    let text = |name: &str| {
        let found = base
            .text(name)
            .or_else(|| member.and_then(|m| m.text(name)));
        found.map(|(text, _)| text)
    };
    let container_block = match &base.map {
        Some(Map::Blocks { block }) => Some(Known {
            value: Bytes::new(*block),
            from: format!("block table of {}", base.name),
        }),
        _ => None,
    };
    Some(Place {
        name: layer.name.clone(),
        base: base.name.clone(),
        offset: Known {
            value: Bytes::new(offset),
            from,
        },
        length: layer.size.as_ref().map(bytes),
        filesystem: filesystem.and_then(|f| f.format.clone()),
        allocation_unit: filesystem
            .and_then(|f| f.grid("allocation-unit"))
            .as_ref()
            .map(bytes),
        physical_sector: physical.as_ref().map(bytes),
        stripe_unit: base
            .grid("stripe-unit")
            .filter(Fact::is_known)
            .as_ref()
            .map(bytes),
        rotational: flag("rotational"),
        model: text("model"),
        transport: text("transport"),
        platform: layers
            .iter()
            .find_map(|layer| layer.text("platform"))
            .map(|(platform, _)| platform),
        is_without_room: is_without_room(layers, id),
        container: match base.kind.as_str() {
            "container" => base.size.as_ref().map(|size| Bytes::new(size.value)),
            _ => None,
        },
        is_on_device: base.kind == "device",
        settings: settings(
            base,
            physical.as_ref(),
            either(&|layer| layer.grid("logical-sector")).as_ref(),
            container_block.as_ref(),
            filesystem_below(layers, base_id).as_ref(),
        ),
        container_block,
    })
}

/// The allocation unit of the filesystem that a virtual disk's file lies on.
fn filesystem_below(layers: &[Layer], id: usize) -> Option<Fact<u64>> {
    let mut here = id;
    loop {
        let below = *layers.get(here)?.below.first()?;
        let layer = layers.get(below).filter(|_| below < here)?;
        if layer.kind == "filesystem" {
            return layer.grid("allocation-unit");
        }
        here = below;
    }
}

fn settings(
    base: &Layer,
    physical: Option<&Fact<u64>>,
    logical: Option<&Fact<u64>>,
    block: Option<&Known<Bytes>>,
    unit_below: Option<&Fact<u64>>,
) -> Vec<Setting> {
    let mut out = Vec::new();
    let mut set = |path: &str, value: toml::Value, from: String| {
        out.push(Setting {
            path: path.to_owned(),
            value,
            from,
        });
    };
    // As people write it, and as a profile reads it back.
    let size = |n: u64| {
        #[expect(clippy::cast_precision_loss, reason = "units are far below 2⁵³")]
        let number = n as f64;
        toml::Value::String(value::show(Kind::Bytes(0.0, 1e18), number))
    };
    let whole = |n: u64| i64::try_from(n).ok().map(toml::Value::Integer);
    if let Some((level, from)) = base.text("level") {
        set("array.level", toml::Value::String(level), from);
    }
    if let Some(fact) = base.count("members")
        && let Some(members) = whole(fact.value)
    {
        set("array.members", members, fact.from());
    }
    if let Some(fact) = base.grid("stripe-unit").filter(Fact::is_known) {
        set("array.stripe_unit", size(fact.value), fact.from());
    }
    // A controller's tool says of a device what its cache does; of a disk, it is the disk's own.
    if base.kind == "device"
        && base.text("level").is_some()
        && let Some((policy, from)) = base.text("write-cache")
    {
        let policy = match policy.starts_with("write-back") {
            true => "back",
            false => "through",
        };
        set("cache.write", policy.into(), from);
    }
    if let Some(fact) = physical {
        let logical = logical.map_or(512, |fact| fact.value);
        let format = match (logical, fact.value) {
            (512, 512) => "512n",
            (512, _) => "512e",
            _ => "4Kn",
        };
        set(
            "disk.format",
            toml::Value::String(format.to_owned()),
            fact.from(),
        );
    }
    if let Some((layout, from)) = base.text("layout") {
        // md says how many copies there are together with how they lie: near=2.
        let (layout, copies) = match layout.split_once('=') {
            Some((layout, copies)) => (layout.to_owned(), copies.parse().ok()),
            None => (layout, None),
        };
        set("array.layout", toml::Value::String(layout), from.clone());
        if let Some(copies) = copies.and_then(whole) {
            set("array.copies", copies, from);
        }
    }
    if let Some(block) = block {
        set("blocks.block", size(block.value.get()), block.from.clone());
        if let Some(fact) = base.bytes("block-stride")
            && let Some(gap) = fact.value.checked_sub(block.value.get())
        {
            set("blocks.gap", size(gap), fact.from());
        }
        if let Some(fact) = unit_below {
            set("blocks.allocation_unit", size(fact.value), fact.from());
        }
    }
    if let Some(fact) = base.bytes("data-offset") {
        // Of a virtual disk, it is where the blocks of its file begin.
        let path = match base.kind.as_str() {
            "container" => "blocks.header",
            _ => "array.data_offset",
        };
        set(path, size(fact.value), fact.from());
    }
    out
}

#[cfg(test)]
mod tests;
