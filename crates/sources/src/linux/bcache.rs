use straddle_geometry::{Bytes, Map};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerKind, Value};

use super::host::{Device, Host, nowhere};

impl Host<'_> {
    /// A bcache device: its addresses are those of the backing device, shifted by the superblock that lies before the
    /// data. Sysfs does not say how far; the difference in size does.
    pub(super) fn bcache(&mut self, name: &str, device: &Device) -> Layer {
        let mut layer = Layer::new(LayerKind::Volume, name);
        layer.format = Some("bcache".into());
        // The kernel lists the backing device and, once attached, the cache; only the former has no `bucket_size`.
        let slaves = self
            .root
            .names(&format!("{}/slaves", device.path), |_| true);
        let mut backing = None;
        let mut caches = Vec::new();
        for slave in slaves {
            let Some(lower) = self.devices.get(&slave).cloned() else {
                continue;
            };
            let Some(id) = self.device(&slave) else {
                continue;
            };
            let bucket = format!("{}/bcache/bucket_size", lower.path);
            match self.text(&bucket) {
                Some(fact) => {
                    caches.push(id);
                    if let Some(bytes) = human_size(&fact.value) {
                        layer.set(Key::BucketSize, fact.map(|_| Value::Bytes(bytes)));
                    }
                    let block = format!("{}/bcache/block_size", lower.path);
                    if let Some(fact) = self.text(&block)
                        && let Some(bytes) = human_size(&fact.value)
                    {
                        layer.set(Key::BlockSize, fact.map(|_| Value::Bytes(bytes)));
                    }
                }
                None => backing = backing.or(Some((id, slave, lower.size))),
            }
        }
        let Some((below, lower_name, lower_size)) = backing else {
            layer.below = caches;
            layer.map = nowhere();
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                "its backing device is not listed below it",
            ));
            return layer;
        };
        layer.below = vec![below];
        layer.below.extend(caches);
        let sizes = lower_size.zip(device.size.clone());
        let offset = sizes.and_then(|(lower, own)| {
            let offset = lower.value.checked_sub(own.value)?;
            let from = format!(
                "size of {lower_name} {} − size of {name} {}",
                lower.value.grouped(),
                own.value.grouped()
            );
            Some(Fact::derived(offset, from))
        });
        layer.map = match offset {
            Some(offset) => {
                let start = offset.value;
                layer.set(Key::DataOffset, offset.map(Value::Bytes));
                Map::Linear { start }
            }
            None => nowhere(),
        };
        layer
    }
}

/// A number as bcache prints it: `512.0k`, `4.0k`, `512`.
fn human_size(text: &str) -> Option<Bytes> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_bcache_prints_them() {
        assert_eq!(human_size("512.0k"), Some(Bytes::kib(512)));
        assert_eq!(human_size("0.5k"), Some(Bytes::new(512)));
        assert_eq!(human_size("4.0k"), Some(Bytes::kib(4)));
        assert_eq!(human_size("big"), None);
    }
}
