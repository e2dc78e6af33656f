//! What plans say that scripts read, write and need, compared with what they do; and verdicts as the command gives them.

use crate::support::{straddle, tool};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;

fn json(folder: &Path, args: &[&str]) -> Value {
    let run = straddle(folder, &[&["fix"], args, &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).expect("a document")
}

/// Bytes that no program finds anything in, and of which none is like another.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(len);
    out
}

/// An image with such a table, whose partitions (first sector, sectors) hold noise.
fn image(folder: &Path, name: &str, mib: u64, label: &str, partitions: &[(u64, u64)]) {
    use std::os::unix::fs::FileExt;
    let path = folder.join(name);
    let file = fs::File::create(&path).expect("a folder that can be written");
    file.set_len(mib * MIB).expect("a sparse file");
    let kind = if label == "gpt" { "L" } else { "83" };
    let mut table = format!("label: {label}\n");
    if label == "gpt" {
        table += "first-lba: 34\n";
    }
    for (start, sectors) in partitions {
        table += &format!("start={start},size={sectors},type={kind}\n");
        let len = usize::try_from(sectors * 512).expect("fits");
        file.write_all_at(&noise(len), start * 512).expect("room");
    }
    let mut sfdisk = Command::new("sfdisk");
    sfdisk
        .arg("-q")
        .arg(&path)
        .stdin(std::process::Stdio::piped());
    let mut child = sfdisk.spawn().expect("sfdisk of the Debian package fdisk");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(table.as_bytes()).expect("sfdisk reads");
    drop(input);
    assert!(child.wait().expect("sfdisk ends").success());
}

/// What a script reads and writes of files and devices: pipes, and what is no file of this folder, are left out.
fn counted(folder: &Path, script: &str) -> (u64, u64) {
    fs::create_dir(folder.join("logs")).expect("a folder");
    fs::create_dir(folder.join("kept")).expect("a folder");
    let calls = "trace=read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice";
    // Only one that keeps something takes a folder for it.
    let text = fs::read_to_string(folder.join(script)).expect("a script");
    let takes_folder = text.contains("[FOLDER]");
    let mut strace = Command::new("strace");
    strace
        // Only what is asked for stops (--seccomp-bpf).
        .args([
            "-f",
            "-ff",
            "--seccomp-bpf",
            "-y",
            "-s",
            "0",
            "-e",
            calls,
            "-o",
            "logs/log",
        ])
        .args(["sh", script, "--yes"])
        .args(takes_folder.then_some("kept"))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir(folder);
    tool("strace", &mut strace);
    let here = fs::canonicalize(folder).expect("there");
    let here = here.to_str().expect("text");
    let (mut read, mut written) = (0, 0);
    for log in fs::read_dir(folder.join("logs")).expect("logs") {
        let text = fs::read_to_string(log.expect("a log").path()).expect("text");
        for line in text.lines() {
            let Some((call, rest)) = line.split_once('(') else {
                continue;
            };
            let result = line.rsplit_once("= ").map(|(_, result)| result.trim());
            let Some(count) = result.and_then(|result| result.parse::<u64>().ok()) else {
                continue;
            };
            let file = rest.split_once('<').map_or("", |(_, file)| file);
            if !file.starts_with(here) || file.starts_with(&format!("{here}/logs")) {
                continue;
            }
            match call {
                "copy_file_range" | "sendfile" | "splice" => {
                    read += count;
                    written += count;
                }
                call if call.contains("write") => written += count,
                _ => read += count,
            }
        }
    }
    (read, written)
}

fn near(said: u64, counted: u64, what: &str) {
    let (said, counted) = (said as f64, counted as f64);
    assert!(
        (counted / said - 1.0).abs() < 0.05,
        "{what}: the plan says {said}, counted {counted}"
    );
}

