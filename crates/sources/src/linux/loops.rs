use std::borrow::Cow;
use straddle_geometry::{Bytes, Map};
use straddle_stack::{Key, Layer, LayerKind, Value};

use super::host::{Device, Host};

impl Host<'_> {
    /// A loop device, followed into the file, or the device, behind it.
    pub(super) fn loop_device(&mut self, name: &str, device: &Device) -> Layer {
        let path = &device.path;
        let mut layer = Layer::new(LayerKind::Device, name);
        layer.format = Some("loop".into());
        let Some(backing) = self.text(&format!("{path}/loop/backing_file")) else {
            return layer;
        };
        let file = backing.value.clone();
        layer.set(Key::Path, backing.map(|text| Value::Text(Cow::Owned(text))));
        if let Some(dio) = self.number(&format!("{path}/loop/dio")) {
            layer.set(Key::DirectIo, dio.map(|n| Value::Flag(n != 0)));
        }
        let offset = self.number(&format!("{path}/loop/offset"));
        let start = offset
            .as_ref()
            .map_or(Bytes::ZERO, |fact| Bytes::new(fact.value));
        if let Some(offset) = offset {
            layer.set(Key::DataOffset, offset.map(|n| Value::Bytes(Bytes::new(n))));
        }
        // `losetup /dev/loop0 /dev/md0`: the kernel tells both kinds by their path only.
        let device = self.name_of_path(&file);
        let device = device.and_then(|name| self.device(&name));
        layer.below = vec![device.unwrap_or_else(|| self.file_layer(&file))];
        layer.map = Map::Linear { start };
        layer
    }
}
