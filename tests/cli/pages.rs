//! Reports as people look at them: in a real browser (`tests/e2e/pages.mjs`), at three widths, light and dark: each page at three of the six
//! for every commit, at all in a soak. Pictures of all pages are left in `target/tmp/pages`.

use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use straddle::geometry::{Bytes, Grid, Unit};
use straddle_testkit::experiments::Recipe;
use straddle_testkit::is_soak;
use straddle_testkit::shipped::under_test;

use crate::support::{in_memory, repository, sh};

/// Targets of the fleet: more than can be read without scripts.
const FLEET: usize = 1_200;

#[test]
fn reports_are_what_they_say_in_a_browser() {
    let folder = in_memory();
    let made = documents(folder.path());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    let pages: Vec<Value> = made
        .iter()
        .map(|(name, document)| {
            let page = folder.path().join(format!("{name}.html"));
            let words = [
                "report".as_ref(),
                document.as_os_str(),
                "-o".as_ref(),
                page.as_os_str(),
            ];
            let run = run(folder.path(), words);
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}");
            json!({ "name": name, "file": page })
        })
        .collect();
    let (name, errors) = (format!("{}.txt", host(700)), FLEET.div_ceil(3));
    let asked = json!({
        "out": out,
        "pages": pages,
        "requests": requests(),
        "fleet": { "path": folder.path().join("fleet").join(&name), "name": name, "errors": errors.to_string() },
    });
    let path = folder.path().join("asked.json");
    std::fs::write(&path, asked.to_string()).expect("writable");
    browse("pages.mjs", &path);
}

/// Runs a script of `tests/e2e`, which fails when something is not as it should be.
pub(crate) fn browse(script: &str, asked: &Path) {
    let folder = repository().join("tests/e2e");
    assert!(
        folder.join("node_modules/playwright-core").is_dir(),
        "playwright-core is missing in tests/e2e/node_modules (`cargo xtask test` installs it)"
    );
    let output = Command::new("node")
        .arg(folder.join(script))
        .arg(asked)
        .output()
        .expect("node: Debian's package nodejs is missing (`cargo xtask test` installs it)");
    let said = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    assert!(
        output.status.success(),
        "{}\n{}",
        failed.join("\n"),
        String::from_utf8_lossy(&output.stderr)
    );
}

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run<S: AsRef<OsStr>>(folder: &Path, words: impl IntoIterator<Item = S>) -> Run {
    let output = Command::new(under_test(env!("CARGO_BIN_EXE_straddle")))
        .env("STRADDLE_HISTORY", "none")
        .args(words)
        .current_dir(folder)
        .output()
        .expect("straddle runs");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Ten minutes of two disks, one of them with a partition at sector 63, the other at 1 MiB.
fn trace() -> String {
    (0..6000_u64)
        .map(|n| {
            let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
            let (disk, begin) = if n % 3 == 0 {
                (1, 1 << 20)
            } else {
                (0, 32_256)
            };
            let kind = if n % 5 < 2 { "Read" } else { "Write" };
            let offset = begin + 8192 * place;
            format!("{},db,{disk},{kind},{offset},8192,1\n", n * 1_000_000)
        })
        .collect()
}

/// Documents of every kind, each in a file.
fn documents(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    sh(
        folder,
        "truncate -s 2G legacy.img
         printf 'label: dos\\nstart=63, size=2000000, type=7\\nstart=2000063, size=2000000, type=7\\n' | sfdisk --quiet legacy.img
         truncate -s 64M raw.img
         printf 'label: dos\\nstart=63, size=100000, type=7\\n' | sfdisk --quiet raw.img
         qemu-img convert -O vpc -o subformat=dynamic raw.img guest.vhd
         truncate -s 64M whole.img
         printf 'label: gpt\\nstart=2048\\n' | sfdisk --quiet whole.img",
    );
    fleet(&folder.join("fleet"));
    std::fs::write(folder.join("db.csv"), trace()).expect("writable");
    let host = repository().join("tests/hosts/rule-loop-32256.tree");
    let host = host.display();
    let errorlog = repository().join("tests/evidence/errorlog");
    let errorlog = errorlog.display();
    std::fs::write(folder.join("study.toml"), study()).expect("writable");
    let commands: [(&'static str, String); 10] = [
        ("legacy", "check legacy.img --stripe-unit 64KiB".to_owned()),
        ("aligned", "check whole.img".to_owned()),
        ("guest", "check guest.vhd".to_owned()),
        ("host", format!("check --sysroot {host}")),
        ("fleet", format!("check {}", folder.join("fleet").display())),
        ("predict-eva", "predict --profile eva8100".to_owned()),
        ("study-eva", "study ./study.toml --quick".to_owned()),
        ("fix", "fix legacy.img --stripe-unit 64KiB".to_owned()),
        ("evidence", format!("evidence {errorlog}")),
        ("trace", "trace --start 63s --window 1m db.csv".to_owned()),
    ];
    let mut made = Vec::new();
    for (name, command) in commands {
        let words = command.split(' ').chain(["--json"]);
        let run = run(folder, words);
        assert!(matches!(run.code, Some(0..=2)), "{name}: {}", run.stderr);
        made.push((name, kept(folder, name, &run.stdout)));
    }
    let none = Recipe {
        speed: vec![1.0; 5],
        ..Recipe::classical()
    };
    for (name, recipe) in [("bench-effect", Recipe::classical()), ("bench-none", none)] {
        let experiment = recipe.make();
        let document = straddle::report::bench::Document::new(&experiment);
        let text = serde_json::to_string(&document).expect("JSON");
        made.push((name, kept(folder, name, &text)));
    }
    made
}

/// The longest of the studies: those of its cells that miss and one of sixteen others, with what they are compared with, and in a soak all.
/// Simulating all takes as long as all pages do.
fn study() -> String {
    let path = repository().join("studies/s1-eva8100.toml");
    let text = std::fs::read_to_string(path).expect("readable");
    let mut study: toml::Table = text.parse().expect("TOML");
    let cells = study["cell"].as_array_mut().expect("cells");
    let mut wanted = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        if is_soak() || cell.get("misses").is_some() || number % 16 == 15 {
            wanted.push(cell["id"].clone());
            wanted.extend(cell.get("against").cloned());
        }
    }
    cells.retain(|cell| wanted.contains(&cell["id"]));
    study.to_string()
}

fn kept(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, text).expect("writable");
    path
}

