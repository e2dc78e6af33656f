//! A build without the feature `parquet` names what it does not read, and says what to do.

use straddle_trace::{Options, TraceError};

use crate::captures::{piped, read};

#[test]
fn a_file_of_tables_is_named_for_what_it_is() {
    let stream = b"\xff\xff\xff\xff\x10\x01\0\0 and so on";
    for (head, is) in [
        (&b"PAR1 and so on"[..], "a Parquet file"),
        (b"ARROW1\0\0 and so on", "a table of Arrow"),
        (stream, "a table of Arrow"),
    ] {
        for found in [
            read(head, "rows", &Options::default()),
            piped(head.to_vec(), "rows", &Options::default()),
        ] {
            let Err(TraceError::Refused { name, why }) = found else {
                panic!("{is} was not named");
            };
            assert_eq!(name, "rows");
            assert_eq!(
                why,
                format!(
                    "{is}, which this build does not read: build straddle with `--features parquet`, or count it from Python (docs/python.md)"
                )
            );
        }
    }
}
