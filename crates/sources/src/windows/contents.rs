//! What lies on the disks of this machine, read by whoever may: partition tables, boot sectors, databases of dynamic disks and of pools;
//! and whether the system says the same of them.

use std::path::Path;

use straddle_geometry::Bytes;
use straddle_io::{OpenError, Target, is_shared_with_nobody};
use straddle_probe::volume::Member;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerId, LayerKind, Stack, Trust};

use super::dynamic::{self, called};
use super::machine::{self, Mounted};
use super::question::{Ask, NoAnswer, Of};
use crate::contents::{Known, Read, assemble, assemble_all, inspect, look_into_file};
use crate::guest::Ground;
use crate::linux::{NoDevice, Root};
use crate::metadata::Device;
use crate::pages::remembered;
use crate::{Settings, SourceError};

/// A machine whose system has told of its disks and volumes.
struct Machine<'a> {
    stack: &'a mut Stack,
}

impl Ground for Machine<'_> {
    fn stack(&mut self) -> &mut Stack {
        self.stack
    }

    fn file(&mut self, target: &Target) -> Result<LayerId, String> {
        let layer = Layer::new(LayerKind::File, target.path().display().to_string());
        Ok(self.stack.push(layer))
    }
}

impl Known for Machine<'_> {
    fn push(&mut self, layer: Layer) -> LayerId {
        self.stack.push(layer)
    }
}

/// Puts what is read from the disks beside what the system says of them. `disks` are their numbers.
pub(super) fn add(root: &Root, stack: &mut Stack, disks: &[u32], volumes: &[Mounted]) {
    let mut machine = Machine { stack };
    let mut left: Vec<Read> = Vec::new();
    for number in disks {
        let Some(id) = called(machine.stack, &super::disk::title(*number)) else {
            continue;
        };
        let path = format!(r"\\.\PhysicalDrive{number}");
        match root.device(&format!("PhysicalDrive{number}"), Path::new(&path)) {
            Ok(None) => {}
            Ok(Some(device)) => {
                let told = partitions(machine.stack, id);
                let Some(read) = look_into(&mut machine, id, device) else {
                    continue;
                };
                if read.has_table {
                    compare(machine.stack, id, &told, &read.partitions);
                    // Here it is, whoever did not tell.
                    let layer = machine.stack.layer_mut(id);
                    layer
                        .anomalies
                        .retain(|anomaly| !anomaly.detail.starts_with(super::disk::NO_TABLE));
                }
                left.push(read);
            }
            Err(error) => not_read(machine.stack.layer_mut(id), error),
        }
    }
    // What is in a volume is read from its disks, where these are known.
    for mounted in volumes {
        let found = called(machine.stack, &super::volume::title(mounted));
        let on_nothing = |id: &LayerId| machine.stack.layer(*id).below.is_empty();
        let Some(id) = found.filter(on_nothing) else {
            continue;
        };
        let name = mounted
            .path
            .trim_matches(|c: char| !c.is_alphanumeric() && c != '}');
        let name = name.replace(['\\', '/'], "!");
        match root.device(&name, Path::new(&device(mounted))) {
            Ok(None) => {}
            Ok(Some(device)) => {
                left.extend(look_into(&mut machine, id, device));
            }
            Err(error) => not_read(machine.stack.layer_mut(id), error),
        }
    }
    // Windows tells of the volumes of dynamic disks where they lie, and the databases how.
    let is_dynamic = |member: &Member| member.format.name == "ldm";
    let is_dynamic = |read: &Read| read.members.iter().any(is_dynamic);
    let (dynamic, other) = left.into_iter().partition(is_dynamic);
    assemble(&mut machine, other);
    assemble_all(&mut machine, dynamic);
    let named: Vec<String> = volumes.iter().map(super::volume::title).collect();
    *stack = dynamic::joined(stack, &named);
}

/// Puts what is in a file on its layer: read on the live host, remembered in a captured one.
///
/// # Errors
/// As [`look_into_file`].
pub(super) fn of_file(
    root: &Root,
    stack: &mut Stack,
    id: LayerId,
    path: &str,
    settings: &Settings,
) -> Result<(), SourceError> {
    let pages = || machine::Machine::new(root).ask(&Of::File(path.to_owned()), Ask::Pages);
    if !root.is_live() {
        add_remembered_pages(stack, id, pages());
        return Ok(());
    }
    if root.is_recording() {
        // Asked for the sake of whoever reads the capture; here the file itself is read.
        let _ = pages();
    }
    let mut machine = Machine { stack };
    match Target::open(Path::new(path)) {
        Ok(target) => look_into_file(&mut machine, id, target, settings),
        Err(error) => {
            not_opened(machine.stack.layer_mut(id), &error);
            Ok(())
        }
    }
}

