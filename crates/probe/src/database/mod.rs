//! Database files.

pub(crate) mod innodb;
pub(crate) mod postgres;
pub(crate) mod sqlserver;
