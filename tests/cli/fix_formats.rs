//! `straddle fix` on filesystems, LUKS and ZFS: what is made on the wrong grid by the real tools is repaired by the script, and
//! `--verify` and `check` find every promise kept. Of filesystems that are not empty every second is tried, with `STRADDLE_SOAK=1` all.

mod luks;
mod pools;
mod ways;

use crate::support::{in_memory, lint, sh, straddle, with_quick_luks};
use luks::{LUKS2, RAID5_OF_3};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};
use straddle_testkit::is_soak;
use ways::{FILESYSTEMS, ON_64K, ON_RAID5, PARTITIONS, UUID, Way, way};

/// Runs lines of shell in a folder; they must succeed.
#[track_caller]
fn document(folder: &Path, args: &[&str]) -> Value {
    let run = straddle(folder, args);
    assert_ne!(run.code, Some(2), "{}", run.transcript());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.transcript()))
}

/// The plan, kept in `plan.json`, and the script, in `fix.sh`; the codes that are promised.
#[track_caller]
fn planned(folder: &Path, way: &Way, targets: &[&str]) -> Vec<String> {
    let mut args = vec!["fix"];
    args.extend(targets);
    args.extend(way.flags);
    let json = straddle(folder, &[args.as_slice(), &["--json"]].concat());
    fs::write(folder.join("plan.json"), &json.stdout).expect("writable");
    let plan: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let script = straddle(folder, &[args.as_slice(), &["--script", way.tool]].concat());
    assert_eq!(
        script.code,
        Some(0),
        "{}\n{}",
        way.make,
        script.transcript()
    );
    fs::write(folder.join("fix.sh"), &script.stdout).expect("writable");
    lint(&script.stdout);
    let cured = plan.pointer("/plan/cured").or(plan.get("cured"));
    let cured = cured.and_then(Value::as_array).expect("promises");
    let code = |cure: &Value| cure["code"].as_str().expect("a code").to_owned();
    cured.iter().map(code).collect()
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("dash");
    command
        .arg("fix.sh")
        .args(args)
        .current_dir(folder)
        .env("PATH", with_quick_luks())
        .env("LUKS_KEY_FILE", folder.join("key"));
    command
        .output()
        .expect("dash, of the Debian package of that name")
}

fn words(output: &Output) -> String {
    format!(
        "{}{}{:?}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code()
    )
}

/// That every promise was kept, and `check` no longer finds what was promised.
#[track_caller]
fn kept(folder: &Path, way: &Way, targets: &[&str]) {
    let mut args = vec!["fix"];
    args.extend(targets);
    args.extend(way.flags);
    let verified = straddle(
        folder,
        &[args.as_slice(), &["--verify", "plan.json"]].concat(),
    );
    assert_eq!(
        verified.code,
        Some(0),
        "{}\n{}",
        way.make,
        verified.transcript()
    );
    let mut args = vec!["check", "--json", "--fail-on", "never"];
    args.extend(targets);
    args.extend(way.flags.iter().filter(|flag| {
        **flag != "--allocation-unit" && **flag != "64K"
            || !way.flags.contains(&"--allocation-unit")
    }));
    if way.flags.contains(&"--stripe-unit") && way.flags.contains(&"--allocation-unit") {
        args.push("64K");
    }
    let report = document(folder, &args);
    let findings = report["targets"][0]["findings"]
        .as_array()
        .expect("findings");
    for code in way.codes {
        assert!(
            findings.iter().all(|finding| finding["code"] != *code),
            "{}: {code} is still there",
            way.make
        );
    }
}

/// Label and identifier of the filesystem in `a.img`, whole or in its first partition.
fn identity(folder: &Path) -> String {
    sh(
        folder,
        "offset=$(sfdisk -q -d a.img 2> /dev/null | sed -n 's/.*start= *\\([0-9]*\\),.*/\\1/p' | head -n 1)
         blkid -p -O $((${offset:-0} * 512)) -o value -s LABEL -s UUID a.img",
    )
}

#[track_caller]
fn carried_out(way: &Way, uuid: &str) {
    let folder = in_memory();
    let folder = folder.path();
    sh(folder, &format!("UUID={uuid}; {}", way.make));
    let codes = planned(folder, way, &["a.img"]);
    for code in way.codes {
        assert!(codes.iter().any(|c| c == code), "{}: {codes:?}", way.make);
    }
    let before = identity(folder);
    // Without --yes it says only that it would.
    let asked = run(folder, &[]);
    assert!(asked.status.success(), "{}", words(&asked));
    // No tool looks into exFAT.
    let done = if way.make.contains("exfat") {
        let refused = run(folder, &["--yes"]);
        assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
        run(folder, &["--yes", "--contents-are-backed-up"])
    } else {
        run(folder, &["--yes"])
    };
    assert!(done.status.success(), "{}\n{}", way.make, words(&done));
    assert_eq!(identity(folder), before, "{}", way.make);
    kept(folder, way, &["a.img"]);
}

