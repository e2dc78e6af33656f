//! `straddle trace` as a person types it.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use straddle_testkit::filefrag;

use crate::support::{Run, scratch, straddle};

/// Requests of two partitions, the first at sector 63: pages of 8 KiB, one in three a read, in a shape of MSR Cambridge.
fn recorded(requests: u64) -> String {
    let mut text = String::new();
    let mut x = 1_u64;
    for n in 0..requests {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let begin = if x >> 40 & 3 == 0 { 65_600 } else { 63 };
        let offset = begin * 512 + 8192 * (x >> 33 & 0x7ff);
        let kind = if n % 3 == 0 { "Read" } else { "Write" };
        let time = 128_166_372_003_061_629 + n * 10_000;
        writeln!(text, "{time},db,0,{kind},{offset},8192,1500").expect("a string");
    }
    text
}

/// A disk with those partitions, and nothing in them.
fn disk(path: &Path) {
    let mut record = vec![0_u8; 512];
    for (at, (kind, start, sectors)) in [(7_u8, 63_u32, 65_536_u32), (0x83, 65_600, 65_472)]
        .into_iter()
        .enumerate()
    {
        let entry = &mut record[446 + 16 * at..][..16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    }
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    let file = fs::File::create(path).expect("room");
    file.set_len(64 << 20).expect("a sparse file");
    std::os::unix::fs::FileExt::write_all_at(&file, &record, 0).expect("room");
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", run.transcript()))
}

fn trace(here: &Path, args: &[&str]) -> Run {
    straddle(here, &[&["trace"], args].concat())
}

#[test]
fn a_report_names_what_each_start_costs() {
    let here = scratch();
    fs::write(here.path().join("db.csv"), recorded(3000)).expect("room");
    let run = trace(here.path(), &["--start", "63s", "--window", "1s", "db.csv"]);
    insta::assert_snapshot!(run.transcript());
}

#[test]
fn requests_are_followed_to_the_partitions_of_a_disk() {
    let here = scratch();
    disk(&here.path().join("disk.img"));
    // Over the end of the first partition, and before it.
    let text = format!(
        "{}1,db,0,Write,33583104,8192,1\n1,db,0,Read,0,512,1\n",
        recorded(3000)
    );
    fs::write(here.path().join("db.csv"), text).expect("room");
    let args = [
        "--stack",
        "disk.img",
        "--layer",
        "disk.img",
        "--physical-sector",
        "4096",
        "db.csv",
    ];
    let run = trace(here.path(), &args);
    insta::assert_snapshot!(run.transcript());
    let document = json(&trace(here.path(), &[&args[..], &["--json"]].concat()));
    let places: Vec<(&str, u64, u64, u64)> = document["places"]
        .as_array()
        .expect("places")
        .iter()
        .map(|place| {
            let requests = &place["all"]["requests"];
            let number = |value: &serde_json::Value| value.as_u64().expect("a number");
            let today = &place["all"]["grids"][0]["today"]["loads"];
            (
                place["name"].as_str().expect("a name"),
                number(&place["start"]),
                number(&requests["read"]) + number(&requests["write"]),
                number(&today["read"]["straddling"]) + number(&today["write"]["straddling"]),
            )
        })
        .collect();
    let first = recorded(3000)
        .lines()
        .filter(|line| {
            let offset: u64 = line
                .split(',')
                .nth(4)
                .expect("an offset")
                .parse()
                .expect("a number");
            offset < 65_599 * 512
        })
        .count() as u64;
    // Every page of both straddles a sector of 4 KiB, but for the one over the end of the first: its pieces do not.
    assert_eq!(
        places,
        [
            ("partition 1 of disk.img", 32_256, first + 1, first),
            (
                "partition 2 of disk.img",
                33_587_200,
                3000 - first + 1,
                3000 - first
            ),
            ("disk.img", 0, 2, 0),
        ]
    );
    assert_eq!(document["files"][0]["split"], 2);
}

/// Where a range lies by these runs, each its start, where that is, and its length: the pieces, in order.
fn within(
    runs: &[(u64, u64, u64)],
    (start, length): (u64, u64),
) -> impl Iterator<Item = (u64, u64)> {
    runs.iter().filter_map(move |(at, there, len)| {
        let (from, to) = (start.max(*at), (start + length).min(at + len));
        (from < to).then(|| (there + (from - at), to - from))
    })
}

/// A guest's requests, down to the disk below its virtual disk: where `qemu-img map` and `filefrag` say that they lie there.
#[test]
fn requests_of_a_guest_are_followed_into_its_virtual_disk() {
    use std::os::unix::fs::FileExt;
    const MIB: u64 = 1 << 20;
    let here = scratch();
    let raw = fs::File::create(here.path().join("raw.img")).expect("room");
    raw.set_len(16 * MIB).expect("a sparse file");
    for block in [0, 3, 4, 9, 15] {
        raw.write_all_at(&[0xaa; MIB as usize], block * MIB)
            .expect("room");
    }
    crate::support::sh(
        here.path(),
        "qemu-img convert -f raw -O vdi raw.img whole.vdi",
    );
    // Another file is written in between, so that most filesystems have it in pieces.
    let whole = fs::read(here.path().join("whole.vdi")).expect("an image");
    let [guest, other] =
        ["guest.vdi", "other"].map(|name| fs::File::create(here.path().join(name)).expect("room"));
    for (piece, at) in whole.chunks(300 << 10).zip((0..).step_by(300 << 10)) {
        for file in [&guest, &other] {
            file.write_all_at(piece, at).expect("room");
            file.sync_all().expect("syncs");
        }
    }
    let line = "qemu-img map --output=json -f vdi guest.vdi";
    let map: serde_json::Value =
        serde_json::from_str(&crate::support::sh(here.path(), line)).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let data: Vec<(u64, u64, u64)> = map
        .as_array()
        .expect("runs")
        .iter()
        .filter(|run| run["data"] == true)
        .map(|run| {
            (
                number(&run["start"]),
                number(&run["offset"]),
                number(&run["length"]),
            )
        })
        .collect();
    let requests: Vec<(u64, u64)> = (0..3000_u64)
        .map(|n| {
            let start = 512 * (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49);
            (start, 512 * (1 + n % 40))
        })
        .filter(|(start, length)| start + length <= 16 * MIB)
        .collect();
    let lines = requests
        .iter()
        .map(|(start, length)| format!("1,guest,0,Write,{start},{length},1\n"));
    fs::write(here.path().join("guest.csv"), lines.collect::<String>()).expect("room");
    // Blocks that are neighbours here need not be in the file, and what is in one piece there need not be on the disk.
    let extents = filefrag::pieces(&here.path().join("guest.vdi"));
    let pieces = |request: (u64, u64)| -> Vec<u64> {
        let mut pieces = Vec::new();
        let mut ends = None;
        for (there, len) in within(&data, request) {
            for (there, len) in within(&extents, (there, len)) {
                if ends != Some(there) {
                    pieces.push(there);
                }
                ends = Some(there + len);
            }
        }
        pieces
    };
    let (mut sectors, mut elsewhere, mut moved) = ([0_u64; 8], 0_u64, false);
    for request in &requests {
        let pieces = pieces(*request);
        elsewhere += u64::from(pieces.is_empty());
        for piece in pieces {
            sectors[usize::try_from(piece / 512 % 8).expect("small")] += 1;
            moved |= piece % 4096 != request.0 % 4096;
        }
    }
    assert!(elsewhere > 500 && moved, "{elsewhere}");
    let document = json(&trace(
        here.path(),
        &[
            "--json",
            "--stack",
            "guest.vdi",
            "--layer",
            "vdi",
            "guest.csv",
        ],
    ));
    assert_eq!(document["files"][0]["elsewhere"], elsewhere);
    let mut found = [0_u64; 8];
    for place in document["places"].as_array().expect("places") {
        for (sum, count) in found
            .iter_mut()
            .zip(place["all"]["sectors"].as_array().expect("eight"))
        {
            *sum += number(count);
        }
    }
    assert_eq!(found, sectors);
}

#[test]
fn a_device_that_is_no_layer_is_said() {
    let here = scratch();
    disk(&here.path().join("disk.img"));
    fs::write(here.path().join("db.csv"), recorded(10)).expect("room");
    let run = trace(here.path(), &["--stack", "disk.img", "db.csv"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    let said = "no layer of the stack is called db.0; say with --layer which one was recorded: disk.img, partition 1, partition 2";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let run = trace(
        here.path(),
        &["--stack", "disk.img", "--layer", "sdz", "db.csv"],
    );
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("no layer is called `sdz`; there are disk.img, partition 1, partition 2"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_could_not_be_read_is_located_and_no_pass() {
    let here = scratch();
    let mut text = recorded(2000);
    let good = text.len();
    text.push_str("1,db,0,Write,-8192,8192,7\n");
    fs::write(here.path().join("db.csv"), &text).expect("room");
    let run = trace(here.path(), &["db.csv"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let said = format!(
        "1 line: the offset is no whole number below 2⁶⁴, the first db.csv:2001 (byte {good}): 1,db,0,Write,-8192,8192,7"
    );
    assert!(run.stdout.contains(&said), "{}", run.stdout);
    let run = trace(here.path(), &["--max-bad", "0", "db.csv"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("db.csv: 1 of 2001 lines were not understood, more than --max-bad allows"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("2,000 requests"), "{}", run.stdout);
    fs::write(here.path().join("empty"), "").expect("room");
    fs::write(here.path().join("letter"), "all is slow\n").expect("room");
    for (name, said) in [
        ("empty", "empty: the file is empty"),
        (
            "letter",
            "letter: no trace of a known recorder: its first line is `all is slow`",
        ),
        ("gone", "gone"),
        ("/dev/null", "expected a file that a recorder wrote"),
    ] {
        let run = trace(here.path(), &[name, "db.csv"]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert!(run.stdout.contains("2,000 requests"), "{}", run.stdout);
        let alone = trace(here.path(), &[name]);
        assert_eq!(alone.code, Some(2), "{}", alone.transcript());
    }
}

#[test]
fn what_was_asked_about_and_is_not_there_is_said() {
    let here = scratch();
    fs::write(here.path().join("db.csv"), recorded(100)).expect("room");
    let run = trace(here.path(), &["--device", "db.0,sda", "db.csv"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr
            .contains("no request is of a device called sda; there are db.0"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("100 requests"), "{}", run.stdout);
    // Half a year in windows of a minute.
    let later =
        "128168964003061629,db,0,Read,4096,4096,1\n129168964003061629,db,0,Read,4096,4096,1\n";
    fs::write(here.path().join("long.csv"), later).expect("room");
    let run = trace(here.path(), &["--window", "1m", "long.csv"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(
        run.stderr
            .contains("more than 100000 windows; ask for windows of at least 1001 seconds"),
        "{}",
        run.stderr
    );
    let run = trace(here.path(), &["--window", "1001s", "--json", "long.csv"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

/// By whatever name, and in folders with other files: more of them than may be open at once.
#[test]
fn every_file_counts_once_and_one_is_open_at_a_time() {
    let here = scratch();
    let folder = here.path().join("fleet");
    fs::create_dir(&folder).expect("room");
    for n in 0..300 {
        fs::write(folder.join(format!("{n:03}.csv")), recorded(10)).expect("room");
    }
    fs::write(folder.join("README"), "Ten requests of each host.\n").expect("room");
    fs::write(folder.join("empty"), "").expect("room");
    let program = env!("CARGO_BIN_EXE_straddle");
    let line = format!(
        "ulimit -n 64; {program} trace --json fleet fleet/000.csv ./fleet/../fleet/001.csv"
    );
    let document: serde_json::Value =
        serde_json::from_str(&crate::support::sh(here.path(), &line)).expect("JSON");
    assert_eq!(document["files"].as_array().map(Vec::len), Some(300));
    assert_eq!(
        (&document["passed_over"], &document["failures"]),
        (&serde_json::json!(2), &serde_json::json!([]))
    );
    let requests = &document["places"][0]["all"]["requests"];
    assert_eq!(
        (&requests["read"], &requests["write"]),
        (&serde_json::json!(1200), &serde_json::json!(1800))
    );
    // What somebody names has to be something.
    let run = trace(here.path(), &["fleet", "fleet/README"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(trace(here.path(), &["fleet/README"]).code, Some(2));
}

#[test]
fn a_wrong_unit_makes_one_doubt() {
    let here = scratch();
    let of = |text: String| {
        fs::write(here.path().join("one.csv"), text).expect("room");
        let document = json(&trace(here.path(), &["--json", "one.csv"]));
        document["doubts"].to_string()
    };
    let line = |offset: u64, len: u64| format!("1,db,0,Read,{offset},{len},1\n");
    // Sectors where bytes belong, bytes where sectors belong, and a trace that is as it should be.
    assert!(
        of((0..200).map(|n| line(n * 17, 8)).collect())
            .contains("begin inside a sector of 512 bytes")
    );
    assert!(
        of((0..200).map(|n| line(n * (512 * 512), 512 * 512)).collect())
            .contains("multiple of 256 KiB")
    );
    assert_eq!(of((0..200).map(|n| line(n * 4096, 4096)).collect()), "[]");
    // A few are enough, where all are so.
    let few = of((0..3).map(|n| line(2049 + n * 17, 8)).collect());
    assert!(
        few.contains("shorter than a sector of 512 bytes")
            && few.contains("100% of the requests begin inside a sector"),
        "{few}"
    );
    assert!(
        of("9,db,0,Read,0,512,1\n1,db,0,Read,0,512,1\n".to_owned())
            .contains("1 time before the one above, by up to 0.80 µs")
    );
}

#[test]
fn csv_has_a_line_for_each_device_grid_start_and_direction() {
    let here = scratch();
    fs::write(here.path().join("db.csv"), recorded(300)).expect("room");
    let run = trace(
        here.path(),
        &[
            "--units",
            "4K,192K:rmw",
            "--offsets",
            "1M",
            "--start",
            "63s",
            "--format",
            "csv",
            "db.csv",
        ],
    );
    insta::assert_snapshot!(run.transcript());
}

#[test]
fn pipes_folders_and_packed_files_are_the_same_trace() {
    let here = scratch();
    fs::create_dir(here.path().join("one")).expect("room");
    fs::write(here.path().join("one/db.csv"), recorded(5000)).expect("room");
    let places = |run: &Run| json(run)["places"].clone();
    let expected = places(&trace(here.path(), &["--json", "one/db.csv"]));
    assert_eq!(places(&trace(here.path(), &["--json", "one"])), expected);
    let line = "gzip -k one/db.csv && mkdir z && mv one/db.csv.gz z && zstd -q one/db.csv -o z.zst && \
                head -n 2000 one/db.csv | zstd -q > two.zst && tail -n +2001 one/db.csv | zstd -q >> two.zst";
    crate::support::sh(here.path(), line);
    for packed in ["z/db.csv.gz", "z.zst", "two.zst"] {
        assert_eq!(
            places(&trace(here.path(), &["--json", packed])),
            expected,
            "{packed}"
        );
    }
    let program = env!("CARGO_BIN_EXE_straddle");
    let piped = Command::new("sh")
        .current_dir(here.path())
        .args(["-c", &format!("cat one/db.csv | {program} trace --json -")])
        .output()
        .expect("sh");
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).expect("a document");
    assert_eq!(piped["places"], expected);
    // A packed file that is cut off says so, and keeps what was before.
    let gz = fs::read(here.path().join("z/db.csv.gz")).expect("it was made");
    fs::write(here.path().join("cut.gz"), &gz[..gz.len() / 2]).expect("room");
    let run = trace(here.path(), &["--json", "cut.gz"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("cut.gz: not read to its end"),
        "{}",
        run.stderr
    );
    let requests = json(&run)["files"][0]["requests"]
        .as_u64()
        .expect("a number");
    assert!((1000..4000).contains(&requests), "{requests}");
}

/// Requests of all kinds: in sectors and inside them, of every length up to 2 MiB, many of them one after another.
fn of_all_kinds(path: &Path, requests: u64) {
    use std::io::Write as _;
    let mut out = std::io::BufWriter::new(fs::File::create(path).expect("room"));
    let (mut x, mut end) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    for n in 0..requests {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let start = match x & 7 {
            0 => x >> 20 & 0xff_ffff_ffff,
            1..4 => end,
            _ => 512 * (x >> 20 & 0xffff_ffff),
        };
        let length = match x >> 8 & 3 {
            0 => 1 + (x >> 30 & 0x1f_ffff),
            1 => 512 * (1 + (x >> 40 & 0xff)),
            _ => 4096 << (x >> 50 & 5),
        };
        end = start + length;
        let kind = if x >> 60 & 1 == 0 { "Read" } else { "Write" };
        writeln!(out, "{n},db,{},{kind},{start},{length},1", x >> 61).expect("room");
    }
}

/// Another program, in another language, over all rows.
#[test]
fn counts_are_those_of_sql() {
    let here = scratch();
    let rows = match std::env::var_os("STRADDLE_SOAK") {
        Some(_) => 50_000_000,
        None => 1_000_000,
    };
    of_all_kinds(&here.path().join("all.csv"), rows);
    let (units, starts) = (
        "512,4096,65536,196608,1048576,4194304",
        "0,32256,32768,1048576",
    );
    let args = [
        "--json",
        "--units",
        &units.replace("512,", "512B,"),
        "--offsets",
        "32256,32768,1048576",
        "--devices",
        "1",
        "all.csv",
    ];
    let document = json(&trace(here.path(), &args));
    let sql = Command::new(crate::support::repository().join("target/python/bin/python"))
        .arg(crate::support::repository().join("tests/python/trace_sql.py"))
        .args(["all.csv", units, starts])
        .current_dir(here.path())
        .output()
        .expect("target/python has the packages that tests/python names: `cargo xtask test` installs them");
    assert!(
        sql.status.success(),
        "{}",
        String::from_utf8_lossy(&sql.stderr)
    );
    let sql: serde_json::Value = serde_json::from_slice(&sql.stdout).expect("JSON");
    let all = &document["places"][0]["all"];
    assert_eq!(
        all["requests"]["read"]
            .as_u64()
            .zip(all["requests"]["write"].as_u64())
            .map(|(a, b)| a + b),
        Some(rows)
    );
    let mut compared = 0;
    for grid in all["grids"].as_array().expect("grids") {
        let starts = grid["starts"].as_array().expect("starts");
        for at in starts.iter().chain([&grid["today"]]) {
            let name = format!("{}+{}", grid["unit"], at["start"]);
            let ours = ["read", "write"].map(|kind| {
                let loads = &at["loads"][kind];
                ["requests", "straddling", "units", "in_part"].map(|what| loads[what].clone())
            });
            assert_eq!(serde_json::json!(ours), sql[&name], "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 6 * 4);
}
