//! Which step of requests is judged, where a recorder wrote a line for each.

use std::collections::BTreeMap;
use std::io;

use crate::names::Device;
use crate::record::Event;
use crate::statistics::{PERIOD, Statistics};

/// The devices that are judged.
pub(super) struct Judged {
    /// By number.
    pub(super) is: Vec<bool>,
    /// Requests of those that are not.
    pub(super) left_out: u64,
}

/// For each name the step that comes first in [`Event::ALL`]: what reached the device, else what was handed to it.
pub(super) fn judged(statistics: &mut Statistics, only: &[String]) -> io::Result<Judged> {
    let devices = statistics.devices();
    let is_asked_about = |device: &Device| only.is_empty() || only.contains(&device.name);
    // Most recorders write one step only.
    if devices.windows(2).all(|two| two[0].event == two[1].event) {
        let is = devices.iter().map(is_asked_about).collect();
        return Ok(Judged { is, left_out: 0 });
    }
    let rank = |event: Event| Event::ALL.iter().position(|one| *one == event);
    let mut chosen: BTreeMap<&str, Event> = BTreeMap::new();
    for device in devices {
        let event = chosen.entry(&device.name).or_insert(device.event);
        if rank(device.event) < rank(*event) {
            *event = device.event;
        }
    }
    let is: Vec<bool> = devices
        .iter()
        .map(|device| chosen.get(device.name.as_str()) == Some(&device.event))
        .collect();
    let both: Vec<bool> = is
        .iter()
        .zip(devices)
        .map(|(is, device)| *is && is_asked_about(device))
        .collect();
    let mut left_out = 0;
    if is.contains(&false) {
        for entry in statistics.counted(PERIOD)? {
            let (key, count) = entry?;
            if !is[key.device() as usize] {
                left_out += count;
            }
        }
    }
    Ok(Judged { is: both, left_out })
}
