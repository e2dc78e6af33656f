//! `cargo xtask bench realign`: how fast a partition is moved in place from sector 63 to 1 MiB, beside a copy loop without any
//! safety and beside sfdisk.
//!
//! The image lies below `target/`, so on whatever the repository is on. All ways move the same range of the same file, one after
//! the other in each round; what is compared is the ratio within a round.

use anyhow::{Context, Result, ensure};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::archive::Archive;
use super::measure::{Series, as_f64};
use super::{Scratch, quietly};
use crate::run::{cargo, output, repository, run};

/// Where the partition starts before, and afterwards.
const FROM: u64 = 63 * 512;
const TO: u64 = 1 << 20;

/// Measures, and archives the figures under benches/.
pub(crate) fn realign(rounds: usize, mib: u64) -> Result<()> {
    ensure!(mib >= 64, "an image of {mib} MiB is too small to measure");
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-realign",
        "--example",
        "move_file",
    ]))?;
    let scratch = Scratch::at(&repository().join("target"))?;
    let bench = Bench {
        mover: repository().join("target/release/examples/move_file"),
        image: scratch.0.join("image"),
        journal: scratch.0.join("journal"),
        len: (mib - 2) << 20,
    };
    fill(&bench.image, mib)?;
    let mut archive = Archive::new();
    bench.compare(rounds, &mut archive)?;
    archive.write(
        "realign",
        &format!("cargo xtask bench realign {rounds} {mib}"),
    )
}