fn add_remembered_pages(stack: &mut Stack, id: LayerId, answer: Result<Vec<u8>, NoAnswer>) {
    match answer {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if let Some(layer) = remembered(stack, id, Ask::Pages.call(), &text) {
                stack.push(layer);
            }
        }
        Err(why) if why.is_shared_with_nobody() => {
            stack.layer_mut(id).anomalies.push(shared_with_nobody());
        }
        Err(_) => {}
    }
}

/// A volume as a device, by its letter where it has one.
fn device(mounted: &Mounted) -> String {
    let letter = |at: &&String| matches!(at.as_bytes(), [_, b':', b'\\']);
    match mounted.at.iter().find(letter) {
        Some(at) => format!(r"\\.\{}", at.trim_end_matches('\\')),
        None => mounted.path.trim_end_matches('\\').to_owned(),
    }
}

/// Puts what is on a device on its layer. What it tells goes before what was assumed.
fn look_into(machine: &mut Machine<'_>, id: LayerId, device: Device) -> Option<Read> {
    let size = device.bytes.size();
    let layer = machine.stack.layer_mut(id);
    layer.grids.retain(|grid| grid.grid.trust != Trust::Assumed);
    if layer.size.is_none() && size > Bytes::ZERO {
        // The system does not tell, and whoever opens it finds out.
        let text = format!("{} bytes", size.get());
        layer.size = Some(Fact::answered(size, "CreateFile", text));
    }
    let read = inspect(machine, id, device);
    crate::sectors::assume_sectors(machine.stack, id);
    read
}

/// The partitions of a disk in the table that Windows keeps of it, where each has its type; the volumes of dynamic disks are in none.
fn partitions(stack: &Stack, disk: LayerId) -> Vec<LayerId> {
    let is_listed = |id: &LayerId| {
        let layer = stack.layer(*id);
        layer.kind == LayerKind::Partition && layer.attribute(Key::PartitionType).is_some()
    };
    stack.above(disk).filter(is_listed).collect()
}

/// Says in what the table on a disk and the one that Windows keeps of it do not agree: the disk was written to behind its back, or it
/// takes the table otherwise.
fn compare(stack: &mut Stack, disk: LayerId, told: &[LayerId], in_table: &[LayerId]) {
    let name = |id: &LayerId| stack.layer(*id).name.clone();
    let missing = told.iter().filter(|id| !in_table.contains(id)).map(|id| {
        format!(
            "Windows has {}, and no partition begins there in the table on the disk; `rescan` of diskpart reads it again",
            name(id)
        )
    });
    // Windows may have told of no partition at all.
    let news = in_table
        .iter()
        .filter(|id| !told.is_empty() && !told.contains(id));
    let news = news.map(|id| {
        format!(
            "the table on the disk has {}, which Windows does not have; `rescan` of diskpart reads it again",
            name(id)
        )
    });
    let all: Vec<String> = missing.chain(news).collect();
    let all = all
        .into_iter()
        .map(|detail| Anomaly::new(AnomalyKind::CopiesDiffer, detail));
    stack.layer_mut(disk).anomalies.extend(all);
}

fn not_read(layer: &mut Layer, error: NoDevice) {
    match error {
        NoDevice::Os(error) => not_opened(layer, &error),
        NoDevice::Damaged(why) => {
            let damaged = Anomaly::new(AnomalyKind::Unreadable, why);
            layer.anomalies.push(damaged);
        }
    }
}

fn not_opened(layer: &mut Layer, error: &OpenError) {
    let OpenError::Os { source, .. } = error else {
        return;
    };
    let anomaly = match source.kind() {
        _ if is_shared_with_nobody(source) => shared_with_nobody(),
        std::io::ErrorKind::PermissionDenied => Anomaly::new(
            AnomalyKind::Missing,
            "its contents (partition table, boot sectors, databases of dynamic disks and pools) may not be read by this user; run from an elevated prompt (Run as administrator) to check them",
        ),
        // A reader without a card.
        _ if source.raw_os_error() == Some(NOT_READY) => return,
        _ => Anomaly::new(AnomalyKind::Unreadable, error.to_string()),
    };
    layer.anomalies.push(anomaly);
}

/// As SQL Server has its files.
fn shared_with_nobody() -> Anomaly {
    Anomaly::new(
        AnomalyKind::Missing,
        "another program has it open and shares it with nobody, so that what is in it (pages of a database, a guest) is not read; where it lies is asked of the filesystem all the same",
    )
}

/// `ERROR_NOT_READY`.
const NOT_READY: i32 = 21;
