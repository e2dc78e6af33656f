//! From the devices of a pool to its top-level vdevs, and to the pool's filesystem on each.

use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Bytes, Extent, Grid, Map, Raid, RaidLayout, Striping, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};

use super::config::{CACHE, Config, DESTROYED, SPARE, Vdev};
use super::label::{self, Label};
use super::{DATA_START, labels};
use crate::Window;
use crate::volume::{Assembly, Below, Holds, Node, Part};

/// Most layers of one pool.
const MAX_NODES: usize = 4096;
/// Most devices of one group: ZFS allows 255 in a vdev.
const MAX_CHILDREN: usize = 1024;

/// What a device says of its top-level vdev.
struct Told<'a> {
    window: Window<'a>,
    label: Label,
    config: Config,
}

impl Told<'_> {
    /// `value`, read from these bytes of the label.
    fn fact<T>(&self, value: T, (at, len): (u64, usize)) -> Fact<T> {
        self.window.fact(value, at, len)
    }
}

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut told: BTreeMap<u64, Told<'_>> = BTreeMap::new();
    let mut by_guid: BTreeMap<u64, usize> = BTreeMap::new();
    for (part, given) in parts.iter().enumerate() {
        let Some(label) = newest(&given.window)? else {
            continue;
        };
        let config = Config::of(&label);
        if let Some(guid) = &config.guid {
            by_guid.entry(guid.value).or_insert(part);
        }
        let state = config.state.as_ref().map(|state| state.value);
        let (Some(top), false) = (config.top(), matches!(state, Some(SPARE | CACHE))) else {
            continue;
        };
        let id = top.id;
        let this = Told {
            window: given.window,
            label,
            config,
        };
        // Of devices that describe one vdev differently, the last that was written is right.
        let known = told.get(&id).map(|told| told.label.txg());
        if known.is_none_or(|known| known < this.label.txg()) {
            told.insert(id, this);
        }
    }
    let tops = told.values().filter_map(|told| told.config.top());
    let data = tops.filter(|top| !top.is_log).count();
    let mut pool = Pool {
        by_guid,
        is_single: data == 1 && told.len() == data && one_top(&told),
        named: BTreeSet::new(),
        full: false,
        assembly: Assembly::default(),
    };
    for told in told.values() {
        pool.top(told)?;
    }
    pool.say_missing_tops(&told);
    Ok(pool.assembly)
}

fn newest(window: &Window<'_>) -> Result<Option<Label>, ReadError> {
    let Some(labels) = labels(window)? else {
        return Ok(None);
    };
    let newest = labels.newest().map(|label| label.number);
    let mut sound = labels.sound.into_iter();
    Ok(sound.find(|label| Some(label.number) == newest))
}

/// True when the pool is known to have one top-level vdev.
fn one_top(told: &BTreeMap<u64, Told<'_>>) -> bool {
    told.values()
        .all(|told| told.config.present_tops().is_none_or(|tops| tops == 1))
}

/// A pool that is being put together.
struct Pool {
    /// Which part has this vdev.
    by_guid: BTreeMap<u64, usize>,
    /// It has one top-level vdev, so that its name is enough for the filesystem.
    is_single: bool,
    /// Names of devices that are missing, each used once.
    named: BTreeSet<String>,
    /// A limit was reached.
    full: bool,
    assembly: Assembly,
}

impl Pool {
    /// The layers of a top-level vdev.
    fn top(&mut self, told: &Told<'_>) -> Result<(), ReadError> {
        let config = &told.config;
        let Some(top) = config.top() else {
            return Ok(());
        };
        let name = config.name.as_ref().map_or("pool", |name| &name.value);
        let full_name = format!("{name}/{}", top.name());
        // Those below a vdev come after it in the list, so from the back everything a group rests on is there before it.
        let mut made: BTreeMap<usize, Below> = BTreeMap::new();
        for (index, vdev) in config.vdevs.iter().enumerate().rev() {
            let below = if vdev.is_leaf() {
                self.leaf(vdev)
            } else {
                let called = match index {
                    0 => full_name.clone(),
                    _ => format!("{full_name}/{}", vdev.name()),
                };
                match self.group(told, index, vdev, &made, called) {
                    Some(node) => Below::Node(node),
                    None => return Ok(()),
                }
            };
            made.insert(index, below);
        }
        let Some(below) = made.remove(&0) else {
            return Ok(());
        };
        let layer = self.filesystem(told, top, name, &full_name)?;
        self.push(layer, vec![below]);
        Ok(())
    }

