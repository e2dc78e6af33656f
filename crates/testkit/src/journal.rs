//! A journal from bytes: its lines without their sums, which no fuzzer guesses.

use std::path::Path;
use straddle_bench::journal;
use straddle_bench::plan::Schedule;

/// Reads lines as those of a journal; a plan that is taken must be one that can be carried out, and what was recorded must
/// be gone on with.
pub fn journal(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines();
    let whole: String = lines
        .map(|line| format!("[\"{:08x}\",{line}]\n", crc32fast::hash(line.as_bytes())))
        .collect();
    let Ok(recorded) = journal::read(Path::new("journal"), whole.as_bytes()) else {
        return;
    };
    let Ok(mut schedule) = Schedule::new(recorded.header.plan) else {
        return;
    };
    for sample in &recorded.samples {
        schedule.record(sample.slot, sample.rate());
    }
    let _ = schedule.next(std::time::Duration::ZERO);
}
