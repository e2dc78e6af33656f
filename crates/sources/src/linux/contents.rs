//! What lies on the devices of the live host: their partition tables and superblocks, read through the probers.

use std::io::ErrorKind;
use std::path::Path;
use straddle_io::{OpenError, Target};
use straddle_stack::{Anomaly, AnomalyKind, Layer, LayerId, Stack};

use super::answer::Question;
use super::host::Host;
use super::root::NoDevice;
use crate::contents::{Known, assemble, inspect, look_into_file};
use crate::guest::Ground;
use crate::pages::remembered;
use crate::{Settings, SourceError};

/// `EACCES` and `EPERM` of Linux.
const ACCESS_DENIED: i32 = 13;
const NOT_PERMITTED: i32 = 1;

impl Ground for Host<'_> {
    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn file(&mut self, target: &Target) -> Result<LayerId, String> {
        // The mount table knows real paths only.
        let path = target.real_path().ok_or("its real path is not known")?;
        let name = path.to_str().ok_or("its name is not valid UTF-8")?;
        let id = self.file_layer(name);
        if self.stack.layer(id).below.is_empty() {
            crate::sectors::assume_sectors(&mut self.stack, id);
            self.overrides.apply(self.stack.layer_mut(id));
        }
        Ok(id)
    }
}

impl Known for Host<'_> {
    fn push(&mut self, layer: Layer) -> LayerId {
        Host::push(self, layer)
    }
}

impl Host<'_> {
    /// Reads what lies on every device of the live host that may be opened.
    ///
    /// A captured host has that only where it was asked for: else filesystems are known by their mounts alone.
    pub(super) fn add_contents(&mut self) {
        if !self.root.has_devices() {
            return;
        }
        // Only devices whose contents are not seen through a partition's disk.
        let names: Vec<(String, LayerId)> = self
            .devices
            .iter()
            .filter(|(_, device)| device.disk.is_none())
            .filter_map(|(name, _)| Some((name.clone(), self.built(name)?)))
            .collect();
        let mut left = Vec::new();
        for (name, id) in names {
            let path = format!("/dev/{}", name.replace('!', "/"));
            match self.root.device(&name, Path::new(&path)) {
                Ok(Some(device)) => left.extend(inspect(self, id, device)),
                Ok(None) => {}
                Err(NoDevice::Os(error)) => not_opened(self.stack.layer_mut(id), &error),
                Err(NoDevice::Damaged(why)) => {
                    let damaged = Anomaly::new(AnomalyKind::Unreadable, why);
                    self.stack.layer_mut(id).anomalies.push(damaged);
                }
            }
        }
        assemble(self, left);
    }

    /// Puts what is in a file on top of its layer: read on the live host, remembered in a captured one.
    ///
    /// # Errors
    /// [`SourceError::GuestFile`] when one of [`Settings::guest_files`] is not found.
    pub(super) fn add_file_contents(
        &mut self,
        id: LayerId,
        path: &str,
        settings: &Settings,
    ) -> Result<(), SourceError> {
        let pages = Question::Pages(path.to_owned());
        if !self.root.is_live() {
            self.add_remembered_pages(id, &pages);
            return Ok(());
        }
        if self.root.is_recording() {
            // Asked for the sake of whoever reads the capture; here the file itself is read.
            let _ = self.root.answer(&pages);
        }
        match Target::open(Path::new(path)) {
            Ok(target) => look_into_file(self, id, target, settings),
            Err(error) => {
                not_opened(self.stack.layer_mut(id), &error);
                Ok(())
            }
        }
    }

    fn add_remembered_pages(&mut self, id: LayerId, question: &Question) {
        let Ok(text) = self.root.answer(question) else {
            return;
        };
        if let Some(layer) = remembered(&self.stack, id, question.call(), &text) {
            self.push(layer);
        }
    }
}

