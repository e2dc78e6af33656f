use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use straddle_geometry::{Bytes, Unit};
use straddle_workload::Pattern;

/// A small machine whose environment has two variables and whose folder has four files.
pub(super) fn parse(text: &str) -> Result<Job, Obstacles> {
    super::parse(text, &surroundings())
}

fn surroundings() -> Surroundings<'static> {
    Surroundings {
        variable: &|name| match name {
            "SIZE" => Some("64m".to_owned()),
            "BS" => Some("8k".to_owned()),
            _ => None,
        },
        include: &|name| match name {
            "common.fio" => Ok("ioengine=io_uring\ndirect=1\nsize=64m\n".to_owned()),
            "sections.fio" => Ok("runtime=5\n[b]\nrw=read\n".to_owned()),
            "wrong.fio" => Ok("; nothing\niodeth=4\n".to_owned()),
            "loop.fio" => Ok("include loop.fio\n".to_owned()),
            _ => Err("it does not exist".to_owned()),
        },
        processors: 4,
        page: 4096,
        memory: 2 << 30,
    }
}

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
        "[log]\ndirectory=/tmp\nfilename=log.dat\nrw=write\nbs=512\nsize=8m\nioengine=psync\nsync=dsync\nruntime=10\ntime_based\nthinktime=100\noffset=0\nfsync=0\n",
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
    assert_eq!(job.size, Some(Size::Bytes(Bytes::mib(64))));
    assert_eq!(job.runs, Some(Duration::from_secs(30)));
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
    assert_eq!(job.runs, Some(Duration::from_secs(60)));
    assert_eq!(job.warm_up, Duration::from_secs(5));
    assert_eq!(job.engine, Some("io_uring"));

    let job = read("a mix of lengths");
    let sizes = vec![(unit(4096), 50), (unit(8192), 30), (unit(65_536), 20)];
    assert_eq!(cells(&job), [("mix", Random, 70, sizes, 1, 16, zero, None)]);
    assert_eq!(job.seed, Some(0x1234));
    assert_eq!(job.size, Some(Size::Bytes(Bytes::mib(256))));
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

/// fio takes every file that is read here. Without fio there is nothing to ask.
#[test]
fn fio_takes_the_same_files() {
    let files = FILES.iter().map(|(name, text)| (*name, (*text).to_owned()));
    let here = tempfile::tempdir().expect("temporary directory");
    let text = (surroundings().include)("common.fio").expect("is there");
    std::fs::write(here.path().join("common.fio"), text).expect("writable");
    for (name, text) in files.chain(super::table::taken()) {
        let child = Command::new("fio")
            .args(["--parse-only", "-"])
            .current_dir(here.path())
            .envs([("SIZE", "64m"), ("BS", "8k")])
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
