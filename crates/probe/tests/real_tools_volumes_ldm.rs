//! Dynamic disks: what is read of them is compared with what `ldmtool` (libldm) reads of the same images: volumes, types,
//! sizes, stripe units, drive letters, and on which disk each partition lies and where. The data that the maker put into
//! the volumes must lie where their maps say.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use straddle_geometry::{Bytes, Map};
use straddle_io::Reader;
use straddle_probe::volume::{Assembly, Below, Holds, Node, Part};
use straddle_probe::{Window, registry};
use straddle_stack::{AnomalyKind, Key};
use straddle_testkit::ldm;

const GUID: &str = "0a0b0c0d-1111-2222-3333-444455556666";
const SECTOR: u64 = 512;

/// What a volume is: type, sectors, stripe unit in sectors, drive letter, and for each piece in order the disk and the sector.
type Seen = (String, u64, u64, String, Vec<(String, u64)>);

/// Gives commands to ldmtool; one answer for each.
fn ldmtool(directory: &Path, commands: &[String]) -> Vec<Json> {
    let mut child = Command::new("ldmtool")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("ldmtool: {error}; this test needs the Debian package ldmtool")
        });
    let mut input = child.stdin.take().expect("piped");
    for command in commands {
        writeln!(input, "{command}").expect("it reads");
    }
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<Json> = text
        .split("ldm> ")
        .map(|part| {
            part.strip_prefix(commands_echo(part))
                .unwrap_or(part)
                .trim()
        })
        .filter(|part| !part.is_empty())
        .map(|part| {
            let json = part.find(['{', '[']).map_or(part, |at| &part[at..]);
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {part}"))
        })
        .collect();
    assert_eq!(answers.len(), commands.len(), "{commands:?}: {text}");
    answers
}

/// The command that an interactive prompt repeats.
fn commands_echo(part: &str) -> &str {
    let line = part.lines().next().unwrap_or("");
    let is_command = line.starts_with("scan") || line.starts_with("show");
    if is_command { line } else { "" }
}

fn text(json: &Json, key: &str) -> String {
    json[key].as_str().unwrap_or_default().to_owned()
}

fn list(json: &Json, key: &str) -> Vec<String> {
    let all = json[key].as_array().expect("a list");
    all.iter()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

/// The volumes as ldmtool has them.
fn theirs(directory: &Path, images: &[String]) -> BTreeMap<String, Seen> {
    let scan = format!("scan {}", images.join(" "));
    let group = format!("show diskgroup {GUID}");
    let found = ldmtool(directory, &[scan.clone(), group]);
    let (volumes, disks) = (list(&found[1], "volumes"), list(&found[1], "disks"));
    let show = |what: &str, names: &[String]| -> Vec<Json> {
        let shown = names
            .iter()
            .map(|name| format!("show {what} {GUID} {name}"));
        let commands: Vec<String> = [scan.clone()].into_iter().chain(shown).collect();
        ldmtool(directory, &commands).split_off(1)
    };
    let disks: BTreeMap<String, Json> = disks.iter().cloned().zip(show("disk", &disks)).collect();
    let mut seen = BTreeMap::new();
    for volume in show("volume", &volumes) {
        let parts = show("partition", &list(&volume, "partitions"));
        let places = parts.iter().map(|part| {
            let disk = &disks[&text(part, "disk")];
            let data = disk["data-start"].as_u64().unwrap_or(0);
            let start = part["start"].as_u64().expect("a number");
            (text(disk, "guid"), data + start)
        });
        let number = |key: &str| volume[key].as_u64().expect("a number");
        seen.insert(
            text(&volume, "name"),
            (
                text(&volume, "type").to_lowercase(),
                number("size"),
                number("chunk-size"),
                text(&volume, "hint"),
                places.collect(),
            ),
        );
    }
    seen
}

struct Ours {
    /// GUIDs of the parts.
    parts: Vec<String>,
    assembly: Assembly,
}

fn assembled(disks: &[(String, Vec<u8>)]) -> Ours {
    let format = registry::VOLUMES
        .iter()
        .find(|format| format.name == "ldm")
        .expect("it is registered");
    let readers: Vec<Reader<'_>> = disks.iter().map(|(_, bytes)| Reader::new(bytes)).collect();
    let mut names = Vec::new();
    let mut parts = Vec::new();
    for (reader, (name, _)) in readers.iter().zip(disks) {
        let window = Window::whole(reader, None);
        let found = format
            .run(&window)
            .expect("readable")
            .unwrap_or_else(|| panic!("{name} is not recognised"));
        assert_eq!(found.set, GUID);
        assert!(found.detected.anomalies.is_empty(), "{:?}", found.detected);
        names.push(found.member);
        parts.push(Part {
            window,
            name,
            serial: None,
        });
    }
    let assembly = (format.assemble)(&parts).expect("readable");
    Ours {
        parts: names,
        assembly,
    }
}

impl Ours {
    fn disk(&self, below: &Below) -> String {
        match below {
            Below::Part(index) => self.parts[*index].clone(),
            Below::Missing(name) => {
                let guid = name.split(['(', ')']).nth(1).expect("its GUID");
                guid.to_owned()
            }
            Below::Node(_) => panic!("none of these has layers between"),
        }
    }

    fn seen(&self) -> BTreeMap<String, Seen> {
        let of = |node: &Node| {
            let layer = &node.layer;
            let level = layer.text(Key::Level).expect("a level");
            let places = |starts: &[Bytes]| {
                let disks = node.below.iter().map(|below| self.disk(below));
                disks
                    .zip(starts.iter().map(|start| start.get() / SECTOR))
                    .collect()
            };
            let (unit, places) = match &layer.map {
                Map::Linear { start } => (0, places(&[*start])),
                Map::Segments(pieces) => {
                    let place = |piece: &straddle_geometry::Segment| {
                        let disk = self.disk(&node.below[piece.target]);
                        (disk, piece.lower.get() / SECTOR)
                    };
                    (0, pieces.iter().map(place).collect())
                }
                Map::Striped(striping) => (striping.unit.get() / SECTOR, places(&striping.starts)),
                Map::Raid(raid) => {
                    let unit = match level {
                        "raid5" => raid.unit.get() / SECTOR,
                        _ => 0,
                    };
                    (unit, places(&raid.starts))
                }
                Map::Blocks(_) => panic!("no such map"),
            };
            let level = match level {
                "raid0" => "striped",
                "raid1" => "mirrored",
                other => other,
            };
            let seen = (
                level.to_owned(),
                layer.size.as_ref().expect("a size").value.get() / SECTOR,
                unit,
                layer.text(Key::DriveLetter).unwrap_or_default().to_owned(),
                places,
            );
            (layer.name.clone(), seen)
        };
        self.assembly.nodes.iter().map(of).collect()
    }
}

#[test]
fn volumes_are_those_that_ldmtool_reads() {
    let mut compared = 0;
    for (name, description) in ldm::descriptions() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let disks = ldm::make(directory.path(), &description);
        let images: Vec<String> = disks
            .iter()
            .map(|(name, _)| format!("{name}.img"))
            .collect();
        let ours = assembled(&disks);
        assert_eq!(ours.seen(), theirs(directory.path(), &images), "{name}");
        for node in &ours.assembly.nodes {
            let missing = node.below.iter().any(|b| matches!(b, Below::Missing(_)));
            let expected = if missing {
                &[AnomalyKind::Missing][..]
            } else {
                &[]
            };
            let odd: Vec<AnomalyKind> = node.layer.anomalies.iter().map(|o| o.kind).collect();
            assert_eq!(odd, expected, "{name}: {:?}", node.layer.anomalies);
            assert_eq!(node.holds, Holds::Volume, "{name}");
        }
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} configurations");
}

