//! What a target is taken for: each kind, packed, nested, damaged, empty, misnamed, on standard input and by a link.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{repository, scratch, sh, straddle, unpack_image};

/// What is typed behind `straddle check`, the exit status (`None` where this machine decides), and what the answer says. `< FILE` is a
/// file on standard input, `| FILE` a pipe.
type Row = (&'static str, Option<i32>, &'static [&'static str]);

/// What came out: the exit status, and everything that was printed, in one line.
fn run(here: &Path, typed: &str) -> (Option<i32>, String) {
    let check = |typed: &str, input: Stdio| {
        let output = Command::new(env!("CARGO_BIN_EXE_straddle"))
            .arg("check")
            .args(typed.split_whitespace())
            .env("STRADDLE_HISTORY", "none")
            .env("COLUMNS", "100")
            .current_dir(here)
            .stdin(input)
            .output();
        output.expect("straddle runs")
    };
    let output = match (typed.split_once(" < "), typed.split_once(" | ")) {
        (Some((typed, file)), _) => {
            let file = File::open(here.join(file)).expect("was made");
            check(typed, Stdio::from(file))
        }
        (None, Some((typed, file))) => {
            let mut cat = Command::new("cat")
                .arg(here.join(file))
                .stdout(Stdio::piped())
                .spawn()
                .expect("cat runs");
            let pipe = cat.stdout.take().expect("piped");
            let output = check(typed, Stdio::from(pipe));
            // It may be told that nobody reads on.
            let _ = cat.wait();
            output
        }
        (None, None) => check(typed, Stdio::null()),
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("output is UTF-8");
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code(), flat)
}

fn hold(here: &Path, rows: &[Row]) {
    let mut wrong = String::new();
    for (typed, code, says) in rows {
        let (found, said) = run(here, typed);
        let missing: Vec<&&str> = says.iter().filter(|part| !said.contains(**part)).collect();
        if code.is_some_and(|code| found != Some(code)) || !missing.is_empty() {
            wrong.push_str(&format!(
                "$ straddle check {typed}\nexpected {code:?} and {missing:?}, found {found:?}\n{said}\n\n"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A host with one partition at this sector, as a capture in its text form.
fn tree(sector: u32) -> String {
    let tree = fs::read_to_string(repository().join("tests/hosts/rule-lun-63.tree"));
    let tree = tree.expect("a fixture");
    tree.replace("sda1/start = 63", &format!("sda1/start = {sector}"))
}

/// Images, captures and texts, and everything that they can be packed into, by the real tools.
fn folder() -> tempfile::TempDir {
    let folder = scratch();
    let here = folder.path();
    fs::rename(
        here.join(unpack_image("mbr-63", here)),
        here.join("disk.img"),
    )
    .expect("writable");
    fs::write(here.join("db3.tree"), tree(63)).expect("writable");
    let made = straddle(here, &["capture", "--sysroot", "db3.tree", "-o", "db3.tgz"]);
    assert_eq!(made.code, Some(0), "{}", made.transcript());
    fs::write(
        here.join("fdisk.txt"),
        "Disk /dev/sdb: 16 MiB, 16777216 bytes, 32768 sectors\n\
         Units: sectors of 1 * 512 = 512 bytes\n\
         Sector size (logical/physical): 512 bytes / 4096 bytes\n\
         I/O size (minimum/optimal): 4096 bytes / 4096 bytes\n\
         Disklabel type: dos\n\n\
         Device     Boot Start   End Sectors Size Id Type\n\
         /dev/sdb1          63 20542   20480  10M 83 Linux\n",
    )
    .expect("writable");
    fs::write(here.join("letter.txt"), "Dear Sir,\nthe disks are slow.\n").expect("writable");
    sh(
        here,
        "
        gzip -k disk.img; bzip2 -k disk.img; xz -k disk.img; zstd -q -k disk.img
        cp disk.img.gz misnamed.img; cp disk.img misnamed.gz
        size=$(stat -c %s disk.img); half=$((size / 2))
        { head -c $half disk.img | gzip; tail -c +$((half + 1)) disk.img | gzip; } > members.gz
        { head -c $half disk.img | zstd -q; tail -c +$((half + 1)) disk.img | zstd -q; } > frames.zst
        gzip -c disk.img.gz > twice.gz.gz
        tar cf one.tar disk.img; tar czf one.tgz disk.img; tar cJf one.txz disk.img
        tar c disk.img | zstd -q > one.tar.zst
        tar cSf sparse.tar disk.img; tar cf two.tar one.tar letter.txt; tar czf packed.tgz disk.img.xz
        qemu-img convert -f raw -O vmdk -o subformat=streamOptimized disk.img vm-disk1.vmdk
        printf '<?xml version=\"1.0\"?>\\n<Envelope ovf:version=\"1.0\"></Envelope>\\n' > vm.ovf
        printf 'SHA256(vm-disk1.vmdk)= 00\\n' > vm.mf
        tar cf vm.ova vm.ovf vm.mf vm-disk1.vmdk; gzip -k vm.ova
        printf 'SHA256(vm-disk1.vmdk)= %s\\n' $(sha256sum < vm-disk1.vmdk | cut -c1-64) > right.mf
        tar cf right.ova vm.ovf right.mf vm-disk1.vmdk
        printf 'SHA1 (vm-disk1.vmdk) = %s\\n' $(sha1sum < vm.ovf | cut -c1-40) > wrong.mf
        tar cf wrong.ova vm.ovf wrong.mf vm-disk1.vmdk
        head -c 400 disk.img.gz > cut.gz; head -c 300 disk.img.xz > cut.xz
        tar cf whole.tar letter.txt disk.img fdisk.txt; head -c 20000 whole.tar > cut.tar
        : > empty; : | gzip > empty.gz
        printf 'PK\\003\\004....................' > a.zip; printf '7z\\274\\257\\047\\034......' > a.7z
        printf 'Rar!\\032\\007\\001.........' > a.rar; printf '\\004\\042\\115\\030.......' > a.lz4
        printf '070701..............' > a.cpio
        gunzip -c db3.tgz > db3.tar; xz -k db3.tar; zstd -q -k db3.tar; bzip2 -k db3.tar; cp db3.tgz db3.bin
        mkdir unpacked; tar xf db3.tar -C unpacked; gzip -k db3.tree; cp db3.tree tree.txt
        head -c 300 db3.tgz > cut-capture.tgz
        mkdir fleet; cp db3.tgz fleet/db1.tgz; cp db3.tar.xz fleet/db2.txz; cp db3.tree fleet/db4.tree; cp -r unpacked fleet/db5
        tar cf fleet.tar fleet/db1.tgz fleet/db2.txz fleet/db4.tree
        gzip -k fdisk.txt; gzip -k letter.txt; tar cf texts.tar fdisk.txt letter.txt
        mkdir images; cp disk.img images/a.img; cp disk.img.gz images/b.img.gz; mkdir -p deep/er; cp disk.img deep/er/c.img
        mkdir none letters; cp letter.txt letters/a.txt; cp letter.txt letters/b.txt
        ln -s disk.img link.img; ln -s db3.tgz link.tgz; ln -s images link-images; mkfifo pipe
        ",
    );
    folder
}

#[test]
fn images_are_found_in_whatever_they_are_packed_into() {
    let here = folder();
    const OFF: &str = "STR101]: partition 1 starts inside a 4,096-byte physical sector";
    hold(
        here.path(),
        &[
            ("disk.img", Some(1), &[OFF]),
            ("link.img", Some(1), &[OFF]),
            ("misnamed.gz", Some(1), &[OFF, "misnamed.gz: 1 error"]),
            (
                "disk.img.gz",
                Some(1),
                &["taken as an image packed with gzip", OFF],
            ),
            (
                "disk.img.bz2",
                Some(1),
                &["taken as an image packed with bzip2", OFF],
            ),
            (
                "disk.img.xz",
                Some(1),
                &["taken as an image packed with xz", OFF],
            ),
            (
                "disk.img.zst",
                Some(1),
                &["taken as an image packed with zstd", OFF],
            ),
            (
                "misnamed.img",
                Some(1),
                &["taken as an image packed with gzip", OFF],
            ),
            ("members.gz", Some(1), &["an image packed with gzip", OFF]),
            ("frames.zst", Some(1), &["an image packed with zstd", OFF]),
            ("twice.gz.gz", Some(1), &["an image packed with gzip", OFF]),
            (
                "one.tar",
                Some(1),
                &[
                    "taken as an image in an archive",
                    OFF,
                    "one.tar/disk.img: 1 error",
                ],
            ),
            (
                "one.tgz",
                Some(1),
                &[
                    "taken as an image in an archive",
                    OFF,
                    "one.tgz/disk.img: 1 error",
                ],
            ),
            ("one.txz", Some(1), &["one.txz/disk.img: 1 error"]),
            ("one.tar.zst", Some(1), &["one.tar.zst/disk.img: 1 error"]),
            ("sparse.tar", Some(1), &["sparse.tar/disk.img: 1 error"]),
            ("two.tar", Some(1), &["two.tar/one.tar/disk.img: 1 error"]),
            ("packed.tgz", Some(1), &["packed.tgz/disk.img.xz: 1 error"]),
            // The description and the checksums of an appliance are no targets.
            (
                "vm.ova",
                Some(1),
                &[
                    "STR410]: vm.ova/vm-disk1.vmdk is a streamOptimized VMDK",
                    "compressed with its neighbours",
                ],
            ),
            ("vm.ova.gz", Some(1), &["STR410]: vm.ova.gz/vm-disk1.vmdk"]),
            ("right.ova", Some(1), &["STR410]: right.ova/vm-disk1.vmdk"]),
            (
                "wrong.ova",
                Some(2),
                &[
                    "STR410]: wrong.ova/vm-disk1.vmdk",
                    "wrong.ova/vm-disk1.vmdk: its SHA-1 is ",
                    ", and wrong.mf says ",
                ],
            ),
            (
                "vm.ova --format findings",
                Some(1),
                &["vm.ova/vm-disk1.vmdk,warning,STR410"],
            ),
            (
                "- < disk.img",
                Some(1),
                &["taken as an image that came through a pipe", OFF],
            ),
            (
                "- | disk.img",
                Some(1),
                &["taken as an image that came through a pipe", OFF],
            ),
            (
                "- | disk.img.gz",
                Some(1),
                &["taken as an image packed with gzip", OFF],
            ),
            (
                "- < one.txz",
                Some(1),
                &["standard input/disk.img: 1 error"],
            ),
            (
                "- | vm.ova",
                Some(1),
                &["STR410]: standard input/vm-disk1.vmdk"],
            ),
            (
                "disk.img.gz --as image",
                None,
                &["no format that is read was recognised"],
            ),
            ("disk.img.gz --as archive", Some(1), &[OFF]),
        ],
    );
}

#[test]
fn what_is_damaged_empty_or_for_other_programs_is_said_to_be() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "cut.gz",
                Some(2),
                &[
                    "error: cut.gz: damaged or cut short: ",
                    "bytes were unpacked",
                ],
            ),
            (
                "cut.xz",
                Some(2),
                &["error: cut.xz: damaged or cut short: "],
            ),
            // What stands before the cut was looked at.
            (
                "cut.tar",
                Some(2),
                &[
                    "cut.tar/disk.img: the archive is cut short: it has",
                    "cut.tar/letter.txt",
                ],
            ),
            ("cut-capture.tgz", Some(2), &["cut-capture.tgz"]),
            ("empty", Some(2), &["empty is empty: 0 bytes found"]),
            ("empty.gz", Some(2), &["nothing was checked"]),
            (
                "a.zip",
                Some(2),
                &["a.zip is a zip archive, which is not looked into; unpack it (`unzip a.zip`)"],
            ),
            ("a.7z", Some(2), &["a.7z is a 7z archive", "`7z x a.7z`"]),
            ("a.rar", Some(2), &["a.rar is a RAR archive"]),
            ("a.lz4", Some(2), &["a.lz4 is a file packed with lz4"]),
            ("a.cpio", Some(2), &["a.cpio is a cpio archive"]),
            ("missing.img", Some(2), &["cannot open missing.img"]),
            ("pipe", Some(2), &["pipe is a FIFO"]),
            (
                "D:",
                Some(2),
                &[
                    "D: is a drive or path of Windows",
                    "straddle capture -o host.tgz",
                ],
            ),
            (
                "D:\\data\\sales.mdf",
                Some(2),
                &["is a drive or path of Windows"],
            ),
            (
                "letter.txt",
                Some(2),
                &["no output of a known tool was found in it"],
            ),
            ("letter.txt.gz", Some(2), &["nothing was checked"]),
            (
                "disk.img --as capture",
                Some(2),
                &["disk.img is not a captured host"],
            ),
            (
                "disk.img --as nonsense",
                Some(2),
                &["none of auto, image, file, text, capture, support, archive, place, collection"],
            ),
        ],
    );
}

/// Texts for other verbs: a name, what is in it, and who reads it.
const OTHERS: [(&str, &str, &str); 5] = [
    (
        "iostat.txt",
        "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 12.30 45.10 480.00 900.00 1.20 5.40 0.26 5.17\n",
        "straddle evidence",
    ),
    (
        "ERRORLOG",
        "2024-03-14 10:15:01.22 spid52      SQL Server has encountered 14 occurrence(s) of I/O requests taking longer than 15 seconds to \
         complete on file [E:\\Data\\tpcc.mdf] in database [tpcc] (5).\r\n",
        "straddle evidence",
    ),
    (
        "usr_0.csv",
        "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,1317441536,8192,1963\n",
        "straddle trace",
    ),
    (
        "random.fio",
        "[global]\nbs=8k\nrw=randread\n[j]\nsize=1g\n",
        "straddle bench",
    ),
    (
        "disks.txt",
        "$ lsblk -b -o NAME,START,SIZE,TYPE\nNAME START SIZE TYPE\nsda 64023257088 disk\n└─sda1 63 64019030016 part\n",
        "straddle check",
    ),
];

#[test]
fn what_another_verb_reads_is_said_to_be() {
    let here = tempfile::tempdir().expect("a folder");
    for (name, text, _) in OTHERS {
        fs::write(here.path().join(name), text).expect("writable");
    }
    let run = |verb: &str, name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_straddle"))
            .args([verb, name])
            .env("STRADDLE_HISTORY", "none")
            .current_dir(here.path())
            .output()
            .expect("straddle runs");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
        (output.status.code(), said)
    };
    for (name, _, read_by) in OTHERS {
        for verb in ["check", "evidence", "trace"] {
            let (code, said) = run(verb, name);
            // What `check` reads, `evidence` reads beside figures.
            let is_read =
                read_by.ends_with(verb) || (verb, read_by) == ("evidence", "straddle check");
            let is_told = said.contains(&format!("`{read_by}`"));
            assert!(
                is_read || (code == Some(2) && is_told),
                "{verb} {name}: {said}"
            );
            assert!(
                !is_read || !said.contains("nothing was checked"),
                "{verb} {name}: {said}"
            );
        }
        let typed = format!("- < {name}");
        let (_, said) = self::run(here.path(), &typed);
        assert_eq!(
            read_by == "straddle check",
            !said.contains(&format!("`{read_by}`")),
            "{said}"
        );
    }
    // In a folder it is one of many, and nobody looks for who reads it.
    let (_, said) = run("check", ".");
    assert!(
        !said.contains("`straddle evidence`") && said.contains("sda1"),
        "{said}"
    );
}

#[test]
fn captures_are_hosts_in_every_form() {
    let here = folder();
    const STRIPE: &str = "STR102]: sda1 starts off the minimum I/O size of 64 KiB";
    hold(
        here.path(),
        &[
            (
                "db3.tgz",
                Some(1),
                &["taken as a capture of host db3; --as file", STRIPE],
            ),
            (
                "link.tgz",
                Some(1),
                &["taken as a capture of host link", STRIPE],
            ),
            ("db3.tar", Some(1), &["a capture of host db3", STRIPE]),
            ("db3.tar.xz", Some(1), &["a capture of host db3", STRIPE]),
            ("db3.tar.zst", Some(1), &["a capture of host db3", STRIPE]),
            ("db3.tar.bz2", Some(1), &["a capture of host db3", STRIPE]),
            ("db3.bin", Some(1), &["a capture of host db3.bin", STRIPE]),
            ("unpacked", Some(1), &["a capture of host unpacked", STRIPE]),
            ("db3.tree", Some(1), &["a capture of host db3", STRIPE]),
            ("tree.txt", Some(1), &["a capture of host tree.txt", STRIPE]),
            ("db3.tree.gz", Some(1), &["a capture of host db3", STRIPE]),
            (
                "- | db3.tgz",
                Some(1),
                &["taken as a captured host", STRIPE],
            ),
            (
                "- < db3.tree",
                Some(1),
                &["taken as a captured host", STRIPE],
            ),
            ("--sysroot db3.tar.xz", Some(1), &[STRIPE]),
            (
                "fleet",
                Some(1),
                &[
                    "4 hosts alike: db1, db2, db4 and 1 more STR102 sda1",
                    "4 hosts: ",
                ],
            ),
            (
                "fleet.tar",
                Some(1),
                &[
                    "fleet.tar/fleet/db1.tgz: ",
                    "fleet.tar/fleet/db2.txz: ",
                    "fleet.tar/fleet/db4.tree: ",
                ],
            ),
            (
                "fleet --format ndjson",
                Some(1),
                &[
                    "{\"target\":\"fleet/db1.tgz\",\"taken_as\":{\"kind\":\"capture\",\"words\":\"a capture of host db1\"",
                ],
            ),
            (
                "fleet --format findings",
                Some(1),
                &["fleet/db5,", ",STR102,sda1,32256,"],
            ),
        ],
    );
}

#[test]
fn directories_are_places_or_collections_and_say_which() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "images",
                Some(1),
                &[
                    "images/a.img",
                    "images/b.img.gz",
                    "2 targets: 2 with errors",
                ],
            ),
            (
                "link-images",
                Some(1),
                &["link-images/a.img", "2 targets: 2 with errors"],
            ),
            (
                "deep",
                Some(1),
                &["deep/er/c.img", "1 target: 1 with errors"],
            ),
            (
                "letters --as collection",
                Some(2),
                &["2 targets: 2 in which nothing was recognised"],
            ),
            (
                "/proc",
                Some(2),
                &["/proc: it lies on no block device that is known here (proc)"],
            ),
            (
                "/proc/self --as place",
                Some(2),
                &["lies on no block device"],
            ),
            (
                "fdisk.txt",
                Some(1),
                &["sdb1 starts inside a 4,096-byte physical sector"],
            ),
            (
                "fdisk.txt.gz",
                Some(1),
                &["sdb1 starts inside a 4,096-byte physical sector"],
            ),
            (
                "texts.tar",
                Some(1),
                &["sdb1 starts inside", "texts.tar/letter.txt"],
            ),
            ("- | fdisk.txt", Some(1), &["sdb1 starts inside"]),
        ],
    );
    // Which filesystem this is, and whether it has a disk below it, only this machine knows; that it is not silence, the test does.
    for typed in ["letters", "none", "images --as place", "."] {
        let (code, said) = run(here.path(), typed);
        let is_place = said.contains("taken as a place: the filesystem that");
        let is_nowhere =
            code == Some(2) && said.contains("it lies on no block device that is known here");
        let is_collection = typed == "." && said.contains(" targets: ");
        assert!(
            is_place || is_nowhere || is_collection,
            "{typed}: {code:?}\n{said}"
        );
    }
    let (_, said) = run(here.path(), "letters");
    assert!(!said.contains("in which nothing was recognised"), "{said}");
}

