//! What makes one doubt that a trace was read as it was meant.

use straddle_rules::figures::{counted, percent, time};

use super::result::{Section, Trace};

/// Fewer requests say nothing of units.
const FEW: u64 = 100;
const SECTOR: u64 = 512;
/// Sectors that are taken for bytes, or bytes for sectors, show in this.
const SECTORS_OF_SECTORS: u64 = SECTOR * SECTOR;

/// Sentences, the gravest first.
pub(super) fn doubts(trace: &Trace) -> Vec<String> {
    let mut out = Vec::new();
    for section in &trace.sections {
        of_units(section, &mut out);
    }
    for (file, summary) in trace.files.iter().zip(&trace.summaries) {
        if let Some(times) = summary.times.filter(|times| times.backwards > 0) {
            let furthest = time(seconds(times.furthest));
            let times = counted(times.backwards, "time");
            out.push(format!("{}: {times} before the one above, by up to {furthest}; what follows what is as in the file", file.name));
        }
        if summary.is_open && summary.counts.requests > 0 {
            out.push(format!(
                "{}: the last line has no end; it may have been cut off, and was counted as it is",
                file.name
            ));
        }
    }
    out
}

fn of_units(section: &Section, out: &mut Vec<String>) {
    let all = &section.answer.all;
    let requests = all.requests[0] + all.requests[1];
    let bytes = all.bytes[0] + all.bytes[1];
    let inside = share(all.inside, requests);
    // What most requests do is no chance, however few there are.
    let (are_short, are_inside) = (bytes / SECTOR < requests, all.inside * 2 > requests);
    if are_short {
        out.push(format!(
            "the requests are shorter than a sector of {SECTOR} bytes on average, which no disk can do: are lengths in another unit than bytes? \
             --columns names it"
        ));
    }
    if are_inside || requests >= FEW && inside >= 0.01 {
        out.push(format!(
            "{} of the requests begin inside a sector of {SECTOR} bytes, which no disk can do: are offsets in another unit than bytes? --columns names it",
            percent(inside)
        ));
    } else if requests >= FEW && all.granularity >= SECTORS_OF_SECTORS {
        out.push(
            "every offset and length is a multiple of 256 KiB: were bytes taken for sectors of 512? --columns names the unit"
                .to_owned(),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares of counts")]
pub(super) fn share(part: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        all => part as f64 / all as f64,
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