#[test]
fn filesystems_are_repaired_in_images() {
    for way in FILESYSTEMS {
        carried_out(way, UUID);
    }
}

#[test]
fn filesystems_are_repaired_in_partitions() {
    // mkfs.btrfs, which may run beside this, takes none that is on a loop device.
    let uuid = UUID.replace('1', "7");
    for way in PARTITIONS {
        carried_out(way, &uuid);
    }
    let left = sh(
        Path::new("/"),
        "losetup --list --noheadings --output BACK-FILE | grep -c '/a.img' || true",
    );
    assert_eq!(left.trim(), "0", "loop devices are given back");
}

/// A disk of another size or identity is refused, and not one byte of it is written.
#[test]
fn another_disk_is_refused() {
    let luks = way(LUKS2, RAID5_OF_3, "cryptsetup", &[]);
    for way in [&FILESYSTEMS[0], &FILESYSTEMS[6], &luks] {
        let folder = in_memory();
        let folder = folder.path();
        sh(folder, &format!("UUID={UUID}; {}", way.make));
        planned(folder, way, &["a.img"]);
        let disk = folder.join("a.img");
        let whole = fs::read(&disk).expect("readable");
        let marks = fs::read_to_string(folder.join("fix.sh")).expect("readable");
        let marks: Vec<u64> = marks
            .lines()
            .filter_map(|line| line.strip_prefix("bytes_are \"$disk\" "))
            .map(|rest| {
                rest.split(' ')
                    .next()
                    .and_then(|at| at.parse().ok())
                    .expect("a place")
            })
            .collect();
        assert!(!marks.is_empty());
        let refuses = |what: &str| {
            let now = fs::read(&disk).expect("readable");
            let refused = run(folder, &["--yes"]);
            assert_eq!(
                refused.status.code(),
                Some(2),
                "{what}: {}",
                words(&refused)
            );
            assert!(
                words(&refused).contains("nothing was written"),
                "{}",
                words(&refused)
            );
            assert!(
                fs::read(&disk).expect("readable") == now,
                "{what}: it was written to"
            );
        };
        for at in marks {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(&disk)
                .expect("writable");
            let old = whole[usize::try_from(at).expect("64 bits")];
            file.write_all_at(&[old ^ 1], at).expect("writable");
            refuses("one byte");
            file.write_all_at(&[old], at).expect("writable");
        }
        let file = fs::OpenOptions::new()
            .write(true)
            .open(&disk)
            .expect("writable");
        file.set_len(whole.len() as u64 + 512).expect("writable");
        refuses("a sector more");
        file.set_len(whole.len() as u64 - 512).expect("writable");
        refuses("a sector less");
    }
}

/// Of the ways in `files_are_not_lost`, by their place, those that are tried for every commit: each filesystem once, its name like those
/// that are always there where names are looked at, and a file in `lost+found`.
const SAMPLE: [usize; 7] = [1, 4, 6, 8, 9, 10, 14];

/// What is not empty stays as it is, unless it is backed up.
#[test]
fn files_are_not_lost() {
    let ways = [
        way(
            "mkdir d; echo hi > d/file; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf '.\\n..\\n@'); : > \"d/${n%@}\"; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf '\\n@'); : > \"d/${n%@}\"; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf 'lost+found\\n@'); : > \"d/${n%@}\"; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf '\\nlost+found\\n@'); : > \"d/${n%@}\"; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf '..\\n.@'); : > \"d/${n%@}\"; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -d d a.img",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "echo hi > f; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 a.img; debugfs -w -R 'write f lost+found/f' a.img > /dev/null 2>&1",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "echo hi > f; truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 a.img; debugfs -w -R 'rmdir lost+found' a.img > /dev/null 2>&1; debugfs -w -R 'write f f' a.img > /dev/null 2>&1",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 4 a.img > /dev/null; : > empty; mcopy -i a.img empty ::",
            &[],
            "mkfs",
            &["STR304"],
        ),
        way(
            "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 512 -p 0 a.img; echo hi > file; ntfscp a.img file \"$(printf '.\\n..')\" > /dev/null",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; n=$(printf '\\n@'); : > \"d/${n%@}\"; truncate -s 128M a.img; mkfs.btrfs -q -r d a.img 2> /dev/null",
            &["--stripe-unit", "64K", "--allocation-unit", "64K"],
            "mkfs",
            &["STR301"],
        ),
        way(
            "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 4 a.img; echo hi > .hidden; mcopy -i a.img .hidden ::",
            &[],
            "mkfs",
            &["STR304"],
        ),
        way(
            "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 512 -p 0 a.img; echo hi > file; ntfscp a.img file file > /dev/null",
            &[],
            "mkfs",
            &["STR305"],
        ),
        way(
            "mkdir d; echo hi > d/file; truncate -s 128M a.img; mkfs.btrfs -q -r d a.img 2> /dev/null",
            &["--stripe-unit", "64K", "--allocation-unit", "64K"],
            "mkfs",
            &["STR301"],
        ),
        way(
            "echo hi > file; truncate -s 400M a.img; printf '/none\\n0 0\\nd--755 0 0\\nf ---644 0 0 file\\n$\\n' > proto; mkfs.xfs -q -p proto a.img",
            &[],
            "mkfs",
            &["STR307"],
        ),
    ];
    for (place, way) in ways.iter().enumerate() {
        if !is_soak() && !SAMPLE.contains(&place) {
            continue;
        }
        let folder = in_memory();
        let folder = folder.path();
        sh(folder, way.make);
        planned(folder, way, &["a.img"]);
        sh(folder, "cp --sparse=always a.img before.img");
        let refused = run(folder, &["--yes"]);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{}\n{}",
            way.make,
            words(&refused)
        );
        assert!(
            words(&refused).contains("may hold files"),
            "{}",
            words(&refused)
        );
        // It says where they differ.
        sh(folder, "cmp a.img before.img");
        let done = run(folder, &["--yes", "--contents-are-backed-up"]);
        assert!(done.status.success(), "{}\n{}", way.make, words(&done));
        kept(folder, way, &["a.img"]);
    }
}

