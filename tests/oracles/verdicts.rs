//! The whole program beside the tools of the trade, over a matrix of images that those tools made (a third of it, all with
//! `STRADDLE_SOAK=1`): one run of
//! `straddle check` over all of them, and every start, size, type, filesystem, unit and verdict must be what `sfdisk -J`,
//! `blkid -p`, `ntfsinfo`, `dumpe2fs`, `xfs_db`, `btrfs`, `fsck.fat` and `dump.exfat` say, or what follows from it.
//!
//! Verdicts have no oracle among the tools: they are computed here from sfdisk's starts, and their prices by looking at
//! every request of a period (`enumerate.rs`).
//!
//! Where the oracles are not the last word:
//! - `parted align-check min` knows no topology of an image file, takes 512 bytes for granted and so calls every start
//!   aligned, sector 63 too; here 4,096 bytes are assumed, and the finding says so.
//! - `parted align-check opt` asks for 1 MiB, whatever lies below. That is the last of the stripe units that STR203
//!   answers for; a start at 64 KiB is "not aligned" to parted and on five of the seven units here.
//! - blkid reads NTFS, FAT and exFAT labels from files inside the filesystem; this program does not go there.
//! - blkid's BLOCK_SIZE of NTFS, XFS, FAT and exFAT is the sector, not the unit of allocation.

mod enumerate;
mod matrix;
mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{in_memory, straddle};
use enumerate::{Fraction, extra_by_rewriting, extra_by_splitting, walk};
use matrix::{Case, Templates, cases, make};
use serde_json::Value;
use tools::{Listed, Volume, parted_says_aligned, sfdisk, volume};

const IOS: [u64; 3] = [4096, 8192, 65_536];
const PHYSICAL: u64 = 4096;
const STRIPE_UNITS: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];

/// What the oracles say of one image.
struct Answer {
    image: PathBuf,
    partitions: BTreeMap<u64, (Listed, Volume)>,
    /// For the first partition, where parted was asked: `min`, `opt`.
    parted: Option<(bool, bool)>,
}

#[test]
fn every_image_is_judged_as_the_tools_read_it() {
    // The partitioners wait for the disk after each change.
    let root = in_memory();
    let images = root.path().join("images");
    std::fs::create_dir(&images).expect("writable");
    let copies = root.path().join("copies");
    std::fs::create_dir(&copies).expect("writable");
    let templates = Templates::make(root.path());
    let cases = cases();
    let fewest = if straddle_testkit::is_soak() {
        450
    } else {
        150
    };
    assert!(cases.len() >= fewest, "only {} images", cases.len());

    let answers = in_parallel(&cases, |case| {
        let image = make(case, &templates, &images);
        ask(case, image, &copies)
    });
    let ours = Ours::of(&images);
    assert_eq!(ours.targets.len(), cases.len());

    let mut wrong = Vec::new();
    let mut partitions = 0;
    for answer in &answers {
        partitions += answer.partitions.len();
        compare(answer, &ours, &mut wrong);
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "{} disagreements over {} images, {partitions} partitions; the first:\n{}",
        wrong.len(),
        cases.len(),
        shown.join("\n")
    );
    assert!(partitions >= 3 * cases.len());
}

/// More threads than processors: sgdisk sleeps for a second after each change.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    done.lock().expect("no panic while held").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no panic while held")
}

fn ask(case: &Case, image: PathBuf, copies: &Path) -> Answer {
    let listed = sfdisk(&image);
    let with_volume = |(number, listed): (u64, Listed)| {
        let volume = match listed.is_extended() {
            true => Volume::default(),
            false => volume(&image, &listed, copies),
        };
        (number, (listed, volume))
    };
    let partitions: BTreeMap<_, _> = listed.into_iter().map(with_volume).collect();
    // The oracles must have seen what was made.
    let (first, volume) = &partitions[&1];
    assert_eq!(first.start, case.start * 512, "{case:?}");
    let ends_on_grid = (first.start + first.size).is_multiple_of(PHYSICAL);
    assert_eq!(ends_on_grid, case.end_on_grid, "{case:?}");
    let none = case.filesystem.name == "none";
    assert_eq!(volume.kind.is_empty(), none, "{case:?}");
    Answer {
        parted: none.then(|| {
            let says = |kind| parted_says_aligned(&image, kind, 1);
            (says("min"), says("opt"))
        }),
        image,
        partitions,
    }
}

