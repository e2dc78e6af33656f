//! What other programs call an option: a command line that is typed from memory of one of them is answered with what is said here.

use std::path::Path;

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
        &[
            "access",
            "mode",
            "op",
            "operation",
            "percentage_random",
            "readwrite",
            "type",
        ],
        REQUESTS,
        "reads, writes and their order are one word: `--rw randread`, `--rw 70/30`, or `--pattern seq` besides",
    ),
    (
        &["end_fsync", "fsync", "sync", "status-interval"],
        REQUESTS,
        "writes that are on stable storage when they end are `--write-through` or `--fua` of `bench`; it has no other option of this kind",
    ),
    (
        &["loops", "repeat", "runs"],
        &["bench"],
        "runs repeat by themselves until each gain is known: `--blocks 5` is how often at least",
    ),
    (
        &["jobs"],
        REQUESTS,
        "`--threads 4` is how many issue requests at once; a job file is named, or given with `--job`",
    ),
    (
        &["align", "alignment", "blockalign", "offset"],
        REQUESTS,
        "where data begin are offsets: `--offsets 31.5K,1M`, of which the first is the baseline",
    ),
    (
        &["offset", "start"],
        &["check", "fix"],
        "where partitions begin is read from the target; what any offset would cost, `straddle predict --offsets` computes",
    ),
    (
        &["align", "offset", "start"],
        &["realign"],
        "where the first partition is to begin: `--to 1M`",
    ),
    (
        &["list", "profiles"],
        &["predict"],
        "`straddle profile list` lists the profiles",
    ),
    (
        &["ssd", "hdd", "nvme"],
        &["predict"],
        "a kind of device is a profile, `--profile NAME`, or `--disk NAME` for members of an array; `straddle profile list` lists them",
    ),
    (
        &["block-size", "blocksize", "b", "size"],
        &["check", "fix"],
        "the size of requests is `--io 8K`; how long a sector is, `--physical-sector 4096` and `--logical-sector 512` say",
    ),
    (
        &["sector", "sector-size", "sectorsize"],
        &[],
        "sectors are `--physical-sector 4096` and `--logical-sector 512`",
    ),
    (
        &["su", "sunit", "sw", "swidth"],
        &[],
        "stripes are given as sizes: `--stripe-unit 64K` is what lies on one member, `--stripe-width 256K` what lies on all that hold data",
    ),
    (
        &["all", "a"],
        &["check", "fix"],
        "without a target it is all of this machine; `-v` prints every layer and finding",
    ),
    (
        &["host", "hosts", "remote"],
        &["check", "fix"],
        "other machines are checked by what they say: `straddle capture -o host.tgz` there, and `straddle check host.tgz` here",
    ),
    (
        &["color", "colour", "no-color", "no-colour"],
        &[],
        "colours are for terminals only; NO_COLOR=1 in the environment leaves them out there, too",
    ),
    (
        &["auto", "fix"],
        &["fix", "check"],
        "`fix` changes nothing: it prints what to run, and with `--script TOOL` a script that refuses any other disk",
    ),
    (
        &["since", "from", "until"],
        &["evidence", "trace"],
        "a part of a log is cut out before: all of a file is read",
    ),
    (
        &["stripe", "stripe-size"],
        &[],
        "`--stripe-unit` is what lies on one member before the next, `--stripe-width` what lies on all that hold data",
    ),
    (
        &[
            "apply",
            "assume-yes",
            "dry-run",
            "execute",
            "force",
            "noop",
            "run",
            "simulate",
            "yes",
        ],
        &["fix"],
        "`fix` changes nothing: it prints what to run, and with `--script TOOL` a script that refuses any other disk",
    ),
    (
        &["raid", "disks", "level"],
        &["check", "fix"],
        "what counts here is what lies on one member before the next: `--stripe-unit 64K`",
    ),
    (
        &["address", "host", "listen", "port"],
        &["serve"],
        "address and port are one word: `--bind 127.0.0.1:8080`",
    ),
    (
        &["device", "directory", "file", "filename", "path", "target"],
        &[],
        "a file, folder or device is named without an option",
    ),
    (
        &["csv", "ndjson"],
        &[],
        "forms are named by `--format csv` and `--format ndjson`",
    ),
    (
        &["output", "output-format"],
        &[],
        "`--json` and `--format` choose the form; the answer goes to standard output, so `> FILE` keeps it",
    ),
];

