//! Options and words of other programs: understood where they mean one thing, and else answered with what is typed here.

use crate::natural::{folder, hold};
use crate::support::straddle;

#[test]
fn options_of_other_programs_are_answered_with_those_of_this_one() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "PREDICT --rwmixread=70",
                2,
                &["--rwmixread", "`--rw 70/30` is 70% reads"],
            ),
            (
                "bench . --dry-run --rwmixwrite 30",
                2,
                &["`--rw 70/30` is 70% reads"],
            ),
            (
                "PREDICT --bssplit 8k/70:64k/30",
                2,
                &["`--io 8K:70+64K:30`"],
            ),
            ("PREDICT --io 8K:70+64K:30", 0, &["8 KiB"]),
            (
                "bench --filename=/data/x --dry-run",
                2,
                &["is named without an option"],
            ),
            (
                "bench . --direct=1 --dry-run",
                2,
                &["requests never pass the page cache", "leave it out"],
            ),
            (
                "PREDICT --direct=1",
                2,
                &["changes nothing here: leave it out"],
            ),
            (
                "bench . --ioengine=libaio --dry-run",
                2,
                &["`--engine` says how"],
            ),
            ("bench . --ramp_time=5 --dry-run", 2, &["`--warm-up 2s`"]),
            (
                "bench . --warm-up 2s --dry-run",
                0,
                &["2 s of them warm-up"],
            ),
            ("bench . --duration 60 --dry-run", 2, &["`--budget 10m`"]),
            ("bench . --budget 10m --dry-run", 0, &["at most 9 min 54 s"]),
            ("PREDICT --iops 500", 2, &["`--rate 500`"]),
            ("PREDICT --rate 500", 0, &["500"]),
            (
                "bench . --time_based --dry-run",
                2,
                &["changes nothing here"],
            ),
            (
                "bench . -b8K -o8 -t4 -r --dry-run",
                2,
                &["go behind `straddle diskspd`"],
            ),
            (
                "bench . --block-size 16k --queue-depth 4 --dry-run",
                0,
                &["16 KiB", "1 thread × 4 outstanding"],
            ),
            (
                "PREDICT --blocksize 16k --io-depth 4",
                0,
                &["16 KiB random", "1 × 4"],
            ),
            ("predict eva8100", 2, &["`--profile eva8100`"]),
            (
                "predict --disk cheetah-15k7 --raid-level 5",
                2,
                &["--disk cheetah-15k7 --raid 5 --disks 8"],
            ),
            (
                "check mbr-63.img --fail-on never --chunk 64K",
                0,
                &["--stripe-unit 64KiB"],
            ),
            (
                "check mbr-63.img --stripe 64K",
                2,
                &["`--stripe-unit` is what lies on one member"],
            ),
            (
                "check --file mbr-63.img",
                2,
                &["is named without an option"],
            ),
            ("check mbr-63.img --output x.txt", 2, &["`> FILE` keeps it"]),
            // What no other program has is answered with the nearest name.
            (
                "check mbr-63.img --fail-onn never",
                2,
                &["a similar argument exists: '--fail-on'"],
            ),
        ],
    );
}

#[test]
fn words_of_other_tools_are_understood() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "bench . --dry-run --rw randrw --bs 8k --iodepth 4 --numjobs 2 --runtime 10",
                0,
                &[
                    "50% reads, 50% writes, random, 8 KiB, 2 threads × 4 outstanding",
                    "runs of 10.2 s",
                ],
            ),
            (
                "bench . --dry-run --rw randread --qd 32",
                0,
                &["reads, random, 8 KiB, 1 thread × 32 outstanding"],
            ),
            (
                "bench . --dry-run --rw randwrite --pattern rand",
                0,
                &["writes, random, 8 KiB"],
            ),
            (
                "bench . --dry-run --rw write --pattern seq",
                0,
                &["writes, sequential, 8 KiB"],
            ),
            (
                "bench . --dry-run --rw randread --pattern seq",
                2,
                &[
                    "--rw asks for random requests and --pattern for sequential; leave one of them out",
                ],
            ),
            (
                "bench . --dry-run --rw rw",
                2,
                &["does not say in which order; it could be randrw, 50/50"],
            ),
            (
                "PREDICT --rw randread --bs 64k --qd 2 --numjobs 4",
                0,
                &["64 KiB random, reads only, 4 × 2"],
            ),
            (
                "PREDICT --rw write --pattern seq",
                0,
                &["8 KiB sequential, writes only"],
            ),
            (
                "PREDICT --rw randrw,seqread",
                2,
                &["one prediction has one access pattern; run once for each"],
            ),
            (
                "PREDICT --rw read --compare bs=8K,64K --offsets 0",
                0,
                &["compared io 8K and 64K"],
            ),
            (
                "PREDICT --rw read --compare qd=1,2 --offsets 0",
                0,
                &["compared outstanding 1 and 2"],
            ),
            (
                "check mbr-63.img --bs 8K --fail-on never -v",
                0,
                &["8 KiB requests", "STR101"],
            ),
            ("fix mbr-63.img --bs 8K", 0, &["now and afterwards 8 KiB"]),
            (
                "realign mbr-63.img --bs 8K",
                0,
                &["now and afterwards (computed) 8 KiB"],
            ),
            (
                "help",
                0,
                &[
                    "Usage: straddle [COMMAND]",
                    "help Print this message or the help of the given subcommand(s)",
                ],
            ),
            (
                "help check",
                0,
                &[
                    "Usage: straddle check [OPTIONS] [TARGET]...",
                    "-v, --details",
                ],
            ),
            (
                "help history list",
                0,
                &["Usage: straddle history list [OPTIONS]"],
            ),
            ("help nothing", 2, &["unrecognized subcommand 'nothing'"]),
        ],
    );
    // The same report, whatever it is asked for by.
    let long = straddle(here.path(), &["check", "--details", "mbr-63.img"]);
    let short = straddle(here.path(), &["check", "-v", "mbr-63.img"]);
    assert_eq!(long.stdout, short.stdout);
}

