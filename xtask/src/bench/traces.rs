//! `cargo xtask bench trace`: a trace in the shape of MSR Cambridge, read by straddle, by DuckDB and Polars, and by a loop that checks
//! nothing; and the same in Parquet, beside decoding alone.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::measure::{Series, peak_kib, printed, wall_us};
use super::{Scratch, as_f64};
use crate::packages;
use crate::run::{cargo, repository, run};

const ROUNDS: usize = 5;
/// Starts that are asked about beside today's.
const OFFSETS: &str = "32256,32768,65536,131072,262144,524288,1048576";
/// Which column of the table in Parquet is what.
const COLUMNS: &str = "offset=start,size=length,op=kind,device=host+disk";
/// What reads it, and how it is called there.
const PARQUET: [(&str, Option<&str>); 4] = [
    ("straddle trace", None),
    ("pyarrow, decoding alone", Some("pyarrow-parquet")),
    ("DuckDB, counted first", Some("duckdb-parquet")),
    ("Polars, counted first", Some("polars-parquet")),
];

/// Measures with so many million requests, and archives the figures under benches/.
pub(crate) fn trace(millions: usize) -> Result<()> {
    packages::for_traces()?;
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-cli",
        "--features",
        "parquet",
    ]))?;
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-trace",
        "--example",
        "bare",
    ]))?;
    let release = repository().join("target/release");
    let (straddle, bare) = (release.join("straddle"), release.join("examples/bare"));
    let (straddle, bare) = (straddle.to_string_lossy(), bare.to_string_lossy());
    let python = repository().join("target/python/bin/python");
    let script = repository().join("tests/python/bench_trace.py");
    let (python, script) = (python.to_string_lossy(), script.to_string_lossy());
    let scratch = Scratch::new()?;
    let mut archive = Archive::new();
    for (name, spread) in [("places at pages", false), ("places at sectors", true)] {
        let path = scratch.0.join("trace.csv");
        file(&path, millions * 1_000_000, spread)?;
        let bytes = as_f64(usize::try_from(path.metadata()?.len())?);
        let table = parquet(&path, "snappy")?;
        let packed = as_f64(usize::try_from(table.metadata()?.len())?);
        let (path, table) = (path.to_string_lossy(), table.to_string_lossy());
        let of = |path, more: &[&'static str]| {
            let words = ["trace", "--quiet", "--threads", "2"];
            let asked = ["--units", "4K,64K,128K,256K", "--offsets", OFFSETS];
            let words = words.iter().chain(&asked).chain(more).copied();
            let mut all = vec![&*straddle];
            all.extend(words);
            all.push(path);
            all
        };
        let ours = of(&*path, &[]);
        let peer = |mode| vec![&*python, &*script, mode, &*path];
        let peer_of_parquet = |mode| vec![&*python, &*script, mode, &*table];
        let mut series = [
            "straddle trace",
            "a bare loop",
            "Polars, counted first",
            "Polars",
            "DuckDB, counted first",
        ]
        .map(Series::new);
        for _ in 0..ROUNDS {
            series[0].push(wall_us(&ours)? / 1e6);
            series[1].push(seconds(&[&bare, &path, "2"])?);
            for (at, mode) in [(2, "polars"), (3, "polars-plain"), (4, "duckdb")] {
                series[at].push(seconds(&peer(mode))?);
            }
        }
        let note = format!(
            "{millions} million requests, {:.2} GB in the page cache, two threads, eight offsets on four units, reads and writes. \
             Of straddle with the start of the process, of Python without it",
            bytes / 1e9
        );
        archive.section(name, "s", &note, &series);
        let mut memory = Series::new("straddle trace");
        memory.push(peak_kib(&ours)?);
        archive.section(
            &format!("Peak memory, {name}"),
            "KiB",
            "resident",
            &[memory],
        );
        let ours = of(&*table, &["--columns", COLUMNS]);
        let mut series = PARQUET.map(|(name, _)| Series::new(name));
        for _ in 0..ROUNDS {
            for ((_, mode), one) in PARQUET.into_iter().zip(&mut series) {
                one.push(match mode {
                    Some(mode) => seconds(&peer_of_parquet(mode))?,
                    None => wall_us(&ours)? / 1e6,
                });
            }
        }
        let note = format!(
            "The same in Parquet with Snappy, {:.2} GB, row groups of a million. Decoding is that of the five columns that straddle reads",
            packed / 1e9
        );
        archive.section(&format!("Parquet, {name}"), "s", &note, &series);
        let mut memory = Series::new("straddle trace");
        memory.push(peak_kib(&ours)?);
        archive.section(
            &format!("Peak memory, Parquet, {name}"),
            "KiB",
            "resident",
            &[memory],
        );
    }
    archive.write("trace", &format!("cargo xtask bench trace {millions}"))
}

/// The first word that a program prints.
fn seconds(words: &[&str]) -> Result<f64> {
    let text = printed(words)?;
    let first = text.split_whitespace().next();
    first
        .and_then(|first| first.parse().ok())
        .with_context(|| format!("`{}` said: {text}", words.join(" ")))
}

/// Writes a trace in Parquet beside it, packed like this.
pub(super) fn parquet(path: &Path, packing: &str) -> Result<PathBuf> {
    let script = repository().join("tests/python/bench_trace.py");
    run(Command::new(repository().join("target/python/bin/python"))
        .arg(script)
        .arg("make")
        .arg(path)
        .arg(packing))?;
    Ok(path.with_extension("parquet"))
}

/// Fifteen disks of five hosts; requests of 512 bytes to 64 KiB, two in three of them writes; with `spread` one in four begins at any
/// sector, otherwise all where the pages of a partition at sector 63 begin.
pub(super) fn file(path: &Path, requests: usize, spread: bool) -> Result<()> {
    const HOSTS: [&str; 5] = ["usr", "src1", "web", "proj", "mds"];
    const LENGTHS: [u64; 8] = [4096, 8192, 16_384, 65_536, 4096, 8192, 512, 4096];
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut x, mut time) = (0x9e37_79b9_7f4a_7c15_u64, 128_166_372_003_061_629_u64);
    for _ in 0..requests {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        time += x % 20_000;
        let base = match spread && (x >> 24).is_multiple_of(4) {
            true => 512 * (x >> 30 & 2047),
            false => 63 * 512,
        };
        let host = HOSTS[usize::try_from((x >> 8) % 5)?];
        let length = LENGTHS[usize::try_from(x >> 50 & 7)?];
        let kind = if (x >> 20).is_multiple_of(3) {
            "Read"
        } else {
            "Write"
        };
        let start = base + 4096 * ((x >> 28) % 30_000_000);
        writeln!(
            out,
            "{time},{host},{},{kind},{start},{length},{}",
            (x >> 16) % 3,
            1000 + x % 90_000
        )?;
    }
    out.flush()?;
    ensure!(requests > 0, "no request");
    Ok(())
}
