//! Database files.

pub(crate) mod innodb;
pub(crate) mod oracle;
pub(crate) mod postgres;
pub(crate) mod sqlserver;
pub(crate) mod wiredtiger;