#[test]
fn words_in_place_of_a_verb_are_answered_with_one_that_does_it() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "scan /dev/sda",
                2,
                &["unrecognized subcommand 'scan'", "`straddle check TARGET`"],
            ),
            ("list", 2, &["`straddle check` looks at this machine"]),
            ("benchmark --size 1G", 2, &["`straddle bench TARGET`"]),
            ("simulate", 2, &["`straddle predict`"]),
            ("repair mbr-63.img", 2, &["`straddle fix TARGET`"]),
            ("version", 2, &["`straddle --version`"]),
            ("mbr-63.img", 2, &["`straddle check mbr-63.img`"]),
            ("/dev/sda", 2, &["`straddle check /dev/sda`"]),
            // A slip of the finger stays one.
            ("chek mbr-63.img", 2, &["'check'"]),
            ("fix mbr-63.img --dry-run", 2, &["`fix` changes nothing"]),
            ("fix -y mbr-63.img", 2, &["`fix` changes nothing"]),
            ("check mbr-63.img -o out.json", 2, &["`> FILE` keeps it"]),
            ("check mbr-63.img --raid 5", 2, &["`--stripe-unit 64K`"]),
            ("fio job.fio", 2, &["`straddle bench JOB.fio`"]),
            ("check mbr-63.img --csv", 2, &["`--format csv`"]),
            ("check mbr-63.img --fail-on none", 0, &["STR101"]),
            ("bench -kW -s10 -b8 .", 2, &["behind `straddle sqlio`"]),
            ("serve --port 8080", 2, &["`--bind 127.0.0.1:8080`"]),
            ("check mbr-63.img --fail-on never -vv", 0, &["STR101"]),
        ],
    );
    // No file is called so.
    let said = straddle(here.path(), &["check", "--no-such-thing", "mbr-63.img"]);
    assert!(!said.stderr.contains("as a value"), "{}", said.transcript());
}

#[test]
fn options_of_other_tools_are_understood_where_they_mean_one_thing() {
    let here = folder();
    hold(
        here.path(),
        &[
            // mdadm's and the controllers' words for the stripe unit.
            (
                "check mbr-63.img --fail-on never --chunk 64K",
                0,
                &["--stripe-unit 64KiB"],
            ),
            (
                "check mbr-63.img --fail-on never --strip-size 256k --verbose",
                0,
                &["--stripe-unit 256KiB"],
            ),
            ("check mbr-63.img --chunk 64", 2, &["64"]),
            (
                "predict --level 5 --chunk-size 64K",
                2,
                &["--disk", "--disks"],
            ),
            ("bench . --dry-run --chunk 64K", 0, &["reads, random"]),
            ("history ls --help", 0, &["The latest runs, a line each"]),
        ],
    );
}

