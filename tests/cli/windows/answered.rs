//! Disks that a driver answers for, by the numbers and structures of the system's own headers: that the calls are made as the
//! system takes them, and that what they bring is read as it is from a captured host.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use straddle_testkit::windows::made;

use super::Host;
use crate::support::{repository, scratch, sh, straddle, tool, wine};

/// The driver, built once.
fn driver() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let driver = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers.sys");
        let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
        compiler
            .args([
                "-Wall",
                "-Wextra",
                "-Wno-unused-parameter",
                "-Werror",
                "-O1",
            ])
            .arg("-I/usr/share/mingw-w64/include/ddk")
            .args(["-shared", "-nostdlib", "-nostartfiles"])
            .args(["-Wl,--subsystem,native", "-Wl,--entry,DriverEntry", "-o"])
            .arg(&driver)
            .arg(repository().join("tests/cli/windows/driver.c"))
            .args(["-lntoskrnl", "-lhal"]);
        tool("gcc-mingw-w64-x86-64", &mut compiler);
        driver
    })
}

/// A machine whose answers are kept in a folder as a capture has them.
struct Answered {
    host: Host,
    folder: PathBuf,
}

impl Answered {
    fn new() -> Answered {
        let host = Host::new();
        let folder = host.prefix.join("drive_c/answers");
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(host.prefix.join("drive_c/host.tgz"));
        std::fs::create_dir_all(&folder).expect("writable");
        std::fs::copy(driver(), host.prefix.join("drive_c/answers.sys")).expect("writable");
        Answered { host, folder }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(path, bytes).expect("writable");
    }