fn host(number: usize) -> String {
    format!("rack{:02}-host{number:04}", number % 40)
}

/// A server in three begins at sector 63, one at a boundary that fits, one at a place that costs little.
fn fleet(folder: &Path) {
    std::fs::create_dir(folder).expect("new");
    for number in 0..FLEET {
        let start = [63, 2048, 128][number % 3];
        let text = format!(
            "---- Drive 0 Geometry Infomation ----\nBytesPerSector = 512\nDiskSize = 1000204886016 (Bytes) = 953869 (MB)\n\n\
             ---- Drive Partition 0 Infomation ----\nStatringOffset = {}\nPartitionLength = 999653638144\n\
             HiddenSectors = {start}\nPartitionNumber = 1\nPartitionType = 7\n",
            start * 512
        );
        std::fs::write(folder.join(format!("{}.txt", host(number))), text).expect("writable");
    }
}

/// What geometry says of requests to partition 1 of the legacy disk.
fn requests() -> Vec<Value> {
    const START: u64 = 32_256;
    let grids = [
        ("stripe unit 64 KiB", 65_536),
        ("physical sector 4 KiB", 4096),
        ("logical sector 512 B", 512),
    ];
    let mut out = Vec::new();
    for size in [4096, 8192, 65_536] {
        for offset in [0, 512, 3584, 4096, 33_280, 40_000, 65_536, 100_352] {
            let rows: Vec<Value> = grids
                .iter()
                .map(|(name, unit)| {
                    let grid = Grid::new(Unit::new(*unit).expect("not zero"));
                    let (now, aligned) = (
                        counted(grid.seen_from(Bytes::new(START)), offset, size),
                        counted(grid, offset, size),
                    );
                    json!([
                        name,
                        now.0.to_string(),
                        now.1.to_string(),
                        aligned.0.to_string(),
                        aligned.1.to_string()
                    ])
                })
                .collect();
            out.push(json!({ "size": size, "offset": offset, "rows": rows }));
        }
    }
    out
}

/// Units that a request touches, and those of them that it covers in part, boundary by boundary.
fn counted(grid: Grid, offset: u64, size: u64) -> (u64, u64) {
    let (mut touched, mut partial, mut at) = (0, 0, offset);
    while at < offset + size {
        let next = grid
            .first_at_or_after(Bytes::new(at + 1))
            .expect("fits")
            .get();
        let end = next.min(offset + size);
        touched += 1;
        partial += u64::from(!grid.contains(Bytes::new(at)) || end != next);
        at = end;
    }
    (touched, partial)
}

fn legacy(folder: &Path) {
    sh(
        folder,
        "truncate -s 64M legacy.img
         printf 'label: dos\\nlabel-id: 0x12345678\\nstart=63, size=100000, type=7\\n' | sfdisk --quiet legacy.img",
    );
    let check = run(folder, ["check", "legacy.img", "--json"]);
    assert_eq!(check.code, Some(1));
    kept(folder, "check", &check.stdout);
}

