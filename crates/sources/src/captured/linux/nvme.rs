//! `nvme id-ns` as text or JSON, and `nvme list`.
//!
//! Source: NVM Express base and NVM command set specifications, Identify Namespace. NPWG, NPWA, NPDG, NPDA and NOWS are
//! counted from 0 and valid only with bit 4 of NSFEAT; NAWUPF and NABSPF are counted from 0 and valid only with bit 1;
//! NOIOB and NABO are plain numbers. All count logical blocks. The roles are those that Linux gives to them in the limits
//! of its queue: NPWG is `minimum_io_size`, NOWS `optimal_io_size`, NPDG `discard_granularity`, NOIOB `chunk_sectors`.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{GridFact, GridRole, Key, Value};

use super::about;
use super::disk::Disk;
use crate::captured::json::{Json, Object};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "nvme",
    platform: "linux",
    commands: &[
        "nvme id-ns DEVICE",
        "nvme id-ns -o json DEVICE",
        "nvme list",
        "nvme list -o json",
    ],
    readers: &[
        Reader::Json {
            is: |object| object.has("nsze") && object.has("lbafs"),
            read: id_ns_json,
        },
        Reader::Json {
            is: |object| {
                let list = object.get("Devices").map(|list| list.items());
                let first = list.as_ref().and_then(|list| list.first()?.object());
                first.is_some_and(|first| first.has("DevicePath") || first.has("Subsystems"))
            },
            read: list_json,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("NVME Identify Namespace"),
                Anchor::Loose("nsze "),
            ],
            begins: |_| true,
            read: id_ns_text,
        },
        // Through `grep`, from the formats on.
        Reader::Text {
            anchors: &[Anchor::Loose("LBA Format"), Anchor::Loose("lbaf ")],
            begins: |lines| {
                let text = lines[0].text;
                text.contains("Data Size:") || text.contains("lbads:")
            },
            read: id_ns_text,
        },
        Reader::Text {
            anchors: &[Anchor::Start("/dev/nvme")],
            begins: |lines| lines[0].text.contains("B + "),
            read: |section, notes| {
                section
                    .lines
                    .iter()
                    .take(1)
                    .for_each(|line| row(line, notes))
            },
        },
    ],
};

const PROGRAMS: [&str; 1] = ["nvme"];

/// Fields of Identify Namespace, each with its line.
struct Fields<'t> {
    values: Vec<(String, u64, Line<'t>)>,
    /// Length of a logical block in use, as a power of two.
    shift: Option<(u64, Line<'t>)>,
}

impl<'t> Fields<'t> {
    fn get(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let found = self.values.iter().find(|(name, ..)| name == key);
        found.map(|(_, value, line)| (*value, *line))
    }

    fn has_feature(&self, bit: u32) -> bool {
        self.get("nsfeat")
            .is_some_and(|(features, _)| features >> bit & 1 == 1)
    }
}

fn id_ns_json(json: &Json<'_>, context: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(object) = json.object() else { return };
    let mut fields = Fields {
        values: Vec::new(),
        shift: None,
    };
    for (key, value) in object.members() {
        if let Some(number) = value.number() {
            fields.values.push((key.to_owned(), number, value.line()));
        }
    }
    let flbas = fields
        .get("flbas")
        .map_or(0, |(flbas, _)| format_in_use(flbas));
    let formats = object
        .get("lbafs")
        .map(|list| list.items())
        .unwrap_or_default();
    let format = formats.get(flbas).and_then(Json::object);
    // Newer versions mark the format in use instead of counting on its place.
    let marked = formats
        .iter()
        .filter_map(Json::object)
        .find(|format| format.get("in_use").and_then(|flag| flag.flag()) == Some(true));
    if let Some(shift) = marked
        .or(format)
        .and_then(|f| f.get("ds").or(f.get("lbads")))
    {
        fields.shift = shift.number().map(|n| (n, shift.line()));
    }
    let identities = ["nguid", "eui64"].map(|key| {
        let value = object.text(key)?;
        Some(value.into_owned())
    });
    namespace(context, &fields, identities, notes);
}

/// Bits 3:0 of FLBAS, and bits 6:5 above them.
fn format_in_use(flbas: u64) -> usize {
    usize::try_from(flbas & 0xf | (flbas >> 5 & 3) << 4).unwrap_or(0)
}

/// `npwg    : 7`, `lbaf  0 : ms:0   lbads:12 rp:0 (in use)`, and with `-H`
/// `LBA Format  0 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0 Best (in use)`.
fn id_ns_text(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut fields = Fields {
        values: Vec::new(),
        shift: None,
    };
    let mut identities = [None, None];
    for line in section.lines {
        let Some((key, value)) = line.text.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "nguid" => identities[0] = Some(value.to_owned()),
            "eui64" => identities[1] = Some(value.to_owned()),
            _ if value.contains("(in use)") => {
                let shift = value
                    .split_once("lbads:")
                    .and_then(|(_, rest)| number::leading(rest));
                let size = value
                    .split_once("Data Size:")
                    .and_then(|(_, rest)| number::leading(rest));
                let size = size.filter(|size| size.is_power_of_two());
                let shift = shift.or(size.map(|size| u64::from(size.trailing_zeros())));
                fields.shift = shift.map(|shift| (shift, *line));
            }
            // Lines of `-H` about single bits begin with a blank.
            _ if !line.text.starts_with(' ') => {
                if let Some(number) = number::leading(value) {
                    fields.values.push((key.to_owned(), number, *line));
                }
            }
            _ => {}
        }
    }
    namespace(&section.context, &fields, identities, notes);
}

