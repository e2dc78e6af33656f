//! `cargo xtask bench`: how long `straddle check` takes beside the tools people have, in the same run.
//!
//! Rounds are interleaved (A B C, A B C, …), so that whatever else the machine does falls on all of them alike, and
//! what is compared is the ratio within a round. Nothing here fails on a time: the figures are archived and read.

mod archive;
mod arrays;
mod captures;
mod engines;
mod evidence;
mod history;
mod hosts;
mod images;
mod measure;
mod predict;
mod realign;
mod reports;
mod scratch;
mod spark;
mod studies;
mod tables;
mod traces;

use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::dist;
use crate::run::{cargo, repository, run};
use archive::Archive;
pub(crate) use arrays::arrays;
pub(crate) use captures::captures;
pub(crate) use engines::engines;
pub(crate) use evidence::evidence;
pub(crate) use history::history;
pub(crate) use hosts::hosts;
use images::{Images, Read};
use measure::{Series, as_f64};
pub(crate) use predict::predict;
pub(crate) use realign::realign;
pub(crate) use reports::report;
use scratch::{Scratch, quietly};
pub(crate) use spark::spark;
pub(crate) use studies::studies;
pub(crate) use tables::tables;
pub(crate) use traces::trace;

const OTHER: &str = "straddle check, the other build";
/// Rounds of the whole-process comparison: cheap, so many.
const ROUNDS_ONE: usize = 60;
/// Rounds over the directory.
const ROUNDS_MANY: usize = 20;
/// Images in the directory.
const IMAGES: usize = 10_000;
/// Images of them that sfdisk is run on, one process each, in every round.
const SAMPLE: usize = 200;

/// Builds the release binary, measures, and archives the figures under benches/. `other` is another build of it that is
/// measured in the same rounds.
pub(crate) fn check(other: Option<&str>) -> Result<()> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    // The usual binary, and the one that is shipped: another libc and allocator, and no dynamic linker, whose work is a good
    // part of so short a process.
    let linked = dist::shipped()?;
    let programs = Scratch::at(&repository().join("target"))?;
    let linked = installed(&programs, "static", &linked)?;
    let straddle = installed(&programs, "usual", Path::new("target/release/straddle"))?;
    let path = other.map(|path| installed(&programs, "other", Path::new(path)));
    let path = path.transpose()?;
    let path = path.as_deref().map(Path::to_string_lossy);
    let scratch = Scratch::new()?;
    let images = Images::make(&scratch.0, IMAGES, &straddle)?;
    let mut archive = Archive::new();
    one_image(&straddle, &linked, path.as_deref(), &images, &mut archive)?;
    many_images(&straddle, &linked, path.as_deref(), &images, &mut archive)?;
    match other {
        None => archive.write("check", "cargo xtask bench"),
        Some(_) => archive.write("check-against", "cargo xtask bench against OTHER"),
    }
}

/// A copy of a program, as an installation makes it. A file that the linker wrote lies in the page cache in single pages, one that was copied in
/// larger pieces, of which a fault brings more: that is a quarter of the time of so short a process.
fn installed(programs: &Scratch, name: &str, from: &Path) -> Result<PathBuf> {
    let folder = programs.0.join(name);
    std::fs::create_dir(&folder)?;
    let (from, to) = (repository().join(from), folder.join("straddle"));
    std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(to)
}