    /// A device, given or missing.
    fn leaf(&mut self, vdev: &Vdev) -> Below {
        if let Some(part) = self.by_guid.get(&vdev.guid) {
            return Below::Part(*part);
        }
        // A path may by now be that of another disk; a GUID is always its own.
        let path = vdev.path.clone().filter(|path| !path.is_empty());
        let name = path
            .filter(|path| self.named.insert(path.clone()))
            .unwrap_or_else(|| format!("{} {}", vdev.kind, vdev.guid));
        Below::Missing(name)
    }

    /// A vdev over others: its map is that of its addresses, in which parity and padding have places too.
    fn group(
        &mut self,
        told: &Told<'_>,
        index: usize,
        vdev: &Vdev,
        made: &BTreeMap<usize, Below>,
        name: String,
    ) -> Option<usize> {
        let mut layer = Layer::new(LayerKind::Array, name);
        let level = vdev.level();
        layer.format = Some(level.clone().into());
        layer.set(
            Key::Level,
            told.fact(Value::Text(level.into()), vdev.kind_at),
        );
        let count = u64::try_from(vdev.children.len()).unwrap_or(u64::MAX);
        layer.set(Key::Members, told.fact(Value::Count(count), vdev.kind_at));
        if vdev.children.len() > MAX_CHILDREN {
            let detail = format!("{count} devices in one group; at most {MAX_CHILDREN} are read");
            layer
                .anomalies
                .push(Anomaly::new(AnomalyKind::LimitReached, detail));
        }
        let children = vdev.children.iter().take(MAX_CHILDREN);
        let below: Vec<Below> = children
            .clone()
            .filter_map(|child| made.get(child).cloned())
            .collect();
        // Labels stand before the data of devices, not before those of groups.
        let starts: Vec<Bytes> = children
            .map(|child| match told.config.vdevs.get(*child) {
                Some(child) if child.is_leaf() => Bytes::new(DATA_START),
                _ => Bytes::ZERO,
            })
            .collect();
        let sector = told.config.sector();
        let unit = sector.and_then(|(bytes, at)| Some((Unit::new(bytes)?, at)));
        let nowhere = Map::Segments(Vec::new());
        layer.map = match vdev.kind.as_str() {
            "raidz" if vdev.is_expanding => {
                let detail = "it is being given another device: what was moved already and what was not lie differently";
                layer
                    .anomalies
                    .push(Anomaly::new(AnomalyKind::Pending, detail));
                nowhere
            }
            "raidz" => match unit {
                Some((unit, at)) => {
                    layer.add_grid(GridRole::StripeUnit, told.fact(Grid::new(unit), at));
                    Map::Striped(Striping { unit, starts })
                }
                None => nowhere,
            },
            "mirror" | "replacing" | "spare" => Map::Raid(Raid {
                layout: RaidLayout::Mirror,
                unit: unit.map_or(Unit::B4096, |(unit, _)| unit),
                starts,
            }),
            _ => nowhere,
        };
        if let Some(data) = vdev.parity.and_then(|parity| count.checked_sub(parity))
            && vdev.kind == "raidz"
        {
            let parity = vdev.parity.unwrap_or(0);
            let from = format!("{count} − {parity} parity of {count} members");
            layer.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
        }
        if index == 0
            && let Some(asize) = &vdev.asize
        {
            layer.size = Some(told.fact(Bytes::new(asize.value), asize.at));
        }
        self.push(layer, below)
    }