/// What the program says, by file name.
struct Ours {
    targets: BTreeMap<String, Value>,
    /// The same when told of an array.
    on_array: BTreeMap<String, Value>,
    /// Rows of the CSV, by file name and layer.
    rows: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Ours {
    fn of(images: &Path) -> Ours {
        let directory = images.to_str().expect("UTF-8");
        let name = |path: &str| {
            let name = Path::new(path).file_name().expect("a name");
            name.to_str().expect("UTF-8").to_owned()
        };
        let targets = |options: &[&str]| {
            let args = [&["check", "--json", directory], options].concat();
            let run = straddle(images, &args);
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
            assert_eq!(json["failures"], serde_json::json!([]));
            let targets = list(&json["targets"]).iter();
            targets
                .map(|target| (name(text(&target["target"])), target.clone()))
                .collect()
        };

        let run = straddle(images, &["check", "--format", "csv", directory]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let mut lines = run.stdout.lines();
        let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            let cells = columns.iter().zip(cells);
            let row: BTreeMap<String, String> =
                cells.map(|(k, v)| ((*k).into(), v.into())).collect();
            ((name(&row["target"]), row["layer"].clone()), row)
        };
        Ours {
            targets: targets(&[]),
            on_array: targets(&["--stripe-unit", "64K", "--io", "8K,32K,64K"]),
            rows: lines.map(row).collect(),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(u64::MAX)
}

/// The value of an attribute of a layer, as it stands in the JSON.
fn attribute<'a>(layer: &'a Value, key: &str) -> Option<&'a Value> {
    let found = list(&layer["attributes"])
        .iter()
        .find(|a| a["key"] == key)?;
    found["value"]["value"].as_object()?.values().next()
}

fn allocation_unit(layer: &Value) -> u64 {
    let grid = list(&layer["grids"])
        .iter()
        .find(|grid| grid["role"] == "allocation-unit");
    grid.map_or(0, |grid| number(&grid["grid"]["value"]["unit"]))
}

/// Notes a disagreement.
macro_rules! same {
    ($wrong:expr, $what:expr, $name:expr, $ours:expr, $theirs:expr) => {{
        let (ours, theirs) = (&$ours, &$theirs);
        if ours != theirs {
            $wrong.push(format!(
                "{}: {}: ours {ours:?}, theirs {theirs:?}",
                $what, $name
            ));
        }
    }};
}

fn compare(answer: &Answer, ours: &Ours, wrong: &mut Vec<String>) {
    let file = answer.image.file_name().expect("a name");
    let file = file.to_str().expect("UTF-8").to_owned();
    let target = &ours.targets[&file];
    let stack = list(&target["stack"]);
    let numbers: Vec<u64> = stack
        .iter()
        .filter(|layer| layer["kind"] == "partition")
        .map(|layer| attribute(layer, "partition-number").map_or(0, number))
        .collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let listed: Vec<u64> = answer.partitions.keys().copied().collect();
    same!(wrong, file, "partition numbers", sorted, listed);

    for (number, (listed, volume)) in &answer.partitions {
        let what = format!("{file}, partition {number}");
        let Some(at) = stack.iter().position(|layer| {
            layer["kind"] == "partition"
                && attribute(layer, "partition-number").map(self::number) == Some(*number)
        }) else {
            wrong.push(format!("{what}: not found"));
            continue;
        };
        let row = &ours.rows[&(file.clone(), text(&stack[at]["name"]).to_owned())];
        compare_place(&what, &stack[at], row, listed, wrong);
        compare_volume(&what, stack, at, row, volume, wrong);
        let findings = findings_about(target, at);
        compare_verdicts(&what, &findings, row, listed, wrong);
        compare_on_array(
            &what,
            &findings_about(&ours.on_array[&file], at),
            listed,
            wrong,
        );
        if let Some((min, opt)) = answer.parted.filter(|_| *number == 1) {
            same!(wrong, what, "parted align-check min", true, min);
            let on_mebibyte = !off_units(&findings).contains(&(1 << 20));
            same!(wrong, what, "parted align-check opt", on_mebibyte, opt);
        }
    }
}

/// The findings about one layer.
fn findings_about(target: &Value, layer: usize) -> Vec<&Value> {
    let all = list(&target["findings"]).iter();
    all.filter(|finding| finding["layer"] == layer).collect()
}

/// Number, start, size and type.
fn compare_place(
    what: &str,
    layer: &Value,
    row: &BTreeMap<String, String>,
    listed: &Listed,
    wrong: &mut Vec<String>,
) {
    let placement = &layer["placement"]["value"];
    same!(
        wrong,
        what,
        "start",
        number(&placement["start"]),
        listed.start
    );
    same!(wrong, what, "size", number(&placement["len"]), listed.size);
    let kind = attribute(layer, "partition-type").map_or("", text);
    same!(wrong, what, "type", kind, listed.kind);
    for (column, theirs) in [
        ("start_bytes", listed.start.to_string()),
        ("start_sectors_512", (listed.start / 512).to_string()),
        ("size_bytes", listed.size.to_string()),
        ("type", listed.kind.clone()),
        (
            "start_mod_physical_sector",
            (listed.start % PHYSICAL).to_string(),
        ),
    ] {
        same!(wrong, what, format!("CSV {column}"), row[column], theirs);
    }
}

/// Kind, label, allocation unit and the other sizes of the filesystem.
fn compare_volume(
    what: &str,
    stack: &[Value],
    partition: usize,
    row: &BTreeMap<String, String>,
    volume: &Volume,
    wrong: &mut Vec<String>,
) {
    let above: Vec<&Value> = stack
        .iter()
        .filter(|layer| list(&layer["below"]).contains(&partition.into()))
        .collect();
    let expected = usize::from(!volume.kind.is_empty());
    same!(
        wrong,
        what,
        "layers on the partition",
        above.len(),
        expected
    );
    let Some(layer) = above.first() else { return };
    same!(
        wrong,
        what,
        "filesystem",
        text(&layer["format"]),
        volume.kind
    );
    same!(
        wrong,
        what,
        "CSV filesystem",
        row["filesystem"],
        volume.kind
    );
    let label = attribute(layer, "label").map_or("", text);
    same!(wrong, what, "label", label, volume.label);
    same!(
        wrong,
        what,
        "allocation unit",
        allocation_unit(layer),
        volume.allocation_unit
    );
    same!(
        wrong,
        what,
        "CSV allocation_unit",
        row["allocation_unit"],
        volume.allocation_unit.to_string()
    );
    for (name, theirs) in &volume.facts {
        let ours = attribute(layer, name).map(number);
        same!(wrong, what, name, ours, Some(*theirs));
    }
    for name in ["fs-stripe-unit", "fs-full-stripe"] {
        if !volume.facts.contains_key(name) {
            same!(wrong, what, name, attribute(layer, name), None);
        }
    }
}

/// The stripe units that STR203 calls off, by its lines.
fn off_units(findings: &[&Value]) -> Vec<u64> {
    let finding = findings.iter().find(|f| f["code"] == "STR203");
    let lines = finding.map_or(&[][..], |f| list(&f["arithmetic"]));
    let off = lines.iter().zip(STRIPE_UNITS);
    // Only what is off has a price.
    off.filter(|(line, _)| text(line).contains("; "))
        .map(|(_, kib)| kib << 10)
        .collect()
}

/// 1,234,567.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn compare_verdicts(
    what: &str,
    findings: &[&Value],
    row: &BTreeMap<String, String>,
    listed: &Listed,
    wrong: &mut Vec<String>,
) {
    let (start, judged) = (listed.start, !listed.is_extended());
    let remainder = start % PHYSICAL;
    let codes = |code: &str| findings.iter().find(|finding| finding["code"] == code);

    let off_sector = judged && remainder != 0;
    same!(wrong, what, "STR101", codes("STR101").is_some(), off_sector);
    same!(
        wrong,
        what,
        "STR101 in CSV",
        row["codes"].contains("STR101"),
        off_sector
    );
    if let Some(finding) = codes("STR101") {
        let line = format!(
            "{} × 512 = {} = {} × 4,096 + {}",
            grouped(start / 512),
            grouped(start),
            grouped(start / PHYSICAL),
            grouped(remainder)
        );
        same!(
            wrong,
            what,
            "STR101 arithmetic",
            list(&finding["arithmetic"]),
            [Value::from(line)]
        );
        // Every start off a 4,096-byte sector makes 4 KiB writes four operations.
        let severity = if listed.is_idle() { "note" } else { "error" };
        same!(
            wrong,
            what,
            "STR101 severity",
            text(&finding["severity"]),
            severity
        );
        compare_prices(what, &finding["prices"], start, PHYSICAL, IOS, wrong);
        if !row["codes"].contains("STR3") {
            let worst = IOS.map(|io| extra_by_rewriting(start, io, PHYSICAL).percent());
            let worst = worst.into_iter().fold(0.0, f64::max);
            same!(
                wrong,
                what,
                "CSV worst_extra_percent",
                row["worst_extra_percent"],
                format!("{worst:.2}")
            );
        }
    }

    let units = STRIPE_UNITS.map(|kib| kib << 10).into_iter();
    let off: Vec<u64> = units
        .filter(|unit| judged && !start.is_multiple_of(*unit))
        .collect();
    same!(
        wrong,
        what,
        "STR203",
        codes("STR203").is_some(),
        !off.is_empty()
    );
    same!(wrong, what, "STR203 stripe units", off_units(findings), off);
    if let Some(finding) = codes("STR203") {
        let severity = match off.len() {
            7 if !listed.is_idle() => "warning",
            _ => "note",
        };
        same!(
            wrong,
            what,
            "STR203 severity",
            text(&finding["severity"]),
            severity
        );
        for (line, kib) in list(&finding["arithmetic"]).iter().zip(STRIPE_UNITS) {
            compare_stripe_line(what, text(line), start, kib << 10, wrong);
        }
    }
}

