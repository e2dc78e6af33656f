use std::collections::{BTreeMap, HashMap};
use straddle_geometry::{Bytes, Extent, Map, SectorSize, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack, Value,
};

use super::Root;
use super::words::device_number;
use crate::contents::MAX_LAYERS;
pub(super) use crate::raid::nowhere;
use crate::{Overrides, SourceError};

/// Deepest chain of block devices on block devices. The kernel stops at a handful; a forged sysfs does not.
const MAX_DEPTH: usize = 24;

/// A block device as sysfs names it.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// Its directory, as written in provenance: `/sys/block/sda/sda1`.
    pub(super) path: String,
    /// The disk that a partition belongs to.
    pub(super) disk: Option<String>,
    /// Length, where sysfs says one.
    pub(super) size: Option<Fact<Bytes>>,
}

/// A host while its stack is being built.
pub(super) struct Host<'a> {
    pub(super) root: &'a Root,
    pub(super) overrides: &'a Overrides,
    pub(super) stack: Stack,
    pub(super) devices: BTreeMap<String, Device>,
    by_number: HashMap<(u32, u32), String>,
    built: HashMap<String, LayerId>,
    building: Vec<String>,
    /// What the queue below each layer claims: a stacked device that repeats a claim adds nothing of its own.
    pub(super) claims: HashMap<LayerId, Vec<(GridRole, Unit)>>,
}