/// One image, a process each.
fn one_image(
    straddle: &Path,
    linked: &Path,
    other: Option<&str>,
    images: &Images,
    archive: &mut Archive,
) -> Result<()> {
    let image = images.one.to_string_lossy();
    let (straddle, linked) = (straddle.to_string_lossy(), linked.to_string_lossy());
    let mut tools = vec![
        ("blkid -p", vec!["blkid", "-p", &image]),
        ("straddle check", vec![&straddle, "check", &image]),
        ("straddle check -q", vec![&straddle, "check", "-q", &image]),
        (
            "straddle check, the static binary",
            vec![&linked, "check", &image],
        ),
        ("sfdisk -J", vec!["sfdisk", "-J", &image]),
        (
            "parted",
            vec!["parted", "-ms", &image, "unit", "s", "print"],
        ),
    ];
    if let Some(other) = other {
        tools.push((OTHER, vec![other, "check", &image]));
    }
    let mut times: Vec<Series> = tools.iter().map(|(name, _)| Series::new(name)).collect();
    let mut memory = times.clone();
    for round in 0..ROUNDS_ONE {
        for ((_, words), series) in tools.iter().zip(&mut times) {
            series.push(measure::wall_us(words)?);
        }
        // Memory hardly varies: a tenth of the rounds is enough.
        for ((_, words), series) in tools.iter().zip(&mut memory).filter(|_| round % 10 == 0) {
            series.push(measure::peak_kib(words)?);
        }
    }
    archive.section(
        "One image, a process each",
        "µs",
        "the image has an MBR and one ext4 partition at sector 63",
        &times,
    );
    archive.section(
        "Peak memory of that process",
        "KiB",
        "resident, as /usr/bin/time reports it",
        &memory,
    );
    Ok(())
}

/// A directory of small images that are in the page cache.
fn many_images(
    straddle: &Path,
    linked: &Path,
    other: Option<&str>,
    images: &Images,
    archive: &mut Archive,
) -> Result<()> {
    let directory = images.directory.to_string_lossy();
    let (straddle, linked) = (straddle.to_string_lossy(), linked.to_string_lossy());
    let mut ways = vec![
        ("straddle check DIR", vec![&straddle, "check", &directory]),
        (
            "straddle check DIR, the static binary",
            vec![&linked, "check", &directory],
        ),
        (
            "straddle check -q DIR",
            vec![&straddle, "check", "-q", &directory],
        ),
        (
            "straddle check --json DIR",
            vec![&straddle, "check", "--json", &directory],
        ),
    ];
    if let Some(other) = other {
        ways.push((OTHER, vec![other, "check", &directory]));
    }
    let mut times: Vec<Series> = ways.iter().map(|(name, _)| Series::new(name)).collect();
    let mut memory = times.clone();
    let mut floor = Series::new("floor: open, fstat, the same reads, close, on as many threads");
    let mut sfdisk = Series::new("sfdisk -J, one process an image");
    let each = |us: f64| us / measure::as_f64(IMAGES);
    for round in 0..ROUNDS_MANY {
        for ((_, words), series) in ways.iter().zip(&mut times) {
            series.push(each(measure::wall_us(words)?));
        }
        for ((_, words), series) in ways.iter().zip(&mut memory).filter(|_| round % 10 == 0) {
            series.push(measure::peak_kib(words)?);
        }
        floor.push(each(read_all(images)?));
        let mut spent = 0.0;
        for n in 0..SAMPLE {
            let image = images.path((round * SAMPLE + n) % IMAGES);
            spent += measure::wall_us(&["sfdisk", "-J", &image.to_string_lossy()])?;
        }
        sfdisk.push(spent / measure::as_f64(SAMPLE));
    }
    times.push(floor);
    times.push(sfdisk);
    let note = format!(
        "{IMAGES} images of 1 MiB in one directory, in the page cache; {} kinds: MBR or GPT, starts at sectors 34 to 128, ext4, FAT or \
         nothing inside; output to /dev/null; sfdisk on {SAMPLE} of them in every round",
        images.kinds.len()
    );
    archive.section("Many images, time for each", "µs", &note, &times);
    archive.section("Many images, peak memory", "KiB", &note, &memory);
    Ok(())
}

/// What cannot be had for less: every image opened, and read as straddle reads it. The time in µs.
fn read_all(images: &Images) -> Result<f64> {
    let threads = std::thread::available_parallelism()?.get();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    (first..IMAGES)
                        .step_by(threads)
                        .try_for_each(|n| read(images, n))
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    Ok(measure::micros(start.elapsed()))
}

fn read(images: &Images, n: usize) -> Result<()> {
    let file = File::open(images.path(n))?;
    std::hint::black_box(file.metadata()?.len());
    let mut buffer = [0; 64 << 10];
    for Read { offset, len } in &images.kind(n).reads {
        let buffer = buffer
            .get_mut(..*len)
            .context("straddle reads more than 64 KiB at once")?;
        std::hint::black_box(file.read_at(buffer, *offset)?);
    }
    Ok(())
}
