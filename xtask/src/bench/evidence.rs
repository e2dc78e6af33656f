//! `cargo xtask bench evidence`: logs and counters of some length, beside `wc -l` and `grep -c` over the same files.

use anyhow::Result;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::measure::{Series, peak_kib, wall_us};
use super::{Scratch, as_f64};
use crate::dist;
use crate::packages;
use crate::run::{cargo, repository, run};
use straddle::evidence::{FORMATS, Gathered, read};

const ROUNDS: usize = 5;
/// Most MiB with which the captures of the tests are measured as well.
const USUAL: usize = 1024;

/// What people do with such files otherwise: how many lines tell of stalls, and the means of all counters.
const STALLS_IN_PANDAS: &str = "import pandas, sys; \
    print(pandas.read_csv(sys.argv[1], sep='\\x01', header=None, encoding='utf-8')[0].str.contains('longer than', regex=False).sum())";
const MEANS_IN_PANDAS: &str =
    "import pandas, sys; print(pandas.read_csv(sys.argv[1]).mean(numeric_only=True))";

/// What a run found out.
pub(crate) struct Measured {
    /// In Markdown.
    pub(crate) report: String,
    /// Most memory that was resident with any file.
    pub(crate) peak_kib: f64,
}

/// Measures with files of `mib` each, and archives the figures under benches/.
pub(crate) fn evidence(mib: usize) -> Result<Measured> {
    packages::for_evidence()?;
    let unpack = ["--package", "straddle-io", "--example", "unpack"];
    run(cargo().args(["build", "--quiet", "--release"]).args(unpack))?;
    // What people have.
    let straddle = repository().join(dist::shipped()?);
    let straddle = straddle.to_string_lossy();
    let scratch = Scratch::new()?;
    let mut archive = Archive::new();
    let mut most = 0.0_f64;
    let length = mib << 20;
    let utf8 = file(&scratch.0, "ERRORLOG", length, errorlog, false)?;
    let wide = file(&scratch.0, "ERRORLOG-utf16", length, errorlog, true)?;
    let perfmon = file(&scratch.0, "perfmon.csv", length, perfmon, false)?;
    let iostat = file(&scratch.0, "iostat.txt", length, iostat, false)?;
    for (path, pandas) in [
        (&utf8, Some(STALLS_IN_PANDAS)),
        (&wide, None),
        (&perfmon, Some(MEANS_IN_PANDAS)),
        (&iostat, None),
    ] {
        let bytes = as_f64(usize::try_from(path.metadata()?.len())?);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = path.to_string_lossy();
        let mut tools = vec![
            ("wc -l", vec!["wc", "-l", &path]),
            ("straddle evidence", evidence_of(&straddle, &path)),
            // Where nobody reads what it counts, `grep` stops at the first line.
            (
                "grep -c",
                vec!["sh", "-c", "grep -ac 'longer than' \"$0\" | cat", &path],
            ),
        ];
        if let Some(program) = pandas {
            // Debian's own, for which its package is.
            tools.push(("pandas", vec!["/usr/bin/python3", "-c", program, &path]));
        }
        let mut series: Vec<Series> = tools.iter().map(|(name, _)| Series::new(name)).collect();
        for _ in 0..ROUNDS {
            for ((_, words), series) in tools.iter().zip(&mut series) {
                series.push(bytes / wall_us(words)?);
            }
        }
        let note = format!("{mib} MiB in the page cache, one process");
        archive.section(&name, "MB/s", &note, &series);
        let mut memory = Series::new("straddle evidence");
        let peak = peak_kib(&evidence_of(&straddle, &path))?;
        most = most.max(peak);
        memory.push(peak);
        archive.section(
            &format!("Peak memory: {name}"),
            "KiB",
            "resident",
            &[memory],
        );
    }
    for log in [&utf8, &perfmon] {
        packed(log, &straddle, &mut archive)?;
    }
    if mib <= USUAL {
        corpus(&scratch.0, &straddle, &mut archive)?;
    }
    let name = if mib <= USUAL {
        "evidence"
    } else {
        "evidence-long"
    };
    archive.write(name, &format!("cargo xtask bench evidence {mib}"))?;
    Ok(Measured {
        report: archive.summary().to_owned(),
        peak_kib: most,
    })
}

