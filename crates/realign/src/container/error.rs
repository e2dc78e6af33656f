use std::io;

/// Why a virtual disk was not changed, or not as far as was asked.
///
/// Whatever it is, the guest's bytes are those that they were.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Its error.
        source: io::Error,
    },
    /// It cannot be done to this file.
    #[error("{format}: {why}")]
    Refused {
        /// The format.
        format: &'static str,
        /// What was found, what was expected, and what to do.
        why: String,
    },
}

impl From<io::Error> for ContainerError {
    fn from(source: io::Error) -> ContainerError {
        let what = "reading or writing the virtual disk's file".to_owned();
        ContainerError::Io { what, source }
    }
}

impl ContainerError {
    /// For `map_err`: what was tried.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> ContainerError {
        let what = what.into();
        |source| ContainerError::Io { what, source }
    }
}
