use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// Job files as people write them, each with what it means.
const FILES: [(&str, &str); 6] = [
    (
        "one random reader",
        "[randread]\nrw=randread\nbs=4k\nsize=64m\nfilename=test.dat\nioengine=psync\ndirect=1\nruntime=30\ntime_based\n",
    ),
    (
        "cells after each other",
        "; a comparison\n[global]\nioengine=io_uring\ndirect=1\nfilename=test.dat\nsize=1g\niodepth=32\nruntime=1m\ntime_based=1\nramp_time=5s\ngroup_reporting\n\n[read-8k]\nrw=randread\nbs=8k\n\n[write-64k]\nstonewall\nrw=randwrite\nbs=64k   # writes\nnumjobs=4\n",
    ),
    (
        "a mix of lengths",
        "[global]\nrw=randrw\nrwmixread=70\nbssplit=4k/50:8k/30:64k/\n[mix]\nfilename=test.dat\nsize=256mb\nioengine=libaio\niodepth=16\nruntime=20\ntime_based\nrandseed=0x1234\n",
    ),
    (
        "a log",
        "[log]\ndirectory=/tmp\nfilename=log.dat\nrw=write\nbs=512\nsize=8m\nioengine=psync\nsync=dsync\nruntime=10\ntime_based\nthinktime=100\noffset=1m\nfsync=0\n",
    ),
    (
        "an offered rate",
        "[rate]\nfilename=test.dat\nrw=randrw\nrwmixwrite=25\nbs=8k,8k\nsize=64m\nioengine=null\nrate_iops=1000\nnumjobs=2\nruntime=5\ntime_based\nnorandommap\nthread\n",
    ),
    (
        "a second global section",
        "[global]\nruntime=5\ntime_based\nsize=1m\nioengine=null\nfilename=x\n[global]\nbs=16k\n[a]\nname=first\n[global]\nstonewall\n[b]\nrw=write\nblocksize=32k\n",
    ),
];

fn read(name: &str) -> Job {
    let (_, text) = FILES.iter().find(|(this, _)| *this == name).expect(name);
    parse(text).unwrap_or_else(|refused| panic!("{name}: {refused}"))
}

fn unit(bytes: u64) -> Unit {
    Unit::new(bytes).expect("not zero")
}

/// (pattern, percent reads, sizes, workers, outstanding, think, rate) of each cell.
#[expect(clippy::type_complexity, reason = "a row of a table")]
fn cells(
    job: &Job,
) -> Vec<(
    &str,
    Pattern,
    u8,
    Vec<(Unit, u32)>,
    u32,
    u32,
    Duration,
    Option<f64>,
)> {
    let row = |cell: &'_ Cell| {
        let w = &cell.workload;
        (
            w.pattern,
            w.reads.get(),
            w.sizes.clone(),
            w.workers,
            w.outstanding,
            w.think,
            w.rate,
        )
    };
    job.cells
        .iter()
        .map(|cell| {
            let (pattern, reads, sizes, workers, outstanding, think, rate) = row(cell);
            (
                cell.name.as_str(),
                pattern,
                reads,
                sizes,
                workers,
                outstanding,
                think,
                rate,
            )
        })
        .collect()
}