/// With a stripe unit of 64 KiB: STR201 instead of STR203, and its price.
fn compare_on_array(what: &str, findings: &[&Value], listed: &Listed, wrong: &mut Vec<String>) {
    const UNIT: u64 = 65_536;
    const SIZES: [u64; 3] = [8192, 32_768, 65_536];
    let codes = |code: &str| findings.iter().find(|finding| finding["code"] == code);
    let off = !listed.is_extended() && !listed.start.is_multiple_of(UNIT);
    same!(wrong, what, "STR201", codes("STR201").is_some(), off);
    same!(
        wrong,
        what,
        "STR203 with a unit",
        codes("STR203").is_some(),
        false
    );
    let Some(finding) = codes("STR201") else {
        return;
    };
    // 64 KiB requests pay double, wherever between two boundaries they begin.
    let severity = if listed.is_idle() { "note" } else { "error" };
    same!(
        wrong,
        what,
        "STR201 severity",
        text(&finding["severity"]),
        severity
    );
    compare_prices(what, &finding["prices"], listed.start, UNIT, SIZES, wrong);
}

/// The rows of a price, fraction by fraction. Sectors cost by rewriting, stripe units by splitting.
fn compare_prices(
    what: &str,
    prices: &Value,
    start: u64,
    unit: u64,
    sizes: [u64; 3],
    wrong: &mut Vec<String>,
) {
    let rewriting = unit == PHYSICAL;
    let rows = list(&prices["rows"]);
    let ios: Vec<u64> = rows.iter().map(|row| number(&row["io"])).collect();
    same!(wrong, what, "sizes priced", ios, sizes);
    for (row, io) in rows.iter().zip(sizes) {
        let (now, aligned) = (walk(start, io, unit), walk(0, io, unit));
        let fraction = |n, w: enumerate::Walked| Fraction(n, w.requests);
        let reads = |w: enumerate::Walked| if rewriting { w.partial } else { 0 };
        let extra = match rewriting {
            true => extra_by_rewriting(start, io, unit),
            false => extra_by_splitting(start, io, unit),
        };
        for (name, theirs) in [
            ("straddling", fraction(now.straddling, now)),
            ("straddling_aligned", fraction(aligned.straddling, aligned)),
            ("read_now", fraction(now.touched, now)),
            ("read_aligned", fraction(aligned.touched, aligned)),
            ("write_now", fraction(now.touched + reads(now), now)),
            (
                "write_aligned",
                fraction(aligned.touched + reads(aligned), aligned),
            ),
            ("extra", extra),
        ] {
            let ours = &row[name];
            if !theirs.equals(number(&ours["numerator"]), number(&ours["denominator"])) {
                wrong.push(format!(
                    "{what}: {name} of {io}: ours {ours}, enumerated {theirs:?}"
                ));
            }
        }
    }
}

