//! `straddle fix` on filesystems, LUKS and ZFS: what is made on the wrong grid by the real tools is put right by the script, and
//! `--verify` and `check` find every promise kept.

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use support::{straddle, tool};

/// Runs lines of shell in a folder; they must succeed.
#[track_caller]
fn sh(folder: &Path, lines: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-euc", lines]).current_dir(folder);
    let output = command.output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{lines}\n{text}{error}\n(needs e2fsprogs, xfsprogs, btrfs-progs, ntfs-3g, dosfstools, mtools, exfatprogs, cryptsetup-bin, fdisk, mount)"
    );
    text
}

/// Something on the wrong grid, and how it is put right.
struct Way {
    /// What makes `a.img`.
    make: &'static str,
    /// What `straddle fix` is told besides.
    flags: &'static [&'static str],
    /// What carries the plan out.
    tool: &'static str,
    /// The codes that must be promised.
    codes: &'static [&'static str],
}

const fn way(
    make: &'static str,
    flags: &'static [&'static str],
    tool: &'static str,
    codes: &'static [&'static str],
) -> Way {
    Way {
        make,
        flags,
        tool,
        codes,
    }
}

const UUID: &str = "11111111-2222-3333-4444-555555555555";

const ON_64K: &[&str] = &["--stripe-unit", "64K"];
const ON_RAID5: &[&str] = &["--stripe-unit", "64K", "--stripe-width", "256K"];

/// Filesystems, empty all of them.
const FILESYSTEMS: &[Way] = &[
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -L data -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 2048 -L 'two words' -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext2 -b 1024 -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext3 -b 1024 -L data -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -U $UUID a.img",
        ON_RAID5,
        "mkfs",
        &["STR305", "STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -U $UUID a.img",
        &["--allocation-unit", "64K"],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -U $UUID a.img",
        ON_64K,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -E stride=32,stripe_width=96 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR302"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext3 -b 4096 -E stride=16 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR215"],
    ),
    way(
        "truncate -s 400M a.img; mkfs.xfs -q -L x -m uuid=$UUID a.img",
        &[],
        "mkfs",
        &["STR307"],
    ),
    way(
        "truncate -s 2G a.img; mkfs.xfs -q -s size=512 -m uuid=$UUID a.img",
        ON_RAID5,
        "mkfs",
        &["STR307", "STR303"],
    ),
    way(
        "truncate -s 400M a.img; mkfs.xfs -q -b size=1024 -L x -m uuid=$UUID a.img",
        &[],
        "mkfs",
        &["STR305", "STR307"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 4096 -p 0 -L win a.img",
        ON_64K,
        "mkfs",
        &["STR301"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 512 -p 0 -L win a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 65536 -p 0 -L win a.img",
        &["--stripe-unit", "96K"],
        "mkfs",
        &["STR204"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 4 -n FATTY -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304", "STR305"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 8 -R 3 -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304"],
    ),
    way(
        "truncate -s 300M a.img; mkfs.vfat -a -F 32 -s 1 -n FATTY -i 12345678 a.img",
        ON_64K,
        "mkfs",
        &["STR304", "STR305"],
    ),
    way(
        "truncate -s 5G a.img; mkfs.vfat -F 32 -s 8 -n FATTY -i 12345678 a.img",
        &["--stripe-unit", "32K"],
        "mkfs",
        &["STR301"],
    ),
    way(
        "truncate -s 8M a.img; mkfs.vfat -a -F 12 -s 8 -n FATTY -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.exfat -c 4K -b 4K -L exf a.img; exfatlabel -i a.img 0x12345678",
        ON_64K,
        "mkfs",
        &["STR304", "STR301"],
    ),
    way(
        "truncate -s 128M a.img; mkfs.btrfs -q -L b -U $UUID a.img 2> /dev/null",
        &["--stripe-unit", "64K", "--allocation-unit", "64K"],
        "mkfs",
        &["STR301"],
    ),
];

/// Makes `a.img` with one partition from `start`, and something in it by lines that write `part.img`.
macro_rules! partitioned {
    ($label:literal, $start:literal, $make:literal) => {
        concat!(
            $make,
            "; truncate -s 1G a.img; size=$(($(stat -c %s part.img) / 512)); ",
            "printf 'label: ",
            $label,
            "\nlabel-id: 0x11223344\nstart=",
            $start,
            ", size=%s, type=L\\n' \"$size\" | sfdisk -q a.img; ",
            "dd if=part.img of=a.img bs=512 seek=",
            $start,
            " conv=notrunc,sparse status=none; rm part.img"
        )
    };
}

/// The same in partitions, which are reached through a loop device.
const PARTITIONS: &[Way] = &[
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mke2fs -q -t ext4 -b 1024 -L data -U $UUID part.img"
        ),
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        partitioned!(
            "dos",
            "4096",
            "truncate -s 64M part.img; mke2fs -q -t ext4 -b 4096 -U $UUID part.img"
        ),
        ON_RAID5,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 400M part.img; mkfs.xfs -q -L x -m uuid=$UUID part.img"
        ),
        &[],
        "mkfs",
        &["STR307"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mkntfs -q -Q -F -s 512 -c 4096 -p 2048 -L win part.img"
        ),
        ON_64K,
        "mkfs",
        &["STR301"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mkfs.vfat -a -F 16 -s 4 -h 2048 -n FATTY -i 12345678 part.img"
        ),
        &[],
        "mkfs",
        &["STR304", "STR305"],
    ),
];

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
    let mut check = Command::new("shellcheck");
    check.arg("fix.sh").current_dir(folder);
    let said = check
        .output()
        .expect("shellcheck, of the Debian package of that name");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said, "", "{}", script.stdout);
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
fn carried_out(way: &Way) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    sh(folder, &format!("UUID={UUID}; {}", way.make));
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
fn filesystems_are_put_right_in_images() {
    FILESYSTEMS.iter().for_each(carried_out);
}

