//! `straddle evidence`.

use clap::Args;
use std::path::PathBuf;
use straddle::rules::Targets;

use super::times::latency;
use super::{FailOn, Format};

/// What do my logs and counters already say about the storage?
///
/// Reads the ERRORLOG and backup messages of SQL Server, Performance Monitor (relog, typeperf), file statistics, iostat, sar,
/// /proc/diskstats, vmstat, checkpoints and statistics of PostgreSQL, MySQL and MariaDB, esxtop, and results of fio, diskspd and
/// SQLIO: files of any length, packed or not, folders of them, or `-` for standard input. Captured text that `check` reads, given
/// with them, says where the volumes lie. Everything is opened read-only.
///
/// Exit status: 0 if no finding reaches --fail-on, 1 if one does, 2 if an input could not be read to its end or nothing was
/// recognised in it (what is known is still printed).
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle evidence ERRORLOG                      stalls and backups of a SQL Server",
    "\n  straddle evidence perfmon.csv --spindles 8      latency and queue by volume, on 8 disks",
    "\n  straddle evidence iostat.txt lsblk.txt          on Linux, with what misalignment costs here",
    "\n  straddle evidence --before old.csv new.csv      what a change brought, with intervals",
    "\n  straddle evidence --target data=10ms,log=2ms logs/     a folder, against targets of your own",
    "\n  straddle evidence ERRORLOG.1.gz iostat.txt.zst  packed files are unpacked",
))]
pub(crate) struct Evidence {
    /// Logs, counters, results, captured text, or folders of them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// A capture from before something was changed, to compare with; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) before: Vec<PathBuf>,

    /// Longest mean latency that is good enough: of data (20ms), log (10ms) and tempdb (20ms), and the 99th percentile of flush
    /// (10ms)
    #[arg(long, value_name = "ROLE=TIME,…", value_delimiter = ',', value_parser = target)]
    pub(crate) target: Vec<(Role, f64)>,

    /// How many disks serve each volume, where the captures do not say so
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) spindles: Option<u32>,

    /// Output format; csv has a line for each series of figures
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print one JSON document (see `straddle schema evidence`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Minimum severity that makes the exit status 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    pub(crate) fail_on: FailOn,

    /// Print nothing; only set the exit status
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What a target is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Log,
    Tempdb,
    Flush,
}

impl Evidence {
    pub(crate) fn targets(&self) -> Targets {
        let mut targets = Targets::default();
        for (role, seconds) in &self.target {
            let of = match role {
                Role::Data => &mut targets.data,
                Role::Log => &mut targets.log,
                Role::Tempdb => &mut targets.tempdb,
                Role::Flush => &mut targets.flush,
            };
            *of = *seconds;
        }
        targets
    }
}

fn target(text: &str) -> Result<(Role, f64), String> {
    let fail = || {
        format!(
            "`{text}` is not a target; write it like data=20ms, log=10ms, tempdb=20ms or flush=10ms"
        )
    };
    let (role, time) = text.split_once('=').ok_or_else(fail)?;
    let role = match role.trim() {
        "data" => Role::Data,
        "log" => Role::Log,
        "tempdb" => Role::Tempdb,
        "flush" => Role::Flush,
        _ => return Err(fail()),
    };
    Ok((role, latency(time)?.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_a_role_and_a_time() {
        assert_eq!(target("log=2.5ms"), Ok((Role::Log, 0.0025)));
        for text in ["log", "log=0s", "logs=1ms", "log=1", "=1ms"] {
            target(text).expect_err(text);
        }
    }
}
