//! MySQL and MariaDB: the status of InnoDB, and file statistics.

pub(crate) mod files;
pub(crate) mod innodb;