fn not_opened(layer: &mut Layer, error: &OpenError) {
    let OpenError::Os { source, .. } = error else {
        layer
            .anomalies
            .push(Anomaly::new(AnomalyKind::Unreadable, error.to_string()));
        return;
    };
    layer.anomalies.push(match source.raw_os_error() {
        Some(ACCESS_DENIED) => Anomaly::new(
            AnomalyKind::Missing,
            "its contents (partition table, superblocks) may not be read by this user; run as root to check them",
        ),
        // What a container's device rules say, to root too.
        Some(NOT_PERMITTED) => Anomaly::new(
            AnomalyKind::Missing,
            "its contents (partition table, superblocks) may not be read in this container or sandbox; run outside it to check them",
        ),
        // A container's /dev shows few of the host's devices; an unplugged one is gone from sysfs soon.
        _ if source.kind() == ErrorKind::NotFound => Anomaly::new(
            AnomalyKind::Missing,
            format!("its contents (partition table, superblocks) cannot be read: {error}"),
        ),
        _ => Anomaly::new(AnomalyKind::Unreadable, error.to_string()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;
    use crate::linux::Root;
    use std::io::Write;
    use straddle_geometry::{Bytes, Map};
    use straddle_stack::Key;

    /// A disk whose table has partitions at sectors 63 and 20,480; the kernel knows the first only.
    fn disk_with_table() -> tempfile::NamedTempFile {
        let mut mbr = [0; 512];
        for (at, start, sectors) in [(446, 63_u32, 20_000_u32), (462, 20_480, 10_000)] {
            mbr[at + 4] = 0x83;
            mbr[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
            mbr[at + 12..at + 16].copy_from_slice(&sectors.to_le_bytes());
        }
        mbr[510..].copy_from_slice(&[0x55, 0xaa]);
        let mut image = tempfile::NamedTempFile::new().expect("temporary file");
        image.write_all(&mbr).expect("write");
        image.as_file().set_len(32 << 20).expect("grow");
        image
    }

    #[test]
    fn a_table_adds_to_the_kernels_partitions_and_brings_its_own() {
        let text = "sys/block/sda/size = 65536
sys/block/sda/queue/logical_block_size = 512
sys/block/sda/sda1/partition = 1
sys/block/sda/sda1/start = 63
sys/block/sda/sda1/size = 20000
";
        let root = Root::from_tree("test", text).expect("a tree");
        let overrides = Overrides::default();
        let mut host = Host::read(&root, &overrides).expect("a host");
        host.build_all();
        let disk = host.built("sda").expect("built");
        let image = disk_with_table();
        inspect(
            &mut host,
            disk,
            Target::open(image.path()).expect("opens").into(),
        );
        let stack = host.into_stack();
        let names: Vec<&str> = stack.layers().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["sda", "sda1", "partition 2"]);
        assert_eq!(stack.layers()[0].text(Key::PartitionTable), Some("mbr"));
        assert!(stack.layers()[1].attribute(Key::PartitionType).is_some());
        let start = Bytes::new(20_480 * 512);
        assert_eq!(stack.layers()[2].map, Map::Linear { start });
        assert_eq!(stack.layers()[2].below, [disk]);
    }

    #[test]
    fn the_superblock_that_a_member_shows_belongs_to_the_array_above() {
        // An array with its metadata at the end: its first member looks like the filesystem, or table, on the array.
        let text = "sys/block/sda/size = 65536
sys/block/md0/size = 65000
sys/block/md0/md/level = raid1
sys/block/md0/md/raid_disks = 1
sys/block/md0/md/dev-sda/slot = 0
sys/block/md0/md/dev-sda/offset = 0
";
        let root = Root::from_tree("test", text).expect("a tree");
        let overrides = Overrides::default();
        let mut host = Host::read(&root, &overrides).expect("a host");
        host.build_all();
        let disk = host.built("sda").expect("built");
        let image = disk_with_table();
        inspect(
            &mut host,
            disk,
            Target::open(image.path()).expect("opens").into(),
        );
        let stack = host.into_stack();
        let names: Vec<&str> = stack.layers().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["sda", "md0"]);
    }

    /// A bcache backing device whose data start at 8 KiB, as make-bcache writes its superblock.
    fn backing_device() -> tempfile::NamedTempFile {
        let mut superblock = [0_u8; 512];
        superblock[16] = 1;
        superblock[24..40].copy_from_slice(&[
            0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
            0x6d, 0x81,
        ]);
        superblock[40..56].fill(7);
        let mut image = tempfile::NamedTempFile::new().expect("temporary file");
        image.write_all(&[0; 4096]).expect("write");
        image.write_all(&superblock).expect("write");
        image.as_file().set_len(32 << 20).expect("grow");
        image
    }

    fn names_with(text: &str) -> Vec<String> {
        let root = Root::from_tree("test", text).expect("a tree");
        let overrides = Overrides::default();
        let mut host = Host::read(&root, &overrides).expect("a host");
        host.build_all();
        let disk = host.built("sda").expect("built");
        let image = backing_device();
        let found = inspect(
            &mut host,
            disk,
            Target::open(image.path()).expect("opens").into(),
        );
        assemble(&mut host, found.into_iter().collect());
        let stack = host.into_stack();
        let names = stack.layers().iter().map(|layer| layer.name.clone());
        names.collect()
    }

    #[test]
    fn a_payload_that_nothing_was_built_on_shows_its_layers() {
        assert_eq!(
            names_with("sys/block/sda/size = 65536\n"),
            ["sda", "bcache"]
        );
    }

    #[test]
    fn a_payload_that_is_open_is_not_told_twice() {
        let text = "sys/block/sda/size = 65536
sys/block/dm-0/size = 65520
sys/block/dm-0/dm/name = open
sys/block/dm-0/slaves/sda -> ../../sda
";
        assert_eq!(names_with(text), ["sda", "dm-0"]);
    }
}
