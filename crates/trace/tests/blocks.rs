//! Nothing that is found depends on how a file is cut, handed over or packed.

use std::io::Write;

use straddle_trace::{Input, Options, Source, scan};

use crate::captures::{all, piped, read};

#[test]
fn blocks_of_any_size_come_to_the_same() {
    for capture in all() {
        if capture.refused().is_some() {
            continue;
        }
        for block in (1..=96).chain([127, 128, 1000, 4096, 65_536]) {
            let options = Options {
                block,
                ..Options::default()
            };
            let name = format!("{} in blocks of {block}", capture.name);
            let found = read(&capture.bytes, &capture.name, &options).expect("a trace");
            assert_eq!(found.text(), capture.want, "{name}");
            let found = piped(capture.bytes.clone(), &capture.name, &options).expect("a trace");
            assert_eq!(found.text(), capture.want, "{name}, piped");
        }
    }
}

#[test]
fn packed_files_come_to_the_same() {
    for capture in all() {
        if capture.refused().is_some() {
            continue;
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&capture.bytes).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let zstd = ruzstd::encoding::compress_to_vec(
            capture.bytes.as_slice(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for (packing, bytes) in [("gzip", gzip), ("zstd", zstd)] {
            let found = read(&bytes, &capture.name, &Options::default()).expect("a trace");
            assert_eq!(found.text(), capture.want, "{} in {packing}", capture.name);
            assert_eq!(found.file.packing, Some(packing));
            let found = piped(bytes, &capture.name, &Options::default()).expect("a trace");
            assert_eq!(
                found.text(),
                capture.want,
                "{} in {packing}, piped",
                capture.name
            );
        }
    }
}

#[test]
fn threads_count_what_one_sees() {
    for capture in all() {
        if capture.refused().is_some() {
            continue;
        }
        let options = Options {
            block: 64,
            threads: 4,
            ..Options::default()
        };
        let input = Input {
            name: capture.name.clone(),
            source: Source::At(&capture.bytes.as_slice(), None),
        };
        let (statistics, failures) = scan(vec![input], &options).expect("no spill");
        assert!(failures.is_empty(), "{}", capture.name);
        let one = read(&capture.bytes, &capture.name, &Options::default()).expect("a trace");
        assert_eq!(statistics.file(0), one.summary, "{}", capture.name);
    }
}