#[test]
fn markdown_has_every_figure() {
    let folder = in_memory();
    legacy(folder.path());
    let run = run(
        folder.path(),
        ["report", "check.json", "--format", "markdown"],
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("markdown", run.stdout);
}

#[test]
fn a_file_that_exists_is_replaced_only_when_asked() {
    let folder = in_memory();
    legacy(folder.path());
    let path = folder.path().join("out.html");
    std::fs::write(&path, "mine").expect("writable");
    let refused = run(folder.path(), ["report", "check.json", "-o", "out.html"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: out.html exists; name another file, or replace it with --force\n"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "mine");
    let forced = run(
        folder.path(),
        ["report", "check.json", "-o", "out.html", "--force"],
    );
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert!(
        std::fs::read_to_string(&path)
            .expect("there")
            .starts_with("<!doctype html>")
    );
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let folder = in_memory();
    legacy(folder.path());
    let check = std::fs::read_to_string(folder.path().join("check.json")).expect("there");
    let mut said = String::new();
    for (name, text) in [
        ("empty", ""),
        ("text", "Disk /dev/sda: 100 GiB"),
        ("other", "{\"name\": 1}"),
        ("newer", "{\"schema\": \"straddle.check/9\"}"),
        ("profile", "{\"schema\": \"straddle.profile/1\"}"),
        ("cut", check.get(..check.len() / 2).expect("ASCII")),
        ("more", &format!("{check}{check}")),
    ] {
        let path = kept(folder.path(), name, text);
        let run = run(
            folder.path(),
            ["report", &format!("{name}.json"), "-o", "out.html"],
        );
        assert_eq!(run.code, Some(2), "{name}");
        assert!(!folder.path().join("out.html").exists(), "{name}");
        said.push_str(&run.stderr);
        std::fs::remove_file(path).expect("there");
    }
    let missing = run(folder.path(), ["report", "missing.json"]);
    said.push_str(&missing.stderr);
    insta::assert_snapshot!("refused", said);
}

#[test]
fn documents_are_joined_and_pictures_stand_alone() {
    let folder = in_memory();
    legacy(folder.path());
    let joined = run(
        folder.path(),
        ["report", "check.json", "check.json", "--format", "json"],
    );
    let joined: Value = serde_json::from_str(&joined.stdout).expect("JSON");
    let check = std::fs::read_to_string(folder.path().join("check.json")).expect("there");
    let check: Value = serde_json::from_str(&check).expect("JSON");
    assert_eq!(
        joined,
        json!({ "schema": "straddle.report/1", "documents": [check, check] })
    );
    let picture = run(folder.path(), ["report", "check.json", "--format", "svg"]);
    assert!(
        picture.stdout.starts_with("<svg class=\"chart\" xmlns="),
        "{}",
        picture.stdout
    );
    assert!(picture.stdout.contains("<style>"));
    assert_eq!(
        picture.stderr,
        "--figure 1: A request on partition 1\n--figure 2: The layers of legacy.img\n"
    );
    let none = run(
        folder.path(),
        ["report", "check.json", "--format", "svg", "--figure", "3"],
    );
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (Some(2), "error: there is no picture 3; the page has 2\n")
    );
}

/// Names that a browser would obey are text on a page, in its data and in its pictures.
#[test]
fn hostile_names_are_text() {
    const NAME: &str = "</script><img src=x onerror=alert(1)>\u{202e}&\"'.img";
    let folder = in_memory();
    legacy(folder.path());
    let check = std::fs::read_to_string(folder.path().join("check.json")).expect("there");
    let mut check: Value = serde_json::from_str(&check).expect("JSON");
    check["targets"][0]["target"] = NAME.into();
    check["targets"][0]["stack"][0]["name"] = NAME.into();
    check["targets"][0]["views"][0]["name"] = NAME.into();
    check["targets"][0]["findings"][0]["title"] = NAME.into();
    let schema = check["schema"].take();
    // The schema has to be the first member.
    let rest = check.to_string().replacen("\"schema\":null,", "", 1);
    let text = format!("{{\"schema\":{schema},{}", rest.trim_start_matches('{'));
    kept(folder.path(), "hostile", &text);
    for format in ["html", "markdown"] {
        let run = run(
            folder.path(),
            ["report", "hostile.json", "--format", format],
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains("<img"), "{format}");
        assert!(!run.stdout.contains('\u{202e}'), "{format}");
        assert_eq!(
            run.stdout.matches("</script>").count(),
            run.stdout.matches("<script").count(),
            "{format}"
        );
        assert!(
            run.stdout.contains("&lt;img src=x onerror=alert(1)"),
            "{format}"
        );
    }
}
