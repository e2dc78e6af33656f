//! `omreport storage vdisk` of Dell OpenManage, and `racadm storage get vdisks -o` of iDRAC. They say nothing of how many
//! members there are.
//!
//! Server configuration profiles of iDRAC print the stripe size without its unit, and have been seen to print twice the
//! KiB: `256` for 128 KiB.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Interval, Key};

use super::level::Level;
use super::volume::{Volume, field, megaraid_size, sector, set_sector};
use crate::captured::json::Json;
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "omreport",
    platform: "raid",
    commands: &[
        "omreport storage vdisk controller=N",
        "omreport storage vdisk controller=N -fmt ssv",
        "racadm storage get vdisks -o",
        "racadm get -t json -f FILE (server configuration profile)",
    ],
    readers: &[
        Reader::Json {
            is: |object| object.has("SystemConfiguration"),
            read: profile,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("List of Virtual Disks"),
                Anchor::Start("Virtual Disk "),
                Anchor::Loose("Disk.Virtual."),
                Anchor::Loose("Controller "),
                Anchor::Loose("ID"),
                Anchor::Loose("Status"),
                Anchor::Loose("Name"),
                Anchor::Loose("State"),
                Anchor::Loose("Layout"),
            ],
            begins: |lines| {
                let text = lines[0].text.trim();
                is_excerpt(lines)
                    || columns(text).is_some()
                    || text.starts_with("List of")
                    || text.contains(" on Controller ")
                    || idrac_disk(text).is_some()
            },
            read,
        },
    ],
};

/// Lines of one virtual disk without the heading above them: a layout, and a stripe element.
fn is_excerpt(lines: &[Line<'_>]) -> bool {
    let near = lines.iter().take(MAX_NEAR).filter_map(field);
    let (mut layout, mut stripe) = (false, false);
    for (key, _) in near {
        layout |= key == "Layout";
        stripe |= key == "Stripe Element Size";
    }
    layout
        && stripe
        && (field(&lines[0]).is_some() || lines[0].text.trim().starts_with("Controller "))
}

/// Most lines of a virtual disk.
const MAX_NEAR: usize = 20;

/// A server configuration profile: components within components, each with a list of attributes.
fn profile(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let root = json
        .object()
        .and_then(|object| object.get("SystemConfiguration"));
    let mut open: Vec<Json<'_>> = root.into_iter().collect();
    for at in 0..MAX_COMPONENTS {
        let Some(component) = open.get(at).and_then(Json::object) else {
            break;
        };
        open.extend(component.get("Components").iter().flat_map(Json::items));
        let name = component.text("FQDD");
        if let Some(number) = name.and_then(|name| idrac_disk(&name)) {
            let name = format!("c0/v{number}");
            let mut volume = Volume::new(name.clone(), name);
            let attributes = component.get("Attributes");
            for attribute in attributes.iter().flat_map(Json::objects) {
                if let (Some(key), Some(value)) = (attribute.text("Name"), attribute.get("Value"))
                    && let Some(text) = value.text()
                {
                    property(&mut volume, &key, &text, &value.line(), notes);
                }
            }
            volume.finish(notes);
        }
    }
}

/// Most components of a profile that are looked at.
const MAX_COMPONENTS: usize = 4096;

/// `Disk.Virtual.0:RAID.Integrated.1-1`
fn idrac_disk(text: &str) -> Option<u64> {
    let (number, controller) = text.trim().strip_prefix("Disk.Virtual.")?.split_once(':')?;
    controller
        .starts_with("RAID.")
        .then(|| number.parse().ok())?
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let typed = section.context.command.as_ref();
    let word = typed.and_then(|command| command.word("controller="));
    let controller = word.and_then(|word| number::leading(word.get(11..)?));
    let controller = controller.unwrap_or(0);
    let mut volume: Option<Volume<'_>> = None;
    let mut names: Vec<&str> = Vec::new();
    for line in section.lines {
        if let Some(columns) = columns(line.text) {
            names = columns;
            continue;
        }
        if !names.is_empty() && line.text.contains(';') {
            row(&names, line, controller, notes);
            continue;
        }
        let begun = idrac_disk(line.text).or_else(|| match field(line) {
            Some(("ID", value)) => value.parse().ok(),
            _ => None,
        });
        if let Some(number) = begun {
            if let Some(volume) = volume.take() {
                volume.finish(notes);
            }
            let name = format!("c{controller}/v{number}");
            volume = Some(Volume::new(name.clone(), name));
        } else if let Some((key, value)) = field(line) {
            // Without its number, it is a volume all the same.
            let volume = volume.get_or_insert_with(|| {
                let name = format!("c{controller}/v? ({}:{})", notes.file, line.number);
                Volume::new(name, format!("c{controller}/v?"))
            });
            property(volume, key, value, line, notes);
        }
    }
    if let Some(volume) = volume {
        volume.finish(notes);
    }
}

/// The names in the first line of `-fmt ssv`.
fn columns(text: &str) -> Option<Vec<&str>> {
    let names = text.split(';').take(MAX_COLUMNS).map(str::trim);
    (text.starts_with("ID;") && text.contains("Stripe Element Size")).then(|| names.collect())
}

/// Most columns of such a table.
const MAX_COLUMNS: usize = 64;

/// One virtual disk of it.
fn row<'t>(names: &[&str], line: &Line<'t>, controller: u64, notes: &mut Notes<'_>) {
    let values: Vec<&str> = line
        .text
        .split(';')
        .take(MAX_COLUMNS)
        .map(str::trim)
        .collect();
    let Some(number) = values.first().and_then(|id| id.parse::<u64>().ok()) else {
        return;
    };
    let name = format!("c{controller}/v{number}");
    let mut volume = Volume::new(name.clone(), name);
    for (key, value) in names.iter().zip(values).skip(1) {
        property(&mut volume, key, value, line, notes);
    }
    volume.finish(notes);
}

