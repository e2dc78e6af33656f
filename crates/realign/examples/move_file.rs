//! Moves ranges of a file or device in place, for tests and measurements: no table, no filesystem, no question asked.
//!
//! ```text
//! move_file begin  TARGET JOURNAL FROM:TO:LEN... [OPTIONS]    begins a move and carries it out
//! move_file resume TARGET JOURNAL [OPTIONS]                   goes on with one
//! move_file back   TARGET JOURNAL [OPTIONS]                   takes it back
//! ```
//!
//! Figures are bytes. Options: `--ordered`, `--journaled` (which is measured otherwise), `--each`, `--serial`, `--stop N` (after N reports of
//! progress), `--edit AT` (inverts the 16 bytes there once all is moved).
//! At the end it prints how many microseconds each phase took, and the most memory that it had.

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use straddle_realign::{
    Check, Edit, FileStore, Job, Method, Move, Options, Part, Phase, Progress, View, journal,
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|found| found == word);
    let value = |word: &str| {
        let at = words.iter().position(|found| found == word)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    let [verb, target, log, ..] = &words[..] else {
        return Err("expected begin, resume or back, a target and a journal".into());
    };
    let store = FileStore::open(Path::new(target))?;
    let mut it = if verb == "begin" {
        begin(store, Path::new(log), &words[3..], value("--edit"))?
    } else {
        Move::open(store, FileStore::open(Path::new(log))?)?
    };
    it = it
        .with_method(match (has("--ordered"), has("--journaled")) {
            (true, _) => Method::Ordered,
            (_, true) => Method::Journaled,
            _ => Method::Measured,
        })
        .with_threads(!has("--serial"));
    let check = match has("--each") {
        true => Check::Each,
        false => Check::AtTheEnd,
    };
    let mut stop = value("--stop").unwrap_or(u64::MAX);
    let mut times: Vec<(Phase, Instant, Instant)> = Vec::new();
    let mut began = Instant::now();
    let watch = |progress: Progress| {
        let now = Instant::now();
        match times.last_mut() {
            Some((phase, _, until)) if *phase == progress.phase => *until = now,
            _ => times.push((progress.phase, began, now)),
        }
        began = now;
        stop = stop.saturating_sub(1);
        match stop {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    match verb.as_str() {
        "back" => it.back(check, watch)?,
        _ => it.forward(check, watch)?,
    }
    for (phase, from, until) in times {
        println!("{phase:?} {}", (until - from).as_micros());
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("memory {}", peak.unwrap_or_default().trim());
    Ok(())
}

fn begin(
    store: FileStore,
    log: &Path,
    words: &[String],
    edit: Option<u64>,
) -> Result<Move<FileStore, FileStore>, Box<dyn Error>> {
    let mut parts = Vec::new();
    for word in words.iter().filter(|word| word.contains(':')) {
        let figures: Result<Vec<u64>, _> = word.split(':').map(str::parse).collect();
        let [from, to, len] = figures?[..] else {
            return Err("expected FROM:TO:LEN".into());
        };
        parts.push(Part {
            from: Bytes::new(from),
            to: Bytes::new(to),
            len: Bytes::new(len),
        });
    }
    let mut job = Job::new(parts.clone(), Vec::new())?;
    if let Some(at) = edit {
        let mut before = vec![0; 16];
        let at = Bytes::new(at);
        let view = View::new(&store, &job, store.size());
        view.read_at(at, &mut before)?;
        let after = before.iter().map(|byte| !byte).collect();
        let what = "16 bytes".to_owned();
        let edit = Edit {
            at,
            before,
            after,
            what,
        };
        job = Job::new(parts, vec![edit])?;
    }
    let options = Options::default();
    let len = journal::len(&job, &options.sizes, &options.label, store.size())?;
    let journal = FileStore::create(log, len)?;
    // Nothing but a token that no other move has.
    let token =
        u128::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834);
    Ok(Move::create(
        store,
        journal,
        token.to_le_bytes(),
        &job,
        &options,
    )?)
}
