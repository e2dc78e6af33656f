//! Job files of fio and command lines of older tools as people have them: what is taken, what is asked about, and that nothing is made
//! in the meantime.

use std::fs;

use crate::bench::names;
use crate::natural::{Row, hold};
use crate::support::{scratch, straddle};

/// A folder of job files, of profiles, and of a file that is somebody else's.
fn folder() -> tempfile::TempDir {
    let here = scratch();
    let write = |name: &str, text: &str| {
        let path = here.path().join(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
        fs::write(path, text).expect("writable");
    };
    write("mixed.fio", MIXED);
    write("JOB.INI", MIXED);
    write(
        "bad.fio",
        "[global]\nioengine=libaio\niodeth=32\nverify=md5\nzonemode=zbd\n\n[a]\nrw=randtrim\nbs=64KiB\n[b]\nrw=read\n",
    );
    write("nofile.fio", "[a]\nrw=randread\nruntime=1\nsize=8m\n");
    write(
        "all.fio",
        "[a]\nfilename=other.dat\nrw=randread\nsize=100%\nruntime=1\ntime_based\n",
    );
    write(
        "half.fio",
        "[a]\nfilename=other.dat\nrw=randread\nsize=50%\nruntime=1\ntime_based\n",
    );
    write(
        "env.fio",
        "[a]\nfilename=${STRADDLE_TEST_NO_SUCH}\nruntime=1\n",
    );
    write(
        "jobs/outer.fio",
        "[global]\ninclude common.inc\n[a]\nrw=randread\n",
    );
    write(
        "jobs/common.inc",
        "filename=t.dat\nsize=8m\nruntime=1\ntime_based\nbs=16k\n",
    );
    write(
        "quiet.fio",
        "[a]\nfilename=t.dat\nsize=8m\nrw=randread\nruntime=1\ntime_based\nlockmem=1g\nrandrepeat=1\nloops=1\nverify=0\n",
    );
    write("notes.txt", "[section]\nthis is no job file\n");
    write(
        "two.xml",
        "<Profile><TimeSpans><TimeSpan><Duration>1</Duration></TimeSpan><TimeSpan><Duration>2</Duration></TimeSpan></TimeSpans></Profile>",
    );
    write("broken.xml", "<Profile>\n<TimeSpans>\n");
    fs::write(here.path().join("other.dat"), vec![7; 80 << 20]).expect("writable");
    here
}

const MIXED: &str = "; two jobs\n[global]\nioengine=psync\nfilename=t.dat\nsize=8m\nruntime=1\ntime_based\n[oltp]\nrw=randread\nbs=8k\n[scan]\nstonewall\nrw=read\nbs=64k\n";

const LINES: [Row; 46] = [
    // A job file is the job file, by its ending or by what is in it.
    (
        "bench mixed.fio --dry-run",
        0,
        &[
            "mixed.fio is taken as a job file of fio's",
            "workloads oltp: reads, random, 8 KiB",
            "scan: reads, sequential, 64 KiB",
        ],
    ),
    (
        "bench JOB.INI --dry-run",
        0,
        &[
            "JOB.INI is taken as a job file of fio's",
            "oltp: reads, random",
        ],
    ),
    (
        "bench --job mixed.fio --dry-run",
        0,
        &["oltp: reads, random"],
    ),
    (
        "bench . --job nofile.fio --dry-run",
        0,
        &["a: reads, random, 4 KiB"],
    ),
    (
        "bench mixed.fio --dry-run --offsets 0,1M",
        0,
        &["offsets 0, 1M; the first is the baseline"],
    ),
    (
        "bench jobs/outer.fio --dry-run",
        0,
        &["a: reads, random, 16 KiB"],
    ),
    ("bench all.fio --dry-run", 0, &["other.dat: only read"]),
    (
        "bench half.fio --dry-run",
        0,
        &["requests 40 MiB from byte"],
    ),
    (
        "bench quiet.fio --dry-run",
        0,
        &[
            "lockmem: no memory is locked",
            "randrepeat: the order of requests comes from --seed",
            "loops=1, verify=0: nothing else is done here",
        ],
    ),
    // It is never the name of a test file.
    (
        "bench none.fio",
        2,
        &[
            "none.fio does not exist, and a test file is not given the name of a job file",
            "such as none.dat",
        ],
    ),
    (
        "bench none.FIO --dry-run",
        2,
        &["none.FIO does not exist", "such as none.dat"],
    ),
    (
        "bench nowhere/none.fio --io 4K",
        2,
        &["does not exist, and a test file is not given the name of a job file"],
    ),
    (
        "bench --job none.fio",
        2,
        &["cannot read the job file none.fio"],
    ),
    (
        "bench mixed.fio --io 4K",
        2,
        &["leave the options of the workload out, or write them into it"],
    ),
    (
        "bench mixed.fio --iodepth 32",
        2,
        &["leave the options of the workload out"],
    ),
    (
        "bench mixed.fio --rw randwrite",
        2,
        &["leave the options of the workload out"],
    ),
    (
        "bench nofile.fio",
        2,
        &[
            "nofile.fio names no file",
            "straddle bench DIRECTORY --job nofile.fio",
        ],
    ),
    (
        "bench env.fio",
        2,
        &[
            "line 2: filename=${STRADDLE_TEST_NO_SUCH}: the environment has no STRADDLE_TEST_NO_SUCH",
        ],
    ),
    // All that is in the way is told at once.
    (
        "bench bad.fio",
        2,
        &[
            "bad.fio: 6 obstacles",
            "line 3: iodeth=32: fio has no such key; iodepth?",
            "line 4: verify=md5: verification is an option of the command line; leave it out, and give --verify beside --job",
            "line 5: zonemode=zbd",
            "line 8: rw=randtrim",
            "line 9: bs=64KiB",
            "line 10: [b]: fio runs it at the same time as the job before it",
        ],
    ),
    ("bench notes.txt --io 8K --dry-run", 2, &["notes.txt"]),
    // diskspd.
    (
        "diskspd -?",
        0,
        &["diskspd [switches] file…", "straddle bench DIRECTORY"],
    ),
    ("diskspd /?", 0, &["-Xprofile.xml"]),
    ("diskspd -c64M", 2, &["0 targets", "name a test file"]),
    (
        "diskspd -b8K -d10 new.dat",
        2,
        &["diskspd makes a file only with -c and its size"],
    ),
    (
        "diskspd -c100M -d1 other.dat",
        2,
        &[
            "was not made by straddle",
            "other.dat has 80 MiB instead of 100 MiB: leave -c out to read it as it is",
        ],
    ),
    (
        "diskspd -c1M -w100 -d1 other.dat",
        2,
        &[
            "was not made by straddle",
            "other.dat has 80 MiB instead of 1 MiB",
        ],
    ),
    (
        "diskspd -c1M -d1 -W0 -b4K other.dat",
        0,
        &["other.dat has 80 MiB and keeps them; its first 1 MiB are used, as -c says"],
    ),
    ("diskspd -Xnone.xml", 2, &["reading none.xml"]),
    (
        "diskspd -Xtwo.xml",
        2,
        &["<TimeSpan>: a run has one span of time here"],
    ),
    (
        "diskspd -Xbroken.xml",
        2,
        &["of the profile: it ends in the middle"],
    ),
    (
        "diskspd -Xtwo.xml -t4",
        2,
        &[
            "`-t4`: beside a profile diskspd takes -d, -W, -C, -R, -v and -z only",
            "leave -X out",
        ],
    ),
    ("diskspd -X x.dat", 2, &["`-X`: it names no file"]),
    (
        "diskspd -Rpxml x.dat",
        2,
        &[
            "`-Rpxml`: a profile is not printed without a run",
            "give -Rxml",
        ],
    ),
    ("diskspd -Rcsv x.dat", 2, &["give -Rtext or -Rxml"]),
    ("diskspd -d10 #1", 2, &["`#1`: it names a raw device"]),
    (
        "diskspd -d10 E:",
        2,
        &[r"name a test file on it, such as E:\testfile.dat"],
    ),
    (
        "diskspd -d10 -F8 x.dat",
        2,
        &["give -t (threads of each target)"],
    ),
    ("diskspd -a0,1 x.dat", 2, &["start straddle under taskset"]),
    // SQLIO.
    ("sqlio -?", 0, &["sqlio [switches] [file…]", "-Fparam.txt"]),
    ("sqlio /?", 0, &["straddle sqlio -kR -s120"]),
    (
        "sqlio -kR -frandom -dEFG",
        2,
        &[
            r"type -o1 E:\testfile.dat F:\testfile.dat G:\testfile.dat in its place; on Linux, the path of each",
        ],
    ),
    (
        "sqlio -kW -s10 -frandom -o8 -b8 -dE test.dat",
        2,
        &[r"type E:\test.dat in its place"],
    ),
    (
        "sqlio -kR -s10 -frandom -b8 E:",
        2,
        &[r"such as E:\testfile.dat"],
    ),
    (
        "sqlio -kR -s10 -frandom -b8 -R1",
        2,
        &["it names a raw device"],
    ),
    (
        r"sqlio -kR -s10 -frandom -b8 E:\test.dat",
        2,
        &["is a path of Windows; name a file of this system, such as ./test.dat"],
    ),
    (
        "sqlio -kR -s10 -frandom -b8 -Fnone.txt",
        2,
        &["reading none.txt"],
    ),
];

#[test]
fn job_files_and_command_lines_are_taken_or_asked_about() {
    let here = folder();
    let before = names(here.path());
    hold(here.path(), &LINES);
    assert_eq!(names(here.path()), before, "nothing is made");
}

/// Sections are called by their names in every form.
#[test]
fn names_of_sections_stand_in_every_form() {
    let here = scratch();
    let job = MIXED
        .replace("ioengine=psync", "ioengine=null")
        .replace("runtime=1", "runtime=10ms");
    fs::write(here.path().join("mixed.fio"), job).expect("writable");
    for (format, expected) in [
        ("text", ["oltp: 8 KiB random", "scan: 64 KiB sequential"]),
        ("json", ["\"oltp\"", "\"scan\""]),
        ("csv", [",oltp,8192,8192,1", ",scan,65536,65536,1"]),
        ("runs", [",oltp", ",scan"]),
        ("fio", ["\"oltp-off1M\"", "\"scan-off1M\""]),
        ("svg", ["oltp: 8 KiB random", "scan: 64 KiB sequential"]),
    ] {
        let line =
            format!("bench mixed.fio --offsets 0,1M --blocks 3 --history none --format {format}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let run = straddle(here.path(), &words);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        for part in expected {
            assert!(
                run.stdout.contains(part),
                "{format}: {part}\n{}",
                run.stdout
            );
        }
    }
    let line = "bench mixed.fio --offsets 0,1M --blocks 3 --history none --json";
    let words: Vec<&str> = line.split_whitespace().collect();
    let run = straddle(here.path(), &words);
    fs::write(here.path().join("run.json"), run.stdout).expect("writable");
    let page = straddle(here.path(), &["report", "run.json", "--format", "markdown"]);
    assert!(
        page.stdout.contains("oltp: 8 KiB random"),
        "{}",
        page.transcript()
    );
}

/// Each column of the tables for spreadsheets holds one value.
#[test]
fn columns_hold_one_value_each() {
    let here = scratch();
    for format in ["csv", "runs"] {
        let line = format!(
            "bench --engine null --offsets 0,1M --blocks 3 --runtime 150ms --io 8K:70+64K:30 --history none --format {format}"
        );
        let words: Vec<&str> = line.split_whitespace().chain(["x"]).collect();
        let run = straddle(here.path(), &words);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let mut lines = run.stdout.lines();
        let heading: Vec<&str> = lines.next().expect("a heading").split(',').collect();
        let column = |name: &str| heading.iter().position(|found| *found == name).expect(name);
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), heading.len(), "{line}");
            // 0.7 × 8,192 + 0.3 × 65,536.
            assert_eq!(cells[column("request_bytes")], "25395.2");
            for (name, cell) in heading.iter().zip(&cells) {
                let is_word =
                    ["target", "pattern", "offset", "class", "verdict", "name"].contains(name);
                assert!(
                    is_word || cell.is_empty() || cell.parse::<f64>().is_ok(),
                    "{name}: {cell}"
                );
            }
        }
    }
}