/// The same log packed, beside what unpacks it: alone in the library that straddle has for it, and the usual tool.
fn packed(log: &Path, straddle: &str, archive: &mut Archive) -> Result<()> {
    let unpack = repository().join("target/release/examples/unpack");
    let unpack = unpack.to_string_lossy();
    let length = as_f64(usize::try_from(log.metadata()?.len())?);
    for (tool, level, kind) in [("gzip", "-6", "gz"), ("zstd", "-3", "zst")] {
        let packed = PathBuf::from(format!("{}.{kind}", log.display()));
        let done = Command::new(tool)
            .args([level, "-kc"])
            .arg(log)
            .stdout(File::create(&packed)?)
            .status()?;
        anyhow::ensure!(done.success(), "{tool} failed");
        let path = packed.to_string_lossy();
        let usual = format!("{tool} -dc");
        let tools = [
            ("the library alone", vec![&*unpack, &path]),
            ("straddle evidence", evidence_of(straddle, &path)),
            (&*usual, vec![tool, "-dc", &path]),
        ];
        let mut series = tools.clone().map(|(name, _)| Series::new(name));
        for _ in 0..ROUNDS {
            for ((_, words), series) in tools.iter().zip(&mut series) {
                series.push(length / wall_us(words)?);
            }
        }
        let name = packed.file_name().unwrap_or_default().to_string_lossy();
        archive.section(&name, "MB/s", "of what is in it", &series);
        std::fs::remove_file(&packed)?;
    }
    Ok(())
}

/// Every capture of the tests, repeated: with a heading for every few rows it is the dearest form of each. They are long enough that
/// the start of a process counts for little.
fn corpus(scratch: &Path, straddle: &str, archive: &mut Archive) -> Result<()> {
    const LENGTH: usize = 32 << 20;
    let mut captures: Vec<PathBuf> = Vec::new();
    for kind in std::fs::read_dir("tests/evidence")? {
        let kind = kind?.path();
        if !kind.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(kind)? {
            captures.push(entry?.path());
        }
    }
    captures.sort();
    let copy = scratch.join("capture");
    let copied = copy.to_string_lossy();
    let mut lines = Series::new("wc -l");
    let mut series: Vec<Series> = FORMATS.iter().map(|f| Series::new(f.name)).collect();
    for capture in captures {
        let mut bytes = std::fs::read(&capture)?;
        let is_facts = capture.extension().is_some_and(|kind| kind == "facts");
        let is_packed = bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5]);
        if is_facts || is_packed || bytes.is_empty() {
            continue;
        }
        // What other tools print is among the captures.
        let found = read("", &mut &bytes[..], &mut Gathered::new())?;
        if found.formats.is_empty() {
            continue;
        }
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let whole = bytes.repeat(LENGTH / bytes.len() + 1);
        std::fs::write(&copy, &whole)?;
        let mut times = Series::new("");
        // One without a figure is refused.
        let Ok(first) = wall_us(&evidence_of(straddle, &copied)) else {
            continue;
        };
        times.push(first);
        for _ in 0..2 {
            times.push(wall_us(&evidence_of(straddle, &copied))?);
        }
        let rate = as_f64(whole.len()) / times.quartile(2);
        for series in &mut series {
            if found.formats.contains(&&*series.name) {
                series.push(rate);
            }
        }
        lines.push(as_f64(whole.len()) / wall_us(&["wc", "-l", &copied])?);
    }
    // One reader finds no figures, which is what it says.
    series.retain(|of| !of.values.is_empty());
    series.insert(0, lines);
    archive.section(
        "Every capture of the tests, repeated to 32 MiB, by reader",
        "MB/s",
        "Each figure is the median of three runs of a process over one capture; the spread is that of captures, not of runs. A capture in \
         which several readers find something counts for each",
        &series,
    );
    Ok(())
}

fn evidence_of<'a>(straddle: &'a str, path: &'a str) -> Vec<&'a str> {
    vec![straddle, "evidence", "--quiet", "--fail-on", "never", path]
}

/// A file of about `length` bytes, in which each line is of its number.
fn file(
    folder: &Path,
    name: &str,
    length: usize,
    line: fn(usize) -> String,
    wide: bool,
) -> Result<PathBuf> {
    let path = folder.join(name);
    let mut out = BufWriter::new(File::create(&path)?);
    let mut written = 0;
    if wide {
        out.write_all(b"\xff\xfe")?;
    }
    for number in 0.. {
        let text = line(number);
        let bytes = match wide {
            true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            false => text.into_bytes(),
        };
        out.write_all(&bytes)?;
        written += bytes.len();
        if written >= length {
            break;
        }
    }
    out.flush()?;
    Ok(path)
}

