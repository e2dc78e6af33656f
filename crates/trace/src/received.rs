use crate::record::ROWS;
use crate::registry::{FORMATS, TABLES};
use crate::statistics::{Statistics, WireError};

impl Statistics {
    /// What [`Statistics::to_bytes`] wrote. Takes no more memory than a few times the bytes, and keeps counts beyond 128 MiB on disk.
    ///
    /// # Errors
    /// When they are no statistics, were damaged, or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<Statistics, WireError> {
        let formats = FORMATS.iter().chain(TABLES);
        let formats = formats.map(|format| format.name).chain([ROWS]);
        Statistics::read_bytes(bytes, &formats.collect::<Vec<_>>())
    }
}
