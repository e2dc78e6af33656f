//! Command lines as people type them who know other tools: sizes, rates, times, shares, names, each accepted as the value that is
//! meant, or refused with what it could be.

use std::fs;
use std::path::Path;

use crate::support::{repository, scratch, straddle, unpack_image};

/// What is typed behind `straddle`, the exit status, and what the answer says.
///
/// A `~` in a word is a blank that the shell was told to keep.
pub(crate) type Row = (&'static str, i32, &'static [&'static str]);

/// Fewest requests, and no sensitivities: the values are asked about, not the results.
const PREDICT: &str = "predict --profile fixed-service --requests 200 --sensitivity 0";

/// Runs each command line in one folder, and compares.
pub(crate) fn hold(here: &Path, rows: &[Row]) {
    let mut wrong = String::new();
    for (typed, code, says) in rows {
        let typed = typed.replace("PREDICT", PREDICT);
        let words: Vec<String> = typed
            .split_whitespace()
            .map(|word| word.replace('~', " "))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = straddle(here, &words);
        // Tables and paragraphs are broken by the width, which is not what this is about.
        let said = format!("{}{}", run.stdout, run.stderr);
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let missing: Vec<&&str> = says.iter().filter(|part| !flat.contains(**part)).collect();
        if run.code != Some(*code) || !missing.is_empty() {
            wrong.push_str(&format!(
                "$ straddle {typed}\nexpected {code} and {missing:?}\n{}\n",
                run.transcript()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A folder with a disk image, a log and two predictions.
pub(crate) fn folder() -> tempfile::TempDir {
    let here = scratch();
    unpack_image("mbr-63", here.path());
    let log = repository().join("tests/evidence/errorlog/errorlog-2019-utf16.log");
    fs::copy(log, here.path().join("ERRORLOG")).expect("writable");
    for (name, io) in [("before.json", "8K"), ("after.json", "64K")] {
        let args = format!("{PREDICT} --rw read --offsets unaligned,1M --io {io} --json");
        let args: Vec<&str> = args.split_whitespace().collect();
        let run = straddle(here.path(), &args);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        fs::write(here.path().join(name), run.stdout).expect("writable");
    }
    here
}

#[test]
fn sizes_are_what_is_meant_or_are_refused_with_what_it_could_be() {
    let here = folder();
    hold(
        here.path(),
        &[
            // Bytes, where bytes can be meant.
            (
                "bench . --dry-run --io 4096",
                0,
                &["reads, random, 4 KiB, 1 thread"],
            ),
            (
                "bench . --dry-run --io 512",
                0,
                &["reads, random, 512 B, 1 thread"],
            ),
            (
                "fix mbr-63.img --stripe-unit 65536 --io 8192",
                0,
                &[
                    "stripe unit 65,536",
                    "request size, now and afterwards 8 KiB",
                ],
            ),
            (
                "check mbr-63.img --fail-on never --physical-sector 4096 --logical-sector 512",
                0,
                &["--physical-sector 4KiB"],
            ),
            (
                "check mbr-63.img --fail-on never --where 61440+8192",
                0,
                &["where byte 61,440 of partition 1 lies"],
            ),
            (
                "bench . --dry-run --offsets 32256,1048576,0",
                0,
                &["offsets 32256, 1048576, 0; the first is the baseline"],
            ),
            (
                "bench . --dry-run --size 1073741824",
                0,
                &["1 GiB of it for the requests"],
            ),
            (
                "realign mbr-63.img --to 1048576",
                0,
                &["→ 1 MiB = 2,048 sectors"],
            ),
            // What was printed is typed back.
            (
                "realign mbr-63.img --to 2,048~sectors",
                0,
                &["→ 1 MiB = 2,048 sectors"],
            ),
            (
                "realign mbr-63.img --to 1,028~KiB",
                0,
                &[
                    "→ 1,028 KiB = 2,056 sectors",
                    "straddle realign mbr-63.img --to 1052672B --yes",
                ],
            ),
            (
                "realign mbr-63.img --to 1052672B",
                0,
                &["→ 1,028 KiB = 2,056 sectors"],
            ),
            (
                "bench . --dry-run --io 8~KiB",
                0,
                &["reads, random, 8 KiB, 1 thread"],
            ),
            (
                "PREDICT --rw read --data 2.4TB",
                0,
                &["Moving ≈2.18 TiB, copied away and back"],
            ),
            (
                "PREDICT --rw read --data ≈2.18~TiB",
                0,
                &["Moving ≈2.18 TiB, copied away and back"],
            ),
            (
                "PREDICT --rw read --size 8.00~GiB --offsets 0",
                0,
                &["span 8.59 GB (8.00 GiB)"],
            ),
            // Powers of ten and of two.
            (
                "PREDICT --rw read --size 1GB",
                0,
                &["span 1.00 GB (954 MiB)"],
            ),
            (
                "PREDICT --rw read --size 1GiB",
                0,
                &["span 1.07 GB (1.00 GiB)"],
            ),
            (
                "PREDICT --rw read --size 1G",
                0,
                &["span 1.07 GB (1.00 GiB)"],
            ),
            ("bench . --dry-run --io 64k,1m", 0, &["64 KiB", "1 MiB"]),
            (
                "bench . --dry-run --io 8KB",
                2,
                &[
                    "`8KB` is 8,000 B, as KB is a power of ten; for a request size, did you mean 8K or 8KiB (8,192 B)?",
                ],
            ),
            (
                "check mbr-63.img --stripe-unit 64KB",
                2,
                &["did you mean 64K or 64KiB (65,536 B)?"],
            ),
            (
                "realign mbr-63.img --to 1MB",
                2,
                &["for an offset, did you mean 1M or 1MiB (1,048,576 B)?"],
            ),
            // Of what?
            (
                "check mbr-63.img --stripe-unit 64",
                2,
                &[
                    "`64` has no unit; as a stripe unit it could be 64K (65,536 B), 64s (32 KiB) or 64M (67,108,864 B)",
                ],
            ),
            (
                "bench . --dry-run --stripe-unit 256",
                2,
                &["256K (262,144 B), 256s (128 KiB)"],
            ),
            (
                "fix mbr-63.img --stripe-width 256",
                2,
                &["as a full stripe it could be 256K"],
            ),
            (
                "fix mbr-63.img --allocation-unit 64",
                2,
                &["as an allocation unit it could be 64K"],
            ),
            (
                "predict --disk cheetah-15k7 --raid 5 --disks 8 --stripe-unit 64",
                2,
                &["as a stripe unit it could be 64K"],
            ),
            (
                "predict --disk cheetah-15k7 --raid 5 --disks 8 --cache 512",
                2,
                &["as a cache it could be 512M (536,870,912 B) or 512G"],
            ),
            (
                "PREDICT --data 500",
                2,
                &[
                    "as an amount of data it could be 500GB (500,000,000,000 B), 500GiB (536,870,912,000 B), 500TB",
                ],
            ),
            (
                "PREDICT --size 64",
                2,
                &["as a working set it could be 64G"],
            ),
            (
                "PREDICT --io 8",
                2,
                &[
                    "`8` has no unit; as a request size it could be 8K (8,192 B), 8M (8,388,608 B) or 8s (4 KiB)",
                ],
            ),
            (
                "check mbr-63.img --io 4,096",
                2,
                &["`4` has no unit; as a request size it could be 4K"],
            ),
            (
                "check mbr-63.img --physical-sector 4",
                2,
                &["as a physical sector it could be 4K (4,096 B)"],
            ),
            (
                "check mbr-63.img --logical-sector 4",
                2,
                &["as a logical sector it could be 4K (4,096 B)"],
            ),
            (
                "check mbr-63.img --where 61440+8",
                2,
                &["as a length it could be 8K"],
            ),
            (
                "bench . --dry-run --offsets 63,64K",
                2,
                &[
                    "`63` has no unit; as an offset it could be 63s (31.5 KiB), 63K (64,512 B)",
                    "`unaligned` stands for sector 63",
                ],
            ),
            (
                "PREDICT --offsets 63",
                2,
                &["could be 63s (31.5 KiB)", "or `current`"],
            ),
            (
                "realign mbr-63.img --to 2048",
                2,
                &["could be 2048s (1 MiB), 2048K (2,097,152 B)"],
            ),
            (
                "realign mbr-63.img --to 206848",
                2,
                &["could be 206848s (101 MiB)"],
            ),
            (
                "realign mbr-63.img --grow 8",
                2,
                &["as a length to add it could be 8M (8,388,608 B)"],
            ),
            (
                "bench . --dry-run --pattern strided:64",
                2,
                &["as a distance between requests it could be 64K"],
            ),
            (
                "PREDICT --set array.stripe_unit=64",
                2,
                &["array.stripe_unit: `64` has no unit; as a size it could be 64K"],
            ),
            (
                "PREDICT --rw read --compare stripe-unit=64,256",
                2,
                &["array.stripe_unit: `64` has no unit"],
            ),
            (
                "PREDICT --rw read --compare io=8,64",
                2,
                &["`8` has no unit; as a request size"],
            ),
            // Zero, absurd, nonsense.
            (
                "check mbr-63.img --stripe-unit 1000000000000",
                2,
                &["`1000000000000` is ≈931.32 GiB; expected a stripe unit from 512 B to 1 GiB"],
            ),
            (
                "bench . --dry-run --stripe-unit 0",
                2,
                &["`0` is 0 B; expected a stripe unit from 512 B to 1 GiB"],
            ),
            (
                "bench . --dry-run --stripe-width 2TiB",
                2,
                &["expected a full stripe from 512 B to 64 GiB"],
            ),
            (
                "check mbr-63.img --io 0",
                2,
                &["expected a request size from 512 B to 64 MiB"],
            ),
            (
                "check mbr-63.img --io 1G",
                2,
                &["`1G` is 1 GiB; expected a request size from 512 B to 64 MiB"],
            ),
            (
                "fix mbr-63.img --io 8B",
                2,
                &["`8B` is 8 B; expected a request size"],
            ),
            (
                "check mbr-63.img --logical-sector 8G",
                2,
                &["expected a logical sector from 512 B to 64 KiB"],
            ),
            (
                "PREDICT --data 0",
                2,
                &["`0` is 0 B; expected an amount of data from 1 MiB"],
            ),
            (
                "PREDICT --size 0K",
                2,
                &["expected a working set from 512 B"],
            ),
            (
                "bench . --dry-run --size -1",
                2,
                &["unexpected argument '-1'"],
            ),
            (
                "bench . --dry-run --offsets 8E",
                2,
                &["expected an offset from 0 B to 1 PiB"],
            ),
            (
                "check mbr-63.img --stripe-unit 63Q",
                2,
                &["`63Q` is not a size; write it like 64K, 1MiB"],
            ),
            (
                "check mbr-63.img --stripe-unit 0.3K",
                2,
                &["`0.3K` is not a whole number of bytes"],
            ),
        ],
    );
}

#[test]
fn rates_and_times_have_units_or_are_refused_with_them() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "PREDICT --rw read --data 36GB --move-rate 100MB/s",
                0,
                &["at 100 MB/s is an outage of 12 min"],
            ),
            (
                "PREDICT --rw read --data 36GB --move-rate 100~MB/s",
                0,
                &["at 100 MB/s is an outage of 12 min"],
            ),
            (
                "PREDICT --rw read --data 36GB --move-rate 800Mbit/s",
                0,
                &["at 100 MB/s is an outage of 12 min"],
            ),
            (
                "fix mbr-63.img --move-rate 1GiB/s",
                0,
                &["at 1073 MB/s of copying"],
            ),
            (
                "fix mbr-63.img --move-rate 100",
                2,
                &[
                    "`100` has no unit; as a rate it could be 100MB/s, 100MiB/s, 100GB/s or 100Mbit/s",
                ],
            ),
            (
                "PREDICT --move-rate 100",
                2,
                &["as a rate it could be 100MB/s"],
            ),
            (
                "fix mbr-63.img --move-rate 10Gb/s",
                2,
                &["it could be 10GB/s or 10Gbit/s"],
            ),
            (
                "fix mbr-63.img --move-rate 0MB/s",
                2,
                &["expected a rate from 1 kB/s to 1 TB/s"],
            ),
            (
                "PREDICT --rw read --rate 100",
                0,
                &["reads only, 100/s offered"],
            ),
            (
                "PREDICT --rw read --rate 0.1k",
                0,
                &["reads only, 100/s offered"],
            ),
            (
                "bench . --dry-run --rate 5,000~IOPS",
                0,
                &["5000 due each second"],
            ),
            (
                "bench . --dry-run --rate 200MB/s",
                2,
                &["is a rate of bytes, and requests per second are counted here"],
            ),
            (
                "bench . --dry-run --rate 0",
                2,
                &["is not a rate in requests per second above zero"],
            ),
            (
                "bench . --dry-run --runtime 10 --warm-up 5 --budget 1h",
                0,
                &[
                    "runs of 15 s (5 s of them warm-up)",
                    "at most 58 min 30 s (26 blocks)",
                ],
            ),
            (
                "bench . --dry-run --runtime 1~min~30~s --budget none",
                0,
                &["of 1 min 30 s (200 ms of them warm-up)"],
            ),
            (
                "bench . --dry-run --runtime 0",
                2,
                &["expected the time of a run from 1 ms to 1 d"],
            ),
            (
                "bench . --dry-run --runtime 48h",
                2,
                &["expected the time of a run from 1 ms to 1 d"],
            ),
            ("bench . --dry-run --think 10us", 0, &["thinking 10 µs"]),
            (
                "bench . --dry-run --think 10",
                2,
                &["as a think time it could be 10us, 10ms or 10s"],
            ),
            (
                "PREDICT --think 2",
                2,
                &["as a think time it could be 2us, 2ms or 2s"],
            ),
            (
                "bench . --dry-run --budget 10",
                2,
                &["as a limit of time it could be 10s, 10m or 10h"],
            ),
            (
                "evidence ERRORLOG --fail-on never --target data=15~ms",
                0,
                &["STR801"],
            ),
            (
                "evidence ERRORLOG --target data=10",
                2,
                &["as a latency it could be 10ms, 10us or 10s"],
            ),
            (
                "evidence ERRORLOG --target data=0ms",
                2,
                &["expected a latency from 1 ns to 1 h"],
            ),
            (
                "PREDICT --rw read --set server.service=5~msec",
                0,
                &["server.service = 5 ms"],
            ),
            (
                "PREDICT --set server.service=5",
                2,
                &["server.service: `5` has no unit; as a time it could be 5us, 5ms or 5s"],
            ),
        ],
    );
}

#[test]
fn shares_come_to_100_and_percentages_are_those_that_can_be_meant() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "bench . --dry-run --rw 70/30",
                0,
                &["70% reads, 30% writes, random"],
            ),
            (
                "bench . --dry-run --rw 70:30",
                0,
                &["70% reads, 30% writes, random"],
            ),
            ("PREDICT --rw 70:30", 0, &["8 KiB random, 70% reads"]),
            (
                "bench . --dry-run --rw 70",
                2,
                &["it could be 70/30 (70% reads) or 30/70 (70% writes)"],
            ),
            (
                "bench . --dry-run --rw 60/60",
                2,
                &["the shares of `60/60` come to 120, not to 100; expected 60/40 or 40/60"],
            ),
            (
                "PREDICT --rw 70:40",
                2,
                &["come to 110, not to 100; expected 70/30 or 60/40"],
            ),
            (
                "bench . --dry-run --io 8K:70+64K:30",
                0,
                &["8 KiB (70 in 100) or 64 KiB (30 in 100)"],
            ),
            (
                "bench . --dry-run --io 8K:70+64K:40",
                2,
                &["the shares of `8K:70+64K:40` come to 110, not to 100"],
            ),
            ("PREDICT --io 8K:7+64K:3", 2, &["come to 10, not to 100"]),
            (
                "PREDICT --io 8K:70+64K",
                2,
                &["`64K` has no share, and others of `8K:70+64K` have one"],
            ),
            (
                "fix mbr-63.img --profile fixed-service --workload --rw~70:40",
                2,
                &[
                    "--workload: invalid value '70:40'",
                    "come to 110, not to 100",
                ],
            ),
            (
                "bench . --dry-run --precision 2%",
                0,
                &["until each gain is known to 2%"],
            ),
            (
                "bench . --dry-run --precision 2",
                0,
                &["until each gain is known to 2%"],
            ),
            (
                "bench . --dry-run --precision 0.5",
                2,
                &["as a percentage it could be 0.5% or 50%"],
            ),
            (
                "PREDICT --precision 0%",
                2,
                &["is not a percentage up to 100%"],
            ),
            (
                "compare before.json after.json --worse 400",
                0,
                &["nothing is proven to be worse by more than 400.0%"],
            ),
            (
                "compare before.json after.json --worse 0.05",
                2,
                &["as a percentage it could be 0.05% or 5%"],
            ),
            (
                "compare before.json after.json --worse 2000%",
                2,
                &["is not a percentage up to 1000%"],
            ),
        ],
    );
}

