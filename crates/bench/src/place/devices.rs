//! The block devices that requests pass on their way down, by the names under which the kernel counts them.

use straddle_geometry::Map;
use straddle_stack::{Key, Layer, LayerId, LayerKind, Stack, Value};

/// Block devices below a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// All of them, highest first, members of arrays included, each once: names as in `/proc/diskstats`.
    pub all: Vec<String>,
    /// Those that every byte of every request passes exactly once: down to the first array, mirror or stripe set. Their
    /// counters can be compared with what was issued.
    pub path: Vec<String>,
    /// Those that rest on nothing: the disks, LUNs and virtual disks themselves.
    pub disks: Vec<String>,
    /// Loop devices below whose file lies in the page cache: what goes past the cache above them goes through it there.
    pub cached: Vec<String>,
}

impl Devices {
    /// Those below `layer`, itself included when it is one.
    #[must_use]
    pub fn below(stack: &Stack, layer: LayerId) -> Devices {
        let mut out = Devices::default();
        let mut layers = stack.foundations(layer);
        layers.insert(0, layer);
        for id in layers {
            let Some(name) = kernel_name(stack, id) else {
                continue;
            };
            if has_cache(stack.layer(id)) && !out.cached.contains(&name) {
                out.cached.push(name.clone());
            }
            if stack.layer(id).below.is_empty() && !out.disks.contains(&name) {
                out.disks.push(name.clone());
            }
            if !out.all.contains(&name) {
                out.all.push(name);
            }
        }
        let mut here = Some(layer);
        while let Some(id) = here {
            out.path.extend(kernel_name(stack, id));
            here = stack.only_below(id).filter(|_| passes_on(stack.layer(id)));
        }
        out
    }
}

/// Whether every byte that reaches `layer` goes on to the one below once. Not through an array, even with one member left:
/// what it does below is its own business; not through a loop device with a page cache of its own; and not where the way
/// down is not known.
fn passes_on(layer: &Layer) -> bool {
    let caches = has_cache(layer);
    let unknown = matches!(&layer.map, Map::Segments(pieces) if pieces.is_empty());
    layer.kind != LayerKind::Array && !caches && !unknown
}

/// A loop device that reads and writes its file through the page cache.
fn has_cache(layer: &Layer) -> bool {
    let direct = layer.attribute(Key::DirectIo);
    layer.format.as_deref() == Some("loop")
        && direct.is_none_or(|direct| direct.value != Value::Flag(true))
}

/// All block devices below `layer`, itself included when it is one; see [`Devices::all`].
#[must_use]
pub fn devices_below(stack: &Stack, layer: LayerId) -> Vec<String> {
    Devices::below(stack, layer).all
}

/// The name of a layer in `/proc/diskstats`, or that of a disk of Windows; `None` for what is no block device of this host. Sysfs writes `!` where the
/// kernel's name has `/`.
fn kernel_name(stack: &Stack, id: LayerId) -> Option<String> {
    let layer = stack.layer(id);
    // What is `disk 0` there is `\\.\PhysicalDrive0`, and counted by that name.
    if cfg!(windows) {
        let number: u32 = layer.name.strip_prefix("disk ")?.parse().ok()?;
        return (layer.kind == LayerKind::Device).then(|| format!("PhysicalDrive{number}"));
    }
    let is_device = matches!(
        layer.kind,
        LayerKind::Device
            | LayerKind::Array
            | LayerKind::Volume
            | LayerKind::Encryption
            | LayerKind::Partition
    );
    let is_name = !layer.name.is_empty() && !layer.name.contains([' ', '/']);
    (is_device && is_name).then(|| layer.name.replace('!', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_stack::Fact;

    #[test]
    fn a_loop_device_has_a_page_cache_below_it_unless_it_goes_past_that() {
        let looped = |direct: Option<bool>| {
            let mut stack = Stack::new();
            let mut layer = Layer::new(LayerKind::Device, "loop0");
            layer.format = Some("loop".into());
            if let Some(direct) = direct {
                let fact = Fact::derived(Value::Flag(direct), "queue/dio");
                layer.set(Key::DirectIo, fact);
            }
            let id = stack.push(layer);
            Devices::below(&stack, id).cached
        };
        assert_eq!(looped(None), ["loop0"]);
        assert_eq!(looped(Some(false)), ["loop0"]);
        assert!(looped(Some(true)).is_empty());
    }

    #[test]
    fn members_are_listed_but_only_what_lies_above_them_sees_each_byte_once() {
        let mut stack = Stack::new();
        let mut push = |kind, name: &str, below: &[LayerId]| {
            let mut layer = Layer::new(kind, name);
            layer.below = below.to_vec();
            stack.push(layer)
        };
        let a = push(LayerKind::Device, "cciss!c0d0", &[]);
        let b = push(LayerKind::Device, "sdb", &[]);
        let part = push(LayerKind::Partition, "cciss!c0d0p1", &[a]);
        let array = push(LayerKind::Array, "md0", &[part, b]);
        let crypt = push(LayerKind::Encryption, "dm-0", &[array]);
        let guest = push(LayerKind::Partition, "partition 1", &[crypt]);
        let filesystem = push(LayerKind::Filesystem, "ext4", &[guest]);
        let file = push(LayerKind::File, "/data/file", &[filesystem]);
        let devices = Devices::below(&stack, file);
        assert_eq!(
            devices.all,
            ["dm-0", "md0", "cciss/c0d0p1", "sdb", "cciss/c0d0"]
        );
        assert_eq!(devices.path, ["dm-0", "md0"]);
        assert_eq!(devices.disks, ["sdb", "cciss/c0d0"]);
        assert_eq!(devices_below(&stack, a), ["cciss/c0d0"]);
    }
}