#[test]
fn data_lie_where_the_maps_say() {
    for (name, description) in ldm::descriptions() {
        if description.contains("missing=1") {
            continue;
        }
        let directory = tempfile::tempdir().expect("temporary directory");
        // Each volume gets data of its own.
        let mut contents = BTreeMap::new();
        let mut lines = Vec::new();
        for (number, line) in (1_u32..).zip(description.lines()) {
            let Some(rest) = line.strip_prefix("volume ") else {
                lines.push(line.to_owned());
                continue;
            };
            let volume = rest.split(' ').next().expect("a name");
            let size = rest
                .split(' ')
                .find_map(|word| word.strip_prefix("size="))
                .and_then(|size| size.parse::<u32>().ok())
                .expect("a size");
            // Sector n holds n and the number of the line.
            let data: Vec<u8> = (0..size)
                .flat_map(|sector| {
                    [sector.to_le_bytes(), number.to_le_bytes()]
                        .repeat(64)
                        .concat()
                })
                .collect();
            let path = directory.path().join(format!("{number}.data"));
            fs::write(&path, &data).expect("writable");
            lines.push(format!("{line} data={}", path.display()));
            contents.insert(volume.to_owned(), data);
        }
        let disks = ldm::make(directory.path(), &lines.join("\n"));
        let ours = assembled(&disks);
        for node in &ours.assembly.nodes {
            let data = &contents[&node.layer.name];
            let part = |target: usize| match node.below[target] {
                Below::Part(index) => &disks[index].1,
                _ => panic!("{name}: nothing is missing"),
            };
            let at = |target: usize, offset: Bytes| {
                let offset = usize::try_from(offset.get()).expect("small");
                &part(target)[offset..offset + 512]
            };
            for (number, sector) in (0_u64..).zip(data.chunks(512)) {
                let upper = Bytes::new(number * SECTOR);
                let there = node.layer.map.locate(upper).expect("no holes");
                assert!(there.run.get() >= SECTOR);
                let found = at(there.target, there.offset);
                assert_eq!(found, sector, "{name}: {} {number}", node.layer.name);
                // Every copy, and the parity of the row.
                let Map::Raid(raid) = &node.layer.map else {
                    continue;
                };
                let reaches = raid.reaches(upper);
                if node.layer.text(Key::Level) == Some("raid1") {
                    assert_eq!(reaches.len(), node.below.len());
                    for reach in reaches {
                        assert_eq!(at(reach.column, reach.offset), sector, "{name}");
                    }
                    continue;
                }
                let below = reaches[0].offset.get() - raid.starts[reaches[0].column].get();
                let mut sum = [0; 512];
                for (column, start) in raid.starts.iter().enumerate() {
                    let piece = at(column, Bytes::new(start.get() + below));
                    sum.iter_mut().zip(piece).for_each(|(a, b)| *a ^= b);
                }
                assert_eq!(sum, [0; 512], "{name}: parity of row at sector {number}");
            }
        }
    }
}