#[test]
fn habits_of_other_command_lines_are_answered() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "help check fix",
                2,
                &["one command at a time: `straddle help check`, `straddle help fix`"],
            ),
            ("history delete 3", 2, &["`straddle history rm RUN…`"]),
            ("study list", 0, &["eva8100", "f20"]),
            ("PREDICT --access random", 2, &["`--rw randread`"]),
            ("bench . --type read --dry-run", 2, &["`--rw randread`"]),
            (
                "bench . --percentage_random=100 --dry-run",
                2,
                &["`--pattern seq`"],
            ),
            ("bench . --fsync 1 --dry-run", 2, &["`--write-through`"]),
            ("bench . --end_fsync=1 --dry-run", 2, &["`--write-through`"]),
            ("bench . --loops 3 --dry-run", 2, &["`--blocks 5`"]),
            ("bench . --jobs 4 --dry-run", 2, &["`--threads 4`"]),
            ("bench . --align 1M --dry-run", 2, &["`--offsets 31.5K,1M`"]),
            (
                "bench . --offset 63s --dry-run",
                2,
                &["`--offsets 31.5K,1M`"],
            ),
            ("predict --list", 2, &["`straddle profile list`"]),
            ("predict --ssd", 2, &["`straddle profile list`"]),
            (
                "check --sector-size 4096 mbr-63.img",
                2,
                &["`--physical-sector 4096`"],
            ),
            ("check --blocksize 4k mbr-63.img", 2, &["`--io 8K`"]),
            ("check -b 4k mbr-63.img", 2, &["`--io 8K`"]),
            (
                "check --offset 63 mbr-63.img",
                2,
                &["`straddle predict --offsets`"],
            ),
            (
                "check --su 64k --sw 4 mbr-63.img",
                2,
                &["`--stripe-unit 64K`"],
            ),
            (
                "check --sunit 128 mbr-63.img",
                2,
                &["`--stripe-width 256K`"],
            ),
            (
                "check -a",
                2,
                &["without a target it is all of this machine"],
            ),
            (
                "check --host db1",
                2,
                &["`straddle capture -o host.tgz` there"],
            ),
            ("check --no-color mbr-63.img", 2, &["NO_COLOR=1"]),
            ("check -j mbr-63.img", 2, &["`--json`"]),
            ("check -f json mbr-63.img", 2, &["`--format json`"]),
            ("fix --auto mbr-63.img", 2, &["`fix` changes nothing"]),
            ("realign mbr-63.img --offset 1M", 2, &["`--to 1M`"]),
            ("realign mbr-63.img -y", 2, &["`--yes`"]),
            (
                "evidence --since yesterday ERRORLOG",
                2,
                &["all of a file is read"],
            ),
            // A pattern that the shell left as it is stands for no machine.
            (
                "check mbr-63.img *.log",
                2,
                &[
                    "no file here has a name of this pattern",
                    "2 targets: 1 with errors, 1 could not be read",
                ],
            ),
        ],
    );
    // What nothing is known of leaves no blank lines where a tip would be.
    let said = straddle(here.path(), &["check", "--pretty", "mbr-63.img"]);
    assert!(!said.stderr.contains("\n\n\n"), "{}", said.transcript());
}

#[test]
fn outputs_that_tell_nothing_are_named_with_what_does() {
    let here = folder();
    let qemu = "image: db1.qcow2\nfile format: qcow2\nvirtual size: 40 GiB (42949672960 bytes)\ndisk size: 21 GiB\ncluster_size: 65536\n";
    let vbox = "$ VBoxManage showmediuminfo disk db1.vdi\nUUID:           5f0c1f30-4d2f-4a2b-8d1e-8b5b1d7a9c11\nParent UUID:    base\n\
                Type:           normal (base)\nStorage format: VDI\nCapacity:       40960 MBytes\n";
    let qm = "boot: order=scsi0\nmemory: 8192\nostype: l26\nscsi0: local-lvm:vm-101-disk-0,size=64G\nscsihw: virtio-scsi-single\n";
    let aix = "hdisk0          00c276b034d03b25                    rootvg          active\n";
    let zpool =
        "NAME  PROPERTY  VALUE  SOURCE\ntank  ashift    9      local\ntank  health    ONLINE -\n";
    let solaris = "c0t0d0           Soft Errors: 0 Hard Errors: 0 Transport Errors: 0\nVendor: SEAGATE  Product: ST373307LSUN72G Serial No: 3HZ\n\
                   Size: 73.40GB <73400057856 bytes>\n";
    for (name, text) in [
        ("qemu.txt", qemu),
        ("vbox.txt", vbox),
        ("qm.txt", qm),
        ("aix.txt", aix),
        ("zpool.txt", zpool),
        ("solaris.txt", solaris),
    ] {
        std::fs::write(here.path().join(name), text).expect("writable");
    }
    hold(
        here.path(),
        &[
            (
                "check qemu.txt",
                2,
                &[
                    "qemu.txt: nothing was checked: this is of `qemu-img info`",
                    "`straddle check IMAGE`",
                ],
            ),
            (
                "check vbox.txt",
                2,
                &[
                    "this is of `VBoxManage showmediuminfo`",
                    "not where the guest's partitions begin",
                ],
            ),
            (
                "check qm.txt",
                2,
                &["this is of `qm config`", "on the Proxmox host"],
            ),
            (
                "check aix.txt",
                2,
                &["this is of `lspv`", "`getlvcb -AT LV`"],
            ),
            (
                "check zpool.txt",
                2,
                &["this is of `zpool get`", "`zdb -C POOL`"],
            ),
            (
                "check solaris.txt",
                2,
                &[
                    "this is of `iostat -En`",
                    "run instead: `prtvtoc /dev/rdsk/DISKs2`",
                ],
            ),
        ],
    );
}
