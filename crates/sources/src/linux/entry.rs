//! The entries of a captured host, which archives, trees and what was read have in common.

use std::collections::{BTreeMap, BTreeSet};

/// One entry of a captured host. Paths have no leading slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    File(Vec<u8>),
    Link(String),
}

/// What has been read, by path without a leading slash: exactly what another run needs to read the same.
pub(crate) type Record = BTreeMap<String, Entry>;

/// Adds the directories that lie above the entries.
pub(crate) fn with_directories(entries: BTreeMap<String, Entry>) -> BTreeMap<String, Entry> {
    let mut above = BTreeSet::new();
    for path in entries.keys() {
        let mut rest = path.as_str();
        while let Some(at) = rest.rfind('/') {
            rest = &rest[..at];
            if !above.insert(rest.to_owned()) {
                break;
            }
        }
    }
    let mut all = entries;
    for path in above {
        all.entry(path).or_insert(Entry::Directory);
    }
    all
}