#[test]
fn scripts_read_write_and_ask_for_what_their_plans_say() {
    // The name, MiB, the kind of table, partitions, the tool, and what becomes of the image first.
    type Case = (
        &'static str,
        u64,
        &'static str,
        &'static [(u64, u64)],
        &'static str,
        Option<&'static str>,
    );
    let cases: [Case; 6] = [
        ("one moves", 64, "dos", &[(63, 98_304)], "sfdisk", None),
        (
            "one moves by parted",
            64,
            "dos",
            &[(63, 98_304)],
            "parted",
            None,
        ),
        (
            "one pushes another",
            96,
            "dos",
            &[(63, 65_536), (65_600, 65_536)],
            "sfdisk",
            None,
        ),
        (
            "two in a GPT",
            96,
            "gpt",
            &[(63, 65_536), (73_729, 65_536)],
            "sgdisk",
            None,
        ),
        (
            "in a virtual disk",
            64,
            "dos",
            &[(63, 126_976)],
            "sfdisk",
            Some("qcow2"),
        ),
        (
            "a virtual disk that is converted",
            64,
            "dos",
            &[(2048, 126_976)],
            "qemu-img",
            Some("vpc"),
        ),
    ];
    for (what, mib, label, partitions, by, format) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path();
        image(here, "disk.raw", mib, label, partitions);
        let name = match format {
            None => "disk.raw".to_owned(),
            Some(format) => {
                let name = format!("disk.{}", if format == "vpc" { "vhd" } else { format });
                let mut convert = Command::new("qemu-img");
                convert.args(["convert", "-f", "raw", "-O", format, "disk.raw", &name]);
                tool("qemu-utils", convert.current_dir(here));
                fs::remove_file(here.join("disk.raw")).expect("there");
                name
            }
        };
        let args = [name.as_str(), "--stripe-unit", "64K"];
        let plan = json(here, &args);
        let script = straddle(here, &[&["fix"], &args[..], &["--script", by]].concat());
        assert_eq!(script.code, Some(0), "{what}: {}", script.stderr);
        fs::write(here.join("fix.sh"), &script.stdout).expect("written");
        let said = |of: &Value, key: &str| of[key].as_u64().expect("a figure");
        let steps = plan["steps"].as_array().expect("steps");
        for key in ["read", "written", "room"] {
            let sum: u64 = steps.iter().map(|step| said(&step["traffic"], key)).sum();
            assert_eq!(
                said(&plan["effort"], key),
                sum,
                "{what}: the headline's {key}"
            );
        }
        let (read, written) = counted(here, "fix.sh");
        near(
            said(&plan["effort"], "read"),
            read,
            &format!("{what}: read"),
        );
        near(
            said(&plan["effort"], "written"),
            written,
            &format!("{what}: written"),
        );
        let seconds = plan["effort"]["seconds"].as_f64().expect("a figure");
        let both = said(&plan["effort"], "read") + said(&plan["effort"], "written");
        assert!(
            (seconds - both as f64 / 2.0 / 200e6).abs() < 0.01,
            "{what}: {seconds}"
        );
        if let (Some(asked), None) = (script.stdout.split("\nroom_for ").nth(1), format) {
            let asked = asked
                .lines()
                .next()
                .and_then(|bytes| bytes.trim().parse().ok());
            assert_eq!(asked, Some(said(&plan["effort"], "room")), "{what}");
        }
    }
}

/// The seconds of an outage, as `fix` and as `predict` price it.
fn outages(folder: &Path, target: &str, partition: &str) -> (f64, f64) {
    // 4 KiB add no boundary to those of the disk's own sectors, which are all that `predict` knows of it.
    let flags: &[&str] = match target {
        "server" | "disk.raw" | "disk.qcow2" => &["--stripe-unit", "64K"],
        _ => &["--stripe-unit", "4K"],
    };
    let plan = json(folder, &[&[target], flags].concat());
    let predicted = straddle(
        folder,
        &[
            "predict",
            "--stack",
            target,
            "--partition",
            partition,
            "--profile",
            "perc5e-raid10",
            "--rw",
            "read",
            "--offsets",
            "current,1M",
            "--requests",
            "200",
            "--sensitivity",
            "0",
            "--json",
        ],
    );
    assert_eq!(predicted.code, Some(0), "{}", predicted.stderr);
    let predicted: Value = serde_json::from_str(&predicted.stdout).expect("a document");
    let outage = &predicted["predictions"][0]["decision"]["outage_seconds"];
    (
        plan["effort"]["seconds"].as_f64().expect("a figure"),
        outage.as_f64().expect("a figure"),
    )
}