fn property<'t>(
    volume: &mut Volume<'t>,
    key: &str,
    value: &str,
    line: &Line<'t>,
    notes: &Notes<'_>,
) {
    match key {
        "Name" => volume.text(Key::Label, value, line, notes),
        "State" | "RaidStatus" => {
            let word = match value {
                "Ready" => "optimal".to_owned(),
                other => other.to_ascii_lowercase(),
            };
            volume.text(Key::State, word, line, notes);
        }
        "Layout" | "RAIDTypes" => volume.level = Level::parse(value).map(|level| (level, *line)),
        "Size" => {
            // Profiles print bytes without a unit; 0 stands for all there is.
            let bytes = number::whole(value).filter(|bytes| *bytes > 0);
            let bytes = bytes.map(|bytes| Interval::exact(Bytes::new(bytes)));
            let size = bytes.or_else(|| exact(value));
            if let Some(size) = size.or_else(|| megaraid_size(value)) {
                volume.size(notes.said(line, size));
            }
        }
        "Device Name" => volume.system_name(value),
        "Stripe Element Size" | "StripeSize" => volume.strip = volume.stripe(value, line, notes),
        "SpanDepth" => volume.spans = number::leading(value).map(|n| (n, *line)),
        "SpanLength" => volume.per_span = number::leading(value).map(|n| (n, *line)),
        "Sector Size" | "BlockSizeInBytes" => {
            if let Some(unit) = sector(value.trim_end_matches(" Bytes")) {
                let fact = notes.said(line, unit);
                set_sector(&mut volume.thing, GridRole::LogicalSector, fact);
            }
        }
        "Read Policy" | "ReadPolicy" | "RAIDdefaultReadPolicy" => {
            let word = match value {
                "No Read Ahead" | "NoReadAhead" => "none",
                "Read Ahead" | "ReadAhead" => "always",
                "Adaptive Read Ahead" | "AdaptiveReadAhead" | "Adaptive" => "adaptive",
                _ => return,
            };
            volume.text(Key::ReadAhead, word, line, notes);
        }
        "Write Policy" | "WritePolicy" | "RAIDdefaultWritePolicy" => {
            let word = match value {
                "Write Back" | "WriteBack" => "write-back",
                "Write Through" | "WriteThrough" => "write-through",
                "Force Write Back" | "Write Back Force" | "WriteBackForce" => {
                    "write-back, also without a good battery"
                }
                _ => return,
            };
            volume.text(Key::WriteCache, word, line, notes);
        }
        _ => {}
    }
}

/// `136.13 GB (146163105792 bytes)`
fn exact(value: &str) -> Option<Interval> {
    let (_, inner) = value.split_once('(')?;
    let bytes = number::leading(inner)?;
    inner
        .contains("bytes")
        .then(|| Interval::exact(Bytes::new(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_bytes_stand_in_brackets() {
        let size = exact("136.13 GB (146163105792 bytes)").expect("there");
        assert_eq!(size.known(), Some(Bytes::new(146_163_105_792)));
        assert_eq!(exact("136.13 GB"), None);
        assert_eq!(idrac_disk("Disk.Virtual.12:RAID.Slot.4-1"), Some(12));
        assert_eq!(idrac_disk("Disk.Bay.1:Enclosure.Internal.0-1"), None);
    }
}