/// A controller alone can give its array another stripe unit: the plan says so, and promises nothing of it.
#[test]
fn a_stripe_unit_that_is_no_power_of_two_is_for_the_next_rebuild() {
    let folder = in_memory();
    let folder = folder.path();
    sh(
        folder,
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 65536 -p 0 -L win a.img",
    );
    let asked = ["fix", "a.img", "--stripe-unit", "96K", "--only", "rebuild"];
    let plan = straddle(folder, &[&asked[..], &["--json"]].concat());
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let step = &plan["steps"][0];
    assert_eq!(step["kind"], "rebuild");
    assert_eq!(step["how"], "by-hand");
    assert_eq!(step["change"]["from"], 98_304);
    assert_eq!(step["change"]["to"], 65_536);
    assert_eq!(plan["cured"].as_array().map(Vec::len), Some(0));
    assert_eq!(plan["worth"]["call"], "next-rebuild");
    let left = plan["left"].as_array().expect("what stays");
    let of_204 = left.iter().find(|left| left["code"] == "STR204");
    let why = of_204.and_then(|left| left["why"].as_str());
    assert_eq!(why, Some("step 1 must be done by hand"));
    let script = straddle(folder, &[&asked[..], &["--script", "mkfs"]].concat());
    assert_eq!(script.code, Some(2), "{}", script.transcript());
}

/// A script with the bytes that differ from run to run left out.
fn shown(folder: &Path) -> String {
    let script = fs::read_to_string(folder.join("fix.sh")).expect("readable");
    let from = script.find("# not_in_use").unwrap_or(0);
    let (head, body) = script.split_at(from);
    let head: Vec<&str> = head
        .lines()
        .take_while(|line| line.starts_with('#'))
        .collect();
    let body: Vec<String> = body
        .lines()
        .map(
            |line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["bytes_are", disk, at, _, ref what @ ..] => {
                    format!("bytes_are {disk} {at} (bytes) {}", what.join(" "))
                }
                ["[", "\"$(zpool", ..] if line.contains("-o guid") => line
                    .split_whitespace()
                    .map(|word| {
                        if word.len() > 12 && word.starts_with('\'') {
                            "(guid)"
                        } else {
                            word
                        }
                    })
                    .collect::<Vec<_>>()
                    .join(" "),
                _ => line.to_owned(),
            },
        )
        .collect();
    format!("{}\n(functions)\n{}\n", head.join("\n"), body.join("\n"))
}

fn looks_like(name: &str, text: &str) {
    insta::assert_snapshot!(name, text);
}

#[test]
fn scripts_and_plans_as_they_are_read() {
    let made_by = |word: &str| {
        let way = FILESYSTEMS.iter().find(|way| way.make.contains(word));
        let way = way.expect("one of them");
        Way { ..*way }
    };
    let ways = [
        ("mkfs-btrfs", made_by("mkfs.btrfs")),
        ("mkfs-exfat", made_by("mkfs.exfat")),
        ("mkfs-ntfs", made_by("mkntfs")),
        ("mkfs-ext4", way(FILESYSTEMS[4].make, ON_RAID5, "mkfs", &[])),
        ("mkfs-xfs", way(FILESYSTEMS[11].make, ON_RAID5, "mkfs", &[])),
        ("mkfs-fat32", way(FILESYSTEMS[18].make, ON_64K, "mkfs", &[])),
        ("tune2fs", way(PARTITIONS[1].make, ON_RAID5, "tune2fs", &[])),
        ("cryptsetup", way(LUKS2, RAID5_OF_3, "cryptsetup", &[])),
    ];
    for (name, way) in &ways {
        let folder = in_memory();
        let folder = folder.path();
        sh(
            folder,
            &format!("UUID={}; {}", UUID.replace('1', "6"), way.make),
        );
        planned(folder, way, &["a.img"]);
        let mut args = vec!["fix", "a.img"];
        args.extend(way.flags);
        let text = straddle(folder, &args).transcript();
        looks_like(name, &format!("{text}\n--- script\n{}", shown(folder)));
    }
}