/// A line of STR203: `64 KiB: 32,256 ÷ 65,536 = 0.492…; 4 KiB +6.25%, 8 KiB +12.5%, 64 KiB +100%`.
fn compare_stripe_line(what: &str, line: &str, start: u64, unit: u64, wrong: &mut Vec<String>) {
    let name = match unit {
        1_048_576 => "1 MiB".to_owned(),
        _ => format!("{} KiB", unit >> 10),
    };
    let division = format!("{name}: {} ÷ {}", grouped(start), grouped(unit));
    if start.is_multiple_of(unit) {
        let expected = format!("{division} = {}", grouped(start / unit));
        same!(wrong, what, "STR203 line", line, expected);
        return;
    }
    let (ours, costs) = line.split_once("; ").unwrap_or((line, ""));
    // Three decimals, cut off; no zeroes behind the last one when they say it all.
    let (thousandths, rest) = (start % unit * 1000 / unit, start % unit * 1000 % unit);
    let decimals = format!("{thousandths:03}");
    let decimals = match rest {
        0 => decimals.trim_end_matches('0').to_owned(),
        _ => decimals + "…",
    };
    let expected = format!("{division} = {}.{decimals}", grouped(start / unit));
    same!(wrong, what, "STR203 line", ours, expected);
    let costs: Vec<&str> = costs.split(", ").collect();
    same!(wrong, what, "STR203 sizes", costs.len(), IOS.len());
    for (cost, io) in costs.iter().zip(IOS) {
        let size = format!("{} KiB +", io >> 10);
        let theirs = extra_by_splitting(start, io, unit).percent();
        let shown = cost
            .strip_prefix(&size)
            .and_then(|text| text.strip_suffix('%'));
        // "≈" where two decimals do not say it all.
        let shown = shown.map(|text| match text.strip_prefix('≈') {
            Some(rounded) => (rounded.parse().unwrap_or(f64::NAN), 0.005_000_1),
            None => (text.parse().unwrap_or(f64::NAN), 1e-9),
        });
        if !shown.is_some_and(|(ours, slack)| (ours - theirs).abs() <= slack) {
            wrong.push(format!(
                "{what}: {line}: {cost}, enumerated {io} +{theirs}%"
            ));
        }
    }
}