/// What people type in place of a verb, and what says it here.
const VERBS: &[(&[&str], &str)] = &[
    (
        &[
            "analyse", "analyze", "detect", "diagnose", "doctor", "find", "info", "inspect",
            "list", "ls", "scan", "show", "status", "validate", "verify",
        ],
        "`straddle check` looks at this machine, `straddle check TARGET` at a disk, an image, a file or captured text",
    ),
    (
        &["benchmark", "iops", "measure", "perf", "run", "test"],
        "`straddle bench TARGET` measures what each offset delivers, `straddle check TARGET` only looks",
    ),
    (
        &["calc", "calculate", "estimate", "model", "simulate"],
        "`straddle predict` computes what each offset would deliver",
    ),
    (
        &["align", "apply", "plan", "repair"],
        "`straddle fix TARGET` says what to run, and `straddle realign TARGET` moves partitions",
    ),
    (
        &["fio"],
        "`straddle bench JOB.fio` runs a job file of fio; its options are those of `bench` where both have them",
    ),
    (&["version"], "`straddle --version`"),
    (
        &["what", "why"],
        "`straddle explain CODE` says what a finding means",
    ),
];

/// Switches of diskspd that `bench` has none of.
const DISKSPD: &str = "bdfghoprstwzCDFILSTWZ";

/// Puts in place of the nearest name, which is often about something else, what the word is for.
pub(crate) fn explained(mut error: clap::Error, typed: &[String]) -> clap::Error {
    let verb = typed.first().map(String::as_str);
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    let word = match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    // Nobody means a file that is called like an option.
    if word.starts_with('-')
        && let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested)
    {
        let is_other = |tip: &StyledStr| !tip.to_string().contains("as a value");
        let tips: Vec<StyledStr> = tips.into_iter().filter(is_other).collect();
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let tip = match kind {
        ContextKind::InvalidArg => tip(&word, verb),
        _ => in_place_of_a_verb(&word, typed),
    };
    if let Some(tip) = tip {
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

/// What a word means that stands where a verb is expected.
fn in_place_of_a_verb(word: &str, typed: &[String]) -> Option<String> {
    match typed.first().map(String::as_str) {
        Some("help") if typed.len() > 2 => {
            let verb = &typed[1];
            return Some(format!(
                "one command at a time: `straddle help {verb}`, `straddle help {word}`"
            ));
        }
        Some("history") if matches!(word, "clear" | "delete" | "remove") => {
            return Some(
                "`straddle history rm RUN…`; `straddle history list` has the numbers".to_owned(),
            );
        }
        Some(verb) if verb == word => {}
        _ => return None,
    }
    let lower = word.to_ascii_lowercase();
    let mut verbs = VERBS.iter();
    let known = verbs.find(|(words, _)| words.contains(&&*lower));
    let is_path = word.contains(['/', '\\', '.', ':']) || Path::new(word).exists();
    match known {
        Some((_, says)) => Some((*says).to_owned()),
        None => is_path.then(|| format!("a target goes behind a verb: `straddle check {word}`")),
    }
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
        (Some("fix"), Some("f" | "n" | "y")) => tip("--yes", verb),
        (Some("check" | "fix"), Some("j")) => Some("`--json`".to_owned()),
        (Some("check"), Some("f")) => Some("`--format json`".to_owned()),
        (Some("check" | "fix"), Some(short @ ("a" | "b"))) => tip(&format!("--{short}"), verb),
        (Some("realign"), Some("y")) => Some("`--yes`".to_owned()),
        (Some("check" | "explain" | "fix" | "predict" | "study" | "trace"), Some("o")) => {
            tip("--output", verb)
        }
        (Some("bench"), Some("k" | "kR" | "kW")) => {
            Some("switches of SQLIO go behind `straddle sqlio`, as they are".to_owned())
        }
        (Some("bench"), Some(switch)) if switch.starts_with(|c| DISKSPD.contains(c)) => {
            Some("switches of diskspd go behind `straddle diskspd`, as they are".to_owned())
        }
        _ => None,
    }
}