impl<'a> Host<'a> {
    /// Lists the block devices.
    pub(super) fn read(root: &'a Root, overrides: &'a Overrides) -> Result<Host<'a>, SourceError> {
        if !root.has_directory("/sys/block") {
            return Err(SourceError::NotAHost {
                path: root.name().to_owned(),
            });
        }
        let mut host = Host {
            root,
            overrides,
            stack: Stack::new(),
            devices: BTreeMap::new(),
            by_number: HashMap::new(),
            built: HashMap::new(),
            building: Vec::new(),
            claims: HashMap::new(),
        };
        for disk in root.names("/sys/block", |_| true) {
            let path = format!("/sys/block/{disk}");
            // The paths of an NVMe multipath head: hidden, and nothing can be mounted from them.
            if root.text(&format!("{path}/hidden")).as_deref() == Some("1") {
                continue;
            }
            let partitions = root.names(&path, |name| name.starts_with(&disk));
            host.add_device(&disk, path.clone(), None);
            for partition in partitions {
                let path = format!("{path}/{partition}");
                if root.text(&format!("{path}/partition")).is_some() {
                    host.add_device(&partition, path, Some(disk.clone()));
                }
            }
        }
        Ok(host)
    }

    fn add_device(&mut self, name: &str, path: String, disk: Option<String>) {
        if let Some(number) = self
            .root
            .text(&format!("{path}/dev"))
            .and_then(|text| device_number(&text))
        {
            self.by_number.insert(number, name.to_owned());
        }
        let size = self.sectors(&format!("{path}/size"));
        let device = Device { path, disk, size };
        self.devices.insert(name.to_owned(), device);
    }

    /// Builds every device that has a size, then the filesystems on them.
    pub(super) fn build_all(&mut self) {
        let names: Vec<String> = self
            .devices
            .iter()
            .filter(|(_, device)| {
                device
                    .size
                    .as_ref()
                    .is_some_and(|size| size.value > Bytes::ZERO)
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.device(&name);
        }
        self.add_contents();
        self.add_mounts();
    }

    pub(super) fn into_stack(self) -> Stack {
        self.stack
    }

    /// The layer of a device, built with everything below it when it is not there yet. `None` for a device that does
    /// not exist, that rests on itself, or lies too deep.
    pub(super) fn device(&mut self, name: &str) -> Option<LayerId> {
        if let Some(id) = self.built.get(name) {
            return Some(*id);
        }
        let device = self.devices.get(name)?.clone();
        if self.building.iter().any(|other| other == name)
            || self.building.len() >= MAX_DEPTH
            || self.stack.layers().len() >= MAX_LAYERS
        {
            return None;
        }
        self.building.push(name.to_owned());
        let mut layer = self.device_layer(name, &device);
        self.building.pop();
        layer.size.clone_from(&device.size);
        self.add_queue(&device, &mut layer);
        if layer.below.is_empty() {
            self.overrides.apply(&mut layer);
        }
        let id = self.push(layer);
        self.add_claims(id, &device);
        self.built.insert(name.to_owned(), id);
        Some(id)
    }

    /// The layer of a device that is built already.
    pub(super) fn built(&self, name: &str) -> Option<LayerId> {
        self.built.get(name).copied()
    }

    pub(super) fn push(&mut self, layer: Layer) -> LayerId {
        let mut claims: Vec<(GridRole, Unit)> = Vec::new();
        for below in &layer.below {
            for claim in self.claims.get(below).into_iter().flatten() {
                if !claims.contains(claim) {
                    claims.push(*claim);
                }
            }
        }
        let id = self.stack.push(layer);
        self.claims.insert(id, claims);
        id
    }

    /// The name of the device with this number.
    pub(super) fn name_of(&self, number: (u32, u32)) -> Option<&str> {
        self.by_number.get(&number).map(String::as_str)
    }

    /// The name of the device behind a path below `/dev`: its kernel name, or a device-mapper name.
    pub(super) fn name_of_path(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix("/dev/")?;
        // The kernel writes `/` in a device's name as `!` in sysfs.
        let kernel = rest.replace('/', "!");
        if self.devices.contains_key(&kernel) {
            return Some(kernel);
        }
        let mapped = rest.strip_prefix("mapper/")?;
        self.devices
            .iter()
            .find(|(_, device)| {
                self.root
                    .text(&format!("{}/dm/name", device.path))
                    .as_deref()
                    == Some(mapped)
            })
            .map(|(name, _)| name.clone())
    }

    fn device_layer(&mut self, name: &str, device: &Device) -> Layer {
        if let Some(disk) = &device.disk {
            return self.partition(name, device, disk);
        }
        if self.root.has_directory(&format!("{}/md", device.path)) {
            return self.array(name, device);
        }
        if self.root.has_directory(&format!("{}/dm", device.path)) {
            return self.mapped(name, device);
        }
        if self
            .root
            .text(&format!("{}/loop/backing_file", device.path))
            .is_some()
        {
            return self.loop_device(name, device);
        }
        if name.starts_with("bcache") {
            return self.bcache(name, device);
        }
        let mut layer = Layer::new(LayerKind::Device, name);
        self.describe_disk(device, &mut layer);
        let slaves = self.slaves(device);
        if !slaves.is_empty() {
            layer.kind = LayerKind::Volume;
            layer.below = slaves;
            layer.map = nowhere();
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                "how its addresses reach the devices below is not known for this kind of device",
            ));
        }
        layer
    }

    /// The devices that sysfs lists below a stacked one, by name.
    pub(super) fn slaves(&mut self, device: &Device) -> Vec<LayerId> {
        let names = self
            .root
            .names(&format!("{}/slaves", device.path), |_| true);
        let mut below = Vec::new();
        for name in names {
            if let Some(id) = self.device(&name) {
                below.push(id);
            }
        }
        below
    }

    fn partition(&mut self, name: &str, device: &Device, disk: &str) -> Layer {
        let mut layer = Layer::new(LayerKind::Partition, name);
        let path = &device.path;
        if let Some(number) = self.number(&format!("{path}/partition")) {
            layer.set(Key::PartitionNumber, number.map(Value::Count));
        }
        self.add_alignment_offset(device, &mut layer);
        let Some(below) = self.device(disk) else {
            return layer;
        };
        layer.below = vec![below];
        let start = self.sectors(&format!("{path}/start"));
        let size = device.size.as_ref().map_or(Bytes::ZERO, |size| size.value);
        let placement = start.and_then(|start| {
            let extent = Extent::new(start.value, size)?;
            Some(start.map(|_| extent))
        });
        match placement {
            Some(placement) => {
                layer.map = Map::Linear {
                    start: placement.value.start(),
                };
                layer.placement = Some(placement);
            }
            None => {
                layer.map = nowhere();
                layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Missing,
                    format!("{path}/start does not say where it starts"),
                ));
            }
        }
        layer
    }

    /// A whole number in a file of its own.
    pub(super) fn number(&self, path: &str) -> Option<Fact<u64>> {
        let text = self.root.text(path)?;
        let value = text.parse().ok()?;
        Some(Fact::reported(value, path, text))
    }

    /// A number of 512-byte sectors in a file of its own, in bytes. Sysfs counts starts and sizes in these whatever the
    /// device's own sector is.
    pub(super) fn sectors(&self, path: &str) -> Option<Fact<Bytes>> {
        let fact = self.number(path)?;
        let bytes = SectorSize::B512.sectors(fact.value).bytes()?;
        Some(fact.map(|_| bytes))
    }

    /// Text in a file of its own.
    pub(super) fn text(&self, path: &str) -> Option<Fact<String>> {
        let text = self.root.text(path)?;
        Some(Fact::reported(text.clone(), path, text))
    }
}
