use std::io;

/// Why a stack could not be had at all. What is merely missing is an anomaly of a layer instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The root could not be read.
    #[error("cannot read {path}: {source}")]
    Root {
        /// The directory or archive.
        path: String,
        /// The operating system's error, or the decoder's.
        source: io::Error,
    },
    /// The archive or tree text is not one that `straddle capture` writes.
    #[error("{path} is not a captured host: {detail}; make one with `straddle capture`")]
    NotACapture {
        /// The file.
        path: String,
        /// What was found.
        detail: String,
    },
    /// There is no block device to look at below the root.
    #[error(
        "{path} has no sys/block directory; give `/`, a directory that holds a host's sys and proc, or an archive made by `straddle capture`"
    )]
    NotAHost {
        /// The root.
        path: String,
    },
    /// A Windows host that names no disk.
    #[error("{path} names no disk: {why}")]
    NoDisks {
        /// The root.
        path: String,
        /// What it says instead.
        why: String,
    },
    /// Nothing is known about the file.
    #[error("{path}: {detail}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        detail: String,
    },
    /// Where the bytes of a file lie is not known.
    #[error("{path}: where it lies on a disk is not known")]
    NotFollowed {
        /// The file.
        path: String,
    },
    /// A file inside a guest could not be found.
    #[error("{path} in {target}: {detail}")]
    GuestFile {
        /// The path inside the guest.
        path: String,
        /// The file or device that holds the guest.
        target: String,
        /// Why not.
        detail: String,
    },
    /// The archive could not be written.
    #[error("cannot write the archive: {0}")]
    Write(#[source] io::Error),
}