#[test]
fn pages_studies_and_profiles_are_found_by_names_that_people_know() {
    let here = folder();
    hold(
        here.path(),
        &[
            (
                "explain STR101 STR201",
                0,
                &[
                    "STR101: partition starts inside a physical sector",
                    "STR201: partition starts inside a stripe unit",
                ],
            ),
            (
                "explain str101,tracks",
                0,
                &["STR101: partition", "Partitions must start on a track"],
            ),
            (
                "explain STR 101 201",
                0,
                &["STR101: partition", "STR201: partition"],
            ),
            (
                "explain STR101 STR999",
                2,
                &[
                    "STR101: partition",
                    "there is no page on `STR999`; nearest: STR909",
                ],
            ),
            (
                "explain mount point",
                0,
                &["Volumes without a drive letter need no alignment"],
            ),
            ("explain trakcs", 2, &["nearest: tracks"]),
            (
                "explain bcache plugh",
                2,
                &["nearest: STR611 (bcache-data-offset)"],
            ),
            (
                "study",
                0,
                &[
                    "eva8100 Eight-KiB random requests on an EVA8100",
                    "f20 Sun Flash Accelerator F20",
                    "msa60 ",
                ],
            ),
            ("study --json", 2, &["which study? Name one, or give --all"]),
            (
                "study raid1 --quick",
                0,
                &["study raid1-control: Two mirrored disks"],
            ),
            (
                "study n13-raid1-control --quick",
                0,
                &["study raid1-control: Two mirrored disks"],
            ),
            (
                "study wd",
                2,
                &["a part of several names; expected one of wd-advanced-format, wd-green-osync"],
            ),
            (
                "study nobody",
                2,
                &["the study is nobody; expected fixed-service, wd-advanced-format"],
            ),
            ("profile show eva8100", 0, &["eva8100: "]),
            (
                "profile show msa60",
                0,
                &["msa60-p800: HP MSA60 on a Smart Array P800"],
            ),
            ("profile show F20", 0, &["f20: Sun Flash Accelerator F20"]),
            (
                "profile show atlas",
                2,
                &[
                    "`atlas` may be any of several; name one: atlas-15k-ii Maxtor Atlas 15K II, 73 GB atlas-10k-v",
                ],
            ),
            (
                "profile show nobody",
                2,
                &["there is no profile `nobody`", "straddle profile list"],
            ),
            (
                "predict --profile fixed --requests 200 --sensitivity 0 --rw read",
                0,
                &["profile fixed-service: Disks of a fixed service time"],
            ),
            (
                "predict --disk 15k7 --raid 5 --disks 8 --requests 200 --sensitivity 0 --rw read",
                0,
                &["profile raid5 of 8 cheetah-15k7"],
            ),
            (
                "predict --disk 15k --raid 5 --disks 8 --rw write",
                2,
                &[
                    "`15k` may be any of several; name one: cheetah-15k7 Seagate Cheetah 15K.7, 450 GB ultrastar-15k450-450",
                ],
            ),
            (
                "predict --disk 7200rpm --raid 10 --disks 4 --rw write",
                2,
                &["`7200rpm` may be any of several", "ultrastar-7k4000 HGST"],
            ),
            (
                "predict --disk nvme --raid 10 --disks 4 --requests 200 --sensitivity 0 --rw read",
                0,
                &["profile raid10 of 4 nvme-tlc"],
            ),
            (
                "predict --disk nl-sas --raid 6 --disks 8 --rw write",
                2,
                &[
                    "there is no profile of a single disk or SSD `nl-sas`",
                    "a speed such as 15k or 7200",
                ],
            ),
            (
                "predict --disk msa60-p800 --raid 5 --disks 8 --rw write",
                2,
                &["--disk is msa60-p800, which has [controller]"],
            ),
            ("PREDICT --scenario log", 0, &["log-structured"]),
        ],
    );
}
