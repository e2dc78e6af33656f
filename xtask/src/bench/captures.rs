//! `cargo xtask bench captures`: a folder of captures, each of a server of its own, summed up; beside the reading of the
//! same files and a search in them. And how much memory it needs for two numbers of files.

use anyhow::Result;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::measure::{Series, interleaved, peak_kib, summary};
use super::{Scratch, as_f64};
use crate::run::{cargo, repository, run};

/// Captures in the folder, and in the small one whose memory is compared.
const CAPTURES: usize = 10_000;
const FEW: usize = 1_000;
const ROUNDS: usize = 10;
/// Least length of one capture, in bytes.
const LENGTH: usize = 20_000;
/// Starts of partitions, in sectors: what the field has.
const STARTS: [u64; 6] = [63, 2048, 64, 128, 2048, 1985];

/// Measures, and archives the figures under benches/.
pub(crate) fn captures() -> Result<()> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    let straddle = repository().join("target/release/straddle");
    let straddle = straddle.to_string_lossy();
    let scratch = Scratch::new()?;
    let mut archive = Archive::new();
    for (kind, capture) in [
        ("Windows", windows as fn(usize) -> String),
        ("Linux", linux),
    ] {
        let folder = make(&scratch.0, kind, CAPTURES, capture)?;
        let few = make(&scratch.0, &format!("{kind}-few"), FEW, capture)?;
        let (path, few) = (folder.to_string_lossy(), few.to_string_lossy());
        let cat = format!("find {path} -type f -print0 | xargs -0 cat > /dev/null");
        let grep = format!("grep -rcE 'StartingOffset=|\"start\":' {path} > /dev/null");
        let tools = [
            ("cat", vec!["sh", "-c", &cat]),
            ("straddle check --summary", summary(&straddle, &path)),
            ("grep -rc for the starts", vec!["sh", "-c", &grep]),
        ];
        let series = interleaved(&tools, ROUNDS)?;
        let bytes = folder_bytes(&folder)?;
        let note = format!(
            "{CAPTURES} files of one folder in the page cache, {:.1} KB each",
            as_f64(bytes) / as_f64(CAPTURES) / 1e3
        );
        archive.section(&format!("{kind} captures"), "s", &note, &series);
        let mut memory = [
            (Series::new(&format!("{FEW} captures")), &few),
            (Series::new(&format!("{CAPTURES} captures")), &path),
        ];
        for _ in 0..3 {
            for (series, path) in &mut memory {
                series.push(peak_kib(&summary(&straddle, path))?);
            }
        }
        archive.section(
            &format!("Peak memory: {kind} captures"),
            "KiB",
            "resident, a process each",
            &memory.map(|(series, _)| series),
        );
    }
    archive.write("captures", "cargo xtask bench captures")
}

fn make(scratch: &Path, name: &str, count: usize, capture: fn(usize) -> String) -> Result<PathBuf> {
    let folder = scratch.join(name);
    std::fs::create_dir(&folder)?;
    for server in 0..count {
        std::fs::write(folder.join(format!("srv{server:05}.txt")), capture(server))?;
    }
    Ok(folder)
}

fn folder_bytes(folder: &Path) -> Result<usize> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += usize::try_from(entry?.metadata()?.len())?;
    }
    Ok(bytes)
}

fn start(server: usize, disk: usize) -> u64 {
    STARTS[(server + disk * 7) % STARTS.len()]
}

