//! Mounted filesystems: where they are mounted, their blocks, and the stripe they believe in.

use std::borrow::Cow;
use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Value};

use super::answer::Question;
use super::files::unit_grid;
use super::host::{Host, nowhere};
use super::mounts::{self, Mount};
use super::swaps::swaps;
use super::words::word;

pub(super) const MOUNTINFO: &str = "/proc/self/mountinfo";
const SWAPS: &str = "/proc/swaps";

/// A filesystem that holds a file.
pub(super) struct Holder {
    pub(super) layer: LayerId,
    pub(super) format: String,
    /// FIEMAP's addresses are those of the one device below. On btrfs and its like they are addresses of a pool.
    pub(super) addresses_are_physical: bool,
}

impl Host<'_> {
    /// Adds every mounted filesystem and every swap device whose block device is known.
    pub(super) fn add_mounts(&mut self) {
        for mount in self.mounts() {
            self.mounted(&mount);
        }
        let text = self.root.text(SWAPS).unwrap_or_default();
        for (line, path) in swaps(&text) {
            let Some(below) = self.name_of_path(path).and_then(|name| self.device(&name)) else {
                continue;
            };
            if self.filesystem_on(below).is_none() {
                let mut layer = Layer::new(LayerKind::Filesystem, "swap");
                layer.format = Some("swap".into());
                layer.below = vec![below];
                let size = self.stack.layer(below).size.clone();
                layer.size = size;
                layer.set(
                    Key::MountPoint,
                    Fact::reported(Value::Text("swap".into()), SWAPS, line),
                );
                self.push(layer);
            }
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        let text = self.root.text(MOUNTINFO).unwrap_or_default();
        mounts::parse(&text)
            .into_iter()
            .filter(Mount::on_disk)
            .collect()
    }

    /// The layer of the filesystem that `path` lies on, `device` being what `stat` says of the file.
    pub(super) fn filesystem_of(&mut self, device: (u32, u32), path: &str) -> Option<Holder> {
        let holds = |mount: &Mount| {
            let inside = path
                .strip_prefix(mount.point.as_str())
                .is_some_and(|rest| mount.point == "/" || rest.is_empty() || rest.starts_with('/'));
            (inside, mount.point.len())
        };
        let mounts = self.mounts();
        // btrfs gives every subvolume a device number of its own: there the longest mount point decides.
        let by_number = mounts.iter().filter(|mount| mount.device == device);
        let mount = by_number.max_by_key(|mount| holds(mount)).or_else(|| {
            let holding = mounts
                .iter()
                .filter(|mount| device.0 == 0 && mount.device.0 == 0 && holds(mount).0);
            holding.max_by_key(|mount| mount.point.len())
        });
        match mount {
            Some(mount) => {
                let layer = self.mounted(mount)?;
                Some(Holder {
                    layer,
                    format: mount.format.clone(),
                    addresses_are_physical: mount.device.0 != 0,
                })
            }
            // Mounted where this process cannot see it (another mount namespace).
            None => {
                let name = self.name_of(device)?.to_owned();
                let below = self.device(&name)?;
                let layer = match self.filesystem_on(below) {
                    Some(layer) => layer,
                    None => {
                        let mut layer = Layer::new(LayerKind::Filesystem, "filesystem");
                        layer.below = vec![below];
                        layer.size = self.stack.layer(below).size.clone();
                        self.push(layer)
                    }
                };
                Some(Holder {
                    layer,
                    format: self.stack.layer(layer).name.clone(),
                    addresses_are_physical: true,
                })
            }
        }
    }

    /// What kind of filesystem `path` lies on, whether it is on a disk or not.
    pub(super) fn format_of(&self, path: &str) -> Option<String> {
        let text = self.root.text(MOUNTINFO).unwrap_or_default();
        let holds = |mount: &Mount| {
            let rest = path.strip_prefix(mount.point.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mounts = mounts::parse(&text).into_iter().filter(holds);
        // Of two on the same point, the later one hides the other.
        let mount = mounts.max_by_key(|mount| mount.point.len())?;
        Some(mount.format)
    }

    fn filesystem_on(&self, below: LayerId) -> Option<LayerId> {
        self.stack
            .above(below)
            .find(|id| self.stack.layer(*id).kind == LayerKind::Filesystem)
    }

    /// The layer of a mounted filesystem, with what the mount says about it.
    fn mounted(&mut self, mount: &Mount) -> Option<LayerId> {
        let name = match self.name_of(mount.device) {
            Some(name) => name.to_owned(),
            None => self.name_of_path(&mount.source)?,
        };
        let below = self.device(&name)?;
        let id = match self.filesystem_on(below) {
            Some(id) => id,
            None => {
                let format = mount.format.clone();
                let mut layer = Layer::new(LayerKind::Filesystem, format.clone());
                layer.format = Some(Cow::Owned(format));
                layer.below = vec![below];
                layer.size = self.stack.layer(below).size.clone();
                self.push(layer)
            }
        };
        let point = Value::Text(Cow::Owned(mount.point.clone()));
        let known =
            self.stack.layer(id).attributes.iter().any(|attribute| {
                attribute.key == Key::MountPoint && attribute.value.value == point
            });
        if known {
            return Some(id);
        }
        let first = self.stack.layer(id).attribute(Key::MountPoint).is_none();
        let said = |value| Fact::reported(value, MOUNTINFO, mount.line.clone());
        self.stack.layer_mut(id).set(Key::MountPoint, said(point));
        if !first {
            return Some(id);
        }
        let question = Question::Statfs(mount.point.clone());
        let answer = self.root.answer(&question).ok();
        let block = answer.as_ref().and_then(|text| {
            let size = word(text, "frsize")?.parse().ok().map(Bytes::new)?;
            Some(Fact::answered(size, question.call(), text.clone()))
        });
        let pool = mount.device.0 == 0;
        let layer = self.stack.layer_mut(id);
        if layer.grid(GridRole::AllocationUnit).is_none()
            && let Some(grid) = block.clone().and_then(unit_grid)
        {
            layer.add_grid(GridRole::AllocationUnit, grid);
        }
        for (key, bytes) in stripes(mount, block.map(|fact| fact.value)) {
            if layer.attribute(key).is_none() {
                layer.set(key, said(Value::Bytes(bytes)));
            }
        }
        if pool {
            // Its addresses are those of a pool, in chunks that may lie anywhere.
            layer.map = nowhere();
            self.add_pool(id, mount, &name);
        }
        Some(id)
    }

    /// btrfs over several devices: the others, and its sector and node sizes.
    fn add_pool(&mut self, id: LayerId, mount: &Mount, name: &str) {
        if mount.format != "btrfs" {
            return;
        }
        let top = "/sys/fs/btrfs";
        for pool in self.root.names(top, |pool| pool.len() == 36) {
            let path = format!("{top}/{pool}");
            let names = self.root.names(&format!("{path}/devices"), |_| true);
            if !names.iter().any(|other| other == name) {
                continue;
            }
            // Only devices that were built before can be put below a layer that exists already.
            let mut below = Vec::new();
            for other in &names {
                if let Some(lower) = self.built(other).filter(|lower| *lower < id) {
                    below.push(lower);
                }
            }
            let count = u64::try_from(names.len()).unwrap_or(u64::MAX);
            let from = format!("{path}/devices");
            let layer = self.stack.layer_mut(id);
            layer.below = below;
            if layer.attribute(Key::DeviceCount).is_none() {
                let names = names.join(" ");
                layer.set(
                    Key::DeviceCount,
                    Fact::reported(Value::Count(count), from, names),
                );
            }
            for (file, key) in [("sectorsize", Key::SectorSize), ("nodesize", Key::NodeSize)] {
                if let Some(fact) = self.number(&format!("{path}/{file}"))
                    && self.stack.layer(id).attribute(key).is_none()
                {
                    let value = fact.map(|n| Value::Bytes(Bytes::new(n)));
                    self.stack.layer_mut(id).set(key, value);
                }
            }
            return;
        }
    }
}

/// The stripe unit and full stripe that the mount options name.
fn stripes(mount: &Mount, block: Option<Bytes>) -> Vec<(Key, Bytes)> {
    let number = |key| mount.option(key)?.parse::<u64>().ok();
    let mut found = Vec::new();
    let mut add = |key, count: Option<u64>, unit: Option<Bytes>| {
        if let Some(bytes) = count.and_then(|n| unit?.checked_mul(n)) {
            found.push((key, bytes));
        }
    };
    match mount.format.as_str() {
        "xfs" => {
            let sector = Some(SectorSize::B512.unit().bytes());
            add(Key::FsStripeUnit, number("sunit"), sector);
            add(Key::FsFullStripe, number("swidth"), sector);
        }
        "ext4" => add(Key::FsFullStripe, number("stripe"), block),
        _ => {}
    }
    found
}
