//! Moves ranges of a file or device in place, for tests and measurements: no table, no filesystem, no question asked.
//!
//! ```text
//! move_file begin  TARGET JOURNAL FROM:TO:LEN... [OPTIONS]    begins a move and carries it out
//! move_file resume TARGET JOURNAL [OPTIONS]                   goes on with one
//! move_file back   TARGET JOURNAL [OPTIONS]                   takes it back
//! move_file copy   TARGET FROM:TO:LEN                         copies a range block after block, without any safety
//! move_file read   TARGET FROM:TO:LEN                         reads what lies at TO
//! ```
//!
//! Figures are bytes. Options: `--ordered`, `--journaled` (which is measured otherwise), `--each`, `--serial`, `--stop N` (after N reports of
//! progress), `--edit AT` (inverts the 16 bytes there once all is moved), `--block N`, `--batch N`.
//! At the end it prints how many microseconds each phase took, and the most memory that it had.

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use straddle_geometry::Bytes;
use straddle_io::{AlignedBytes, ReadAt};
use straddle_realign::{
    Check, Edit, FileStore, Job, Method, Move, Options, Part, Phase, Progress, Sizes, Store, View,
    journal,
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
    if let "copy" | "read" = verb.as_str() {
        let began = Instant::now();
        plain(&store, log, verb == "copy")?;
        println!("Plain {}", began.elapsed().as_micros());
        return Ok(());
    }
    let mut it = if verb == "begin" {
        let usual = Sizes::default();
        let sizes = Sizes {
            block: value("--block").map_or(usual.block, Bytes::new),
            batch: value("--batch").map_or(usual.batch, Bytes::new),
            ..usual
        };
        begin(store, Path::new(log), &words[3..], value("--edit"), sizes)?
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
    sizes: Sizes,
) -> Result<Move<FileStore, FileStore>, Box<dyn Error>> {
    let mut parts = Vec::new();
    for word in words.iter().filter(|word| word.contains(':')) {
        let [from, to, len] = range(word)?.map(Bytes::new);
        parts.push(Part { from, to, len });
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
    let options = Options {
        sizes,
        ..Options::default()
    };
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

fn range(word: &str) -> Result<[u64; 3], Box<dyn Error>> {
    let figures: Result<Vec<u64>, _> = word.split(':').map(str::parse).collect();
    let figures: Result<[u64; 3], _> = figures?.try_into();
    figures.map_err(|_| "expected FROM:TO:LEN".into())
}

/// What a move without any safety costs: 1 MiB is read, then written, from the end that the range moves towards. Or only a read.
fn plain(store: &FileStore, word: &str, is_written: bool) -> Result<(), Box<dyn Error>> {
    const BLOCK: u64 = 1 << 20;
    let [from, to, len] = range(word)?;
    let mut memory = AlignedBytes::new(Bytes::new(BLOCK))?;
    let count = len.div_ceil(BLOCK);
    for n in 0..count {
        let n = if is_written && to > from {
            count - 1 - n
        } else {
            n
        };
        let at = n * BLOCK;
        let buf = &mut memory[..usize::try_from(BLOCK.min(len - at))?];
        let source = if is_written { from } else { to };
        let mut had = 0;
        while had < buf.len() {
            let place = Bytes::new(source + at + u64::try_from(had)?);
            match store.read_at(place, &mut buf[had..])? {
                0 => return Err("the target ends there".into()),
                read => had += read,
            }
        }
        if is_written {
            store.write_at(Bytes::new(to + at), buf)?;
        }
    }
    Ok(())
}