/// What `wmic diskdrive`, `wmic partition list full` and `fsutil` print on a server with as many disks as make the length.
fn windows(server: usize) -> String {
    let mut out = format!("### host: SRV{server:05}\r\n### command: wmic partition list full\r\n");
    let mut disk = 0;
    while out.len() < LENGTH - 1200 {
        let sector = start(server, disk);
        let sectors = 976_773_168 - sector - 2048;
        let _ = write!(
            out,
            "\r\n\r\nAccess=\r\nAvailability=\r\nBlockSize=512\r\nBootable=FALSE\r\nBootPartition=FALSE\r\n\
             Caption=Disk #{disk}, Partition #0\r\nConfigManagerErrorCode=\r\nConfigManagerUserConfig=\r\n\
             CreationClassName=Win32_DiskPartition\r\nDescription=Installable File System\r\n\
             DeviceID=Disk #{disk}, Partition #0\r\nDiskIndex={disk}\r\nErrorCleared=\r\nErrorDescription=\r\n\
             ErrorMethodology=\r\nHiddenSectors=\r\nIndex=0\r\nInstallDate=\r\nLastErrorCode=\r\n\
             Name=Disk #{disk}, Partition #0\r\nNumberOfBlocks={sectors}\r\nPNPDeviceID=\r\n\
             PowerManagementCapabilities=\r\nPowerManagementSupported=\r\nPrimaryPartition=TRUE\r\nPurpose=\r\n\
             RewritePartition=\r\nSize={}\r\nStartingOffset={}\r\nStatus=\r\nStatusInfo=\r\n\
             SystemCreationClassName=Win32_ComputerSystem\r\nSystemName=SRV{server:05}\r\nType=Installable File System\r\n",
            sectors * 512,
            sector * 512
        );
        disk += 1;
    }
    let clusters = (976_773_168 - 4096) / 8;
    let _ = write!(
        out,
        "\r\n### command: fsutil fsinfo ntfsinfo C:\r\n\
         NTFS Volume Serial Number :       0x{:016x}\r\nVersion :                         3.1\r\n\
         Number Sectors :                  0x{:016x}\r\nTotal Clusters :                  0x{clusters:016x}\r\n\
         Free Clusters  :                  0x0000000000a447ff\r\nTotal Reserved :                  0x0000000000000980\r\n\
         Bytes Per Sector  :               512\r\nBytes Per Cluster :               4096\r\n\
         Bytes Per FileRecord Segment    : 1024\r\nClusters Per FileRecord Segment : 0\r\n\
         Mft Valid Data Length :           0x0000000007c90000\r\n",
        0x3a16_ff9d_16ff_0000_u64 + server as u64,
        clusters * 8,
    );
    out
}

/// What `lsblk -JO` prints on a server with as many disks as make the length.
fn linux(server: usize) -> String {
    let mut disks = Vec::new();
    let mut length = 0;
    while length < LENGTH - 200 {
        let disk = disks.len();
        let name = format!(
            "sd{}",
            char::from(b'a' + u8::try_from(disk % 26).unwrap_or(0))
        );
        let sector = start(server, disk);
        let partition = device(&format!("{name}1"), Some((&name, sector)), server, 12);
        let mut text = device(&name, None, server, 6);
        text.truncate(text.len() - 8);
        let _ = write!(
            text,
            ",\n         \"children\": [\n            {partition}\n         ]\n      }}"
        );
        length += text.len();
        disks.push(text);
    }
    format!(
        "### host: srv{server:05}\n### command: lsblk -JO\n{{\n   \"blockdevices\": [\n      {}\n   ]\n}}\n",
        disks.join(",")
    )
}

/// A device in the words of lsblk, with all its columns.
fn device(name: &str, on: Option<(&str, u64)>, server: usize, indent: usize) -> String {
    let pad = " ".repeat(indent + 3);
    let text = |value: &str| format!("\"{value}\"");
    let (parent, start, kind) = match on {
        Some((parent, start)) => (text(parent), start.to_string(), "part"),
        None => ("null".to_owned(), "null".to_owned(), "disk"),
    };
    let serial = match on {
        Some(_) => "null".to_owned(),
        None => format!("\"S{server:05}{name}\""),
    };
    let mut fields: Vec<(&str, String)> = vec![
        ("alignment", "0".to_owned()),
        ("disc-aln", "0".to_owned()),
        ("dax", "false".to_owned()),
        ("disc-gran", text("0B")),
        ("disc-max", text("0B")),
        (
            "fstype",
            if on.is_some() {
                text("ext4")
            } else {
                "null".to_owned()
            },
        ),
        ("hctl", text("0:0:0:0")),
        ("hotplug", "false".to_owned()),
        ("kname", text(name)),
        ("log-sec", "512".to_owned()),
        ("maj:min", text("8:0")),
        ("min-io", "4096".to_owned()),
        ("mode", text("brw-rw----")),
        ("model", text("ST500DM002-1BD142")),
        ("name", text(name)),
        ("opt-io", "0".to_owned()),
        ("owner", text("root")),
        ("partlabel", "null".to_owned()),
        ("path", text(&format!("/dev/{name}"))),
        ("phy-sec", "4096".to_owned()),
        ("pkname", parent),
        ("pttype", text("dos")),
        ("ra", "128".to_owned()),
        ("rota", "true".to_owned()),
        ("rq-size", "64".to_owned()),
        ("sched", text("mq-deadline")),
        ("serial", serial),
        ("size", text("465.8G")),
        ("start", start),
        ("state", text("running")),
        ("subsystems", text("block:scsi:pci")),
        ("tran", text("sata")),
        ("type", text(kind)),
        ("vendor", text("ATA     ")),
        ("wsame", text("0B")),
        ("zoned", text("none")),
    ];
    fields.sort();
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(key, value)| format!("{pad}\"{key}\": {value}"))
        .collect();
    let end = " ".repeat(indent);
    format!("{{\n{}\n{end}}}", fields.join(",\n"))
}
