//! What several parts of reading a job file have in common.

use straddle_geometry::{Bytes, Unit};
use straddle_workload::{Pattern, Percent};

/// Most clones of a job.
pub(super) const MAX_CLONES: u32 = 1024;

/// `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// So many bytes.
    Bytes(Bytes),
    /// A share of the file or device that is there.
    Share(Percent),
}

/// What a job file may refer to. Nothing here is read unless a file asks for it.
pub struct Surroundings<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file that is included; why it cannot be had otherwise.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// `$ncpus`.
    pub processors: u64,
    /// `$pagesize`, in bytes.
    pub page: u64,
    /// Bytes of main memory, for `$mb_memory`.
    pub memory: u64,
}

impl Surroundings<'_> {
    /// No environment, no other files, one processor.
    #[must_use]
    pub fn none() -> Surroundings<'static> {
        Surroundings {
            variable: &|_| None,
            include: &|_| Err("other files are not read here".to_owned()),
            processors: 1,
            page: 4096,
            memory: 0,
        }
    }
}

/// `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) pattern: Pattern,
    /// Bytes between the end of a request and the beginning of the next.
    pub(super) gap: Option<Unit>,
    pub(super) reads: Percent,
    pub(super) mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    IoUring,
    LibAio,
    Psync,
    /// `preadv` and its kind: the same requests.
    Vectored,
    Windows,
    Null,
}

impl Engine {
    /// One request of each job is under way, whatever `iodepth` says.
    pub(super) fn blocks(self) -> bool {
        matches!(self, Engine::Psync | Engine::Vectored)
    }
}
