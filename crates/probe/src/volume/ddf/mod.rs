//! The common RAID Disk Data Format (DDF) of the SNIA: virtual disks over the disks of a set, described by many controllers
//! (LSI, Adaptec HostRAID, Dell) and by mdadm at the end of each disk.
//!
//! Source: SNIA, *Common RAID Disk Data Format Specification*, revisions 1.2 and 2.0; the qualifiers of RAID 6 and 1E as mdadm
//! reads them. All numbers high byte first, in blocks of the disk, which are sectors of 512 bytes unless the anchor stands in
//! a last block of 4,096.
//!
//! A *basic* virtual disk has one level over disks; several of them under a *secondary* level make a larger one. A secondary
//! stripe is a whole stripe of the basic virtual disk: of mirrors that makes RAID 10, of RAID 5 what is called RAID 50.

mod assemble;
mod layout;
mod levels;

use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Attribute, Key, Value};

use super::firmware::is_whole_disk;
use super::{Beside, Recognised, VolumeFormat};
use crate::record::{place, printable};
use crate::{Detected, Magic, Window};
use layout::{Controller, Ddf, DiskEntry, Header};

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "ddf",
    title: "SNIA DDF member",
    reads: "revisions 1.2 and 2.0: virtual disks at RAID 0, 1, 1E, 4, 5 and 6 with every qualifier, concatenations, secondary levels, several \
            virtual disks on one set, their state",
    refuses: "RAID 3, 5E, 5EE and MDF; secondary levels over parts that differ; numbers with the low byte first",
    verified: "mdadm, the kernel",
    min_size: 8192,
    magics: NO_MAGIC,
    beside: Beside::Nothing,
    recognise,
    assemble: assemble::assemble,
};

/// The anchor stands at the end.
const NO_MAGIC: &[Magic] = &[];

/// A GUID by what can be read of it: vendor and serial number in letters, the rest in hexadecimal.
fn guid(raw: &[u8; 24]) -> String {
    let (letters, rest) = raw.split_at(8);
    let letters = printable(letters);
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{letters}:{rest}")
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    if !is_whole_disk(window) {
        return Ok(None);
    }
    let Some(anchor) = layout::find(window)? else {
        return Ok(None);
    };
    let mut detected = Detected::default();
    let Some(mut ddf) = Ddf::read(window, anchor)? else {
        let header: Header = window.get(anchor.0)?;
        let detail = "neither the primary nor the secondary DDF header is where the anchor says: what is on this disk is not known";
        detected.odd(window, AnomalyKind::Damaged, detail, anchor.0, 8);
        return Ok(Some(Recognised {
            detected,
            set: guid(&header.guid),
            member: String::new(),
            of: None,
        }));
    };
    let records = ddf.records()?;
    // A disk that is only kept ready has nothing to say about what is on it.
    if records.is_empty() && ddf.damage.is_empty() {
        return Ok(None);
    }
    let disks = ddf.disks()?;
    let mut say = |key, fact| detected.attributes.push(Attribute { key, value: fact });
    let text = |text: String| Value::Text(text.into());
    let (at, header) = (ddf.header.at, &ddf.header.read);
    let revision = text(printable(&header.revision));
    say(
        Key::Version,
        ddf.fact(revision, at, place!(Header.revision)),
    );
    if let Some(controller) = ddf.controller()? {
        let product = printable(&controller.read.product);
        let at = controller.at;
        if !product.trim_matches(['\u{fffd}', ' ']).is_empty() {
            say(
                Key::CreatedBy,
                ddf.fact(text(product), at, place!(Controller.product)),
            );
        }
    }
    let mut references: Vec<u32> = Vec::new();
    for of in &records {
        for (index, (reference, start)) in of.elements.iter().enumerate() {
            references.push(*reference);
            let own = ddf.own.is_some_and(|(_, own)| own == *reference);
            let start = ddf.start(*start);
            if let (true, Some(start)) = (own, start) {
                let at = of.start_at(index);
                say(Key::DataOffset, window.fact(Value::Bytes(start), at, 8));
            }
        }
    }
    references.sort_unstable();
    references.dedup();
    let is_there = |reference: &u32| {
        let entry = disks.get(reference);
        entry.is_some_and(|entry| entry.read.state.get() & (layout::FAILED | layout::MISSING) == 0)
    };
    references.retain(is_there);
    let (member, own) = match &ddf.own {
        Some((own, reference)) => (format!("{} {reference:08x}", guid(own)), Some(*reference)),
        None => (String::new(), None),
    };
    if let Some(entry) = own.and_then(|own| disks.get(&own)) {
        let state = entry.read.state.get();
        if let Some(word) = disk_state(state) {
            say(
                Key::State,
                ddf.fact(text(word.to_owned()), entry.at, place!(DiskEntry.state)),
            );
        }
    }
    let set = guid(&ddf.header.read.guid);
    for (kind, detail, source) in ddf.damage {
        detected.anomalies.push(Anomaly::at(kind, detail, source));
    }
    Ok(Some(Recognised {
        detected,
        set,
        member,
        of: u64::try_from(references.len()).ok().filter(|of| *of > 0),
    }))
}

/// What is not well with a disk.
fn disk_state(state: u16) -> Option<&'static str> {
    if state & layout::FAILED != 0 {
        Some("failed")
    } else if state & layout::MISSING != 0 {
        Some("missing")
    } else if state & layout::REBUILDING != 0 {
        Some("rebuilding")
    } else {
        None
    }
}