#[test]
fn predict_and_fix_price_one_outage_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    image(here, "disk.raw", 64, "dos", &[(63, 98_304)]);
    let mut convert = Command::new("qemu-img");
    convert.args([
        "convert",
        "-f",
        "raw",
        "-O",
        "qcow2",
        "disk.raw",
        "disk.qcow2",
    ]);
    tool("qemu-utils", convert.current_dir(here));
    server(here, "server");
    // To the end of the disk; and the last length that has room behind it, and the first that has none.
    let sectors = 64 * 2048;
    image(here, "full.raw", 64, "dos", &[(63, sectors - 63)]);
    image(here, "fits.raw", 64, "dos", &[(63, sectors - 2048)]);
    image(here, "lacks.raw", 64, "dos", &[(63, sectors - 2047)]);
    image(
        here,
        "fits-gpt.raw",
        64,
        "gpt",
        &[(34, sectors - 33 - 2048)],
    );
    image(
        here,
        "lacks-gpt.raw",
        64,
        "gpt",
        &[(34, sectors - 33 - 2047)],
    );
    for (target, partition) in [
        ("disk.raw", "partition 1"),
        ("full.raw", "partition 1"),
        ("fits.raw", "partition 1"),
        ("fits-gpt.raw", "partition 1"),
        ("lacks-gpt.raw", "partition 1"),
        ("disk.qcow2", "partition 1"),
        ("server", "disk 1 partition #0"),
    ] {
        let (fix, predict) = outages(here, target, partition);
        // What becomes shorter is put back, and read again, at its new length: two of four copies are up to 1 MiB less.
        let is_shortened = target.starts_with("full") || target.starts_with("lacks");
        let less = if is_shortened {
            2.0 * (1 << 20) as f64 / 200e6
        } else {
            0.0
        };
        assert!(
            fix > 0.0 && (fix - predict).abs() < 0.001 * predict + less,
            "{target}: {fix} s, {predict} s"
        );
    }
}

/// What an administrator captured of a server, in one file: the disk that Windows runs from, and one for data behind a controller.
fn server(folder: &Path, name: &str) {
    let partitions = "C:\\>wmic partition get Name,StartingOffset,Size\r\n\
                      Name                   Size          StartingOffset\r\n\
                      Disk #0, Partition #0  73394150400   32256\r\n\
                      Disk #1, Partition #0  440324360192  32256\r\n";
    fs::write(folder.join(name), format!("{DISKS}{partitions}")).expect("written");
}

const DISKS: &str = "C:\\>wmic diskdrive get Index,Model,Size,BytesPerSector\r\n\
                     BytesPerSector  Index  Model                               Size\r\n\
                     512             0      HP LOGICAL VOLUME SCSI Disk Device  73402882560\r\n\
                     512             1      HP LOGICAL VOLUME SCSI Disk Device  440332623360\r\n";

#[test]
fn what_windows_runs_from_is_not_moved_and_the_rest_is_decided_by_what_is_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    server(here, "server");
    let plan = json(here, &["server"]);
    let steps = plan["steps"].as_array().expect("steps");
    let of = |disk: &str| {
        let mut steps = steps.iter();
        steps.find(|step| step["name"] == *disk).expect("a step")
    };
    assert_eq!(of("disk 0")["how"], "by-hand", "{}", of("disk 0"));
    assert!(
        of("disk 0")["hindrances"][0]
            .as_str()
            .is_some_and(|why| why.contains("Windows runs from it"))
    );
    assert_eq!(of("disk 1")["how"], "refill");
    assert_eq!(plan["worth"]["call"], "find-out");
    let asked = plan["worth"]["questions"].as_array().expect("questions");
    assert_eq!(asked[0]["unknown"], "physical-sector");
    let commands = asked[0]["commands"].to_string();
    assert!(commands.contains("ssacli"), "{commands}");
    let script = straddle(here, &["fix", "server", "--script", "powershell"]);
    assert!(!script.stdout.contains("73394150400"), "{}", script.stdout);
    // One more fact at a time.
    let known = json(here, &["server", "--physical-sector", "512"]);
    assert_eq!(known["worth"]["call"], "find-out");
    assert_eq!(known["worth"]["questions"][0]["unknown"], "stripe-unit");
    for (stripe, call) in [("64K", "now"), ("256K", "next-rebuild")] {
        let known = json(
            here,
            &[
                "server",
                "--physical-sector",
                "512",
                "--stripe-unit",
                stripe,
            ],
        );
        assert_eq!(known["worth"]["call"], call, "{stripe}");
    }
}

