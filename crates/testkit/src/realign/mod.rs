//! What is fuzzed of a mover: the journals that it takes up, and the tables that it changes.

mod journal;
mod table;

pub use journal::journal;
pub use table::{SECTOR, sectors, table};
