//! Database files.

pub(crate) mod postgres;
pub(crate) mod sqlserver;