/// `10:11:12` for any number of seconds.
fn clock(seconds: usize) -> String {
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// One of so many, in no order: figures that count up are packed, and unpacked, as nothing is that a server writes.
fn one_of(kinds: usize, number: usize) -> usize {
    // The finalizer of splitmix64.
    let mut of = as_u64(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    of = (of ^ (of >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    of = (of ^ (of >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((of ^ (of >> 31)) % as_u64(kinds)).unwrap_or(0)
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// One line in 200 is a stall, one in 1,000 a backup; the others are logins and the like.
fn errorlog(number: usize) -> String {
    let at = format!(
        "2024-03-{:02} {}.{:02}",
        number / 864_000 % 28 + 1,
        clock(number / 10),
        one_of(100, number)
    );
    match number {
        n if n % 200 == 7 => format!(
            "{at} spid{}s      SQL Server has encountered {} occurrence(s) of I/O requests taking longer than 15 seconds to complete on file \
             [E:\\data\\sales_{}.mdf] in database [sales] (5).  The OS file handle is 0x0000000000000B6C.  The offset of the latest long I/O is: \
             0x0000001b3c2000.\r\n",
            one_of(40, n),
            one_of(37, n + 1) + 1,
            one_of(8, n + 2)
        ),
        n if n % 1000 == 11 => format!(
            "{at} Backup      BACKUP DATABASE successfully processed {} pages in {}.5 seconds (100.000 MB/sec).\r\n",
            12_207 * (n % 90 + 1),
            n % 90 + 1
        ),
        n => format!(
            "{at} Logon       Login succeeded for user 'app{}'. Connection made using SQL Server authentication. [CLIENT: 10.1.{}.{}]\r\n",
            one_of(50, n),
            one_of(256, n + 1),
            one_of(256, n + 2)
        ),
    }
}

/// A number with 17 digits, as the helper library of Windows writes it.
fn digits(value: f64) -> String {
    let before = (1..7).filter(|n| value >= 10_f64.powi(*n)).count() + 1;
    let zeros = (1..7).filter(|n| value < 10_f64.powi(-*n)).count();
    let decimals = if value < 1.0 { 17 + zeros } else { 17 - before };
    format!("{value:.decimals$}")
}

/// Twenty volumes with eight counters each, and some others.
fn perfmon(number: usize) -> String {
    const COUNTERS: [&str; 8] = [
        "Avg. Disk sec/Read",
        "Avg. Disk sec/Write",
        "Disk Reads/sec",
        "Disk Writes/sec",
        "Avg. Disk Queue Length",
        "Avg. Disk Bytes/Read",
        "Avg. Disk Bytes/Write",
        "% Idle Time",
    ];
    let mut line = String::new();
    if number == 0 {
        line.push_str("\"(PDH-CSV 4.0) (UTC)(0)\"");
        for volume in 0..20 {
            for counter in COUNTERS {
                line.push_str(&format!(
                    ",\"\\\\SQL1\\LogicalDisk(C:\\mnt\\v{volume})\\{counter}\""
                ));
            }
            line.push_str(&format!(
                ",\"\\\\SQL1\\Process({volume})\\% Processor Time\""
            ));
        }
        line.push_str("\r\n");
        return line;
    }
    line.push_str(&format!(
        "\"03/{:02}/2024 {}.000\"",
        number / 86_400 % 28 + 1,
        clock(number)
    ));
    for volume in 0..20 {
        let noise = (number * 7919 + volume * 104_729) % 10_007;
        let value = as_f64(noise);
        for factor in [4.1e-6, 1.3e-6, 0.17, 0.09, 4.0e-4, 6.5, 3.2, 0.0097] {
            line.push_str(&format!(",\"{}\"", digits(value * factor)));
        }
        line.push_str(&format!(",\"{}\"", digits(value * 1e-3)));
    }
    line.push_str("\r\n");
    line
}

/// Reports of sixteen devices.
fn iostat(number: usize) -> String {
    let row = number % 21;
    match row {
        0 if number == 0 => "Linux 6.1.0-18-amd64 (db7) \t03/05/2024 \t_x86_64_\t(16 CPU)\n".to_owned(),
        0 | 4 => "\n".to_owned(),
        1 => format!("03/05/2024 {}\n", clock(number / 21)),
        2 => "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n".to_owned(),
        3 => "           3.11    0.00    1.02    0.51    0.00   95.36\n".to_owned(),
        5 => "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n"
            .to_owned(),
        row => {
            let noise = as_f64((number * 7919) % 997);
            format!(
                "sd{:<12} {:8.2} {:9.2} {:8.2} {:6.2} {:7.2} {:8.2} {:7.2} {:9.2} {:8.2} {:6.2} {:7.2} {:8.2} {:7.2} {:6.2}\n",
                char::from(b'a' + u8::try_from(row - 6).unwrap_or_default()),
                noise, noise * 16.0, noise * 0.01, 0.5, noise * 0.01, 16.0, noise * 0.5, noise * 4.0, 0.2, 0.4, noise * 0.02, 8.0, noise * 0.02,
                noise * 0.1
            )
        }
    }
}
