//! Captures that were cut, doubled, mixed and damaged at random come to the same in blocks of any size, from a file and from a pipe.

use proptest::prelude::*;
use straddle_trace::{FileSummary, Options};

use crate::captures::{all, piped, read};

/// What happens to a capture on its way.
#[derive(Clone, Debug)]
enum Edit {
    Cut(usize, usize),
    Double(usize, usize),
    Set(usize, u8),
    /// A part of another capture.
    Insert(usize, usize, usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..4096_usize;
    prop_oneof![
        (at.clone(), 0..200_usize).prop_map(|(at, len)| Edit::Cut(at, len)),
        (at.clone(), 0..600_usize).prop_map(|(at, len)| Edit::Double(at, len)),
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (at.clone(), 0..100_usize, at, 0..400_usize)
            .prop_map(|(at, other, from, len)| Edit::Insert(at, other, from, len)),
    ]
}

type Outcome = Result<(Vec<String>, FileSummary), String>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if straddle_testkit::is_soak() { 100_000 } else { 400 }))]

    #[test]
    fn a_mixture_comes_to_the_same_however_it_is_read(
        which in 0..100_usize,
        edits in prop::collection::vec(edit(), 0..6),
        is_known in any::<bool>(),
        block in 1..300_u64,
    ) {
        let captures = all();
        let capture = &captures[which % captures.len()];
        let mut bytes = capture.bytes.clone();
        for edit in edits {
            let len = bytes.len();
            let part = |at: usize, more: usize, len: usize| {
                let from = at % (len + 1);
                (from, (from + more).min(len))
            };
            match edit {
                Edit::Cut(at, more) => {
                    let (from, to) = part(at, more, len);
                    bytes.drain(from..to);
                }
                Edit::Double(at, more) => {
                    let (from, to) = part(at, more, len);
                    bytes.extend_from_within(from..to);
                }
                Edit::Set(at, byte) => {
                    if let Some(found) = bytes.get_mut(at % len.max(1)) {
                        *found = byte;
                    }
                }
                Edit::Insert(at, other, from, more) => {
                    let other = &captures[other % captures.len()].bytes;
                    let (from, to) = part(from, more, other.len());
                    let at = at % (len + 1);
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
            }
        }
        let options = |block: Option<u64>| Options {
            format: is_known.then(|| capture.format().to_owned()),
            threads: 1,
            block: block.unwrap_or(Options::default().block),
            ..Options::default()
        };
        let outcome = |found: Result<crate::captures::Found, straddle_trace::TraceError>| -> Outcome {
            found
                .map(|found| (found.requests, found.summary))
                .map_err(|error| error.to_string())
        };
        let whole = outcome(read(&bytes, "mixture", &options(None)));
        let parts = outcome(read(&bytes, "mixture", &options(Some(block))));
        prop_assert_eq!(&whole, &parts);
        let pipe = outcome(piped(bytes, "mixture", &options(Some(block))));
        prop_assert_eq!(&whole, &pipe);
    }
}