    /// Runs the program once the driver has started: it ends with the last program of the session.
    fn straddle(&self, args: &str) -> (String, String) {
        let exe = self.host.prefix.join("drive_c/straddle.exe");
        std::fs::copy(wine::straddle_exe(), &exe).expect("writable");
        let lines = format!(
            "@echo off\r\nsc create answers type= kernel start= demand binPath= C:\\answers.sys > nul\r\n\
             net start answers > C:\\started.txt\r\nC:\\straddle.exe {args} > C:\\out.txt 2> C:\\err.txt\r\n\
             exit /b 0\r\n"
        );
        let file = |name: &str| self.host.prefix.join("drive_c").join(name);
        std::fs::write(file("run.cmd"), lines).expect("writable");
        let mut run = wine::wine_in(&self.host.prefix);
        tool("wine", run.args(["cmd", "/c", r"C:\run.cmd"]));
        let text = |name: &str| {
            let bytes = std::fs::read(file(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
        };
        let started = text("started.txt");
        assert!(started.contains("started successfully"), "{started}");
        (text("out.txt"), text("err.txt"))
    }

    /// The questions that the driver was asked.
    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("calls.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// A disk of NVMe with an NTFS at sector 63, and a logical partition.
fn server(answered: &Answered) {
    answered.put("disks", b"9\n");
    for (name, answer) in [
        ("geometry", "geometry_mbr"),
        ("layout", "layout_mbr"),
        ("alignment", "alignment_offset"),
        ("device", "device_nvme"),
        ("adapter", "adapter"),
        ("seek-penalty", "seek_penalty"),
        ("write-cache", "cache"),
        ("nvme-namespace", "nvme_namespace"),
    ] {
        answered.put(&format!("disk/9/{name}"), &made(answer).bytes);
    }
    answered.put("disk/9/length", b"refused: 5 Access is denied.");
}

/// What can be read of that disk: a table that sfdisk writes, of the partitions that Windows names, but for where the first begins.
fn readable(answered: &Answered, first: u64) {
    let path = answered.folder.join("disk/9/bytes");
    let file = std::fs::File::create(&path).expect("writable");
    file.set_len(500_107_862_016).expect("a hole");
    let table = format!(
        "label: dos\nlabel-id: 0xa1b2c3d4\nstart={first}, size={}, type=7, bootable\n\
         start=209715200, size=104857600, type=f\nstart=209717248, size=104853544, type=c\n",
        209_710_908 - first
    );
    std::fs::write(answered.folder.join("table"), table).expect("writable");
    sh(
        &answered.folder,
        "sfdisk --quiet --no-reread --force disk/9/bytes < table",
    );
}

const DISK: &str = r"\\.\PhysicalDrive9";

#[test]
fn every_question_is_asked_as_the_system_wants_it() {
    let answered = Answered::new();
    server(&answered);
    let (report, errors) = answered.straddle(&format!("check {DISK}"));
    assert!(errors.is_empty(), "{errors}");
    insta::assert_snapshot!("windows-not-elevated", report);
    // Which are asked again for the bytes of the disk is no matter here.
    let mut calls = answered.calls();
    calls.sort();
    calls.dedup();
    insta::assert_snapshot!("windows-questions", calls.join("\n"));
}

#[test]
fn a_capture_says_elsewhere_what_was_said_there() {
    let answered = Answered::new();
    server(&answered);
    let (_, errors) = answered.straddle(r"capture -o C:\host.tgz");
    assert!(errors.contains("no serial numbers"), "{errors}");
    let (there, _) = answered.straddle("check --json");
    let folder = scratch();
    let kept = folder.path().join("host.tgz");
    std::fs::copy(answered.host.prefix.join("drive_c/host.tgz"), &kept).expect("it was written");
    let here = straddle(folder.path(), &["check", "--sysroot", "host.tgz", "--json"]);
    // What is on the disks is not captured, and could not be read there.
    let of_disk = |text: &str| {
        let document: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let target = document["targets"][0].clone();
        let findings = target["findings"].as_array().expect("findings").clone();
        let said = |finding: &serde_json::Value| {
            let of_contents = finding["code"] == "STR903";
            (!of_contents).then(|| finding.to_string())
        };
        findings.iter().filter_map(said).collect::<Vec<_>>()
    };
    let (there, here) = (of_disk(&there), of_disk(&here.stdout));
    assert!(there.len() >= 3, "{there:?}");
    assert_eq!(there, here);
}

#[test]
fn the_table_on_the_disk_is_compared_with_the_one_that_windows_keeps() {
    let answered = Answered::new();
    server(&answered);
    readable(&answered, 63);
    let (same, errors) = answered.straddle(&format!("check {DISK}"));
    assert!(errors.is_empty(), "{errors}");
    insta::assert_snapshot!("windows-elevated", same);
    assert!(!same.contains("STR901"), "{same}");
    readable(&answered, 2048);
    let (other, _) = answered.straddle(&format!("check {DISK}"));
    for said in [
        "Windows has disk 9 partition 1, and no partition begins there in the table on the disk",
        "the table on the disk has partition 1, which Windows does not have",
    ] {
        assert!(other.contains(said), "{said}: {other}");
    }
}

/// Drivers that refuse, that have no medium, that break off: each is said, and the others are told all the same.
#[test]
fn disks_that_refuse_keep_nobody_from_the_others() {
    let answered = Answered::new();
    server(&answered);
    answered.put("disks", b"9\n10\n11\n12\n13\n");
    for (disk, refusal) in [
        (10, "5 Access is denied."),
        (11, "21 The device is not ready."),
        (12, "55 The device is no longer available."),
        (
            13,
            "1117 The request could not be performed because of an I/O device error.",
        ),
    ] {
        for what in ["geometry", "layout", "alignment", "device", "length"] {
            let text = format!("refused: {refusal}");
            answered.put(&format!("disk/{disk}/{what}"), text.as_bytes());
        }
    }
    // An answer that breaks off in the middle.
    answered.put("disk/9/device", &made("device_nvme").bytes[..20]);
    let (report, errors) = answered.straddle("check");
    assert!(errors.is_empty(), "{errors}");
    for said in [
        "disk 9 partition 1 starts inside",
        "disk 10: its partition table is not read: Access denied. (error 5); an elevated prompt",
        "disk 11: its partition table is not read: ",
        "disk 12: its partition table is not read: ",
        "disk 13: its partition table is not read: ",
        "StorageDeviceProperty answers what cannot be",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

/// As many disks as are tried.
#[test]
fn a_hundred_and_twenty_eight_disks() {
    let answered = Answered::new();
    let mut list = String::new();
    // Disk 0 is Wine's own.
    for disk in 1..128 {
        list.push_str(&format!("{disk}\n"));
        let layout = match disk {
            127 => "layout_mbr",
            _ => "layout_raw",
        };
        for (name, answer) in [("geometry", "geometry_mbr"), ("layout", layout)] {
            answered.put(&format!("disk/{disk}/{name}"), &made(answer).bytes);
        }
    }
    answered.put("disks", list.as_bytes());
    let (report, errors) = answered.straddle("check --json");
    assert!(errors.is_empty(), "{errors}");
    let document: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let stack = document["targets"][0]["stack"]
        .as_array()
        .expect("layers")
        .clone();
    let of = |kind: &str| stack.iter().filter(|layer| layer["kind"] == kind).count();
    assert_eq!(of("device"), 128);
    assert_eq!(of("partition"), 3);
}
