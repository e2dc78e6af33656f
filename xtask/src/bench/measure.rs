//! Times and memory of processes, and what a series of them comes to.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// From before a process is started until it has ended, in µs.
pub(super) fn wall_us(words: &[&str]) -> Result<f64> {
    let mut command = silent(words)?;
    let start = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("cannot run `{}`", words.join(" ")))?;
    let took = start.elapsed();
    // 1: findings, of straddle. Anything else is a failure, and the time of a failure says nothing.
    let is_straddle = words.first().is_some_and(|word| word.ends_with("straddle"));
    ensure!(
        status.success() || is_straddle && status.code() == Some(1),
        "`{}`: {status}",
        words.join(" ")
    );
    Ok(micros(took))
}

/// Most memory resident at any time, in KiB. Asked for below `time`, a small program: the kernel counts what the parent
/// has resident as the child's, until the child is another program.
pub(super) fn peak_kib(words: &[&str]) -> Result<f64> {
    let mut all = vec!["/usr/bin/time", "--quiet", "--format=%M"];
    all.extend(words);
    let output = silent(&all)?
        .stderr(Stdio::piped())
        .output()
        .context("cannot run `time` (Debian package time)")?;
    let text = String::from_utf8(output.stderr)?;
    text.lines()
        .last()
        .unwrap_or_default()
        .trim()
        .parse()
        .with_context(|| format!("`time` said: {text}"))
}

fn silent(words: &[&str]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("no program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        // What is measured here is not part of this user's history.
        .env("STRADDLE_HISTORY", "none")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// What a program prints, of which 1 says that it found something.
pub(super) fn printed(words: &[&str]) -> Result<String> {
    let output = silent(words)?
        .stdout(Stdio::piped())
        .output()
        .with_context(|| format!("cannot run `{}`", words.join(" ")))?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "`{}`: {}",
        words.join(" "),
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Seconds of each of these command lines, one after the other in each round.
pub(super) fn interleaved(tools: &[(&str, Vec<&str>)], rounds: usize) -> Result<Vec<Series>> {
    let mut series: Vec<Series> = tools.iter().map(|(name, _)| Series::new(name)).collect();
    for _ in 0..rounds {
        for ((_, words), series) in tools.iter().zip(&mut series) {
            series.push(wall_us(words)? / 1e6);
        }
    }
    Ok(series)
}

/// The command line that sums up a folder.
pub(super) fn summary<'a>(straddle: &'a str, path: &'a str) -> Vec<&'a str> {
    vec![straddle, "check", "--summary", "--fail-on", "never", path]
}

pub(super) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts of rounds and images are small"
)]
pub(super) fn as_f64(n: usize) -> f64 {
    n as f64
}

/// One figure for every round.
#[derive(Clone)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

impl Series {
    pub(super) fn new(name: &str) -> Series {
        Series {
            name: name.to_owned(),
            values: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The values below which these quarters of the series lie: 0 the smallest, 2 the median, 4 the largest.
    pub(super) fn quartile(&self, quarter: usize) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let at = sorted.len().saturating_sub(1) * quarter;
        let (below, rest) = (at / 4, as_f64(at % 4) / 4.0);
        let value = |n: usize| sorted.get(n).copied().unwrap_or(f64::NAN);
        if rest == 0.0 {
            value(below)
        } else {
            value(below) * (1.0 - rest) + value(below + 1) * rest
        }
    }

    /// How many times this is of `base`, round by round.
    pub(super) fn ratio(&self, base: &Series) -> Series {
        let values = self
            .values
            .iter()
            .zip(&base.values)
            .map(|(a, b)| a / b)
            .collect();
        Series {
            name: self.name.clone(),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn quartiles_lie_between_the_values() {
        let series = Series {
            name: String::new(),
            values: vec![4.0, 1.0, 3.0, 2.0],
        };
        let quartiles: Vec<f64> = (0..5).map(|q| series.quartile(q)).collect();
        assert_eq!(quartiles, [1.0, 1.75, 2.5, 3.25, 4.0]);
    }
}