    /// The pool's filesystem on a top-level vdev; what a log has is no filesystem, but it is dealt out alike.
    fn filesystem(
        &self,
        told: &Told<'_>,
        top: &Vdev,
        pool: &str,
        full_name: &str,
    ) -> Result<Layer, ReadError> {
        let config = &told.config;
        let mut layer = if top.is_log {
            Layer::new(LayerKind::Volume, format!("{full_name} (log)"))
        } else if self.is_single {
            Layer::new(LayerKind::Filesystem, pool)
        } else {
            Layer::new(LayerKind::Filesystem, full_name)
        };
        layer.format = Some(if top.is_log { "zfs-log" } else { "zfs" }.into());
        let start = Bytes::new(if top.is_leaf() { DATA_START } else { 0 });
        layer.map = Map::Linear { start };
        if let Some(asize) = &top.asize {
            let size = Bytes::new(asize.value);
            layer.placement = Extent::new(start, size).map(|extent| {
                if top.is_leaf() {
                    let from = "two labels and a boot region of ZFS, 4 MiB, stand before the data";
                    Fact::derived(extent, from)
                } else {
                    told.fact(extent, asize.at)
                }
            });
            layer.size = Some(told.fact(Bytes::new(asize.value), asize.at));
        }
        if let Some(name) = &config.name {
            layer.set(
                Key::Pool,
                told.fact(Value::Text(name.value.clone().into()), name.at),
            );
        }
        if let Some(guid) = &config.pool {
            let text = Value::Text(guid.value.to_string().into());
            layer.set(Key::PoolGuid, told.fact(text, guid.at));
        }
        if let Some(version) = &config.version {
            layer.set(
                Key::Version,
                told.fact(Value::Count(version.value), version.at),
            );
        }
        if let Some((state, at)) = config.state_name() {
            layer.set(Key::State, told.fact(Value::Text(state.into()), at));
        }
        if !config.features.is_empty() {
            let names = Value::Text(config.features.join(", ").into());
            layer.set(Key::Features, told.fact(names, config.features_at));
        }
        if let Some(shift) = &top.metaslab_shift
            && let Some(size) = u32::try_from(shift.value)
                .ok()
                .and_then(|shift| 1_u64.checked_shl(shift))
        {
            layer.set(
                Key::MetaslabSize,
                told.fact(Value::Bytes(Bytes::new(size)), shift.at),
            );
        }
        match (config.sector(), &top.ashift) {
            (Some((bytes, at)), Some(ashift)) => {
                if let Some(unit) = Unit::new(bytes) {
                    layer.add_grid(GridRole::AllocationUnit, told.fact(Grid::new(unit), at));
                }
                let shift = u32::try_from(ashift.value).unwrap_or(0);
                match label::newest_uberblock(&told.window, &told.label, shift)? {
                    Some(newest) => layer.set(
                        Key::Txg,
                        told.fact(Value::Count(newest.txg), (newest.txg_at, 8)),
                    ),
                    None => layer.anomalies.push(Anomaly::new(
                        AnomalyKind::Damaged,
                        format!(
                            "no uberblock with a right checksum in label {}: the pool cannot be opened by it",
                            told.label.number
                        ),
                    )),
                }
            }
            (None, Some(ashift)) => {
                let (at, len) = ashift.at;
                layer.anomalies.push(Anomaly::at(
                    AnomalyKind::Damaged,
                    format!("ashift {}; expected 9 to 30", ashift.value),
                    told.window.source(at, len),
                ));
            }
            _ => {}
        }
        if config
            .state
            .as_ref()
            .is_some_and(|state| state.value == DESTROYED)
        {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Pending,
                "the pool was destroyed: its labels are left over until something is written over them (`zpool import -D` \
                 would bring it back, `zpool labelclear` removes them)",
            ));
        }
        Ok(layer)
    }

    /// Which top-level vdevs no label here describes.
    fn say_missing_tops(&mut self, told: &BTreeMap<u64, Told<'_>>) {
        let Some(any) = told.values().max_by_key(|told| told.label.txg()) else {
            return;
        };
        let Some(tops) = &any.config.tops else {
            return;
        };
        let most = u64::try_from(MAX_NODES).unwrap_or(u64::MAX);
        let missing: Vec<String> = (0..tops.value.min(most))
            .filter(|id| !told.contains_key(id) && !any.config.holes.contains(id))
            .take(16)
            .map(|id| id.to_string())
            .collect();
        if missing.is_empty() {
            return;
        }
        let detail = format!(
            "of the pool's {} top-level vdevs number {} has no device here, or was removed; only the devices of a vdev know it",
            tops.value,
            missing.join(", ")
        );
        let (at, len) = tops.at;
        let source = any.window.source(at, len);
        // On the layer of the vdev whose label says so.
        let last = self.assembly.nodes.iter_mut().rev();
        let mut filesystems = last.filter(|node| node.layer.kind != LayerKind::Array);
        if let Some(node) = filesystems.next() {
            let anomaly = Anomaly::at(AnomalyKind::Missing, detail, source);
            node.layer.anomalies.push(anomaly);
        }
    }

    fn push(&mut self, layer: Layer, below: Vec<Below>) -> Option<usize> {
        let nodes = &mut self.assembly.nodes;
        if nodes.len() >= MAX_NODES {
            if !self.full
                && let Some(node) = nodes.last_mut()
            {
                self.full = true;
                node.layer.anomalies.push(Anomaly::new(
                    AnomalyKind::LimitReached,
                    format!("more than {MAX_NODES} vdevs; the rest is not looked at"),
                ));
            }
            return None;
        }
        nodes.push(Node {
            layer,
            below,
            holds: Holds::Nothing,
        });
        Some(nodes.len() - 1)
    }
}
