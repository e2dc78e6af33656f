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