/// A run by a profile, with results in XML, that another run takes as its profile again.
#[test]
fn a_profile_is_run_and_results_are_one_again() {
    let here = scratch();
    let run = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        straddle(here.path(), &words)
    };
    let first = run("diskspd -c1M -b8K -r -o4 -t2 -w30 -d1 -W0 -L -Rxml x.dat");
    assert_eq!(first.code, Some(0), "{}", first.transcript());
    // As PowerShell's `>` writes it.
    let wide = first.stdout.encode_utf16().flat_map(u16::to_le_bytes);
    let bytes: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide).collect();
    fs::write(here.path().join("first.xml"), bytes).expect("writable");
    let again = run("diskspd -Xfirst.xml");
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    let profile = |text: &str| {
        let from = text.find("<Profile>").expect("a profile");
        let to = text.find("</Profile>").expect("its end");
        text[from..to].to_owned()
    };
    assert_eq!(profile(&again.stdout), profile(&first.stdout));
    let text = &first.stdout;
    let value = |name: &str| -> Vec<f64> {
        let open = format!("<{name}>");
        text.split(&open)
            .skip(1)
            .map(|rest| {
                rest.split('<')
                    .next()
                    .expect("a value")
                    .parse()
                    .expect("a number")
            })
            .collect()
    };
    // Two threads on one file, and what they did adds up.
    assert_eq!(value("Id").len(), 2 + value("ProcCount")[0] as usize);
    for ((all, reads), writes) in value("IOCount")
        .iter()
        .zip(value("ReadCount"))
        .zip(value("WriteCount"))
    {
        assert_eq!(*all, reads + writes);
        assert!(reads > writes && writes > 0.0);
    }
    assert_eq!(value("Percentile").len(), 108);
    assert!(value("TotalMilliseconds").is_sorted());
}