/// What `Get-Disk` prints of a disk that is no array, with this physical sector.
fn get_disk(sector: u64) -> String {
    format!(
        "PS C:\\> Get-Disk | Format-List Number,FriendlyName,Size,LogicalSectorSize,PhysicalSectorSize,BusType\r\n\r\n\
         Number             : 1\r\nFriendlyName       : WDC WD4000FYYZ-01UL1B0\r\nSize               : 4000787030016\r\n\
         LogicalSectorSize  : 512\r\nPhysicalSectorSize : {sector}\r\nBusType            : SATA\r\n\r\n"
    )
}

#[test]
fn one_more_capture_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    for (start, undecided) in [
        (32_256_u64, true),
        (32_768, true),
        (65_024, true),
        (1_048_576, false),
    ] {
        let partition = format!(
            "C:\\>wmic partition get Name,StartingOffset,Size\r\n\
             Name                   Size           StartingOffset\r\n\
             Disk #1, Partition #0  3999688294400  {start}\r\n"
        );
        fs::write(here.join("server"), &partition).expect("written");
        let plan = json(here, &["server"]);
        let call = &plan["worth"]["call"];
        assert_eq!(*call == "find-out", undecided, "{start}: {call}");
        for sector in [512, 4096] {
            fs::write(
                here.join("server"),
                format!("{}{partition}", get_disk(sector)),
            )
            .expect("written");
            let plan = json(here, &["server"]);
            let off = start % sector != 0;
            let call = if off { "now" } else { "nothing" };
            assert_eq!(
                plan["worth"]["call"], call,
                "{start} with sectors of {sector}"
            );
        }
    }
}

#[test]
fn a_profile_says_the_sectors_and_stays_in_every_next_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    image(here, "disk.raw", 64, "dos", &[(63, 98_304)]);
    let workload = "--rw 70/30 --outstanding 4 --requests 200 --sensitivity 0";
    let run = straddle(
        here,
        &[
            "fix",
            "disk.raw",
            "--stripe-unit",
            "64K",
            "--profile",
            "cheetah-15k7",
            "--workload",
            workload,
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout
            .contains("physical sector 512, stripe unit 65,536"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("STR101"), "{}", run.stdout);
    assert!(
        run.stdout.contains("simulated, 8 KiB random, 70% reads"),
        "{}",
        run.stdout
    );
    let next: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("  straddle fix "))
        .collect();
    assert_eq!(next.len(), 3, "{next:?}");
    for line in next {
        let kept = format!("--profile cheetah-15k7 --workload '{workload}'");
        assert!(line.contains(&kept), "{line}");
    }
    let script = straddle(
        here,
        &[
            "fix",
            "disk.raw",
            "--stripe-unit",
            "64K",
            "--profile",
            "cheetah-15k7",
            "--script",
            "sfdisk",
        ],
    );
    assert_eq!(script.code, Some(0), "{}", script.stderr);
}

#[test]
fn what_could_not_be_looked_at_is_not_nothing_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::write(here.join("server"), DISKS).expect("written");
    let run = straddle(here, &["fix", "server"]);
    assert_eq!(run.code, Some(2), "{}", run.stdout);
    assert!(run.stderr.contains("was not captured"), "{}", run.stderr);
}

#[test]
fn tools_that_are_named_write_their_scripts() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    image(here, "disk.raw", 64, "dos", &[(63, 98_304)]);
    server(here, "server");
    let mut named = 0;
    for target in ["disk.raw", "server"] {
        let run = straddle(here, &["fix", target]);
        let line = run
            .stdout
            .lines()
            .find_map(|line| line.split_once("scripts are written for: "));
        let Some((_, tools)) = line else { continue };
        for tool in tools.split(", ") {
            let script = straddle(here, &["fix", target, "--script", tool]);
            assert_eq!(script.code, Some(0), "{target} {tool}: {}", script.stderr);
            named += 1;
        }
    }
    assert!(named > 1, "{named}");
}

