//! ZFS: the labels of a device, and the top-level vdevs that devices make together.
//!
//! Sources: Sun Microsystems, "ZFS On-Disk Specification" (2006), chapters 1 and 2; OpenZFS `include/sys/vdev_impl.h`
//! (`vdev_label_t`), `include/sys/uberblock_impl.h`, `module/zfs/vdev_label.c`, `module/zfs/vdev_raidz.c`
//! (`vdev_raidz_map_alloc`), `zio_checksum.c` (`zio_checksum_compute`, label).
//!
//! A device has four labels, two at each end, and 4 MiB in front of its data. Each records the top-level vdev that the device
//! is a part of, and how many of those the pool has; no label has the whole pool.
//!
//! Every top-level vdev has addresses of its own, so a pool is a filesystem on each of them, as for captured text. A RAID-Z
//! deals sectors of 2^ashift bytes to its disks in turn, whatever they hold: stripe unit and allocation unit are one.

mod assemble;
mod config;
mod label;
mod nvlist;

#[cfg(test)]
mod tests;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Attribute, Fact, Key, Value};

use self::config::{CACHE, Config, SPARE};
use self::label::{Label, Labels};
use super::{Beside, Recognised, VolumeFormat};
use crate::inspect::{holds_a_filesystem, is_divided};
use crate::{Detected, Window};

/// Where data begin on every device: two labels, and 3.5 MiB kept for boot loaders.
const DATA_START: u64 = 4 << 20;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "zfs",
    title: "device of a ZFS pool",
    reads: "the four labels (name-value lists, checksums, uberblocks) of pool versions 1 to 28 and 5000; disks, mirrors, RAID-Z 1 to 3, dRAID, \
            devices being replaced, logs, spares, caches",
    refuses: "where a dRAID, or a RAID-Z that is being expanded, puts data; datasets and everything else inside the pool",
    verified: "zfs-fuse (zpool, zdb) on pools of files, and its published structure for what is newer",
    min_size: 4 * label::LABEL,
    // The labels at the end count too, when those at the beginning are gone.
    magics: &[],
    beside: Beside::NoTable,
    recognise,
    assemble: assemble::assemble,
};

/// Reads the labels of a window; `None` when there are none, or only such as another use of the device left over.
fn labels(window: &Window<'_>) -> Result<Option<Labels>, ReadError> {
    let Some(places) = label::places(window.size()) else {
        return Ok(None);
    };
    // ZFS leaves the first 8 KiB blank. Where something is written there and the first label is gone, the others are left over.
    // What wipes the first label wipes the second, and looking for each is a read on every blank device: the last one tells.
    let mut first = [0; 8192];
    window.fill(0, &mut first)?;
    let is_blank = first.iter().all(|byte| *byte == 0);
    let mut any = false;
    for (number, at) in places.into_iter().enumerate() {
        any = any || ((number == 0 || number == 3 && is_blank) && label::has_magic(window, at)?);
    }
    if !any {
        return Ok(None);
    }
    let labels = label::read(window, places)?;
    // What is made on a device that was in a pool overwrites the first label, and seldom the others. A table may leave even
    // the first: its partitions count.
    let first = labels.sound.first().is_some_and(|label| label.number == 0);
    if !first && holds_a_filesystem(window) || is_divided(window) {
        return Ok(None);
    }
    Ok(Some(labels).filter(|labels| !labels.sound.is_empty()))
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let Some(labels) = labels(window)? else {
        return Ok(None);
    };
    let Some(label) = labels.newest() else {
        return Ok(None);
    };
    let config = Config::of(label);
    let state = config.state.as_ref().map(|state| state.value);
    let Some(guid) = &config.guid else {
        return Ok(None);
    };
    let mut found = Detected::default();
    say_member(window, &config, &mut found);
    say_labels(window, &labels, label, &mut found)?;
    let alone = matches!(state, Some(SPARE | CACHE)) || config.pool.is_none();
    let (set, of) = match &config.pool {
        Some(pool) if !alone => (pool.value, config.leaves()),
        _ => (guid.value, Some(1)),
    };
    Ok(Some(Recognised {
        detected: found,
        set: set.to_string(),
        member: guid.value.to_string(),
        of,
    }))
}

/// What a label says of the device and its pool.
fn say_member(window: &Window<'_>, config: &Config, found: &mut Detected) {
    let mut say = |key, value, (at, len)| found.record(window, key, value, at, len);
    if let Some(name) = &config.name {
        say(Key::Pool, Value::Text(name.value.clone().into()), name.at);
    }
    for (key, guid) in [(Key::PoolGuid, &config.pool), (Key::VdevGuid, &config.guid)] {
        if let Some(guid) = guid {
            say(key, Value::Text(guid.value.to_string().into()), guid.at);
        }
    }
    for (key, number) in [(Key::Version, &config.version), (Key::Txg, &config.txg)] {
        if let Some(number) = number {
            say(key, Value::Count(number.value), number.at);
        }
    }
    if let Some((state, at)) = config.state_name() {
        say(Key::State, Value::Text(state.into()), at);
    }
    found.attributes.push(Attribute {
        key: Key::DataOffset,
        value: Fact::derived(
            Value::Bytes(straddle_geometry::Bytes::new(DATA_START)),
            "two labels and a boot region of ZFS, 4 MiB, stand before the data",
        ),
    });
}

/// What is odd about the labels: missing, broken, of different times, of different pools, with a wrong checksum.
fn say_labels(
    window: &Window<'_>,
    labels: &Labels,
    newest: &Label,
    found: &mut Detected,
) -> Result<(), ReadError> {
    for (number, at, why) in &labels.broken {
        let detail = format!("label {number} cannot be read: {why}");
        found.odd(window, AnomalyKind::Damaged, detail, at + (16 << 10), 16);
    }
    if let Some((at, detail)) = label::wrong_seal(window, newest)? {
        found.odd(window, AnomalyKind::Damaged, detail, at, 16);
    }
    let number = |label: &Label, name| label.lists.number(0, name).map(|found| found.0);
    for label in &labels.sound {
        for name in ["pool_guid", "guid", "txg"] {
            let (here, there) = (number(label, name), number(newest, name));
            if here == there {
                continue;
            }
            let show = |n: Option<u64>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let detail = format!(
                "label {} has {name} {}; label {}, the newest, has {}",
                label.number,
                show(here),
                newest.number,
                show(there)
            );
            let pair = label.lists.get(0, name);
            let (at, len) = pair.map_or((label.config_at(), 16), |pair| label.place(pair));
            found.odd(window, AnomalyKind::CopiesDiffer, detail, at, len);
            break;
        }
    }
    let is_there = |number: usize| {
        labels.sound.iter().any(|label| label.number == number)
            || labels.broken.iter().any(|broken| broken.0 == number)
    };
    let missing: Vec<String> = (0..4)
        .filter(|number| !is_there(*number))
        .map(|number: usize| number.to_string())
        .collect();
    if !missing.is_empty() {
        let detail = format!(
            "of its four labels number {} is not there; label {} is used",
            missing.join(", "),
            newest.number
        );
        let at = newest.config_at();
        found.odd(window, AnomalyKind::CopiesDiffer, detail, at, 16);
    }
    Ok(())
}
