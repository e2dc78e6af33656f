//! Pages of database files.