#[test]
fn what_lies_packed_is_not_changed_there() {
    let here = folder();
    for (verb, target, name) in [
        ("fix", "disk.img.gz", "disk.img.gz"),
        ("fix", "one.tar", "one.tar/disk.img"),
        ("realign", "disk.img.xz", "disk.img.xz"),
        ("realign", "vm.ova", "vm.ova/vm-disk1.vmdk"),
    ] {
        let run = straddle(here.path(), &[verb, target]);
        let says = format!(
            "error: {name} is packed or lies in an archive, where it cannot be changed; unpack it"
        );
        assert!(
            run.code == Some(2) && run.stderr.contains(&says),
            "{}",
            run.transcript()
        );
    }
    // A host is planned for, whatever it comes in, where its tables are known; the lab's captured-fix has such a plan.
    let plan = straddle(here.path(), &["fix", "db3.tar.xz"]);
    let says = "error: db3.tar.xz has findings, and no tables and superblocks of its disks";
    assert!(
        plan.code == Some(2) && plan.stderr.starts_with(says),
        "{}",
        plan.transcript()
    );
}

#[test]
fn a_capture_goes_through_a_pipe_and_no_file_is_made_for_it() {
    let here = folder();
    let first = straddle(here.path(), &["check", "db3.tree"]);
    let piped = sh(
        here.path(),
        &format!(
            "'{0}' capture --sysroot db3.tree -o - 2> said | '{0}' check - || true; ls -- ./- 2>/dev/null || true",
            env!("CARGO_BIN_EXE_straddle")
        ),
    );
    let body = |text: &str| {
        let mut lines = text.lines().skip(1).map(str::to_owned);
        let lines: Vec<String> = lines.by_ref().collect();
        lines.join("\n").replace("standard input", "db3.tree")
    };
    // The plan that the report ends with is for a file.
    let without_plan = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("is it worth fixing"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        without_plan(&body(&piped)),
        without_plan(&body(&first.stdout))
    );
    let said = fs::read_to_string(here.path().join("said")).expect("written");
    assert!(
        said.contains("wrote ") && said.contains(" files of this host"),
        "{said}"
    );
}
