use std::io;

/// Why no new file was written. What was begun is removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Its error.
        source: io::Error,
    },
    /// The disk could not be read.
    #[error("reading the disk at byte {at}: {source}")]
    Read {
        /// Where.
        at: u64,
        /// The error of whoever reads it.
        source: io::Error,
    },
    /// The format cannot hold such a disk.
    #[error("{format}: {why}")]
    Refused {
        /// The format.
        format: &'static str,
        /// What was found, what was expected, and what to do.
        why: String,
    },
    /// Nothing is known by that name.
    #[error("no format is called {name}; expected one of {expected}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// Those that there are.
        expected: String,
    },
}

impl From<io::Error> for ImageError {
    fn from(source: io::Error) -> ImageError {
        let what = "writing the new file".to_owned();
        ImageError::Io { what, source }
    }
}