#[test]
fn filesystems_are_put_right_in_partitions() {
    PARTITIONS.iter().for_each(carried_out);
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
        let folder = tempfile::tempdir().expect("temporary folder");
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
    for way in &ways {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        sh(folder, way.make);
        planned(folder, way, &["a.img"]);
        let before = sh(folder, "sha256sum a.img");
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
        assert_eq!(sh(folder, "sha256sum a.img"), before, "{}", way.make);
        let done = run(folder, &["--yes", "--contents-are-backed-up"]);
        assert!(done.status.success(), "{}\n{}", way.make, words(&done));
        kept(folder, way, &["a.img"]);
    }
}

const RAID5_OF_3: &[&str] = &["--stripe-unit", "64K", "--stripe-width", "192K"];
const LUKS2: &str = "printf secret > key; truncate -s 40M a.img; \
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file key --sector-size 4096 --label vault --uuid $UUID a.img; \
    head -c 25165824 /dev/urandom | dd of=a.img bs=1M seek=16 conv=notrunc status=none";

/// The volume key, and what is encrypted from byte `at` on.
fn encrypted(folder: &Path, at: u64, len: u64) -> String {
    let script = format!(
        "rm -f volume; cryptsetup luksDump -q --dump-volume-key --volume-key-file volume --key-file key a.img > /dev/null; \
         sha256sum < volume; dd if=a.img iflag=skip_bytes,count_bytes skip={at} count={len} bs=1M status=none | sha256sum"
    );
    sh(folder, &script)
}

