use straddle_stack::{LayerId, Stack};

/// Where a directory lies, and some of the files in it.
pub struct Place {
    /// The filesystem and what it rests on.
    pub stack: Stack,
    /// The same, with the files on it.
    pub with_files: Stack,
    /// The layers of those files in it, in the order in which they were asked for.
    pub files: Vec<LayerId>,
}
