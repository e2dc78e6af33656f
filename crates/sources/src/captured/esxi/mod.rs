//! Tools of VMware ESX and ESXi.

mod table;

pub(super) mod device_capacity;
pub(super) mod device_list;
pub(super) mod device_partition;
pub(super) mod parted_util;
pub(super) mod vmfs_extent;
pub(super) mod vmkfstools;

use straddle_stack::LayerKind;
use uuid::Uuid;

use crate::captured::tool::Anchor;
use crate::inventory::{Name, Space, Thing};

/// A device by what ESXi calls it: `naa.600…`, `eui.…`, `t10.…`, `mpx.vmhba0:C0:T0:L0`.
fn device(id: &str) -> Thing {
    let name = Name::new(Space::EsxiDevice, id.to_owned());
    let mut thing = Thing::new(LayerKind::Device, id.to_owned(), name);
    if id.starts_with("naa.") || id.starts_with("eui.") {
        thing = thing.named(Name::new(Space::Wwn, id.to_owned()));
    }
    thing
}

/// How what ESXi calls devices begins.
const PREFIXES: [&str; 6] = ["naa.", "eui.", "t10.", "mpx.", "vml.", "vmhba"];

/// Lines that begin with the name of a device.
const NAMED: [Anchor; PREFIXES.len()] = {
    let [a, b, c, d, e, f] = PREFIXES;
    [
        Anchor::Start(a),
        Anchor::Start(b),
        Anchor::Start(c),
        Anchor::Start(d),
        Anchor::Start(e),
        Anchor::Start(f),
    ]
};

/// True for what ESXi calls devices.
pub(super) fn is_device(id: &str) -> bool {
    PREFIXES.iter().any(|prefix| id.starts_with(prefix)) && !id.contains(' ')
}

/// A partition of it: `naa.600…:1`.
pub(super) fn partition(id: &str, number: u64) -> Thing {
    let device = Name::new(Space::EsxiDevice, id.to_owned());
    let title = format!("{id}:{number}");
    Thing::new(LayerKind::Partition, title, partition_name(id, number)).on(device)
}

/// A partition by its name.
fn partition_in(text: &str) -> Option<Thing> {
    let (id, number) = text.trim().rsplit_once(':')?;
    let number = number.parse().ok()?;
    is_device(id).then(|| partition(id, number))
}

fn partition_name(id: &str, number: u64) -> Name {
    Name::new(Space::EsxiDevice, format!("{id}:{number}"))
}

/// The device in a path: `/vmfs/devices/disks/naa.600…`, `/dev/disks/naa.600…`.
fn device_in(text: &str) -> Option<&str> {
    let id = text.rsplit('/').next()?.trim_matches(['"', '\'', ':', '.']);
    is_device(id).then_some(id)
}

/// A type GUID as other tools write it: ESXi leaves the hyphens out.
fn guid(text: &str) -> Option<String> {
    let text = text.trim();
    match text.len() {
        36 => Some(text.to_ascii_uppercase()),
        32 => Uuid::try_parse(text).ok().map(|id| format!("{id:X}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_in_paths() {
        let path = "/vmfs/devices/disks/naa.600508b1001030394330313737300300";
        assert_eq!(
            device_in(path),
            Some("naa.600508b1001030394330313737300300")
        );
        assert_eq!(
            device_in("\"/dev/disks/mpx.vmhba0:C0:T0:L0\""),
            Some("mpx.vmhba0:C0:T0:L0")
        );
        assert_eq!(device_in("/vmfs/volumes/datastore1"), None);
        let partition = partition_in("mpx.vmhba0:C0:T0:L0:3").expect("a partition");
        assert_eq!(partition.title, "mpx.vmhba0:C0:T0:L0:3");
        let device = Name::new(Space::EsxiDevice, "mpx.vmhba0:C0:T0:L0");
        assert_eq!(partition.on, vec![device]);
        assert!(partition_in("naa.5000c500a1b2c3d4").is_none());
    }

    #[test]
    fn guids_have_hyphens() {
        let vmfs = guid("AA31E02A400F11DB9590000C2911D1B8");
        assert_eq!(
            vmfs.as_deref(),
            Some("AA31E02A-400F-11DB-9590-000C2911D1B8")
        );
        assert_eq!(guid("vmfs"), None);
        assert_eq!(guid("ä1E02A400F11DB9590000C2911D1B8"), None);
    }
}
