//! PostgreSQL: lines of its log, and its statistics views.

pub(crate) mod checkpoint;
pub(crate) mod statistics;
