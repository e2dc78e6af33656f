use super::CheckError;
use crate::report::Checked;
use crate::rules::Why;

/// What one target came to.
#[derive(Debug)]
pub struct Report {
    /// The target as it was named or found; of the host, its own name.
    pub target: String,
    /// What is known of it.
    pub outcome: Result<Outcome, CheckError>,
}

/// What a target that could be read came to.
#[derive(Debug)]
pub enum Outcome {
    /// A stack, and what the rules say of it.
    Checked(Checked),
    /// A file in which nothing was recognised: of a directory, or text without the output of a known tool.
    Unrecognised(Why),
}
