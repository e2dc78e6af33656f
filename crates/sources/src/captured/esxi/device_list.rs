//! `esxcli storage core device list`, `esxcfg-scsidevs -l` and, a line each, `esxcfg-scsidevs -c`: what devices there are. Sizes are MiB that are cut.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, Key, Value};

use super::{NAMED, device, is_device};
use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Context, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "esxcli-device-list",
    platform: "esxi",
    commands: &[
        "esxcli storage core device list",
        "esxcli --formatter=csv storage core device list",
        "esxcli --formatter=json storage core device list",
        "esxcfg-scsidevs -l",
        "esxcfg-scsidevs -c",
    ],
    readers: &[
        Reader::Text {
            anchors: &NAMED,
            begins: |lines| {
                let mut near = lines.iter().skip(1).take(6).map(|line| line.text.trim());
                is_device(lines[0].text.trim()) && near.any(|text| text.starts_with("Device Type:"))
            },
            read: text,
        },
        Reader::Text {
            anchors: &NAMED,
            begins: |lines| compact(&lines[0]).is_some(),
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                for (id, record) in section.lines.iter().filter_map(compact) {
                    add(id, &record, notes);
                }
            },
        },
        Reader::Records {
            keys: &["Device", "DevfsPath"],
            read: records,
        },
    ],
};

/// One device: its name, and its properties indented below.
fn text(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let told = rest.iter().map_while(|line: &Line<'_>| {
        let (key, value) = line.text.trim().split_once(':')?;
        Some((key, value, line))
    });
    let fields = told.flat_map(|(key, value, line)| {
        several(key, value).into_iter().map(|(key, value)| Field {
            key: key.trim().replace(' ', "").into(),
            value: value.trim().into(),
            line: *line,
        })
    });
    let record = Record {
        fields: fields.collect(),
    };
    add(first.text.trim(), &record, notes);
}

/// A device in a line: `naa.6001…  Direct-Access  /vmfs/devices/disks/naa.6001…  512000MB  NMP  ACME Disk (naa.6001…)`. The heading runs
/// its last two columns together, so that they cannot be told by it.
fn compact<'t>(line: &Line<'t>) -> Option<(&'t str, Record<'t>)> {
    let text = line.text.trim();
    let (id, rest) = text.split_once(char::is_whitespace)?;
    let (kind, rest) = rest.split_once("/vmfs/devices/")?;
    let mut words = rest.split_whitespace().skip(1);
    let size = words.next()?;
    if !is_device(id) || number::whole(size.strip_suffix("MB")?).is_none() {
        return None;
    }
    let field = |key: &'static str, value: &'t str| Field {
        key: key.into(),
        value: value.into(),
        line: *line,
    };
    let fields = vec![field("DeviceType", kind.trim()), field("Size", size)];
    Some((id, Record { fields }))
}

/// The properties of a line: `esxcfg-scsidevs -l` has several in some, `Vendor: ATA       Model: ACME 4000        Revis: 0120`.
fn several<'t>(key: &'t str, value: &'t str) -> Vec<(&'t str, &'t str)> {
    const INNER: [&str; 4] = ["Model:", "Revis:", "Is SSD:", "Is Removable:"];
    let mut found = vec![(key, value)];
    for inner in INNER {
        let Some((_, last)) = found.last_mut() else {
            break;
        };
        if let Some((before, after)) = last.split_once(inner) {
            *last = before;
            found.push((inner.trim_end_matches(':'), after));
        }
    }
    found
}

fn records(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        if let Some(id) = record.filled("Device") {
            add(&id.value, record, notes);
        }
    }
}

/// The size: a number, or one with `MB`, which are MiB as well.
fn mebibytes<'t>(record: &Record<'t>) -> Option<(u64, Line<'t>)> {
    let field = record.get("Size")?;
    let value = field.value.trim();
    let digits = value.strip_suffix("MB").unwrap_or(value).trim_end();
    Some((number::whole(digits)?, field.line))
}

fn add(id: &str, record: &Record<'_>, notes: &mut Notes<'_>) {
    let kind = record.filled("DeviceType").map(|field| field.value.trim());
    // CD drives and enclosures are in the list too.
    if !is_device(id) || kind.is_some_and(|kind| kind != "Direct-Access") {
        return;
    }
    let mut thing = device(id);
    if let Some((mib, line)) = mebibytes(record)
        && mib > 0
        && let Some(from) = Bytes::mib(1).checked_mul(mib)
        && let Some(to) = Bytes::new((1 << 20) - 1).checked_add(from)
    {
        let interval = Interval::new(from, to);
        thing.size = interval.map(|size| notes.said(&line, size));
    }
    if let Some(model) = record.filled("Model") {
        thing.set_text(Key::Model, notes.said(&model.line, model.value.to_string()));
    }
    if let Some(ssd) = record.filled("IsSSD") {
        let spins = ssd.value.eq_ignore_ascii_case("false");
        thing.set(Key::Rotational, notes.said(&ssd.line, Value::Flag(spins)));
    }
    if let Some(thin) = record.filled("ThinProvisioningStatus")
        && let flag @ ("yes" | "no") = &*thin.value
    {
        let flag = Value::Flag(flag == "yes");
        thing.set(Key::ThinProvisioned, notes.said(&thin.line, flag));
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_device_where_a_path_and_a_size_follow_its_name() {
        let of = |text: &'static str| {
            let (id, record) = compact(&Line { number: 1, text })?;
            let kind = record.get("DeviceType")?.value.to_string();
            Some((id, kind, mebibytes(&record)?.0))
        };
        assert_eq!(
            of(
                "naa.600a0b80 Direct-Access    /vmfs/devices/disks/naa.600a0b80   512000MB  NMP     ACME Disk (naa.600a0b80)"
            ),
            Some(("naa.600a0b80", "Direct-Access".to_owned(), 512_000))
        );
        assert_eq!(
            of(
                "mpx.vmhba1:C0:T64:L0  Enclosure Svc Dev /vmfs/devices/genscsi/mpx.vmhba1:C0:T64:L0 0MB NMP ACME"
            ),
            Some(("mpx.vmhba1:C0:T64:L0", "Enclosure Svc Dev".to_owned(), 0))
        );
        for other in [
            "Device UID  Device Type  Console Device  Size  Multipath PluginDisplay Name",
            "naa.600a0b80:1 /vmfs/devices/disks/naa.600a0b80:1 51d6-a 0 datastore1",
            "naa.600a0b80 Direct-Access /vmfs/devices/disks/naa.600a0b80 512000 NMP",
            "naa.600a0b80 Direct-Access /vmfs/devices/disks/naa.600a0b80",
            "naa.600a0b80",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn lines_have_one_property_or_several() {
        let line = "ATA       Model: ACME SSDSC2KG01  Revis: 0120 ";
        let found: Vec<_> = several("Vendor", line)
            .into_iter()
            .map(|(key, value)| (key, value.trim()))
            .collect();
        assert_eq!(
            found,
            [
                ("Vendor", "ATA"),
                ("Model", "ACME SSDSC2KG01"),
                ("Revis", "0120")
            ]
        );
        let found = several("Is Local", " true  Is SSD: false  ");
        assert_eq!(found[1], ("Is SSD", " false  "));
        assert_eq!(several("Size", " 286070"), [("Size", " 286070")]);
    }
}