/// An identifier that is set: a device that has none says zeroes.
fn is_set(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_hexdigit() && b != b'0')
}

fn namespace(
    context: &Context<'_>,
    fields: &Fields<'_>,
    identities: [Option<String>; 2],
    notes: &mut Notes<'_>,
) {
    let device = about::or_stranger(context, &PROGRAMS, notes);
    let mut disk = Disk::new(Some(device));
    for identity in identities.into_iter().flatten().filter(|text| is_set(text)) {
        disk.name(Space::Wwn, &identity);
    }
    let block = fields.shift.and_then(|(shift, line)| {
        let bytes = 1_u64.checked_shl(u32::try_from(shift).ok()?)?;
        disk.grid(GridRole::LogicalSector, bytes, &line, notes);
        Unit::new(bytes)
    });
    let Some(block) = block else {
        disk.note(notes);
        return;
    };
    let bytes = |blocks: u64| block.bytes().checked_mul(blocks);
    if let Some((blocks, line)) = fields.get("nsze") {
        disk.size(bytes(blocks), &line, notes);
    }
    let preferred = fields.has_feature(4);
    let own_atomics = fields.has_feature(1);
    let from_zero = |key: &str, valid: bool| {
        let (value, line) = fields.get(key).filter(|_| valid)?;
        Some((bytes(value.checked_add(1)?)?, line))
    };
    for (key, role) in [
        ("npwg", GridRole::MinimumIo),
        ("nows", GridRole::OptimalIo),
        ("npdg", GridRole::DiscardGranularity),
    ] {
        if let Some((unit, line)) = from_zero(key, preferred) {
            disk.grid(role, unit.get(), &line, notes);
        }
    }
    if let Some((blocks, line)) = fields.get("noiob") {
        let boundary = bytes(blocks).map_or(0, Bytes::get);
        disk.grid(GridRole::ChunkSectors, boundary, &line, notes);
    }
    if let Some((most, line)) = from_zero("nawupf", own_atomics)
        && most > block.bytes()
    {
        disk.set(Key::AtomicWriteMax, Value::Bytes(most), &line, notes);
        let boundary = from_zero("nabspf", own_atomics).filter(|(boundary, _)| *boundary >= most);
        if let Some((boundary, line)) = boundary {
            disk.set(
                Key::AtomicWriteBoundary,
                Value::Bytes(boundary),
                &line,
                notes,
            );
        }
        // Programs write powers of two; the largest sets the grid.
        let phase = fields
            .get("nabo")
            .and_then(|(nabo, _)| bytes(nabo))
            .unwrap_or_default();
        if let Some(unit) = Unit::new(1 << most.get().ilog2()) {
            let grid = notes.said(&line, Grid::with_phase(unit, phase));
            disk.thing().grids.push(GridFact {
                role: GridRole::AtomicWrite,
                grid,
            });
        }
    }
    disk.note(notes);
}

