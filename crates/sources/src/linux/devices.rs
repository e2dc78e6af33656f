//! What a disk is: transport, model, compression.

use std::borrow::Cow;
use straddle_stack::{Fact, Key, Layer, Value};

use super::host::{Device, Host};

/// Parts of the canonical sysfs path that tell how a device is attached; the first that matches wins, so bridges come
/// before what they translate to.
const TRANSPORTS: [(&str, &str); 12] = [
    ("/usb", "usb"),
    ("/session", "iscsi"),
    ("/rport-", "fc"),
    ("/end_device-", "sas"),
    ("/ata", "sata"),
    ("/nvme", "nvme"),
    ("/virtio", "virtio"),
    ("/mmc", "mmc"),
    ("/vmbus", "hyper-v"),
    ("/VMBUS:", "hyper-v"),
    ("/vbd-", "xen"),
    ("/pseudo_", "scsi_debug"),
];

impl Host<'_> {
    pub(super) fn describe_disk(&self, device: &Device, layer: &mut Layer) {
        let path = &device.path;
        if let Some(place) = self.root.canonical(path) {
            // Only the directories above the device: its own name may hold anything.
            let above = place.rsplit_once('/').map_or("", |(above, _)| above);
            let name = layer.name.as_str();
            let by_place = TRANSPORTS.iter().find(|(part, _)| above.contains(part));
            // Fixtures and containers may lack the path; the name still tells.
            let by_name = name.starts_with("nvme").then_some(&("/nvme", "nvme"));
            if let Some((_, transport)) = by_place.or(by_name) {
                let value = Value::Text(Cow::Borrowed(*transport));
                layer.set(Key::Transport, Fact::reported(value, path.clone(), above));
            }
        }
        let mut add_text = |file: &str, key| {
            if let Some(fact) = self.text(&format!("{path}/{file}")) {
                layer.set(key, fact.map(|text| Value::Text(text.into())));
            }
        };
        add_text("device/model", Key::Model);
        if self.root.serials() {
            for file in ["serial", "device/serial"] {
                add_text(file, Key::Serial);
            }
        }
        if let Some(fact) = self.text(&format!("{path}/comp_algorithm")) {
            // `lzo lzo-rle [lz4] zstd`: the one in brackets is in use.
            let chosen = fact
                .value
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map(|(name, _)| name.to_owned());
            if let Some(name) = chosen {
                layer.set(
                    Key::Compression,
                    fact.map(|_| Value::Text(Cow::Owned(name))),
                );
            }
        }
    }
}
