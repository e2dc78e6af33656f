//! What other programs call an option: a command line that is typed from memory of one of them is answered with what is said here.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Verbs that issue requests, or would.
const REQUESTS: &[&str] = &["bench", "predict"];

/// Options by their names elsewhere, the verbs (all, where none is named), and what says the same here.
const OPTIONS: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "rwmixread",
            "rwmixwrite",
            "read",
            "reads",
            "read-percent",
            "read-ratio",
            "writes",
        ],
        REQUESTS,
        "shares of reads and writes are one word: `--rw 70/30` is 70% reads",
    ),
    (
        &["bsrange", "bssplit"],
        REQUESTS,
        "several request sizes are one word, with their shares: `--io 8K:70+64K:30`",
    ),
    (
        &["direct"],
        &["bench"],
        "requests never pass the page cache, unless `--buffered` says so: leave it out",
    ),
    (
        &["ioengine"],
        &["bench"],
        "`--engine` says how requests are issued; without it, the fastest way that there is here",
    ),
    (
        &["ramp_time", "ramp-time", "warmup"],
        &["bench"],
        "requests before those that count: `--warm-up 2s`",
    ),
    (
        &["duration", "time", "seconds"],
        &["bench"],
        "`--runtime 10` is the measured time of each run, `--budget 10m` that of all of them together",
    ),
    (
        &["rate_iops", "iops"],
        REQUESTS,
        "requests each second: `--rate 500`",
    ),
    (
        &[
            "clat_percentiles",
            "direct",
            "group_reporting",
            "invalidate",
            "ioengine",
            "lat_percentiles",
            "lockmem",
            "name",
            "norandommap",
            "ramp_time",
            "randrepeat",
            "refill_buffers",
            "runtime",
            "stonewall",
            "thread",
            "time_based",
        ],
        REQUESTS,
        "this option of fio changes nothing here: leave it out",
    ),
    (
        &["raid-level"],
        &["predict"],
        "the level goes with the disks: `--disk cheetah-15k7 --raid 5 --disks 8`",
    ),
    (
        &["members", "raid-devices", "spindles"],
        &["predict"],
        "the number of disks: `--disk cheetah-15k7 --raid 5 --disks 8`",
    ),
    (
        &["stripe", "stripe-size"],
        &[],
        "`--stripe-unit` is what lies on one member before the next, `--stripe-width` what lies on all that hold data",
    ),
    (
        &["device", "directory", "file", "filename", "path", "target"],
        &[],
        "a file, folder or device is named without an option",
    ),
    (
        &["output", "output-format"],
        &[],
        "`--json` and `--format` choose the form; the answer goes to standard output, so `> FILE` keeps it",
    ),
];

/// Switches of diskspd that `bench` has none of.
const DISKSPD: &str = "bdfghoprstwzCDFILSTWZ";

/// Puts in place of the nearest name, which is often about something else, what the word is for.
pub(crate) fn explained(mut error: clap::Error, verb: Option<&str>) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    if let Some(tip) = tip(&word, verb) {
        for kind in [
            ContextKind::SuggestedArg,
            ContextKind::SuggestedSubcommand,
            ContextKind::TrailingArg,
        ] {
            error.remove(kind);
        }
        let tip = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
    }
    error
}

fn tip(word: &str, verb: Option<&str>) -> Option<String> {
    if let Some(name) = word.strip_prefix("--") {
        let name = name.split('=').next().unwrap_or(name);
        let is_it = |names: &[&str], verbs: &[&str]| {
            let of_verb = verbs.is_empty() || verbs.iter().any(|known| verb == Some(*known));
            of_verb && names.contains(&name)
        };
        let mut options = OPTIONS.iter();
        let found = options.find(|(names, verbs, _)| is_it(names, verbs));
        return found.map(|(.., says)| (*says).to_owned());
    }
    match (verb, word.strip_prefix('-')) {
        (Some("predict"), None) => Some(format!(
            "a profile is named with `--profile {word}`, a file or device with `--stack {word}`"
        )),
        (Some("bench"), Some(switch)) if switch.starts_with(|c| DISKSPD.contains(c)) => {
            Some("switches of diskspd go behind `straddle diskspd`, as they are".to_owned())
        }
        _ => None,
    }
}
