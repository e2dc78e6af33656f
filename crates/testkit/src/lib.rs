//! What the tests of several crates, the fuzz targets and the lab share. Only tests and xtask may depend on it.

#[allow(
    missing_docs,
    reason = "its fields are those of the format, which the head of the file has"
)]
pub mod bitlocker;
#[cfg(feature = "sources")]
pub mod collected;
#[cfg(feature = "bench")]
pub mod compat;
#[cfg(feature = "experiments")]
#[allow(
    missing_docs,
    reason = "names say it; the head of the file has what is made"
)]
pub mod experiments;
pub mod filefrag;
#[cfg(feature = "probe")]
pub mod files;
#[cfg(feature = "lab")]
pub mod guest;
#[cfg(feature = "bench")]
pub mod journal;
pub mod ldm;
#[cfg(feature = "predict")]
pub mod predict;
#[cfg(feature = "realign")]
pub mod realign;
pub mod shipped;
pub mod sparse;
#[cfg(feature = "table")]
pub mod table;
pub mod under_wine;
pub mod vmfs;
#[cfg(feature = "probe")]
pub mod volume;
#[cfg(feature = "sources")]
pub mod windows;
pub mod zfs_fuse;

use std::path::{Path, PathBuf};

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first byte in which two contents of the same length differ. Equal ones are compared as wholes: byte by byte takes seconds.
///
/// # Panics
/// Lengths that differ.
#[must_use]
pub fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    assert_eq!(one.len(), other.len(), "lengths");
    if one == other {
        return None;
    }
    one.iter().zip(other).position(|(a, b)| a != b)
}

/// Whether a soak runs (`cargo xtask soak`): tests then try everything of which they otherwise take a sample.
#[must_use]
pub fn is_soak() -> bool {
    std::env::var_os("STRADDLE_SOAK").is_some()
}

/// How long this thread has had a processor: what a busy machine does not add to.
///
/// # Panics
/// When the kernel does not say.
#[must_use]
pub fn processor_time() -> std::time::Duration {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("a kernel that counts");
    let first = text.split_whitespace().next();
    let nanoseconds = first.and_then(|first| first.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.expect("nanoseconds"))
}
