//! STR7xx: atomic and torn writes.

pub(crate) mod atomic_write_page;
pub(crate) mod atomic_writes_lost;