/// `nvme list`: flat up to version 2.8, subsystems with controllers with namespaces since.
fn list_json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let devices = json.object().and_then(|object| object.get("Devices"));
    for device in devices.map(|list| list.objects()).unwrap_or_default() {
        if device.has("DevicePath") {
            listed(&device, &device, notes);
        }
        let inner = |object: &Object<'_>, key: &str| {
            object.get(key).map(|list| list.items().len()).unwrap_or(0)
        };
        if inner(&device, "Subsystems") == 0 {
            continue;
        }
        let subsystems = device.get("Subsystems").map(|list| list.objects());
        for subsystem in subsystems.unwrap_or_default() {
            let controllers = subsystem.get("Controllers").map(|list| list.objects());
            let controllers = controllers.unwrap_or_default();
            for controller in &controllers {
                let namespaces = controller.get("Namespaces").map(|list| list.objects());
                for namespace in namespaces.unwrap_or_default() {
                    listed(&namespace, controller, notes);
                }
            }
            // With multipath, namespaces belong to the subsystem.
            let namespaces = subsystem.get("Namespaces").map(|list| list.objects());
            if let Some(controller) = controllers.first() {
                for namespace in namespaces.unwrap_or_default() {
                    listed(&namespace, controller, notes);
                }
            }
        }
    }
}

fn listed(namespace: &Object<'_>, controller: &Object<'_>, notes: &mut Notes<'_>) {
    let device = namespace.text("DevicePath").or(namespace.text("NameSpace"));
    let Some(device) = device else { return };
    let name = Name::new(Space::Device, device.into_owned());
    let first = name.text.ends_with("n1");
    let mut disk = Disk::new(Some(name));
    if let Some(serial) = controller.get("SerialNumber")
        && let Some(text) = serial.text()
    {
        add_serial(&mut disk, first, &text, &serial.line(), notes);
    }
    if let Some(model) = controller.get("ModelNumber")
        && let Some(text) = model.text()
    {
        disk.text(Key::Model, &text, &model.line(), notes);
    }
    if let Some(size) = namespace.get("PhysicalSize") {
        disk.size(size.number().map(Bytes::new), &size.line(), notes);
    }
    if let Some(sector) = namespace.get("SectorSize") {
        let size = sector.number().unwrap_or(0);
        disk.grid(GridRole::LogicalSector, size, &sector.line(), notes);
    }
    disk.note(notes);
}

/// The serial number is that of the controller; it tells one namespace from others only where there are no others.
fn add_serial(disk: &mut Disk, first: bool, text: &str, line: &Line<'_>, notes: &Notes<'_>) {
    if first {
        disk.serial(text.trim(), line, notes);
    } else {
        disk.text(Key::Serial, text.trim(), line, notes);
    }
}

/// `/dev/nvme0n1  SERIAL  MODEL  1  250.00  GB /   1.00  TB    512   B +  0 B   FIRMWARE`; newer versions have the name
/// of a generic device in between. Sizes are rounded, in powers of 1,000.
fn row(line: &Line<'_>, notes: &mut Notes<'_>) {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [path, rest @ ..] = words.as_slice() else {
        return;
    };
    let rest = match rest {
        [generic, rest @ ..] if generic.starts_with("/dev/") => rest,
        rest => rest,
    };
    let name = Name::new(Space::Device, (*path).to_owned());
    let first = name.text.ends_with("n1");
    let mut disk = Disk::new(Some(name));
    if let [serial, ..] = rest {
        add_serial(&mut disk, first, serial, line, notes);
    }
    let plus = rest.iter().position(|word| *word == "+");
    let sector = plus.and_then(|at| rest.get(at.checked_sub(2)?..at));
    if let Some([number, unit]) = sector {
        let size = number::shown(
            &format!("{number} {unit}"),
            Prefix::Binary,
            Rounding::Nearest,
        );
        // `4 KiB` is shown as a whole figure; it is a power of two.
        let size = size.map_or(0, |size| {
            size.known()
                .map_or_else(|| size.from().get().next_power_of_two(), Bytes::get)
        });
        disk.grid(GridRole::LogicalSector, size, line, notes);
    }
    let slash = rest.iter().position(|word| *word == "/");
    let total = slash.and_then(|at| rest.get(at + 1..at + 3));
    if let Some([number, unit]) = total {
        let size = number::shown(
            &format!("{number} {unit}"),
            Prefix::Decimal,
            Rounding::Nearest,
        );
        disk.thing().size = size.map(|size| notes.said(line, size));
    }
    disk.note(notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_in_use_has_six_bits_in_two_places() {
        assert_eq!(format_in_use(0), 0);
        assert_eq!(format_in_use(0x12), 2);
        assert_eq!(format_in_use(0x21), 17);
    }
}