#[test]
fn files_mean_what_fio_means() {
    use Pattern::{Random, Sequential};
    let zero = Duration::ZERO;
    let job = read("one random reader");
    assert_eq!(
        cells(&job),
        [(
            "randread",
            Random,
            100,
            vec![(unit(4096), 1)],
            1,
            1,
            zero,
            None
        )]
    );
    assert_eq!(job.file.as_deref(), Some("test.dat"));
    assert_eq!(job.size, Some(Bytes::mib(64)));
    assert_eq!(job.runs, Duration::from_secs(30));
    assert_eq!((job.direct, job.engine), (true, Some("pread")));
    assert!(job.remarks.is_empty(), "{:?}", job.remarks);

    let job = read("cells after each other");
    assert_eq!(
        cells(&job),
        [
            (
                "read-8k",
                Random,
                100,
                vec![(unit(8192), 1)],
                1,
                32,
                zero,
                None
            ),
            (
                "write-64k",
                Random,
                0,
                vec![(unit(65_536), 1)],
                4,
                32,
                zero,
                None
            ),
        ]
    );
    assert_eq!(job.runs, Duration::from_secs(60));
    assert_eq!(job.warm_up, Duration::from_secs(5));
    assert_eq!(job.engine, Some("io_uring"));

    let job = read("a mix of lengths");
    let sizes = vec![(unit(4096), 50), (unit(8192), 30), (unit(65_536), 20)];
    assert_eq!(cells(&job), [("mix", Random, 70, sizes, 1, 16, zero, None)]);
    assert_eq!(job.seed, Some(0x1234));
    assert_eq!(job.size, Some(Bytes::mib(256)));
    assert!(!job.direct);
    assert_eq!(
        job.remarks,
        ["ioengine=libaio: io_uring makes the same requests"]
    );

    let job = read("a log");
    let think = Duration::from_micros(100);
    assert_eq!(
        cells(&job),
        [(
            "log",
            Sequential,
            0,
            vec![(unit(512), 1)],
            1,
            1,
            think,
            None
        )]
    );
    assert_eq!(job.file.as_deref(), Some("/tmp/log.dat"));
    assert_eq!(job.offset, Bytes::mib(1));
    assert_eq!(job.durability, Durability::WriteThrough);

    let job = read("an offered rate");
    assert_eq!(
        cells(&job),
        [(
            "rate",
            Random,
            75,
            vec![(unit(8192), 1)],
            2,
            1,
            zero,
            Some(2000.0)
        )]
    );

    let job = read("a second global section");
    assert_eq!(
        cells(&job),
        [
            (
                "first",
                Sequential,
                100,
                vec![(unit(16 << 10), 1)],
                1,
                1,
                zero,
                None
            ),
            (
                "b",
                Sequential,
                0,
                vec![(unit(32 << 10), 1)],
                1,
                1,
                zero,
                None
            ),
        ]
    );
}

/// "rw=write:4k will skip 4k for every write": the gap is added to what has been written.
#[test]
fn gaps_are_strides_from_beginning_to_beginning() {
    for (rw, pattern, reads) in [
        ("read:8k", Pattern::Strided(unit(12 << 10)), 100),
        ("write:4096", Pattern::Strided(unit(8 << 10)), 0),
        ("write:0", Pattern::Sequential, 0),
    ] {
        let text = format!("[a]\nruntime=5\ntime_based\nsize=1m\nbs=4k\nrw={rw}\n");
        let job = parse(&text).unwrap_or_else(|refused| panic!("{rw}: {refused}"));
        let workload = &job.cells[0].workload;
        assert_eq!(
            (workload.pattern, workload.reads.get()),
            (pattern, reads),
            "{rw}"
        );
    }
}