#[test]
fn a_luks_payload_moves_with_its_key() {
    let ways = [
        (
            way(LUKS2, RAID5_OF_3, "cryptsetup", &["STR608"]),
            15_728_640,
        ),
        (
            way(
                LUKS2,
                &["--stripe-unit", "64K", "--stripe-width", "320K"],
                "cryptsetup",
                &["STR608"],
            ),
            15_728_640,
        ),
    ];
    for (way, to) in &ways {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        sh(folder, &format!("UUID={UUID}; {}", way.make));
        assert_eq!(planned(folder, way, &["a.img"]), way.codes);
        let before = encrypted(folder, 16 << 20, 24 << 20);
        let done = run(folder, &["--yes"]);
        assert!(done.status.success(), "{}", words(&done));
        assert_eq!(encrypted(folder, *to, 24 << 20), before);
        let said = sh(folder, "cryptsetup luksDump a.img");
        for word in [
            UUID,
            "vault",
            "aes-xts-plain64",
            "sector: 4096",
            &format!("offset: {to}"),
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
        kept(folder, way, &["a.img"]);
    }
}

/// Behind 63 sectors more there is no room nearer to the front: what is in it comes back from a backup.
#[test]
fn a_luks1_header_grows_only_when_the_contents_may_go() {
    let way = way(
        "printf secret > key; truncate -s 40M a.img; \
         cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --key-file key --align-payload 63 --uuid $UUID a.img",
        &[],
        "cryptsetup",
        &["STR602"],
    );
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    sh(folder, &format!("UUID={UUID}; {}", way.make));
    assert_eq!(planned(folder, &way, &["a.img"]), way.codes);
    let refused = run(folder, &["--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    let done = run(folder, &["--yes", "--contents-are-backed-up"]);
    assert!(done.status.success(), "{}", words(&done));
    let said = sh(folder, "cryptsetup luksDump a.img");
    assert!(
        said.contains("Payload offset:\t4096") && said.contains(UUID),
        "{said}"
    );
    kept(folder, &way, &["a.img"]);
}

/// The daemon of zfs-fuse, for as long as the test runs; one that runs already is used as it is. There is one at a time.
struct Daemon {
    child: Option<Child>,
    _one: MutexGuard<'static, ()>,
}

static ONE: Mutex<()> = Mutex::new(());

fn zfs(words: &[&str]) -> (bool, String) {
    let output = Command::new("timeout")
        .arg("30")
        .args(words)
        .output()
        .expect("coreutils");
    assert_ne!(
        output.status.code(),
        Some(127),
        "{} is missing: Debian package zfs-fuse",
        words[0]
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

impl Daemon {
    fn start() -> Daemon {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        if zfs(&["zpool", "list"]).0 {
            return Daemon {
                child: None,
                _one: one,
            };
        }
        let child = Command::new("zfs-fuse")
            .args(["--no-daemon", "--no-kstat-mount"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("zfs-fuse, of the Debian package of that name");
        let daemon = Daemon {
            child: Some(child),
            _one: one,
        };
        let started = Instant::now();
        while !zfs(&["zpool", "list"]).0 {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "zfs-fuse does not answer"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Makes a pool with a file in it, exported; the file is in the dataset `data`.
fn pool(folder: &Path, name: &str, vdevs: &str, images: &[&str]) {
    sh(
        folder,
        &format!(
            "timeout 30 zpool destroy {name} 2> /dev/null || :; truncate -s 128M {}; timeout 30 zpool create -m none -o ashift=9 {name} {vdevs}; \
             timeout 30 zfs create -o straddle:test=kept -o mountpoint=$PWD/mounted -o recordsize=8k {name}/data; \
             seq 1 99999 > mounted/file; timeout 30 zpool export {name}",
            images.join(" ")
        ),
    );
}

/// Destroys a pool; what was mounted of it may be busy for a moment.
fn destroy(name: &str) {
    let started = Instant::now();
    while !zfs(&["zpool", "destroy", name]).0 {
        assert!(started.elapsed() < Duration::from_secs(20), "{name} stays");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Imports a pool and gives what its dataset says, and the sum of its file.
fn imported(folder: &Path, name: &str) -> String {
    let lines = format!(
        "timeout 30 zpool import -d $PWD {name}; timeout 30 zfs get -H -o value straddle:test,recordsize {name}/data; \
         cksum < mounted/file"
    );
    sh(folder, &lines)
}

#[test]
fn a_pool_is_made_again_from_a_stream_of_itself() {
    let _daemon = Daemon::start();
    let pools = [
        ("straddlefix1", "$PWD/a.img", vec!["a.img"]),
        (
            "straddlefix2",
            "mirror $PWD/a.img $PWD/b.img",
            vec!["a.img", "b.img"],
        ),
        (
            "straddlefix3",
            "raidz1 $PWD/a.img $PWD/b.img $PWD/c.img",
            vec!["a.img", "b.img", "c.img"],
        ),
    ];
    let sum = {
        let folder = tempfile::tempdir().expect("temporary folder");
        sh(folder.path(), "seq 1 99999 | cksum")
    };
    for (name, vdevs, images) in pools {
        let way = way("a pool", &[], "zpool", &[]);
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        pool(folder, name, vdevs, &images);
        let codes = planned(folder, &way, &images);
        assert!(codes.iter().any(|code| code == "STR613"), "{codes:?}");
        insta::assert_snapshot!(format!("zpool-{name}"), shown(folder));
        let done = run(folder, &["--yes"]);
        assert!(done.status.success(), "{}", words(&done));
        kept(folder, &way, &images);
        assert_eq!(imported(folder, name), format!("kept\n8K\n{sum}"));
        destroy(name);
    }
}

#[test]
fn a_pool_is_left_as_it_was_when_it_is_not_the_one_or_not_whole() {
    let _daemon = Daemon::start();
    let name = "straddlefix5";
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let images = ["a.img", "b.img"];
    pool(folder, name, "mirror $PWD/a.img $PWD/b.img", &images);
    let way = way("a pool", &[], "zpool", &[]);
    planned(folder, &way, &images);
    let refused = |what: &str, why: &str| {
        let done = run(folder, &["--yes"]);
        assert_eq!(done.status.code(), Some(2), "{what}: {}", words(&done));
        assert!(words(&done).contains(why), "{what}: {}", words(&done));
        assert!(
            !zfs(&["zpool", "list", name]).0,
            "{what}: it stays imported"
        );
    };
    sh(folder, "mv b.img away.img; truncate -s 128M b.img");
    refused("another disk", "it is another disk");
    sh(folder, "truncate -s 127M b.img");
    refused("another size", "the plan was made for");
    sh(folder, "rm b.img");
    refused("no disk", "does not exist");
    sh(folder, "mv away.img b.img");
    sh(
        folder,
        &format!(
            "timeout 30 zpool import -d $PWD {name}; timeout 30 zpool offline {name} $PWD/b.img; timeout 30 zpool export {name}"
        ),
    );
    refused("not whole", "is not ONLINE");
    sh(
        folder,
        &format!(
            "timeout 30 zpool import -d $PWD {name}; timeout 30 zpool online {name} $PWD/b.img; timeout 30 zpool export {name}"
        ),
    );
    // Another pool of that name is imported.
    sh(
        folder,
        &format!("truncate -s 128M c.img; timeout 30 zpool create -m none {name} $PWD/c.img"),
    );
    let done = run(folder, &["--yes"]);
    assert_eq!(done.status.code(), Some(2), "{}", words(&done));
    assert!(words(&done).contains("is another"), "{}", words(&done));
    assert!(
        zfs(&["zpool", "list", name]).0,
        "it was imported, and stays so"
    );
    destroy(name);
    sh(
        folder,
        "mkdir small; mount -t tmpfs -o size=64k tmpfs small",
    );
    let done = run(folder, &["--yes", "small"]);
    let left = sh(folder, "ls small/*; umount small");
    assert_eq!(done.status.code(), Some(2), "{}", words(&done));
    assert!(
        words(&done).contains("the stream could not be written"),
        "{}",
        words(&done)
    );
    assert!(left.contains("stream"), "{left}");
    let sum = sh(folder, "seq 1 99999 | cksum");
    assert_eq!(imported(folder, name), format!("kept\n8K\n{sum}"));
    let (_, snapshots) = zfs(&["zfs", "list", "-H", "-t", "snapshot", "-o", "name"]);
    assert!(!snapshots.contains(name), "{snapshots}");
    destroy(name);
}

/// A controller alone can give its array another stripe unit: the plan says so, and promises nothing of it.
#[test]
fn a_stripe_unit_that_is_no_power_of_two_is_for_the_next_rebuild() {
    let folder = tempfile::tempdir().expect("temporary folder");
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
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        // Another one than in the tests beside this: mkfs.btrfs takes none that is in use.
        sh(
            folder,
            &format!("UUID={}; {}", UUID.replace('1', "6"), way.make),
        );
        planned(folder, way, &["a.img"]);
        let mut args = vec!["fix", "a.img"];
        args.extend(way.flags);
        let text = straddle(folder, &args).transcript();
        insta::assert_snapshot!(*name, format!("{text}\n--- script\n{}", shown(folder)));
    }
    let _ = tool("coreutils", &mut Command::new("true"));
}
