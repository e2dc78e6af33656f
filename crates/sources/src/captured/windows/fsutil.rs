//! `fsutil fsinfo`: `ntfsinfo` and `refsinfo` of a volume, and `sectorinfo` of the device below it. Labels are translated,
//! and versions differ in what they print; the order of the lines is always the same.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{Anomaly, AnomalyKind, GridFact, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::captured::windows;
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "fsutil",
    platform: "windows",
    commands: &[
        "fsutil fsinfo ntfsinfo X:",
        "fsutil fsinfo refsinfo X:",
        "fsutil fsinfo sectorinfo X:",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Within("NTFS")],
            begins: |lines| is_serial(&lines[0], "NTFS"),
            read: |section, notes| filesystem(section, "ntfs", notes),
        },
        Reader::Text {
            anchors: &[Anchor::Within("REFS"), Anchor::Within("ReFS")],
            begins: |lines| is_serial(&lines[0], "REFS"),
            read: |section, notes| filesystem(section, "refs", notes),
        },
        Reader::Text {
            anchors: &[Anchor::Start("LogicalBytesPerSector")],
            begins: |lines| Field::new(&lines[0]).is_some(),
            read: sectors,
        },
    ],
};

/// `label : value`.
#[derive(Clone, Copy)]
struct Field<'t> {
    label: &'t str,
    value: &'t str,
    line: Line<'t>,
}