#[test]
fn what_is_not_done_is_refused_by_line_and_key() {
    let cases = [
        ("ioengine=rbd", "line 5: ioengine=rbd"),
        ("rw=trim", "line 5: rw=trim"),
        ("rw=randread:8", "line 5: rw=randread:8"),
        ("rw=rw:8k", "line 5: rw=rw:8k"),
        ("rw=read:8q", "line 5: rw=read:8q"),
        ("rw=read:-8k", "line 5: rw=read:-8k"),
        (
            "rw=read:8k\nbssplit=4k/50:64k/50",
            "line 1: [a]: rw with a gap and several sizes",
        ),
        (
            "rw=read:8k\nfilename=x\nnumjobs=2",
            "line 1: [a]: numjobs=2 and a sequential rw",
        ),
        ("bs=4k,8k", "line 5: bs=4k,8k"),
        ("bs = 4k", "line 5: bs= 4k"),
        ("bs=64KiB", "line 5: bs=64KiB"),
        ("bs=4.5k", "line 5: bs=4.5k"),
        ("bs=0", "line 5: bs=0"),
        ("bsrange=4k-64k", "line 5: bsrange=4k-64k"),
        ("bssplit=4k/50:64k/60", "line 5: bssplit=4k/50:64k/60"),
        ("bssplit=4k/50,64k/50", "line 5: bssplit=4k/50,64k/50"),
        ("size=50%", "line 5: size=50%"),
        ("filename=a:b", "line 5: filename=a:b"),
        ("filename=${HOME}/x", "line 5: filename=${HOME}/x"),
        ("runtime=1h30m", "line 5: runtime=1h30m"),
        ("sync=1", "line 5: sync=1"),
        ("fsync=32", "line 5: fsync=32"),
        ("rate_iops=100,200", "line 5: rate_iops=100,200"),
        ("direct", "line 5: direct"),
        ("verify=crc32c", "line 5: verify=crc32c"),
        ("zonemode=zbd", "line 5: zonemode=zbd"),
        ("RW=read", "line 5: RW=read"),
        ("include other.fio", "line 5: include other.fio"),
        ("[open", "line 5: [open"),
        ("numjobs=2", "line 1: [a]: numjobs=2 and a sequential rw"),
        (
            "numjobs=2\nrw=randread",
            "line 1: [a]: numjobs=2 without filename",
        ),
        (
            "iodepth=2\nioengine=io_uring\nthinktime=1",
            "line 1: [a]: thinktime with an iodepth above 1",
        ),
        ("[b]", "line 5: [b]"),
        ("[b]\nstonewall\nruntime=1", "line 5: [b]"),
    ];
    for (line, what) in cases {
        let text = format!("[a]\nruntime=5\ntime_based\nsize=1m\n{line}\n");
        let refused = parse(&text).expect_err(line);
        assert_eq!(refused.what, what, "{line}: {refused}");
    }
    for (text, why) in [
        ("", "it has 0 jobs"),
        ("[global]\nbs=4k\n", "it has 0 jobs"),
        ("bs=4k\n[a]\n", "it stands before the first section"),
        ("[a]\nsize=1m\n", "it has no runtime"),
    ] {
        let refused = parse(text).expect_err(text);
        assert!(refused.why.contains(why), "{text}: {refused}");
    }
}

/// fio takes every file that is read here. Without fio there is nothing to ask.
#[test]
fn fio_takes_the_same_files() {
    for (name, text) in FILES {
        let child = Command::new("fio")
            .args(["--parse-only", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            return;
        };
        let mut input = child.stdin.take().expect("piped");
        input.write_all(text.as_bytes()).expect("fio reads");
        drop(input);
        let output = child.wait_with_output().expect("fio ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && error.is_empty(),
            "{name}: {error}"
        );
    }
}

/// fio's own reading of sizes, from the table that it prints before a run on its null engine.
#[test]
fn fio_reads_the_same_sizes() {
    for (size, bytes) in [
        ("4096", 4096),
        ("4k", 4096),
        ("8K", 8192),
        ("16kb", 16_384),
        ("1m", 1 << 20),
        ("2M", 2 << 20),
    ] {
        let text = format!("[a]\nruntime=5\nbs={size}\n");
        let job = parse(&text).expect(size);
        assert_eq!(job.cells[0].workload.sizes, [(unit(bytes), 1)]);
        let output = Command::new("fio")
            .args([
                "--output-format=json",
                "--name=a",
                "--ioengine=null",
                "--size=8m",
                "--number_ios=1",
            ])
            .arg(format!("--bs={size}"))
            .output();
        let Ok(output) = output else {
            return;
        };
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("fio prints JSON");
        assert_eq!(document["jobs"][0]["read"]["io_bytes"], bytes, "{size}");
    }
}

proptest! {
    #[test]
    fn no_job_file_panics(text in "(\\PC{0,12}[\n=\\[\\];#:/0-9kmg]{0,3}){0,12}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_value_panics(key in 0_usize..20, value in "\\PC{0,16}") {
        let keys = [
            "rw", "rwmixread", "rwmixwrite", "bs", "bssplit", "size", "filename", "directory", "iodepth", "numjobs",
            "runtime", "time_based", "ramp_time", "direct", "ioengine", "offset", "rate_iops", "thinktime", "sync", "randseed",
        ];
        let text = format!("[a]\nruntime=5\ntime_based\n{}={value}\n", keys[key]);
        if let Ok(job) = parse(&text) {
            prop_assert!(job.cells.iter().all(|cell| cell.workload.concurrency() > 0));
            prop_assert!(job.cells.iter().all(|cell| !cell.workload.sizes.is_empty()));
        }
    }
}
