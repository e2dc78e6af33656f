//! Parts of one file: ranges that meet count every row once.

use straddle_trace::{JoinError, Options, Statistics};

use super::made::{Kind, Rows, file};
use super::{counted, known};

#[test]
fn ranges_that_meet_count_every_row_once() {
    let rows = Rows::many(900);
    for kind in [Kind::Snappy, Kind::ArrowFile] {
        let bytes = file(&rows, kind, 200);
        let options = Options::default();
        let whole = counted(&bytes, None, &options);
        let (summary, keys) = (whole.file(0), known(whole));
        for step in [bytes.len() / 2 + 1, bytes.len() / 7, 1 << 10] {
            let mut parts: Vec<Statistics> = (0..bytes.len())
                .step_by(step)
                .map(|from| (from as u64, (from + step) as u64))
                .map(|range| counted(&bytes, Some(range), &options))
                .collect();
            // In no order.
            parts.reverse();
            let parts = parts.into_iter().map(sent);
            let joined = parts.reduce(|mut all, part| {
                all.join(part).expect("each row once");
                all
            });
            let joined = joined.expect("a part");
            assert_eq!(joined.file(0), summary, "{kind:?} by {step}");
            assert_eq!(known(joined), keys, "{kind:?} by {step}");
        }
    }
}

/// As it comes from another process.
fn sent(mut part: Statistics) -> Statistics {
    Statistics::from_bytes(&part.to_bytes().expect("in memory")).expect("what was written")
}

#[test]
fn a_group_that_counts_already_is_refused() {
    let bytes = file(&Rows::many(900), Kind::Snappy, 200);
    let half = bytes.len() as u64 / 2;
    let mut first = counted(&bytes, Some((0, half)), &Options::default());
    let again = counted(&bytes, Some((0, half)), &Options::default());
    assert!(first.counts().requests > 0);
    assert!(matches!(
        first.join(again),
        Err(JoinError::Twice { from: 0, .. })
    ));
}