#[test]
fn where_no_mix_is_given_the_workload_decides_or_is_said_not_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let few = ["--requests", "2000", "--sensitivity", "0"];
    let of = |profile: &str, more: &[&str]| {
        let words = [
            "predict",
            "--profile",
            profile,
            "--io",
            "4K",
            "--offsets",
            "unaligned,1M",
            "--data",
            "10G",
        ];
        straddle(here, &[&words[..], &few, more].concat())
    };
    // A drive of 4,096-byte sectors: reads never pay, writes do.
    let run = of("ultrastar-hc310-512e", &["--json"]);
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    let mixes = document["predictions"][0]["mixes"]
        .as_array()
        .expect("mixes");
    let told: Vec<(u64, &str)> = mixes
        .iter()
        .map(|mix| {
            (
                mix["reads_percent"].as_u64().expect("a share"),
                mix["call"].as_str().expect("a call"),
            )
        })
        .collect();
    assert_eq!(
        told[..2],
        [(100, "not_worth_it"), (0, "fix_now")],
        "{told:?}"
    );
    assert_eq!(told[2].0, 70);
    let text = of("ultrastar-hc310-512e", &[]).stdout;
    assert!(text.contains("it depends on the workload"), "{text}");
    // With a mix there is one verdict, and the workload beside it.
    let text = of("ultrastar-hc310-512e", &["--rw", "write"]).stdout;
    assert!(
        text.contains("fix now  (4 KiB random, writes only"),
        "{text}"
    );
    assert!(!text.contains("it depends on the workload"), "{text}");
    // Sectors of 512 bytes: none of them pays.
    let text = of("cheetah-15k7", &[]).stdout;
    assert!(text.contains("all three come to the same"), "{text}");
    // The same question, asked by `fix`.
    image(here, "disk.raw", 64, "dos", &[(63, 98_304)]);
    let plan = |workload: &str| {
        json(
            here,
            &[
                "disk.raw",
                "--profile",
                "ultrastar-hc310-512e",
                "--workload",
                workload,
            ],
        )
    };
    let open = plan("--io 4K --requests 2000 --sensitivity 0");
    assert_eq!(open["worth"]["call"], "find-out");
    let calls = open["worth"]["alternatives"]
        .as_array()
        .expect("one for each mix");
    let calls: Vec<&str> = calls
        .iter()
        .map(|one| one["call"].as_str().expect("a call"))
        .collect();
    assert_eq!(calls.len(), 3);
    // Reads gain next to nothing, writes what justifies an outage.
    assert_eq!((calls[0] == "now", calls[1]), (false, "now"), "{calls:?}");
    let decided = plan("--io 4K --rw write --requests 2000 --sensitivity 0");
    assert_eq!(decided["worth"]["call"], "now");
    let because = decided["worth"]["because"].to_string();
    assert!(because.contains("4 KiB random, writes only"), "{because}");
}

#[test]
fn a_whole_filesystem_is_not_recreated_beside_what_has_a_price() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    image(here, "disk.raw", 420, "dos", &[]);
    let lines = "truncate -s 400M xfs && mkfs.xfs -q -f -s size=512 xfs && dd if=xfs of=disk.raw bs=512 seek=63 conv=notrunc,sparse status=none && \
                 printf 'label: dos\\nstart=63,size=819200,type=83\\n' | sfdisk -q disk.raw";
    let mut sh = Command::new("sh");
    sh.args(["-euc", lines])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    tool("xfsprogs", sh.current_dir(here));
    let kinds = |steps: &Value| -> Vec<String> {
        let steps = steps.as_array().expect("steps");
        steps
            .iter()
            .map(|step| step["kind"].as_str().expect("a kind").to_owned())
            .collect()
    };
    let args = ["disk.raw", "--physical-sector", "4K"];
    let plan = json(here, &args);
    assert_eq!(kinds(&plan["optional"]), ["filesystem"], "{plan}");
    assert_eq!(kinds(&plan["steps"]), ["partitions"]);
    let title = plan["optional"][0]["title"].as_str().expect("a title");
    assert!(title.contains("log sectors of 4 KiB"), "{title}");
    // Its bytes are in no figure of the plan, and its finding is not promised.
    assert_eq!(plan["effort"]["read"], plan["steps"][0]["traffic"]["read"]);
    let promised = plan["cured"].to_string();
    assert!(
        !promised.contains("STR307") && promised.contains("STR101"),
        "{promised}"
    );
    let alone = json(here, &[&args[..], &["--only", "filesystem"]].concat());
    assert_eq!(kinds(&alone["steps"]), ["filesystem"]);
    assert!(alone["optional"].as_array().is_some_and(Vec::is_empty));
    assert_ne!(alone["worth"]["call"], "now");
}
