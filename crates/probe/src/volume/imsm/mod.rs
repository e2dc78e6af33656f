//! Intel Matrix RAID, later Rapid Storage Technology ("IMSM", Linux: `isw`): volumes over the disks of a set, described by
//! the option ROM, the driver or mdadm at the end of each disk.
//!
//! Source: the structures as mdadm documents them (`super-intel.c`, with offsets) and as FreeBSD does
//! (`sys/geom/raid/md_intel.c`); what they mean from both. All numbers low byte first, in sectors of the disk.
//!
//! The metadata are the same on all disks and name a disk by nothing but its drive's serial number. Where the serial number
//! of a device is not known, an image that is called by it is that disk; what is left is taken in the order given.

mod assemble;
mod layout;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key, Value};

use super::firmware::is_whole_disk;
use super::{Beside, Recognised, VolumeFormat};
use crate::record::{place, printable};
use crate::{Detected, Window};
use layout::{CONFIGURED, FAILED, Header, Map, Mpb};

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "imsm",
    title: "Intel Matrix RAID (IMSM) member",
    reads: "volumes at RAID 0, 1, 5 and 10, several on one set, their state, 512-byte and 4K sectors; which image is which disk only by the \
            serial number in its name, or by the order in which images are given",
    refuses: "where data lie while a volume migrates from one geometry to another; what a journal drive holds",
    verified: "mdadm, the kernel",
    min_size: 4096,
    magics: &[],
    beside: Beside::Nothing,
    recognise,
    assemble: assemble::assemble,
};

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    if !is_whole_disk(window) {
        return Ok(None);
    }
    let Some(place) = layout::find(window)? else {
        return Ok(None);
    };
    let mpb = Mpb::read(window, place)?;
    // A disk that is only kept ready, or that was cleared, has nothing to say about what is on it.
    if mpb.volumes.is_empty() && mpb.damage.is_empty() {
        return Ok(None);
    }
    let mut detected = Detected::default();
    let mut say = |key, value, at, place| {
        let fact = mpb.fact(value, at, place);
        detected
            .attributes
            .push(straddle_stack::Attribute { key, value: fact });
    };
    let version = printable(&mpb.header.version);
    say(
        Key::Version,
        Value::Text(version.into()),
        0,
        place!(Header.version),
    );
    let disks = u64::from(mpb.header.num_disks);
    say(
        Key::DeviceCount,
        Value::Count(disks),
        0,
        place!(Header.num_disks),
    );
    for of in &mpb.volumes {
        let (at, map) = (of.now.map.at, &of.now.map.read);
        let start = layout::wide(map.start, map.start_high);
        if let Some(start) = mpb.sectors(start) {
            say(Key::DataOffset, Value::Bytes(start), at, place!(Map.start));
        }
    }
    for (detail, source) in &mpb.damage {
        detected.anomalies.push(straddle_stack::Anomaly::at(
            AnomalyKind::Damaged,
            detail.clone(),
            source.clone(),
        ));
    }
    let present = mpb.disks.iter().filter(|disk| {
        let status = disk.read.status.get();
        status & CONFIGURED != 0 && status & FAILED == 0
    });
    let of = u64::try_from(present.count()).ok();
    Ok(Some(Recognised {
        detected,
        set: format!("{:08x}", mpb.set()),
        member: String::new(),
        of,
    }))
}
