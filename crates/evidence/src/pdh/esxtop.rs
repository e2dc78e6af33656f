//! `esxtop -b`: adapters, devices and NFS volumes of a host.

use straddle_stack::activity::{Quantity, Span};

use super::{Factor, Meaning, Path};
use crate::format::{Format, Shape};
use crate::notes::Notes;
use crate::subject::{Subject, SubjectKind};
use crate::table::{Names, Row};

pub(crate) static FORMAT: Format = Format {
    name: "esxtop",
    commands: &["esxtop -b", "resxtop -b"],
    says: "latency of devices, kernel, queue and guests (DAVG, KAVG, QAVG, GAVG), rates and queue length, by adapter, device and volume; latency and rates of \
           the disks of guests",
    shape: Shape::Lines {
        marks: &["(pdh"],
        begins: |line, notes| super::begins(line, notes, meaning, |_| false),
    },
};

fn meaning(path: &Path<'_>) -> Option<Meaning> {
    let kind = match path.object {
        "Physical Disk Adapter" => SubjectKind::Adapter,
        "Physical Disk SCSI Device" => SubjectKind::Disk,
        "Physical Disk NFS Volume" => SubjectKind::Volume,
        // Before ESX 4: an adapter, or a path to a disk.
        "Physical Disk" if path.instance.contains(':') => SubjectKind::Disk,
        "Physical Disk" => SubjectKind::Adapter,
        // `vm:scsi0:1`; the name of a machine alone is the sum of its disks.
        "Virtual Disk" if path.instance.contains(':') => SubjectKind::Disk,
        _ => return None,
    };
    let milli = Factor::Times(1e-3);
    let one = Factor::Times(1.0);
    let mega = Factor::Times(1024.0 * 1024.0);
    let (quantity, factor) = match path.counter {
        "Average Driver MilliSec/Command" => (Quantity::DeviceLatency, milli),
        "Average Kernel MilliSec/Command" => (Quantity::KernelLatency, milli),
        "Average Guest MilliSec/Command" => (Quantity::GuestLatency, milli),
        "Average Queue MilliSec/Command" => (Quantity::QueueLatency, milli),
        "Average MilliSec/Read" => (Quantity::ReadLatency, milli),
        "Average MilliSec/Write" => (Quantity::WriteLatency, milli),
        "Commands/sec" => (Quantity::TransferRate, one),
        "Reads/sec" => (Quantity::ReadRate, one),
        "Writes/sec" => (Quantity::WriteRate, one),
        "MBytes Read/sec" => (Quantity::ReadThroughput, mega),
        "MBytes Written/sec" => (Quantity::WriteThroughput, mega),
        _ => return None,
    };
    Some(Meaning {
        subject: Subject::new(kind, path.instance),
        quantity,
        factor,
    })
}

/// The screens of `esxtop`, copied.
pub(crate) static SCREEN: Format = Format {
    name: "esxtop-screen",
    commands: &["esxtop (d, u, v)"],
    says: "the same of one moment",
    shape: Shape::Table {
        marks: &["davg/cmd", "lat/rd"],
        is: |head| {
            let of_host = head.has_any(&["adaptr", "device", "adapter"]) && head.has(&["davg/cmd"]);
            of_host || head.has(&["vmname", "lat/rd"])
        },
        read: read_screen,
    },
};

/// `vm:scsi0:1`, as in batch files; the machine, where its disks are shown together.
fn disk_of_guest(row: &Row<'_>) -> Option<Subject> {
    let machine = row.text(&["vmname"])?;
    Some(match row.text(&["vdevname"]) {
        Some(disk) => Subject::new(SubjectKind::Disk, &format!("{machine}:{disk}")),
        None => Subject::new(SubjectKind::Disk, machine),
    })
}

fn read_screen(row: &Row<'_>, notes: &mut Notes<'_>) {
    let subject = match (row.text(&["adaptr", "adapter"]), row.text(&["device"])) {
        (Some(adapter), _) => Some(Subject::new(SubjectKind::Adapter, adapter)),
        (None, Some(device)) => Some(Subject::new(SubjectKind::Disk, device)),
        (None, None) => disk_of_guest(row),
    };
    let Some(subject) = subject else {
        return notes.unread(&row.line);
    };
    let at = notes.at(row.line, None);
    let mega = 1024.0 * 1024.0;
    let columns: [(Names, Quantity, f64); 11] = [
        (&["cmds/s"], Quantity::TransferRate, 1.0),
        (&["reads/s"], Quantity::ReadRate, 1.0),
        (&["writes/s"], Quantity::WriteRate, 1.0),
        (&["mbread/s"], Quantity::ReadThroughput, mega),
        (&["mbwrtn/s"], Quantity::WriteThroughput, mega),
        (&["davg/cmd"], Quantity::DeviceLatency, 1e-3),
        (&["kavg/cmd"], Quantity::KernelLatency, 1e-3),
        (&["gavg/cmd"], Quantity::GuestLatency, 1e-3),
        (&["qavg/cmd"], Quantity::QueueLatency, 1e-3),
        (&["lat/rd"], Quantity::ReadLatency, 1e-3),
        (&["lat/wr"], Quantity::WriteLatency, 1e-3),
    ];
    for (column, quantity, factor) in columns {
        if let Some((value, _)) = row.number(column)
            && !super::is_idle(quantity, value)
        {
            notes.add(at, &subject, quantity, Span::Interval, value * factor);
        }
    }
}