/// Bytes that nothing can leave out.
fn fill(image: &Path, mib: u64) -> Result<()> {
    let mut file = std::fs::File::create(image)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = vec![0; 1 << 20];
    for _ in 0..mib {
        for bytes in piece.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    Ok(())
}

struct Bench {
    mover: PathBuf,
    image: PathBuf,
    journal: PathBuf,
    /// Bytes of the partition.
    len: u64,
}

/// What one way of ours took.
struct Took {
    moving: f64,
    reading_back: f64,
    /// From its start to its end, in µs.
    all: f64,
    memory: f64,
}

impl Bench {
    fn compare(&self, rounds: usize, archive: &mut Archive) -> Result<()> {
        let names = [
            "copy loop without safety, O_DIRECT, 1 MiB at a time",
            "straddle, the move itself",
            "straddle, ordered only",
            "straddle, through the data journal only",
            "straddle --verify each, everything included",
            "straddle, everything included",
            "sfdisk --move-data",
            "sfdisk --move-data, and its data synced",
            "sfdisk --move-data --move-use-fsync",
        ];
        let mut rates: Vec<Series> = names.map(Series::new).into();
        let mut reads = [
            "plain sequential read, O_DIRECT, 1 MiB at a time",
            "straddle, the read-back at the end",
        ]
        .map(Series::new);
        let mut memory = [
            Series::new("straddle"),
            Series::new("straddle --verify each"),
        ];
        for _ in 0..rounds {
            let usual = self.ours(&[])?;
            let each = self.ours(&["--each"])?;
            let figures = [
                self.plain("copy")?,
                usual.moving,
                self.ours(&["--ordered"])?.moving,
                self.ours(&["--journaled"])?.moving,
                each.all,
                usual.all,
                self.sfdisk(false, false)?,
                self.sfdisk(false, true)?,
                self.sfdisk(true, false)?,
            ];
            for (series, us) in rates.iter_mut().zip(figures) {
                series.push(self.rate(us));
            }
            reads[0].push(self.rate(self.plain("read")?));
            reads[1].push(self.rate(usual.reading_back));
            memory[0].push(usual.memory / 1024.0);
            memory[1].push(each.memory / 1024.0);
        }
        let note = format!(
            "a partition of {} MiB in an image from sector 63 to 1 MiB; the data are random; the journal is on the same filesystem",
            self.len >> 20
        );
        archive.section("In place", "MB/s", &note, &rates);
        archive.section("Read back", "MB/s", &note, &reads);
        archive.section(
            "Peak memory",
            "MiB",
            "resident, with the program itself",
            &memory,
        );
        let fsync = &rates[8];
        let lines = [
            verdict(
                "the move itself, of the copy without safety",
                &rates[1],
                &rates[0],
                0.65,
            ),
            verdict(
                "the move itself, of sfdisk --move-data",
                &rates[1],
                &rates[6],
                1.5,
            ),
            verdict(
                "the move itself, of the same with its data synced",
                &rates[1],
                &rates[7],
                1.5,
            ),
            verdict(
                "the move itself, of sfdisk --move-use-fsync",
                &rates[1],
                fsync,
                3.5,
            ),
            verdict("the read-back, of a plain read", &reads[1], &reads[0], 0.8),
            verdict(
                "--verify each with everything, of the copy without safety",
                &rates[4],
                &rates[0],
                0.4,
            ),
        ];
        let peak = memory
            .iter()
            .map(|series| series.quartile(4))
            .fold(0.0, f64::max);
        archive.text(&format!(
            "{}\n- memory: {peak:.1} MiB at most; target 64",
            lines.join("\n")
        ));
        Ok(())
    }

    fn rate(&self, us: f64) -> f64 {
        as_f64(usize::try_from(self.len).unwrap_or(0)) / us
    }

    fn range(&self) -> String {
        format!("{FROM}:{TO}:{}", self.len)
    }

    fn plain(&self, verb: &str) -> Result<f64> {
        let text = output(
            Command::new(&self.mover)
                .arg(verb)
                .arg(&self.image)
                .arg(self.range()),
        )?;
        figure(&text, "Plain")
    }

    fn ours(&self, options: &[&str]) -> Result<Took> {
        let start = Instant::now();
        let text = output(
            Command::new(&self.mover)
                .arg("begin")
                .args([&self.image, &self.journal])
                .arg(self.range())
                .args(options),
        )?;
        let all = super::measure::micros(start.elapsed());
        std::fs::remove_file(&self.journal)?;
        Ok(Took {
            moving: figure(&text, "Moving")?,
            reading_back: figure(&text, "ReadingBack")?,
            all,
            memory: figure(&text, "memory")?,
        })
    }

    /// The time that sfdisk takes, in µs; with `is_synced` until what it wrote is on the disk.
    fn sfdisk(&self, is_each: bool, is_synced: bool) -> Result<f64> {
        let image = self.image.to_string_lossy();
        feed(
            &["sfdisk", "--quiet", "--wipe", "never", &image],
            &format!("label: dos\nstart=63, size={}, type=7\n", self.len / 512),
        )?;
        // Neither it nor anything before it has left the image in memory.
        quietly(&["sync", &image])?;
        quietly(&["dd", &format!("if={image}"), "iflag=nocache", "count=0"])?;
        let start = Instant::now();
        let mut words = vec![
            "sfdisk",
            "--quiet",
            "--force",
            "--move-data=/dev/null",
            "-N",
            "1",
            &image,
        ];
        if is_each {
            words.insert(3, "--move-use-fsync");
        }
        feed(&words, "2048\n")?;
        if is_synced {
            quietly(&["sync", &image])?;
        }
        Ok(super::measure::micros(start.elapsed()))
    }
}

fn verdict(what: &str, one: &Series, other: &Series, target: f64) -> String {
    let ratio = one.ratio(other);
    format!(
        "- {what}: {:.2} ({:.2} to {:.2}); target {target}",
        ratio.quartile(2),
        ratio.quartile(1),
        ratio.quartile(3)
    )
}

/// The figure behind a word that a line begins with.
fn figure(text: &str, word: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    let figure = line.and_then(|line| line.split_whitespace().next());
    let figure = figure.with_context(|| format!("no {word} in: {text}"))?;
    Ok(figure.parse()?)
}

/// Runs a program with this input.
fn feed(words: &[&str], input: &str) -> Result<()> {
    let (program, arguments) = words.split_first().context("no program")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run `{program}` (Debian package fdisk)"))?;
    child
        .stdin
        .take()
        .context("no input")?
        .write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "`{}`: {}",
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
