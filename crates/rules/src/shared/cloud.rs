//! Volumes of clouds that a host can tell by their model, and what their vendors' documentation promises of them.

use straddle_geometry::Bytes;
use straddle_stack::{Key, Layer};

/// What is documented of the volumes with one model.
pub(crate) struct Cloud {
    /// As the guest's system shows it. A number of a version may follow.
    model: &'static str,
    /// What the vendor calls them.
    pub(crate) name: &'static str,
    /// What counts as one operation, at most.
    pub(crate) counted: Option<Counted>,
    /// A write of this length, that begins at a multiple of it, is done whole or not at all on every volume with this model.
    pub(crate) untorn: Option<Bytes>,
}

/// The unit in which operations are counted depends on the type of volume, which no host can tell.
pub(crate) struct Counted {
    pub(crate) flash: Bytes,
    pub(crate) disk: Bytes,
}

/// Azure's SCSI disks are left out: those of any Hyper-V have the same model.
static CLOUDS: [Cloud; 3] = [
    Cloud {
        model: "Amazon Elastic Block Store",
        name: "Amazon EBS",
        counted: Some(Counted {
            flash: Bytes::kib(256),
            disk: Bytes::mib(1),
        }),
        untorn: Some(Bytes::kib(16)),
    },
    Cloud {
        model: "Amazon EC2 NVMe Instance Storage",
        name: "Amazon EC2 instance storage",
        counted: None,
        // 16 KiB on some types of instances only.
        untorn: Some(Bytes::kib(4)),
    },
    Cloud {
        model: "MSFT NVMe Accelerator",
        name: "Azure managed disks",
        counted: None,
        untorn: Some(Bytes::kib(16)),
    },
];

/// The cloud that a device belongs to.
pub(crate) fn cloud_of(device: &Layer) -> Option<&'static Cloud> {
    let model = device.text(Key::Model)?.trim();
    CLOUDS.iter().find(|cloud| model.starts_with(cloud.model))
}