impl<'t> Field<'t> {
    fn new(line: &Line<'t>) -> Option<Field<'t>> {
        let (label, value) = line.text.split_once([':', '：'])?;
        let (label, value) = (label.trim(), value.trim());
        (!label.is_empty()).then_some(Field {
            label,
            value,
            line: *line,
        })
    }

    /// A number of things, without what stands behind it in brackets: `974,559,073  (464.7 GB)`.
    fn count(&self) -> Option<u64> {
        number::whole(self.value.split('(').next()?)
    }

    /// A number of bytes, which are printed bare, unlike numbers of sectors and clusters.
    fn bytes(&self) -> Option<u64> {
        let bare = !self.value.is_empty() && self.value.bytes().all(|b| b.is_ascii_digit());
        bare.then(|| self.value.parse().ok())?
    }

    fn is_version(&self) -> bool {
        let parts: Vec<&str> = self.value.split('.').collect();
        let digits = |part: &&str| {
            !part.is_empty() && part.len() < 4 && part.bytes().all(|b| b.is_ascii_digit())
        };
        parts.len() == 2 && parts.iter().all(digits)
    }
}

/// `NTFS Volume Serial Number :        0xf2bebd4abebd07dd`, in any language.
fn is_serial(line: &Line<'_>, format: &str) -> bool {
    Field::new(line).is_some_and(|field| {
        let digits = field.value.strip_prefix("0x").unwrap_or_default();
        field.label.to_uppercase().contains(format)
            && digits.len() >= 8
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The volume that was asked about: by the command, by the name of the file.
struct Volume {
    /// `C:`, or a name that nothing else has.
    path: Cow<'static, str>,
    known: bool,
}

impl Volume {
    fn of(section: &Section<'_>, what: &str, first: &Line<'_>, notes: &Notes<'_>) -> Volume {
        let command = section.context.command.as_ref();
        let asked = command
            .filter(|command| command.program() == "fsutil")
            .and_then(|command| {
                let words = &command.words;
                let at = words
                    .iter()
                    .position(|word| word.eq_ignore_ascii_case(what))?;
                words.get(at + 1).copied()
            });
        let path = asked.or_else(|| windows::volume_of_file(&section.context));
        match path {
            Some(path) => {
                let name = Name::new(Space::WindowsVolume, path.to_owned());
                let short = name.text.len() == 2;
                Volume {
                    path: if short {
                        name.text.to_uppercase().into()
                    } else {
                        path.trim_end_matches('\\').to_owned().into()
                    },
                    known: true,
                }
            }
            None => Volume {
                path: format!("? ({}:{})", notes.file, first.number).into(),
                known: false,
            },
        }
    }

    fn name(&self) -> Name {
        Name::new(Space::WindowsVolume, self.path.clone())
    }

    fn title(&self) -> String {
        if self.known {
            self.path.to_string()
        } else {
            "a volume".to_owned()
        }
    }

    /// The device below, of which only the volume is known.
    fn device(&self) -> Thing {
        let name = Name::new(Space::WindowsVolumeDisk, self.path.clone());
        Thing::new(LayerKind::Device, format!("disk of {}", self.title()), name)
    }

    /// The partition in between.
    fn partition(&self) -> Thing {
        let thing = Thing::new(LayerKind::Partition, self.title(), self.name());
        thing.on(Name::new(Space::WindowsVolumeDisk, self.path.clone()))
    }

    /// Remarks that nothing says which volume it is.
    fn remark(&self, thing: &mut Thing, line: &Line<'_>, notes: &Notes<'_>) {
        if !self.known {
            let detail = "nothing says which volume this is; include the command in the capture, or name the file for it: \
                          ntfsinfo-C.txt";
            let anomaly = Anomaly::at(AnomalyKind::Missing, detail, notes.source(line));
            thing.remarks.push(anomaly);
        }
    }
}

fn fields<'t>(section: &Section<'t>) -> Vec<Field<'t>> {
    section
        .lines
        .iter()
        .take(64)
        .filter_map(Field::new)
        .collect()
}

/// The shortest length among them: a sector.
const SHORTEST: u64 = 512;
/// Bytes of a record on most disks.
const USUAL_RECORD: u64 = 1_024;

/// Sizes that a filesystem says of itself.
#[derive(Default)]
struct Sizes<'t> {
    sector: Option<Field<'t>>,
    physical: Option<Field<'t>>,
    cluster: Option<Field<'t>>,
    record: Option<Field<'t>>,
}

impl<'t> Sizes<'t> {
    /// By the labels, when they are English, or else by the order: bytes per sector, per physical sector (since Windows 7,
    /// which may say that the device does not tell), per cluster; for NTFS bytes and clusters per record.
    fn new(fields: &[Field<'t>], ntfs: bool) -> Sizes<'t> {
        let labelled = |label: &str| {
            let mut fields = fields.iter();
            fields
                .find(|field| field.label.eq_ignore_ascii_case(label))
                .copied()
        };
        if labelled("Bytes Per Sector").is_some() {
            return Sizes {
                sector: labelled("Bytes Per Sector"),
                physical: labelled("Bytes Per Physical Sector"),
                cluster: labelled("Bytes Per Cluster"),
                record: labelled("Bytes Per FileRecord Segment"),
            };
        }
        let run: Vec<Field<'t>> = fields
            .iter()
            .skip_while(|field| field.bytes().is_none())
            .take_while(|field| field.bytes().is_some() || field.value.starts_with('<'))
            .copied()
            .collect();
        // Lengths have three digits and more; the clusters of a record, which come last, have one.
        let is_length = |at: usize| {
            let bytes = run.get(at).and_then(Field::bytes);
            bytes.is_some_and(|bytes| bytes >= SHORTEST)
        };
        let is_of_record = |at: usize| run[at].label.to_lowercase().contains("segment");
        let with_physical = match (ntfs, run.len()) {
            (true, 5) | (false, 3) => true,
            // Cut above the last, where that is a length: there is one more of them.
            (true, 4) => is_length(3),
            (false, 2) => false,
            // Of three, the third is either that of a record or that of a cluster.
            (true, 3) if is_of_record(2) => false,
            (true, 3) if run[2].bytes() != Some(USUAL_RECORD) => true,
            (true, 3) => return Sizes::of_sector(&run),
            _ => return Sizes::default(),
        };
        let later = |n: usize| run.get(n + usize::from(with_physical)).copied();
        Sizes {
            sector: run.first().copied(),
            physical: run.get(1).copied().filter(|_| with_physical),
            cluster: later(1),
            record: later(2).filter(|_| ntfs),
        }
    }
}

impl<'t> Sizes<'t> {
    /// The first of them alone, where nothing tells which the others are.
    fn of_sector(run: &[Field<'t>]) -> Sizes<'t> {
        Sizes {
            sector: run.first().copied(),
            ..Sizes::default()
        }
    }
}

fn unit(field: Option<Field<'_>>) -> Option<(Unit, Line<'_>)> {
    let field = field?;
    Some((Unit::new(field.bytes()?)?, field.line))
}

fn filesystem(section: &Section<'_>, format: &'static str, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let what = if format == "ntfs" {
        "ntfsinfo"
    } else {
        "refsinfo"
    };
    let volume = Volume::of(section, what, first, notes);
    let fields = fields(section);
    let sizes = Sizes::new(&fields, format == "ntfs");

    let mut device = volume.device();
    let mut thing =
        Thing::new(LayerKind::Filesystem, volume.title(), volume.name()).on(volume.name());
    volume.remark(&mut thing, first, notes);
    thing.format = Some(notes.said(first, Cow::Borrowed(format)));
    if let Some(serial) = fields.first().filter(|_| !volume.known) {
        thing = thing.named(Name::new(Space::Uuid, serial.value.to_owned()));
    }
    let versions = fields.iter().skip(1).take_while(|field| field.is_version());
    let versions: Vec<&Field<'_>> = versions.collect();
    if let Some(version) = versions.first() {
        thing.set_text(
            Key::Version,
            notes.said(&version.line, version.value.to_owned()),
        );
    }
    // Windows mounts a filesystem only where sectors are as long as it says.
    if let Some((sector, line)) = unit(sizes.sector) {
        device.grid(GridRole::LogicalSector, notes.said(&line, sector));
        thing.set(
            Key::SectorSize,
            notes.said(&line, Value::Bytes(sector.bytes())),
        );
        // They stand above it; where they were left out, something else is there.
        let sectors = fields.get(1 + versions.len());
        let sectors = sectors.filter(|field| field.line.number < line.number);
        let sectors = sectors.and_then(|field| Some((field.count()?, field.line)));
        if let Some((count, line)) = sectors
            && let Some(size) = sector.bytes().checked_mul(count)
        {
            thing.size = Some(notes.said(&line, Interval::exact(size)));
            thing.set(Key::ClaimedSize, notes.said(&line, Value::Bytes(size)));
        }
    }
    if let (Some((sector, below)), Some((cluster, line))) =
        (unit(sizes.sector), unit(sizes.cluster))
    {
        let count = |index: usize| {
            let field = fields.get(1 + versions.len() + index)?;
            (field.line.number < below.number).then(|| field.count())?
        };
        let clusters = fields.get(2 + versions.len()).map(|field| field.line);
        // Less than a cluster is left over at the end.
        if let (Some(sectors), Some(claimed)) = (count(0), count(1))
            && format == "ntfs"
            && let Some(clusters) = clusters.filter(|other| other.number < line.number)
            && let Some(per_cluster) = cluster.get().checked_div(sector.get()).filter(|n| *n > 0)
            && (sectors / per_cluster).abs_diff(claimed) > 1
        {
            let detail = format!(
                "{sectors} sectors of {} bytes are not {claimed} clusters of {} bytes",
                sector.get(),
                cluster.get()
            );
            notes.contradicts(&mut thing, detail, &clusters, &line);
        }
    }
    if let Some((physical, line)) = unit(sizes.physical) {
        device.grid(GridRole::PhysicalSector, notes.said(&line, physical));
    }
    if let Some((cluster, line)) = unit(sizes.cluster) {
        thing.grid(GridRole::AllocationUnit, notes.said(&line, cluster));
        thing.set(
            Key::BlockSize,
            notes.said(&line, Value::Bytes(cluster.bytes())),
        );
        // Behind the sizes: how much of the MFT is in use, and where it starts.
        let after = fields.iter().skip_while(|field| field.bytes().is_none());
        let mut after =
            after.skip_while(|field| field.bytes().is_some() || field.value.starts_with('<'));
        if let Some(start) = after.nth(1).filter(|_| format == "ntfs")
            && let Some(offset) = start
                .count()
                .and_then(|lcn| cluster.bytes().checked_mul(lcn))
        {
            thing.set(
                Key::MftOffset,
                notes.said(&start.line, Value::Bytes(offset)),
            );
        }
    }
    if sizes.cluster.is_none() {
        let detail = "the output ends before it says how long a cluster is";
        let last = fields.last().map_or(*first, |field| field.line);
        thing.remarks.push(Anomaly::at(
            AnomalyKind::Truncated,
            detail,
            notes.source(&last),
        ));
    }
    if let Some((record, line)) = unit(sizes.record) {
        thing.set(
            Key::MftRecordSize,
            notes.said(&line, Value::Bytes(record.bytes())),
        );
    }
    if !device.grids.is_empty() {
        notes.add(device);
        notes.add(volume.partition());
    }
    notes.add(thing);
}

/// `sectorinfo`. The first four labels are never translated; the alignments follow them as `(0x000)`.
fn sectors(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let volume = Volume::of(section, "sectorinfo", first, notes);
    let fields = fields(section);
    let get = |label: &str| fields.iter().find(|field| field.label == label).copied();
    let mut device = volume.device();
    let mut partition = volume.partition();
    volume.remark(&mut partition, first, notes);
    if let Some((logical, line)) = unit(get("LogicalBytesPerSector")) {
        device.grid(GridRole::LogicalSector, notes.said(&line, logical));
    }
    // What a write that is not aligned costs is told by this one; the other says what a power cut leaves whole.
    let physical = unit(get("PhysicalBytesPerSectorForPerformance"))
        .or_else(|| unit(get("PhysicalBytesPerSectorForAtomicity")));
    let named = [
        "LogicalBytesPerSector",
        "PhysicalBytesPerSectorForAtomicity",
        "PhysicalBytesPerSectorForPerformance",
        "FileSystemEffectivePhysicalBytesPerSectorForAtomicity",
    ];
    let mut alignments = fields.iter().filter(|field| !named.contains(&field.label));
    let (of_device, of_partition) = (alignments.next(), alignments.next());
    if let Some((physical, line)) = physical {
        let offset = of_device.and_then(offset_in).unwrap_or(0);
        let grid = Grid::with_phase(physical, distance(offset, physical));
        device.grids.push(GridFact {
            role: GridRole::PhysicalSector,
            grid: notes.said(&line, grid),
        });
        if let Some(field) = of_partition
            && let Some(offset) = offset_in(field)
            && let Ok(bytes) = i64::try_from(distance(offset, physical).get())
        {
            let value = Value::SignedBytes(bytes);
            partition.set(Key::AlignmentOffset, notes.said(&field.line, value));
        }
    }
    for line in section.lines {
        match line.text.trim() {
            "No Seek Penalty" => device.set(Key::Rotational, notes.said(line, Value::Flag(false))),
            "Performs Normal Seeks" => {
                device.set(Key::Rotational, notes.said(line, Value::Flag(true)))
            }
            text if text.starts_with("Thinly-Provisioned") => {
                device.set(Key::ThinProvisioned, notes.said(line, Value::Flag(true)));
            }
            _ => {}
        }
    }
    notes.add(device);
    notes.add(partition);
}

/// From the place inside a physical sector where something starts to the next physical sector.
fn distance(offset: u64, physical: Unit) -> Bytes {
    let rest = offset % physical.get();
    Bytes::new((physical.get() - rest) % physical.get())
}

/// 512 of `Not Aligned (0x200)`.
fn offset_in(field: &Field<'_>) -> Option<u64> {
    let (_, rest) = field.value.split_once('(')?;
    let offset = number::whole(rest.split(')').next()?)?;
    (offset != UNKNOWN).then_some(offset)
}

/// What Windows says where it does not know (`SSINFO_OFFSET_UNKNOWN`).
const UNKNOWN: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &'static str) -> Line<'static> {
        Line { number: 1, text }
    }

    #[test]
    fn the_first_line_is_known_in_all_languages() {
        for text in [
            "NTFS Volume Serial Number :        0xf2bebd4abebd07dd",
            "NTFS-Volumeseriennummer :          0x3a16ff9d16ff5879",
            "Numéro de série du volume NTFS :   0x3a16ff9d16ff5879",
            "NTFS ボリューム シリアル番号 :      0x3a16ff9d16ff5879",
        ] {
            assert!(is_serial(&line(text), "NTFS"), "{text}");
        }
        assert!(is_serial(
            &line("REFS Volume Serial Number :  0x4e32fc4432fc3317"),
            "REFS"
        ));
        assert!(!is_serial(&line("NTFS Version   :   3.1"), "NTFS"));
    }

    #[test]
    fn numbers_of_sectors_are_not_taken_for_bytes() {
        let count = |text| Field::new(&line(text)).and_then(|field| field.count());
        assert_eq!(
            count("Total Sectors : 974,559,073  (464.7 GB)"),
            Some(974_559_073)
        );
        assert_eq!(
            count("Sektoren gesamt : 974.559.073 (464,7 GB)"),
            Some(974_559_073)
        );
        assert_eq!(
            count("Number Sectors : 0x000000000a2397ff"),
            Some(0xa23_97ff)
        );
        let bytes = |text| Field::new(&line(text)).and_then(|field| field.bytes());
        assert_eq!(bytes("Bytes Per Sector :  512"), Some(512));
        assert_eq!(bytes("Total Clusters : 121,819,884  (464.7 GB)"), None);
        assert_eq!(bytes("Total Clusters : 0x00000000014472ff"), None);
    }

    #[test]
    fn boundaries_lie_where_the_first_whole_sector_starts() {
        let unit = Unit::B4096;
        assert_eq!(distance(0, unit).get(), 0);
        assert_eq!(distance(512, unit).get(), 3584);
        assert_eq!(distance(4096, unit).get(), 0);
        let field = Field::new(&line("Device Alignment : Not Aligned (0x200)")).expect("a field");
        assert_eq!(offset_in(&field), Some(512));
    }
}
