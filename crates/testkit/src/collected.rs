//! Trees that support tools collected, from bytes: which tool's, and files with their paths; each is read, joined and shown what is missing.

use straddle_sources::Settings;
use straddle_sources::captured;
use straddle_sources::collected::{COLLECTORS, Gathering};

/// What stands before the path of each file, and behind the name of the directory.
const SEPARATOR: &[u8] = b"\x1e";

/// The first byte says whose the tree is, the first line what its directory is called; then for each file the separator, its path in a line,
/// and what is in it.
pub fn tree(data: &[u8]) {
    let (Some((whose, rest)), false) = (data.split_first(), COLLECTORS.is_empty()) else {
        return;
    };
    let collector = COLLECTORS[usize::from(*whose) % COLLECTORS.len()];
    let mut files = split(rest, SEPARATOR).into_iter();
    let named = String::from_utf8_lossy(files.next().unwrap_or_default()).into_owned();
    let mut gathering = Gathering::new(collector, "", named.trim());
    for file in files {
        let end = file.iter().position(|byte| *byte == b'\n');
        let (path, bytes) = file.split_at(end.unwrap_or(file.len()));
        let path = String::from_utf8_lossy(path);
        let bytes = bytes.get(1..).unwrap_or_default();
        if gathering.wants(&path) {
            gathering.add(&path, bytes.to_vec());
        } else {
            gathering.miss();
        }
        // The same as a text by itself.
        let captures = captured::machines(&path, bytes, false, 0);
        let of_one = captures
            .into_iter()
            .filter(|capture| capture.report.is_some());
        for capture in of_one {
            let _ = captured::stack(vec![capture], &Settings::default());
        }
    }
    let _ = gathering.finish(&Settings::default());
}

fn split<'d>(data: &'d [u8], separator: &[u8]) -> Vec<&'d [u8]> {
    data.split(|byte| separator.contains(byte)).collect()
}
